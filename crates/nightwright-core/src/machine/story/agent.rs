//! The agent of a story: turns words into news and reports.

use jiff::Timestamp;

use crate::permissions::denial::Denial;
use crate::stream::news::{
    AttemptReport, Blocker, Pulse, Ready, RunningTool, TextEvidence, WatchdogFinding,
    WatchdogSignal,
};
use crate::stream::outcome::{AttemptOutcome, Deadline, ProcessExit, Suspicion};
use crate::units::{Now, Tokens, Usd};

use super::given::duration;

/// Parses the words of `ready`: `model=NAME`, `failed=SERVER`, `loaded=skills`.
pub(super) fn ready(words: &[&str]) -> Ready {
    let mut ready = Ready::default();
    for word in words {
        match word.split_once('=') {
            Some(("model", name)) => name.clone_into(&mut ready.model),
            Some(("loaded", "skills")) => ready.loaded.push("skills"),
            Some(("failed", server)) => ready.failed_servers.push(server.to_owned()),
            other => panic!("an agent is never ready like {other:?}"),
        }
    }
    ready
}

/// Returns the denial of a tool use that the program gives no reason for.
pub(super) fn denial(tool: &str, input: &str) -> Denial {
    Denial { tool: tool.to_owned(), input: input.to_owned(), why: String::new() }
}

pub(super) fn pulse(words: &[&str]) -> Pulse {
    let mut pulse = Pulse::default();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "quiet" => pulse.quiet = duration(value),
            "tokens" => {
                pulse.tokens =
                    Tokens { output: value.parse().expect("tokens"), ..Tokens::default() };
            }
            "leaving" => pulse.exiting = true,
            "tool" => {
                let (name, running) = ("Bash".to_owned(), duration(value));
                pulse.tool = Some(RunningTool { name, running, heartbeat: None });
            }
            other => panic!("a pulse does not know `{other}`"),
        }
    }
    pulse
}

pub(super) fn report(outcome: &str, words: &[&str], now: Now) -> AttemptReport {
    let mut until = None;
    let mut report = AttemptReport::bare(AttemptOutcome::Finished);
    report.edited = Some(Vec::new());
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if says(&mut report.text_evidence, key, value) {
            continue;
        }
        match key {
            money if money.starts_with('$') => {
                report.cost = Usd::from_dollars(money[1..].parse().expect("dollars"));
            }
            "tokens" => {
                report.tokens =
                    Tokens { output: value.parse().expect("tokens"), ..Tokens::default() };
            }
            "edits" => report.edited = (value != "?").then(|| vec![value.to_owned()]),
            "denied" => {
                let (tool, input) = value.split_once(':').unwrap_or((value, ""));
                report.denied.push(denial(tool, &input.replace('_', " ")));
            }
            "heard" => report.acknowledged = Some(value.parse().expect("a number")),
            "printed" => report.stream.stdout_bytes = value.parse().expect("a number of bytes"),
            "unasked" => report.priced = Some(Usd::ZERO),
            "priced" => report.priced = Usd::from_dollars(value.parse().expect("dollars")),
            "until" => until = Some(now.plus(duration(value))),
            other => panic!("a report does not know `{other}`"),
        }
    }
    report.outcome = outcome_of(outcome, until);
    // A finished attempt always reports its cost.
    if report.outcome == AttemptOutcome::Finished && report.cost.is_none() {
        report.cost = Some(Usd::from_cents(10));
    }
    report
}

/// Adds what the agent says with this word. Returns whether the word is of this kind.
fn says(evidence: &mut TextEvidence, key: &str, value: &str) -> bool {
    match key {
        "promise" => evidence.promise = true,
        "ignored-marker" => {
            evidence.marker_ignored = Some("it stands in a quotation".to_owned());
        }
        "signal" => evidence.signal = true,
        "says-done" => evidence.states_done = true,
        "end-phrase" => evidence.end_phrase = true,
        "conflict" => {
            let conflict = if value.is_empty() { "speed-against-safety" } else { value };
            let conflict = conflict.replace('-', " ");
            evidence.conflict = Some(format!("PRINCIPLE_CONFLICT_UNRESOLVED: {conflict}"));
        }
        "unnamed-conflict" => {
            evidence.conflict = Some("PRINCIPLE_CONFLICT_UNRESOLVED".to_owned());
        }
        "unmarked-conflict" => {
            evidence.conflict = Some("speed against safety".to_owned());
        }
        "blocker" => evidence.blockers.push(blocker(value)),
        "impossible" => {
            let text = value.replace('-', " ");
            let impossible = Some(text.clone());
            evidence.blockers.push(Blocker { impossible, ..Blocker::new(value, text) });
        }
        "gives-up" => {
            evidence.findings.push(notice(WatchdogSignal::GivingUp, "item seven"));
        }
        "asks" => {
            evidence.findings.push(notice(WatchdogSignal::Asking, "which database"));
        }
        "stumbled" => {
            evidence.findings.push(notice(WatchdogSignal::ToolErrors, "no such file"));
        }
        _ => return false,
    }
    true
}

fn outcome_of(name: &str, until: Option<Timestamp>) -> AttemptOutcome {
    let why = || "so it said".to_owned();
    match name {
        "finished" => AttemptOutcome::Finished,
        "turn_limit" => AttemptOutcome::TurnLimit,
        "attempt_budget" => AttemptOutcome::AttemptBudget,
        "usage_limited" => AttemptOutcome::UsageLimited { until },
        "rate_limited" => AttemptOutcome::RateLimited,
        "overloaded" => AttemptOutcome::Overloaded,
        "network" => AttemptOutcome::Network,
        "timed_out" => AttemptOutcome::TimedOut { which: Deadline::Idle },
        "crashed" => AttemptOutcome::Crashed { how: ProcessExit::Signal(9) },
        "auth" => AttemptOutcome::Auth { why: why() },
        "billing" => AttemptOutcome::Billing { why: why() },
        "bad_start" => AttemptOutcome::BadStart { why: why() },
        "not_started" => AttemptOutcome::NotStarted { why: why() },
        "prompt_too_long" => AttemptOutcome::PromptTooLong,
        "context_full" => AttemptOutcome::ContextFull,
        "took_too_long" => AttemptOutcome::TimedOut { which: Deadline::Attempt },
        "bad_request" => AttemptOutcome::BadRequest { why: why() },
        "model_not_found" => AttemptOutcome::ModelNotFound { why: why() },
        "refused" => AttemptOutcome::Refused,
        "output_limit" => AttemptOutcome::OutputLimit,
        "interrupted" => AttemptOutcome::Interrupted,
        "suspect" => AttemptOutcome::Suspect { why: Suspicion::NoSignOfWork },
        "local_command" => AttemptOutcome::Suspect { why: Suspicion::LocalCommand },
        other => panic!("no outcome is called `{other}`"),
    }
}

pub(super) fn blocker(key: &str) -> Blocker {
    Blocker::new(key, format!("the {key}"))
}

pub(super) fn notice(signal: WatchdogSignal, text: &str) -> WatchdogFinding {
    let (key, context) = (text.replace(' ', "-"), String::new());
    WatchdogFinding { signal, key, text: text.to_owned(), context }
}
