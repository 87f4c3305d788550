//! A call: a use of the agent for something other than work.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CostSource;
use super::group::event_group;
use crate::stream::outcome::CancelReason;
use crate::stream::report::AttemptReport;
use crate::units::{CallId, Usd, millis};

event_group! {
    /// Uses of the agent for a verdict, a review, advice or the council.
    CallEvent {
        /// A call of the agent for a verdict, a review or advice was about to be started.
        "call_started" => Started {
            /// Its id.
            call: CallId,
            /// What for.
            purpose: CallPurpose,
            /// What it may cost; `None` = no limit.
            cap: Option<Usd>,
        },
        /// nightwright cancelled a call.
        "call_cancelled" => Cancelled {
            /// The call.
            call: CallId,
            /// Why it was cancelled.
            why: CancelReason,
        },
        /// A call ended and all its processes have exited.
        "call_finished" => Finished {
            /// The call.
            call: CallId,
            /// What for.
            purpose: CallPurpose,
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
