//! Limits: what a run may spend, what it reserves, and what it reports.

use crate::machine::story::story;

#[test]
fn the_cap_of_an_attempt_leaves_the_reserve_and_the_price_of_the_gate() {
    story(
        "
        given max_cost 10, model auto, verifier cost 0.25
        > start
        > prepared A
          attempt_started 1 cap $8.75
        > agent finishes $2
        > surveyed B
        > prepared same
          attempt_started 2 cap $6.75
        ",
    );
}

#[test]
fn a_gate_dearer_than_the_whole_budget_leaves_the_money_to_the_work() {
    story(
        "
        given max_cost 0.20, model auto, verifier cost 0.25
        > start
        > prepared A
          attempt_started 1 cap $0.20
        ",
    );
}

#[test]
fn failed_attempts_cost_too() {
    story(
        "
        given max_cost 1, reserve 0
        > start
        > prepared A
          attempt_started 1 cap $1.00
        > agent fails overloaded $0.40
        > timer
          attempt_started 2 cap $0.60
        ",
    );
}

#[test]
fn an_attempt_without_a_cost_is_charged_an_estimate_and_never_nothing() {
    story(
        "
        given max_cost 8, reserve 0
        > start
        > prepared A
        > agent fails crashed
          attempt_finished 1 crashed $4.00 estimated
        > timer
        > agent finishes $1
        > surveyed B
        > prepared same
        > agent fails crashed
          attempt_finished 3 crashed $2.50 estimated
        ",
    );
}

#[test]
fn observed_costs_are_charged_in_full_even_beyond_the_cap() {
    story(
        "
        given max_cost 2, reserve 0
        > start
        > prepared A
          attempt_started 1 cap $2.00
        > agent fails crashed priced=3
          attempt_finished 1 crashed $3.00 estimated
        ",
    );
}

#[test]
fn an_attempt_that_never_worked_is_charged_only_observed_costs() {
    for (seen, cost) in [
        ("auth", "$0.00"),
        ("billing", "$0.00"),
        ("bad_start", "$0.00"),
        ("bad_start printed=10", "$0.01 estimated"),
        ("auth printed=10", "$0.01 estimated"),
        ("bad_start priced=15", "$15.00 estimated"),
        ("auth priced=0.02 tokens=9", "$0.02 estimated"),
        ("auth tokens=9", "$4.00 estimated"),
    ] {
        let outcome = seen.split(' ').next().unwrap();
        story(&format!(
            "
            given max_cost 8, reserve 0
            > start
            > prepared A
            > agent fails {seen}
              attempt_finished 1 {outcome} {cost}
            "
        ));
    }
}

#[test]
fn no_attempt_starts_with_less_than_a_cent_left() {
    story(
        "
        given max_cost 1, reserve 0
        > start
        > iteration A->B $0.995
          run_finished max_cost exit 0 (remaining budget too small for another iteration (minimum $0.01))
        ",
    );
}

#[test]
fn no_attempt_starts_with_less_than_thirty_seconds_left() {
    story(
        "
        given max_duration 5m, reserve 0
        > start
        > prepared A
        > wait 271s
        > agent finishes
        > surveyed B
          run_finished max_duration exit 0 (remaining time too short for another iteration (minimum 30s))
        ",
    );
}

#[test]
fn a_limit_that_is_used_up_needs_no_explanation() {
    story(
        "
        given max_cost 1, reserve 0
        > start
        > iteration A->B $1
          run_finished max_cost exit 0
          not run_finished max_cost exit 0 (
        ",
    );
    story(
        "
        given max_duration 5m, reserve 0
        > start
        > prepared A
        > wait 300s
        > agent finishes
        > surveyed B
          run_finished max_duration exit 0
          not run_finished max_duration exit 0 (
        ",
    );
}

#[test]
fn below_the_reserve_exactly_one_wrap_up_iteration_runs() {
    story(
        "
        given max_cost 10
        > start
        > iteration A->B $9.20
        > prepared same
          iteration_started 2 wrap-up
          attempt_started 2 cap $0.80
        > agent finishes $0.10
        > surveyed C
          run_finished max_cost exit 0
        ",
    );
}

#[test]
fn a_claim_of_the_wrap_up_that_passes_the_gate_completes_the_run() {
    story(
        "
        given max_cost 10, checks
        > start
        > iteration A->B $9.20
        > prepared same
        > agent finishes promise
        > surveyed C
        > checks pass
          run_finished completed exit 0
        ",
    );
}

#[test]
fn the_reserve_of_time_gives_a_wrap_up_too() {
    story(
        "
        given max_duration 1h
        > start
        > prepared A
        > wait 54m
        > agent finishes
        > surveyed B
        > prepared same
          iteration_started 2 wrap-up
        > wait 1m
        > agent finishes
        > surveyed C
          run_finished max_duration
        ",
    );
}

#[test]
fn a_reserve_too_small_to_work_with_is_none() {
    story(
        "
        given max_cost 0.40
        > start
        > prepared A
          attempt_started 1 cap $0.40
        > agent finishes $0.37
        > surveyed B
        > prepared same
          iteration_started 2
          not iteration_started 2 wrap-up
        ",
    );
}

#[test]
fn there_is_no_wrap_up_after_the_last_iteration() {
    story(
        "
        given max_cost 10, max_iterations 1
        > start
        > iteration A->B $9.50
          run_finished max_iterations
        ",
    );
}

#[test]
fn the_time_left_shortens_the_attempt_and_its_end_is_no_failure() {
    story(
        "
        given max_duration 10m
        > start
        > prepared A
        > agent ready
        > agent pulse tool=1s
        > deadline
          not attempt_cancelled
        > deadline
          attempt_cancelled 1 Limit
          -> cut attempt 1 Usual
        > agent exits
          attempt_finished 1 attempt_budget
          -> survey
        > surveyed B
          iteration_finished 1 Work
        > prepared same
          iteration_started 2 wrap-up
        ",
    );
}

#[test]
fn tokens_seen_beyond_the_limit_stop_the_attempt() {
    story(
        "
        given max_tokens 1000
        > start
        > prepared A
        > agent pulse tokens=1000
          nothing
        > agent pulse tokens=1001
          attempt_cancelled 1 Limit
          -> cut attempt 1 Usual
        > agent fails attempt_budget tokens=1001
        > surveyed B
          run_finished max_tokens exit 0
        ",
    );
}

#[test]
fn waits_for_limits_do_not_count_as_active_time() {
    story(
        "
        given max_duration 1h
        > start
        > prepared A
        > agent fails usage_limited until=5h
        > timer
        > agent finishes
        > surveyed B
          -> prepare
        ",
    );
}

#[test]
fn a_pause_does_not_count_as_active_time() {
    story(
        "
        given max_duration 1h, delay 1s
        > start
        > iteration A->B
        > pause
          run_paused
        > timer
          nothing
        > wait 9h
        > resume
          run_resumed
          -> prepare
        ",
    );
}

#[test]
fn the_quota_the_operator_allows_stops_iterations_and_waits_for_the_reset() {
    story(
        "
        given quota 90
        > start
        > prepared A
        > agent quota 89
        > agent finishes
        > surveyed B
          not limit_wait_started
        > prepared same
        > agent quota 90
        > agent finishes
        > surveyed C
          limit_wait_started Quota
        > timer
          limit_wait_ended Elapsed
          -> prepare
        ",
    );
}

#[test]
fn an_unknown_quota_is_not_reached() {
    story(
        "
        given quota 1
        > start
        > prepared A
          iteration_started 1
        ",
    );
}

#[test]
fn a_verifier_whose_price_does_not_fit_is_not_asked() {
    story(
        "
        given max_cost 1, reserve 0, model always, verifier cost 0.25
        > start
        > prepared A
        > agent finishes $0.80 promise
        > surveyed B
          gate_finished unaffordable
          run_finished max_cost exit 0 (claimed, not verified: the remaining budget is too small to ask a model)
        ",
    );
}

#[test]
fn an_extra_call_whose_price_does_not_fit_is_left_out() {
    story(
        "
        given max_cost 1, reserve 0, review
        > start
        > prepared A
        > agent finishes $0.80
        > surveyed B
          not call_started
          iteration_finished 1 Work
        ",
    );
}
