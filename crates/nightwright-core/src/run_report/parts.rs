//! The parts of a run report: those of the view's history, and claims, checks, paths and commits.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::event::{SecondOpinion, VerdictKind};
use crate::input::{Changes, CheckVerdict, TamperFinding};
use crate::results::ClaimOutcome;
use crate::settings::EvidenceKind;
use crate::test_counts::TestCounts;
use crate::units::millis;

pub use crate::run_view::history::{
    AttemptSummary, CallSummary, HostSummary, Note, NoteKind, SpanKind, TimelineSpan,
};

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
    /// Findings of the tamper inspection in the changes.
    pub findings: Vec<TamperFinding>,
    /// Number of findings beyond those listed.
    pub more_findings: u32,
    /// The changes since the start of the run.
    pub changes: Changes,
    /// The verdict of a model, if one was called.
    pub verdict: Option<VerdictKind>,
    /// The source of the verdict, if it is a second opinion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_opinion: Option<SecondOpinion>,
    /// The model's reason for its verdict.
    pub reason: String,
    /// The missing work, in the model's words.
    pub missing: Vec<String>,
    /// Number of missing items beyond those listed.
    pub more_missing: u32,
    /// The gate's decision on the claim.
    pub outcome: ClaimOutcome,
    /// The reason for the gate's decision.
    pub why: String,
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckSummary {
    pub command: String,
    #[serde(rename = "result")]
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
    /// Whether it ran outside the sandbox of the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

/// The paths of a run's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunPaths {
    pub run_folder: PathBuf,
    pub journal: PathBuf,
    /// The newest log, if any.
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
