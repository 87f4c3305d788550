//! The state of a run as plain data. It is readable everywhere; only the [ledger](super::ledger)
//! changes it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use crate::baseline::{self, BaselineStatus};
use crate::event::{
    CallPurpose, FeedbackSource, GateResult, IterationFinished, IterationKind, StatusFacts,
    StopSource, StopWhen, Totals, VerdictKind, WaitKind,
};
use crate::failing::Change;
use crate::input::{CheckResult, Checklist, TamperFinding, WorkspaceMark};
use crate::outcome::{Outcome, Unchecked};
use crate::permissions::denial::DeniedCommand;
use crate::policy::check_history::CheckHistory;
use crate::policy::gains::UnclaimedGates;
use crate::policy::limits::Consumed;
use crate::policy::progress::SeenStates;
use crate::policy::unearned_checkboxes::UnearnedCheckboxes;
use crate::policy::waiting::WaitStreak;
use crate::prompt::{Decision, EarlierIteration};
use crate::settings::{EvidenceKind, Settings, VerdictMode};
use crate::stream::dialect::{Dialect, InputShape};
use crate::stream::news::{AttemptReport, Blocker, QuotaNews, QuotaWindow, WatchdogFinding};
use crate::units::{AttemptId, CallId, Fingerprint, Iteration, Usd};

/// The sources of the pending stop requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopRequests {
    /// A person, with a request that is not cancelled.
    pub by_person: bool,
    /// The system, when it shuts down.
    pub by_system: bool,
}

impl StopRequests {
    pub fn add(&mut self, by: StopSource) {
        match by {
            StopSource::Terminate => self.by_system = true,
            StopSource::Signal
            | StopSource::TerminalClosed
            | StopSource::Operator
            | StopSource::StopFile
            | StopSource::Key => self.by_person = true,
        }
    }
}

/// The state of a run, folded from its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The settings of the run, with the current limits.
    pub settings: Settings,
    /// The output dialect of the run's agent.
    pub dialect: Dialect,
    /// The seed of all random decisions.
    pub seed: u64,
    /// The active time of the run so far.
    pub active: Duration,
    /// The current phase of the run.
    pub phase: Phase,
    /// The limit that the run is waiting for.
    pub wait: Option<Wait>,
    /// Consecutive waits without an answer from the provider.
    pub wait_streak: WaitStreak,
    /// The requested stop, if any.
    pub stop: Option<StopWhen>,
    /// The source of the last stop request.
    pub stopped_by: Option<StopSource>,
    /// The sources of the stop requests to the current process.
    pub stop_requests: StopRequests,
    /// Whether the operator wants nothing new to start.
    pub paused: bool,
    /// The ID of the last attempt started.
    pub last_attempt: AttemptId,
    /// The ID of the last call started.
    pub last_call: CallId,
    /// The sums of cost, tokens and counters.
    pub totals: Totals,
    /// Counters of consecutive events of the same kind.
    pub streaks: Streaks,
    /// The limit that caused the wrap-up iteration.
    pub wrap_up: Option<Outcome>,
    /// The states of the project seen so far.
    pub seen: SeenStates,
    /// The project as it was at the start of the run.
    pub origin: Option<WorkspaceMark>,
    /// Files written by checks; changes to them are not work.
    pub outputs: BTreeSet<String>,
    /// The results of the checks so far.
    pub checks: CheckHistory,
    /// The active time at which the running checks began.
    pub checks_began: Option<Duration>,
    /// The number of claims that the gate has rejected.
    pub rejected_claims: u32,
    /// The gates that ran because all checks passed.
    pub unclaimed_gates: UnclaimedGates,
    /// The reports of impossibility that were judged.
    pub judged_impossible: BTreeSet<String>,
    /// The number of runs of the checks that met each obstacle, by its key.
    pub obstacles: BTreeMap<String, u32>,
    /// The number of iterations in which each command was denied.
    pub denied_in: BTreeMap<DeniedCommand, u32>,
    /// The last few iterations, oldest first.
    pub recent: VecDeque<EarlierIteration>,
    /// Boxes that were checked without any other change.
    pub unearned_checkboxes: UnearnedCheckboxes,
    /// How often the account lacked the model of a verifier.
    pub missing_verifiers: u32,
    /// The status last reported, or the status before the run.
    pub status: Option<StatusFacts>,
    /// Denied commands that were already reported.
    pub denied: BTreeSet<DeniedCommand>,
    /// The keys of blockers that were already reported.
    pub reported_blockers: BTreeSet<String>,
    /// The number of iterations since the last progress in which each problem was noticed.
    pub problems: BTreeMap<String, u32>,
    /// Conflicts between principles that were decided, oldest first.
    pub decisions: Vec<Decision>,
    /// The error of the last review that failed.
    pub review_error: String,
    /// Feedback for the next iteration.
    pub inbox: Vec<InboxEntry>,
    /// Whether the last prompt was too long.
    pub shorten: bool,
    /// The account's quotas as last reported.
    pub quotas: BTreeMap<QuotaWindow, QuotaNews>,
    /// The results of the checks before the first iteration, if they ran.
    pub baseline: Option<Vec<CheckResult>>,
    /// The last iteration that was recorded.
    pub last: Option<LastIteration>,
    /// The number of iterations that ended without an error.
    pub succeeded: u32,
}

/// The position of a run in its lifecycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The run has no events yet.
    #[default]
    New,
    /// Nothing is running; the next iteration may begin.
    Ready,
    /// An iteration is in progress.
    Iterating(Box<Current>),
    /// An iteration has ended, and its consequences are not decided yet.
    Concluding,
    /// The run has ended with this outcome.
    Ended(Outcome),
}

/// The state of the iteration in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    pub iteration: Iteration,
    pub kind: IterationKind,
    /// The project at the start of the iteration.
    pub start: WorkspaceMark,
    /// The boxes of the checklist at the start of the iteration.
    pub checklist: Option<Checklist>,
    /// The cost of the run at the start of the iteration.
    pub cost_before: Usd,
    /// The active time of the run at the start of the iteration.
    pub active_before: Duration,
    pub stage: Stage,
    /// The number of attempts started so far.
    pub attempts: u32,
    /// The number of retries used so far.
    pub retries: u32,
    /// Consecutive attempts that claimed success without any sign of work.
    pub suspects: u32,
    /// The report of the last attempt.
    pub report: Option<AttemptReport>,
    /// Whether tools of any of its attempts wrote or edited files that count as work; `None` if
    /// unknown.
    pub edited: Option<bool>,
    /// The commands that were denied in any of its attempts.
    pub denied: BTreeSet<DeniedCommand>,
    /// The blockers that any of its attempts reported, without duplicates.
    pub blockers: Vec<Blocker>,
    /// The findings of the watchdog, and whether each was answered in the session.
    pub findings: Vec<(WatchdogFinding, Answered)>,
    /// The messages sent into the session of its last attempt.
    pub nudges: Vec<Nudge>,
    /// The call in progress, if any.
    pub call: Option<OpenCall>,
    /// A call that has ended and whose answer is not processed yet.
    pub unconcluded: Option<(CallPurpose, Box<AttemptReport>)>,
    /// Optional calls that finished or were lost; none is repeated.
    pub calls_done: BTreeSet<CallPurpose>,
    /// The report of the last verifier.
    pub verifier: Option<AttemptReport>,
    /// Whether the checks ran after its work.
    pub checked: bool,
    /// Whether they are better than all before, if they had results.
    pub change: Option<Change>,
    /// The gate in progress, if any.
    pub gate: Option<Gate>,
}

impl Current {
    pub(super) fn new(
        iteration: Iteration,
        kind: IterationKind,
        start: WorkspaceMark,
        checklist: Option<Checklist>,
        state: &State,
    ) -> Self {
        Self {
            iteration,
            kind,
            start,
            checklist,
            cost_before: state.totals.cost,
            active_before: state.active,
            stage: Stage::Begun,
            attempts: 0,
            retries: 0,
            suspects: 0,
            report: None,
            edited: Some(false),
            denied: BTreeSet::new(),
            blockers: Vec::new(),
            findings: Vec::new(),
            nudges: Vec::new(),
            call: None,
            unconcluded: None,
            calls_done: BTreeSet::new(),
            verifier: None,
            checked: false,
            change: None,
            gate: None,
        }
    }

    /// Returns the messages to the last session that it did not acknowledge: all after the first
    /// `acknowledged` ones.
    pub(super) fn unacknowledged(&self, acknowledged: Option<u32>) -> &[Nudge] {
        let acknowledged =
            acknowledged.map_or(self.nudges.len(), |acknowledged| acknowledged as usize);
        self.nudges.get(acknowledged..).unwrap_or_default()
    }

    /// Records whether the finding with this key was answered in the session.
    pub(super) fn mark(&mut self, key: &str, now: Answered) {
        for (finding, answered) in &mut self.findings {
            if finding.key == key && *answered != Answered::Superseded {
                *answered = now;
            }
        }
    }
}

/// A message sent into a running session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nudge {
    /// The key of the finding that it answers; `None` for a message from a person.
    pub answers: Option<String>,
    pub text: String,
}

/// Whether a finding was answered in the running session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// A message was sent into the session.
    Live,
    /// No message was sent yet.
    No,
    /// An answer is no longer needed because another attempt has begun.
    Superseded,
}

/// The position of an iteration in its lifecycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The next attempt may start.
    Begun,
    /// An attempt is in progress.
    Attempting {
        attempt: AttemptId,
        /// The cost cap of the attempt.
        cap: Option<Usd>,
    },
    /// An attempt has ended, and its consequences are not decided yet.
    Attempted,
    /// The next attempt is delayed.
    Retrying {
        /// The earliest time of the next attempt.
        at: Timestamp,
    },
}

/// A call that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCall {
    pub call: CallId,
    pub purpose: CallPurpose,
    /// The cost cap of the call.
    pub cap: Option<Usd>,
}

/// The gate: a claim that is being verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The evidence that claims completion.
    pub claim: Vec<EvidenceKind>,
    /// The results of the checks, and the project after them.
    pub checks: Option<(Vec<CheckResult>, Fingerprint)>,
    /// Changes that look like tampering; `None` before the inspection.
    pub findings: Option<Vec<TamperFinding>>,
    /// The number of finished verifier calls.
    pub verdict_calls: u32,
    /// The answer of the verifier, if any.
    pub verdict: Option<VerdictKind>,
    /// The number of verifiers that said yes.
    pub agreed: u32,
    /// The decision of the gate, once it is made.
    pub result: Option<GateResult>,
}

impl Gate {
    /// Whether the agent claims completion or the operator requested verification.
    pub fn is_claim(&self) -> bool {
        self.claim.iter().any(|kind| kind.is_claim())
    }

    /// Whether the agent reports that the task is impossible.
    pub fn is_about_impossibility(&self) -> bool {
        self.claim == [EvidenceKind::Impossible]
    }
}

/// A limit that the run is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub kind: WaitKind,
    /// The time of the next retry.
    pub retry_at: Timestamp,
    /// The planned duration of the wait.
    pub planned: Duration,
}

/// Counters of consecutive events of the same kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streaks {
    pub errors: u32,
    pub review_errors: u32,
    /// Rejected claims since the last iteration without a claim, or since the last one in which
    /// less failed or fewer items were open than ever before.
    pub rejections: u32,
    /// Gates that ended without a decision.
    pub inconclusive: u32,
    /// Iterations without progress, not counting those that reported a blocker.
    pub idle: u32,
    /// Iterations without work that the agent gave a reason for.
    pub work_reported: u32,
    /// Idle iterations that reported a blocker.
    pub blocked: u32,
    /// Iterations that gave the completion signal.
    pub signals: u32,
    /// Iterations skipped by a hook.
    pub skips: u32,
    /// Iterations after which all checks passed and the same items were open as before.
    pub passing: u32,
}

/// Feedback for the next iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxEntry {
    pub source: FeedbackSource,
    pub text: String,
    /// The iteration that receives it. The entry is removed when that iteration is recorded.
    pub given_to: Option<Iteration>,
}

/// The last iteration that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastIteration {
    /// The recorded event of the iteration.
    pub finished: IterationFinished,
    /// The result of its gate, if there was one.
    pub gate: Option<GateResult>,
    /// The results of the checks of that gate.
    pub checks: Vec<CheckResult>,
    /// Why it counts as failed, if it does. Includes retries that a limit prevented.
    pub failure: Option<String>,
}

impl State {
    /// Returns the usage that counts against the limits.
    pub fn used(&self) -> Consumed {
        Consumed {
            iterations: self.totals.iterations,
            cost: self.totals.cost,
            tokens: self.totals.tokens.counted(),
            active: self.active,
        }
    }

    /// Returns why passing checks cannot show that the work is done; `None` if they can.
    pub fn unchecked(&self) -> Option<Unchecked> {
        let commands = &self.settings.verify.commands;
        if commands.is_empty() {
            let plans = self.settings.is_about_a_plan();
            return Some(if plans { Unchecked::Plan } else { Unchecked::NoChecks });
        }
        self.baseline.as_ref()?;
        let standings: Vec<_> =
            commands.iter().map(|command| self.status_before(command)).collect();
        if standings.contains(&BaselineStatus::Fails) {
            None
        } else if standings.contains(&BaselineStatus::Unknown) {
            Some(Unchecked::UnknownBefore)
        } else {
            Some(Unchecked::PassedBefore)
        }
    }

    /// Returns whether a check passes now that failed before the first iteration. If that is unknown,
    /// a model has to judge it.
    pub fn shows_work(&self, results: &[CheckResult]) -> bool {
        let mut passing = results.iter().filter(|result| result.verdict.is_pass());
        passing.any(|result| match self.status_before(&result.command) {
            BaselineStatus::Fails => true,
            BaselineStatus::Unknown => self.settings.verify.model != VerdictMode::Off,
            BaselineStatus::Passes => false,
        })
    }

    /// Returns the state of a check before the first iteration. A check that the operator added
    /// later has none, and that of a flaky check says nothing.
    fn status_before(&self, command: &str) -> BaselineStatus {
        let before = self.baseline_of(command).map_or(BaselineStatus::Unknown, baseline::status);
        match before {
            BaselineStatus::Fails if self.checks.flaky.contains(command) => BaselineStatus::Unknown,
            known => known,
        }
    }

    /// Returns the result of a check before the first iteration.
    pub fn baseline_of(&self, command: &str) -> Option<&CheckResult> {
        self.baseline.iter().flatten().find(|result| result.command == command)
    }

    /// Returns whether messages can follow the prompt of an attempt.
    pub fn input(&self) -> InputShape {
        self.dialect.input(self.settings.extras.watchdog)
    }

    /// Returns the iteration in progress, if any.
    pub fn current(&self) -> Option<&Current> {
        match &self.phase {
            Phase::Iterating(current) => Some(current),
            Phase::New | Phase::Ready | Phase::Concluding | Phase::Ended(_) => None,
        }
    }

    /// Returns the outcome of the run, once it has ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Ended(outcome) => Some(outcome),
            Phase::New | Phase::Ready | Phase::Iterating(_) | Phase::Concluding => None,
        }
    }
}
