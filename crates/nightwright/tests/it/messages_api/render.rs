//! A message of the model as the wire has it: whole, or as a stream of events.

use serde_json::{Value, json};

use super::scenario::{AnswerPhase, Block, ModelMessage, Usage};

/// One event of a stream, and how far the answer is with it.
pub(super) struct Event {
    pub(super) moment: Option<AnswerPhase>,
    pub(super) text: String,
}

/// The whole message as one object.
pub(super) fn whole(message: &ModelMessage, model: &str, number: usize) -> String {
    let content: Vec<Value> =
        message.blocks.iter().enumerate().map(|(at, block)| content(block, number, at)).collect();
    let mut object = envelope(message, model, number);
    object["content"] = Value::Array(content);
    object["stop_reason"] = stop_reason(message).into();
    object.to_string()
}

/// The message as a stream.
pub(super) fn events(message: &ModelMessage, model: &str, number: usize) -> Vec<Event> {
    let mut start = envelope(message, model, number);
    start["usage"]["output_tokens"] = 1.into();
    let mut events =
        vec![event("message_start", &json!({ "message": start })), event("ping", &json!({}))];
    events[1].moment = Some(AnswerPhase::Start);
    for (at, block) in message.blocks.iter().enumerate() {
        let empty = empty(block, number, at);
        let begin = json!({ "index": at, "content_block": empty });
        events.push(event("content_block_start", &begin));
        for (piece, delta) in deltas(block).into_iter().enumerate() {
            let mut event = event("content_block_delta", &json!({ "index": at, "delta": delta }));
            event.moment = (at == 0 && piece == 0).then_some(AnswerPhase::Middle);
            events.push(event);
        }
        events.push(event("content_block_stop", &json!({ "index": at })));
    }
    let delta = json!({ "stop_reason": stop_reason(message), "stop_sequence": null });
    let usage = json!({ "output_tokens": message.usage.output });
    events.push(event("message_delta", &json!({ "delta": delta, "usage": usage })));
    events.push(event("message_stop", &json!({})));
    events
}

fn event(name: &str, members: &Value) -> Event {
    let mut object = json!({ "type": name });
    if let (Value::Object(object), Value::Object(members)) = (&mut object, members) {
        object.extend(members.clone());
    }
    Event { moment: None, text: format!("event: {name}\ndata: {object}\n\n") }
}

fn envelope(message: &ModelMessage, model: &str, number: usize) -> Value {
    let Usage { input, output } = message.usage;
    json!({
        "id": format!("msg_{number:06}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": input,
            "output_tokens": output,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "service_tier": "standard",
        },
    })
}

fn stop_reason(message: &ModelMessage) -> &'static str {
    let wants = message.blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
    message.stop.unwrap_or(if wants { "tool_use" } else { "end_turn" })
}

/// The block with everything in it.
fn content(block: &Block, number: usize, at: usize) -> Value {
    let mut object = empty(block, number, at);
    match block {
        Block::Text(text) => object["text"] = text.as_str().into(),
        Block::Thinking(text) => {
            object["thinking"] = text.as_str().into();
            object["signature"] = SIGNATURE.into();
        }
        Block::Tool { input, .. } => object["input"] = input.clone(),
    }
    object
}

/// The block as it is announced.
fn empty(block: &Block, number: usize, at: usize) -> Value {
    match block {
        Block::Text(_) => json!({ "type": "text", "text": "" }),
        Block::Thinking(_) => json!({ "type": "thinking", "thinking": "", "signature": "" }),
        Block::Tool { name, .. } => {
            let id = format!("toolu_{number:06}_{at}");
            json!({ "type": "tool_use", "id": id, "name": name, "input": {} })
        }
    }
}

/// The signature of thinking blocks, which is not verified.
const SIGNATURE: &str = "c2lnbmVk";

/// The content of the block, in at least two pieces.
fn deltas(block: &Block) -> Vec<Value> {
    match block {
        Block::Text(text) => {
            pieces(text).map(|text| json!({ "type": "text_delta", "text": text })).collect()
        }
        Block::Thinking(text) => pieces(text)
            .map(|text| json!({ "type": "thinking_delta", "thinking": text }))
            .chain([json!({ "type": "signature_delta", "signature": SIGNATURE })])
            .collect(),
        Block::Tool { input, .. } => pieces(&input.to_string())
            .map(|text| json!({ "type": "input_json_delta", "partial_json": text }))
            .collect(),
    }
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let middle = text.floor_char_boundary(text.len() / 2);
    [&text[..middle], &text[middle..]].into_iter()
}
