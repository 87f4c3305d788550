//! Splitting bytes into lines: the lines do not depend on the chunks, and none exceeds the cap. A
//! line of JSON stays valid when its long strings are shortened.
//!
//! The first byte is the cap in units of 16 bytes, the second the kept length of strings. The next
//! eight bytes are the sizes of the chunks, repeated; the rest is the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nightwright_core::stream::lines::{LineSplitter, StreamLine, StringLimits};
use serde_json::Value;

const SIZES: usize = 8;

/// The kept length of the agent's text.
const TEXT: usize = 200;

/// The minimum kept length of a string, enough for a few escaped characters.
const LEAST: usize = 16;

#[derive(Debug, PartialEq, Eq)]
enum Owned {
    Whole(Vec<u8>),
    TooLong(u64),
}

fuzz_target!(|input: &[u8]| {
    let Some((&[cap, most], input)) = input.split_first_chunk::<2>() else { return };
    let Some((sizes, text)) = input.split_first_chunk::<SIZES>() else { return };
    let limit = usize::from(cap) * 16 + 1;
    let most = usize::from(most) + LEAST;

    let found = read(LineSplitter::with_limit(limit), sizes, text);
    for line in &found {
        match line {
            Owned::Whole(line) => assert!(line.len() <= limit, "a line over the cap"),
            Owned::TooLong(bytes) => assert!(*bytes > limit as u64, "a line within the cap"),
        }
    }
    assert_eq!(found, expected(limit, text));

    let strings = StringLimits { named: &[("text", TEXT), ("content", TEXT / 2)], others: most };
    let cut = read(LineSplitter::with_limit(limit).of_json(strings), sizes, text);
    let cut_whole = read(LineSplitter::with_limit(limit).of_json(strings), &[255; SIZES], text);
    assert_eq!(found.len(), cut.len(), "a line more or less");
    for ((whole, cut), other) in found.iter().zip(&cut).zip(&cut_whole) {
        check_cut(whole, cut, other, most);
    }
});

/// Checks that a line of JSON stays valid and its strings respect the limit.
fn check_cut(whole: &Owned, cut: &Owned, other: &Owned, most: usize) {
    let (Owned::Whole(whole), Owned::Whole(cut)) = (whole, cut) else {
        assert_eq!(whole, cut);
        return;
    };
    assert!(cut.len() <= whole.len());
    let Ok(value) = serde_json::from_slice::<Value>(whole) else { return };
    let read: Value = serde_json::from_slice(cut).expect("it was JSON before it was cut");
    assert_eq!(*other, Owned::Whole(cut.clone()), "the chunks make a difference");
    assert!(longest(&read) <= most.max(TEXT), "a string is too long");
    if longest(&value) * 6 <= most.min(TEXT / 2) {
        assert_eq!(whole, cut, "it was cut for nothing");
    }
}

/// Returns the length of the longest string, including names.
fn longest(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(entries) => entries.iter().map(longest).max().unwrap_or(0),
        Value::Object(members) => {
            let longer = |(name, value): (&String, _)| name.len().max(longest(value));
            members.iter().map(longer).max().unwrap_or(0)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn read(mut lines: LineSplitter, sizes: &[u8; SIZES], text: &[u8]) -> Vec<Owned> {
    let mut found = Vec::new();
    let mut each = |line: StreamLine<'_>| {
        found.push(match line {
            StreamLine::Whole(line) => Owned::Whole(line.to_vec()),
            StreamLine::TooLong { bytes } => Owned::TooLong(bytes),
        });
    };
    let mut rest = text;
    for size in sizes.iter().cycle() {
        // An empty chunk is possible too, unless all chunks are empty.
        let size = if sizes.iter().all(|size| *size == 0) { 1 } else { usize::from(*size) };
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        lines.push(chunk, &mut each);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    lines.finish(&mut each);
    found
}

/// Splits the lines with a simple reference implementation.
fn expected(limit: usize, text: &[u8]) -> Vec<Owned> {
    text.split(|&byte| byte == b'\n')
        .filter(|line| line.len() > limit || !line.trim_ascii().is_empty())
        .map(|line| match line.len() {
            bytes if bytes > limit => Owned::TooLong(bytes as u64),
            _ => Owned::Whole(line.to_vec()),
        })
        .collect()
}
