//! A limit that is reached only by failures is an error.

use crate::machine::story::story;
use crate::outcome::{Outcome, Strictness};

#[test]
fn a_run_in_which_every_iteration_failed_is_an_error_whatever_limit_was_reached() {
    let run = story(
        "
        given max_iterations 2, max_errors 9
        > start
        > prepared A
        > agent fails refused
        > timer
        > prepared A
        > agent fails refused
          run_finished all_iterations_failed exit 1 (Reached maximum iterations (2))
        ",
    );
    assert!(matches!(run.outcome(), Outcome::AllIterationsFailed { iterations: 2, .. }));
    assert_eq!(run.outcome().exit_code(Strictness::RequireComplete), 1);
    story(
        "
        given max_cost 1, max_errors 9, reserve 0
        > start
        > prepared A
        > agent fails refused $1
          run_finished all_iterations_failed exit 1 (Reached maximum cost ($1.00))
        ",
    );
}

#[test]
fn retries_that_a_limit_ends_are_failures_too() {
    story(
        "
        given max_duration 5m, reserve 0
        > start
        > prepared A
        > wait 280s
        > agent fails network
        > timer
          iteration_finished 1 interrupted
          run_finished all_iterations_failed exit 1 (Reached maximum duration (5m 00s))
        ",
    );
}

#[test]
fn one_successful_iteration_makes_the_outcome_a_limit() {
    story(
        "
        given max_iterations 2, max_errors 9
        > start
        > iteration A->B
        > prepared same
        > agent fails refused
          run_finished max_iterations exit 0
        ",
    );
    story(
        "
        given max_iterations 2, max_errors 9
        > start
        > prepared A
        > agent fails refused
        > timer
        > iteration A->B
          run_finished max_iterations exit 0
        ",
    );
}

#[test]
fn consecutive_errors_and_operator_stops_keep_their_outcomes() {
    story(
        "
        given max_iterations 3, max_errors 1
        > start
        > prepared A
        > agent fails refused
          run_finished consecutive_errors exit 1
        ",
    );
    story(
        "
        given max_iterations 1, max_errors 9
        > start
        > prepared A
        > stop
        > agent fails refused
          run_finished stopped exit 0
        ",
    );
}

#[test]
fn an_iteration_that_succeeds_after_a_resumption_counts() {
    story(
        "
        given max_iterations 1, max_errors 9
        > start
        > prepared A
        > agent fails refused
          run_finished all_iterations_failed exit 1
        > crash
        > continue with max_iterations 2
          run_continued AfterEnd
        > iteration A->B
          run_finished max_iterations exit 0
        ",
    );
}
