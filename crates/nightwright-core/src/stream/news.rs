//! Reports of an attempt to the state machine: news while it runs, and a full report at its end.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::AttemptOutcome;
use crate::permissions::denial::Denial;
use crate::phrases;
use crate::units::{Tokens, Usd, millis};

/// News of a running attempt or call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentNews {
    /// The program has started and describes itself.
    Ready(Ready),
    /// The current activity and usage, sent at most once per second.
    Pulse(Pulse),
    /// A turn ended with a result and the input is still open: send another message, or close it.
    TurnEnded {
        how: TurnEnd,
        /// The watchdog's finding at the end of the turn, if any.
        noticed: Option<WatchdogFinding>,
    },
    /// The watchdog's finding in the middle of a turn.
    Noticed(WatchdogFinding),
    /// A tool call was denied.
    Denied(Denial),
    /// The provider refused the login; the program would keep retrying for minutes.
    LoginRefused,
    /// The used share of the account's quota.
    Quota(QuotaNews),
    /// The attempt has ended, and all its processes have exited. Sent once, as the last news.
    Exited(Box<AttemptReport>),
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent finished and waits for a message.
    Well,
    /// The agent finished and a message is queued: another turn is about to begin.
    Queued,
    /// An error of the provider or a limit ended the turn: a message would not help.
    Failed,
}

/// The program's description of itself when it is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Ready {
    /// The model that the agent works with.
    pub model: String,
    /// The version of the agent program.
    pub version: String,
    /// The permission mode of the agent program.
    pub permission_mode: String,
    /// The number of available tools.
    pub tools: u32,
    /// The source of the API key; empty for a login.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_key: String,
    /// The MCP servers that failed to start.
    pub failed_servers: Vec<String>,
    /// The kinds of extensions that the program has loaded. A judge must have none.
    #[serde(skip)]
    pub loaded: Vec<&'static str>,
}

/// A periodic activity report of a running attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// The time since its last line.
    pub quiet: Duration,
    /// The running tool calls, if any.
    pub tool: Option<RunningTool>,
    /// Whether a result has arrived, the input is closed and no message waits: only the exit is
    /// outstanding.
    pub exiting: bool,
    pub tokens: Tokens,
}

/// The running tool calls, as far as deadlines depend on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningTool {
    /// The name of the longest-running tool.
    pub name: String,
    /// The time for which it has been running.
    pub running: Duration,
    /// The time since the last heartbeat of the call without one for the longest time. A call that
    /// never sent a heartbeat does not count.
    pub heartbeat: Option<Duration>,
}

/// A finding of the watchdog in the agent's words or tool calls that needs a response.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WatchdogFinding {
    /// The kind of problem found.
    pub signal: WatchdogSignal,
    /// The key of the problem: the same problem in other words has the same key.
    pub key: String,
    /// The sentence or event that the watchdog found.
    pub text: String,
    /// The end of the agent's message around the text, as written: the options before a question,
    /// or the failed attempts before the agent gives up. Empty if the text is the whole message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
}

/// A problem that the watchdog looks for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum WatchdogSignal {
    /// The agent gives up on the task.
    GivingUp,
    /// The agent asks a question that gets no answer.
    Asking,
    /// The agent repeats the same tool call.
    Repetition,
    /// Several consecutive tool calls failed.
    ToolErrors,
    /// The agent compacts its context repeatedly.
    Compaction,
}

/// The account's quota, as the agent reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct QuotaNews {
    /// The window that the quota applies to.
    pub window: QuotaWindow,
    /// The used share in percent.
    pub used: u8,
    /// When the window resets, if reported.
    pub resets_at: Option<Timestamp>,
}

/// A window of an account's quota.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum QuotaWindow {
    /// The window of five hours.
    FiveHour,
    /// The window of seven days.
    SevenDay,
}

/// All facts about a finished attempt or call.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AttemptReport {
    /// The outcome of the attempt or call.
    pub outcome: AttemptOutcome,
    /// The cost that the agent reported; absent if the agent exited without a result.
    #[serde(default)]
    pub cost: Option<Usd>,
    /// The cost of the tokens seen, by the price table; used when `cost` is unknown.
    #[serde(default)]
    pub priced: Option<Usd>,
    /// The tokens used, by kind.
    #[serde(default)]
    pub tokens: Tokens,
    /// The number of turns, as the agent counts them.
    #[serde(default)]
    pub turns: u32,
    /// The evidence in the agent's own words.
    #[serde(default)]
    pub text_evidence: TextEvidence,
    /// The denied tool calls.
    #[serde(default)]
    pub denied: Vec<Denial>,
    /// The first files that its tools wrote or edited, each once; absent if unknown. Excludes files
    /// that a shell wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Vec<String>>,
    /// The answer, if this was a call.
    #[serde(default)]
    pub answer: Option<Answer>,
    /// The number of messages after the prompt that the agent took up; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<u32>,
    /// Statistics of the agent's output stream.
    #[serde(flatten)]
    pub stream: StreamFacts,
    /// The first kinds of events and fields that no supported version prints, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

impl AttemptReport {
    /// A report with nothing but the outcome.
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

/// Statistics of the output of an agent program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamFacts {
    /// The number of bytes on standard output.
    pub stdout_bytes: u64,
    /// The number of bytes on standard error.
    pub stderr_bytes: u64,
    /// The number of lines that were not messages.
    pub bad_lines: u64,
    /// The number of events and results with content that no supported version prints.
    pub unknown_events: u64,
    /// The number of results: one per turn.
    pub results: u32,
    /// The number of tool calls, including those of sub-agents.
    pub tool_calls: u32,
    /// The number of tool calls that failed.
    pub tool_errors: u32,
    /// The time from the last line to the end.
    #[serde(with = "millis", rename = "quiet_ms")]
    #[schemars(with = "u64")]
    pub quiet: Duration,
}

/// The evidence in the agent's own words. Thinking, tools, files and sub-agents do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct TextEvidence {
    /// Whether the final message contains a valid completion marker.
    pub promise: bool,
    /// The reason why a completion marker in the final message did not count, as the rest of a
    /// sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker_ignored: Option<String>,
    /// Whether the final message contains the completion signal.
    pub signal: bool,
    /// Whether the end phrase is near the end of the final message.
    pub end_phrase: bool,
    /// Whether the final message says, in any words, that everything is done.
    pub states_done: bool,
    /// The blockers that the agent names.
    pub blockers: Vec<Blocker>,
    /// The decisions that the agent reports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<StatedDecision>,
    /// A conflict between principles that the agent could not resolve.
    pub conflict: Option<String>,
    /// The watchdog's unanswered findings.
    pub findings: Vec<WatchdogFinding>,
    /// The first words of the final message, for display.
    pub summary: String,
}

/// Something that only a person can resolve.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Blocker {
    /// Identifies the blocker: nightwright reports each key once per run.
    pub key: String,
    /// The missing thing, or the whole text of a blocker without fields.
    pub description: String,
    /// The action that a person has to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// How the work continues after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The evidence that the task is impossible as specified; absent for other blockers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
}

impl Blocker {
    /// The key of the blocker that names the denied commands.
    pub const PERMISSIONS: &str = "permissions";

    /// A blocker with only a description.
    pub fn new(key: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            description: description.into(),
            action: None,
            resume: None,
            impossible: None,
        }
    }

    /// The fields after the description, with their labels.
    pub fn details(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let Self { key: _, description, action, resume, impossible } = self;
        let evidence = impossible.as_ref().filter(|evidence| *evidence != description);
        let labelled =
            [("Action", action.as_ref()), ("Resume", resume.as_ref()), ("Impossible", evidence)];
        labelled.into_iter().filter_map(|(label, text)| Some((label, text?.as_str())))
    }

    /// All fields as one text: `a key. Action: send it`.
    pub fn sentence(&self) -> String {
        let mut text = self.description.clone();
        for (label, detail) in self.details() {
            text = joined(&text, &format!("{label}: {detail}"));
        }
        text
    }

    /// Returns the blocker with `change` applied to its strings.
    #[must_use]
    pub fn map(&self, change: impl Fn(&str) -> String) -> Self {
        Self {
            key: self.key.clone(),
            description: change(&self.description),
            action: self.action.as_deref().map(&change),
            resume: self.resume.as_deref().map(&change),
            impossible: self.impossible.as_deref().map(&change),
        }
    }

    /// The beginning of the line that gives evidence that the task is impossible.
    pub const IMPOSSIBLE: &str = "Impossible:";

    /// Whether the blocker reports that the task is impossible as specified.
    pub fn is_impossible(&self) -> bool {
        self.impossible.is_some()
    }

    /// The report that the task is impossible, with its evidence.
    pub fn impossibility(&self) -> Option<String> {
        let evidence = self.impossible.as_ref()?;
        let is_repeated = *evidence == self.description;
        Some(if is_repeated { evidence.clone() } else { joined(&self.description, evidence) })
    }
}

/// Two sentences, the first with a full stop. The second starts with a capital letter, unless its
/// first word may be code.
fn joined(first: &str, second: &str) -> String {
    let stop = if first.ends_with(['.', '!', '?', ':', ';']) { "" } else { "." };
    let word = second.split(' ').next().unwrap_or_default();
    let may_be_code = !word.chars().all(char::is_alphabetic);
    let second = if may_be_code { second } else { &phrases::capitalized(second) };
    format!("{first}{stop} {second}")
}

/// A decision that the agent reports, in the lines `**Decision**:` and `**Rationale**:`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StatedDecision {
    /// The decision of the agent.
    pub decision: String,
    /// The reason, if the agent gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// A verdict on a claim.
    Verdict(Verdict),
    /// Free text, such as advice or a decision.
    Text {
        /// The text of the answer.
        text: String,
    },
}

/// A model's verdict on a claim of completion.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the work is complete.
    pub complete: bool,
    /// The reason for the verdict.
    pub reason: String,
    /// The items that are missing.
    #[serde(default)]
    pub missing: Vec<String>,
}
