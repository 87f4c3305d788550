//! Phrases for outcomes: a sentence, a short headline, and the limit that was reached.

use crate::display::one_line;
use crate::outcome::{Outcome, OutcomeClass, Proof, ReachedLimit, Unchecked, count};
use crate::phrases::claim::completion;
use crate::phrases::thousands;
use crate::results::ReportStatus;
use crate::units::human;

/// The maximum length of an agent's reason in a sentence, in characters.
const MAX_REASON_CHARS: usize = 600;

impl Outcome {
    /// Returns the outcome in one sentence. `iterations` is the number of finished iterations.
    pub fn sentence(&self, iterations: u32) -> String {
        match self {
            Self::Completed { proof, unchecked } => completed(*proof, *unchecked, iterations),
            Self::Stagnated { idle, failing: Some(failing) } => {
                format!("No progress in {}: {failing}", consecutive(*idle))
            }
            Self::Stagnated { idle, failing: None } => {
                format!("Stagnation detected: {} with no work", consecutive(*idle))
            }
            Self::NoChanges { idle } => format!("No changes in {}", count(*idle, "iteration")),
            Self::MaxIterations { limit } => format!("Reached maximum iterations ({limit})"),
            Self::MaxCost { limit } => format!("Reached maximum cost ({})", limit.exact()),
            Self::MaxDuration { limit } => format!("Reached maximum duration ({})", human(*limit)),
            Self::MaxTokens { limit } => format!("Reached maximum tokens ({})", thousands(*limit)),
            Self::Blocked { needs } => format!("Blocked: {needs}"),
            Self::Impossible { why } => {
                format!("The task is impossible as specified: {}", one_line(why, MAX_REASON_CHARS))
            }
            Self::Unverified { why } if iterations == 0 => {
                format!("The gate did not accept the work: {why}")
            }
            Self::Unverified { why } => {
                format!("The agent claimed completion, but the gate did not accept it: {why}")
            }
            Self::Stopped if iterations == 0 => {
                "Stopped before the first iteration, as requested".to_owned()
            }
            Self::Stopped => format!("Stopped after iteration {iterations}, as requested"),
            Self::Failed { why } => format!("The agent reports that the task failed: {why}"),
            Self::ConsecutiveErrors { errors: 1, last } => format!("The iteration failed: {last}"),
            Self::ConsecutiveErrors { errors, last } => {
                format!("{errors} consecutive errors; last error: {last}")
            }
            Self::AllIterationsFailed { iterations: 1, last, .. } => {
                format!("The only iteration failed: {last}")
            }
            Self::AllIterationsFailed { iterations, last, .. } => {
                format!("All {iterations} iterations failed; last error: {last}")
            }
            Self::Auth { why } => format!("Authentication failed: {why}"),
            Self::BadAgent { why } => {
                format!("Cannot run the agent: {}", why.strip_prefix("error: ").unwrap_or(why))
            }
            Self::ChecksCannotRun { why } | Self::CheckNeedsHost { why, .. } => {
                format!("Not started: {why}")
            }
            Self::HookAbort { why } => format!("Ended by a hook: {why}"),
            Self::LimitWaitTooLong { until: Some(until) } => {
                format!("The usage limit lasts until {until}, longer than `limits.max_wait`")
            }
            Self::LimitWaitTooLong { until: None } => {
                "The limit did not reset within `limits.max_wait`".to_owned()
            }
            Self::DiskFull { free, floor } => format!(
                "Not enough disk space: {} MiB free, {} MiB required",
                free >> 20,
                floor >> 20
            ),
            Self::ProjectUnresponsive { waited } => {
                format!("The project folder did not respond within {}", human(*waited))
            }
            Self::JournalFailed { why } => format!("Cannot write the journal: {why}"),
            Self::JournalDamaged { why } => {
                format!("Another process changed the journal of the run: {why}")
            }
            Self::SandboxFailed { why } => format!("Not resumed: {why}"),
            Self::Interrupted => "Interrupted".to_owned(),
        }
    }
}

fn completed(proof: Proof, unchecked: Option<Unchecked>, iterations: u32) -> String {
    let after = format!("after {}", count(iterations, "iteration"));
    let why = unchecked.map(|why| format!(" ({})", why.words())).unwrap_or_default();
    match proof {
        Proof::Checks => format!("Task completed successfully {after}"),
        Proof::Model => format!("Task judged complete by a model{why} {after}"),
        Proof::None => format!("Task completed, not verified{why}, {after}"),
    }
}

/// A short headline for an outcome.
pub fn headline(outcome: &Outcome) -> &'static str {
    match outcome.class() {
        OutcomeClass::Completed => completion(outcome.proof().unwrap_or(Proof::None)),
        OutcomeClass::Stagnated => "stopped, no progress",
        OutcomeClass::Limit => match outcome.reached_limit() {
            Some(ReachedLimit::Iterations(_)) => "iteration limit reached",
            Some(ReachedLimit::Cost(_)) => "cost limit reached",
            Some(ReachedLimit::Duration(_)) => "time limit reached",
            Some(ReachedLimit::Tokens(_)) | None => "token limit reached",
        },
        OutcomeClass::Blocked if matches!(outcome, Outcome::Impossible { .. }) => {
            "stopped: task is impossible"
        }
        OutcomeClass::Blocked => "stopped, blocked",
        OutcomeClass::Unverified => "stopped, not verified",
        OutcomeClass::Stopped => "stopped",
        OutcomeClass::Interrupted => "interrupted",
        OutcomeClass::Failed => "failed",
    }
}

/// The headline of a report. `only_gate` says that the run only verified the work.
pub fn report_status(status: ReportStatus, only_gate: bool) -> &'static str {
    match (status, only_gate) {
        (ReportStatus::Verified, true) => "verified",
        (ReportStatus::Verified, false) => completion(Proof::Checks),
        (ReportStatus::Judged, _) => completion(Proof::Model),
        (ReportStatus::NotVerified, _) => completion(Proof::None),
        (ReportStatus::NotDone, true) => "not verified",
        (ReportStatus::NotDone, false) => "not completed",
        (ReportStatus::Running, _) => "still running",
        (ReportStatus::Crashed, _) => "crashed",
        (ReportStatus::Rehearsed, _) => "rehearsal",
        (ReportStatus::Unknown, _) => "unknown",
    }
}

/// Iterations in a row: `3 consecutive iterations`.
pub fn consecutive(iterations: u32) -> String {
    count(iterations, if iterations == 1 { "iteration" } else { "consecutive iteration" })
}

/// A limit that a run reached: `a cost of $5.00`.
pub fn reached_limit(limit: ReachedLimit) -> String {
    match limit {
        ReachedLimit::Iterations(limit) => count(limit, "iteration"),
        ReachedLimit::Cost(limit) => format!("a cost of {}", limit.exact()),
        ReachedLimit::Duration(limit) => format!("a duration of {}", human(limit)),
        ReachedLimit::Tokens(limit) => format!("{} tokens", thousands(limit)),
    }
}
