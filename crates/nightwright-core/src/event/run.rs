//! The run as a whole: how it begins, continues and ends.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::input::CheckResult;
use crate::outcome::Outcome;
use crate::settings::Settings;
use crate::units::{Tokens, Usd, millis};

event_group! {
    /// The run as a whole.
    RunEvent {
        /// A run began; the event holds all its settings.
        "run_started" => Started(Box<RunStarted>),
        /// A later process took the run over where an earlier one left it.
        "run_continued" => Continued {
            /// Why: after a crash, or an ended run with higher limits.
            why: Continuation,
        },
        /// The run ended; nothing is decided after this.
        "run_finished" => Finished {
            /// Why it ended.
            #[serde(flatten)]
            outcome: Outcome,
            /// What else there is to say about the outcome.
            note: Option<String>,
            /// The totals of the whole run.
            totals: Totals,
        },
    }
}

/// What the run was told.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RunStarted {
    /// All settings, resolved.
    pub settings: Settings,
    /// The agent program.
    pub agent: AgentFacts,
    /// The project folder.
    pub project: String,
    /// The commit the project was at, with git.
    #[serde(default)]
    pub git_head: Option<String>,
    /// How the agent's processes are held together.
    #[serde(default)]
    pub containment: String,
    /// The SHA-256 of each hook that was approved for this run, by the name of the hook.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<String, String>,
    /// What the checks came to before the first iteration of the run whose work this one judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Vec<CheckResult>>,
    /// The source of all chance in this run: a replay waits as long as the original.
    pub seed: u64,
}

/// The agent program.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentFacts {
    /// Which dialect it speaks.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// Its version, if it told.
    pub version: Option<String>,
}

/// Why a later process took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// The earlier one died.
    AfterCrash,
    /// The run had ended and got more room, or was to go on all the same.
    AfterEnd,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Iterations finished, failed and interrupted ones too.
    pub iterations: u32,
    /// Attempts.
    pub attempts: u32,
    /// Commits.
    pub commits: u32,
    /// Time at work.
    #[serde(with = "millis", rename = "duration_ms")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Time spent waiting for limits.
    #[serde(with = "millis", rename = "waited_ms")]
    #[schemars(with = "u64")]
    pub waited: Duration,
    /// What it all cost.
    pub cost: Usd,
    /// The part of the cost that is an estimate.
    pub estimated: Usd,
    /// All tokens.
    pub tokens: Tokens,
    /// Cost by purpose: `work`, `verify`, `review`, `advise`, `council`.
    pub by_purpose: BTreeMap<String, Spend>,
}

/// What one purpose came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Spend {
    /// How many attempts or calls.
    pub count: u32,
    /// What they cost.
    pub cost: Usd,
    /// Their tokens.
    pub tokens: Tokens,
}
