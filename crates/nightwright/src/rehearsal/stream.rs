//! Prints Claude's JSON stream as the real program does.

use std::io::{self, Write};
use std::time::Instant;

use jiff::Timestamp;
use nightwright_core::permissions::command::{commands, covers};
use nightwright_core::units::Usd;
use serde_json::{Value, json};

use super::failure::ApiError;
use super::script::ScriptUsage;
use super::step::QuotaStepWindow;

/// The version of the program that is imitated.
pub(super) const VERSION: &str = "2.1.325";
/// The program's text for a context that was replaced by a summary.
const SUMMARY: &str = "This session is being continued from a previous conversation that ran out \
                       of context. The summary below covers the earlier portion of the \
                       conversation.\n\nSummary:\nWhat was done so far.\n\nContinue the \
                       conversation from where it left off without asking the user any further \
                       questions.";
const TOOLS: [&str; 6] = ["Task", "Bash", "Edit", "Read", "WebFetch", "Write"];

/// The settings of the stream.
#[derive(Clone, Debug)]
pub(super) struct StreamOptions {
    pub(super) model: String,
    pub(super) permission_mode: String,
    /// The rules for tools that may be used.
    pub(super) allowed: Vec<String>,
    pub(super) folder: String,
    /// Whether partial messages are printed.
    pub(super) partial: bool,
    /// Whether user messages are repeated when they are accepted.
    pub(super) replay: bool,
    /// Whether the answer must match a schema.
    pub(super) shaped: bool,
    /// Makes the ids of this process different from those of others.
    pub(super) chance: u64,
}

/// Prints lines and counts usage and cost.
pub(super) struct StreamPrinter<W> {
    out: W,
    options: StreamOptions,
    ids: u64,
    begun: Instant,
    results: u32,
    since: UsageAccount,
    total: UsageAccount,
    denials: Vec<Value>,
}

/// Usage and cost, with the number of messages.
#[derive(Clone, Copy, Default)]
struct UsageAccount {
    usage: ScriptUsage,
    cost: Usd,
    messages: u32,
    tool_calls: u32,
}

/// One content block of a message.
pub(super) enum PrintedBlock<'a> {
    Text(&'a str),
    Thinking(&'a str),
    Tool { name: &'a str, input: Value },
}

/// The end of a turn, with the values for the stream.
pub(super) struct TurnResult<'a> {
    pub(super) subtype: &'a str,
    pub(super) is_error: bool,
    pub(super) terminal_reason: &'a str,
    pub(super) stop_reason: &'a str,
    /// Members that are specific to this result.
    pub(super) extra: Value,
}

impl<W: Write> StreamPrinter<W> {
    pub(super) fn new(out: W, options: StreamOptions) -> Self {
        let (since, total) = (UsageAccount::default(), UsageAccount::default());
        Self {
            out,
            options,
            ids: 0,
            begun: Instant::now(),
            results: 0,
            since,
            total,
            denials: vec![],
        }
    }

    /// Prints the description of the program, which starts every turn.
    pub(super) fn init(&mut self) -> io::Result<()> {
        let StreamOptions { model, permission_mode, folder, .. } = &self.options;
        let line = json!({
            "type": "system", "subtype": "init", "cwd": folder, "tools": TOOLS, "mcp_servers": [],
            "model": model, "permissionMode": permission_mode, "slash_commands": [], "agents": [],
            "skills": [], "plugins": [], "apiKeySource": "none", "claude_code_version": VERSION,
            "output_style": "default",
        });
        self.line(line)
    }

    /// Accepts a user message, and repeats it if requested.
    pub(super) fn acknowledge(&mut self, text: &str) -> io::Result<()> {
        if !self.options.replay {
            return Ok(());
        }
        let content = json!([{"type": "text", "text": text}]);
        self.line(json!({
            "type": "user", "message": {"role": "user", "content": content},
            "parent_tool_use_id": null, "isReplay": true,
        }))
    }

    /// Prints one message of the model with one block; returns the id of the tool call, if it is
    /// one.
    pub(super) fn message(
        &mut self,
        block: &PrintedBlock<'_>,
        share: ScriptUsage,
    ) -> io::Result<String> {
        let (message, request) = (self.id("msg_"), self.id("req_"));
        let call = self.id("toolu_");
        let begin = json!({
            "input_tokens": share.input, "output_tokens": 1,
            "cache_creation_input_tokens": share.cache_write,
            "cache_read_input_tokens": share.cache_read, "service_tier": "standard",
        });
        let mut end = begin.clone();
        end["output_tokens"] = share.output.into();
        let (content, stop) = match block {
            PrintedBlock::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
            PrintedBlock::Thinking(text) => {
                (json!({"type": "thinking", "thinking": text, "signature": "c2ln"}), "end_turn")
            }
            PrintedBlock::Tool { name, input } => {
                (json!({"type": "tool_use", "id": call, "name": name, "input": input}), "tool_use")
            }
        };
        self.line(json!({"type": "system", "subtype": "status", "status": "requesting"}))?;
        let whole = |content: Value| {
            json!({
                "id": message, "type": "message", "role": "assistant", "model": self.options.model,
                "content": content, "stop_reason": null, "stop_sequence": null, "usage": begin,
            })
        };
        let (empty, full) = (whole(json!([])), whole(json!([content])));
        self.part(&json!({"type": "message_start", "message": empty}))?;
        self.deltas(block, &call)?;
        self.line(json!({
            "type": "assistant", "message": full, "parent_tool_use_id": null, "request_id": request,
        }))?;
        self.part(&json!({"type": "content_block_stop", "index": 0}))?;
        let delta = json!({"stop_reason": stop, "stop_sequence": null});
        self.part(&json!({"type": "message_delta", "delta": delta, "usage": end}))?;
        self.part(&json!({"type": "message_stop"}))?;
        self.since.add(share);
        self.total.add(share);
        Ok(call)
    }

    /// Prints the result of a tool call.
    pub(super) fn tool_result(&mut self, call: &str, result: Result<&str, &str>) -> io::Result<()> {
        let (text, is_error) = match result {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        };
        let details =
            if is_error { json!(format!("Error: {text}")) } else { json!({"stdout": text}) };
        self.since.tool_calls += 1;
        self.line(json!({
            "type": "user", "parent_tool_use_id": null, "tool_use_result": details,
            "message": {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error},
            ]},
        }))
    }

    /// Whether the rules given at the start allow a command.
    pub(super) fn allows(&self, command: &str) -> bool {
        let is_allowed = |part: &&str| self.options.allowed.iter().any(|rule| covers(rule, part));
        self.options.permission_mode == "bypassPermissions"
            || commands(command).iter().all(is_allowed)
    }

    /// Prints a tool call that was denied.
    pub(super) fn denied(&mut self, tool: &str, call: &str, input: &Value) -> io::Result<()> {
        let text = match tool {
            "Bash" => "This command requires approval".to_owned(),
            tool => format!(
                "Claude requested permissions to use {tool}, but you haven't granted it yet."
            ),
        };
        self.line(json!({
            "type": "system", "subtype": "permission_denied", "tool_name": tool,
            "tool_use_id": call, "message": text,
        }))?;
        self.denials.push(json!({"tool_name": tool, "tool_use_id": call, "tool_input": input}));
        self.tool_result(call, Err(&text))
    }

    /// Prints how much of the account's quota is used.
    pub(super) fn quota(
        &mut self,
        used: u8,
        window: QuotaStepWindow,
        resets: Timestamp,
    ) -> io::Result<()> {
        let status = if used >= 75 { "allowed_warning" } else { "allowed" };
        self.line(json!({"type": "rate_limit_event", "rate_limit_info": {
            "status": status, "resetsAt": resets.as_second(), "rateLimitType": window.name(),
            "utilization": f64::from(used) / 100.0, "isUsingOverage": false,
        }}))
    }

    /// Prints the lines for a full context that is replaced by a summary.
    pub(super) fn compaction(&mut self) -> io::Result<()> {
        self.line(json!({
            "type": "system", "subtype": "status", "status": "compacting",
            "compact_output_chars": 0,
        }))?;
        self.line(json!({
            "type": "system", "subtype": "status", "status": null, "compact_result": "success",
        }))?;
        let before = uuid(self.options.chance, self.ids);
        self.line(json!({
            "type": "system", "subtype": "compact_boundary", "logical_parent_uuid": before,
            "compact_metadata": {
                "trigger": "auto", "pre_tokens": 967_042, "post_tokens": 2578,
                "cumulative_dropped_tokens": 964_464, "duration_ms": 210,
            },
        }))?;
        let content = json!([{"type": "text", "text": SUMMARY}]);
        self.line(json!({
            "type": "user", "message": {"role": "user", "content": content},
            "parent_tool_use_id": null, "isSynthetic": true,
        }))
    }

    /// Prints the lines for a failure of the provider, including the result.
    pub(super) fn failure(&mut self, error: &ApiError, cost: Usd) -> io::Result<()> {
        let ApiError { text, word, status, kind, detail, rate_limit, .. } = error;
        if error.retried {
            self.line(json!({
                "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 2,
                "retry_delay_ms": 500, "error_status": status, "error": word,
            }))?;
        }
        if let Some(info) = rate_limit {
            self.line(json!({"type": "rate_limit_event", "rate_limit_info": info}))?;
        }
        let message = self.id("");
        let mut line = json!({
            "type": "assistant", "parent_tool_use_id": null, "error": word,
            "is_api_error_message": true,
            "message": {
                "id": message, "type": "message", "role": "assistant", "model": "<synthetic>",
                "content": [{"type": "text", "text": text}], "stop_reason": error.stop_reason,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
        });
        let mut extra = json!({"result": text, "api_error_status": status});
        for object in [&mut line, &mut extra] {
            object["api_error_status"] = json!(status);
            if let Some(kind) = kind {
                object["api_error_type"] = json!(kind);
            }
            if let Some(detail) = detail {
                object["api_error"] = json!(detail);
            }
        }
        self.line(line)?;
        let verdict = TurnResult {
            subtype: "success",
            is_error: true,
            terminal_reason: error.terminal_reason,
            stop_reason: error.stop_reason,
            extra,
        };
        self.result(verdict, cost)
    }

    /// Prints the last line of a turn. `cost` is the cost since the previous result.
    pub(super) fn result(&mut self, verdict: TurnResult<'_>, cost: Usd) -> io::Result<()> {
        let TurnResult { subtype, is_error, terminal_reason, stop_reason, extra } = verdict;
        self.since.cost = cost;
        self.total.cost += cost;
        let (since, total) = (self.since, self.total);
        let elapsed = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut line = json!({
            "type": "result", "subtype": subtype, "is_error": is_error,
            "terminal_reason": terminal_reason, "stop_reason": stop_reason,
            "duration_ms": elapsed, "duration_api_ms": elapsed, "num_turns": since.tool_calls + 1,
            "total_cost_usd": total.cost, "permission_denials": self.denials,
            "api_error_status": null, "result_index": self.results, "queued_turn_count": 0,
            "usage": {
                "input_tokens": since.usage.input, "output_tokens": since.usage.output,
                "cache_creation_input_tokens": since.usage.cache_write,
                "cache_read_input_tokens": since.usage.cache_read, "service_tier": "standard",
            },
            "modelUsage": total.by_model(&self.options.model),
            "model_usage_since_last_result": since.by_model(&self.options.model),
        });
        if let (Value::Object(line), Value::Object(extra)) = (&mut line, extra) {
            line.extend(extra);
        }
        self.results += 1;
        self.since = UsageAccount::default();
        self.line(line)
    }

    /// Whether the answer must match a schema.
    pub(super) fn is_shaped(&self) -> bool {
        self.options.shaped
    }

    /// Whether the model printed anything since the last result.
    pub(super) fn has_output(&self) -> bool {
        self.since.messages > 0
    }

    /// Prints bytes that are not a message.
    pub(super) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    fn deltas(&mut self, block: &PrintedBlock<'_>, call: &str) -> io::Result<()> {
        let (start, deltas): (_, Vec<Value>) = match block {
            PrintedBlock::Text(text) => (
                json!({"type": "text", "text": ""}),
                pieces(text).map(|text| json!({"type": "text_delta", "text": text})).collect(),
            ),
            PrintedBlock::Thinking(text) => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                vec![json!({"type": "thinking_delta", "thinking": text})],
            ),
            PrintedBlock::Tool { name, input } => (
                json!({"type": "tool_use", "id": call, "name": name, "input": {}}),
                vec![json!({"type": "input_json_delta", "partial_json": input.to_string()})],
            ),
        };
        self.part(&json!({"type": "content_block_start", "index": 0, "content_block": start}))?;
        for delta in deltas {
            self.part(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))?;
        }
        Ok(())
    }

    fn part(&mut self, event: &Value) -> io::Result<()> {
        if !self.options.partial {
            return Ok(());
        }
        self.line(json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}))
    }

    /// Prints one line in one write, so that readers never see a part of it.
    fn line(&mut self, mut line: Value) -> io::Result<()> {
        line["session_id"] = json!(uuid(self.options.chance, 0));
        line["uuid"] = json!(uuid(self.options.chance, self.next()));
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        self.raw(&bytes)
    }

    fn id(&mut self, prefix: &str) -> String {
        let number = self.next();
        format!("{prefix}{:016x}{number:08x}", self.options.chance)
    }

    fn next(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }
}

impl UsageAccount {
    fn add(&mut self, share: ScriptUsage) {
        self.usage += share;
        self.messages += 1;
    }

    fn by_model(&self, model: &str) -> Value {
        let ScriptUsage { input, output, cache_read, cache_write } = self.usage;
        if self.messages == 0 {
            return json!({});
        }
        json!({ model: {
            "inputTokens": input, "outputTokens": output, "cacheReadInputTokens": cache_read,
            "cacheCreationInputTokens": cache_write, "webSearchRequests": 0,
            "costUSD": self.cost, "contextWindow": 1_000_000, "maxOutputTokens": 128_000,
        }})
    }
}

/// Splits a string into the portions in which a model delivers it.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let mut rest: Vec<char> = text.chars().collect();
    std::iter::from_fn(move || {
        let size = rest.len().min(40);
        (size > 0).then(|| rest.drain(..size).collect())
    })
}

fn uuid(chance: u64, number: u64) -> String {
    let [high, low] = [chance >> 32, chance & 0xffff];
    format!("{high:08x}-{low:04x}-4000-8000-{number:012x}")
}
