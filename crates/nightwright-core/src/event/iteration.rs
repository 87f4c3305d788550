//! An iteration: one pass of the agent with a fresh context.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StatusFacts;
use super::group::event_group;
use crate::input::{Changes, Checklist, TaskProgress, WorkspaceMark};
use crate::outcome::Outcome;
use crate::settings::EvidenceKind;
use crate::stream::report::Blocker;
use crate::units::{Iteration, Usd, millis};

event_group! {
    /// The iterations of a run.
    IterationEvent {
        /// An iteration began; its work is measured against the state of the project recorded here.
        "iteration_started" => Started {
            /// Its number.
            iteration: Iteration,
            /// Why it runs.
            kind: IterationKind,
            /// The limit that a wrap-up prepares for: the run ends with it.
            #[serde(default)]
            before: Option<Outcome>,
            /// The project as it was.
            start: WorkspaceMark,
            /// The checklist as it was, if the mode has one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            checklist: Option<Checklist>,
            /// What the status file said before the run, in the first iteration: later versions of
            /// the file are compared with it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            status: Option<Box<StatusFacts>>,
        },
        /// A hook skipped an iteration; its number is not used up.
        "iteration_skipped" => Skipped {
            /// The number it would have had.
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
    /// To do work.
    Work,
    /// To leave everything in order before a limit.
    WrapUp,
    /// Nothing is open at the start of the run: only the gate is left. It has the number 0 and
    /// counts as no iteration.
    VerifyOnly,
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

impl IterationFinished {
    /// How far the task is: by its status file, else by its checklist.
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
    /// It came to its end and was judged.
    Done,
    /// Its attempts were used up, or its prompt cannot work.
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
