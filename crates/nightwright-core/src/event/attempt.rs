//! An attempt: one process of the agent that works on an iteration.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::stream::outcome::CancelReason;
use crate::stream::report::{AttemptReport, Ready, WatchdogFinding};
use crate::units::{AttemptId, Iteration, Usd, millis};

event_group! {
    /// The agent's processes that do the work.
    AttemptEvent {
        /// A process of the agent was about to be started.
        "attempt_started" => Started {
            /// Its id.
            attempt: AttemptId,
            /// The iteration it belongs to.
            iteration: Iteration,
            /// What it may cost; `None` = no limit.
            cap: Option<Usd>,
            /// The model asked for, if any.
            model: Option<String>,
        },
        /// The agent started and reported its version, model and tools.
        "agent_ready" => AgentReady {
            /// The attempt.
            attempt: AttemptId,
            /// What the agent reported.
            #[serde(flatten)]
            ready: Ready,
        },
        /// The watchdog found that the agent gives up, asks a question or repeats itself.
        "watchdog_noticed" => WatchdogNoticed {
            /// The attempt.
            attempt: AttemptId,
            /// What the watchdog found.
            #[serde(flatten)]
            notice: WatchdogFinding,
        },
        /// A further message was about to be sent into a running session.
        "nudge_sent" => NudgeSent {
            /// The attempt that receives it.
            attempt: AttemptId,
            /// The finding it answers; `None` for a message of the operator.
            answers: Option<WatchdogFinding>,
            /// The message.
            text: String,
        },
        /// The agent was denied a tool; `rule` is what `--allowed-tools` takes to allow it.
        "permission_denied" => PermissionDenied {
            /// The attempt.
            attempt: AttemptId,
            /// The tool.
            tool: String,
            /// The command, file or address; in a line of several commands, the one that was denied.
            command: String,
            /// The rule for `--allowed-tools` that allows it; `null` if no rule does.
            rule: Option<String>,
        },
        /// nightwright cancelled an attempt.
        "attempt_cancelled" => Cancelled {
            /// The attempt.
            attempt: AttemptId,
            /// Why it was cancelled.
            why: CancelReason,
        },
        /// An attempt ended and all its processes have exited.
        "attempt_finished" => Finished {
            /// The attempt.
            attempt: AttemptId,
            /// What it is charged.
            cost: Usd,
            /// Whether `cost` is the agent's figure or an estimate.
            figure: CostSource,
            /// How long it took.
            #[serde(with = "millis", rename = "duration_ms")]
            #[schemars(with = "u64")]
            duration: Duration,
            /// Its outcome, and everything found in its output.
            report: Box<AttemptReport>,
        },
    }
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
