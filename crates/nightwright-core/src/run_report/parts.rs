//! What the iterations of a chronicle are made of.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::event::{CallPurpose, CostSource, VerdictKind};
use crate::input::{Changes, CheckVerdict, TamperFinding};
use crate::settings::EvidenceKind;
use crate::test_counts::TestCounts;
use crate::units::{Tokens, Usd, millis};

/// A process of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptSummary {
    /// Its number in the run.
    pub number: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took; `None` while it is not over, and if nobody saw its end.
    #[serde(with = "millis::option", rename = "duration_ms")]
    pub duration: Option<Duration>,
    /// The name of what came of it.
    pub outcome: Option<&'static str>,
    /// The same in a sentence.
    pub sentence: String,
    /// What it is charged.
    pub cost_usd: Usd,
    /// Whether that is an estimate.
    pub figure: Option<CostSource>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its turns.
    pub turns: u32,
    /// Its tool calls.
    pub tool_calls: u32,
    /// Those that failed.
    pub tool_errors: u32,
}

/// Another use of the agent: a verdict, a review, advice, a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallSummary {
    /// Its number in the run.
    pub number: u32,
    /// What for.
    pub purpose: CallPurpose,
    /// How long it took; `None` while it is not over, and if nobody saw its end.
    #[serde(with = "millis::option", rename = "duration_ms")]
    pub duration: Option<Duration>,
    /// What came of it, in a sentence.
    pub sentence: String,
    /// What it is charged.
    pub cost_usd: Usd,
    /// Whether that is an estimate.
    pub figure: Option<CostSource>,
    /// Its tokens.
    pub tokens: Tokens,
}

/// A claim of completion, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimSummary {
    /// When it was made.
    pub at: Timestamp,
    /// By what.
    pub by: Vec<EvidenceKind>,
    /// The checks, once they were done.
    pub checks: Vec<CheckSummary>,
    /// How many there were beyond those.
    pub more_checks: u32,
    /// What looks like tampering.
    pub findings: Vec<TamperFinding>,
    /// How much there was beyond that.
    pub more_findings: u32,
    /// What changed since the run began.
    pub changes: Changes,
    /// What a model said, if one was asked.
    pub verdict: Option<VerdictKind>,
    /// What it decided by, in its words.
    pub reason: String,
    /// What is missing, in its words.
    pub missing: Vec<String>,
    /// How much there was beyond that.
    pub more_missing: u32,
    /// What it came to.
    pub judgement: ClaimOutcome,
    /// Why.
    pub why: String,
}

/// What a claim came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// Nothing yet.
    Open,
    /// Accepted, and checks confirmed it.
    Verified,
    /// Accepted by a model.
    Judged,
    /// Accepted by the agent's word alone.
    NotVerified,
    /// Not believed.
    Rejected,
    /// Nobody could tell.
    Inconclusive,
    /// What is left of the limits was too little to ask.
    Unaffordable,
}

/// A check, and what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckSummary {
    /// The command.
    pub command: String,
    /// What it came to.
    pub verdict: CheckVerdict,
    /// How many tests it ran, where its output says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// What it came to before the first iteration, in words, if it was run then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The end of what it printed, if it was not passed.
    pub output: String,
    /// How long it took.
    #[serde(with = "millis", rename = "duration_ms")]
    pub duration: Duration,
}

/// Something that happened on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// In this iteration; `None` before the first.
    pub iteration: Option<u32>,
    /// What kind of thing.
    pub kind: NoteKind,
    /// What.
    pub text: String,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Something people should know.
    Warning,
    /// The agent was told something, now or for its next iteration.
    Feedback,
    /// The watchdog noticed something.
    Watchdog,
    /// The agent was not allowed to use a tool.
    Denied,
    /// A conflict of principles was decided.
    Council,
    /// The status file of the task changed.
    Status,
    /// The run was steered: stopped, paused, given other limits, taken over.
    Steering,
    /// A check was run before the first iteration.
    Baseline,
    /// A limit was waited for.
    Wait,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimelineSpan {
    /// What.
    pub kind: SpanKind,
    /// In this iteration; `None` before the first.
    pub iteration: Option<u32>,
    /// From when.
    pub start: Timestamp,
    /// Until when; as far as is known, for what is not over.
    pub end: Timestamp,
    /// Whether it went wrong.
    pub trouble: bool,
    /// What there is to say about it.
    pub text: String,
}

/// What took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A process of the agent.
    Attempt,
    /// The checks.
    Checks,
    /// A model that was asked.
    Call,
    /// A limit that was waited for.
    Wait,
    /// A pause before another attempt.
    Retry,
    /// A pause that the operator wanted.
    Pause,
    /// No process was there to conduct the run.
    Away,
    /// The process died while something was going on, nobody knows when: until then that went on,
    /// and from then on no process was there.
    Unknown,
}

/// Where the files of a run are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunPaths {
    /// Its folder.
    pub run_folder: PathBuf,
    /// Its journal.
    pub journal: PathBuf,
    /// Its newest log, if there is one.
    pub log: Option<PathBuf>,
}

/// The commits of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommitList {
    /// The commit at which the run began.
    pub from: Option<String>,
    /// The last one seen.
    pub to: Option<String>,
    /// Those that could be read, the newest first.
    pub listed: Vec<Commit>,
    /// Why there are none, where there should be some.
    pub unknown: Option<String>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its hash.
    pub hash: String,
    /// When it was made.
    pub at: Option<Timestamp>,
    /// The first line of its message.
    pub subject: String,
}
