//! Resuming a run after a crash, in every phase.

use crate::event::{AttemptEvent, Event, IterationEvent};
use crate::machine::ledger::Ledger;
use crate::machine::story::story;
use crate::units::Usd;

#[test]
fn a_lost_attempt_is_charged_and_costs_one_retry() {
    story(
        "
        given max_cost 4, reserve 0, retries 1
        > start
        > prepared A
        > crash
        > continue
          run_continued AfterCrash
          attempt_finished 1 lost $2.00 estimated
          retry_scheduled: lost: nightwright crashed during the attempt
        > timer
          attempt_started 2 cap $2.00
        > crash
        > continue
          attempt_finished 2 lost
          iteration_finished 1 failed
        ",
    );
}

#[test]
fn a_lost_attempt_that_uses_up_the_budget_ends_the_run_at_the_limit() {
    story(
        "
        given max_cost 1, reserve 0
        > start
        > prepared A
        > agent fails overloaded $0.99
        > timer
          attempt_started 2
        > crash
        > continue
          attempt_finished 2 lost
          retry_scheduled
        > timer
          iteration_finished 1 interrupted
          run_finished max_cost
        ",
    );
}

#[test]
fn a_result_in_the_output_of_a_lost_attempt_is_taken_as_it_is() {
    story(
        "
        given checks
        > start
        > prepared A
        > crash
        > continue with result $0.70 promise
          attempt_finished 1 finished $0.70
          -> survey
        > surveyed B
        > checks pass
          run_finished completed
        ",
    );
}

#[test]
fn an_iteration_with_a_finished_attempt_is_judged_from_there() {
    story(
        "
        given checks
        > start
        > prepared A
        > agent finishes promise
        > crash
        > continue
          not attempt_started
          -> survey
        > surveyed B
          -> run checks
        ",
    );
}

#[test]
fn a_half_done_gate_starts_again_with_the_results_of_the_checks_on_the_same_tree() {
    story(
        "
        given checks, model always
        > start
        > iteration A->B promise
        > checks pass
          call_started 1 verify
        > crash
        > continue
          call_finished 1 verify lost
          -> survey
        > surveyed B
          gate_started [Promise]
          not -> run checks
          call_started 2 verify
        ",
    );
    story(
        "
        given checks, model always
        > start
        > iteration A->B promise
        > checks pass
        > crash
        > continue
        > surveyed C
          gate_started [Promise]
          -> run checks
        ",
    );
}

#[test]
fn a_finished_review_is_not_repeated() {
    story(
        "
        given review, checks
        > start
        > iteration A->B promise
        > call says: fine
        > crash
        > continue
          -> survey
        > surveyed B
          not call_started
          -> run checks
        ",
    );
}

#[test]
fn a_limit_wait_continues_to_its_end() {
    story(
        "
        > start
        > prepared A
        > agent fails usage_limited until=2h
        > crash
        > wait 1h
        > continue
          -> wait until
        > timer
          limit_wait_ended Elapsed
          attempt_started 2
        ",
    );
}

#[test]
fn a_limit_learned_just_before_the_crash_is_still_waited_for() {
    story(
        "
        > start
        > prepared A
        > agent fails usage_limited until=2h
        > crash
        > continue
          -> wait until
          not attempt_started
        ",
    );
}

#[test]
fn a_delay_is_skipped() {
    story(
        "
        given delay 1h
        > start
        > iteration A->B
        > crash
        > continue
          -> prepare
        ",
    );
}

#[test]
fn a_pause_is_kept_over_a_crash_until_the_operator_resumes_the_run() {
    story(
        "
        > start
        > prepared A
        > pause
        > agent finishes
        > surveyed B
        > crash
        > continue if cut off
          not run_resumed
          not -> prepare
        > resume
          -> prepare
        ",
    );
}

#[test]
fn a_stop_is_not_kept_over_a_crash() {
    story(
        "
        > start
        > prepared A
        > stop
        > crash
        > continue
        > timer
          attempt_started 2
        ",
    );
}

#[test]
fn limits_hold_across_a_crash() {
    story(
        "
        given max_iterations 2, max_cost 5, reserve 0
        > start
        > iteration A->B $2
        > crash
        > continue
        > prepared B
          attempt_started 2 cap $3.00
        > agent finishes $1
        > surveyed C
          run_finished max_iterations
        ",
    );
}

#[test]
fn time_between_death_and_resume_counts_for_no_limit() {
    story(
        "
        given max_duration 1h
        > start
        > iteration A->B
        > crash
        > wait 9h
        > continue
          -> prepare
        ",
    );
}

#[test]
fn after_a_limit_a_run_continues_only_with_that_limit_raised() {
    story(
        "
        given max_iterations 1
        > start
        > iteration A->B
          run_finished max_iterations
        > crash
        > continue
          nothing
        > continue with max_iterations 1
          nothing
        > continue again
          nothing
        > continue with max_cost 5
          nothing
        > continue with max_iterations 2
          run_continued AfterEnd
          settings_changed limits.max_iterations: 1 -> 2
          -> prepare
        ",
    );
}

#[test]
fn resuming_after_resuming_is_resuming() {
    story(
        "
        given retries 9
        > start
        > prepared A
        > crash
        > continue
        > crash
        > continue
          run_continued AfterCrash
          not attempt_finished
        > timer
          attempt_started 2
        ",
    );
}

#[test]
fn a_wait_that_is_picked_up_is_no_longer_than_it_was_however_the_date_was_set() {
    story(
        "
        > start
        > prepared A
        > agent fails rate_limited
          -> wait 5m 00s
        > crash
        > clock jumps back 24h
        > continue
          -> wait until 2026-11-14T22:05:00Z
        ",
    );
}

#[test]
fn final_totals_make_up_for_events_that_could_not_be_recorded() {
    let mut run = story(
        "
        given max_iterations 1
        > start
        > iteration A->B $0.30
          run_finished max_iterations
        ",
    );
    let recorded = |event: &Event| {
        !matches!(
            event,
            Event::Attempt(AttemptEvent::Finished { .. })
                | Event::Iteration(IterationEvent::Finished(_))
        )
    };
    run.journal.retain(|record| recorded(&record.event));
    let totals = &Ledger::replay(&run.journal).totals;
    assert_eq!((totals.cost, totals.iterations), (Usd::from_cents(30), 1));
}

#[test]
fn resuming_only_crashed_runs_leaves_all_others_alone() {
    for (left, then) in [
        ("> prepared A\n> crash", "run_continued AfterCrash"),
        ("> prepared A\n> terminate\n> agent exits\n> crash", "run_continued AfterEnd"),
        ("> iteration A->B\n> crash", "nothing"),
        ("> prepared A\n> signal\n> agent exits\n> crash", "nothing"),
        ("> prepared A\n> stop\n> crash", "nothing"),
        ("> prepared A\n> pause\n> crash", "nothing"),
    ] {
        story(&format!("given max_iterations 1\n> start\n{left}\n> continue if cut off\n  {then}"));
    }
}
