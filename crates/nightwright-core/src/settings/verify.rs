//! Settings of the gate: checks, tamper inspection and verdict.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EvidenceKind, Settings};
use crate::units::{Usd, millis};

/// The gate: everything that a claim of completion must pass.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Verify {
    /// Commands that must exit with 0. nightwright fixes them at the start, so changes by the agent
    /// have no effect.
    pub commands: Vec<String>,
    /// Those of the commands that run outside the sandbox.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Credential variables that checks and hooks receive nevertheless; names may contain `*`.
    pub pass_environment: Vec<String>,
    /// The timeout of each command, in milliseconds.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub timeout: Duration,
    /// The time for all commands together before the first iteration, in milliseconds; `null`:
    /// they do not run then.
    #[serde(with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub baseline: Option<Duration>,
    /// When the commands run after an iteration that claims nothing.
    pub every: Every,
    /// Whether a failed command runs a second time.
    pub rerun: Rerun,
    /// The consequence of findings of the tamper inspection.
    pub tamper: Tamper,
    /// When nightwright asks a model for a verdict.
    pub model: VerdictMode,
    /// The model that gives the verdict; `null`: the agent's default.
    pub model_name: Option<String>,
    /// How closely the model inspects the work.
    pub depth: Depth,
    /// The maximum cost of one verdict, in US dollars.
    pub max_cost: Usd,
    /// The timeout of one verdict in milliseconds; `null`: the default of the depth.
    #[serde(with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub model_timeout: Option<Duration>,
}

impl Default for Verify {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            outside: Vec::new(),
            pass_environment: Vec::new(),
            timeout: Duration::from_mins(10),
            baseline: Some(Duration::from_mins(5)),
            every: Every::Auto,
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
    /// Whether this command runs outside the sandbox, if there is one.
    pub fn runs_outside(&self, command: &str) -> bool {
        self.outside.iter().any(|outside| outside == command)
    }

    /// The timeout of one verdict of this depth.
    pub fn verdict_time(&self, depth: Depth) -> Duration {
        self.model_timeout.unwrap_or_else(|| depth.time())
    }
}

impl Settings {
    /// The checks that run outside the sandbox that nightwright makes.
    pub fn checks_outside(&self) -> Vec<String> {
        if !self.sandbox.kind.is_made_here() {
            return Vec::new();
        }
        let outside = |command: &&String| self.verify.runs_outside(command);
        self.verify.commands.iter().filter(outside).cloned().collect()
    }

    /// The depth of the verdict. A plan can only be judged by looking at its project, so plans get
    /// the deepest.
    pub fn verdict_depth(&self) -> Depth {
        if self.is_about_a_plan() { Depth::Deep } else { self.verify.depth }
    }

    /// Whether the gate judges a plan that is not implemented yet.
    pub fn is_about_a_plan(&self) -> bool {
        self.completion.evidence.contains(&EvidenceKind::Planned)
    }
}

/// How closely a model inspects the work before its verdict.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// Only the prompt, in about a minute.
    Quick,
    /// Only the prompt, with more of the changes.
    #[default]
    Standard,
    /// The project itself, with read-only tools.
    Deep,
}

impl Depth {
    /// The default timeout of a verdict of this depth.
    pub fn time(self) -> Duration {
        match self {
            Self::Quick => Duration::from_mins(1),
            Self::Standard => Duration::from_mins(2),
            Self::Deep => Duration::from_mins(10),
        }
    }
}

/// When the checks run after an iteration that changed something and claims nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Every {
    /// After each iteration if they take at most 2 minutes. Slower checks run less often: they
    /// take less than a fifth of the active time.
    Auto,
    /// After each iteration, however slow they are.
    Always,
    /// Never: they run only for a claim.
    Claim,
}

/// Whether a failed check runs a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rerun {
    /// Once: a check that then passes counts as passed, with a warning that it is flaky.
    Once,
    /// Never: the first failure counts.
    Never,
}

/// The consequence of findings of the tamper inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tamper {
    /// nightwright does not inspect the changes.
    Off,
    /// Findings are warnings, and a model decides.
    Warn,
    /// Findings reject the claim.
    Reject,
}

/// When nightwright asks a model for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictMode {
    /// Without checks, for evidence of only words, or after findings of the tamper inspection.
    Auto,
    /// For every claim of completion.
    Always,
    /// Never; findings of the tamper inspection then reject the claim.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_sets_the_timeout_unless_it_is_configured() {
        let verify = Verify::default();
        let minutes = [(Depth::Quick, 1), (Depth::Standard, 2), (Depth::Deep, 10)];
        for (depth, minutes) in minutes {
            assert_eq!(verify.verdict_time(depth), Duration::from_mins(minutes));
        }
        let own = Verify { model_timeout: Some(Duration::from_secs(5)), ..verify };
        assert_eq!(own.verdict_time(Depth::Deep), Duration::from_secs(5));
    }
}
