//! The user's patterns in the decoded strings of JSON.
//!
//! Users write patterns for printed text, with line ends, tabs and quotes, which JSON encodes. So a
//! text is decoded first, its lines are searched one by one, and matches are mapped back to their
//! encoded positions. A text that is JSON itself, or has lines of JSON, is decoded again.

use std::ops::Range;

use memchr::memchr;

use super::escapes::{code, keep_whole};
use super::find::{Finder, SecretMatch};
use super::json::{JsonWalker, NamePolicy, is_json};
use super::normalize::{Normalized, has_written_escape, normalized_lines};

/// The maximum depth of JSON strings inside JSON strings.
pub(super) const LEVELS: usize = 1;

/// The length of a `\uXXXX` escape.
const UNICODE: usize = 6;

impl Finder {
    /// Adds the matches of the user's patterns in a JSON text.
    pub(super) fn wanted_in_text(
        &self,
        bytes: &[u8],
        text: Range<usize>,
        levels: usize,
    ) -> Vec<SecretMatch> {
        let read = read(bytes, text);
        let mut hits = Vec::new();
        self.wanted_in_lines(&read.bytes, 0, &mut hits);
        normalized_lines(&read.bytes, 0, has_written_escape(&read.bytes), |normalized| {
            let mut hidden = Vec::new();
            self.wanted_in_lines(&normalized.bytes, 0, &mut hidden);
            hits.extend(hidden.iter().map(|hit| normalized.original(hit)));
        });
        if levels > 0 {
            for inner in texts_inside(&read.bytes) {
                hits.extend(self.wanted_in_text(&read.bytes, inner, levels - 1));
            }
        }
        let mut hits: Vec<SecretMatch> = hits.iter().map(|hit| read.original(hit)).collect();
        for hit in &mut hits {
            hit.span = keep_whole(bytes, hit.span.clone());
        }
        hits.retain(|hit| !hit.span.is_empty());
        hits
    }

    /// Adds the matches of the user's patterns in each line from `from` on.
    pub(super) fn wanted_in_lines(&self, bytes: &[u8], from: usize, hits: &mut Vec<SecretMatch>) {
        for line in lines(bytes, from) {
            self.wanted(bytes, line, hits);
        }
    }
}

/// Each line without its line ending.
fn lines(bytes: &[u8], from: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = from;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = start..start + length - usize::from(rest[..length].ends_with(b"\r"));
        start += length + 1;
        Some(line)
    })
}

/// The strings inside a text that is JSON, or in its lines that are.
fn texts_inside(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut texts = Vec::new();
    let mut walk =
        |json| JsonWalker::new(NamePolicy::Masked).walk(bytes, json, |text| texts.push(text.at));
    if is_json(bytes) {
        walk(0..bytes.len());
    } else {
        lines(bytes, 0).filter(|line| is_json(&bytes[line.clone()])).for_each(walk);
    }
    texts
}

/// Decodes a JSON text without its quotes. Half a surrogate pair becomes a replacement character:
/// some programs split them.
pub(crate) fn text_of(inside: &[u8]) -> String {
    String::from_utf8_lossy(&read(inside, 0..inside.len()).bytes).into_owned()
}

/// Decodes a JSON text, with the original position of each byte.
fn read(bytes: &[u8], text: Range<usize>) -> Normalized {
    let mut read = Normalized::with_capacity(text.len());
    let mut at = text.start;
    while at < text.end {
        let rest = &bytes[at..text.end];
        let plain = memchr(b'\\', rest).unwrap_or(rest.len());
        read.keep(&rest[..plain], at);
        at += plain;
        if at < text.end {
            let (character, length) = escaped(&bytes[at..text.end]);
            // Each byte of the character stands for the whole escape.
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                read.keep(&[byte], at);
            }
            at += length;
        }
    }
    read.ending(text.end)
}

/// The character of an escape, and the length of the escape. An invalid escape is a backslash.
fn escaped(bytes: &[u8]) -> (char, usize) {
    let character = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'u') => return unicode(bytes),
        Some(_) | None => return ('\\', 1),
    };
    (character, 2)
}

/// The character of a `\uXXXX` escape, or of a surrogate pair.
fn unicode(bytes: &[u8]) -> (char, usize) {
    let Some(first) = code(&bytes[1..]) else { return ('\\', 1) };
    let second = bytes.get(UNICODE..).and_then(|rest| code(rest.strip_prefix(b"\\")?));
    match (first, second) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            let number = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER), 2 * UNICODE)
        }
        (_, _) => (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), UNICODE),
    }
}
