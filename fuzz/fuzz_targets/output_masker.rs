//! Text that arrives a few characters at a time: no secret gets through and nothing is lost,
//! wherever the text and the lines are cut.
//!
//! The first four bytes are the lengths of the pieces and the chunks; the rest is the text.

#![no_main]

use std::sync::LazyLock;

use nightwright_core::stream::output_masker::OutputMasker;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::redact::Secrets;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const SECRET: &str = "hunter2hunter2";

static SECRETS: LazyLock<Secrets> =
    LazyLock::new(|| Secrets::new([SECRET], [""; 0]).expect("there is no pattern"));

fuzz_target!(|input: &[u8]| {
    let Some(([piece, other, chunks @ ..], text)) = input.split_first_chunk::<4>() else { return };
    let text = String::from_utf8_lossy(text);
    let text = format!("{text}{SECRET}{text}");

    let stream = stream(&text, [*piece, *other]);
    let kept = masked(&stream, chunks);
    assert!(kept == masked(&stream, &[u8::MAX]), "the chunks make a difference");
    assert!(!String::from_utf8_lossy(&kept).contains(SECRET), "it got through");
    let kept = joined(&kept);
    assert_eq!(kept.len(), text.len(), "the length changed");
    assert!(!kept.contains(SECRET), "it got through: {kept}");
});

/// Returns the lines that contain a text in pieces of these lengths.
fn stream(text: &str, lengths: [u8; 2]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut rest = text;
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let end = rest.ceil_char_boundary(usize::from(*length).clamp(1, rest.len()));
        let (piece, after) = rest.split_at(end);
        let delta = json!({ "type": "text_delta", "text": piece });
        let event = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
        let line = json!({ "type": "stream_event", "event": event, "session_id": "s" });
        stream.extend_from_slice(line.to_string().as_bytes());
        stream.push(b'\n');
        rest = after;
    }
    stream
}

fn masked(stream: &[u8], chunks: &[u8]) -> Vec<u8> {
    let mut deltas = OutputMasker::new(Dialect::Claude, SECRETS.clone());
    let mut kept = Vec::new();
    let mut rest = stream;
    for size in chunks.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at(usize::from(*size).clamp(1, rest.len()));
        deltas.push(chunk, |out| kept.extend_from_slice(out));
        rest = after;
    }
    deltas.finish(|out| kept.extend_from_slice(out));
    kept
}

/// Returns the text of all pieces together.
fn joined(kept: &[u8]) -> String {
    let lines = kept.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let line: Value = serde_json::from_slice(line).expect("JSON stays JSON");
            line["event"]["delta"]["text"].as_str().expect("a text stays one").to_owned()
        })
        .collect()
}
