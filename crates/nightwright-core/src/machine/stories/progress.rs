//! Missing progress: idle iterations, the escalation steps, and the outcomes.

use crate::event::{AttemptEvent, Event, Record};
use crate::machine::story::story;

#[test]
fn consecutive_idle_iterations_end_the_run_at_the_threshold() {
    story(
        "
        > start
        > iteration A->A
          iteration_finished 1 Idle
        > iteration A->A
        > iteration A->A
          run_finished stagnated exit 0
        ",
    );
}

#[test]
fn any_work_resets_the_row() {
    story(
        "
        > start
        > iteration A->A
        > iteration A->A
        > iteration A->B
          iteration_finished 3 Work
        > iteration B->B
        > iteration B->B
          -> prepare
        ",
    );
}

#[test]
fn the_ladder_tells_more_at_each_step_and_never_lengthens_the_run() {
    story(
        "
        given threshold 4
        > start
        > iteration A->A
          feedback_added Idle: The last iteration changed nothing
        > iteration A->A
          feedback_added Idle: The last 2 iterations changed nothing in the project. That approach
        > iteration A->A
          feedback_added Idle: The last 3 iterations changed nothing in the project. Stop repeating
        > iteration A->A
          run_finished stagnated
          not feedback_added
        ",
    );
}

#[test]
fn from_the_third_step_on_a_stronger_model_takes_over() {
    story(
        "
        given threshold 5, escalate opus
        > start
        > iteration A->A
        > iteration A->A
        > prepared same
          not attempt_started 3 model opus
        > agent finishes
        > surveyed A
        > prepared same
          attempt_started 4 model opus
        ",
    );
}

#[test]
fn a_threshold_of_one_ends_at_once_and_of_nought_never() {
    story(
        "
        given threshold 1
        > start
        > iteration A->A
          run_finished stagnated
        ",
    );
    let mut endless = String::from("given threshold 0\n> start\n");
    for _ in 0..30 {
        endless.push_str("> iteration A->A\n-> prepare\n");
    }
    story(&endless);
}

#[test]
fn worked_true_prevents_idle_only_where_the_mode_says_so() {
    story(
        "
        given threshold 2, mode iterative
        > start
        > iteration A->A status:worked
          iteration_finished 1 WorkReported
        > iteration A->A status:worked
        > iteration A->A status:worked
        > iteration A->A status:worked
          iteration_finished 4 WorkReported
        > iteration A->A status:worked
          iteration_finished 5 Idle
        ",
    );
    story(
        "
        given threshold 2
        > start
        > iteration A->A status:worked
          iteration_finished 1 Idle
        ",
    );
}

#[test]
fn worked_false_with_an_unchanged_tree_is_idle_everywhere() {
    story(
        "
        given mode iterative
        > start
        > iteration A->A status:idle
          iteration_finished 1 Idle
        ",
    );
}

#[test]
fn an_iteration_whose_claim_went_to_the_gate_is_not_idle_and_resets_nothing() {
    story(
        "
        given checks, threshold 3
        > start
        > iteration A->A
        > iteration A->A
        > iteration A->A promise
        > checks fail boom
          iteration_finished 3 Uncounted
          not run_finished
        > iteration A->A
          run_finished stagnated
        ",
    );
}

#[test]
fn failed_iterations_neither_count_as_idle_nor_reset_the_row() {
    story(
        "
        given threshold 2
        > start
        > iteration A->A
        > prepared same
        > agent fails refused
          iteration_finished 2 failed
        > iteration A->A
          run_finished stagnated
        ",
    );
}

#[test]
fn the_same_checks_failing_alike_on_the_same_tree_end_the_run_claimed_or_not() {
    story(
        "
        given checks, threshold 9
        > start
        > iteration A->A promise
        > checks fail boom
        > iteration A->A
        > iteration A->A promise
        > checks fail boom
        > iteration A->A
        > call says: read the first error
        > iteration A->A promise
        > checks fail boom
          gate_finished rejected
          not run_finished
        > iteration A->A
          run_finished stagnated exit 0
        ",
    );
}

#[test]
fn worked_false_without_commits_and_edits_is_idle_whatever_changed_the_tree() {
    story(
        "
        given threshold 2
        > start
        > iteration A->B status:idle
          iteration_finished 1 Idle
        > iteration B->C status:idle
          run_finished stagnated
        ",
    );
}

#[test]
fn worked_false_next_to_an_edit_a_commit_or_an_agent_that_does_not_tell_is_work() {
    story(
        "
        given threshold 1
        > start
        > iteration A->B edits=/p/src/a.rs status:idle
          iteration_finished 1 Work
        > prepared same
        > agent finishes
        > surveyed C status idle commits 1
          iteration_finished 2 Work
        > iteration C->D edits=? status:idle
          iteration_finished 3 Work
        > iteration D->E
          iteration_finished 4 Work
        > iteration E->F status:worked
          iteration_finished 5 Work
        ",
    );
}

#[test]
fn worked_false_counts_only_if_it_was_written_in_this_iteration() {
    story(
        "
        given threshold 1
        > start
        > iteration A->B edits=/p/src/a.rs status:idle
        > prepared same
        > agent finishes
        > surveyed C old-status {\"complete\":false,\"worked\":false}
          iteration_finished 2 Work
        ",
    );
}

#[test]
fn writing_the_status_file_or_the_notes_is_no_work() {
    for file in ["/p/.nightwright/tasks/t/.status.json", "/p/SHARED_TASK_NOTES.md"] {
        story(&format!(
            "
            given threshold 1, notes SHARED_TASK_NOTES.md
            > start
            > iteration A->B edits={file} status:idle
              iteration_finished 1 Idle
            "
        ));
    }
    story(
        "
        given threshold 1, notes SHARED_TASK_NOTES.md
        > start
        > iteration A->B edits=/p/MY_SHARED_TASK_NOTES.md status:idle
          iteration_finished 1 Work
        ",
    );
}

#[test]
fn an_edit_of_an_attempt_that_failed_counts_too() {
    story(
        "
        given threshold 1
        > start
        > prepared A
        > agent fails overloaded edits=/p/src/a.rs
        > timer
        > agent finishes
        > surveyed B status idle
          iteration_finished 1 Work
        ",
    );
}

#[test]
fn in_modes_that_always_change_files_the_outcome_is_no_changes() {
    story(
        "
        given mode build, threshold 2
        > start
        > iteration A->A
        > iteration A->A
          run_finished no_changes exit 0
        ",
    );
}

#[test]
fn two_consecutive_idle_iterations_that_report_a_blocker_end_as_blocked() {
    story(
        "
        > start
        > iteration A->A blocker=password
          blocker_reported password
        > iteration A->A blocker=password
          not blocker_reported
          run_finished blocked exit 0
        ",
    );
}

#[test]
fn a_blocker_does_not_end_a_run_that_does_other_work() {
    story(
        "
        > start
        > iteration A->A blocker=password
        > iteration A->B blocker=password
          iteration_finished 2 Work
        > iteration B->B blocker=password
          -> prepare
        ",
    );
}

#[test]
fn blockers_in_the_status_file_count_when_written_in_this_iteration() {
    story(
        "
        > start
        > iteration A->A status:blocked
          blocker_reported password
        > iteration A->A status:blocked
          run_finished blocked
        ",
    );
}

#[test]
fn denied_permissions_without_work_are_a_blocker_that_names_commands_and_rules() {
    let run = story(
        "
        > start
        > prepared A
        > agent denied Bash npm install
          permission_denied npm install (allow with --allowed-tools \"Bash(npm install:*)\")
        > agent denied Bash npm install
        > agent finishes denied=Bash:npm_install denied=WebFetch
          permission_denied WebFetch (allow with --allowed-tools \"WebFetch\")
        > surveyed A
          blocker_reported permissions
        > iteration A->A denied=Bash:npm_install
          run_finished blocked
        ",
    );
    let sentence = run.outcome().sentence(2);
    let named = "permission for npm install (allow with --allowed-tools \"Bash(npm install:*)\")";
    assert!(sentence.contains(named), "{sentence}");
    assert!(!sentence.contains("WebFetch"), "only the last iteration's: {sentence}");
}

#[test]
fn a_refused_command_is_reported_once_per_run() {
    let run = story(
        "
        > start
        > prepared A
        > agent denied Bash npm install && npm test
          permission_denied npm install (allow with --allowed-tools \"Bash(npm install:*)\")
          permission_denied npm test (allow with --allowed-tools \"Bash(npm test:*)\")
        > agent finishes denied=Bash:npm_install
        > surveyed B
        > prepared B
        > agent denied Bash npm install
        > agent finishes denied=Bash:npm_install
        ",
    );
    let is_told = |record: &&Record| match &record.event {
        Event::Attempt(AttemptEvent::PermissionDenied { command, .. }) => command == "npm install",
        _ => false,
    };
    assert_eq!(run.journal.iter().filter(is_told).count(), 1);
}

#[test]
fn a_command_that_is_refused_again_after_the_rules_changed_is_reported_again() {
    let run = story(
        "
        given max_iterations 1
        > start
        > prepared A
        > agent denied Bash mytool x
          permission_denied mytool x (allow with --allowed-tools \"Bash(mytool x:*)\")
        > agent finishes denied=Bash:mytool_x
        > surveyed B
          run_finished max_iterations
        > continue with max_iterations 2, allowed_tools Bash(mytool x:*)
          settings_changed agent.allowed_tools: added Bash(mytool x:*)
        > prepared B
        > agent denied Bash mytool x
          permission_denied mytool x (allow with --allowed-tools \"Bash\"
        > agent denied Bash mytool x
        > agent finishes
        ",
    );
    let denials = |record: &&Record| {
        matches!(record.event, Event::Attempt(AttemptEvent::PermissionDenied { .. }))
    };
    assert_eq!(run.journal.iter().filter(denials).count(), 2);
}
