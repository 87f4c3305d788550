//! Events of an attempt: one process of the agent that works on an iteration.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::stream::news::{AttemptReport, Ready, WatchdogFinding};
use crate::stream::outcome::CancelReason;
use crate::units::{AttemptId, Iteration, Usd, millis};

event_group! {
    /// The agent processes that do the work.
    AttemptEvent {
        /// nightwright is about to start an agent process.
        "attempt_started" => Started {
            /// The attempt's number within the run.
            attempt: AttemptId,
            /// The iteration that the attempt belongs to.
            iteration: Iteration,
            /// The most the attempt may cost, in US dollars; `null` if unlimited.
            cap: Option<Usd>,
            /// The model that nightwright requested; `null` for the agent's default.
            model: Option<String>,
        },
        /// The agent started and reported its version, model and tools.
        "agent_ready" => AgentReady {
            /// The attempt whose agent started.
            attempt: AttemptId,
            /// The version, model and tools that the agent reported.
            #[serde(flatten)]
            ready: Ready,
        },
        /// The watchdog detected that the agent gave up, asked a question or repeated itself.
        "watchdog_noticed" => WatchdogNoticed {
            /// The attempt that the watchdog observed.
            attempt: AttemptId,
            /// The watchdog's finding and its details.
            #[serde(flatten)]
            finding: WatchdogFinding,
        },
        /// nightwright was about to send another message to a running session.
        "message_sent" => MessageSent {
            /// The attempt that receives the message.
            attempt: AttemptId,
            /// The watchdog finding that the message answers; `null` for a message from you.
            answers: Option<WatchdogFinding>,
            /// The text of the message.
            text: String,
        },
        /// nightwright denied a tool; `rule` is the value for `--allowed-tools` that allows it.
        "permission_denied" => PermissionDenied {
            /// The attempt that tried to use the tool.
            attempt: AttemptId,
            /// The name of the denied tool.
            tool: String,
            /// The command, file or address. If a line has several commands, this is the denied
            /// one.
            command: String,
            /// The rule for `--allowed-tools` that allows it; `null` if no rule does.
            rule: Option<String>,
        },
        /// nightwright cancelled an attempt.
        "attempt_cancelled" => Cancelled {
            /// The attempt that nightwright cancelled.
            attempt: AttemptId,
            /// Why nightwright cancelled the attempt.
            why: CancelReason,
        },
        /// An attempt ended and all its processes have exited.
        "attempt_finished" => Finished {
            /// The attempt that ended.
            attempt: AttemptId,
            /// The cost of the attempt, in US dollars.
            cost: Usd,
            /// Whether the agent reported `cost` or nightwright estimated it.
            #[serde(rename = "cost_source")]
            figure: CostSource,
            /// Duration of the attempt, in milliseconds.
            #[serde(with = "millis", rename = "duration_ms")]
            #[schemars(with = "u64")]
            duration: Duration,
            /// The outcome, and everything parsed from the output.
            report: Box<AttemptReport>,
        },
    }
}

/// Whether the agent reported a cost or nightwright estimated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// The agent reported the cost.
    Reported,
    /// nightwright estimated the cost.
    Estimated,
}
