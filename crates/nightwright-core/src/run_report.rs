//! The report of a run: its settings, the work and cost of each iteration, and the claims and their
//! results.
//!
//! [`RunReport::of`] builds it from a [`RunView`](crate::run_view::RunView) with a history.
//! [`RunReport::markdown`] and [`RunReport::html`] format it; its JSON is a third form.
//!
//! All external text in a report is safe to show and truncated, with a note of the omitted length.
//! Each page format escapes it by its own rules.

mod build;
mod chart;
mod format;
mod page;
mod parts;
#[cfg(test)]
mod tests;
mod text;

use jiff::Timestamp;
use serde::Serialize;

use crate::event::{ChecksAfterIteration, IterationKind, Progress, Totals};
use crate::input::{Changes, TaskProgress};
use crate::outcome::Proof;
use crate::permissions::denial::DeniedCommand;
use crate::results::{IterationStatus, ReportStatus};
use crate::settings::{EvidenceKind, Limits};
use crate::stream::news::Blocker;
use crate::units::{RunId, Tokens, Usd, millis};

use self::page::PageFormat;
use crate::run_view::Liveness;
pub use build::{ReportContext, UnreadableJournal};
pub use parts::{
    AttemptSummary, CallSummary, CheckSummary, ClaimSummary, Commit, CommitList, HostSummary, Note,
    NoteKind, RunPaths, SpanKind, TimelineSpan,
};

/// The report of a whole run, or of the recorded part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunReport {
    pub run: RunId,
    /// Whether a process controls the run.
    pub state: Liveness,
    /// Whether this was a rehearsal, so that nothing real was done or spent.
    pub is_rehearsal: bool,
    /// The overall result of the run.
    pub status: ReportStatus,
    /// The name of the outcome; `None` if the run has none.
    pub outcome: Option<&'static str>,
    /// The proof that a completion rests on; `None` if the run is not completed.
    pub proof: Option<Proof>,
    /// The overall result in one sentence.
    pub sentence: String,
    /// Additional information about the outcome.
    pub note: Option<String>,
    /// The result of the last claim, in one sentence.
    pub verification: Option<String>,
    /// The parameters of the run; `None` if they are not recorded.
    pub parameters: Option<RunParameters>,
    /// The current limits, including later changes.
    pub limits: Limits,
    pub started_at: Option<Timestamp>,
    /// When the last event happened.
    pub last_at: Option<Timestamp>,
    pub totals: Totals,
    /// Number of files changed, each counted once.
    pub files_changed: u32,
    /// The files that differ from the start of the run, with added and removed lines. The list may
    /// be incomplete.
    pub changes: Changes,
    /// Progress of the task, as reported in its status file.
    pub progress: Option<TaskProgress>,
    /// How much failed over the run, as text; `None` if nothing ever failed.
    pub failing_curve: Option<String>,
    /// The commands of the checks whose result was chance.
    pub flaky: Vec<String>,
    /// The cost per accepted change.
    pub accepted: AcceptedWork,
    /// Notes from before the first iteration.
    pub before: Vec<Note>,
    /// Number of those notes beyond the listed ones.
    pub more_before: u32,
    /// The iterations, in order.
    pub iterations: Vec<IterationReport>,
    /// The activities that took time, ordered by start.
    pub spans: Vec<TimelineSpan>,
    /// Number of unlisted activities, from iterations that had too many.
    pub more_spans: u32,
    /// The commands and tools that the agent was denied, each listed once.
    pub denied: Vec<DeniedCommand>,
    /// The hosts that programs in the sandbox contacted, or were refused.
    pub hosts: Vec<HostSummary>,
    /// Number of hosts beyond those listed.
    pub more_hosts: u32,
    /// The listed blockers, which only a person can resolve.
    pub blockers: Vec<Blocker>,
    /// Number of blockers beyond those listed.
    pub more_blockers: u32,
    pub warnings: Vec<Note>,
    /// Number of warnings beyond those listed.
    pub more_warnings: u32,
    /// The commits of the run, as far as they are known.
    pub commits: CommitList,
    pub next: Vec<String>,
    /// The parts of the journal that could not be read.
    pub missing: Vec<String>,
    /// The paths of the run's files, for a reader on the same machine.
    #[serde(rename = "paths")]
    pub places: Option<RunPaths>,
}

/// The parameters that a run started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunParameters {
    /// The task's name, if it has one.
    pub task: Option<String>,
    /// The text of the goal.
    pub goal: String,
    pub mode: String,
    /// Whether the run only executes the gate and does not work on the task.
    pub only_gate: bool,
    pub agent: String,
    /// The agent's version, if it reported one.
    pub agent_version: Option<String>,
    /// The names of the models, as the agent reported them.
    pub models: Vec<String>,
    /// Number of models beyond those listed.
    pub more_models: u32,
    pub project: String,
    /// The commit at which the run began, with git.
    pub git_head: Option<String>,
    /// The mechanism that contains the agent's processes.
    pub containment: String,
    /// The kind of the sandbox; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The checks that a claim has to pass.
    pub checks: Vec<String>,
    /// Number of checks beyond those listed.
    pub more_checks: u32,
    /// Those that run outside the sandbox.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks_outside: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IterationReport {
    /// The iteration's number; 0 for a verification before the first iteration.
    pub number: u32,
    pub kind: IterationKind,
    /// The result of the iteration.
    pub status: IterationStatus,
    /// The reason for a failure; `None` if the iteration did not fail.
    pub why: Option<String>,
    pub started_at: Timestamp,
    /// When the iteration ended; `None` if it has not.
    pub ended_at: Option<Timestamp>,
    /// Duration without waits; `None` if the iteration has not ended.
    #[serde(with = "millis::option", rename = "duration_ms")]
    pub duration: Option<std::time::Duration>,
    /// The cost of its attempts and calls.
    pub cost_usd: Usd,
    /// The estimated part of the cost.
    pub estimated_usd: Usd,
    /// The tokens of its attempts and calls.
    pub tokens: Tokens,
    pub files_changed: u32,
    pub commits: u32,
    /// Whether the iteration moved the project forward; `None` if it has not ended.
    pub work_progress: Option<Progress>,
    /// Progress of the task, from its status file or checklist.
    pub progress: Option<TaskProgress>,
    /// The current phase of the task, as reported by the agent.
    pub phase: Option<String>,
    /// How much failed when the iteration ended, and whether that is better; `None` if unknown.
    pub checks: Option<ChecksAfterIteration>,
    /// The evidence of the completion claim; empty without a claim.
    pub claim: Vec<EvidenceKind>,
    /// The listed attempts; see `attempt_count` for the total.
    pub attempts: Vec<AttemptSummary>,
    /// Total number of attempts.
    pub attempt_count: u32,
    /// Calls of the agent for something other than work.
    pub calls: Vec<CallSummary>,
    /// Completion claims and their results.
    pub claims: Vec<ClaimSummary>,
    /// The blockers that stop the agent.
    pub blockers: Vec<Blocker>,
    /// Other events of the iteration, such as warnings and feedback.
    pub notes: Vec<Note>,
    /// Number of attempts, calls, claims, blockers and notes beyond those listed.
    #[serde(rename = "omitted")]
    pub left_off: u32,
    /// The agent's summary of its work.
    pub summary: String,
}

/// The cost per accepted change: the cost of the whole run divided by its commits. Without commits,
/// the divisor is the number of iterations that made progress or whose claim was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AcceptedWork {
    pub unit: AcceptedUnit,
    /// Number of accepted changes.
    pub count: u32,
    /// The cost of one accepted change; `None` if there are none.
    pub cost_usd: Option<Usd>,
}

/// The unit in which accepted changes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AcceptedUnit {
    Commits,
    Iterations,
}

impl RunReport {
    /// Formats the report as a Markdown page, for a pull request or an email.
    pub fn markdown(&self) -> String {
        page::page(self, PageFormat::Markdown)
    }

    /// Formats the report as a self-contained HTML page without scripts.
    pub fn html(&self) -> String {
        page::page(self, PageFormat::Html)
    }

    /// The range of the run's commits: the commit at its start, if any, and the last one seen.
    /// `None` if no commit was seen.
    pub fn commit_range(&self) -> Option<(Option<&str>, &str)> {
        let CommitList { from, to, .. } = &self.commits;
        to.as_deref().map(|to| (from.as_deref(), to))
    }
}

impl IterationReport {
    /// Number of attempts beyond the first.
    pub fn retries(&self) -> u32 {
        self.attempt_count.saturating_sub(1)
    }
}
