//! The shape of a line: what we use of it and nothing else.
//!
//! Fields that are not named here are skipped without being looked at, so junk in them does no
//! harm.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::{Flag, List, MessageOrText, Number, Object, Text, Values};
use crate::agent::decode::Kept;
use crate::agent::dialect::SHOWN_TEXT_MAX;

/// What is read of long strings. Of the agent's own words as much as is kept of them, of what a
/// tool gave as much as the program lets a command print; the same once more for the program's own
/// screen, files and pictures is of no use to us.
pub const STRINGS: Kept = Kept {
    named: &[("text", 1 << 20), ("result", 1 << 20), ("content", 32 << 10)],
    others: 8 << 10,
};

/// What people are shown of long strings: of what is said, asked of a tool and given by it as much as
/// anybody reads; nothing else is shown at all.
pub const SHOWN_STRINGS: Kept = Kept {
    named: &[
        ("text", SHOWN_TEXT_MAX),
        ("content", SHOWN_TEXT_MAX),
        ("old_string", SHOWN_TEXT_MAX),
        ("new_string", SHOWN_TEXT_MAX),
    ],
    others: 8 << 10,
};

/// Everything that any line can have and that we use, so that a line is read once.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) subtype: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) message: MessageOrText<'a>,
    #[serde(borrow)]
    pub(super) event: Object<StreamEvent<'a>>,

    // Errors of the provider.
    #[serde(borrow)]
    pub(super) error: Text<'a>,
    #[serde(borrow)]
    pub(super) api_error: Text<'a>,
    pub(super) api_error_status: Number,
    pub(super) is_api_error_message: Flag,

    // The end of a turn.
    pub(super) is_error: Flag,
    #[serde(borrow)]
    pub(super) result: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) errors: List<Text<'a>>,
    pub(super) num_turns: Number,
    pub(super) duration_ms: Number,
    pub(super) total_cost_usd: Number,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) terminal_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) startup_failure_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) structured_output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) permission_denials: List<Object<DeniedCall<'a>>>,
    pub(super) result_index: Number,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: Values<Object<ModelUsage>>,
    pub(super) model_usage_since_last_result: Values<Object<ModelUsage>>,

    // The beginning.
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) claude_code_version: Text<'a>,
    #[serde(rename = "apiKeySource", borrow)]
    pub(super) api_key_source: Text<'a>,
    #[serde(rename = "permissionMode", borrow)]
    pub(super) permission_mode: Text<'a>,
    #[serde(borrow)]
    pub(super) tools: List<Text<'a>>,
    #[serde(borrow)]
    pub(super) mcp_servers: List<Object<Server<'a>>>,

    // Everything else.
    #[serde(rename = "isReplay")]
    pub(super) is_replay: Flag,
    #[serde(borrow)]
    pub(super) tool_name: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Text<'a>,
    pub(super) error_status: Number,
    pub(super) retry_delay_ms: Number,
    #[serde(borrow)]
    pub(super) rate_limit_info: Object<Limits<'a>>,
}

/// What there is in a line that brings a piece of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) event: Object<StreamEvent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) content: List<Object<Block<'a>>>,
    pub(super) usage: Object<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    /// As it is written: it is read when it is wanted, so that of a line with many texts there is
    /// never more than one twice.
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_id: Text<'a>,
    pub(super) is_error: Flag,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Object<Message<'a>>,
    #[serde(borrow)]
    pub(super) delta: Object<Delta<'a>>,
    pub(super) usage: Object<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    #[serde(rename = "input_tokens")]
    pub(super) input: Number,
    #[serde(rename = "output_tokens")]
    pub(super) output: Number,
    #[serde(rename = "cache_read_input_tokens")]
    pub(super) cache_read: Number,
    #[serde(rename = "cache_creation_input_tokens")]
    pub(super) cache_write: Number,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelUsage {
    #[serde(rename = "inputTokens")]
    pub(super) input: Number,
    #[serde(rename = "outputTokens")]
    pub(super) output: Number,
    #[serde(rename = "cacheReadInputTokens")]
    pub(super) cache_read: Number,
    #[serde(rename = "cacheCreationInputTokens")]
    pub(super) cache_write: Number,
    #[serde(rename = "costUSD")]
    pub(super) cost: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DeniedCall<'a> {
    #[serde(borrow, rename = "tool_name")]
    pub(super) name: Text<'a>,
    #[serde(borrow, rename = "tool_use_id")]
    pub(super) id: Text<'a>,
    #[serde(borrow, rename = "tool_input")]
    pub(super) input: Object<ToolInput<'a>>,
}

/// What a tool is called with, as far as it says what the call is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput<'a> {
    #[serde(borrow)]
    pub(super) command: Text<'a>,
    #[serde(borrow)]
    pub(super) file_path: Text<'a>,
    #[serde(borrow)]
    pub(super) notebook_path: Text<'a>,
    #[serde(borrow)]
    pub(super) url: Text<'a>,
    #[serde(borrow)]
    pub(super) path: Text<'a>,
    #[serde(borrow)]
    pub(super) query: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Server<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Limits<'a> {
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) rate_limit_type: Text<'a>,
    pub(super) resets_at: Number,
    pub(super) utilization: Number,
    #[serde(borrow)]
    pub(super) unified_windows: Values<Object<Window<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Window<'a> {
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    pub(super) resets_at: Number,
    pub(super) utilization: Number,
}
