//! Reviews after every iteration that did work.

use crate::machine::story::story;

#[test]
fn a_review_may_cost_a_quarter_of_the_mean_attempt_and_at_least_a_quarter_dollar() {
    story(
        "
        given review
        > start
        > iteration A->B $0.50
          call_started 1 review cap $0.25
        > call says: fine
        > surveyed B
        > iteration B->C $7.50
          call_started 2 review cap $1.00
        ",
    );
}

#[test]
fn a_review_that_does_not_fit_is_left_out_with_one_warning_a_run() {
    story(
        "
        given review, max_cost 1, reserve 0
        > start
        > iteration A->B $0.40
          call_started 1 review
        > call says: fine $0.25
        > surveyed B
        > iteration B->C $0.15
          not call_started
          warning: skipped the review
        > iteration C->D $0.05
          not call_started
          not warning
        ",
    );
}

#[test]
fn a_review_that_reaches_its_own_limits_is_none_that_failed() {
    let run = story(
        "
        given review
        > start
        > iteration A->B
        > call fails attempt_budget
          warning: the review did not finish: it reached its share of the remaining budget
        > surveyed B
        > iteration B->C
        > call fails turn_limit
          warning: the review did not finish: it reached its turn limit
        > surveyed C
          iteration_finished 2 Work
        ",
    );
    assert_eq!(run.machine.state().streaks.review_errors, 0);
}

#[test]
fn a_good_review_begins_the_row_of_failed_ones_anew() {
    story(
        "
        given review
        > start
        > iteration A->B
        > call fails crashed
        > surveyed B
        > iteration B->C
        > call fails crashed
        > surveyed C
        > iteration C->D
        > call says: fine
        > surveyed D
        > iteration D->E
        > call fails crashed
        > surveyed E
          not run_finished
        ",
    );
}

#[test]
fn a_run_that_ends_by_failed_reviews_says_so() {
    let run = story(
        "
        given review
        > start
        > iteration A->B
        > call fails refused
        > surveyed B
        > iteration B->C
        > call fails refused
        > surveyed C
        > iteration C->D
        > call fails refused
        > surveyed D
          run_finished consecutive_errors exit 1
        ",
    );
    let sentence = run.outcome().sentence(3);
    assert_eq!(sentence, "3 consecutive errors; last error: the review failed: the model declined");
}

#[test]
fn a_passed_gate_beats_failed_reviews() {
    story(
        "
        given review, checks
        > start
        > iteration A->B
        > call fails refused
        > surveyed B
        > iteration B->C
        > call fails refused
        > surveyed C
        > iteration C->D promise
        > call fails refused
        > surveyed D
        > checks pass
          run_finished completed
        ",
    );
}

#[test]
fn a_limit_met_by_a_review_is_waited_out_and_it_is_made_again_on_what_is_there_then() {
    story(
        "
        given review, checks
        > start
        > iteration A->B promise
          call_started 1 review
        > call fails usage_limited until=1h $0.10
          limit_wait_started Usage
          not warning
        > timer
          -> survey
        > surveyed C
          call_started 2 review
        > call says: repaired
          -> survey
        > surveyed D
          not call_started
          -> run checks
        ",
    );
}

#[test]
fn changes_of_a_reviewer_are_work_of_the_iteration_and_go_to_the_gate() {
    story(
        "
        given review, checks
        > start
        > iteration A->B promise
          not gate_started
          call_started 1 review
        > call says: repaired
          not gate_started
        > surveyed C
          gate_started [Promise]
        > checks fail boom
          iteration_finished 1 Work
        > iteration C->C
          not call_started
          iteration_finished 2 Idle
        ",
    );
}

#[test]
fn a_reviewer_that_takes_everything_back_leaves_no_work() {
    story(
        "
        given review
        > start
        > iteration A->B
        > call says: all of it was wrong
        > surveyed A
          not call_started
          iteration_finished 1 Idle
        ",
    );
}

#[test]
fn a_review_that_is_stopped_is_none_that_failed() {
    let run = story(
        "
        given review
        > start
        > iteration A->B
        > stop now
        > call fails interrupted
          run_finished interrupted
        ",
    );
    assert_eq!(run.machine.state().streaks.review_errors, 0);
}

#[test]
fn a_stop_lets_a_review_go_to_its_end_and_begins_none() {
    story(
        "
        given review, checks
        > start
        > iteration A->B promise
          call_started 1 review
        > stop
          not -> cut
        > call says: fine
        > surveyed B
          -> run checks
        > checks fail boom
          run_finished stopped
        ",
    );
    story(
        "
        given review
        > start
        > prepared A
        > stop
        > agent finishes
        > surveyed B
          not call_started
          not warning
          run_finished stopped
        ",
    );
}

#[test]
fn a_pause_holds_the_review_until_it_is_lifted() {
    story(
        "
        given review
        > start
        > prepared A
        > pause
        > agent finishes
        > surveyed B
          not call_started
          not iteration_finished
        > resume
          call_started 1 review
        ",
    );
}

#[test]
fn a_limit_of_tokens_reached_during_the_review_leads_straight_to_the_gate() {
    story(
        "
        given review, council, checks, max_tokens 100
        > start
        > iteration A->B tokens=50 promise conflict
          call_started 1 review
        > call fails attempt_budget tokens=50
        > surveyed B
          not call_started
          -> run checks
        > checks fail boom
          run_finished max_tokens exit 0 (claimed, rejected
        ",
    );
}

#[test]
fn every_call_is_in_the_totals_by_its_purpose() {
    let run = story(
        "
        given review, council, watchdog next, model always
        > start
        > iteration A->A $1 asks
          call_started 1 advise
        > call says: choose $0.01
        > iteration A->B $1 conflict
          call_started 2 review
        > call says: fine $0.02
        > surveyed B
          call_started 3 council
        > call says: safety first $0.03
        > iteration B->C $1 promise
          call_started 4 review
        > call says: fine $0.02
        > surveyed C
          call_started 5 verify
        > call yes $0.04
        > surveyed C
          run_finished completed
        ",
    );
    let totals = &run.machine.state().totals;
    let spent: Vec<_> = totals
        .by_purpose
        .iter()
        .map(|(name, spend)| format!("{name} {} {}", spend.count, spend.cost))
        .collect();
    assert_eq!(
        spent,
        ["advise 1 $0.01", "council 1 $0.03", "review 2 $0.04", "verify 1 $0.04", "work 3 $3.00"]
    );
    assert_eq!(totals.cost.to_string(), "$3.12");
}
