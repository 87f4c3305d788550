//! Waiting for the limits of the provider.

use crate::machine::story::story;

#[test]
fn a_usage_limit_is_waited_out_and_costs_no_retry_no_error_and_no_iteration() {
    story(
        "
        given retries 0, max_errors 1, max_iterations 1
        > start
        > prepared A
        > agent fails usage_limited until=2h
          limit_wait_started Usage 2h 00m
          -> wait until
        > timer
          limit_wait_ended Elapsed
          attempt_started 2
          -> start attempt 2 last cut-off
        > agent finishes
        > surveyed B
          run_finished max_iterations
        ",
    );
}

#[test]
fn a_limit_without_a_date_backs_off_5_10_20_30_minutes() {
    story(
        "
        > start
        > prepared A
        > agent fails rate_limited
          limit_wait_started Rate 5m 00s
        > timer
        > agent fails rate_limited
          limit_wait_started Rate 10m 00s
        > timer
        > agent fails rate_limited
          limit_wait_started Rate 20m 00s
        > timer
        > agent fails usage_limited
          limit_wait_started Usage 30m 00s
        ",
    );
}

#[test]
fn an_attempt_that_got_an_answer_resets_the_back_off() {
    story(
        "
        > start
        > prepared A
        > agent fails rate_limited
        > timer
        > agent fails rate_limited
        > timer
        > agent finishes
        > surveyed B
        > prepared same
        > agent fails rate_limited
          limit_wait_started Rate 5m 00s
        ",
    );
}

#[test]
fn a_refusal_after_a_dated_wait_backs_off() {
    story(
        "
        > start
        > prepared A
        > agent fails usage_limited until=1h
        > timer
        > agent fails usage_limited
          limit_wait_started Usage 10m 00s
        ",
    );
}

#[test]
fn a_reset_beyond_the_maximum_wait_ends_the_run_at_once() {
    story(
        "
        given max_wait 12h
        > start
        > prepared A
        > agent fails usage_limited until=13h
          not limit_wait_started
          iteration_finished 1 interrupted
          run_finished limit_wait_too_long exit 1
        ",
    );
}

#[test]
fn consecutive_waits_share_one_limit() {
    story(
        "
        given max_wait 20m
        > start
        > prepared A
        > agent fails rate_limited
        > timer
        > agent fails rate_limited
        > timer
        > agent fails rate_limited
          run_finished limit_wait_too_long
        ",
    );
}

#[test]
fn retry_now_probes_once_and_at_most_once_a_minute() {
    story(
        "
        > start
        > prepared A
        > agent fails usage_limited until=2h
        > retry now
          limit_wait_ended RetryNow
          attempt_started 2
        > agent fails usage_limited until=2h
        > wait 30s
        > retry now
          retry_refused
          not attempt_started
        > wait 31s
        > retry now
          attempt_started 3
        ",
    );
}

#[test]
fn a_limit_during_a_call_is_waited_out_and_the_call_made_again() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
          call_started 1 verify
        > call fails usage_limited until=1h
          limit_wait_started Usage
        > timer
          limit_wait_ended Elapsed
          call_started 2 verify
        > call yes
        > surveyed B
          run_finished completed
        ",
    );
}

#[test]
fn a_stop_during_a_wait_ends_it_at_once() {
    story(
        "
        > start
        > prepared A
        > agent fails usage_limited until=2h
        > stop
          stop_requested AfterIteration
          limit_wait_ended Stopped
          iteration_finished 1 interrupted
          run_finished stopped exit 0
        ",
    );
}

#[test]
fn a_pause_during_a_wait_lets_the_timer_run_but_nothing_start() {
    story(
        "
        > start
        > prepared A
        > agent fails usage_limited until=2h
        > pause
          run_paused
        > timer
          limit_wait_ended Elapsed
          not attempt_started
        > resume
          attempt_started 2
        ",
    );
}
