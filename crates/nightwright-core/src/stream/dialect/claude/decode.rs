//! Decodes one line of the stream into messages.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::deltas::may_be_part;
use super::fast_path::{FastDelta, TEXT, fast_delta};
use super::known;
use super::lenient::{LenientMap, LenientNumber, LenientObject, LenientText, names};
use super::schema::{
    ClaudeLine, ContentBlock, ModelUsage, PartialLine, Plugin, RateLimitInfo, RateLimitWindow,
    StreamDelta, StreamEvent, ToolInput, Usage,
};
use crate::stream::message::{
    AgentMessage, BadLine, DeniedCall, ErrorFacts, MessageKind, Owner, RateLimit, ResultFacts,
    TextPart, ToolStatus, UsageAt,
};
use crate::stream::news::{QuotaNews, QuotaWindow, Ready};
use crate::units::{Tokens, Usd};

/// The model name in messages that the program writes itself.
const NO_MODEL: &str = "<synthetic>";

/// The source of the API key when there is a login instead.
const NO_KEY: &str = "none";

/// The maximum length of an answer in the requested format. A longer one is no answer.
const MAX_STRUCTURED: usize = 1 << 20;

/// The maximum length of an error message.
const MAX_ERROR: usize = 8 << 10;

/// The number of failed servers that are named.
const MAX_SERVERS: usize = 16;

/// The maximum length of a name.
const MAX_NAME: usize = 100;

/// The maximum length of a command, file or address. It is cut for display after it is masked.
const MAX_SUBJECT: usize = 8 << 10;

/// The number of unknown fields of a result that are named.
const MAX_UNKNOWN: usize = 8;

/// The maximum length of a line that is tried as a piece of a message.
const MAX_PIECE: usize = 1000;

/// Timestamps in seconds stay below this for three thousand years; larger numbers are milliseconds.
const MILLISECONDS: u64 = 100_000_000_000;

/// Decodes one line. A line with several blocks yields several messages.
pub fn decode(line: &[u8], each: &mut impl FnMut(AgentMessage<'_>)) -> Result<(), BadLine> {
    let bytes = line;
    if let Some(FastDelta { kind, text, .. }) = fast_delta(bytes) {
        each(AgentMessage { owner: Owner::Main, kind: delta(Cow::Borrowed(kind), text) });
        return Ok(());
    }
    if let Some(piece) = piece(bytes) {
        let owner = owner(piece.parent_tool_use_id);
        each(AgentMessage { owner, kind: streamed(piece.event.0.unwrap_or_default()) });
        return Ok(());
    }
    let line: ClaudeLine<'_> = read(bytes).map_err(|error| BadLine { why: error.to_string() })?;
    match &*line.kind.0 {
        "" => {
            return Err(BadLine { why: "it has no `type`".to_owned() });
        }
        "assistant" => assistant(line, each)?,
        "user" => user(line, each),
        "result" => {
            // The line is parsed a second time, but only once per turn.
            let unknown = names(bytes, |name| !known::is_result_field(name), MAX_UNKNOWN);
            let result = Box::new(ResultFacts {
                unknown_fields: unknown.unwrap_or_default(),
                ..result(line)
            });
            each(AgentMessage { owner: Owner::Main, kind: MessageKind::Result(result) });
        }
        "stream_event" => {
            let owner = owner(line.parent_tool_use_id);
            each(AgentMessage { owner, kind: streamed(line.event.0.unwrap_or_default()) });
        }
        // A sub-agent compacts its own context.
        "system" if line.subtype.0 == "compact_boundary" => {
            each(AgentMessage {
                owner: owner(line.parent_tool_use_id),
                kind: MessageKind::Compaction,
            });
        }
        _ => each(AgentMessage { owner: Owner::Main, kind: plain(line) }),
    }
    Ok(())
}

/// Whether a line is a piece of a message. A line with its fields in another order is not
/// recognized, and only costs the time to parse it.
pub fn is_only_a_part(line: &[u8]) -> bool {
    line.starts_with(br#"{"type":"stream_event","#)
}

/// Parses a short line as a piece of a message, as nine of ten lines are. They lack most fields,
/// and the full structure would cost more than parsing them.
fn piece(line: &[u8]) -> Option<PartialLine<'_>> {
    if line.len() > MAX_PIECE || !may_be_part(line) {
        return None;
    }
    read(line).ok().filter(|piece: &PartialLine<'_>| piece.kind.0 == "stream_event")
}

/// Parses a line. Nearly all lines are valid UTF-8, so that is checked once and not per string.
pub(super) fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> serde_json::Result<T> {
    match str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text),
        // Invalid bytes do no harm in fields that are not used.
        Err(_) => serde_json::from_slice(line),
    }
}

fn owner(parent: LenientText<'_>) -> Owner<'_> {
    if parent.0.is_empty() { Owner::Main } else { Owner::Sub { call: parent.0 } }
}

fn assistant(line: ClaudeLine<'_>, each: &mut impl FnMut(AgentMessage<'_>)) -> Result<(), BadLine> {
    let message = line.message.message.unwrap_or_default();
    let owner = owner(line.parent_tool_use_id);
    let blocks = message.content.entries.into_iter().filter_map(|block| block.0);
    if line.is_api_error_message.0 == Some(true) || !line.error.0.is_empty() {
        let mut text = String::new();
        for block in blocks {
            let room = MAX_ERROR.saturating_sub(text.len());
            text.push_str(beginning(&words(block.text)?, room));
        }
        let error = ErrorFacts {
            kind: line.error.0.into_owned(),
            detail: line.api_error.0.into_owned(),
            status: line.api_error_status.status(),
            text,
        };
        each(AgentMessage { owner, kind: MessageKind::SyntheticError(error) });
    } else if message.model.0 == NO_MODEL {
        // Text of the program itself: the answer to a command that it ran.
        each(AgentMessage { owner, kind: MessageKind::Other { kind: message.model.0 } });
    } else {
        if let Some(usage) = message.usage.0 {
            let (id, model, tokens) = (message.id.0, message.model.0, tokens(usage));
            let kind = MessageKind::Usage { when: UsageAt::Part, id, model, tokens };
            each(AgentMessage { owner: owner.clone(), kind });
        }
        for block in blocks {
            each(AgentMessage { owner: owner.clone(), kind: content_block(block)? });
        }
    }
    Ok(())
}

fn content_block(block: ContentBlock<'_>) -> Result<MessageKind<'_>, BadLine> {
    Ok(match &*block.kind.0 {
        "text" => MessageKind::Text { text: words(block.text)?, part: TextPart::Whole },
        "thinking" | "redacted_thinking" => MessageKind::Thinking,
        // The result of a call that the provider makes comes within the same message.
        "tool_use" | "mcp_tool_use" => MessageKind::ToolCall {
            id: block.id.0,
            name: block.name.0,
            input: block.input.map_or("", RawValue::get),
        },
        _ => MessageKind::Other { kind: block.kind.0 },
    })
}

/// The content of a string block; empty if it has none.
fn words(text: Option<&RawValue>) -> Result<Cow<'_, str>, BadLine> {
    let Some(text) = text else { return Ok(Cow::Borrowed("")) };
    let read: serde_json::Result<LenientText<'_>> = serde_json::from_str(text.get());
    read.map(|text| text.0).map_err(|error| BadLine { why: error.to_string() })
}

fn user(line: ClaudeLine<'_>, each: &mut impl FnMut(AgentMessage<'_>)) {
    let owner = owner(line.parent_tool_use_id);
    let content = line.message.message.unwrap_or_default().content;
    if line.is_replay.0 == Some(true) {
        // Several waiting messages are taken up together, as one block each.
        let kind = MessageKind::Acknowledged { messages: content.length.max(1) };
        return each(AgentMessage { owner, kind });
    }
    let mut results = 0;
    for block in content.entries {
        let Some(block) = block.0.filter(|block| block.kind.0 == "tool_result") else {
            continue;
        };
        let status =
            if block.is_error.0 == Some(true) { ToolStatus::Failed } else { ToolStatus::Ok };
        let content = block.content.map_or("", RawValue::get);
        let kind = MessageKind::ToolResult { id: block.tool_use_id.0, status, content };
        each(AgentMessage { owner: owner.clone(), kind });
        results += 1;
    }
    if results == 0 {
        each(AgentMessage { owner, kind: MessageKind::Other { kind: line.kind.0 } });
    }
}

fn streamed(event: StreamEvent<'_>) -> MessageKind<'_> {
    match &*event.kind.0 {
        "message_start" => {
            let message = event.message.0.unwrap_or_default();
            let tokens = tokens(message.usage.0.unwrap_or_default());
            let (id, model) = (message.id.0, message.model.0);
            MessageKind::Usage { when: UsageAt::Start, id, model, tokens }
        }
        "message_delta" => {
            let tokens = tokens(event.usage.0.unwrap_or_default());
            let (id, model) = (Cow::Borrowed(""), Cow::Borrowed(""));
            MessageKind::Usage { when: UsageAt::End, id, model, tokens }
        }
        "content_block_delta" => {
            let StreamDelta { kind, text } = event.delta.0.unwrap_or_default();
            delta(kind.0, text.0)
        }
        "content_block_stop" => MessageKind::Text { text: Cow::Borrowed(""), part: TextPart::End },
        _ => MessageKind::Other { kind: event.kind.0 },
    }
}

fn delta<'a>(kind: Cow<'a, str>, text: Cow<'a, str>) -> MessageKind<'a> {
    match &*kind {
        TEXT => MessageKind::Text { text, part: TextPart::Delta },
        "thinking_delta" => MessageKind::Thinking,
        _ => MessageKind::Other { kind },
    }
}

fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn tokens(usage: Usage) -> Tokens {
    let count = |number: LenientNumber| number.count().unwrap_or(0);
    Tokens {
        input: count(usage.input),
        output: count(usage.output),
        cache_read: count(usage.cache_read),
        cache_write: count(usage.cache_write),
    }
}

/// Lines with a single message of the program itself.
fn plain(line: ClaudeLine<'_>) -> MessageKind<'_> {
    match (&*line.kind.0, &*line.subtype.0) {
        ("system", "init") => MessageKind::Ready(ready(line)),
        ("system", "api_retry") => MessageKind::ApiRetry {
            status: line.error_status.status(),
            delay: Duration::from_millis(line.retry_delay_ms.count().unwrap_or(0)),
        },
        ("system", "permission_denied") => {
            let (tool, id, why) = (line.tool_name.0, line.tool_use_id.0, line.message.text);
            MessageKind::Denied { tool, id, why }
        }
        ("system", kind) if known::is_system(kind) => MessageKind::Other { kind: line.subtype.0 },
        ("system", kind) => MessageKind::Unknown { kind: Cow::Owned(format!("system/{kind}")) },
        ("rate_limit_event", _) => {
            MessageKind::RateLimit(line.rate_limit_info.0.map(rate_limit).unwrap_or_default())
        }
        ("tool_progress", _) => MessageKind::Heartbeat { id: beating(line) },
        (kind, _) if known::is_type(kind) => MessageKind::Other { kind: line.kind.0 },
        (_, _) => MessageKind::Unknown { kind: line.kind.0 },
    }
}

/// The call that a heartbeat belongs to. The heartbeat has its own ID.
fn beating(line: ClaudeLine<'_>) -> Cow<'_, str> {
    if line.parent_tool_use_id.0.is_empty() {
        line.tool_use_id.0
    } else {
        line.parent_tool_use_id.0
    }
}

/// Returns the kinds of extensions that the program has loaded. Plugins that are a part of the
/// program do not count.
fn loaded(line: &ClaudeLine<'_>) -> Vec<&'static str> {
    let is_foreign = |plugin: &LenientObject<Plugin<'_>>| {
        plugin.0.as_ref().is_none_or(|plugin| plugin.path.0 != "builtin")
    };
    let kinds = [
        ("memory files", line.memory_paths.0.as_ref().is_some_and(|paths| !paths.is_empty())),
        ("skills", line.skills.length > 0),
        ("plugins", line.plugins.entries.iter().any(is_foreign)),
    ];
    kinds.into_iter().filter_map(|(kind, is_loaded)| is_loaded.then_some(kind)).collect()
}

fn ready(line: ClaudeLine<'_>) -> Ready {
    let loaded = loaded(&line);
    let servers = line.mcp_servers.entries.into_iter().filter_map(|server| server.0);
    Ready {
        model: line.model.0.into_owned(),
        version: line.claude_code_version.0.into_owned(),
        permission_mode: line.permission_mode.0.into_owned(),
        tools: line.tools.length,
        api_key: Some(&*line.api_key_source.0)
            .filter(|source| *source != NO_KEY)
            .map(|source| beginning(source, MAX_NAME).to_owned())
            .unwrap_or_default(),
        failed_servers: servers
            .filter(|server| server.status.0 == "failed")
            .take(MAX_SERVERS)
            .map(|server| beginning(&server.name.0, MAX_NAME).to_owned())
            .collect(),
        loaded,
    }
}

fn result(line: ClaudeLine<'_>) -> ResultFacts {
    // Only a result with subtype `success` can be a success, whatever else it says.
    let is_error = line.is_error.0 == Some(true) || line.subtype.0 != "success";
    let (turn_tokens, turn_cost) = summed(line.model_usage_since_last_result);
    let (total_tokens, _) = summed(line.model_usage);
    let text = line.result.map(|text| text.0.into_owned());
    ResultFacts {
        subtype: line.subtype.0.into_owned(),
        is_error,
        errors: line.errors.entries.into_iter().map(|text| text.0.into_owned()).collect(),
        stop_reason: line.stop_reason.0.into_owned(),
        terminal_reason: line.terminal_reason.0.into_owned(),
        error: ErrorFacts {
            kind: String::new(),
            detail: line.api_error.0.into_owned(),
            status: line.api_error_status.status(),
            text: text.clone().filter(|_| is_error).unwrap_or_default(),
        },
        text,
        startup_failure: line.startup_failure_reason.0.into_owned(),
        structured: line
            .structured_output
            .map(RawValue::get)
            .filter(|text| text.len() <= MAX_STRUCTURED)
            .map(str::to_owned),
        turns: line.num_turns.small(),
        took: Duration::from_millis(line.duration_ms.count().unwrap_or(0)),
        turn_cost,
        turn_tokens,
        total_cost: line.total_cost_usd.dollars(),
        total_tokens,
        denied: line
            .permission_denials
            .entries
            .into_iter()
            .filter_map(|denial| denial.0)
            .map(|denied| DeniedCall {
                id: beginning(&denied.id.0, MAX_NAME).to_owned(),
                tool: beginning(&denied.name.0, MAX_NAME).to_owned(),
                input: denied.input.0.map(subject).unwrap_or_default(),
            })
            .collect(),
        index: line.result_index.small(),
        unknown_fields: Vec::new(),
    }
}

/// The subject of a tool call: the command, file or address.
pub fn subject_of(input: &str) -> String {
    read::<LenientObject<ToolInput<'_>>>(input.as_bytes())
        .ok()
        .and_then(|input| input.0)
        .map(subject)
        .unwrap_or_default()
}

fn subject(input: ToolInput<'_>) -> String {
    let ToolInput { command, file_path, notebook_path, url, path, query } = input;
    let all = [command, file_path, notebook_path, url, path, query];
    let first = all.into_iter().find(|text| !text.0.is_empty());
    first.map(|text| beginning(&text.0, MAX_SUBJECT).to_owned()).unwrap_or_default()
}

/// The sum of tokens and cost of all models. An empty list is a figure too: nothing was used. If
/// the cost of a used model is missing, the total cost is unknown.
fn summed(models: LenientMap<LenientObject<ModelUsage>>) -> (Option<Tokens>, Option<Usd>) {
    let Some(models) = models.0 else {
        return (None, None);
    };
    let mut sum = Tokens::default();
    let mut cost = Some(0.0);
    for usage in models.into_iter().filter_map(|(_, usage)| usage.0) {
        let used = tokens(Usage {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
        });
        sum += used;
        // An entry with neither tokens nor cost is not a model.
        let own = usage.cost.value().or(used.is_zero().then_some(0.0));
        cost = cost.zip(own).map(|(sum, own)| sum + own);
    }
    (Some(sum), cost.and_then(Usd::from_dollars))
}

fn rate_limit(limits: RateLimitInfo<'_>) -> RateLimit {
    let whole = RateLimitWindow {
        status: limits.status,
        resets_at: limits.resets_at,
        utilization: limits.utilization,
    };
    let rejected = whole.status.0 == "rejected";
    let resets_at = moment(whole.resets_at);
    let mut windows: Vec<_> = limits
        .unified_windows
        .0
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(name, window)| quota(&name, &window.0?))
        .collect();
    if let Some(news) = quota(&limits.rate_limit_type.0, &whole)
        && !windows.iter().any(|known| known.window == news.window)
    {
        windows.push(news);
    }
    RateLimit { rejected, resets_at, windows }
}

/// The used share of a window. A window that rejects requests is used up, whether or not it says
/// so.
fn quota(name: &str, window: &RateLimitWindow<'_>) -> Option<QuotaNews> {
    let name = match name {
        "five_hour" => QuotaWindow::FiveHour,
        "seven_day" => QuotaWindow::SevenDay,
        // Windows of single models say nothing about the account.
        _ => return None,
    };
    let used = match window.utilization.value() {
        Some(fraction) => fraction,
        None if window.status.0 == "rejected" => 1.0,
        None => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 100 after the clamp"
    )]
    let used = (used * 100.0).round().clamp(0.0, 100.0) as u8;
    Some(QuotaNews { window: name, used, resets_at: moment(window.resets_at) })
}

fn moment(epoch: LenientNumber) -> Option<Timestamp> {
    let epoch = epoch.count().filter(|epoch| *epoch > 0)?;
    let whole = i64::try_from(epoch).ok()?;
    if epoch < MILLISECONDS {
        Timestamp::from_second(whole).ok()
    } else {
        Timestamp::from_millisecond(whole).ok()
    }
}
