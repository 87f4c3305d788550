//! The baseline: the results of the checks before the first iteration.

use crate::machine::story::story;
use crate::outcome::Strictness;

#[test]
fn the_checks_run_once_before_the_project_is_looked_at() {
    story(
        "
        given checks, baseline
        > start
          checks_started for the baseline: make test
          -> run checks
          not -> prepare
        > checks fail boom
          checks_finished
          not warning
          -> prepare
        > iteration A->B
          not checks_started
        > iteration B->C
          not checks_started
        ",
    );
}

#[test]
fn a_check_that_failed_before_and_passes_now_is_proof() {
    story(
        "
        given checks, baseline, model auto, evidence status
        > start
        > checks fail boom
        > iteration A->B status:complete
          checks_started make test
        > checks pass
          gate_finished passed by checks
          run_finished completed exit 0
        ",
    );
}

#[test]
fn checks_that_passed_before_need_a_model_as_well() {
    let run = story(
        "
        given checks, baseline, model auto, evidence status
        > start
        > checks pass
          warning: the checks already pass, so passing them does not verify the work: a model also decides
        > iteration A->B status:complete
        > checks pass
          -> start call
        > call yes
        > surveyed B
          gate_finished passed by model
          run_finished completed exit 0
        ",
    );
    assert_eq!(
        run.outcome().sentence(1),
        "Task judged complete by a model (the checks passed before the run began) after 1 iteration"
    );
}

#[test]
fn a_check_that_is_flaky_before_the_work_proves_nothing_by_passing() {
    story(
        "
        given checks, baseline, model auto, evidence status
        > start
        > checks flaky
          warning: `make test` is flaky: it failed, then passed on rerun
          warning: the checks already pass, so passing them does not verify the work: a model also decides
        > iteration A->B status:complete
        > checks pass
          -> start call
        > call no: nothing was done
          gate_finished rejected
        ",
    );
}

#[test]
fn a_check_that_was_cut_off_proves_no_more_than_one_that_passed() {
    let run = story(
        "
        given checks, baseline, model auto, evidence status
        > start
        > checks time-out
          warning: `make test` timed out after 1s before the first iteration
          warning: the checks gave no result before the first iteration
        > iteration A->B status:complete
        > checks pass
        > call yes
        > surveyed B
          gate_finished passed by model
        ",
    );
    assert_eq!(run.outcome().exit_code(Strictness::RequireComplete), 0);
}

#[test]
fn without_a_model_checks_that_passed_before_verify_nothing() {
    let run = story(
        "
        given checks, baseline, evidence status
        > start
        > checks pass
          warning: the checks already pass, so passing them does not verify the work: a completion does not count as verified
        > iteration A->B status:complete
        > checks pass
          gate_finished passed by none
          run_finished completed exit 0
        ",
    );
    assert_eq!(run.outcome().exit_code(Strictness::RequireComplete), 6);
}

#[test]
fn a_check_that_cannot_run_ends_the_run_before_anything_is_spent() {
    let run = story(
        "
        given checks, baseline
        > start
        > checks missing
          checks_finished
          run_finished checks_cannot_run exit 2
          not -> start attempt
        ",
    );
    assert_eq!(
        run.outcome().sentence(0),
        "Not started: `make test` cannot run: `make` is not in PATH"
    );
}

#[test]
fn a_resumed_run_takes_no_baseline() {
    story(
        "
        given checks, baseline
        > start
          -> run checks
        > crash
        > continue
          not checks_started
          -> prepare
        ",
    );
    story(
        "
        given checks, baseline
        > start
        > checks missing
          run_finished checks_cannot_run
        > continue
          not checks_started
          -> prepare
        ",
    );
}

#[test]
fn nothing_is_known_of_a_check_that_the_operator_adds_later() {
    story(
        "
        given checks, baseline, model auto, evidence status
        > start
        > checks pass
        > iteration A->B
        > crash
        > continue with check ./new.sh
        > iteration B->C status:complete
        > checks pass
          -> start call
        > call yes
        > surveyed C
          gate_finished passed by model
        ",
    );
}

#[test]
fn a_baseline_that_was_broken_off_proves_nothing() {
    for broken_off in ["> crash", "> stop\n> checks interrupted"] {
        story(&format!(
            "
            given checks, baseline, model auto, evidence status
            > start
            {broken_off}
            > continue
            > iteration A->B status:complete
            > checks pass
              -> start call
            > call yes
            > surveyed B
              gate_finished passed by model
            "
        ));
    }
}

#[test]
fn a_stop_during_the_baseline_ends_the_checks_and_the_run() {
    story(
        "
        given checks, baseline
        > start
        > stop
          -> cut checks
        > checks interrupted
          not warning
          run_finished stopped
        ",
    );
    story(
        "
        given checks, baseline
        > start
        > stop now
          -> cut checks
        > checks interrupted
          run_finished interrupted
        ",
    );
}

#[test]
fn a_run_that_accepts_no_claim_or_makes_a_plan_takes_no_baseline() {
    for given in ["no detection", "evidence planned", "only the gate"] {
        story(&format!(
            "
            given checks, baseline, {given}
            > start
              not checks_started
            "
        ));
    }
}

#[test]
fn the_baseline_counts_as_work_and_leaves_time_for_it() {
    story(
        "
        given checks, baseline, max_duration 2m, reserve 0
        > start
          -> run checks within 45s
        > wait 45s
        > checks time-out
          warning: `make test` timed out after 1s before the first iteration
          -> prepare
        > prepared A
          iteration_started
        ",
    );
    story(
        "
        given checks, baseline, max_duration 1h
        > start
          -> run checks within 5m 00s
        ",
    );
}

#[test]
fn without_progress_a_check_fixed_since_the_baseline_completes_the_run_without_a_model() {
    story(
        "
        given checks, baseline, threshold 1
        > start
        > checks fail boom
        > iteration A->B
        > iteration B->B
          gate_started [NoProgress]
          checks_started make test
        > checks pass
          gate_finished passed by checks
          run_finished completed
        ",
    );
    story(
        "
        given checks, baseline, threshold 1
        > start
        > checks pass
        > iteration A->B
        > iteration B->B
        > checks pass
          gate_finished rejected: none of the checks that failed at the start passes now
          run_finished stagnated
        ",
    );
}

#[test]
fn files_that_the_baseline_wrote_are_not_work() {
    let run = story(
        "
        given checks, baseline
        > start
        > checks pass-and-write
          checks_finished
          warning: the checks changed files: `results.json`
          not warning: the checks wrote files
        ",
    );
    assert!(run.machine.state().outputs.contains("coverage.xml"));
}
