//! No secret gets through in any chunks, and JSON stays valid.
//!
//! The first byte selects how a line is wrapped, the next four are the lengths of the chunks.

#![no_main]

use nightwright_core::redact::{StreamMasker, Secrets};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// A value with all characters that JSON escapes.
const VALUE: &str = "pa\"ss\\wo/rd-9 \u{fc}-end";
const PLAIN: &str = "hunter2hunter2";

static SECRETS: LazyLock<Secrets> =
    LazyLock::new(|| Secrets::new([VALUE, PLAIN], [""; 0]).expect("there is no pattern"));

fuzz_target!(|input: &[u8]| {
    let Some(([depth, sizes @ ..], text)) = input.split_first_chunk::<5>() else { return };

    let whole = SECRETS.mask_bytes(text);
    assert_eq!(whole.len(), text.len(), "the length changed");
    // A line that exceeds the retained part may be cut elsewhere.
    if text.len() <= 4096 {
        assert!(in_chunks(text, sizes) == *whole, "chunks give something else");
    }

    let text = String::from_utf8_lossy(text);
    let mut line = format!("{text}{VALUE}{text}{PLAIN}");
    for _ in 0..=depth % 3 {
        line = serde_json::json!({ "text": line, "number": 12_345_678 }).to_string();
    }
    let masked = SECRETS.mask(&line);
    assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "no JSON: {masked}");
    let mut left = masked.into_owned();
    for _ in 0..=depth % 3 {
        assert!(!left.contains(PLAIN) && !left.contains(VALUE), "it got through: {left}");
        let value: serde_json::Value = match serde_json::from_str(&left) {
            Ok(value) => value,
            Err(_) => return,
        };
        left = value["text"].as_str().unwrap_or_default().to_owned();
    }
    assert!(!left.contains(PLAIN) && !left.contains(VALUE), "it got through: {left}");
});

fn in_chunks(text: &[u8], sizes: &[u8]) -> Vec<u8> {
    let mut masking = StreamMasker::new(SECRETS.clone());
    let mut out = Vec::new();
    let mut rest = text;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at(usize::from(*size).max(1).min(rest.len()));
        masking.push(chunk, |piece| out.extend_from_slice(piece));
        rest = after;
    }
    masking.finish(|piece| out.extend_from_slice(piece));
    out
}
