//! Optional calls: made only if they help, and never at the cost of the gate.

use crate::machine::story::{Story, story};

/// Truncates the journal after the last event of this name, as a crash would.
fn torn(mut run: Story, behind: &str) -> Story {
    let at = run.journal.iter().rposition(|record| record.event.name() == behind).expect("there");
    run.journal.truncate(at + 1);
    run.happen("crash");
    run
}

#[test]
fn an_advisor_and_a_council_have_the_time_that_their_money_buys() {
    // Ten cents at half a cent per second.
    for (words, purpose) in [("A->A gives-up", "advise"), ("A->B conflict", "council")] {
        story(&format!(
            "
            given agent command, watchdog next
            > start
            > iteration {words}
              call_started 1 {purpose} cap $0.10
            > wait 19s
            > deadline
              call_cancelled 1 Limit
            > call fails attempt_budget
              iteration_finished 1
            "
        ));
    }
}

#[test]
fn an_extra_call_leaves_the_gate_its_money() {
    story(
        "
        given review, model always, max_cost 0.36, reserve 0
        > start
        > iteration A->B $0.05 promise
          not call_started 1 review
          warning: skipped the review
          call_started 1 verify cap $0.25
        > call yes $0.20
        > surveyed B
          run_finished completed
        ",
    );
    // The budget is enough for both.
    story(
        "
        given review, model always, max_cost 0.60, reserve 0
        > start
        > iteration A->B $0.10 promise
          call_started 1 review cap $0.25
        > call says: fine $0.25
        > surveyed B
          call_started 2 verify cap $0.25
        ",
    );
}

#[test]
fn an_iteration_that_did_work_gets_the_usual_answer_without_a_call() {
    for signal in ["asks", "gives-up", "stumbled"] {
        story(&format!(
            "
            given watchdog next
            > start
            > iteration A->B {signal}
              not call_started
              feedback_added Watchdog
              iteration_finished 1 Work
            "
        ));
    }
}

#[test]
fn no_call_is_made_where_no_iteration_will_follow() {
    for (given, words) in [
        ("max_iterations 1", "A->A gives-up conflict"),
        ("threshold 1", "A->A gives-up conflict"),
        ("checks", "A->A gives-up conflict promise"),
    ] {
        story(&format!(
            "
            given watchdog next, principles, {given}
            > start
            > iteration {words}
              not call_started
              feedback_added Watchdog: In the last iteration, the agent gave up
              feedback_added Council: … The council did not decide the conflict.
            "
        ));
    }
    story(
        "
        given watchdog next, threshold 0
        > start
        > iteration A->A gives-up blocker=key
          call_started 1 advise
        > call says: one
        > iteration A->A gives-up blocker=key
          not call_started
          run_finished blocked
        ",
    );
}

#[test]
fn no_call_is_made_in_the_wrap_up_or_after_a_stop() {
    story(
        "
        given watchdog next, max_duration 100m
        > start
        > prepared A
        > wait 91m
        > agent finishes
        > surveyed B
        > prepared B
          iteration_started 2 wrap-up
        > agent finishes gives-up conflict
        > surveyed B
          not call_started
          feedback_added Watchdog
          run_finished max_duration
        ",
    );
    story(
        "
        given watchdog next, review
        > start
        > prepared A
        > stop
        > agent finishes gives-up conflict
        > surveyed B
          not call_started
          run_finished stopped
        ",
    );
}

#[test]
fn in_the_wrap_up_an_agent_that_asks_has_to_finish_and_end() {
    story(
        "
        given watchdog live, max_duration 100m
        > start
        > prepared A
        > wait 91m
        > agent finishes
        > surveyed B
        > prepared B
          iteration_started 2 wrap-up
        > agent ready
        > agent asks
          message_sent: You get no answer. This is the last iteration … and stop.
        ",
    );
}

#[test]
fn in_a_run_that_works_item_by_item_an_agent_that_asks_is_kept_to_its_item() {
    story(
        "
        given watchdog live, evidence plan promise
        > start
        > prepared A boxes 2/1
        > agent ready
        > agent asks
          message_sent … finish only the one item of this iteration … and end
        ",
    );
}

#[test]
fn a_pause_and_then_a_stop_leave_a_claim_to_the_gate_with_a_review_or_without() {
    for review in ["", ", review"] {
        story(&format!(
            "
            given checks{review}
            > start
            > prepared A
            > pause
            > agent finishes promise
            > surveyed B
              not call_started
            > stop
              not iteration_finished
            > checks pass
              run_finished completed
            "
        ));
    }
}

#[test]
fn a_stop_while_a_review_waits_for_a_limit_leaves_a_claim_to_the_gate() {
    story(
        "
        given review, checks
        > start
        > iteration A->B promise
          call_started 1 review
        > call fails usage_limited until=1h
          limit_wait_started Usage
        > stop
          limit_wait_ended Stopped
          -> survey
        > surveyed B
          not call_started
          -> run checks
        > checks pass
          run_finished completed
        ",
    );
    story(
        "
        given review, checks
        > start
        > iteration A->B promise
          call_started 1 review
        > stop
        > call fails usage_limited until=1h
          not limit_wait_started
        > surveyed B
          -> run checks
        > checks pass
          run_finished completed
        ",
    );
}

#[test]
fn a_call_cut_off_by_a_crash_is_not_repeated() {
    story(
        "
        given watchdog next
        > start
        > iteration A->A gives-up
          call_started 1 advise
        > crash
        > continue
          not feedback_added
        > surveyed A
          not call_started
          feedback_added Watchdog: In the last iteration, the agent gave up … You are the only agent on this task.
          iteration_finished 1 Idle
        ",
    );
    story(
        "
        > start
        > iteration A->B conflict
          call_started 1 council
        > crash
        > continue
        > surveyed B
          not call_started
          feedback_added Council: … speed against safety … The council did not decide the conflict.
          iteration_finished 1 Work
        > iteration B->C conflict
          call_started 2 council
        ",
    );
    let run = story(
        "
        given review, checks
        > start
        > iteration A->B promise
          call_started 1 review
        > crash
        > continue
          warning: skipped the review: lost: nightwright crashed during the attempt
          -> survey
        > surveyed C
          not call_started
          -> run checks
        ",
    );
    assert_eq!(run.machine.state().streaks.review_errors, 0);
}

#[test]
fn advice_is_reported_after_a_crash_once_the_project_was_looked_at() {
    let run = story(
        "
        given watchdog next
        > start
        > iteration A->A gives-up
        > call says: try smaller
        ",
    );
    let mut run = torn(run, "call_finished");
    let first = run.happen("continue");
    assert!(!first.iter().any(|line| line.starts_with("feedback_added")), "{first:#?}");
    let then = run.happen("surveyed A");
    let advised = |line: &&String| {
        line.starts_with("feedback_added Watchdog: In the last iteration, the agent gave up")
            && line.ends_with("> try smaller")
    };
    assert_eq!(then.iter().filter(advised).count(), 1, "{then:#?}");
    assert!(!then.iter().any(|line| line.starts_with("call_started")), "{then:#?}");
}

#[test]
fn three_reviews_that_reach_their_own_limits_end_no_run() {
    let run = story(
        "
        given review
        > start
        > iteration A->B
        > call fails took_too_long
          warning: the review did not finish: it timed out
          not warning: the review failed
        > surveyed B
        > iteration B->C
        > call fails took_too_long
        > surveyed C
        > iteration C->D
        > call fails took_too_long
        > surveyed D
          not run_finished
        ",
    );
    assert_eq!(run.machine.state().streaks.review_errors, 0);
}

#[test]
fn an_agent_that_gives_up_over_its_full_context_learns_how_to_keep_it_small() {
    story(
        "
        given watchdog next
        > start
        > prepared A
        > agent fails context_full
          watchdog_noticed Compaction
          feedback_added Watchdog: The context filled up repeatedly … read less at a time
          iteration_finished 1 failed: its context overflowed repeatedly
        > timer
        > prepared A
          -> start attempt 2 with feedback
        ",
    );
    story(
        "
        given watchdog off
        > start
        > prepared A
        > agent fails context_full
          not feedback_added
          iteration_finished 1 failed
        ",
    );
}

#[test]
fn a_conflict_in_other_words_counts_only_where_there_are_principles() {
    story(
        "
        > start
        > iteration A->B unmarked-conflict
          not call_started
          not feedback_added
          iteration_finished 1 Work
        ",
    );
    story(
        "
        given principles
        > start
        > iteration A->B unmarked-conflict
          call_started 1 council
        ",
    );
}

#[test]
fn an_extra_call_leaves_the_gate_its_time() {
    // Two minutes for the verdict, and the half minute that every start requires.
    story(
        "
        given review, model always, max_duration 170s, reserve 0
        > start
        > iteration A->B promise
          not call_started 1 review
          warning: skipped the review
          call_started 1 verify
        ",
    );
    story(
        "
        given review, model always, max_duration 10m, reserve 0
        > start
        > iteration A->B promise
          call_started 1 review
        ",
    );
}

#[test]
fn no_call_is_made_when_only_the_wrap_up_is_left() {
    story(
        "
        given watchdog next, max_cost 10
        > start
        > iteration A->A $9.10 asks
          not call_started
          feedback_added Watchdog: … This is the last iteration
        > prepared A
          iteration_started 2 wrap-up
        ",
    );
}

#[test]
fn a_full_context_is_reported_also_if_it_was_answered_in_the_session_before() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent compacts
          message_sent
        > agent fails context_full
          watchdog_noticed Compaction
          feedback_added Watchdog: The context filled up repeatedly
        ",
    );
}

#[test]
fn a_conflict_that_was_not_named_is_left_to_the_order_of_principles() {
    story(
        "
        given principles
        > start
        > iteration A->B unnamed-conflict
          not call_started
          feedback_added Council: … Constraints come before objectives
        ",
    );
}
