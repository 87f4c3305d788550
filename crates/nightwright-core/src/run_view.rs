//! What every screen shows of a run: progress lines, terminal UI, web page, `status` and the final
//! summary are all drawn from one fold of its events.
//!
//! Nothing is decided here, and nothing here is asked by what decides. A view of half a journal is
//! right about that half: totals come from the attempts and calls themselves, not from the ending.

mod estimate;
mod liveness;
mod next;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;

use crate::event::{
    AgentFacts, AttemptEvent, CallEvent, CallPurpose, Continuation, CostSource, Event, GateEvent,
    GateResult, IterationEvent, IterationFinished, IterationKind, NoteEvent, OperatorEvent,
    Progress, Record, RunEvent, RunStarted, StopWhen, Totals, VerdictKind, WaitEvent, WaitKind,
};
use crate::input::{Changes, CheckPurpose, CheckResult, TamperFinding, TaskProgress};
use crate::outcome::Outcome;
use crate::permissions::denial::DeniedCommand;
use crate::settings::{EvidenceKind, Limits, Scope, SettingChange};
use crate::stream::report::{AttemptReport, Blocker};
use crate::units::{AttemptId, Iteration, Usd};

pub use estimate::Estimate;
use estimate::FirstProgress;
pub use liveness::{JournalBreak, Liveness};
pub use next::{NextStep, shell_word};
pub use summary::{PurposeSpend, Summary, Verification};

/// The name in the totals of what the agent's attempts cost.
pub const WORK: &str = "work";

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

    /// One arm for each event, however many those are: taken apart, every
    /// part would need an arm for the events of all others.
    fn fold(&mut self, record: &Record) {
        self.at = Some(record.at);
        self.totals.duration = record.active;
        if let Some(doing) = self.activity_after(&record.event) {
            self.doing = doing;
        }
        match &record.event {
            Event::Run(RunEvent::Started(started)) => self.run_started(started, record.at),
            Event::Run(RunEvent::Continued { why }) => self.run_continued(*why),
            Event::Iteration(IterationEvent::Started { iteration, kind, .. }) => {
                let number = *iteration;
                self.iteration = Some(CurrentIteration::new(number, *kind, record.at));
            }
            Event::Attempt(AttemptEvent::Started { .. }) => self.attempt_started(),
            Event::Attempt(AttemptEvent::Finished { cost, figure, report, .. }) => {
                self.charge(WORK, *cost, *figure, report);
            }
            Event::Wait(WaitEvent::Ended { waited, .. }) => {
                self.totals.waited = self.totals.waited.saturating_add(*waited);
            }
            Event::Note(NoteEvent::StatusChanged { progress, .. }) => self.progressed(*progress),
            Event::Note(NoteEvent::BlockerReported { blocker }) => self.blocker_reported(blocker),
            Event::Gate(GateEvent::Started { iteration, claim }) => {
                self.gate = Some(GateView::new(*iteration, claim));
            }
            Event::Gate(GateEvent::ChecksStarted { purpose: CheckPurpose::Baseline, commands }) => {
                self.baseline.clone_from(commands);
            }
            Event::Gate(GateEvent::ChecksFinished { purpose: CheckPurpose::Baseline, .. }) => {
                self.baseline.clear()
            }
            Event::Gate(GateEvent::ChecksStarted { purpose: CheckPurpose::Gate, commands }) => {
                self.at_gate(|gate| gate.commands.clone_from(commands));
            }
            Event::Gate(GateEvent::ChecksFinished {
                purpose: CheckPurpose::Gate, results, ..
            }) => {
                self.at_gate(|gate| gate.checks.clone_from(results));
            }
            Event::Gate(GateEvent::ChangesInspected { findings, changes }) => {
                self.at_gate(|gate| {
                    gate.inspected = true;
                    gate.findings.clone_from(findings);
                    gate.changes.clone_from(changes);
                })
            }
            Event::Gate(GateEvent::VerdictGiven { verdict, reason, missing }) => {
                self.at_gate(|gate| {
                    gate.verdict = Some(*verdict);
                    gate.reason.clone_from(reason);
                    gate.missing.clone_from(missing);
                })
            }
            Event::Gate(GateEvent::Finished { result }) => {
                self.at_gate(|gate| gate.result = Some(result.clone()));
            }
            Event::Call(CallEvent::Finished { purpose, cost, figure, report, .. }) => {
                self.charge(purpose.name(), *cost, *figure, report);
            }
            Event::Operator(OperatorEvent::SettingsChanged { change, .. }) => {
                self.setting_changed(change)
            }
            Event::Iteration(IterationEvent::Finished(finished)) => {
                self.iteration_finished(finished)
            }
            Event::Operator(OperatorEvent::StopRequested { when, .. }) => {
                self.stop = self.stop.max(Some(*when))
            }
            Event::Operator(OperatorEvent::StopCancelled) => self.stop = None,
            Event::Operator(OperatorEvent::Paused) => self.paused = true,
            Event::Operator(OperatorEvent::Resumed) => self.paused = false,
            Event::Attempt(AttemptEvent::PermissionDenied { tool, command, rule, .. }) => {
                self.denied.push(DeniedCommand {
                    tool: tool.clone(),
                    command: command.clone(),
                    rule: rule.clone(),
                });
            }
            Event::Note(NoteEvent::HookFailed { .. }) | Event::Note(NoteEvent::Warning { .. }) => {
                self.warnings = self.warnings.saturating_add(1);
            }
            Event::Run(RunEvent::Finished { outcome, note, .. }) => {
                self.ending = Some(FinalOutcome::new(outcome, note.as_deref()));
            }
            Event::Iteration(IterationEvent::Skipped { .. })
            | Event::Attempt(AttemptEvent::AgentReady { .. })
            | Event::Attempt(AttemptEvent::Cancelled { .. })
            | Event::Call(CallEvent::Cancelled { .. })
            | Event::Wait(WaitEvent::RetryScheduled { .. })
            | Event::Wait(WaitEvent::Started { .. })
            | Event::Wait(WaitEvent::QuotaReported { .. })
            | Event::Attempt(AttemptEvent::WatchdogNoticed { .. })
            | Event::Attempt(AttemptEvent::NudgeSent { .. })
            | Event::Call(CallEvent::Started { .. })
            | Event::Note(NoteEvent::CouncilDecided { .. })
            | Event::Note(NoteEvent::PrinciplesAdopted { .. })
            | Event::Note(NoteEvent::FeedbackAdded { .. }) => {}
        }
    }

    /// What the run does from this event on; `None` if it goes on with what it did.
    fn activity_after(&self, event: &Event) -> Option<Activity> {
        Some(match event {
            Event::Run(RunEvent::Continued { why }) => self.activity_after_continuation(*why)?,
            Event::Run(RunEvent::Started(_))
            | Event::Iteration(IterationEvent::Started { .. })
            | Event::Gate(GateEvent::ChecksFinished { purpose: CheckPurpose::Baseline, .. })
            | Event::Wait(WaitEvent::Ended { .. }) => Activity::Starting,
            Event::Attempt(AttemptEvent::Started { attempt, .. }) => {
                Activity::Working { attempt: *attempt }
            }
            Event::Wait(WaitEvent::RetryScheduled { at_time: at, why }) => {
                Activity::Retrying { at: *at, why: why.clone() }
            }
            Event::Wait(WaitEvent::Started { limit, retry_at, .. }) => {
                Activity::Waiting { limit: *limit, retry_at: *retry_at }
            }
            Event::Call(CallEvent::Started { purpose, .. }) => {
                Activity::Asking { purpose: *purpose }
            }
            Event::Attempt(AttemptEvent::Finished { .. })
            | Event::Call(CallEvent::Finished { .. })
            | Event::Gate(GateEvent::Started { .. })
            | Event::Gate(GateEvent::ChecksStarted { .. }) => Activity::Checking,
            Event::Iteration(IterationEvent::Skipped { .. })
            | Event::Iteration(IterationEvent::Finished(_)) => Activity::Between,
            Event::Run(RunEvent::Finished { .. }) => Activity::Ended,
            Event::Attempt(AttemptEvent::AgentReady { .. })
            | Event::Attempt(AttemptEvent::Cancelled { .. })
            | Event::Call(CallEvent::Cancelled { .. })
            | Event::Wait(WaitEvent::QuotaReported { .. })
            | Event::Note(NoteEvent::StatusChanged { .. })
            | Event::Note(NoteEvent::BlockerReported { .. })
            | Event::Attempt(AttemptEvent::WatchdogNoticed { .. })
            | Event::Attempt(AttemptEvent::NudgeSent { .. })
            | Event::Attempt(AttemptEvent::PermissionDenied { .. })
            | Event::Gate(GateEvent::ChecksFinished { purpose: CheckPurpose::Gate, .. })
            | Event::Gate(GateEvent::ChangesInspected { .. })
            | Event::Gate(GateEvent::VerdictGiven { .. })
            | Event::Gate(GateEvent::Finished { .. })
            | Event::Note(NoteEvent::CouncilDecided { .. })
            | Event::Note(NoteEvent::PrinciplesAdopted { .. })
            | Event::Note(NoteEvent::FeedbackAdded { .. })
            | Event::Operator(OperatorEvent::SettingsChanged { .. })
            | Event::Operator(OperatorEvent::StopRequested { .. })
            | Event::Operator(OperatorEvent::StopCancelled)
            | Event::Operator(OperatorEvent::Paused)
            | Event::Operator(OperatorEvent::Resumed)
            | Event::Note(NoteEvent::HookFailed { .. })
            | Event::Note(NoteEvent::Warning { .. }) => return None,
        })
    }

    /// What was going on in an earlier process is over; what it waited for is waited for still.
    fn activity_after_continuation(&self, why: Continuation) -> Option<Activity> {
        match (why, &self.doing) {
            (Continuation::AfterEnd, _) => Some(Activity::Between),
            (Continuation::AfterCrash, Activity::Waiting { .. } | Activity::Retrying { .. }) => {
                None
            }
            (Continuation::AfterCrash, _) => Some(Activity::Starting),
        }
    }

    fn progressed(&mut self, progress: Option<TaskProgress>) {
        let Some(progress) = progress else { return };
        let beginning =
            FirstProgress { completed: progress.completed, iterations: self.totals.iterations };
        self.beginning.get_or_insert(beginning);
        self.progress = Some(progress);
    }

    fn attempt_started(&mut self) {
        self.totals.attempts = self.totals.attempts.saturating_add(1);
        if let Some(current) = &mut self.iteration {
            current.attempts = current.attempts.saturating_add(1);
        }
    }

    fn blocker_reported(&mut self, blocker: &Blocker) {
        if self.blockers.len() < MAX_BLOCKERS {
            self.blockers.push(blocker.clone());
        } else {
            self.more_blockers = self.more_blockers.saturating_add(1);
        }
    }

    fn run_started(&mut self, started: &RunStarted, at: Timestamp) {
        let RunStarted { settings, agent, project, .. } = started;
        self.started_at = Some(at);
        self.limits = settings.limits.clone();
        self.allowed.clone_from(&settings.agent.allowed_tools);
        self.facts = Some(RunFacts {
            task: settings.task.clone(),
            scope: settings.scope,
            mode: settings.mode.clone(),
            goal: settings.goal.trim().lines().next().unwrap_or_default().to_owned(),
            agent: agent.clone(),
            agent_command: settings.agent.command.clone(),
            notes_file: settings.notes_file.clone(),
            list_file: settings.files.list.clone(),
            project: project.clone(),
            idle_limit: settings.progress.threshold,
        });
    }

    /// What an earlier process had only half done is done anew.
    fn run_continued(&mut self, why: Continuation) {
        self.stop = None;
        self.baseline.clear();
        if self.gate.as_ref().is_some_and(|gate| gate.result.is_none()) {
            self.gate = None;
        }
        match why {
            Continuation::AfterCrash => {}
            Continuation::AfterEnd => {
                self.ending = None;
                self.idle = 0;
                // Those that still hold are reported again.
                self.blockers.clear();
                self.more_blockers = 0;
            }
        }
    }

    fn setting_changed(&mut self, change: &SettingChange) {
        self.limits = change.limits(&self.limits);
        if let SettingChange::AllowedTools { new, .. } = change {
            self.allowed.clone_from(new);
            self.denied.retain(|refused| {
                let rule = refused.rule.as_ref();
                !rule.is_some_and(|rule| new.contains(rule))
            });
        }
    }

    fn at_gate(&mut self, change: impl FnOnce(&mut GateView)) {
        if let Some(gate) = &mut self.gate {
            change(gate);
        }
    }

    fn iteration_finished(&mut self, finished: &IterationFinished) {
        use crate::event::IterationResult::{Done, Failed, Interrupted};
        if finished.iteration.0 > 0 {
            self.totals.iterations = self.totals.iterations.saturating_add(1);
        }
        self.totals.commits = self.totals.commits.saturating_add(finished.commits);
        match &finished.changes {
            Some(changes) => {
                self.files_changed = changes.files;
                self.changes = Some(changes.clone());
            }
            None => {
                self.files_changed = self.files_changed.saturating_add(finished.files_changed);
            }
        }
        self.progressed(finished.task);
        match finished.result {
            Done => {
                self.recent.push_back(finished.duration);
                while self.recent.len() > RECENT {
                    self.recent.pop_front();
                }
                match finished.progress {
                    Progress::Work => self.idle = 0,
                    Progress::Idle if finished.blockers.is_empty() => {
                        self.idle = self.idle.saturating_add(1);
                    }
                    Progress::Idle | Progress::Excused | Progress::Uncounted => {}
                }
            }
            Failed { .. } | Interrupted => {}
        }
        self.last = Some(finished.clone());
    }

    fn charge(&mut self, purpose: &str, cost: Usd, figure: CostSource, report: &AttemptReport) {
        self.totals.cost += cost;
        match figure {
            CostSource::Reported => {}
            CostSource::Estimated => self.totals.estimated += cost,
        }
        self.totals.tokens += report.tokens;
        let spend = self.totals.by_purpose.entry(purpose.to_owned()).or_default();
        spend.count = spend.count.saturating_add(1);
        spend.cost += cost;
        spend.tokens += report.tokens;
    }
}
