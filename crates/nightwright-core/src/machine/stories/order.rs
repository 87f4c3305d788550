//! The order of decisions when several apply at once.

use crate::machine::story::story;

#[test]
fn before_an_iteration_stop_beats_every_limit() {
    story(
        "
        given max_iterations 1, delay 1s
        > start
        > stop
        > prepared A
          not iteration_started
          run_finished stopped
        ",
    );
}

#[test]
fn before_an_iteration_limits_are_asked_in_their_order() {
    story(
        "
        given max_iterations 1, max_cost 1, reserve 0
        > start
        > iteration A->B $1 tokens=5
          run_finished max_iterations
        ",
    );
    story(
        "
        given max_cost 1, max_tokens 5, reserve 0
        > start
        > iteration A->B $1 tokens=5
          run_finished max_cost
        ",
    );
    story(
        "
        given max_tokens 5, max_duration 1m
        > start
        > prepared A
        > wait 59s
        > agent finishes tokens=5
        > surveyed B
          run_finished max_tokens
        ",
    );
}

#[test]
fn limits_beat_the_quota_and_the_quota_beats_the_disk() {
    story(
        "
        given max_iterations 1, quota 50
        > start
        > prepared A
        > agent quota 60
        > agent finishes
        > surveyed B
          run_finished max_iterations
        ",
    );
    story(
        "
        given quota 50
        > start
        > prepared A
        > agent quota 60
        > agent finishes
        > surveyed B
          limit_wait_started Quota
        > timer
        > prepared same disk 1/2
          run_finished disk_full
        ",
    );
}

#[test]
fn a_full_disk_beats_the_hook() {
    story(
        "
        given hook next
        > start
        > prepared A disk 10/100
          not -> hook
          run_finished disk_full exit 1
        ",
    );
}

#[test]
fn stop_now_beats_everything() {
    story(
        "
        given checks
        > start
        > iteration A->B promise
        > stop now
          -> cut checks
        > checks pass
          not gate_finished
          iteration_finished 1 interrupted
          run_finished interrupted exit 130
        ",
    );
}

#[test]
fn a_failed_status_beats_any_claim_next_to_it() {
    story(
        "
        given evidence status promise
        > start
        > iteration A->B promise status:failed
          not gate_started
          run_finished failed exit 1
        ",
    );
}

#[test]
fn a_passed_gate_beats_stop_limits_and_lack_of_progress() {
    story(
        "
        given checks, max_iterations 1, max_cost 1, reserve 0, threshold 1
        > start
        > prepared A
        > stop
          stop_requested
        > agent finishes $2 promise
        > surveyed A
        > checks pass
          run_finished completed exit 0
        ",
    );
}

#[test]
fn stop_beats_errors_rejections_blockers_stagnation_and_limits() {
    story(
        "
        given max_errors 1
        > start
        > prepared A
        > stop
        > agent fails refused
          run_finished stopped exit 0
        ",
    );
    story(
        "
        given threshold 1, max_iterations 1
        > start
        > prepared A
        > stop
        > agent finishes
        > surveyed A
          run_finished stopped exit 0
        ",
    );
}

#[test]
fn errors_beat_limits() {
    story(
        "
        given max_errors 1, max_iterations 1
        > start
        > prepared A
        > agent fails refused
          run_finished consecutive_errors
        ",
    );
}

#[test]
fn a_third_rejection_beats_limits() {
    story(
        "
        given checks, max_iterations 3
        > start
        > iteration A->B promise
        > checks fail boom
        > iteration B->C promise
        > checks fail boom
        > iteration C->D promise
        > checks fail boom
          run_finished unverified
        ",
    );
}

#[test]
fn no_progress_beats_limits() {
    story(
        "
        given threshold 1, max_iterations 1
        > start
        > iteration A->A
          run_finished stagnated
        ",
    );
}

#[test]
fn an_idle_iteration_that_reports_a_blocker_counts_for_blocked_only() {
    story(
        "
        given threshold 2
        > start
        > iteration A->A
        > iteration A->A blocker=password
          not run_finished
        > iteration A->A blocker=password
          run_finished blocked
        ",
    );
}

#[test]
fn a_blocker_next_to_a_claim_counts_if_the_claim_is_rejected() {
    story(
        "
        given checks
        > start
        > iteration A->A promise blocker=password
          gate_started [Promise]
        > checks fail one
          blocker_reported password
        > iteration A->A promise blocker=password
        > checks fail two
          run_finished blocked
        ",
    );
}

#[test]
fn a_claim_in_the_last_iteration_still_goes_to_the_gate() {
    story(
        "
        given checks, max_iterations 1
        > start
        > iteration A->B promise
          -> run checks
        > checks fail boom
          run_finished max_iterations exit 0 (claimed, rejected: `make test` failed (exit 1))
        ",
    );
}

#[test]
fn with_the_budget_gone_in_the_gate_the_checks_run_anyway() {
    story(
        "
        given checks, model always, max_cost 1, reserve 0
        > start
        > iteration A->B $0.90 promise
          -> run checks
        > checks pass
          run_finished max_cost exit 0 (claimed, not verified: the remaining budget is too small to ask a model)
        ",
    );
}

#[test]
fn a_limit_reached_during_the_review_leads_straight_to_the_gate() {
    story(
        "
        given review, council, checks, max_cost 1, reserve 0
        > start
        > iteration A->B $0.60 promise conflict
          call_started 1 review
        > call says: done $0.40
        > surveyed B
          not call_started
          -> run checks
        > checks pass
          run_finished completed
        ",
    );
}

#[test]
fn a_stop_lets_attempt_call_and_gate_go_to_their_end() {
    story(
        "
        given model always
        > start
        > prepared A
        > stop
          not -> cut
        > agent finishes promise
        > surveyed B
          call_started 1 verify
        > call no: not yet
          run_finished stopped
        ",
    );
}

#[test]
fn stop_now_kills_all_and_concludes_nothing_but_the_iteration_counts() {
    let run = story(
        "
        > start
        > prepared A
        > stop now
          stop_requested Now Operator
          attempt_cancelled 1 StopNow
          -> cut attempt 1 Usual
        > agent finishes promise
          attempt_finished 1 finished
          not gate_started
          iteration_finished 1 interrupted
          run_finished interrupted exit 130
        ",
    );
    assert_eq!(run.machine.state().totals.iterations, 1);
}

#[test]
fn stop_now_kills_a_call() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
        > stop now
          -> cut call 1 Usual
        > call fails interrupted
          run_finished interrupted exit 130
        ",
    );
}

#[test]
fn a_stop_during_a_delay_or_a_back_off_ends_it_at_once() {
    story(
        "
        given delay 1h
        > start
        > iteration A->B
        > stop
          run_finished stopped
        ",
    );
    story(
        "
        > start
        > prepared A
        > agent fails overloaded
        > stop
          iteration_finished 1 interrupted
          run_finished stopped
        ",
    );
}

#[test]
fn a_stop_while_the_hook_makes_up_its_mind_is_not_delayed_by_a_skip() {
    story(
        "
        given hook next, delay 1h
        > start
        > prepared A
        > stop
        > hook skips
          run_finished stopped
        ",
    );
}

#[test]
fn ten_skips_in_a_row_end_the_run() {
    let mut text = String::from("given hook next\n> start\n");
    for _ in 0..9 {
        text.push_str("> prepared A\n> hook skips\nnot run_finished\n> timer\n");
    }
    text.push_str("> prepared A\n> hook skips\nrun_finished hook_abort exit 1\n");
    story(&text);
}

#[test]
fn after_a_usage_limit_in_the_middle_the_same_iteration_continues_and_is_notified() {
    story(
        "
        > start
        > prepared A
          -> start attempt 1
        > agent fails usage_limited until=1h $0.30
        > timer
          not iteration_started
          -> start attempt 2 cut-off
        ",
    );
}

#[test]
fn after_the_end_nothing_is_decided() {
    story(
        "
        given max_iterations 1
        > start
        > iteration A->B
          run_finished max_iterations
        > stop now
          nothing
        > signal
          nothing
        > tell: anyone?
          nothing
        > agent finishes promise
          nothing
        > pause
          nothing
        > journal fails
          nothing
        ",
    );
}
