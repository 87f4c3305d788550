//! What every screen shows of a run: progress lines, terminal UI, web page, `status` and the final
//! summary are all drawn from one fold of its events.
//!
//! Nothing is decided here, and nothing here is asked by what decides. A view of half a journal is
//! right about that half: totals come from the attempts and calls themselves, not from the ending.

mod estimate;
mod fold;
mod liveness;
mod next;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;

use crate::event::{
    AgentFacts, CallPurpose, GateResult, IterationFinished, IterationKind, Record, StopWhen,
    Totals, VerdictKind, WaitKind,
};
use crate::input::{Changes, CheckResult, TamperFinding, TaskProgress};
use crate::outcome::Outcome;
use crate::permissions::denial::DeniedCommand;
use crate::settings::{EvidenceKind, Limits, Scope};
use crate::stream::report::Blocker;
use crate::units::{AttemptId, Iteration};

pub use estimate::Estimate;
use estimate::FirstProgress;
pub use liveness::{JournalBreak, Liveness};
pub use next::{NextStep, shell_word};
pub use summary::{PurposeSpend, Summary, Verification};

/// What the agent of a rehearsal is called in journals.
pub const REHEARSAL: &str = "rehearsal";
/// What stands behind an amount of money that nobody spent.
pub const REHEARSED: &str = " (rehearsed)";

/// How many iterations the mean duration is taken of.
const RECENT: usize = 5;

/// How many blockers are kept; each is told once a run, and nobody reads more.
const MAX_BLOCKERS: usize = 100;

/// What the events of a run add up to, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunView {
    /// What the run was told; `None` before its first event.
    pub facts: Option<RunFacts>,
    /// How far it may go, as it is now.
    pub limits: Limits,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When the last event happened.
    pub at: Option<Timestamp>,
    /// The last iteration begun.
    pub iteration: Option<CurrentIteration>,
    /// How the last iteration ended.
    pub last: Option<IterationFinished>,
    /// How long the last few iterations took, the newest last; those that failed or were
    /// interrupted tell nothing about the next and are left out.
    pub recent: VecDeque<Duration>,
    /// What the run has come to.
    pub totals: Totals,
    /// Files that the run changed, each counted once. Where nobody compared them with the start of
    /// the run, the sum over its iterations.
    pub files_changed: u32,
    /// Those files with their lines, as far as they are listed.
    pub changes: Option<Changes>,
    /// How far the task is, by its own account.
    pub progress: Option<TaskProgress>,
    /// Idle iterations in a row.
    pub idle: u32,
    /// How many warnings there were, failed hooks included.
    pub warnings: u32,
    /// Whether the run was asked to stop.
    pub stop: Option<StopWhen>,
    /// Whether the operator wants nothing new to start.
    pub paused: bool,
    /// What the agent was not allowed to do.
    pub denied: Vec<DeniedCommand>,
    /// The tools that the agent may use, besides those of its level.
    allowed: Vec<String>,
    /// What only a person can give, as reported so far.
    pub blockers: Vec<Blocker>,
    /// How many there were beyond those.
    pub more_blockers: u32,
    /// The checks that are running before the first iteration.
    baseline: Vec<String>,
    /// The last claim and what became of it.
    pub gate: Option<GateView>,
    /// How the run ended.
    pub ending: Option<FinalOutcome>,
    /// Since when it does what it does.
    pub since: Option<Timestamp>,
    doing: Activity,
    beginning: Option<FirstProgress>,
}

/// What the run was told, as far as people want to see it all the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The task's name, if it has one.
    pub task: Option<String>,
    /// How much of a run it is.
    pub scope: Scope,
    /// The mode's name.
    pub mode: String,
    /// The first line of what is to be done.
    pub goal: String,
    /// The agent program.
    pub agent: AgentFacts,
    /// The user's command line that stands in for the usual agent program.
    pub agent_command: Option<String>,
    /// The file in which iterations hand over to each other.
    pub notes_file: Option<String>,
    /// The plan or TODO of the run.
    pub list_file: Option<String>,
    /// The project folder.
    pub project: String,
    /// Idle iterations in a row that end the run; 0 = never.
    pub idle_limit: u32,
}

/// The iteration that is going on, or was the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentIteration {
    /// Its number.
    pub number: Iteration,
    /// Why it runs.
    pub kind: IterationKind,
    /// Attempts so far.
    pub attempts: u32,
    /// When it began.
    pub started_at: Timestamp,
}

impl CurrentIteration {
    fn new(number: Iteration, kind: IterationKind, started_at: Timestamp) -> Self {
        Self { number, kind, attempts: 0, started_at }
    }
}

/// What the run is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// The next attempt is being prepared.
    #[default]
    Starting,
    /// The agent works.
    Working {
        /// In this attempt.
        attempt: AttemptId,
    },
    /// A limit is waited out.
    Waiting {
        /// Which.
        limit: WaitKind,
        /// Until then.
        retry_at: Timestamp,
    },
    /// Another attempt is put off.
    Retrying {
        /// Until then.
        at: Timestamp,
        /// What went wrong.
        why: String,
    },
    /// What was done is looked at: the project, the checks, the changes.
    Checking,
    /// A model is asked.
    Asking {
        /// What for.
        purpose: CallPurpose,
    },
    /// The operator wants nothing new to start, and nothing is going on.
    Paused,
    /// One iteration is over, and the next has not begun.
    Between,
    /// The run is over.
    Ended,
}

/// A claim of completion and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateView {
    /// In this iteration.
    pub iteration: Iteration,
    /// What claims.
    pub claim: Vec<EvidenceKind>,
    /// The checks that were to be run; none if there are none, or not yet.
    pub commands: Vec<String>,
    /// What they came to, once they are done.
    pub checks: Vec<CheckResult>,
    /// Whether the changes were looked at.
    pub inspected: bool,
    /// What looks like tampering.
    pub findings: Vec<TamperFinding>,
    /// What changed since the run began.
    pub changes: Changes,
    /// What a model said, if one was asked.
    pub verdict: Option<VerdictKind>,
    /// What it decided by, in its words.
    pub reason: String,
    /// What is missing, in the model's words.
    pub missing: Vec<String>,
    /// What it came to, once it has.
    pub result: Option<GateResult>,
}

impl GateView {
    fn new(iteration: Iteration, claim: &[EvidenceKind]) -> Self {
        Self {
            iteration,
            claim: claim.to_vec(),
            commands: Vec::new(),
            checks: Vec::new(),
            inspected: false,
            findings: Vec::new(),
            changes: Changes::default(),
            verdict: None,
            reason: String::new(),
            missing: Vec::new(),
            result: None,
        }
    }

    /// The check that was not passed, if any.
    pub fn failed_check(&self) -> Option<&CheckResult> {
        self.checks.iter().find(|check| !check.verdict.is_pass())
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalOutcome {
    /// Why.
    pub outcome: Outcome,
    /// What else there is to say.
    pub note: Option<String>,
}

impl FinalOutcome {
    fn new(outcome: &Outcome, note: Option<&str>) -> Self {
        Self { outcome: outcome.clone(), note: note.map(str::to_owned) }
    }
}

impl RunView {
    /// The view of a journal, or of the beginning of one.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut view = Self::default();
        for record in records {
            view.record(record);
        }
        view
    }

    /// Whether it is no work on a task but only the gate, by hand.
    pub fn is_only_the_gate(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.scope == Scope::Gate)
    }

    /// Whether the agent is a script: nothing real is done, and nothing is spent.
    pub fn is_rehearsal(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.agent.name == REHEARSAL)
    }

    /// What stands behind its amounts of money.
    pub fn rehearsed(&self) -> &'static str {
        if self.is_rehearsal() { REHEARSED } else { "" }
    }

    /// What the run is doing. A pause shows once what was going on has come to its end.
    pub fn activity(&self) -> Activity {
        match &self.doing {
            Activity::Starting | Activity::Retrying { .. } | Activity::Between if self.paused => {
                Activity::Paused
            }
            // Checks go to their end; the model is not asked before somebody says so.
            Activity::Checking if self.paused && self.running_checks().is_empty() => {
                Activity::Paused
            }
            doing => doing.clone(),
        }
    }

    /// The checks that are running.
    pub fn running_checks(&self) -> &[String] {
        match &self.gate {
            Some(gate) if gate.result.is_none() && gate.checks.is_empty() => &gate.commands,
            Some(_) | None => &self.baseline,
        }
    }

    /// The mean duration of the last five iterations, once there are five.
    pub fn mean_duration(&self) -> Option<Duration> {
        let count = u32::try_from(self.recent.len()).ok()?;
        (self.recent.len() == RECENT).then(|| {
            self.recent.iter().fold(Duration::ZERO, |sum, one| sum.saturating_add(*one)) / count
        })
    }

    /// Takes one event into account.
    pub fn record(&mut self, record: &Record) {
        let before = self.activity();
        self.fold(record);
        if self.since.is_none() || self.activity() != before {
            self.since = Some(record.at);
        }
    }
}
