//! Notes: what the agent, the council, hooks and nightwright itself reported along the way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StatusField;
use super::group::event_group;
use crate::input::TaskProgress;
use crate::principles::Principles;
use crate::stream::report::Blocker;
use crate::units::Iteration;

event_group! {
    /// Reports along the way.
    NoteEvent {
        /// The task's status file changed in a way that matters.
        "status_changed" => StatusChanged {
            /// How far the task is, if the file says so.
            progress: Option<TaskProgress>,
            /// The summary in the file.
            summary: String,
            /// Whether the file says that the task is complete.
            complete: bool,
            /// Where in the task the agent is, if the file says so.
            #[serde(default)]
            phase: Option<String>,
            /// The blockers in the file, by the keys of `blocker_reported`.
            #[serde(default)]
            blockers: Vec<String>,
            /// How many more items are done than in the last report; `None` if either number is
            /// unknown.
            #[serde(default)]
            delta: Option<i64>,
            /// What changed.
            #[serde(default)]
            changed: Vec<StatusField>,
            /// Distinguishes the rest of the file from other versions of it, where that counts.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            other: Option<String>,
        },
        /// The agent needs something that only a person can provide; reported once per run.
        "blocker_reported" => BlockerReported {
            /// What the agent needs.
            #[serde(flatten)]
            blocker: Blocker,
        },
        /// The council decided a conflict of principles.
        "council_decided" => CouncilDecided {
            /// The iteration.
            #[serde(default)]
            iteration: Iteration,
            /// The conflict, in the agent's words.
            #[serde(default)]
            conflict: String,
            /// The decision.
            decision: String,
        },
        /// The agent wrote down the principles it was asked for; they apply from here on.
        "principles_adopted" => PrinciplesAdopted {
            /// The principles.
            principles: Principles,
        },
        /// Feedback was queued for the prompt of the next iteration.
        "feedback_added" => FeedbackAdded {
            /// Who gives it.
            source: FeedbackSource,
            /// The feedback.
            text: String,
        },
        /// A hook failed; the run continues.
        "hook_failed" => HookFailed {
            /// The hook.
            hook: String,
            /// How it failed.
            why: String,
        },
        /// Something happened that the operator should know.
        "warning" => Warning {
            /// The warning.
            text: String,
        },
    }
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
