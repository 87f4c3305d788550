//! Status watch: reporting of status file changes while the agent works.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::millis;

/// The status-file changes that nightwright reports while the agent works.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusWatch {
    /// Whether nightwright reports changes at all.
    pub enabled: bool,
    /// The time in milliseconds without writes before nightwright reads the file. It reports
    /// several quick writes once.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub debounce: Duration,
    /// Whether only progress, summary, phase, blockers and completion count, not notes or
    /// timestamps.
    pub only_meaningful: bool,
}

impl Default for StatusWatch {
    fn default() -> Self {
        Self { enabled: true, debounce: Duration::from_secs(2), only_meaningful: true }
    }
}
