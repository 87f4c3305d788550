//! Events of a call: a use of the agent for something other than work.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CostSource;
use super::group::event_group;
use crate::stream::news::AttemptReport;
use crate::stream::outcome::CancelReason;
use crate::units::{CallId, Usd, millis};

event_group! {
    /// Calls of the agent for a verdict, a review, advice or the council.
    CallEvent {
        /// nightwright was about to start a call of the agent for a verdict, a review or advice.
        "call_started" => Started {
            /// The call's number within the run.
            call: CallId,
            /// The purpose of the call.
            purpose: CallPurpose,
            /// The most the call may cost, in US dollars; `null` if unlimited.
            cap: Option<Usd>,
            /// The source of this verdict, if a model has already accepted the claim.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            second_opinion: Option<SecondOpinion>,
        },
        /// nightwright cancelled a call.
        "call_cancelled" => Cancelled {
            /// The call that nightwright cancelled.
            call: CallId,
            /// Why nightwright cancelled the call.
            why: CancelReason,
        },
        /// A call ended and all its processes have exited.
        "call_finished" => Finished {
            /// The call that ended.
            call: CallId,
            /// The purpose of the call.
            purpose: CallPurpose,
            /// The cost of the call, in US dollars.
            cost: Usd,
            /// Whether the agent reported `cost` or nightwright estimated it.
            #[serde(rename = "cost_source")]
            figure: CostSource,
            /// Duration of the call, in milliseconds.
            #[serde(with = "millis", rename = "duration_ms")]
            #[schemars(with = "u64")]
            duration: Duration,
            /// The outcome, and everything parsed from the output.
            report: Box<AttemptReport>,
        },
    }
}

/// The source of a second opinion on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecondOpinion {
    /// A model other than the one that accepted the claim.
    OtherModel,
    /// The same model in a fresh context, because the configuration names no other.
    SameModel,
}

/// The purpose of a call.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum CallPurpose {
    /// Give a verdict on a claim.
    Verify,
    /// Review the changes of an iteration.
    Review,
    /// Advise an agent that is stuck.
    Advise,
    /// Decide a conflict between principles.
    Council,
}

impl CallPurpose {
    /// The name in the journal and in the totals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Advise => "advise",
            Self::Council => "council",
        }
    }
}
