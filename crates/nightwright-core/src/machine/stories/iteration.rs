//! The events and effects of one iteration.

use crate::machine::story::story;

#[test]
fn an_iteration_is_prepared_attempted_surveyed_and_recorded() {
    story(
        "
        given max_iterations 5
        > start
          run_started
          -> prepare Yes
        > prepared A
          iteration_started 1
          attempt_started 1
          -> start attempt 1
        > agent ready
          agent_ready
        > agent finishes $0.42
          attempt_finished 1 finished $0.42
          -> survey
        > surveyed B
          iteration_finished 1 Work
          -> prepare Known
        > prepared same
          iteration_started 2
        ",
    );
}

#[test]
fn work_is_a_state_of_the_project_that_this_run_has_not_seen() {
    story(
        "
        given threshold 0
        > start
        > iteration A->B
          iteration_finished 1 Work
        > iteration B->A
          iteration_finished 2 Idle
        > iteration A->B
          iteration_finished 3 Idle
        > iteration B->C
          iteration_finished 4 Work
        ",
    );
}

#[test]
fn a_commit_counts_as_work_only_if_its_tree_is_new() {
    story(
        "
        given threshold 0
        > start
        > prepared A
        > agent finishes
        > surveyed A tree T1
          iteration_finished 1 Work
        > prepared same
        > agent finishes
        > surveyed A tree T1
          iteration_finished 2 Idle
        ",
    );
}

#[test]
fn fewer_open_boxes_than_ever_count_together_with_another_change() {
    story(
        "
        given threshold 0
        > start
        > prepared A
        > agent finishes
        > surveyed B boxes 3/0
          iteration_finished 1 Work
        > prepared same
        > agent finishes
        > surveyed A boxes 3/0
          iteration_finished 2 Idle
        > prepared same
        > agent finishes
        > surveyed B boxes 2/1
          iteration_finished 3 Work
        > prepared same
        > agent finishes
        > surveyed B boxes 1/2
          iteration_finished 4 Idle
        ",
    );
}

#[test]
fn the_delay_applies_between_iterations_and_never_after_the_last() {
    story(
        "
        given max_iterations 2, delay 2s
        > start
        > iteration A->B
          -> delay 2s
        > timer
          -> prepare
        > prepared same
        > agent finishes
        > surveyed C
          run_finished max_iterations
          not -> delay
        ",
    );
}

#[test]
fn the_last_iteration_learns_that_it_is_the_last() {
    story(
        "
        given max_iterations 2
        > start
        > prepared A
          not -> start attempt 1 last
        > agent finishes
        > surveyed B
        > prepared same
          -> start attempt 2 last
        ",
    );
}

#[test]
fn feedback_goes_into_every_attempt_of_the_next_iteration_and_is_spent_when_it_is_recorded() {
    story(
        "
        given max_iterations 9
        > start
        > prepared A
        > tell: mind the umlauts
          feedback_added Human: mind the umlauts
        > agent finishes
        > surveyed B
        > prepared same
          -> start attempt 2 with feedback
        > agent fails overloaded
        > timer
          -> start attempt 3 cut-off with feedback
        > agent finishes
        > surveyed C
        > prepared same
          not -> start attempt 4 with feedback
          -> start attempt 4
        ",
    );
}

#[test]
fn feedback_is_not_spent_by_an_iteration_that_failed() {
    story(
        "
        given max_iterations 9
        > start
        > prepared A
        > tell: mind the umlauts
        > agent finishes
        > surveyed B
        > prepared same
          -> start attempt 2 with feedback
        > agent fails refused
          iteration_finished 2 failed
        > timer
        > prepared B
          -> start attempt 3 with feedback
        ",
    );
}

#[test]
fn news_of_an_attempt_given_up_is_ignored_by_number() {
    story(
        "
        given max_iterations 9
        > start
        > prepared A
        > agent fails overloaded
        > timer
          attempt_started 2
        > stale agent 1 finishes promise
          nothing
        > agent finishes
          attempt_finished 2 finished
        ",
    );
}

#[test]
fn a_skip_by_the_hook_uses_up_no_number_and_can_t_spin() {
    story(
        "
        given hook next, max_iterations 3
        > start
          -> prepare Yes
        > prepared A
          -> hook next_iteration
        > hook skips
          iteration_skipped 1
          -> delay 1s
        > timer
          -> prepare Yes
        > prepared A
        > hook continues
          -> prepare Yes
        > prepared A
          iteration_started 1
        ",
    );
}

#[test]
fn a_hook_that_fails_is_a_warning_and_the_run_continues() {
    story(
        "
        given hook started
        > start
          -> hook started
        > hook fails
          hook_failed started
          -> prepare Yes
        ",
    );
}
