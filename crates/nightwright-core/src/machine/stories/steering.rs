//! Requests of the operator: stop, pause, and messages.

use crate::machine::story::story;

#[test]
fn asking_twice_to_stop_changes_nothing_and_a_stop_can_be_taken_back() {
    story(
        "
        > start
        > prepared A
        > stop
          stop_requested AfterIteration Operator
        > stop
          nothing
        > cancel stop
          stop_cancelled
        > agent finishes
        > surveyed B
          -> prepare
        ",
    );
}

#[test]
fn stop_now_can_t_be_taken_back() {
    story(
        "
        > start
        > prepared A
        > stop now
        > cancel stop
          nothing
        > agent exits
          run_finished interrupted
        ",
    );
}

#[test]
fn a_second_signal_kills_and_leaves_without_waiting() {
    story(
        "
        > start
        > prepared A
        > signal
          -> cut attempt 1 Usual
        > signal
          attempt_finished 1 interrupted $0.01 estimated
          iteration_finished 1 interrupted
          run_finished interrupted exit 130
          -> cut attempt 1 None
          -> finish
        ",
    );
}

#[test]
fn a_shutdown_is_distinguished_from_a_person_and_its_second_signal_kills_as_well() {
    story(
        "
        > start
        > prepared A
        > terminate
          stop_requested Now Terminate
          -> cut attempt 1 Usual
        > terminate
          run_finished interrupted exit 130
          -> cut attempt 1 None
          -> finish
        ",
    );
}

#[test]
fn a_closed_terminal_stops_the_run_and_never_kills() {
    story(
        "
        > start
        > prepared A
        > hang up
          stop_requested Now TerminalClosed
          -> cut attempt 1 Usual
        > hang up
          nothing
        > agent exits
          run_finished interrupted exit 130
        ",
    );
    for first in ["terminate", "signal", "stop now"] {
        story(&format!(
            "
            > start
            > prepared A
            > {first}
              -> cut attempt 1 Usual
            > hang up
              nothing
            > agent exits
              run_finished interrupted exit 130
            "
        ));
    }
}

#[test]
fn a_second_signal_kills_the_checks_too() {
    story(
        "
        given checks
        > start
        > iteration A->B promise
        > signal
          -> cut checks Usual
        > signal
          run_finished interrupted exit 130
          -> cut checks None
          -> finish
        ",
    );
}

#[test]
fn stop_now_does_not_wait_for_a_look_at_the_project() {
    story(
        "
        > start
        > stop now
          run_finished interrupted exit 130
        ",
    );
    story(
        "
        > start
        > prepared A
        > agent finishes promise
          -> survey
        > stop now
          iteration_finished 1 interrupted
          run_finished interrupted exit 130
        ",
    );
}

#[test]
fn a_second_command_to_stop_now_is_no_second_signal() {
    story(
        "
        > start
        > prepared A
        > stop now
        > stop now
          nothing
        ",
    );
}

#[test]
fn a_signal_between_iterations_ends_the_run_at_once() {
    story(
        "
        given delay 1h
        > start
        > iteration A->B
        > signal
          run_finished interrupted exit 130
        ",
    );
}

#[test]
fn a_pause_starts_nothing_new_and_stops_nothing() {
    story(
        "
        given model always
        > start
        > prepared A
        > pause
          run_paused
          not -> cut
        > agent finishes promise
          -> survey
        > surveyed B
          gate_started
          not call_started
        > resume
          run_resumed
          call_started 1 verify
        ",
    );
}

#[test]
fn pausing_twice_and_resuming_twice_change_nothing() {
    story(
        "
        > start
        > pause
          run_paused
        > pause
          nothing
        > prepared A
          nothing
        > resume
          run_resumed
          -> prepare Yes
        > prepared A
          iteration_started 1
        > resume
          nothing
        ",
    );
}

#[test]
fn a_stop_ends_a_paused_run() {
    story(
        "
        > start
        > pause
        > prepared A
        > stop
          run_finished stopped
        ",
    );
}

#[test]
fn a_journal_that_fails_ends_what_runs_and_then_the_run() {
    story(
        "
        > start
        > prepared A
        > journal fails
          not attempt_cancelled
          -> cut attempt 1 Usual
        > agent exits
          attempt_finished 1 interrupted
          run_finished journal_failed exit 1
          -> finish
        ",
    );
}

#[test]
fn a_journal_that_another_process_changed_ends_the_run() {
    story(
        "
        > start
        > prepared A
        > journal damaged
          not attempt_cancelled
          -> cut attempt 1 Usual
        > agent exits
          attempt_finished 1 interrupted
          run_finished journal_damaged exit 1
          -> finish
        ",
    );
}

#[test]
fn retry_now_ends_a_back_off_too() {
    story(
        "
        > start
        > prepared A
        > agent fails overloaded
        > retry now
          attempt_started 2
        ",
    );
}

#[test]
fn retry_now_means_nothing_when_nothing_is_waited_for() {
    story(
        "
        > start
        > prepared A
        > retry now
          nothing
        ",
    );
}
