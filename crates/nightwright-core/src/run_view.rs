//! The state of a run as shown to people. The screen, the log, `status`, the final summary, reports,
//! notifications and hooks all take it from this one fold of the events.
//!
//! The view makes no decisions, and no decision depends on it. A view of a partial journal is
//! correct for that part, because totals come from the attempts and calls, not from the final
//! event.
//!
//! The live state is bounded: a run of 10,000 iterations takes no more memory than one of ten. A
//! report needs more, and builds its view with [`RunView::with_history`].

mod estimate;
mod fold;
pub(crate) mod history;
mod liveness;
mod next;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::event::{
    AgentFacts, AgentKind, CallPurpose, GateResult, IterationFinished, IterationKind, Record,
    SecondOpinion, StopWhen, Totals, VerdictKind, WaitKind,
};
use crate::failing::FailingCurve;
use crate::input::{Changes, CheckResult, TamperFinding, TaskProgress};
use crate::outcome::Outcome;
use crate::permissions::denial::DeniedCommand;
use crate::principles::Principles;
use crate::settings::{EvidenceKind, Limits, SandboxKind, Scope, Settings};
use crate::stream::news::Blocker;
use crate::stream::outcome::AttemptOutcome;
use crate::units::{AttemptId, Iteration};

pub use estimate::Estimate;
use estimate::FirstProgress;
use history::History;
pub use liveness::{JournalBreak, Liveness};
pub use next::{NextStep, shell_word};
pub use summary::{PurposeSpend, Summary};

/// The suffix of an amount of money in a rehearsal, where nothing was spent.
pub const REHEARSED: &str = " (rehearsed)";

/// Number of iterations in the mean duration.
const RECENT: usize = 5;

/// Maximum number of blockers kept. Each is reported once per run.
const MAX_BLOCKERS: usize = 100;

/// Maximum number of warnings whose text is kept.
const RECENT_WARNINGS: usize = 5;

/// The state of a run, folded from its events for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunView {
    /// The facts that the run started with; `None` before its first event.
    pub facts: Option<RunFacts>,
    /// The current limits, including later changes.
    pub limits: Limits,
    pub started_at: Option<Timestamp>,
    /// When the last event happened.
    pub at: Option<Timestamp>,
    /// The last iteration that began.
    pub iteration: Option<CurrentIteration>,
    /// The result of the last iteration that ended.
    pub last: Option<IterationFinished>,
    /// The outcome of the last attempt that ended.
    pub last_attempt: Option<AttemptOutcome>,
    /// The last commit that an iteration began or ended with.
    pub head: Option<String>,
    /// The principles that apply now.
    pub principles: Option<Principles>,
    /// Durations of the last few iterations, newest last. Failed and interrupted iterations are
    /// left out, because they do not predict the next one.
    pub recent: VecDeque<Duration>,
    pub totals: Totals,
    /// Number of files that the run changed, each counted once. If they were not compared with the
    /// start of the run, this is the sum over its iterations.
    pub files_changed: u32,
    /// The listed files with their line counts; the list may be incomplete.
    pub changes: Option<Changes>,
    /// Progress of the task, as reported in its status file.
    pub progress: Option<TaskProgress>,
    /// Number of consecutive idle iterations.
    pub idle: u32,
    /// How much of the checks failed over the run.
    pub failing: FailingCurve,
    /// Number of consecutive iterations in which something failed and no less than before.
    pub without_gain: u32,
    /// The commands of the checks whose result was chance.
    pub flaky: BTreeSet<String>,
    /// Number of warnings, including failed hooks.
    pub warnings: u32,
    /// The last few of these warnings, newest last.
    pub recent_warnings: VecDeque<String>,
    /// Number of those that an earlier process of the run has shown.
    earlier_warnings: u32,
    /// The pending request to stop, if any.
    pub stop: Option<StopWhen>,
    /// Whether the operator paused the run, so that nothing new starts.
    pub paused: bool,
    /// The commands and tools that the agent was denied.
    pub denied: Vec<DeniedCommand>,
    /// The tools that the agent may use, in addition to those of its permission level.
    allowed: Vec<String>,
    /// The blockers reported so far.
    pub blockers: Vec<Blocker>,
    /// Number of blockers beyond those listed.
    pub more_blockers: u32,
    /// The checks that are running before the first iteration or after one, not for a claim.
    other_checks: Vec<String>,
    /// The last claim and its result.
    pub gate: Option<GateView>,
    /// The outcome of the run; `None` while it has not ended.
    pub finished: Option<FinalOutcome>,
    /// When the current activity began.
    pub since: Option<Timestamp>,
    doing: Activity,
    beginning: Option<FirstProgress>,
    pub(crate) history: Option<Box<History>>,
}

/// The facts about a run that screens always show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The task's name, if it has one.
    pub task: Option<String>,
    /// Whether the run works on a task or only runs the gate.
    pub scope: Scope,
    pub mode: String,
    /// The first line of the goal.
    pub goal: String,
    pub agent: AgentFacts,
    /// The kind of the sandbox, including later changes.
    pub sandbox: SandboxKind,
    /// The checks that run outside the sandbox, as the run started.
    pub checks_outside: Vec<String>,
    /// The user's command line that replaces the default agent program.
    pub agent_command: Option<String>,
    /// The file in which an iteration leaves notes for the next.
    pub notes_file: Option<String>,
    /// The plan or TODO of the run.
    pub list_file: Option<String>,
    pub project: String,
    /// The commit at which the run began, with git.
    pub git_head: Option<String>,
    /// Number of consecutive idle iterations that end the run; 0 means never.
    pub idle_limit: u32,
    /// Number of consecutive iterations without an improvement that end the run; 0 means never.
    pub no_gain_limit: u32,
}

/// The current iteration, or the last one if none is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CurrentIteration {
    pub number: Iteration,
    #[serde(skip)]
    pub kind: IterationKind,
    pub attempts: u32,
    pub started_at: Timestamp,
}

/// The current activity of a run. It serializes as its name, in the field `what`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Activity {
    /// nightwright prepares the next attempt.
    #[default]
    Starting,
    /// The agent works on the task.
    Working {
        #[serde(skip)]
        attempt: AttemptId,
    },
    /// The run waits for a limit to reset.
    Waiting {
        #[serde(skip)]
        limit: WaitKind,
        /// The time at which the wait ends.
        #[serde(skip)]
        retry_at: Timestamp,
    },
    /// The run waits before the next attempt.
    Retrying {
        /// The time of the next attempt.
        #[serde(skip)]
        at: Timestamp,
        /// Why the previous attempt failed.
        #[serde(skip)]
        why: String,
    },
    /// nightwright evaluates the work: the project, the checks, the changes.
    Checking,
    /// A model call is running.
    Asking {
        #[serde(skip)]
        purpose: CallPurpose,
    },
    /// The operator paused the run, and nothing is running.
    Paused,
    /// One iteration has ended, and the next has not begun.
    Between,
    Ended,
}

/// A completion claim and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateView {
    /// The iteration that made the claim.
    pub iteration: Iteration,
    pub at: Timestamp,
    /// The evidence of the claim.
    pub claim: Vec<EvidenceKind>,
    /// The checks to run; empty if there are none, or before they start.
    pub commands: Vec<String>,
    /// The check results; empty until the checks finish.
    pub checks: Vec<CheckResult>,
    /// Whether the changes were inspected for tampering.
    pub inspected: bool,
    /// The findings of the tamper inspection.
    pub findings: Vec<TamperFinding>,
    /// The changes since the start of the run.
    pub changes: Changes,
    /// The source of the last verdict, if it is a second opinion.
    pub second_opinion: Option<SecondOpinion>,
    /// The verdict of a model, if one was called.
    pub verdict: Option<VerdictKind>,
    /// The model's reason for its verdict.
    pub reason: String,
    /// The missing work, in the model's words.
    pub missing: Vec<String>,
    /// The gate's decision; `None` until it is made.
    pub result: Option<GateResult>,
}

impl GateView {
    /// Returns the first check that did not pass, if any.
    pub fn failed_check(&self) -> Option<&CheckResult> {
        self.checks.iter().find(|check| !check.verdict.is_pass())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalOutcome {
    pub outcome: Outcome,
    /// Additional information about the outcome.
    pub note: Option<String>,
}

impl RunView {
    /// Builds the view of a journal or of its beginning.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut view = Self::default();
        for record in records {
            view.record(record);
        }
        view
    }

    /// Returns an empty view that also keeps the history of the run, for a report.
    pub fn with_history() -> Self {
        Self { history: Some(Box::default()), ..Self::default() }
    }

    /// Returns what is known about a run before its first event.
    pub fn before_start(settings: &Settings) -> Self {
        let mut view = Self::default();
        view.configured(settings, &AgentFacts::default(), "", None);
        view
    }

    /// Whether the run only executes the gate and does not work on the task.
    pub fn is_only_the_gate(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.scope == Scope::Gate)
    }

    /// The gate's result for the claim of this iteration, if any.
    pub fn claim_of(&self, finished: &IterationFinished) -> Option<&GateResult> {
        let gate = self.gate.as_ref().filter(|gate| gate.iteration == finished.iteration)?;
        gate.result.as_ref()
    }

    /// The source of the last verdict, if it is a second opinion.
    pub fn second_opinion(&self) -> Option<SecondOpinion> {
        self.gate.as_ref().and_then(|gate| gate.second_opinion)
    }

    /// Whether this is a rehearsal, so that nothing real is done or spent.
    pub fn is_rehearsal(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.agent.kind() == AgentKind::Rehearsal)
    }

    /// The suffix of its amounts of money; empty unless the run is a rehearsal.
    pub fn rehearsed(&self) -> &'static str {
        if self.is_rehearsal() { REHEARSED } else { "" }
    }

    /// Returns the current activity. A pause shows only after the activity in progress has ended.
    pub fn activity(&self) -> Activity {
        match &self.doing {
            Activity::Starting | Activity::Retrying { .. } | Activity::Between if self.paused => {
                Activity::Paused
            }
            // Running checks finish during a pause. A model call waits until the operator resumes
            // the run.
            Activity::Checking if self.paused && self.running_checks().is_empty() => {
                Activity::Paused
            }
            doing => doing.clone(),
        }
    }

    /// The commands of the running checks.
    pub fn running_checks(&self) -> &[String] {
        match &self.gate {
            Some(gate) if gate.result.is_none() && gate.checks.is_empty() => &gate.commands,
            Some(_) | None => &self.other_checks,
        }
    }

    /// The mean duration of the last five iterations; `None` before there are five.
    pub fn mean_duration(&self) -> Option<Duration> {
        let count = u32::try_from(self.recent.len()).ok()?;
        (self.recent.len() == RECENT).then(|| {
            self.recent.iter().fold(Duration::ZERO, |sum, one| sum.saturating_add(*one)) / count
        })
    }

    /// Updates the view with one event.
    pub fn record(&mut self, record: &Record) {
        let (before, activity) = (self.at, self.activity());
        self.fold(record);
        if self.since.is_none() || self.activity() != activity {
            self.since = Some(record.at);
        }
        if let Some(mut history) = self.history.take() {
            history.record(record, before, self);
            self.history = Some(history);
        }
    }
}
