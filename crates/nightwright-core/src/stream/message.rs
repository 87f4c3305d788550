//! What any agent can say while it works, whatever its program is called.
//!
//! Messages borrow from the line they were read from: most lines are looked at once and forgotten,
//! and copying each would cost more than reading it.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

use super::report::{QuotaNews, Ready};
use crate::units::{Tokens, Usd};

/// One thing that was said, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentMessage<'a> {
    /// Who said it.
    pub owner: Owner<'a>,
    /// What.
    pub kind: MessageKind<'a>,
}

/// Who said something. Only the main agent's words count as the agent's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The agent that got the prompt.
    Main,
    /// An agent that the main one started by a tool call.
    Sub {
        /// The id of that call.
        call: Cow<'a, str>,
    },
}

impl Owner<'_> {
    /// Whether it is the agent that got the prompt.
    pub fn is_main(&self) -> bool {
        match self {
            Self::Main => true,
            Self::Sub { .. } => false,
        }
    }
}

/// What was said.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageKind<'a> {
    /// The program is ready. Some say so at the beginning of every turn.
    Ready(Ready),
    /// Words of the agent.
    Text {
        /// The words.
        text: Cow<'a, str>,
        /// Whether they are all there.
        part: TextPart,
    },
    /// The agent thinks. Its thoughts are nobody's evidence.
    Thinking,
    /// A tool is being called.
    ToolCall {
        /// The id of the call.
        id: Cow<'a, str>,
        /// The tool's name.
        name: Cow<'a, str>,
        /// What it is called with, as JSON.
        input: &'a str,
    },
    /// A tool call came back.
    ToolResult {
        /// The id of the call.
        id: Cow<'a, str>,
        /// How it went.
        status: ToolStatus,
        /// What it gave, as JSON: a string or a list of blocks.
        content: &'a str,
    },
    /// A tool call is still running.
    Heartbeat {
        /// The id of the call.
        id: Cow<'a, str>,
    },
    /// A request to the provider failed and will be made again.
    ApiRetry {
        /// The status of the answer, if there was one.
        status: Option<u16>,
        /// How long the program waits before.
        delay: Duration,
    },
    /// The account's limits.
    RateLimit(RateLimit),
    /// A tool was not allowed.
    Denied {
        /// The tool's name.
        tool: Cow<'a, str>,
        /// The call; empty where that was not said. Its result, an error, comes later.
        id: Cow<'a, str>,
        /// The program's reason; empty where there is none.
        why: Cow<'a, str>,
    },
    /// A message of the model began or ended, and this is what it used.
    Usage {
        /// Whether these are the message's last figures.
        when: UsageAt,
        /// The message; empty where that was not said.
        id: Cow<'a, str>,
        /// The model; empty where it was not said again.
        model: Cow<'a, str>,
        /// What was used.
        tokens: Tokens,
    },
    /// The program reports an error of the provider in the shape of a message of the agent.
    SyntheticError(ErrorFacts),
    /// The context was cut down to go on.
    Compaction,
    /// A turn is over.
    Result(Box<ResultFacts>),
    /// The program has taken up what we said to it.
    Acknowledged {
        /// How many messages.
        messages: u32,
    },
    /// Something else that is known: a sign of life and no more.
    Other {
        /// What it calls itself.
        kind: Cow<'a, str>,
    },
    /// Something that no version we know of says. A sign of life, too.
    Unknown {
        /// What it calls itself.
        kind: Cow<'a, str>,
    },
}

/// Whether words are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart {
    /// A whole block of text.
    Whole,
    /// The next few words of a block that will be repeated as a whole.
    Delta,
    /// None: that was the last of the block. What comes next is another one.
    End,
}

/// How a tool call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// Well.
    Ok,
    /// Not well.
    Failed,
}

/// Which figures of a message these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageAt {
    /// Those at its beginning: what was read is known, what will be written is not.
    Start,
    /// Those that stand on a part of it: as good as those at its beginning, and of use only if
    /// those were not said.
    Part,
    /// Those at its end.
    End,
}

/// The account's limits, as the program reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    /// Whether the account was refused because of them.
    pub rejected: bool,
    /// When the limit that matters ends, if that was said.
    pub resets_at: Option<Timestamp>,
    /// How much of each window is used, as far as that was said.
    pub windows: Vec<QuotaNews>,
}

/// An error of the provider, in the program's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorFacts {
    /// The program's name for the kind of error.
    pub kind: String,
    /// A finer name, where it has one.
    pub detail: String,
    /// The status of the provider's answer, if there was one.
    pub status: Option<u16>,
    /// The text for people.
    pub text: String,
}

/// A call of a tool that was not allowed, as the end of a turn tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedCall {
    /// The id of the call.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The command, file or address.
    pub input: String,
}

/// The end of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultFacts {
    /// The program's name for this kind of ending.
    pub subtype: String,
    /// Whether it counts as an error.
    pub is_error: bool,
    /// The final message, or the text of the error; `None` where neither was given.
    pub text: Option<String>,
    /// Further texts of errors.
    pub errors: Vec<String>,
    /// Why the model stopped.
    pub stop_reason: String,
    /// Why the turn ended.
    pub terminal_reason: String,
    /// The error of the provider, as far as the result itself tells.
    pub error: ErrorFacts,
    /// Why the program could not start to work, if it could not.
    pub startup_failure: String,
    /// An answer in a form that was asked for, as JSON.
    pub structured: Option<String>,
    /// Turns, as the program counts them, if it said.
    pub turns: Option<u32>,
    /// How long it took, by the program's clock.
    pub took: Duration,
    /// Cost of this turn alone, if it was said.
    pub turn_cost: Option<Usd>,
    /// Tokens of this turn alone, of all models, if they were said.
    pub turn_tokens: Option<Tokens>,
    /// Cost of all turns so far, if it was said.
    pub total_cost: Option<Usd>,
    /// Tokens of all turns so far, of all models, if they were said.
    pub total_tokens: Option<Tokens>,
    /// Calls of tools that were not allowed.
    pub denied: Vec<DeniedCall>,
    /// How many results there were before it, if that was said.
    pub index: Option<u32>,
    /// Fields that no version we know of has, the first of them.
    pub unknown_fields: Vec<String>,
}

/// A line that is no message. It costs one line, never the attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a message: {why}")]
pub struct BadLine {
    /// What is wrong with it.
    pub why: String,
}
