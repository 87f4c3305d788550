//! The structure of a line: only the fields that nightwright uses.
//!
//! Other fields are skipped without being examined, so invalid data in them does no harm.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::lenient::{
    LenientBool, LenientList, LenientMap, LenientNumber, LenientObject, LenientText, MessageOrText,
};
use crate::stream::dialect::MAX_SHOWN_TEXT;
use crate::stream::lines::StringLimits;

/// The limits for reading long strings: the agent's own words up to the length that is kept, tool
/// results up to the output limit of a command. Copies for the program's own display, files and
/// images are not needed.
pub const STRINGS: StringLimits = StringLimits {
    named: &[("text", 1 << 20), ("result", 1 << 20), ("content", 32 << 10)],
    others: 8 << 10,
};

/// The limits for displaying long strings: strings, tool inputs and tool results up to a readable
/// length. No other strings are displayed.
pub const SHOWN_STRINGS: StringLimits = StringLimits {
    named: &[
        ("text", MAX_SHOWN_TEXT),
        ("content", MAX_SHOWN_TEXT),
        ("old_string", MAX_SHOWN_TEXT),
        ("new_string", MAX_SHOWN_TEXT),
    ],
    others: 8 << 10,
};

/// All used fields of any line, so that a line is parsed once.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaudeLine<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(borrow)]
    pub(super) subtype: LenientText<'a>,
    #[serde(borrow)]
    pub(super) parent_tool_use_id: LenientText<'a>,
    #[serde(borrow)]
    pub(super) message: MessageOrText<'a>,
    #[serde(borrow)]
    pub(super) event: LenientObject<StreamEvent<'a>>,

    // Errors of the provider.
    #[serde(borrow)]
    pub(super) error: LenientText<'a>,
    #[serde(borrow)]
    pub(super) api_error: LenientText<'a>,
    pub(super) api_error_status: LenientNumber,
    pub(super) is_api_error_message: LenientBool,

    // The end of a turn.
    pub(super) is_error: LenientBool,
    #[serde(borrow)]
    pub(super) result: Option<LenientText<'a>>,
    #[serde(borrow)]
    pub(super) errors: LenientList<LenientText<'a>>,
    pub(super) num_turns: LenientNumber,
    pub(super) duration_ms: LenientNumber,
    pub(super) total_cost_usd: LenientNumber,
    #[serde(borrow)]
    pub(super) stop_reason: LenientText<'a>,
    #[serde(borrow)]
    pub(super) terminal_reason: LenientText<'a>,
    #[serde(borrow)]
    pub(super) startup_failure_reason: LenientText<'a>,
    #[serde(borrow)]
    pub(super) structured_output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) permission_denials: LenientList<LenientObject<PermissionDenial<'a>>>,
    pub(super) result_index: LenientNumber,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: LenientMap<LenientObject<ModelUsage>>,
    pub(super) model_usage_since_last_result: LenientMap<LenientObject<ModelUsage>>,

    // The start of a session.
    #[serde(borrow)]
    pub(super) model: LenientText<'a>,
    #[serde(borrow)]
    pub(super) claude_code_version: LenientText<'a>,
    #[serde(rename = "apiKeySource", borrow)]
    pub(super) api_key_source: LenientText<'a>,
    #[serde(rename = "permissionMode", borrow)]
    pub(super) permission_mode: LenientText<'a>,
    #[serde(borrow)]
    pub(super) tools: LenientList<LenientText<'a>>,
    #[serde(borrow)]
    pub(super) mcp_servers: LenientList<LenientObject<McpServer<'a>>>,
    #[serde(borrow)]
    pub(super) skills: LenientList<LenientText<'a>>,
    #[serde(borrow)]
    pub(super) plugins: LenientList<LenientObject<Plugin<'a>>>,
    pub(super) memory_paths: LenientMap<IgnoredAny>,

    // All other lines.
    #[serde(rename = "isReplay")]
    pub(super) is_replay: LenientBool,
    #[serde(borrow)]
    pub(super) tool_name: LenientText<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: LenientText<'a>,
    pub(super) error_status: LenientNumber,
    pub(super) retry_delay_ms: LenientNumber,
    #[serde(borrow)]
    pub(super) rate_limit_info: LenientObject<RateLimitInfo<'a>>,
}

/// The fields of a line that carries a piece of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PartialLine<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(borrow)]
    pub(super) parent_tool_use_id: LenientText<'a>,
    #[serde(borrow)]
    pub(super) event: LenientObject<StreamEvent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApiMessage<'a> {
    #[serde(borrow)]
    pub(super) id: LenientText<'a>,
    #[serde(borrow)]
    pub(super) model: LenientText<'a>,
    #[serde(borrow)]
    pub(super) content: LenientList<LenientObject<ContentBlock<'a>>>,
    pub(super) usage: LenientObject<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContentBlock<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: LenientText<'a>,
    /// The string as written. It is decoded on demand, so that at most one text of a line is in
    /// memory twice.
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) id: LenientText<'a>,
    #[serde(borrow)]
    pub(super) name: LenientText<'a>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_id: LenientText<'a>,
    pub(super) is_error: LenientBool,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(borrow)]
    pub(super) message: LenientObject<ApiMessage<'a>>,
    #[serde(borrow)]
    pub(super) delta: LenientObject<StreamDelta<'a>>,
    pub(super) usage: LenientObject<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamDelta<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(borrow)]
    pub(super) text: LenientText<'a>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    #[serde(rename = "input_tokens")]
    pub(super) input: LenientNumber,
    #[serde(rename = "output_tokens")]
    pub(super) output: LenientNumber,
    #[serde(rename = "cache_read_input_tokens")]
    pub(super) cache_read: LenientNumber,
    #[serde(rename = "cache_creation_input_tokens")]
    pub(super) cache_write: LenientNumber,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelUsage {
    #[serde(rename = "inputTokens")]
    pub(super) input: LenientNumber,
    #[serde(rename = "outputTokens")]
    pub(super) output: LenientNumber,
    #[serde(rename = "cacheReadInputTokens")]
    pub(super) cache_read: LenientNumber,
    #[serde(rename = "cacheCreationInputTokens")]
    pub(super) cache_write: LenientNumber,
    #[serde(rename = "costUSD")]
    pub(super) cost: LenientNumber,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PermissionDenial<'a> {
    #[serde(borrow, rename = "tool_name")]
    pub(super) name: LenientText<'a>,
    #[serde(borrow, rename = "tool_use_id")]
    pub(super) id: LenientText<'a>,
    #[serde(borrow, rename = "tool_input")]
    pub(super) input: LenientObject<ToolInput<'a>>,
}

/// The arguments of a tool call that name its subject.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput<'a> {
    #[serde(borrow)]
    pub(super) command: LenientText<'a>,
    #[serde(borrow)]
    pub(super) file_path: LenientText<'a>,
    #[serde(borrow)]
    pub(super) notebook_path: LenientText<'a>,
    #[serde(borrow)]
    pub(super) url: LenientText<'a>,
    #[serde(borrow)]
    pub(super) path: LenientText<'a>,
    #[serde(borrow)]
    pub(super) query: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct McpServer<'a> {
    #[serde(borrow)]
    pub(super) name: LenientText<'a>,
    #[serde(borrow)]
    pub(super) status: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Plugin<'a> {
    #[serde(borrow)]
    pub(super) path: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RateLimitInfo<'a> {
    #[serde(borrow)]
    pub(super) status: LenientText<'a>,
    #[serde(borrow)]
    pub(super) rate_limit_type: LenientText<'a>,
    pub(super) resets_at: LenientNumber,
    pub(super) utilization: LenientNumber,
    #[serde(borrow)]
    pub(super) unified_windows: LenientMap<LenientObject<RateLimitWindow<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RateLimitWindow<'a> {
    #[serde(borrow)]
    pub(super) status: LenientText<'a>,
    pub(super) resets_at: LenientNumber,
    pub(super) utilization: LenientNumber,
}
