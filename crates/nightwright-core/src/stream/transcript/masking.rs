//! Masks the texts that a transcript passes on.
//!
//! A transcript decides by what the agent printed, because a mask could hide a figure or a marker.
//! It masks a text before it cuts it: a part of a secret is not recognized. A rule that reads a text
//! and quotes it runs on both versions: the printed one decides, the masked one gives the words.

use serde_json::Value;

use super::last_text::MAX_TEXT;
use crate::evidence::identity;
use crate::permissions::denial::Denial;
use crate::principles::CONFLICT;
use crate::redact::Secrets;
use crate::stream::message::{DeniedCall, ErrorFacts, ResultFacts};
use crate::stream::news::{Blocker, StatedDecision, TextEvidence, Verdict, WatchdogFinding};
use crate::stream::outcome::AttemptOutcome;
use crate::watchdog;

/// The shortest string whose beginning the decoder may have removed, in bytes as written.
const MIN_CUT: usize = (8 << 10) - 2 * MAX_ESCAPE;
/// The length of `\u00e4`.
const MAX_ESCAPE: usize = 6;
/// The maximum number of bytes that are covered at such a beginning: more than the rest of a key.
const MAX_REST: usize = 16 << 10;
/// The maximum length of the input of a denied call.
const MAX_INPUT: usize = 4 << 10;
/// The maximum length of the reason for a denial.
const MAX_REASON: usize = 8 << 10;

/// Masks a text. If its beginning may be missing, a secret may be cut there, so the first word is
/// covered.
pub(super) fn whole(secrets: &Secrets, text: &str, cut_min: usize) -> String {
    let mut masked = secrets.mask(text).into_owned();
    let is_rest = |byte: &u8| byte.is_ascii_graphic() || matches!(byte, b'\n' | b'\r');
    if is_cut(text, cut_min) {
        let rest = masked.bytes().take(MAX_REST).take_while(is_rest).count();
        masked.replace_range(..rest, &"*".repeat(rest));
    }
    masked
}

/// Masks the final text of a turn.
pub(super) fn final_text(secrets: &Secrets, text: &str) -> String {
    whole(secrets, text, MAX_TEXT - 2 * MAX_ESCAPE)
}

fn is_cut(text: &str, cut_min: usize) -> bool {
    text.len() * MAX_ESCAPE >= cut_min
        && serde_json::to_string(text).is_ok_and(|written| written.len() >= cut_min + 2)
}

impl ResultFacts {
    /// The same facts with the secrets in all texts masked.
    #[must_use]
    pub fn masked(&self, secrets: &Secrets) -> Self {
        let denied = |DeniedCall { id, tool, input }: &DeniedCall| {
            let input = whole(secrets, input, MIN_CUT);
            DeniedCall { id: id.clone(), tool: tool.clone(), input }
        };
        Self {
            text: self.text.as_deref().map(|text| final_text(secrets, text)),
            errors: self.errors.iter().map(|text| whole(secrets, text, MIN_CUT)).collect(),
            error: error(secrets, &self.error),
            startup_failure: whole(secrets, &self.startup_failure, MIN_CUT),
            structured: self.structured.as_deref().map(|json| masked_json(secrets, json)),
            denied: self.denied.iter().map(denied).collect(),
            ..self.clone()
        }
    }
}

/// The same error with the secrets in its text masked.
pub(super) fn error(secrets: &Secrets, error: &ErrorFacts) -> ErrorFacts {
    ErrorFacts { text: whole(secrets, &error.text, MIN_CUT), ..error.clone() }
}

fn masked_json(secrets: &Secrets, json: &str) -> String {
    match serde_json::from_str::<Value>(json) {
        Ok(mut value) => {
            if secrets.mask_value(&mut value) {
                value.to_string()
            } else {
                json.to_owned()
            }
        }
        Err(_) => secrets.mask(json).into_owned(),
    }
}

/// The denial of a tool call, with masked texts.
pub(super) fn denial(secrets: &Secrets, tool: String, input: &str, why: &str) -> Denial {
    let cut = |text: &str, most: usize| {
        let text = whole(secrets, text, MIN_CUT);
        text[..text.floor_char_boundary(most)].to_owned()
    };
    Denial { tool, input: cut(input, MAX_INPUT), why: cut(why, MAX_REASON) }
}

/// The outcome by the printed text, in the words of the masked one.
pub(super) fn outcome(
    secrets: &Secrets,
    mut printed: AttemptOutcome,
    mut masked: AttemptOutcome,
) -> AttemptOutcome {
    let is_same = std::mem::discriminant(&printed) == std::mem::discriminant(&masked);
    if let Some(why) = explanation(&mut printed) {
        *why = match explanation(&mut masked) {
            Some(masked) if is_same => std::mem::take(masked),
            Some(_) | None => secrets.mask(why).into_owned(),
        };
    }
    printed
}

fn explanation(outcome: &mut AttemptOutcome) -> Option<&mut String> {
    match outcome {
        AttemptOutcome::Auth { why }
        | AttemptOutcome::Billing { why }
        | AttemptOutcome::BadStart { why }
        | AttemptOutcome::NotStarted { why }
        | AttemptOutcome::BadRequest { why }
        | AttemptOutcome::ModelNotFound { why } => Some(why),
        AttemptOutcome::Finished
        | AttemptOutcome::TurnLimit
        | AttemptOutcome::AttemptBudget
        | AttemptOutcome::UsageLimited { .. }
        | AttemptOutcome::RateLimited
        | AttemptOutcome::Overloaded
        | AttemptOutcome::Network
        | AttemptOutcome::TimedOut { .. }
        | AttemptOutcome::Crashed { .. }
        | AttemptOutcome::PromptTooLong
        | AttemptOutcome::ContextFull
        | AttemptOutcome::Refused
        | AttemptOutcome::OutputLimit
        | AttemptOutcome::Interrupted
        | AttemptOutcome::Suspect { .. }
        | AttemptOutcome::Lost => None,
    }
}

/// The evidence in the printed text, in the words of the masked one.
pub(super) fn evidence(
    secrets: &Secrets,
    printed: TextEvidence,
    masked: TextEvidence,
) -> TextEvidence {
    let mask = |text: &str| secrets.mask(text).into_owned();
    TextEvidence {
        marker_ignored: printed.marker_ignored.as_deref().map(mask),
        blockers: blockers(secrets, printed.blockers, masked.blockers),
        decisions: decisions(secrets, printed.decisions, masked.decisions),
        conflict: printed.conflict.map(|text| conflict(&text, masked.conflict, mask)),
        findings: in_words_of(
            printed.findings,
            masked.findings,
            |one, other| one.signal == other.signal,
            |finding| {
                let WatchdogFinding { signal, key: _, text, context } = finding;
                let (text, context) = (mask(&text), mask(&context));
                WatchdogFinding { signal, key: watchdog::key(signal, &text), text, context }
            },
        ),
        summary: masked.summary,
        ..printed
    }
}

pub(super) fn blockers(
    secrets: &Secrets,
    printed: Vec<Blocker>,
    masked: Vec<Blocker>,
) -> Vec<Blocker> {
    let is_same = |one: &Blocker, other: &Blocker| one.is_impossible() == other.is_impossible();
    in_words_of(printed, masked, is_same, |blocker| identity::masked(&blocker, secrets))
}

pub(super) fn decisions(
    secrets: &Secrets,
    printed: Vec<StatedDecision>,
    masked: Vec<StatedDecision>,
) -> Vec<StatedDecision> {
    let mask = |text: &str| secrets.mask(text).into_owned();
    in_words_of(
        printed,
        masked,
        |_, _| true,
        |StatedDecision { decision, rationale }| StatedDecision {
            decision: mask(&decision),
            rationale: rationale.as_deref().map(mask),
        },
    )
}

/// A conflict, which keeps its mark.
fn conflict(printed: &str, masked: Option<String>, mask: impl Fn(&str) -> String) -> String {
    let is_marked = watchdog::is_marked(printed);
    let masked = masked.unwrap_or_else(|| mask(printed));
    if is_marked && !watchdog::is_marked(&masked) {
        return format!("{CONFLICT}: {masked}");
    }
    masked
}

/// The verdict in the printed text, in the words of the masked one.
pub(super) fn verdict(secrets: &Secrets, printed: Verdict, masked: Option<Verdict>) -> Verdict {
    let mask = |text: &String| secrets.mask(text).into_owned();
    let Verdict { complete, reason, missing } = printed;
    if let Some(masked) = masked {
        return Verdict { complete, ..masked };
    }
    let missing = missing.iter().map(mask).collect();
    Verdict { complete, reason: mask(&reason), missing }
}

/// The items of the masked text, if they are those of the printed one. Otherwise a mask hides their
/// structure, and each printed item is masked on its own.
fn in_words_of<T>(
    printed: Vec<T>,
    masked: Vec<T>,
    is_same: impl Fn(&T, &T) -> bool,
    mask: impl Fn(T) -> T,
) -> Vec<T> {
    let mut pairs = printed.iter().zip(&masked);
    if printed.len() == masked.len() && pairs.all(|(one, other)| is_same(one, other)) {
        return masked;
    }
    printed.into_iter().map(mask).collect()
}
