//! The parts of a run report: attempts, calls, claims, checks, notes, time spans and commits.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::event::{CallPurpose, CostSource, VerdictKind};
use crate::input::{Changes, CheckVerdict, TamperFinding};
use crate::settings::EvidenceKind;
use crate::test_counts::TestCounts;
use crate::units::{Tokens, Usd, millis};

/// One attempt of an iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptSummary {
    /// The attempt's number within the run.
    pub number: u32,
    pub started_at: Timestamp,
    /// Duration of the attempt; `None` while it runs, or if its end was not observed.
    #[serde(with = "millis::option", rename = "duration_ms")]
    pub duration: Option<Duration>,
    /// The name of the outcome.
    pub outcome: Option<&'static str>,
    /// The outcome in one sentence.
    pub sentence: String,
    pub cost_usd: Usd,
    /// Whether the cost is reported or estimated.
    pub figure: Option<CostSource>,
    pub tokens: Tokens,
    pub turns: u32,
    pub tool_calls: u32,
    /// Number of tool calls that failed.
    pub tool_errors: u32,
}

/// A call of the agent: a verdict, a review, advice or a decision of the council.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallSummary {
    /// The call's number within the run.
    pub number: u32,
    pub purpose: CallPurpose,
    /// Duration of the call; `None` while it runs, or if its end was not observed.
    #[serde(with = "millis::option", rename = "duration_ms")]
    pub duration: Option<Duration>,
    /// The outcome in one sentence.
    pub sentence: String,
    pub cost_usd: Usd,
    /// Whether the cost is reported or estimated.
    pub figure: Option<CostSource>,
    pub tokens: Tokens,
}

/// A completion claim and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimSummary {
    pub at: Timestamp,
    /// The evidence of the claim.
    pub by: Vec<EvidenceKind>,
    /// The check results; empty until the checks finish.
    pub checks: Vec<CheckSummary>,
    /// Number of checks beyond those listed.
    pub more_checks: u32,
    /// Signs of tampering in the changes.
    pub findings: Vec<TamperFinding>,
    /// Number of findings beyond those listed.
    pub more_findings: u32,
    /// The changes since the start of the run.
    pub changes: Changes,
    /// The verdict of a model, if one was called.
    pub verdict: Option<VerdictKind>,
    /// The model's reason for its verdict.
    pub reason: String,
    /// The missing work, in the model's words.
    pub missing: Vec<String>,
    /// Number of missing items beyond those listed.
    pub more_missing: u32,
    /// The gate's decision on the claim.
    pub judgement: ClaimOutcome,
    /// The reason for the gate's decision.
    pub why: String,
}

/// The gate's decision on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// The gate has not decided yet.
    Open,
    /// Accepted, and confirmed by checks.
    Verified,
    /// Accepted by a model.
    Judged,
    /// Accepted on the agent's claim alone.
    NotVerified,
    Rejected,
    /// The gate could neither accept nor reject the claim.
    Inconclusive,
    /// The remaining budget did not suffice for the required model call.
    Unaffordable,
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckSummary {
    pub command: String,
    pub verdict: CheckVerdict,
    /// Number of tests that the check ran, if its output states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// The result before the first iteration, in words, if the check ran then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The end of the output; empty if the check passed.
    pub output: String,
    #[serde(with = "millis", rename = "duration_ms")]
    pub duration: Duration,
}

/// An event of a run that the report lists as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub at: Timestamp,
    /// The iteration of the event; `None` before the first iteration.
    pub iteration: Option<u32>,
    pub kind: NoteKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A warning for the operator.
    Warning,
    /// Feedback for the agent, sent at once or with the next prompt.
    Feedback,
    /// A finding of the watchdog.
    Watchdog,
    /// The agent was denied a tool.
    Denied,
    /// The council decided a conflict of principles.
    Council,
    /// The status file of the task changed.
    Status,
    /// The run was stopped, paused, given new limits or taken over by another process.
    Steering,
    /// A check ran before the first iteration.
    Baseline,
    /// The run waited for a limit to end.
    Wait,
}

/// An activity that took time, for the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimelineSpan {
    pub kind: SpanKind,
    /// The iteration of the activity; `None` before the first iteration.
    pub iteration: Option<u32>,
    pub start: Timestamp,
    /// The end of the activity. If the end is unknown, the last known time.
    pub end: Timestamp,
    /// Whether the activity failed.
    pub trouble: bool,
    /// A short description of the activity.
    pub text: String,
}

/// The kind of activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    Attempt,
    /// The checks of the gate or before the first iteration.
    Checks,
    /// A model call, for example for a verdict.
    Call,
    /// A wait for a limit to end.
    Wait,
    /// A delay before the next attempt.
    Retry,
    /// A pause requested by the operator.
    Pause,
    /// No process controlled the run.
    Away,
    /// The process died at an unknown time within this span. Until then its activity continued;
    /// afterwards no process controlled the run.
    Unknown,
}

/// The paths of a run's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunPaths {
    pub run_folder: PathBuf,
    pub journal: PathBuf,
    /// The newest log, if there is one.
    pub log: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommitList {
    /// The commit at the start of the run.
    pub from: Option<String>,
    /// The last commit that was seen.
    pub to: Option<String>,
    /// The commits that could be read, newest first.
    pub listed: Vec<Commit>,
    /// Why the list is empty although commits are expected.
    pub unknown: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commit {
    pub hash: String,
    pub at: Option<Timestamp>,
    /// The first line of the commit message.
    pub subject: String,
}
