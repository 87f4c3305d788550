//! Agent messages: the common form of what any agent program can report while it works.
//!
//! Messages borrow from the line they were read from. Most lines are read once and dropped, so
//! copying each would cost more than reading it.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

use super::news::{QuotaNews, Ready};
use crate::units::{Tokens, Usd};

/// A message and its sender.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentMessage<'a> {
    /// The agent that sent the message.
    pub owner: Owner<'a>,
    pub kind: MessageKind<'a>,
}

impl AgentMessage<'_> {
    /// Returns the text, if the message is a complete text of the main agent.
    pub fn main_text(&self) -> Option<&str> {
        match &self.kind {
            MessageKind::Text { text, part: TextPart::Whole } if self.owner.is_main() => Some(text),
            _ => None,
        }
    }
}

/// The sender of a message. Only the main agent's words count as the agent's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The agent that received the prompt.
    Main,
    /// An agent that the main agent started with a tool call.
    Sub {
        /// The ID of that call.
        call: Cow<'a, str>,
    },
}

impl Owner<'_> {
    /// Whether the owner is the agent that received the prompt.
    pub fn is_main(&self) -> bool {
        match self {
            Self::Main => true,
            Self::Sub { .. } => false,
        }
    }
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageKind<'a> {
    /// The program is ready. Some programs report this at the start of every turn.
    Ready(Ready),
    /// Text written by the agent.
    Text {
        text: Cow<'a, str>,
        /// Whether the text is complete.
        part: TextPart,
    },
    /// The agent is thinking. Thoughts never count as evidence.
    Thinking,
    /// The agent calls a tool.
    ToolCall {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        /// The arguments of the call, as JSON.
        input: &'a str,
    },
    /// A tool call returned a result.
    ToolResult {
        id: Cow<'a, str>,
        status: ToolStatus,
        /// The result as JSON: a string or a list of blocks.
        content: &'a str,
    },
    /// A tool call is still running.
    Heartbeat { id: Cow<'a, str> },
    /// A request to the provider failed and will be retried.
    ApiRetry {
        /// The HTTP status, if there was a response.
        status: Option<u16>,
        /// The time that the program waits before the retry.
        delay: Duration,
    },
    /// The rate limits of the account.
    RateLimit(RateLimit),
    /// A tool call was denied.
    Denied {
        tool: Cow<'a, str>,
        /// The ID of the call; empty if unknown. Its result, an error, follows later.
        id: Cow<'a, str>,
        /// The program's reason; empty if it gave none.
        why: Cow<'a, str>,
    },
    /// The usage of a model's message, reported at its start or end.
    Usage {
        /// Whether these are the final figures of the message.
        when: UsageAt,
        /// The ID of the message; empty if unknown.
        id: Cow<'a, str>,
        /// The model; empty if it was not repeated.
        model: Cow<'a, str>,
        tokens: Tokens,
    },
    /// An error of the provider that the program reports as a message of the agent.
    SyntheticError(ErrorFacts),
    /// The context was compacted to continue.
    Compaction,
    /// A turn has ended.
    Result(Box<ResultFacts>),
    /// The program has taken up messages that were sent to it.
    Acknowledged {
        /// The number of messages taken up.
        messages: u32,
    },
    /// Any other known event: only a sign of life.
    Other {
        /// The name of the event.
        kind: Cow<'a, str>,
    },
    /// An event that no supported version prints: also a sign of life.
    Unknown {
        /// The name of the event.
        kind: Cow<'a, str>,
    },
}

/// Whether a string is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart {
    /// A complete block of text.
    Whole,
    /// The next words of a block that will be repeated as a whole.
    Delta,
    /// The end of a block, without text. The next text belongs to another block.
    End,
}

/// The result of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    Ok,
    Failed,
}

/// The point in a message at which its usage was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageAt {
    /// At the start: the input is known, the output is not.
    Start,
    /// On a part of the message: equal to the figures at the start, and needed only if those are
    /// missing.
    Part,
    /// At the end: the final figures.
    End,
}

/// The account's rate limits, as the program reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    /// Whether the provider rejected a request because of them.
    pub rejected: bool,
    /// When the decisive limit resets, if known.
    pub resets_at: Option<Timestamp>,
    /// The used share of each window, as far as reported.
    pub windows: Vec<QuotaNews>,
}

/// An error of the provider, as the program reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorFacts {
    /// The program's name for the kind of error.
    pub kind: String,
    /// A more specific name, if the program has one.
    pub detail: String,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The message for people.
    pub text: String,
}

/// A denied tool call, as reported at the end of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedCall {
    pub id: String,
    pub tool: String,
    /// The command, file or address of the call.
    pub input: String,
}

/// The end of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultFacts {
    /// The program's name for this kind of result.
    pub subtype: String,
    /// Whether the turn ended with an error.
    pub is_error: bool,
    /// The final message, or the text of the error; `None` if neither was given.
    pub text: Option<String>,
    pub errors: Vec<String>,
    /// The reason why the model stopped.
    pub stop_reason: String,
    /// The reason why the turn ended.
    pub terminal_reason: String,
    /// The error of the provider, as far as the result reports it.
    pub error: ErrorFacts,
    /// The reason why the program could not start to work; empty if it could.
    pub startup_failure: String,
    /// An answer in the requested format, as JSON.
    pub structured: Option<String>,
    /// The number of turns as counted by the program, if reported.
    pub turns: Option<u32>,
    /// The duration by the program's clock.
    pub took: Duration,
    /// The cost of this turn alone, if reported.
    pub turn_cost: Option<Usd>,
    /// The tokens of this turn alone, of all models, if reported.
    pub turn_tokens: Option<Tokens>,
    /// The cost of all turns so far, if reported.
    pub total_cost: Option<Usd>,
    /// The tokens of all turns so far, of all models, if reported.
    pub total_tokens: Option<Tokens>,
    /// The denied tool calls of the turn.
    pub denied: Vec<DeniedCall>,
    /// The number of earlier results, if reported.
    pub index: Option<u32>,
    /// The first fields that no supported version has.
    pub unknown_fields: Vec<String>,
}

/// A line that is not a message. It is skipped; the attempt continues.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a message: {why}")]
pub struct BadLine {
    pub why: String,
}
