//! Invariants of every outcome, recorded or not.

use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::stream::dialect::{Dialect, FinishedAttempt};
use nightwright_core::stream::message::{ErrorFacts, RateLimit, ResultFacts};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Deadline, ProcessExit};
use nightwright_core::units::{Tokens, Usd};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Words that the program uses for kinds of results and errors, and some that it does not use.
const WORDS: &[&str] = &[
    "success",
    "error_max_turns",
    "error_max_budget_usd",
    "error_during_execution",
    "error_max_structured_output_retries",
    "end_turn",
    "tool_use",
    "stop_sequence",
    "refusal",
    "max_tokens",
    "completed",
    "max_turns",
    "budget_exhausted",
    "api_error",
    "prompt_too_long",
    "image_error",
    "aborted_streaming",
    "aborted_tools",
    "structured_output_retry_exhausted",
    "config_file_invalid",
    "bypass_root",
    "authentication_failed",
    "authentication_error",
    "billing_error",
    "invalid_request",
    "invalid_request_error",
    "org_disabled_credential",
    "model_not_found",
    "not_found_error",
    "rate_limit",
    "rate_limit_error",
    "usage_limit_reached",
    "server_error",
    "overloaded_error",
    "connection_failed",
    "max_output_tokens",
    "permission_error",
    "unknown",
];

/// Texts of the program, and some that only look like them.
const TEXTS: &[&str] = &[
    "done",
    "Invalid API key · Fix external API key",
    "Not logged in · Please run /login",
    "Credit balance is too low",
    "Prompt is too long · the request is ~1200000 tokens",
    "Request timed out",
    "API Error: 529 Overloaded. This is a server-side issue",
    "API Error: Request rejected (429) · slow down",
    "API Error: Connection refused (ECONNREFUSED)",
    "There's an issue with the selected model (x).",
    "You've hit your 5-hour limit · resets 10:05pm (UTC)",
    "You've hit your weekly limit · resets Nov 18, 8:05pm (UTC)",
    "You've hit your weekly limit · resets Feb 29, 8:05pm (Europe/Berlin)",
    "resets Feb 31, 25:99pm (Nowhere/At All)",
    "resets",
    "Claude AI usage limit reached|1999999999",
    "usage limit reached|99999999999999999999999999",
    "usage limit reached|-1",
    "limit reached|ä",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        4 => select(WORDS).prop_map(str::to_owned),
        1 => "[a-z_]{1,12}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        4 => select(TEXTS).prop_map(str::to_owned),
        1 => ".{1,40}",
        // A text that begins like one of the program can end in any way.
        1 => (select(TEXTS), 0..60_usize, ".{0,8}").prop_map(|(text, keep, rest)| {
            text.chars().take(keep).chain(rest.chars()).collect()
        }),
    ]
}

fn status() -> impl Strategy<Value = Option<u16>> {
    option::of(prop_oneof![
        3 => select(vec![200_u16, 400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 529]),
        1 => any::<u16>(),
    ])
}

fn time() -> impl Strategy<Value = Timestamp> {
    let all = Timestamp::MIN.as_second()..=Timestamp::MAX.as_second();
    prop_oneof![
        Just("2026-11-15T20:00:00Z".parse().expect("a date")),
        Just(Timestamp::MIN),
        Just(Timestamp::MAX),
        all.prop_map(|second| Timestamp::from_second(second).expect("it is within the limits")),
    ]
}

fn tokens() -> impl Strategy<Value = Tokens> {
    let count = || prop_oneof![Just(0_u64), 1..1000_u64, Just(u64::MAX)];
    (count(), count(), count(), count()).prop_map(|(input, output, cache_read, cache_write)| {
        Tokens { input, output, cache_read, cache_write }
    })
}

prop_compose! {
    fn error()(kind in word(), detail in word(), status in status(), text in text()) -> ErrorFacts {
        ErrorFacts { kind, detail, status, text }
    }
}

prop_compose! {
    fn rate_limit()(rejected: bool, resets_at in option::of(time())) -> RateLimit {
        RateLimit { rejected, resets_at, windows: Vec::new() }
    }
}

prop_compose! {
    fn result()(
        (subtype, stop_reason, terminal_reason, startup_failure) in (word(), word(), word(), word()),
        is_error: bool,
        (text, errors) in (option::of(text()), proptest::collection::vec(text(), 0..3)),
        error in error(),
        structured in option::of(Just("{}".to_owned())),
        turns in option::of(prop_oneof![Just(0_u32), any::<u32>()]),
        took in prop_oneof![(0..10_000_u64).prop_map(Duration::from_millis), Just(Duration::MAX)],
        cost in option::of(prop_oneof![Just(0_u64), any::<u64>()].prop_map(Usd::from_micros)),
        tokens in option::of(tokens()),
    ) -> ResultFacts {
        ResultFacts {
            subtype, is_error, text, errors, stop_reason, terminal_reason, error, startup_failure,
            structured, turns, took,
            turn_cost: cost, turn_tokens: tokens, total_cost: cost, total_tokens: tokens,
            ..ResultFacts::default()
        }
    }
}

fn cut() -> impl Strategy<Value = Option<CancelReason>> {
    select(vec![
        None,
        Some(CancelReason::Deadline(Deadline::Start)),
        Some(CancelReason::Deadline(Deadline::Idle)),
        Some(CancelReason::Deadline(Deadline::Tool)),
        Some(CancelReason::Deadline(Deadline::Attempt)),
        Some(CancelReason::AfterResult),
        Some(CancelReason::Limit),
        Some(CancelReason::Auth),
        Some(CancelReason::StopNow),
    ])
}

fn exit() -> impl Strategy<Value = Option<ProcessExit>> {
    option::of(prop_oneof![
        select(vec![0, 1, 2, 126, 127, 128, 129, 137, 143, 255, -1]).prop_map(ProcessExit::Code),
        any::<i32>().prop_map(ProcessExit::Code),
        any::<i32>().prop_map(ProcessExit::Signal),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_attempt_has_an_outcome_and_no_error_or_exit_code_is_a_success(
        (cut, exit) in (cut(), exit()),
        (result, error, rate_limit) in (option::of(result()), option::of(error()), option::of(rate_limit())),
        (tool_calls, tokens) in (prop_oneof![Just(0_u32), any::<u32>()], tokens()),
        saw_stdout: bool,
        (stderr, api_key) in (text(), word()),
        now in time(),
    ) {
        let attempt = FinishedAttempt {
            cut,
            exit,
            result: result.as_ref(),
            error: error.as_ref(),
            rate_limit: rate_limit.as_ref(),
            api_key: &api_key,
            tool_calls,
            tokens,
            saw_stdout,
            stderr: &stderr,
            now,
            zone: None,
        };
        let outcome = Dialect::Claude.classify(&attempt);
        let claims_success = matches!(outcome, AttemptOutcome::Finished | AttemptOutcome::Suspect { .. });
        let said_success = result.as_ref().is_some_and(|result| {
            !result.is_error && result.subtype == "success"
        });
        prop_assert!(said_success || !claims_success, "{:?}", outcome);
        if let AttemptOutcome::Crashed { how } = outcome {
            prop_assert!(exit.is_none_or(|exit| exit == how), "{:?}", how);
        }
        if let AttemptOutcome::TimedOut { which } = outcome {
            prop_assert_eq!(Some(CancelReason::Deadline(which)), cut);
        }
        prop_assert!(!outcome.sentence().is_empty());

        // A program without structured output reports success only by its exit code.
        let outcome = Dialect::Command.classify(&attempt);
        let ended_well = cut.is_none() && exit == Some(ProcessExit::Code(0)) && saw_stdout;
        prop_assert_eq!(outcome == AttemptOutcome::Finished, ended_well);
        prop_assert!(!outcome.sentence().is_empty());
    }
}
