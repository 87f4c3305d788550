//! Edge cases: limits, waits and deadlines exactly at their boundaries.

use crate::machine::story::story;

#[test]
fn a_rejected_claim_of_the_wrap_up_ends_with_the_limit() {
    story(
        "
        given max_cost 10, checks
        > start
        > iteration A->B $9.20
        > prepared same
          iteration_started 2 wrap-up
        > agent finishes promise
        > surveyed C
        > checks fail boom
          run_finished max_cost exit 0 (claimed, rejected: `make test` failed (exit 1))
        ",
    );
}

#[test]
fn a_wrap_up_stays_the_only_one_after_a_crash() {
    story(
        "
        given max_cost 10
        > start
        > iteration A->B $9.20
        > prepared same
          iteration_started 2 wrap-up
        > crash
        > continue with result $0.10
          attempt_finished 2 finished
        > surveyed C
          run_finished max_cost
        ",
    );
}

#[test]
fn a_reserve_of_time_under_a_minute_is_none() {
    story(
        "
        given max_duration 9m
        > start
        > prepared A
        > wait 8m
        > agent finishes
        > surveyed B
        > prepared same
          iteration_started 2
          not iteration_started 2 wrap-up
        ",
    );
}

#[test]
fn a_status_file_written_earlier_in_this_run_still_claims() {
    story(
        "
        given evidence status, checks
        > start
        > iteration A->B status:complete
        > checks fail boom
        > prepared same
        > agent finishes
        > surveyed C status stale
          gate_started [Status]
        ",
    );
}

#[test]
fn a_finding_during_a_turn_is_recorded_once_and_answered_afterwards() {
    story(
        "
        given watchdog next
        > start
        > prepared A
        > agent ready
        > agent repeats itself
          watchdog_noticed Repetition
          not message_sent
        > agent repeats itself
          nothing
        > agent finishes
        > surveyed A
          call_started 1 advise
        ",
    );
}

#[test]
fn a_wall_clock_that_jumps_fires_no_deadline() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > clock jumps 24h
        > agent pulse quiet=1s
          nothing
        > agent finishes
          -> survey
        ",
    );
}

#[test]
fn a_quota_wait_beyond_the_maximum_ends_the_run() {
    story(
        "
        given quota 50, max_wait 30m
        > start
        > prepared A
        > agent quota 60
        > agent finishes
        > surveyed B
          run_finished limit_wait_too_long exit 1
        ",
    );
}

#[test]
fn a_call_that_takes_too_long_is_ended_and_asked_once_more() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
          call_started 1 verify
        > deadline
          call_cancelled 1
          -> cut call 1 Usual
        > call fails timed_out
          call_finished 1 verify timed_out
          call_started 2 verify
        ",
    );
}

#[test]
fn an_attempt_that_can_t_be_ended_ends_the_run() {
    story(
        "
        > start
        > prepared A
        > deadline
          attempt_cancelled 1 Deadline(Start)
        > deadline
          attempt_finished 1 lost
          run_finished bad_agent exit 1
        ",
    );
}

#[test]
fn an_attempt_that_can_t_be_ended_is_charged_what_was_seen_of_it() {
    story(
        "
        given max_cost 8, reserve 0
        > start
        > prepared A
        > agent ready
        > agent pulse tokens=400000
        > deadline
          not attempt_cancelled
        > deadline
          attempt_cancelled 1 Deadline(Idle)
        > deadline
          attempt_finished 1 lost $10.00 estimated
        ",
    );
}
