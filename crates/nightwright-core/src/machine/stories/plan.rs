//! A run that builds from a plan.

use crate::machine::story::story;

#[test]
fn with_every_box_ticked_the_gate_decides_at_once_and_no_iteration_runs() {
    story(
        "
        given evidence plan promise, checks
        > start
        > prepared A boxes 0/3
          iteration_started 0 proof
          -> survey
        > surveyed A boxes 0/3
          gate_started [Plan]
          -> run checks
        > checks pass
          iteration_finished 0
          run_finished completed exit 0
        ",
    );
}

#[test]
fn a_plan_that_only_looks_complete_is_worked_on_after_the_gate_has_said_no() {
    story(
        "
        given evidence plan promise, checks
        > start
        > prepared A boxes 0/3
        > surveyed A boxes 0/3
        > checks fail boom
          feedback_added Checks
          iteration_finished 0 Uncounted
        > prepared same
          iteration_started 1
        ",
    );
}

#[test]
fn boxes_that_are_open_or_not_there_begin_with_an_iteration() {
    for checklist in ["1/3", "0/0"] {
        story(&format!(
            "
            given evidence plan promise, checks
            > start
            > prepared A boxes {checklist}
              iteration_started 1
            "
        ));
    }
}

#[test]
fn other_modes_begin_with_an_iteration_whatever_is_ticked() {
    story(
        "
        given evidence todo promise, checks
        > start
        > prepared A boxes 0/3
          iteration_started 1
        ",
    );
}

#[test]
fn a_proof_continues_after_a_crash_from_the_beginning_of_its_gate() {
    story(
        "
        given evidence plan promise, checks
        > start
        > prepared A boxes 0/3
        > surveyed A boxes 0/3
          -> run checks
        > crash
        > continue
          run_continued AfterCrash
          -> survey
        > surveyed A boxes 0/3
          -> run checks
        > checks pass
          run_finished completed exit 0
        ",
    );
}

#[test]
fn a_proof_that_was_broken_off_is_begun_again_on_resume() {
    story(
        "
        given evidence plan promise, checks
        > start
        > prepared A boxes 0/3
        > surveyed A boxes 0/3
          -> run checks
        > stop now
        > checks interrupted
          iteration_finished 0 interrupted
          run_finished interrupted
        > continue again
        > prepared A boxes 0/3
          iteration_started 0 proof
        ",
    );
}

#[test]
fn a_pause_holds_a_proof_until_it_is_lifted() {
    story(
        "
        given evidence plan promise, checks
        > start
        > pause
        > prepared A boxes 0/3
          nothing
        > resume
        > prepared A boxes 0/3
          iteration_started 0 proof
        ",
    );
}
