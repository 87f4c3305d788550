//! A project whose file system hangs: every look at it has a time limit.

use crate::machine::story::story;

#[test]
fn a_project_that_does_not_respond_before_an_iteration_ends_the_run() {
    story(
        "
        > start
        > project hangs
          run_finished project_unresponsive exit 1
        > prepared A
          nothing
        ",
    );
}

#[test]
fn after_an_attempt_its_iteration_is_interrupted() {
    story(
        "
        > start
        > prepared A
        > agent finishes
          -> survey
        > project hangs
          iteration_finished
          run_finished project_unresponsive exit 1
        > surveyed B
          nothing
        ",
    );
}

#[test]
fn an_inspection_has_the_same_limit() {
    story(
        "
        given checks, tamper reject
        > start
        > iteration A->B promise
        > checks pass
          -> inspect changes
        > project hangs
          run_finished project_unresponsive exit 1
        ",
    );
}

#[test]
fn after_a_stop_the_project_does_not_matter() {
    story(
        "
        > start
        > signal
          run_finished interrupted
        ",
    );
}

#[test]
#[should_panic(expected = "a timer is set")]
fn an_answer_ends_the_wait() {
    story(
        "
        > start
        > prepared A
        > project hangs
        ",
    );
}
