//! The gate: a run completes only when a claim passes here.

use crate::machine::story::story;
use crate::outcome::Strictness;

#[test]
fn done_needs_both_the_claim_and_the_checks() {
    story(
        "
        given checks
        > start
        > iteration A->B
          not gate_started
        > iteration B->C promise
          gate_started [Promise]
          checks_started make test
          -> run checks
        > checks fail boom
          feedback_added Checks: You said that the work is complete. It is not: `make test` failed (exit 1).
          gate_finished rejected: `make test` failed (exit 1)
          iteration_finished 2 Work
        > prepared same
          -> start attempt 3 with feedback
        > agent finishes promise
        > surveyed D
        > checks pass
          gate_finished passed by checks
          run_finished completed exit 0
        ",
    );
}

#[test]
fn without_checks_a_model_judges_and_nothing_is_called_verified() {
    let run = story(
        "
        given model auto
        > start
        > iteration A->B promise
        > inspected clean
        > call yes
        > surveyed B
          gate_finished passed by model
          run_finished completed exit 0
        ",
    );
    assert_eq!(
        run.outcome().sentence(1),
        "Task judged complete by a model (no checks configured) after 1 iteration"
    );
    assert_eq!(run.outcome().exit_code(Strictness::RequireComplete), 0);
}

#[test]
fn an_empty_gate_lets_a_claim_pass_and_says_so() {
    let run = story(
        "
        > start
        > iteration A->B promise
          gate_finished passed by none
          run_finished completed exit 0
        ",
    );
    assert_eq!(
        run.outcome().sentence(1),
        "Task completed, not verified (no checks configured), after 1 iteration"
    );
    assert_eq!(run.outcome().exit_code(Strictness::RequireComplete), 6);
}

#[test]
fn a_flaky_check_is_a_pass_with_a_warning() {
    story(
        "
        given checks
        > start
        > iteration A->B promise
        > checks flaky
          warning: `make test` is flaky
          run_finished completed
        ",
    );
}

#[test]
fn a_check_that_changes_the_project_is_a_warning_and_no_work_of_the_agent() {
    story(
        "
        given checks, model always
        > start
        > iteration A->A promise
        > checks pass-and-change
          warning: the checks changed files: `src/lib.rs`
        > call no: nothing was done
          iteration_finished 1 Uncounted
        ",
    );
}

#[test]
fn files_that_checks_wrote_are_named_once_and_remembered_over_a_crash() {
    let run = story(
        "
        given checks, model always
        > start
        > iteration A->B promise
        > checks pass-and-write
          warning: the checks wrote files, which do not count as work: `coverage.xml`, `results.json`, `target/`
        > call no: not yet
          iteration_finished 1 Work
        > prepared same
        > agent finishes promise
        > surveyed C
        > checks pass-and-write
          not warning
        > crash
        ",
    );
    let outputs: Vec<_> = run.machine.state().outputs.iter().map(String::as_str).collect();
    assert_eq!(outputs, ["coverage.xml", "results.json", "target/"]);
}

#[test]
fn a_change_after_the_verdict_voids_it() {
    story(
        "
        given checks, model always
        > start
        > iteration A->B promise
        > checks pass
        > call yes
          -> survey
        > surveyed C
          gate_finished inconclusive: the project changed while a model judged it
          not run_finished
        ",
    );
}

#[test]
fn the_model_is_asked_when_nothing_else_checks_or_the_evidence_is_only_words() {
    story(
        "
        given model auto
        > start
        > iteration A->B promise
          call_started 1 verify
        ",
    );
    story(
        "
        given model auto, checks
        > start
        > iteration A->B promise
        > checks pass
          call_started 1 verify
        ",
    );
    story(
        "
        given model auto, checks, evidence status
        > start
        > iteration A->B status:complete
        > checks pass
          not call_started
          run_finished completed
        ",
    );
}

#[test]
fn the_model_is_asked_when_the_changes_look_like_tampering() {
    story(
        "
        given model auto, checks, tamper warn, evidence status
        > start
        > iteration A->B status:complete
        > checks pass
          -> inspect changes
        > inspected tests/a.rs
          warning: tests/a.rs: a test was deleted
          call_started 1 verify
        ",
    );
}

#[test]
fn tampering_rejects_where_it_is_set_to_or_where_no_model_may_be_asked() {
    for given in ["tamper reject, model auto", "tamper warn"] {
        story(&format!(
            "
            given checks, {given}
            > start
            > iteration A->B promise
            > checks pass
            > inspected tests/a.rs
              gate_finished rejected: findings of the tamper inspection
            "
        ));
    }
}

#[test]
fn a_git_command_that_was_killed_is_a_warning_if_the_checks_do_not_depend_on_the_files() {
    story(
        "
        given checks, tamper reject, model auto, evidence status
        > start
        > iteration A->B status:complete
        > checks pass
        > inspected until git was killed src/main.rs README.md
          warning: `git cat-file` did not finish within 1m 00s and was killed; 2 changed files inspected by name only
          changes_inspected
          not call_started
          not gate_finished rejected
          run_finished completed
        ",
    );
}

#[test]
fn without_an_inspection_of_the_tests_or_of_anything_a_model_is_asked_or_the_claim_is_rejected() {
    for (given, files, then) in [
        ("tamper warn, model auto", "tests/a.rs", "call_started 1 verify"),
        (
            "tamper reject, model auto",
            "src/main.rs tests/a.rs",
            "gate_finished rejected: findings of the tamper inspection: tests/a.rs: cannot inspect this change: `git cat-file`",
        ),
        ("tamper warn, model auto", "", "call_started 1 verify"),
        (
            "tamper warn",
            "",
            "gate_finished rejected: findings of the tamper inspection: .git: cannot inspect the changes of the run: `git cat-file`",
        ),
    ] {
        story(&format!(
            "
            given checks, evidence status, {given}
            > start
            > iteration A->B status:complete
            > checks pass
            > inspected until git was killed {files}
              warning: `git cat-file` did not finish within 1m 00s and was killed
              {then}
            "
        ));
    }
}

#[test]
fn a_no_goes_into_the_inbox_with_what_is_missing() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
        > call no: the tests were never run
          verdict_given No
          feedback_added Verifier: You said that the work is complete. It is not: the tests were never run
          gate_finished rejected: the tests were never run
        ",
    );
}

#[test]
fn no_verdict_after_one_retry_is_inconclusive_and_no_rejection() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
        > call unclear
          call_started 2 verify
        > call fails timed_out
          verdict_given Inconclusive
          not feedback_added
          iteration_finished 1 Work
          -> prepare
        ",
    );
}

#[test]
fn two_consecutive_inconclusive_gates_end_as_unverified() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
        > call unclear
        > call unclear
        > iteration B->C promise
        > call unclear
        > call unclear
          run_finished unverified exit 0
        ",
    );
}

#[test]
fn three_consecutive_rejections_end_as_unverified() {
    story(
        "
        given checks
        > start
        > iteration A->B promise
        > checks fail boom
        > iteration B->C promise
        > checks fail boom
        > iteration C->D promise
        > checks fail boom
          run_finished unverified exit 0
        ",
    );
}

#[test]
fn an_iteration_without_a_claim_between_them_breaks_the_row_of_rejections() {
    story(
        "
        given checks
        > start
        > iteration A->B promise
        > checks fail one
        > iteration B->C promise
        > checks fail two
        > iteration C->D
        > iteration D->E promise
        > checks fail three
          -> prepare
        ",
    );
}

#[test]
fn auth_and_billing_during_a_call_end_the_run() {
    for outcome in ["auth", "billing"] {
        story(&format!(
            "
            given model always
            > start
            > iteration A->B promise
            > call fails {outcome}
              run_finished auth exit 1
            "
        ));
    }
}

#[test]
fn the_completion_signal_claims_only_after_several_consecutive_iterations() {
    story(
        "
        given evidence signal
        > start
        > iteration A->B signal
          not gate_started
        > iteration B->C signal
        > iteration C->D
        > iteration D->E signal
        > iteration E->F signal
          not gate_started
        > iteration F->G signal
          gate_started [Signal]
          run_finished completed
        ",
    );
}

#[test]
fn boxes_claim_only_when_there_is_one_none_is_open_and_no_status_file_speaks() {
    story(
        "
        given evidence todo, threshold 0
        > start
        > prepared A
        > agent finishes
        > surveyed B boxes 0/0
          not gate_started
        > prepared same
        > agent finishes
        > surveyed C boxes 1/5
          not gate_started
        > prepared same
        > agent finishes
        > surveyed D boxes 0/6 status half
          not gate_started
        > prepared same
        > agent finishes
        > surveyed E boxes 0/6
          gate_started [Todo]
        ",
    );
}

#[test]
fn a_plan_is_finished_when_promised_and_something_is_open_in_it() {
    story(
        "
        given evidence planned
        > start
        > prepared A
        > agent finishes promise
        > surveyed B boxes 0/3
          not gate_started
        > prepared same
        > agent finishes promise
        > surveyed C boxes 2/3
          gate_started [Planned]
        ",
    );
}

#[test]
fn a_status_file_left_from_before_the_run_claims_nothing() {
    story(
        "
        given evidence status
        > start
        > prepared A
        > agent finishes
        > surveyed B status stale
          not gate_started
        > prepared same
        > agent finishes
        > surveyed C status complete
          gate_started [Status]
        ",
    );
}

#[test]
fn without_detection_nothing_is_a_claim() {
    story(
        "
        given no detection, max_iterations 1
        > start
        > iteration A->B promise signal end-phrase says-done
          not gate_started
          run_finished max_iterations
        ",
    );
}

#[test]
fn the_end_phrase_claims_where_it_is_asked_for() {
    story(
        "
        given evidence end-phrase
        > start
        > iteration A->B end-phrase
          gate_started [EndPhrase]
        ",
    );
}

#[test]
fn a_review_follows_work_and_what_it_leaves_is_judged() {
    story(
        "
        given review
        > start
        > iteration A->B
          call_started 1 review
        > call says: looks good
          call_finished 1 review finished
          -> survey
        > surveyed C
          not call_started
          iteration_finished 1 Work
        > iteration C->C
          not call_started
        ",
    );
}

#[test]
fn three_consecutive_failed_reviews_end_the_run() {
    story(
        "
        given review
        > start
        > iteration A->B
        > call fails crashed
          warning: the review failed
        > surveyed B
        > iteration B->C
        > call fails crashed
        > surveyed C
        > iteration C->D
        > call fails crashed
        > surveyed D
          run_finished consecutive_errors exit 1
        ",
    );
}

#[test]
fn a_conflict_between_principles_is_decided_by_the_council() {
    story(
        "
        given council
        > start
        > iteration A->B conflict
          call_started 1 council
        > call says: safety first
          council_decided: safety first
          feedback_added Council: … > safety first
          iteration_finished 1 Work
        ",
    );
}
