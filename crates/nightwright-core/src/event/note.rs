//! Notes: reports from the agent, the council, hooks and nightwright itself during a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StatusField;
use super::group::event_group;
use crate::input::TaskProgress;
use crate::principles::Principles;
use crate::stream::news::Blocker;
use crate::units::Iteration;

event_group! {
    /// Reports during a run: status, blockers, feedback, contacted hosts, failed hooks and warnings.
    NoteEvent {
        /// The task's status file changed significantly.
        "status_changed" => StatusChanged {
            /// Progress of the task; `null` if the file has none.
            progress: Option<TaskProgress>,
            /// The summary in the file.
            summary: String,
            /// Whether the file says that the task is complete.
            complete: bool,
            /// The current phase of the task; `null` if the file has none.
            #[serde(default)]
            phase: Option<String>,
            /// The blockers in the file, as keys of `blocker_reported`.
            #[serde(default)]
            blockers: Vec<String>,
            /// Completed items compared with the previous report; `null` if either number is
            /// unknown.
            #[serde(default)]
            delta: Option<i64>,
            /// The fields that changed.
            #[serde(default)]
            changed: Vec<StatusField>,
            /// A key that distinguishes versions of the remaining fields; absent if nightwright
            /// ignores changes to them.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            other: Option<String>,
        },
        /// The agent needs something that only a person can provide; reported once per run.
        "blocker_reported" => BlockerReported {
            /// The blocker: what the agent needs.
            #[serde(flatten)]
            blocker: Blocker,
        },
        /// The council decided a conflict between principles.
        "council_decided" => CouncilDecided {
            /// The iteration in which the conflict arose.
            #[serde(default)]
            iteration: Iteration,
            /// The conflict, in the agent's words.
            #[serde(default)]
            conflict: String,
            /// The decision of the council.
            decision: String,
        },
        /// The agent wrote the requested principles; they apply from now on.
        "principles_adopted" => PrinciplesAdopted {
            /// The principles that now apply.
            principles: Principles,
        },
        /// nightwright queued feedback for the prompt of the next iteration.
        "feedback_added" => FeedbackAdded {
            /// The source of the feedback.
            source: FeedbackSource,
            /// The text of the feedback.
            text: String,
        },
        /// A hook failed; the run continues.
        "hook_failed" => HookFailed {
            /// The name of the failed hook.
            hook: String,
            /// How the hook failed.
            why: String,
        },
        /// A program in the sandbox contacted a host for the first time in this run.
        "host_contacted" => HostContacted {
            /// The host with its port.
            host: String,
        },
        /// A program in the sandbox was refused a connection; reported once per host.
        "host_refused" => HostRefused {
            /// The host with its port.
            host: String,
            /// Why the connection was refused.
            why: String,
            /// The line for your configuration that allows it; absent if no setting does.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            setting: Option<String>,
        },
        /// A warning for you.
        "warning" => Warning {
            /// The text of the warning.
            text: String,
        },
    }
}

/// The source of feedback for the next iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackSource {
    /// A check that failed.
    Checks,
    /// A model that rejected the claim.
    Verifier,
    /// The watchdog or its advisor.
    Watchdog,
    /// The council's decision on a conflict.
    Council,
    /// The escalation for iterations without progress.
    Idle,
    /// A completion marker that did not count.
    Marker,
    /// A message from you.
    Human,
}
