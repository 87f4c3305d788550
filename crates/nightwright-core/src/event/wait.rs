//! Waits: for the next attempt or for the end of a limit, and the quota reports that may lead to
//! one.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::stream::news::QuotaNews;
use crate::units::millis;

event_group! {
    /// Waits, and the quota reports that may lead to one.
    WaitEvent {
        /// An attempt failed, and the next one starts after a delay.
        "retry_scheduled" => RetryScheduled {
            /// When the next attempt starts.
            at_time: Timestamp,
            /// Why the previous attempt failed.
            why: String,
        },
        /// The run waits for a limit to reset.
        "limit_wait_started" => Started {
            /// The kind of limit: usage, rate or quota.
            limit: WaitKind,
            /// When the limit resets; `null` if unknown.
            until: Option<Timestamp>,
            /// When the next attempt starts.
            retry_at: Timestamp,
            /// Time until the next attempt, in milliseconds.
            #[serde(with = "millis", rename = "wait_ms")]
            #[schemars(with = "u64")]
            wait: Duration,
        },
        /// The wait for a limit ended.
        "limit_wait_ended" => Ended {
            /// Why the wait ended.
            why: WaitEnd,
            /// How long the wait lasted, in milliseconds.
            #[serde(with = "millis", rename = "waited_ms")]
            #[schemars(with = "u64")]
            waited: Duration,
        },
        /// The agent reported the used share of the account's quota.
        "quota_reported" => QuotaReported {
            /// The quota figures that the agent reported.
            #[serde(flatten)]
            quota: QuotaNews,
        },
    }
}

/// The kind of limit that a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The usage limit of the account.
    Usage,
    /// The provider's limit on the request rate.
    Rate,
    /// The share of the account's quota that you allow.
    Quota,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitEnd {
    /// The wait reached its scheduled time.
    Elapsed,
    /// You requested an immediate retry.
    RetryNow,
    /// The run stopped during the wait.
    Stopped,
}
