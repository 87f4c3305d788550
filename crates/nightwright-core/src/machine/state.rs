//! What the events of a run add up to: plain data, read by everybody, changed by none but the
//! [ledger](super::ledger).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::baseline::{self, BaselineStatus};
use crate::event::{
    CallPurpose, FeedbackSource, GateResult, IterationFinished, IterationKind, StatusFacts,
    StopSource, StopWhen, Totals, VerdictKind, WaitKind,
};
use crate::input::{CheckResult, Checklist, TamperFinding, WorkspaceMark};
use crate::outcome::{Outcome, Unchecked};
use crate::permissions::denial::DeniedCommand;
use crate::policy::limits::Consumed;
use crate::policy::progress::SeenStates;
use crate::policy::unearned_checkboxes::UnearnedCheckboxes;
use crate::policy::waiting::WaitStreak;
use crate::prompt::Decision;
use crate::settings::{EvidenceKind, Settings};
use crate::stream::dialect::{Dialect, InputShape};
use crate::stream::report::{AttemptReport, Blocker, QuotaNews, QuotaWindow, WatchdogFinding};
use crate::units::{AttemptId, CallId, Fingerprint, Iteration, Usd};

/// Who has asked a process to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopRequests {
    /// A person, and has not withdrawn it.
    pub by_person: bool,
    /// The system, when it shuts down.
    pub by_system: bool,
}

impl StopRequests {
    /// Adds a request.
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

/// What the events of a run add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// What the run was told; the limits as they are now.
    pub settings: Settings,
    /// The language of its agent.
    pub dialect: Dialect,
    /// The source of all chance.
    pub seed: u64,
    /// Time at work so far.
    pub active: Duration,
    /// Where the run is.
    pub phase: Phase,
    /// The limit that is being waited for.
    pub wait: Option<Wait>,
    /// Waits in a row without an answer from the provider.
    pub wait_streak: WaitStreak,
    /// Whether the run was asked to stop.
    pub stop: Option<StopWhen>,
    /// Who asked for the last stop.
    pub stopped_by: Option<StopSource>,
    /// Who has asked the current process to stop.
    pub stop_requests: StopRequests,
    /// Whether the operator wants nothing new to start.
    pub paused: bool,
    /// The last attempt started.
    pub last_attempt: AttemptId,
    /// The last call started.
    pub last_call: CallId,
    /// What the run has come to.
    pub totals: Totals,
    /// Things that happened several times in a row.
    pub streaks: Streaks,
    /// The limit for whose sake the wrap-up iteration was begun.
    pub wrap_up: Option<Outcome>,
    /// States of the project seen so far.
    pub seen: SeenStates,
    /// The project as it was at the start of the run.
    pub origin: Option<WorkspaceMark>,
    /// Files that checks wrote: they are not work.
    pub outputs: BTreeSet<String>,
    /// How often the same checks failed in the same way on the same tree.
    pub failures: BTreeMap<String, u32>,
    /// Boxes that were ticked without anything to show for it.
    pub unearned_checkboxes: UnearnedCheckboxes,
    /// How often the account had not the model that a verifier was to be.
    pub missing_verifiers: u32,
    /// What was told of the status file last, or what it said before the run.
    pub status: Option<StatusFacts>,
    /// What was refused and told already.
    pub denied: BTreeSet<DeniedCommand>,
    /// Blockers told already.
    pub reported_blockers: BTreeSet<String>,
    /// In how many iterations each problem was noticed since the last progress.
    pub problems: BTreeMap<String, u32>,
    /// Conflicts of principles that were decided, oldest first.
    pub decisions: Vec<Decision>,
    /// What was wrong with the last review that failed.
    pub review_error: String,
    /// Words for the next iteration.
    pub inbox: Vec<InboxEntry>,
    /// Whether the last prompt was too long.
    pub shorten: bool,
    /// The account's quotas as last reported.
    pub quotas: BTreeMap<QuotaWindow, QuotaNews>,
    /// What the checks came to before the first iteration, if they were run then.
    pub baseline: Option<Vec<CheckResult>>,
    /// How the last iteration went.
    pub last: Option<LastIteration>,
    /// Iterations that came to their end.
    pub succeeded: u32,
}

/// Where a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has happened yet.
    #[default]
    New,
    /// Nothing is going on; the next iteration may begin.
    Ready,
    /// An iteration is going on.
    Iterating(Box<Current>),
    /// An iteration is over, and what follows from it is to be decided.
    Concluding,
    /// The run is over.
    Ended(Outcome),
}

/// The iteration that is going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// Its number.
    pub iteration: Iteration,
    /// Why it runs.
    pub kind: IterationKind,
    /// The project as it was.
    pub start: WorkspaceMark,
    /// The boxes of the list as they were.
    pub checklist: Option<Checklist>,
    /// What the run had cost when it began.
    pub cost_before: Usd,
    /// Time at work when it began.
    pub active_before: Duration,
    /// How far it is.
    pub stage: Stage,
    /// Attempts so far.
    pub attempts: u32,
    /// Retries used up.
    pub retries: u32,
    /// Attempts in a row that claimed success without any sign of work.
    pub suspects: u32,
    /// What the last attempt left.
    pub report: Option<AttemptReport>,
    /// Whether tools of any of its attempts wrote or edited files that count as work; `None` = not
    /// known.
    pub edited: Option<bool>,
    /// What was refused in any of its attempts.
    pub denied: BTreeSet<DeniedCommand>,
    /// What any of its attempts said it can't go on without, each once.
    pub blockers: Vec<Blocker>,
    /// What the watchdog noticed, and whether it was answered in the session.
    pub findings: Vec<(WatchdogFinding, Answered)>,
    /// What was said into the session of its last attempt.
    pub nudges: Vec<Nudge>,
    /// The call that is going on.
    pub call: Option<OpenCall>,
    /// A call that is over and whose answer has not been taken yet.
    pub unconcluded: Option<(CallPurpose, Box<AttemptReport>)>,
    /// Further calls made to their end, or lost: none is made twice.
    pub calls_done: BTreeSet<CallPurpose>,
    /// What the last verifier said.
    pub verifier: Option<AttemptReport>,
    /// The gate.
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
            gate: None,
        }
    }

    /// What was said into the last session beyond so many messages that it took up.
    pub(super) fn unacknowledged(&self, heard: Option<u32>) -> &[Nudge] {
        let heard = heard.map_or(self.nudges.len(), |heard| heard as usize);
        self.nudges.get(heard..).unwrap_or_default()
    }

    /// Notes whether what has this key was answered in the session.
    pub(super) fn mark(&mut self, key: &str, now: Answered) {
        for (finding, answered) in &mut self.findings {
            if finding.key == key && *answered != Answered::Over {
                *answered = now;
            }
        }
    }
}

/// Something that was said into a running session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nudge {
    /// The key of what it answers; `None` when a person spoke.
    pub answers: Option<String>,
    /// What was said.
    pub text: String,
}

/// Whether something noticed was answered in the running session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It was.
    Live,
    /// Not yet.
    No,
    /// It need not be: another attempt has begun since.
    Over,
}

/// How far an iteration is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The next attempt may start.
    Begun,
    /// An attempt is going on.
    Attempting {
        /// Which.
        attempt: AttemptId,
        /// What it may cost.
        cap: Option<Usd>,
    },
    /// An attempt is over, and what follows from it is to be decided.
    Attempted,
    /// Another attempt is put off until then.
    Retrying {
        /// When.
        at: Timestamp,
    },
}

/// A call that is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// Which.
    pub call: CallId,
    /// What for.
    pub purpose: CallPurpose,
    /// What it may cost.
    pub cap: Option<Usd>,
}

/// A claim on its way to being believed, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// What claims.
    pub claim: Vec<EvidenceKind>,
    /// What the checks came to, and the project after them.
    pub checks: Option<(Vec<CheckResult>, Fingerprint)>,
    /// What looks like tampering.
    pub findings: Option<Vec<TamperFinding>>,
    /// Verifier calls made to their end.
    pub verdict_calls: u32,
    /// What the model said.
    pub verdict: Option<VerdictKind>,
    /// What it came to.
    pub result: Option<GateResult>,
}

impl Gate {
    /// Whether the agent claims completion, or at least a person asks about it.
    pub fn is_claim(&self) -> bool {
        self.claim != [EvidenceKind::NoProgress]
    }
}

/// A limit that is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What kind.
    pub kind: WaitKind,
    /// When we shall try again.
    pub retry_at: Timestamp,
    /// How long it is meant to last.
    pub planned: Duration,
}

/// Things that happened several times in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streaks {
    /// Failed iterations.
    pub errors: u32,
    /// Failed reviews.
    pub review_errors: u32,
    /// Rejected claims, without an iteration that made none between them.
    pub rejections: u32,
    /// Gates that came to nothing.
    pub inconclusive: u32,
    /// Idle iterations.
    pub idle: u32,
    /// Iterations without work that the agent's word excused.
    pub excused: u32,
    /// Idle iterations that reported a blocker.
    pub blocked: u32,
    /// Iterations that gave the completion signal.
    pub signals: u32,
    /// Iterations left out by a hook.
    pub skips: u32,
}

/// A word for the next iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxEntry {
    /// From whom.
    pub source: FeedbackSource,
    /// What.
    pub text: String,
    /// The iteration that is being told; it is spent when that one is recorded.
    pub given_to: Option<Iteration>,
}

/// How the last iteration went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastIteration {
    /// As it was recorded.
    pub finished: IterationFinished,
    /// What its gate came to, if there was one.
    pub gate: Option<GateResult>,
    /// What the checks of that gate came to.
    pub checks: Vec<CheckResult>,
    /// Why it counts as failed, if it does: also if a limit left no room to retry it.
    pub failure: Option<String>,
}

impl State {
    /// What counts against the limits.
    pub fn used(&self) -> Consumed {
        Consumed {
            iterations: self.totals.iterations,
            cost: self.totals.cost,
            tokens: self.totals.tokens.counted(),
            active: self.active,
        }
    }

    /// Why passing checks can't show that the work is done; `None` if they can.
    pub fn unchecked(&self) -> Option<Unchecked> {
        let commands = &self.settings.verify.commands;
        if commands.is_empty() {
            return Some(Unchecked::NoChecks);
        }
        self.baseline.as_ref()?;
        // Nothing is known of a check that the operator added later.
        let standing =
            |command| self.baseline_of(command).map_or(BaselineStatus::Unknown, baseline::status);
        let standings: Vec<_> = commands.iter().map(|command| standing(command)).collect();
        if standings.contains(&BaselineStatus::Fails) {
            None
        } else if standings.contains(&BaselineStatus::Unknown) {
            Some(Unchecked::UnknownBefore)
        } else {
            Some(Unchecked::PassedBefore)
        }
    }

    /// What a check came to before the first iteration.
    pub fn baseline_of(&self, command: &str) -> Option<&CheckResult> {
        self.baseline.iter().flatten().find(|result| result.command == command)
    }

    /// Whether messages can follow the prompt of an attempt.
    pub fn input(&self) -> InputShape {
        self.dialect.input(self.settings.extras.watchdog)
    }

    /// The iteration that is going on.
    pub fn current(&self) -> Option<&Current> {
        match &self.phase {
            Phase::Iterating(current) => Some(current),
            Phase::New | Phase::Ready | Phase::Concluding | Phase::Ended(_) => None,
        }
    }

    /// How the run ended, once it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Ended(outcome) => Some(outcome),
            Phase::New | Phase::Ready | Phase::Iterating(_) | Phase::Concluding => None,
        }
    }
}
