//! Facts, in the past tense. An event is the journal line, the line of `--output json`, what hooks
//! get on standard input and what the dashboards show: one vocabulary, one version.
//!
//! Every event is a decision already taken or something already seen; what it asks for is an
//! [`Effect`](crate::effect::Effect). The state of a run is the fold of its events.

mod facts;
mod meaning;
mod samples;
mod schema;
mod status;

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::facts::{
    AgentFacts, CallPurpose, Continuation, CostSource, FeedbackSource, GateResult,
    IterationFinished, IterationKind, IterationResult, Progress, RunStarted, Spend, StopSource,
    StopWhen, Totals, VerdictKind, WaitEnd, WaitKind,
};
pub use self::samples::samples;
pub use self::schema::schema;
pub use self::status::{StatusFacts, StatusField, StatusText};
use crate::input::{
    Changes, CheckPurpose, CheckResult, Checklist, TamperFinding, TaskProgress, WorkspaceMark,
};
use crate::outcome::Outcome;
use crate::principles::Principles;
use crate::settings::{ChangeSource, EvidenceKind, SettingChange};
use crate::stream::outcome::CancelReason;
use crate::stream::report::{AttemptReport, Blocker, QuotaNews, Ready, WatchdogFinding};
use crate::units::{AttemptId, CallId, Fingerprint, Iteration, Usd, millis};

/// One event and when it happened. [`crate::journal`] gives it its number and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The wall clock.
    pub at: Timestamp,
    /// Time at work so far, waits for limits and pauses left out: what `max_duration` counts. In
    /// whole milliseconds, so that a replay sees the very same figure.
    pub active: Duration,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run began; everything it was told is here and holds until its end.
    RunStarted(Box<RunStarted>),
    /// A later process took the run over where an earlier one left it.
    RunContinued {
        /// Why: after a crash, or an ended run with more room.
        why: Continuation,
    },
    /// An iteration began.
    IterationStarted {
        /// Its number.
        iteration: Iteration,
        /// Why it runs.
        kind: IterationKind,
        /// The limit that a wrap-up prepares for: the run ends with it.
        #[serde(default)]
        before: Option<Outcome>,
        /// The project as it was.
        start: WorkspaceMark,
        /// The boxes of the list as they were, where the mode has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checklist: Option<Checklist>,
        /// What the status file said before the run, in the first iteration: what it says later is
        /// compared with that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Box<StatusFacts>>,
    },
    /// A hook said to leave this iteration out; its number is not used up.
    IterationSkipped {
        /// The number it would have had.
        iteration: Iteration,
    },
    /// A process of the agent was about to be started.
    AttemptStarted {
        /// Its id.
        attempt: AttemptId,
        /// The iteration it belongs to.
        iteration: Iteration,
        /// What it may cost; `None` = no limit.
        cap: Option<Usd>,
        /// The model asked for, if any.
        model: Option<String>,
    },
    /// The agent said what it is.
    AgentReady {
        /// The attempt.
        attempt: AttemptId,
        /// What it said.
        #[serde(flatten)]
        ready: Ready,
    },
    /// We ended an attempt before its own end.
    AttemptCancelled {
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        why: CancelReason,
    },
    /// An attempt was over and its processes gone.
    AttemptFinished {
        /// The attempt.
        attempt: AttemptId,
        /// What it is charged.
        cost: Usd,
        /// Whether `cost` is the agent's figure or our estimate.
        figure: CostSource,
        /// How long it took.
        #[serde(with = "millis", rename = "duration_ms")]
        #[schemars(with = "u64")]
        duration: Duration,
        /// Everything it left.
        report: Box<AttemptReport>,
    },
    /// Another attempt was put off.
    RetryScheduled {
        /// When it will start.
        at_time: Timestamp,
        /// What went wrong.
        why: String,
    },
    /// A limit has to be waited out.
    LimitWaitStarted {
        /// What kind of limit.
        limit: WaitKind,
        /// When the limit ends, if that is known.
        until: Option<Timestamp>,
        /// When we shall try again.
        retry_at: Timestamp,
        /// How long that is.
        #[serde(with = "millis", rename = "wait_ms")]
        #[schemars(with = "u64")]
        wait: Duration,
    },
    /// The wait was over.
    LimitWaitEnded {
        /// Why.
        why: WaitEnd,
        /// How long it lasted.
        #[serde(with = "millis", rename = "waited_ms")]
        #[schemars(with = "u64")]
        waited: Duration,
    },
    /// The account's quota as the agent reported it.
    QuotaReported {
        /// The figures.
        #[serde(flatten)]
        quota: QuotaNews,
    },
    /// The task's status file changed in a way that matters.
    StatusChanged {
        /// How far the task is, if it says so.
        progress: Option<TaskProgress>,
        /// What it says.
        summary: String,
        /// Whether it says complete.
        complete: bool,
        /// Where in the task the agent is, if it says so.
        #[serde(default)]
        phase: Option<String>,
        /// What it can't go on without, by the keys of `blocker_reported`.
        #[serde(default)]
        blockers: Vec<String>,
        /// How many items more are done than were told before; `None` if either is not known.
        #[serde(default)]
        delta: Option<i64>,
        /// What changed.
        #[serde(default)]
        changed: Vec<StatusField>,
        /// By what the rest of the file is told from another version of it, where that counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<String>,
    },
    /// Something is needed that only a person can give. Once a run for each.
    BlockerReported {
        /// What.
        #[serde(flatten)]
        blocker: Blocker,
    },
    /// The watchdog noticed something.
    WatchdogNoticed {
        /// In this attempt.
        attempt: AttemptId,
        /// What.
        #[serde(flatten)]
        notice: WatchdogFinding,
    },
    /// A further message was about to be sent into a running session.
    NudgeSent {
        /// To this attempt.
        attempt: AttemptId,
        /// What it answers; `None` when a person speaks.
        answers: Option<WatchdogFinding>,
        /// What we said.
        text: String,
    },
    /// The agent was not allowed to use a tool. Each command is told once a run.
    PermissionDenied {
        /// In this attempt.
        attempt: AttemptId,
        /// The tool.
        tool: String,
        /// The command, file or address; of a line of several commands the one that was refused.
        command: String,
        /// The rule for `--allowed-tools` that allows it; `null` if no rule does.
        rule: Option<String>,
    },
    /// Completion was claimed and has to be proved.
    GateStarted {
        /// In this iteration.
        iteration: Iteration,
        /// By what.
        claim: Vec<EvidenceKind>,
    },
    /// The checks were about to be run.
    ChecksStarted {
        /// What they are run for.
        purpose: CheckPurpose,
        /// The commands.
        commands: Vec<String>,
    },
    /// The checks were done.
    ChecksFinished {
        /// What they were run for.
        purpose: CheckPurpose,
        /// When the results were measured, if an earlier run on the same tree measured them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reused_from: Option<Timestamp>,
        /// One for each command.
        results: Vec<CheckResult>,
        /// The project after them: the verdict is bound to it.
        fingerprint: Fingerprint,
        /// Files that they wrote, relative to the project; a name that ends with `/` is a folder with
        /// everything in it. None of this counts as work for the rest of the run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<String>,
    },
    /// The changes since the run began were looked through for tampering.
    ChangesInspected {
        /// What was found.
        findings: Vec<TamperFinding>,
        /// What changed, in figures.
        #[serde(default)]
        changes: Changes,
    },
    /// Another use of the agent was about to be started.
    CallStarted {
        /// Its id.
        call: CallId,
        /// What for.
        purpose: CallPurpose,
        /// What it may cost; `None` = no limit.
        cap: Option<Usd>,
    },
    /// We ended a call before its own end.
    CallCancelled {
        /// The call.
        call: CallId,
        /// Why.
        why: CancelReason,
    },
    /// The call was over and its processes gone.
    CallFinished {
        /// The call.
        call: CallId,
        /// What for.
        purpose: CallPurpose,
        /// What it is charged.
        cost: Usd,
        /// Whether `cost` is the agent's figure or our estimate.
        figure: CostSource,
        /// How long it took.
        #[serde(with = "millis", rename = "duration_ms")]
        #[schemars(with = "u64")]
        duration: Duration,
        /// Everything it left.
        report: Box<AttemptReport>,
    },
    /// A model judged a claim.
    VerdictGiven {
        /// What it said.
        verdict: VerdictKind,
        /// Why.
        reason: String,
        /// What is missing.
        missing: Vec<String>,
    },
    /// The gate came to a result.
    GateFinished {
        /// Which.
        #[serde(flatten)]
        result: GateResult,
    },
    /// A conflict of principles was decided.
    CouncilDecided {
        /// In this iteration.
        #[serde(default)]
        iteration: Iteration,
        /// The conflict, in the agent's words.
        #[serde(default)]
        conflict: String,
        /// How.
        decision: String,
    },
    /// The agent had written down the principles it was asked for; they hold from here on.
    PrinciplesAdopted {
        /// Which.
        principles: Principles,
    },
    /// Something was put into the inbox of the next iteration.
    FeedbackAdded {
        /// By whom.
        source: FeedbackSource,
        /// What.
        text: String,
    },
    /// A setting changed: by an option of `resume`, or because the configuration had changed and the
    /// operator agreed.
    SettingsChanged {
        /// Where the new value comes from.
        source: ChangeSource,
        /// The key and both values.
        #[serde(flatten)]
        change: SettingChange,
    },
    /// An iteration was over.
    IterationFinished(Box<IterationFinished>),
    /// The run was asked to stop.
    StopRequested {
        /// When.
        when: StopWhen,
        /// By whom.
        by: StopSource,
    },
    /// The request to stop was taken back.
    StopCancelled,
    /// The operator wants nothing new to start.
    RunPaused,
    /// The operator lets it go on.
    RunResumed,
    /// A hook did not do its job.
    HookFailed {
        /// Which.
        hook: String,
        /// How.
        why: String,
    },
    /// Something people should know.
    Warning {
        /// What.
        text: String,
    },
    /// The run was over. Nothing is decided after this.
    RunFinished {
        /// Why.
        #[serde(flatten)]
        outcome: Outcome,
        /// What else there is to say about the ending.
        note: Option<String>,
        /// What it came to.
        totals: Totals,
    },
}
