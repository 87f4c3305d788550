//! What an attempt tells the machine: little while it runs, everything once it is over.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::AttemptOutcome;
use crate::permissions::denial::Denial;
use crate::units::{Tokens, Usd, millis};

/// News of a running attempt or call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentNews {
    /// The program has started and says what it is.
    Ready(Ready),
    /// What it is doing and what it has used so far; sent at most once a second.
    Pulse(Pulse),
    /// A turn ended with a result and the input is still open: say something more, or close it.
    TurnEnded {
        /// How it ended.
        how: TurnEnd,
        /// What the watchdog noticed at its end, if anything.
        noticed: Option<WatchdogFinding>,
    },
    /// The watchdog noticed something in the middle of a turn.
    Noticed(WatchdogFinding),
    /// A use of a tool was not allowed.
    Denied(Denial),
    /// The provider refused the login; the program would go on asking for minutes.
    LoginRefused,
    /// How much of the account's quota is used.
    Quota(QuotaNews),
    /// It is over, and all its processes are gone. Comes once and last.
    Exited(Box<AttemptReport>),
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// By itself; the agent waits for what we have to say.
    Well,
    /// By itself, with a message of ours still to be worked on: another turn is about to begin.
    Queued,
    /// By an error of the provider or by a limit: nothing that we could say would help.
    Failed,
}

/// What the program said of itself when it was ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Ready {
    /// The model it works with.
    pub model: String,
    /// Its version.
    pub version: String,
    /// How it treats permissions.
    pub permission_mode: String,
    /// How many tools it has.
    pub tools: u32,
    /// Where the key comes from that it works with; empty for a login.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_key: String,
    /// Servers for further tools that did not come up.
    pub failed_servers: Vec<String>,
}

/// A sign of life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// How long ago its last line came.
    pub quiet: Duration,
    /// The tool calls that are going on, if any.
    pub tool: Option<RunningTool>,
    /// Whether a result has come, the input is closed and no message of ours waits: only the exit
    /// is missing.
    pub exiting: bool,
    /// Tokens seen so far.
    pub tokens: Tokens,
}

/// The tool calls that are going on, as far as deadlines need to know of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningTool {
    /// The name of the tool that has been running longest.
    pub name: String,
    /// For how long it has been running.
    pub running: Duration,
    /// How long ago the last heartbeat came of the call that has been without one for longest. A
    /// call that never gave any does not count.
    pub heartbeat: Option<Duration>,
}

/// Something in the agent's words or in the stream's rhythm that needs an answer.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WatchdogFinding {
    /// What kind of thing.
    pub signal: WatchdogSignal,
    /// The problem's key: the same problem in other words has the same one.
    pub key: String,
    /// The words themselves.
    pub text: String,
    /// The end of the agent's own message around them, as it was written: the options before a
    /// question, what was tried before a surrender. Empty where the words are all there is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
}

/// What the watchdog looks for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum WatchdogSignal {
    /// The agent gives up.
    GivingUp,
    /// The agent asks somebody who is not there.
    Asking,
    /// The same tool call over and over.
    Repetition,
    /// Tool errors in a row.
    ToolErrors,
    /// The context is compacted again and again.
    Compaction,
}

/// The account's quota as the agent reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct QuotaNews {
    /// Which window.
    pub window: QuotaWindow,
    /// How much of it is used, in percent.
    pub used: u8,
    /// When it starts anew, if that was said.
    pub resets_at: Option<Timestamp>,
}

/// The windows of an account's quota.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum QuotaWindow {
    /// Five hours.
    FiveHour,
    /// Seven days.
    SevenDay,
}

/// Everything about an attempt or call that is over.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AttemptReport {
    /// What came of it.
    pub outcome: AttemptOutcome,
    /// What it cost; `None` when the agent did not live to say.
    #[serde(default)]
    pub cost: Option<Usd>,
    /// What the tokens seen would cost by the price table; used when `cost` is unknown.
    #[serde(default)]
    pub priced: Option<Usd>,
    /// Tokens by kind.
    #[serde(default)]
    pub tokens: Tokens,
    /// Turns, as the agent counts them.
    #[serde(default)]
    pub turns: u32,
    /// What its own words amount to.
    #[serde(default)]
    pub text_evidence: TextEvidence,
    /// Uses of tools that were not allowed.
    #[serde(default)]
    pub denied: Vec<Denial>,
    /// Files that its tools wrote or edited, each once, the first of them; `None` = not known. What a
    /// shell wrote is not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Vec<String>>,
    /// The answer, if this was a call.
    #[serde(default)]
    pub answer: Option<Answer>,
    /// How many of our messages after the prompt it took up, the first of them; `None` = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<u32>,
    /// What was in its stream, and what is new about it.
    #[serde(flatten)]
    pub stream: StreamFacts,
    /// Kinds of events and fields that no version we know of prints, each once, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

impl AttemptReport {
    /// A report of an attempt of which nothing but the outcome is known.
    pub fn bare(outcome: AttemptOutcome) -> Self {
        Self {
            outcome,
            cost: None,
            priced: None,
            tokens: Tokens::default(),
            turns: 0,
            text_evidence: TextEvidence::default(),
            denied: Vec::new(),
            edited: None,
            answer: None,
            acknowledged: None,
            stream: StreamFacts::default(),
            unknown: Vec::new(),
        }
    }
}

/// Plain facts about what a program printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamFacts {
    /// Bytes on standard output.
    pub stdout_bytes: u64,
    /// Bytes on standard error.
    pub stderr_bytes: u64,
    /// Lines that were no messages.
    pub bad_lines: u64,
    /// Events and results with something in them that no version we know of prints.
    pub unknown_events: u64,
    /// Results: one for each turn.
    pub results: u32,
    /// Tool calls, those of sub-agents too.
    pub tool_calls: u32,
    /// Tool calls that failed.
    pub tool_errors: u32,
    /// Time from the last line to the end.
    #[serde(with = "millis", rename = "quiet_ms")]
    #[schemars(with = "u64")]
    pub quiet: Duration,
}

/// What the agent's own words amount to. Thinking, tools, files and sub-agents have no say here.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct TextEvidence {
    /// The final message has a completion marker that counts.
    pub promise: bool,
    /// Why a completion marker in the final message was not counted, as the rest of a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker_ignored: Option<String>,
    /// The completion signal was in the final message.
    pub signal: bool,
    /// The end phrase was near the end of the final message.
    pub end_phrase: bool,
    /// The final message says, in whatever words, that all is done.
    pub states_done: bool,
    /// What the agent says it can't go on without.
    pub blockers: Vec<Blocker>,
    /// A conflict of principles it could not resolve.
    pub conflict: Option<String>,
    /// What the watchdog noticed and has not answered.
    pub findings: Vec<WatchdogFinding>,
    /// The first words of the final message, for people.
    pub summary: String,
}

/// Something that only a person can give.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Blocker {
    /// The same blocker has the same key; each is told once a run.
    pub key: String,
    /// What is needed.
    pub text: String,
}

/// What a call was asked for.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// A verdict on a claim.
    Verdict(Verdict),
    /// Free text: advice, a decision.
    Text {
        /// The text.
        text: String,
    },
}

/// A model's verdict on a claim of completion.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the work is complete.
    pub complete: bool,
    /// Why.
    pub reason: String,
    /// What is missing.
    #[serde(default)]
    pub missing: Vec<String>,
}
