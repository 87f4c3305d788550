//! Failures: which are retried, which fail an iteration, and which end the run.

use crate::machine::story::story;

#[test]
fn transient_failures_are_tried_again_after_a_growing_delay() {
    for outcome in ["overloaded", "network", "timed_out", "crashed", "interrupted"] {
        story(&format!(
            "
            > start
            > prepared A
            > agent fails {outcome}
              retry_scheduled
              -> wait
            > timer
              attempt_started 2
              -> start attempt 2 cut-off
            "
        ));
    }
}

#[test]
fn an_iteration_fails_when_its_retries_are_used_up() {
    story(
        "
        given retries 2, max_errors 9
        > start
        > prepared A
        > agent fails overloaded
        > timer
        > agent fails network
        > timer
        > agent fails crashed
          iteration_finished 1 failed: killed by signal 9
        ",
    );
}

#[test]
fn a_prompt_that_can_t_work_fails_its_iteration_without_a_retry() {
    for outcome in ["bad_request", "refused", "output_limit", "not_started", "prompt_too_long"] {
        story(&format!(
            "
            > start
            > prepared A
            > agent fails {outcome}
              not retry_scheduled
              iteration_finished 1 failed
              -> delay 5s
            "
        ));
    }
}

#[test]
fn a_failed_iteration_counts_as_an_iteration() {
    story(
        "
        given max_iterations 1
        > start
        > prepared A
        > agent fails refused
          run_finished all_iterations_failed exit 1 (Reached maximum iterations (1))
        ",
    );
}

#[test]
fn after_a_failed_iteration_at_least_five_seconds_pass() {
    story(
        "
        given delay 1s
        > start
        > prepared A
        > agent fails refused
          -> delay 5s
        ",
    );
}

#[test]
fn after_a_prompt_too_long_the_next_one_is_cut() {
    story(
        "
        > start
        > prepared A
        > agent fails prompt_too_long
        > timer
        > prepared A
          -> start attempt 2 shortened
        > agent finishes
        > surveyed B
        > prepared same
          not -> start attempt 3 shortened
        ",
    );
}

#[test]
fn consecutive_errors_end_the_run_and_a_good_iteration_between_them_resets_the_row() {
    story(
        "
        > start
        > prepared A
        > agent fails refused
        > timer
        > prepared A
        > agent fails refused
        > timer
        > prepared A
        > agent finishes
        > surveyed B
        > prepared same
        > agent fails refused
        > timer
        > prepared B
        > agent fails refused
        > timer
        > prepared B
        > agent fails refused
          run_finished consecutive_errors exit 1
        ",
    );
}

#[test]
fn max_errors_of_one_stops_at_the_first() {
    story(
        "
        given max_errors 1
        > start
        > prepared A
        > agent fails refused
          run_finished consecutive_errors
        ",
    );
}

#[test]
fn permanent_failures_end_the_run_at_once() {
    for (failure, outcome) in [
        ("auth", "auth"),
        ("billing", "auth"),
        ("bad_start", "bad_agent"),
        ("model_not_found", "bad_agent"),
    ] {
        story(&format!(
            "
            > start
            > prepared A
            > agent fails {failure}
              iteration_finished 1 failed
              run_finished {outcome} exit 1
            "
        ));
    }
}

#[test]
fn a_refused_login_is_acted_upon_at_once() {
    story(
        "
        > start
        > prepared A
        > agent login refused
          attempt_cancelled 1 Auth
          -> cut attempt 1 Usual
        > agent exits
          run_finished auth exit 1
        ",
    );
}

#[test]
fn evidence_is_not_read_from_a_failed_iteration_but_blockers_are() {
    story(
        "
        > start
        > prepared A
        > agent fails refused promise blocker=password
          blocker_reported password
          iteration_finished 1 failed
          not gate_started
        ",
    );
}

#[test]
fn a_blocker_of_a_crashed_attempt_is_reported_whatever_the_next_attempt_says() {
    story(
        "
        given retries 1
        > start
        > prepared A
        > agent fails crashed blocker=password
          retry_scheduled
        > timer
        > agent finishes
        > surveyed B
          blocker_reported password
          iteration_finished 1 Work
          not gate_started
        ",
    );
}

#[test]
fn a_failed_iteration_that_reports_a_blocker_neither_counts_as_blocked_nor_resets_the_row() {
    story(
        "
        given retries 0, max_errors 9
        > start
        > prepared A
        > agent fails timed_out blocker=password
          blocker_reported password
          iteration_finished 1 failed
          not run_finished
        > timer
        > prepared A
        > agent finishes blocker=password
        > surveyed A
          not blocker_reported
          not run_finished
        > prepared same
        > agent fails crashed blocker=password
          not blocker_reported
          iteration_finished 3 failed
          not run_finished
        > timer
        > prepared A
        > agent finishes blocker=password
        > surveyed A
          run_finished blocked
        ",
    );
}

#[test]
fn turn_limit_and_budget_are_limits_and_not_failures() {
    for outcome in ["turn_limit", "attempt_budget"] {
        story(&format!(
            "
            > start
            > prepared A
            > agent fails {outcome} $1
              -> survey
            > surveyed B
              iteration_finished 1 Work
            "
        ));
    }
}

#[test]
fn success_without_any_sign_of_work_counts_only_on_disk() {
    story(
        "
        given checks
        > start
        > prepared A
        > agent fails suspect $0 promise
          -> survey
        > surveyed B
          not gate_started
          iteration_finished 1 Work
        ",
    );
}

#[test]
fn two_consecutive_suspect_attempts_without_work_fail_the_iteration() {
    story(
        "
        > start
        > prepared A
        > agent fails suspect $0
        > surveyed A
          retry_scheduled
        > timer
        > agent fails suspect $0
        > surveyed A
          iteration_finished 1 failed: claims success without any sign of work
        ",
    );
}

#[test]
fn each_deadline_gives_the_attempt_up_and_is_tried_again() {
    story(
        "
        > start
        > prepared A
        > deadline
          attempt_cancelled 1 Deadline(Start)
          -> cut attempt 1 Usual
        > agent exits
          attempt_finished 1 timed_out
          retry_scheduled: timed out before it was ready
        > timer
        > agent ready
        > deadline
          not attempt_cancelled
        > deadline
          attempt_cancelled 2 Deadline(Idle)
        > agent exits
        > timer
        > agent ready
        > agent pulse tool=10s
        > deadline
          not attempt_cancelled
        > deadline
          attempt_cancelled 3 Deadline(Tool)
        ",
    );
}

#[test]
fn after_the_result_a_process_that_stays_is_ended_and_the_result_stands() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > agent pulse leaving
        > deadline
          attempt_cancelled 1 AfterResult
        > agent finishes promise
          attempt_finished 1 finished
          -> survey
        ",
    );
}

#[test]
fn a_sign_of_life_puts_the_idle_deadline_off() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > wait 9m
        > agent pulse quiet=0s
        > deadline
          not attempt_cancelled
        > wait 8m
        > agent pulse quiet=1s
        > deadline
          not attempt_cancelled
        > deadline
          attempt_cancelled 1 Deadline(Idle)
        ",
    );
}
