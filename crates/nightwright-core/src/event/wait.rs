//! Waits: for another attempt, for a limit to end, and the quota that may lead to one.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::stream::report::QuotaNews;
use crate::units::millis;

event_group! {
    /// Waits, and the quota that may lead to one.
    WaitEvent {
        /// An attempt failed, and the next one starts after a delay.
        "retry_scheduled" => RetryScheduled {
            /// When it will start.
            at_time: Timestamp,
            /// What went wrong.
            why: String,
        },
        /// The run waits for a limit to end.
        "limit_wait_started" => Started {
            /// What kind of limit.
            limit: WaitKind,
            /// When the limit ends, if that is known.
            until: Option<Timestamp>,
            /// When the next attempt starts.
            retry_at: Timestamp,
            /// How long that is.
            #[serde(with = "millis", rename = "wait_ms")]
            #[schemars(with = "u64")]
            wait: Duration,
        },
        /// The wait for a limit ended.
        "limit_wait_ended" => Ended {
            /// Why it ended.
            why: WaitEnd,
            /// How long it lasted.
            #[serde(with = "millis", rename = "waited_ms")]
            #[schemars(with = "u64")]
            waited: Duration,
        },
        /// The agent reported how much of the account's quota is used.
        "quota_reported" => QuotaReported {
            /// The figures.
            #[serde(flatten)]
            quota: QuotaNews,
        },
    }
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
