//! The gate that runs without a claim, before a run ends for lack of progress.

use crate::machine::story::story;

#[test]
fn checks_and_a_model_complete_a_run_that_would_end_for_lack_of_progress() {
    story(
        "
        given checks, model auto, threshold 2
        > start
        > iteration A->B
        > iteration B->B
          not gate_started
        > iteration B->B
          gate_started [NoProgress]
          -> run checks
        > checks pass
          -> start call 1
        > call yes
        > surveyed B
          gate_finished passed
          run_finished completed exit 0
        ",
    );
}

#[test]
fn words_that_all_is_done_are_enough_to_look() {
    story(
        "
        given checks, model auto, threshold 2
        > start
        > iteration A->A says-done
          not gate_started
        > iteration A->A says-done
          gate_started [NoProgress]
        > checks pass
        > call yes
        > surveyed A
          run_finished completed exit 0
        ",
    );
}

#[test]
fn a_failing_check_ends_the_run_as_before_and_is_named() {
    story(
        "
        given checks, model auto, threshold 1
        > start
        > iteration A->A says-done
        > checks fail boom
          feedback_added Checks: The work is not complete: `make test` failed
          run_finished stagnated exit 0 (`make test` failed (exit 1))
        ",
    );
}

#[test]
fn a_model_that_says_no_ends_the_run_as_before_and_the_checks_that_pass_are_named() {
    story(
        "
        given checks, model auto, threshold 1, mode build
        > start
        > iteration A->A says-done
        > checks pass
        > call no: the parser is a stub
          iteration_finished 1 Idle
          run_finished no_changes exit 0 (`make test` passes, not complete: the parser is a stub)
        ",
    );
}

#[test]
fn without_a_verdict_the_run_ends_as_before() {
    story(
        "
        given checks, model auto, threshold 1
        > start
        > iteration A->A says-done
        > checks pass
        > call unclear
        > call unclear
          run_finished stagnated exit 0 (`make test` passes, not verified: the model gave no verdict
        ",
    );
}

#[test]
fn without_a_model_and_a_baseline_passing_checks_do_not_complete() {
    story(
        "
        given checks, threshold 1
        > start
        > iteration A->A says-done
        > checks pass
          run_finished stagnated exit 0 (`make test` passes, not complete: none of the checks that failed
        ",
    );
}

#[test]
fn a_model_alone_can_judge_where_there_is_no_check() {
    story(
        "
        given model auto, threshold 1
        > start
        > iteration A->A says-done
          gate_started [NoProgress]
        > call yes
        > surveyed A
          run_finished completed
        ",
    );
    story(
        "
        given threshold 1
        > start
        > iteration A->A says-done
          not gate_started
          run_finished stagnated exit 0
        ",
    );
}

#[test]
fn without_changes_and_statements_there_is_no_gate() {
    story(
        "
        given checks, model auto, threshold 1
        > start
        > iteration A->A
          not gate_started
          run_finished stagnated exit 0
        ",
    );
}

#[test]
fn an_open_box_or_an_open_blocker_is_not_judged() {
    story(
        "
        given checks, model auto, threshold 1
        > start
        > prepared A
        > agent finishes says-done
        > surveyed A boxes 1/3
          not gate_started
          run_finished stagnated exit 0
        ",
    );
    story(
        "
        given checks, model auto, threshold 1
        > start
        > iteration A->B status:blocked
        > prepared same
        > agent finishes says-done
        > surveyed B old-status {\"complete\":false,\"blockers\":[\"a_password\"]}
          not gate_started
          run_finished stagnated exit 0
        ",
    );
}

#[test]
fn ticked_boxes_are_judged() {
    story(
        "
        given evidence promise, checks, model auto, threshold 1
        > start
        > prepared A
        > agent finishes says-done
        > surveyed A boxes 0/3
          gate_started [NoProgress]
        ",
    );
}

#[test]
fn a_plan_and_a_run_without_detection_are_not_judged() {
    for given in ["evidence planned promise", "no detection"] {
        story(&format!(
            "
            given {given}, checks, model auto, threshold 1
            > start
            > iteration A->A says-done
              not gate_started
              run_finished stagnated exit 0
            "
        ));
    }
}

#[test]
fn an_operator_who_wants_to_stop_does_not_wait_for_it() {
    story(
        "
        given checks, model auto, threshold 1
        > start
        > prepared A
        > stop
        > agent finishes says-done
        > surveyed A
          not gate_started
          run_finished stopped
        ",
    );
}

#[test]
fn a_log_file_that_grows_does_not_keep_finished_work_from_being_judged() {
    story(
        "
        given checks, model auto, threshold 2
        > start
        > iteration A->B edits=/p/src/a.rs status:worked
        > iteration B->C status:idle
          iteration_finished 2 Idle
        > iteration C->D status:idle
          gate_started [NoProgress]
        > checks pass
        > call yes
        > surveyed D
          run_finished completed
        ",
    );
}
