//! What the larger events are made of.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::{Changes, CheckResult, Checklist, TaskProgress, WorkspaceMark};
use crate::outcome::{Outcome, Proof};
use crate::settings::{EvidenceKind, Settings};
use crate::stream::report::Blocker;
use crate::units::{Iteration, Tokens, Usd, millis};

/// What the run was told.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RunStarted {
    /// All settings, resolved.
    pub settings: Settings,
    /// The agent program.
    pub agent: AgentFacts,
    /// The project folder.
    pub project: String,
    /// The commit the project was at, with git.
    #[serde(default)]
    pub git_head: Option<String>,
    /// How the agent's processes are held together.
    #[serde(default)]
    pub containment: String,
    /// The SHA-256 of each hook that was approved for this run, by the name of the hook.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<String, String>,
    /// What the checks came to before the first iteration of the run whose work this one judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Vec<CheckResult>>,
    /// The source of all chance in this run: a replay waits as long as the original.
    pub seed: u64,
}

/// The agent program.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentFacts {
    /// Which dialect it speaks.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// Its version, if it told.
    pub version: Option<String>,
}

/// Why a later process took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// The earlier one died.
    AfterCrash,
    /// The run had ended and got more room, or was to go on all the same.
    AfterEnd,
}

/// Why an iteration runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationKind {
    /// To do work.
    Work,
    /// To leave everything in order before a limit.
    WrapUp,
    /// Nothing is open at the start of the run: only the gate is left. It has the number 0 and
    /// counts as no iteration.
    VerifyOnly,
}

/// Whether a cost is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// The agent said so.
    Reported,
    /// We worked it out.
    Estimated,
}

/// What kind of limit is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The account's usage limit.
    Usage,
    /// Too many requests.
    Rate,
    /// The share of the account's quota that the operator allows.
    Quota,
}

/// Why a wait was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitEnd {
    /// Its time had come.
    Elapsed,
    /// The operator wanted to try.
    RetryNow,
    /// The run was stopped.
    Stopped,
}

/// What a call is for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum CallPurpose {
    /// A verdict on a claim.
    Verify,
    /// A second pair of eyes.
    Review,
    /// A way out for an agent that is stuck.
    Advise,
    /// A decision between principles.
    Council,
}

impl CallPurpose {
    /// The name in journal and totals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Advise => "advise",
            Self::Council => "council",
        }
    }
}

/// What a model said to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The work is complete.
    Yes,
    /// It is not.
    No,
    /// It gave no verdict that could be read, twice.
    Inconclusive,
}

/// What the gate came to.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum GateResult {
    /// The claim is believed.
    Passed {
        /// Whether anything was checked.
        proof: Proof,
    },
    /// It is not.
    Rejected {
        /// Why.
        why: String,
        /// Identifies a failure of the same checks with the same output on the same tree.
        failure: Option<String>,
    },
    /// Nobody could tell.
    Inconclusive {
        /// Why not.
        why: String,
    },
    /// The model that was needed did not fit into the limits.
    Unaffordable {
        /// The limit that ends the run.
        ending: Outcome,
    },
}

/// Who put something into the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackSource {
    /// A check that failed.
    Checks,
    /// A model that did not believe the claim.
    Verifier,
    /// The watchdog or its advisor.
    Watchdog,
    /// The council.
    Council,
    /// The ladder for iterations without progress.
    Idle,
    /// A completion marker that was not counted.
    Marker,
    /// A person.
    Human,
}

/// How soon to stop.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum StopWhen {
    /// After this iteration.
    AfterIteration,
    /// At once.
    Now,
}

/// Who asked for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSource {
    /// A signal: Ctrl-C or SIGQUIT.
    Signal,
    /// The terminal of the run was closed (SIGHUP).
    TerminalClosed,
    /// SIGTERM: the system goes down, or whoever looks after processes wants it to end.
    Terminate,
    /// A command of the operator.
    Operator,
    /// The stop file.
    StopFile,
    /// A key at the terminal of the run.
    Key,
}

/// How an iteration went.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct IterationFinished {
    /// Its number.
    pub iteration: Iteration,
    /// How it ended.
    pub result: IterationResult,
    /// The ending of the run that follows from it, whatever else is the case.
    #[serde(default)]
    pub ends: Option<Outcome>,
    /// Whether it moved the project forward.
    pub progress: Progress,
    /// What it claimed by.
    pub claim: Vec<EvidenceKind>,
    /// Blockers it reported.
    pub blockers: Vec<Blocker>,
    /// Whether the completion signal was given.
    pub signal: bool,
    /// The project as it was at the end; `None` when nobody looked.
    pub end: Option<WorkspaceMark>,
    /// Files that differ from the start, as far as could be told.
    pub files_changed: u32,
    /// The same without the list with boxes; `None` if nobody knows how they were then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_changed_outside_plan: Option<u32>,
    /// Commits made.
    pub commits: u32,
    /// Files that differ from the start of the run, each once, with their lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// How far the task is, if it says so.
    pub task: Option<TaskProgress>,
    /// Where in the task it is, by the agent's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Boxes of the plan or to-do list, if there is one.
    pub checklist: Option<Checklist>,
    /// Cost of its attempts and calls.
    pub cost: Usd,
    /// How long it took, waits left out.
    #[serde(with = "millis", rename = "duration_ms")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// What the agent said it did.
    pub summary: String,
}

/// How an iteration ended.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IterationResult {
    /// It came to its end and was judged.
    Done,
    /// Its attempts were used up, or its prompt can't work.
    Failed {
        /// What went wrong.
        why: String,
        /// Whether a shorter prompt might help.
        too_long: bool,
    },
    /// It was stopped; nothing is concluded from it.
    Interrupted,
}

/// Whether an iteration moved the project forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The project is in a state this run has not seen before.
    Work,
    /// Nothing changed, and nothing excuses it.
    Idle,
    /// Nothing changed, and the agent's word that it worked is taken for now.
    Excused,
    /// It does not count: it failed, was stopped, or its claim went to the gate.
    Uncounted,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Iterations finished, failed and interrupted ones too.
    pub iterations: u32,
    /// Attempts.
    pub attempts: u32,
    /// Commits.
    pub commits: u32,
    /// Time at work.
    #[serde(with = "millis", rename = "duration_ms")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Time spent waiting for limits.
    #[serde(with = "millis", rename = "waited_ms")]
    #[schemars(with = "u64")]
    pub waited: Duration,
    /// What it all cost.
    pub cost: Usd,
    /// The part of the cost that is an estimate.
    pub estimated: Usd,
    /// All tokens.
    pub tokens: Tokens,
    /// Cost by purpose: `work`, `verify`, `review`, `advise`, `council`.
    pub by_purpose: BTreeMap<String, Spend>,
}

/// What one purpose came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Spend {
    /// How many attempts or calls.
    pub count: u32,
    /// What they cost.
    pub cost: Usd,
    /// Their tokens.
    pub tokens: Tokens,
}
