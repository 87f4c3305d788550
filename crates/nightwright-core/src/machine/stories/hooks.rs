//! Hooks that are only notified: when and how often they run, and what their answers cannot do.

use crate::machine::story::story;

#[test]
fn after_an_iteration_its_hook_is_run_and_waited_for() {
    story(
        "
        given hook after, max_iterations 3
        > start
        > iteration A->B
          iteration_finished 1
          -> hook iteration_finished
          not -> prepare
        > hook continues
          -> prepare Yes
        ",
    );
}

#[test]
fn changes_of_a_hook_are_surveyed_and_are_not_the_agents_work() {
    story(
        "
        given max_iterations 3
        > start
        > iteration A->B
          -> prepare Known
        ",
    );
    story(
        "
        given hook after, max_iterations 3, threshold 1
        > start
        > iteration A->B
        > hook continues
          -> prepare Yes
        > prepared C
        > agent finishes
        > surveyed C
          iteration_finished 2 Idle
        > hook continues
          run_finished stagnated
        ",
    );
}

#[test]
fn a_new_blocker_rings_once_and_before_the_iteration_is_reported() {
    story(
        "
        given hook blocked, hook after, threshold 9
        > start
        > iteration A->A blocker=password
          blocker_reported password
          -> hook blocked
          not -> hook iteration_finished
        > hook continues
          -> hook iteration_finished
        > hook continues
        > iteration A->B blocker=password
          not -> hook blocked
          -> hook iteration_finished
        > hook continues
        > iteration B->C blocker=token
          -> hook blocked
        ",
    );
}

#[test]
fn without_a_new_blocker_the_blocked_hook_does_not_run() {
    story(
        "
        given hook blocked
        > start
        > iteration A->B
          not -> hook
          -> prepare Known
        ",
    );
}

#[test]
fn the_last_iteration_is_reported_before_the_run_ends() {
    story(
        "
        given hook after, max_iterations 1
        > start
        > iteration A->B
          -> hook iteration_finished
          not run_finished
        > hook continues
          run_finished max_iterations
        ",
    );
}

#[test]
fn a_failed_iteration_is_reported_like_any_other() {
    story(
        "
        given hook after, retries 0
        > start
        > prepared A
        > agent fails crashed
          iteration_finished 1
          -> hook iteration_finished
        ",
    );
}

#[test]
fn hooks_that_are_only_notified_cannot_control_the_run() {
    for answer in ["skips", "aborts", "fails"] {
        story(&format!(
            "
            given hook after, hook blocked, threshold 9
            > start
            > iteration A->A blocker=password
            > hook {answer}
              hook_failed blocked
              -> hook iteration_finished
            > hook {answer}
              hook_failed iteration_finished
              not run_finished
              not iteration_skipped
              -> prepare Yes
            "
        ));
    }
}

#[test]
fn only_next_iteration_can_skip() {
    story(
        "
        given hook started
        > start
        > hook skips
          hook_failed started
          not iteration_skipped
          -> prepare Yes
        ",
    );
}

#[test]
fn stop_now_waits_for_no_hook_that_is_notified() {
    story(
        "
        given hook after, hook blocked, threshold 9
        > start
        > iteration A->A blocker=password
          -> hook blocked
        > stop now
          not -> hook
          run_finished interrupted
        ",
    );
}

#[test]
fn an_iteration_that_stop_now_cut_is_reported_only_to_finished() {
    story(
        "
        given hook after
        > start
        > prepared A
        > stop now
        > agent exits
          iteration_finished 1
          not -> hook
          run_finished interrupted
        ",
    );
}

#[test]
fn a_stop_waits_for_the_hooks_of_its_iteration() {
    story(
        "
        given hook after
        > start
        > iteration A->B
        > stop
          not run_finished
        > hook continues
          run_finished stopped
        ",
    );
}

#[test]
fn after_a_crash_no_hook_is_notified_again() {
    story(
        "
        given hook after, hook blocked, threshold 9
        > start
        > iteration A->A blocker=password
          -> hook blocked
        > crash
        > continue
          not -> hook
          -> prepare Yes
        ",
    );
}

#[test]
fn a_run_that_has_skipped_an_iteration_has_had_the_word_of_started() {
    story(
        "
        given hook started, hook next
        > start
          -> hook started
        > hook continues
        > prepared A
          -> hook next_iteration
        > hook skips
          iteration_skipped
        > crash
        > continue
          not -> hook started
          -> prepare Yes
        ",
    );
}

#[test]
fn an_iteration_that_is_written_down_after_a_crash_is_reported_once() {
    story(
        "
        given hook after
        > start
        > prepared A
        > agent finishes
        > crash
        > continue
          not -> hook
        > surveyed B
          iteration_finished 1
          -> hook iteration_finished
        ",
    );
}

#[test]
fn a_failed_journal_runs_no_hook_any_more() {
    story(
        "
        given hook after, hook blocked, threshold 9
        > start
        > iteration A->A blocker=password
          -> hook blocked
        > journal fails
          not -> hook
          run_finished journal_failed
        ",
    );
}

#[test]
fn a_changed_journal_runs_no_hook_any_more() {
    story(
        "
        given hook after, hook blocked, threshold 9
        > start
        > iteration A->A blocker=password
          -> hook blocked
        > journal damaged
          not -> hook
          run_finished journal_damaged
        ",
    );
}

#[test]
fn a_pause_does_not_delay_hooks() {
    story(
        "
        given hook after
        > start
        > prepared A
        > pause
        > agent finishes
        > surveyed B
          -> hook iteration_finished
        > hook continues
          not -> prepare
        ",
    );
}
