//! Status watch: reporting of status file changes while the agent works.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::millis;

/// The status-file changes that are reported while the agent works.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusWatch {
    /// Whether changes are reported at all.
    pub enabled: bool,
    /// The time in milliseconds without writes before the file is read, so that several writes in
    /// quick succession are reported once.
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
