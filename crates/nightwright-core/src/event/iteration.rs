//! Events of an iteration: one pass of the agent with a fresh context.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StatusFacts;
use super::group::event_group;
use crate::failing::{Change, Failing};
use crate::input::{Changes, Checklist, TaskProgress, WorkspaceMark};
use crate::outcome::Outcome;
use crate::settings::EvidenceKind;
use crate::stream::news::Blocker;
use crate::units::{Iteration, Usd, millis};

event_group! {
    /// The iterations of a run.
    IterationEvent {
        /// An iteration began; nightwright compares its work with this state of the project.
        "iteration_started" => Started {
            /// The number of the iteration, starting at 1; 0 for `verify_only`.
            iteration: Iteration,
            /// Why the iteration runs.
            kind: IterationKind,
            /// The limit that a wrap-up prepares for, which then ends the run; `null` for other
            /// iterations.
            #[serde(default)]
            before: Option<Outcome>,
            /// The state of the project at the start of the iteration.
            start: WorkspaceMark,
            /// The checklist at the start of the iteration; absent if the mode has none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            checklist: Option<Checklist>,
            /// The contents of the status file before the run, for comparison with later versions.
            /// Present only in the first iteration.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            status: Option<Box<StatusFacts>>,
        },
        /// A hook skipped an iteration; the next one gets the same number.
        "iteration_skipped" => Skipped {
            /// The number that the iteration would have had.
            iteration: Iteration,
        },
        /// An iteration ended: its result, cost and changes.
        "iteration_finished" => Finished(Box<IterationFinished>),
    }
}

/// Why an iteration runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationKind {
    /// The agent works on the task.
    Work,
    /// The agent wraps up its work before the run reaches a limit.
    WrapUp,
    /// Nothing is open at the start of the run, so only the gate runs. It has number 0 and does not
    /// count as an iteration.
    VerifyOnly,
}

/// The result, cost and changes of an iteration.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct IterationFinished {
    /// The number of the iteration that ended.
    pub iteration: Iteration,
    /// How the iteration ended: done, failed or interrupted.
    pub result: IterationResult,
    /// The outcome that this iteration forces on the run; `null` if it forces none.
    #[serde(default)]
    pub ends: Option<Outcome>,
    /// Whether the iteration moved the project forward.
    pub progress: Progress,
    /// The evidence of a completion claim; empty without a claim.
    pub claim: Vec<EvidenceKind>,
    /// The blockers that the agent reported.
    pub blockers: Vec<Blocker>,
    /// Whether the agent gave the completion signal.
    pub signal: bool,
    /// The state of the project at the end; `null` without an inspection.
    pub end: Option<WorkspaceMark>,
    /// Number of files that differ from the start, as far as known.
    pub files_changed: u32,
    /// Number of changed files without the checklist; absent if the earlier state is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_changed_outside_plan: Option<u32>,
    /// Number of commits made in this iteration.
    pub commits: u32,
    /// Files that differ from the start of the run, each listed once with line counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// Progress according to the status file; `null` if the file has none.
    pub task: Option<TaskProgress>,
    /// The current phase of the task, as reported by the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Open and done items of the plan or TODO; `null` without a checklist.
    pub checklist: Option<Checklist>,
    /// Cost of all attempts and calls, in US dollars.
    pub cost: Usd,
    /// Duration in milliseconds, without waits.
    #[serde(with = "millis", rename = "duration_ms")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// How much failed when the iteration ended; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<ChecksAfterIteration>,
    /// The number of consecutive idle iterations, including this one.
    #[serde(default)]
    pub idle: u32,
    /// The number of consecutive iterations in which something failed and no less than before,
    /// including this one.
    #[serde(default, rename = "without_improvement")]
    pub without_gain: u32,
    /// The agent's summary of its work.
    pub summary: String,
}

/// The result of the checks for the project as an iteration left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ChecksAfterIteration {
    /// The number of checks and tests that failed.
    #[serde(flatten)]
    pub failing: Failing,
    /// Whether that is better than before; absent if the iteration changed nothing, so that the
    /// results before it still hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl IterationFinished {
    /// Whether the agent claimed completion.
    pub fn is_claimed(&self) -> bool {
        self.claim.iter().any(|kind| kind.is_claim())
    }

    /// Returns the progress from the status file, or else from the checklist.
    pub fn items(&self) -> Option<TaskProgress> {
        let checklist = self.checklist.map(|checklist| TaskProgress {
            completed: checklist.done,
            total: checklist.done.saturating_add(checklist.open),
        });
        self.task.or(checklist).filter(|items| items.total > 0)
    }
}

/// How an iteration ended.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IterationResult {
    /// The agent finished its work, and nightwright evaluated it.
    Done,
    /// All attempts failed, or the agent cannot process the prompt.
    Failed {
        /// The reason for the failure.
        why: String,
        /// Whether a shorter prompt might help.
        too_long: bool,
    },
    /// The iteration stopped early; nightwright draws no conclusions from it.
    Interrupted,
}

/// Whether an iteration moved the project forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The project is in a state that is new in this run.
    Work,
    /// Nothing changed, and no accepted report of work explains it.
    Idle,
    /// Nothing changed, but nightwright accepts for now the agent's report that it worked.
    WorkReported,
    /// Not counted: the iteration failed or stopped early, or its claim went to the gate.
    Uncounted,
}
