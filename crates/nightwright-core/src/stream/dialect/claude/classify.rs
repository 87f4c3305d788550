//! Classifies the result of an attempt. Fields take precedence; messages for people count only
//! where no field decides.

use std::time::Duration;

use super::reset;
use crate::stream::dialect::{FinishedAttempt, short};
use crate::stream::message::{ErrorFacts, ResultFacts};
use crate::stream::outcome::{AttemptOutcome, ProcessExit, Suspicion};
use crate::units::Usd;

/// The minimum duration of a real answer without a single token.
const TOO_QUICK: Duration = Duration::from_secs(5);

/// The outcome as the program reports it; `None` if it exited without one.
pub fn classify(attempt: &FinishedAttempt<'_>) -> Option<AttemptOutcome> {
    match (attempt.result, attempt.error) {
        (Some(result), _) => Some(of_result(attempt, result)),
        // The result was lost, but the program exited by itself after naming an error.
        (None, Some(error)) if attempt.exit == Some(ProcessExit::Code(1)) => {
            Some(of_error(attempt, error, ""))
        }
        // The program may have failed before it printed messages.
        (None, None) if attempt.exit == Some(ProcessExit::Code(1)) && !attempt.saw_stdout => {
            attempt.stderr.trim().lines().last().and_then(|line| of_text(attempt, line))
        }
        (None, Some(_) | None) => None,
    }
}

/// The outcome by a string of the program itself, if it is a transient error.
fn of_text(attempt: &FinishedAttempt<'_>, text: &str) -> Option<AttemptOutcome> {
    let error = ErrorFacts { text: text.to_owned(), ..ErrorFacts::default() };
    let error = with_status(&error);
    of_limit(attempt, &error).or_else(|| of_provider(&error))
}

fn of_result(attempt: &FinishedAttempt<'_>, result: &ResultFacts) -> AttemptOutcome {
    match result.subtype.as_str() {
        "error_max_turns" => return AttemptOutcome::TurnLimit,
        "error_max_budget_usd" => return AttemptOutcome::AttemptBudget,
        "error_max_structured_output_retries" => {
            return AttemptOutcome::BadRequest { why: why(result, "") };
        }
        _ => {}
    }
    if result.terminal_reason.starts_with("aborted_") {
        AttemptOutcome::Interrupted
    } else if !result.startup_failure.is_empty() {
        AttemptOutcome::BadStart { why: why(result, "") }
    } else if result.stop_reason == "refusal" {
        AttemptOutcome::Refused
    } else if !result.is_error && result.subtype == "success" {
        of_success(attempt, result)
    } else {
        let error = merged(result, attempt.error);
        if error.text.is_empty() && error.status.is_none() && error.detail.is_empty() {
            of_failure(attempt, result)
        } else {
            of_error(attempt, &error, &result.terminal_reason)
        }
    }
}

/// Classifies a reported success. Without any sign of work it is suspect.
fn of_success(attempt: &FinishedAttempt<'_>, result: &ResultFacts) -> AttemptOutcome {
    let no_tools = attempt.tool_calls == 0;
    let nothing_written = result.total_tokens.is_some_and(|tokens| tokens.output == 0);
    let no_model = nothing_written && no_tools && result.took < TOO_QUICK;
    let words = result.text.as_deref().unwrap_or_default();
    // Text without output tokens was written by the program, not by a model.
    if nothing_written
        && no_tools
        && let Some(outcome) = of_text(attempt, words)
    {
        return outcome;
    }
    let free = result.turns == Some(0) && result.total_cost == Some(Usd::ZERO);
    if free && no_tools {
        AttemptOutcome::Suspect { why: Suspicion::LocalCommand }
    } else if no_model || (words.trim().is_empty() && no_tools && result.structured.is_none()) {
        AttemptOutcome::Suspect { why: Suspicion::NoSignOfWork }
    } else if result.stop_reason == "tool_use" && result.structured.is_none() {
        AttemptOutcome::Suspect { why: Suspicion::BrokenOff }
    } else {
        AttemptOutcome::Finished
    }
}

/// Classifies an error that is not the provider's.
fn of_failure(attempt: &FinishedAttempt<'_>, result: &ResultFacts) -> AttemptOutcome {
    if let Some(outcome) = result.errors.iter().find_map(|text| of_text(attempt, text)) {
        return outcome;
    }
    let no_work = attempt.tool_calls == 0 && attempt.tokens.is_zero();
    if result.turns == Some(0) && no_work {
        AttemptOutcome::BadStart { why: why(result, attempt.stderr) }
    } else {
        AttemptOutcome::Crashed { how: attempt.exit.unwrap_or(ProcessExit::Code(1)) }
    }
}

/// Combines the error of the result with the message before it, which has more details.
fn merged(result: &ResultFacts, message: Option<&ErrorFacts>) -> ErrorFacts {
    let mut error = result.error.clone();
    if let Some(message) = message {
        error.kind.clone_from(&message.kind);
        if error.detail.is_empty() {
            error.detail.clone_from(&message.detail);
        }
        if error.text.is_empty() {
            error.text.clone_from(&message.text);
        }
        error.status = error.status.or(message.status);
    }
    error
}

fn of_error(
    attempt: &FinishedAttempt<'_>,
    error: &ErrorFacts,
    terminal_reason: &str,
) -> AttemptOutcome {
    let error = &with_status(error);
    of_limit(attempt, error)
        .or_else(|| of_account(error))
        .or_else(|| of_prompt(error, terminal_reason))
        .or_else(|| of_provider(error))
        .unwrap_or_else(|| AttemptOutcome::BadRequest { why: short(&error.text) })
}

fn of_limit(attempt: &FinishedAttempt<'_>, error: &ErrorFacts) -> Option<AttemptOutcome> {
    let event = attempt.rate_limit.filter(|limit| limit.rejected).and_then(|limit| limit.resets_at);
    let is_429 = error.status == Some(429) || error.kind == "rate_limit";
    // An earlier rate-limit event does not explain an error of another kind.
    let unexplained = error.status.is_none() && error.detail.is_empty() && error.kind.is_empty();
    let by_event = event.is_some() && (is_429 || unexplained);
    let by_words = (is_429 || is_vague(error)) && reset::is_usage_limit(message(&error.text));
    if error.detail == "usage_limit_reached" || by_event || by_words {
        let until = event.or_else(|| reset::ends(&error.text, attempt.now, attempt.zone));
        Some(AttemptOutcome::UsageLimited { until })
    } else if is_429 {
        Some(AttemptOutcome::RateLimited)
    } else {
        None
    }
}

fn of_account(error: &ErrorFacts) -> Option<AttemptOutcome> {
    let why = short(&error.text);
    if error.kind == "billing_error"
        || (is_vague(error) && says(error, "credit balance is too low"))
    {
        Some(AttemptOutcome::Billing { why })
    } else if matches!(error.status, Some(401 | 403))
        || error.kind == "authentication_failed"
        || error.detail == "org_disabled_credential"
        || (is_vague(error)
            && (says(error, "your api key belongs to a disabled organization")
                || says(error, "not logged in")))
    {
        Some(AttemptOutcome::Auth { why })
    } else {
        None
    }
}

fn of_prompt(error: &ErrorFacts, terminal_reason: &str) -> Option<AttemptOutcome> {
    if terminal_reason == "prompt_too_long"
        || error.status == Some(413)
        || ((is_vague(error) || error.kind == "invalid_request")
            && says(error, "prompt is too long"))
    {
        Some(AttemptOutcome::PromptTooLong)
    } else if terminal_reason == "rapid_refill_breaker" || error.detail == "autocompact_thrashing" {
        Some(AttemptOutcome::ContextFull)
    } else if error.kind == "model_not_found"
        || (error.status == Some(404) && mentions(error, "model"))
    {
        Some(AttemptOutcome::ModelNotFound { why: short(&error.text) })
    } else if error.kind == "max_output_tokens" || error.detail == "max_output_tokens" {
        Some(AttemptOutcome::OutputLimit)
    } else {
        None
    }
}

fn of_provider(error: &ErrorFacts) -> Option<AttemptOutcome> {
    if error.detail == "connection_failed"
        || error.status == Some(408)
        || (error.status.is_none() && mentions(error, "timed out"))
        || (is_vague(error) && error.status.is_none() && is_of_the_network(error))
    {
        Some(AttemptOutcome::Network)
    } else if error.status.is_some_and(|status| status >= 500)
        || (error.status.is_none() && matches!(error.kind.as_str(), "server_error" | "overloaded"))
        || (is_vague(error)
            && error.status.is_none()
            && ["overloaded", "internal server error"].iter().any(|words| says(error, words)))
    {
        Some(AttemptOutcome::Overloaded)
    } else {
        None
    }
}

/// The beginnings of network error messages.
const NETWORK: &[&str] = &[
    "connection error",
    "connection closed",
    "connection dropped",
    "connection refused",
    "connection reset",
    "fetch failed",
    "network error",
    "socket hang up",
    "unable to connect",
];

/// The names of transient system errors.
const NETWORK_CODES: &[&str] = &[
    "EAI_AGAIN",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENOTFOUND",
    "EPIPE",
    "ETIMEDOUT",
    "UND_ERR_SOCKET",
];

fn is_of_the_network(error: &ErrorFacts) -> bool {
    NETWORK.iter().any(|words| says(error, words))
        || NETWORK_CODES.iter().any(|code| error.text.contains(code))
}

/// The error with the status at the start of its text, such as `500 {...}`, if no field has one.
fn with_status(error: &ErrorFacts) -> ErrorFacts {
    let mut error = error.clone();
    if error.status.is_none() && is_vague(&error) {
        let text = provider_words(&error.text);
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let ends_there = text[end..].is_empty() || text[end..].starts_with([' ', '{', ':', ')']);
        let status = text[..end].parse().ok().filter(|status| (400..600).contains(status));
        error.status = status.filter(|_| ends_there);
    }
    error
}

/// Whether no field gives the kind of error. Only then its text is examined, because a string may
/// quote anything.
fn is_vague(error: &ErrorFacts) -> bool {
    matches!(error.kind.as_str(), "" | "unknown") && error.status.is_none_or(|status| status == 400)
}

/// Whether the message begins with these words.
fn says(error: &ErrorFacts, words: &str) -> bool {
    message(&error.text).get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
}

fn mentions(error: &ErrorFacts, words: &str) -> bool {
    error.text.to_ascii_lowercase().contains(words)
}

/// The text without the program's prefix, such as `API Error: 400 `.
fn message(text: &str) -> &str {
    let words = provider_words(text);
    if words.len() == text.trim_start().len() {
        return words;
    }
    words.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start()
}

/// The text without the program's name for provider errors.
fn provider_words(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("API Error") {
        Some(rest) => rest.trim_start_matches([':', ' ', '(']),
        None => text,
    }
}

/// The reason in a failed result, or else the text printed besides it.
fn why(result: &ResultFacts, otherwise: &str) -> String {
    let reason = if result.errors.is_empty() {
        result.text.clone().unwrap_or_default()
    } else {
        result.errors.join("\n")
    };
    short(if reason.trim().is_empty() { otherwise } else { &reason })
}
