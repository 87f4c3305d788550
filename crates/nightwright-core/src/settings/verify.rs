//! The gate: what has to be passed before a claim of completion is believed.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EvidenceKind, Settings};
use crate::units::{Usd, millis};

/// The gate.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Verify {
    /// Commands that must exit 0. Pinned here: a change made by the agent takes no effect.
    pub commands: Vec<String>,
    /// Variables with the names of credentials that the commands and hooks get all the same; a
    /// name may have a `*`.
    pub pass_environment: Vec<String>,
    /// How long each may take.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub timeout: Duration,
    /// How long all of them together may take before the first iteration; `None` = they are not run
    /// then.
    #[serde(with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub baseline: Option<Duration>,
    /// Whether a failed command gets a second chance.
    pub rerun: Rerun,
    /// What findings of the tamper guard lead to.
    pub tamper: Tamper,
    /// Whether a model is asked for a verdict.
    pub model: VerdictMode,
    /// Which model is asked; `None` = the agent's own choice.
    pub model_name: Option<String>,
    /// How closely it looks.
    pub depth: Depth,
    /// What one verdict may cost.
    pub max_cost: Usd,
    /// How long one verdict may take; `None` = what the depth allows.
    #[serde(with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub model_timeout: Option<Duration>,
}

impl Default for Verify {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            pass_environment: Vec::new(),
            timeout: Duration::from_mins(10),
            baseline: Some(Duration::from_mins(5)),
            rerun: Rerun::Once,
            tamper: Tamper::Warn,
            model: VerdictMode::Auto,
            model_name: Some("haiku".to_owned()),
            depth: Depth::Standard,
            max_cost: Usd::from_cents(25),
            model_timeout: None,
        }
    }
}

impl Verify {
    /// How long one verdict of this depth may take.
    pub fn verdict_time(&self, depth: Depth) -> Duration {
        self.model_timeout.unwrap_or_else(|| depth.time())
    }
}

impl Settings {
    /// How closely a model looks at what is claimed. A plan is judged by the project that it is
    /// for: that takes a look at it.
    pub fn verdict_depth(&self) -> Depth {
        if self.is_about_a_plan() { Depth::Deep } else { self.verify.depth }
    }

    /// Whether what is judged is a plan, of which nothing is built yet.
    pub fn is_about_a_plan(&self) -> bool {
        self.completion.evidence.contains(&EvidenceKind::Planned)
    }
}

/// How closely a model looks before it gives its verdict.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// At what it is told, in a minute.
    Quick,
    /// At what it is told, with more of the changes.
    #[default]
    Standard,
    /// At the project itself, with tools that only read.
    Deep,
}

impl Depth {
    /// How long a verdict may take.
    pub fn time(self) -> Duration {
        match self {
            Self::Quick => Duration::from_mins(1),
            Self::Standard => Duration::from_mins(2),
            Self::Deep => Duration::from_mins(10),
        }
    }
}

/// Whether a failed check gets a second chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rerun {
    /// A check that fails and then passes is a pass, with a warning that it is flaky.
    Once,
    /// The first failure counts.
    Never,
}

/// What findings of the tamper guard lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tamper {
    /// The changes are not looked at.
    Off,
    /// Findings are warnings, and a model has the last word.
    Warn,
    /// Findings reject the claim.
    Reject,
}

/// Whether a model is asked for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictMode {
    /// When no command is configured, when the evidence is only words, or when the tamper guard
    /// found anything.
    Auto,
    /// At every claim.
    Always,
    /// Never; then a finding of the tamper guard rejects.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_decides_about_the_time_unless_somebody_did() {
        let verify = Verify::default();
        let minutes = [(Depth::Quick, 1), (Depth::Standard, 2), (Depth::Deep, 10)];
        for (depth, minutes) in minutes {
            assert_eq!(verify.verdict_time(depth), Duration::from_mins(minutes));
        }
        let own = Verify { model_timeout: Some(Duration::from_secs(5)), ..verify };
        assert_eq!(own.verdict_time(Depth::Deep), Duration::from_secs(5));
    }
}
