//! Whether changes of the status file are told while the agent works.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::millis;

/// Whether changes of the status file are told while the agent works, and which.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusWatch {
    /// Whether any are.
    pub enabled: bool,
    /// How long nothing is written before the file is read: what is written in several goes, or
    /// again and again, is told once.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub debounce: Duration,
    /// Whether only progress, summary, phase, blockers and completion count, and not notes or a
    /// time alone.
    pub only_meaningful: bool,
}

impl Default for StatusWatch {
    fn default() -> Self {
        Self { enabled: true, debounce: Duration::from_secs(2), only_meaningful: true }
    }
}
