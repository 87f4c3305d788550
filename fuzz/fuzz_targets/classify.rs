//! Classification of attempts: every end has an outcome, and only a successful result is a success.

#![no_main]

use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::stream::dialect::{Dialect, FinishedAttempt};
use nightwright_core::stream::message::{ErrorFacts, RateLimit, ResultFacts};
use nightwright_core::stream::outcome::{AttemptOutcome, Consequence, CancelReason, Deadline, ProcessExit};
use nightwright_core::units::Tokens;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Case {
    any_program: bool,
    cut: Option<Cut>,
    exit: Option<Exit>,
    result: Option<Result>,
    error: Option<Error>,
    rate_limit: Option<Limit>,
    api_key: String,
    tool_calls: u32,
    tokens: u64,
    saw_stdout: bool,
    stderr: String,
    now: i64,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Cut {
    Start,
    Idle,
    Tool,
    Attempt,
    AfterResult,
    Limit,
    Auth,
    StopNow,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Exit {
    Code(i32),
    Signal(i32),
}

#[derive(Arbitrary, Debug)]
struct Result {
    subtype: Word,
    is_error: bool,
    text: Option<Word>,
    errors: Vec<Word>,
    stop_reason: Word,
    terminal_reason: Word,
    error: Error,
    startup_failure: Word,
    structured: Option<String>,
    turns: Option<u32>,
    took: u64,
    output: Option<u64>,
}

#[derive(Arbitrary, Debug)]
struct Error {
    kind: Word,
    detail: Word,
    status: Option<Status>,
    text: Word,
}

#[derive(Arbitrary, Debug)]
struct Limit {
    rejected: bool,
    resets_at: Option<i64>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Status {
    Known(u8),
    Any(u16),
}

/// A word with a meaning for the classifier, or any other word.
#[derive(Arbitrary, Debug)]
enum Word {
    None,
    Known(u8),
    Any(String),
}

const WORDS: [&str; 32] = [
    "success",
    "error_max_turns",
    "error_max_budget_usd",
    "error_max_structured_output_retries",
    "error_during_execution",
    "refusal",
    "tool_use",
    "end_turn",
    "aborted_streaming",
    "aborted_tools",
    "prompt_too_long",
    "completed",
    "api_error",
    "usage_limit_reached",
    "rate_limit",
    "billing_error",
    "authentication_failed",
    "org_disabled_credential",
    "model_not_found",
    "max_output_tokens",
    "connection_failed",
    "server_error",
    "overloaded",
    "Credit balance is too low",
    "This disabled organization",
    "Not logged in",
    "Prompt is too long",
    "no such model",
    "Request timed out",
    "You've hit your 5-hour limit · resets 10:05pm (UTC)",
    "Claude AI usage limit reached|1999999999",
    "weekly limit · resets Feb 29, 8:05pm (UTC)",
];

const STATUSES: [u16; 8] = [400, 401, 403, 404, 408, 413, 429, 529];

fuzz_target!(|case: Case| {
    let error = case.error.map(facts_of_error);
    let result = case.result.map(facts_of_result);
    let rate_limit = case.rate_limit.map(|limit| RateLimit {
        rejected: limit.rejected,
        resets_at: limit.resets_at.and_then(|at| Timestamp::from_second(at).ok()),
        windows: Vec::new(),
    });
    let attempt = FinishedAttempt {
        cut: case.cut.map(reason),
        exit: case.exit.map(|exit| match exit {
            Exit::Code(code) => ProcessExit::Code(code),
            Exit::Signal(signal) => ProcessExit::Signal(signal),
        }),
        result: result.as_ref(),
        error: error.as_ref(),
        rate_limit: rate_limit.as_ref(),
        api_key: &case.api_key,
        tool_calls: case.tool_calls,
        tokens: Tokens { output: case.tokens, ..Tokens::default() },
        saw_stdout: case.saw_stdout,
        stderr: &case.stderr,
        now: Timestamp::from_second(case.now).unwrap_or(Timestamp::UNIX_EPOCH),
    };
    let dialect = if case.any_program { Dialect::Command } else { Dialect::Claude };
    let outcome = dialect.classify(&attempt);
    assert_eq!(outcome, dialect.classify(&attempt), "the same question has the same answer");
    check(&outcome, &attempt);
    if dialect == Dialect::Claude {
        check_against_result(&outcome, &attempt);
    }
});

fn check(outcome: &AttemptOutcome, attempt: &FinishedAttempt<'_>) {
    assert!(!outcome.name().is_empty() && !outcome.sentence().is_empty());
    let json = serde_json::to_string(outcome).expect("an outcome is JSON");
    let read: AttemptOutcome = serde_json::from_str(&json).expect("it was just written");
    assert_eq!(*outcome, read);

    if attempt.exit.is_none() && attempt.result.is_none() && attempt.cut.is_none() {
        assert!(matches!(outcome, AttemptOutcome::Lost), "{outcome:?} and nobody saw it");
    }
}

/// Checks that the exit code alone is never a success. A cancelled attempt keeps the reason for its
/// cancellation unless its result was successful.
fn check_against_result(outcome: &AttemptOutcome, attempt: &FinishedAttempt<'_>) {
    let is_good = outcome.consequence() == Consequence::Assess;
    if is_good && attempt.cut != Some(CancelReason::Limit) {
        assert!(attempt.result.is_some(), "{outcome:?} without a result");
    }
    if *outcome == AttemptOutcome::Finished {
        assert!(attempt.result.is_some_and(|result| !result.is_error), "an error is a success");
    }
    match attempt.cut {
        Some(CancelReason::Auth) => {
            assert!(is_good || matches!(outcome, AttemptOutcome::Auth { .. }), "{outcome:?}");
        }
        Some(CancelReason::Deadline(_)) => {
            assert!(is_good || matches!(outcome, AttemptOutcome::TimedOut { .. }), "{outcome:?}");
        }
        Some(CancelReason::StopNow) => {
            assert!(is_good || *outcome == AttemptOutcome::Interrupted, "{outcome:?}");
        }
        Some(CancelReason::Limit) => assert!(is_good, "{outcome:?}"),
        Some(CancelReason::AfterResult) | None => {}
    }
}

fn reason(cut: Cut) -> CancelReason {
    match cut {
        Cut::Start => CancelReason::Deadline(Deadline::Start),
        Cut::Idle => CancelReason::Deadline(Deadline::Idle),
        Cut::Tool => CancelReason::Deadline(Deadline::Tool),
        Cut::Attempt => CancelReason::Deadline(Deadline::Attempt),
        Cut::AfterResult => CancelReason::AfterResult,
        Cut::Limit => CancelReason::Limit,
        Cut::Auth => CancelReason::Auth,
        Cut::StopNow => CancelReason::StopNow,
    }
}

fn facts_of_result(result: Result) -> ResultFacts {
    ResultFacts {
        subtype: word(result.subtype),
        is_error: result.is_error,
        text: result.text.map(word),
        errors: result.errors.into_iter().map(word).collect(),
        stop_reason: word(result.stop_reason),
        terminal_reason: word(result.terminal_reason),
        error: facts_of_error(result.error),
        startup_failure: word(result.startup_failure),
        structured: result.structured,
        turns: result.turns,
        took: Duration::from_millis(result.took),
        total_tokens: result.output.map(|output| Tokens { output, ..Tokens::default() }),
        ..ResultFacts::default()
    }
}

fn facts_of_error(error: Error) -> ErrorFacts {
    ErrorFacts {
        kind: word(error.kind),
        detail: word(error.detail),
        status: error.status.map(|status| match status {
            Status::Known(index) => STATUSES[usize::from(index) % STATUSES.len()],
            Status::Any(status) => status,
        }),
        text: word(error.text),
    }
}

fn word(word: Word) -> String {
    match word {
        Word::None => String::new(),
        Word::Known(index) => WORDS[usize::from(index) % WORDS.len()].to_owned(),
        Word::Any(text) => text,
    }
}
