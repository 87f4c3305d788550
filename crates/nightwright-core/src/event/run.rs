//! Events of the run as a whole: how it starts, continues and ends.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::input::CheckResult;
use crate::outcome::Outcome;
use crate::settings::{SandboxKind, Settings};
use crate::stream::dialect::Dialect;
use crate::units::{Tokens, Usd, millis};

event_group! {
    /// The run as a whole: start, continuation and end.
    RunEvent {
        /// A run started; the event contains all its settings.
        "run_started" => Started(Box<RunStarted>),
        /// A later process took over the run from an earlier one.
        "run_continued" => Continued {
            /// Whether the run continues after a crash or after its end.
            why: Continuation,
        },
        /// The run ended; no decision follows.
        "run_finished" => Finished {
            /// Why the run ended.
            #[serde(flatten)]
            outcome: Outcome,
            /// Additional information about the outcome; `null` if there is none.
            note: Option<String>,
            /// The totals of the whole run.
            totals: Totals,
        },
    }
}

/// The settings and the environment that a run starts with.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RunStarted {
    /// All settings, with defaults and overrides resolved.
    pub settings: Settings,
    /// The agent program that the run uses.
    pub agent: AgentFacts,
    /// The path of the project folder.
    pub project: String,
    /// The hash of the project's commit; `null` without git or commits.
    #[serde(default)]
    pub git_head: Option<String>,
    /// The mechanism that contains the agent's processes.
    #[serde(default)]
    pub containment: String,
    /// The kind of the sandbox; `off` without one.
    #[serde(default)]
    pub sandbox: SandboxKind,
    /// The SHA-256 of each approved hook of this run, by hook name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<String, String>,
    /// The check results before the first iteration of the run whose work this one verifies; absent
    /// in other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Vec<CheckResult>>,
    /// The seed of all randomness in this run; a replay waits as long as the original.
    pub seed: u64,
}

/// Facts about the agent program.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentFacts {
    /// The name of the agent's dialect; `rehearsal` in a rehearsal.
    pub name: String,
    /// The path of the agent program.
    pub path: String,
    /// The agent's version; `null` if it reported none.
    pub version: Option<String>,
}

impl AgentFacts {
    /// The kind of the agent. Unknown names in older journals count as Claude Code.
    pub fn kind(&self) -> AgentKind {
        let named = AgentKind::ALL.into_iter().find(|kind| kind.name() == self.name);
        named.unwrap_or(AgentKind::Claude)
    }
}

/// The kinds of agent programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentKind {
    Claude,
    /// A program that reads the prompt and prints text.
    Command,
    /// The built-in agent of rehearsals.
    Rehearsal,
}

impl AgentKind {
    const ALL: [Self; 3] = [Self::Claude, Self::Command, Self::Rehearsal];

    /// The name in journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude | Self::Command => self.dialect().name(),
            Self::Rehearsal => "rehearsal",
        }
    }

    /// The format of its command line and output.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Claude | Self::Rehearsal => Dialect::Claude,
            Self::Command => Dialect::Command,
        }
    }
}

/// Why a later process took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// The earlier process crashed, or a signal killed it.
    AfterCrash,
    /// The run had ended, and you resumed it, with or without higher limits.
    AfterEnd,
}

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Iterations that ended, including failed and interrupted ones.
    pub iterations: u32,
    /// Number of attempts in all iterations.
    pub attempts: u32,
    /// Number of commits in all iterations.
    pub commits: u32,
    /// Working time in milliseconds, without waits.
    #[serde(with = "millis", rename = "duration_ms")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Time spent waiting for limits, in milliseconds.
    #[serde(with = "millis", rename = "waited_ms")]
    #[schemars(with = "u64")]
    pub waited: Duration,
    /// The total cost, in US dollars.
    pub cost: Usd,
    /// The estimated part of the cost, in US dollars.
    pub estimated: Usd,
    /// Tokens of all attempts and calls.
    pub tokens: Tokens,
    /// Cost and tokens by purpose: `work`, `verify`, `review`, `advise`, `council`.
    pub by_purpose: BTreeMap<String, Spend>,
}

/// Cost and tokens for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Spend {
    /// Number of attempts or calls.
    pub count: u32,
    /// Their total cost, in US dollars.
    pub cost: Usd,
    /// Their total number of tokens.
    pub tokens: Tokens,
}
