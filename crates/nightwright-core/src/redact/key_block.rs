//! Private keys in blocks of several lines.
//!
//! A private key is the only secret that spans lines, so it needs state. After
//! `-----BEGIN … PRIVATE KEY-----`, letters and digits are masked until `-----`. A line that cannot
//! be part of a key also ends the block, because strings may merely mention keys. Everything else
//! stays, such as line endings and the quotes that a program adds. In JSON, the end of the
//! surrounding text ends the block, too.
//!
//! A line of a key may have a prefix: a line number, a time or a color. A program may also join
//! all lines into one.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher as _};
use std::ops::Range;

use memchr::{memchr, memmem};

use super::escapes::code;
use super::normalize::Normalized;

/// The maximum length of a key.
const MAX_KEY_BYTES: usize = 16 << 10;

/// The dashes at both ends of a delimiter line; they end a block.
const DASHES: &[u8] = b"-----";

/// The number of digits after `\u`.
const DIGITS: usize = 4;

/// A run of letters and digits of this length can only be a line of a key.
const LONG: usize = 40;
/// A shorter run may be a word.
const WORD: usize = 16;
/// The maximum length of a line's prefix.
const MAX_PREFIX_LEN: usize = 256;
/// The number of consecutive short lines that cannot be part of a key.
const MAX_SHORT_LINES: u8 = 4;

/// The first words of header lines, except names with a `-`.
const HEADERS: [&[u8]; 5] = [b"Version", b"Comment", b"Hash", b"Charset", b"MessageID"];

/// Whether the current position is inside a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyBlock {
    /// The number of bytes that may still follow; 0 outside of a block.
    left: usize,
    /// The common prefix of the block's lines.
    front: LinePrefix,
    /// Whether a line of the key itself was seen.
    has_begun: bool,
    /// The number of consecutive short lines.
    short: u8,
}

/// A prefix that a program adds to each line, such as a file name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LinePrefix {
    words: usize,
    /// A hash of the prefix that ignores numbers.
    hash: u64,
}

/// The end of a line in a block.
struct LineEnd {
    at: usize,
    /// The start of the next line; `None` at dashes, which end the block.
    next: Option<usize>,
}

impl KeyBlock {
    /// Whether a block has started and not ended.
    pub(super) fn is_open(self) -> bool {
        self.left > 0
    }

    /// Ends the block, if any.
    pub(super) fn close(&mut self) {
        *self = Self::default();
    }

    /// Adds the spans to mask in `range`, given the first lines of blocks.
    pub(super) fn spans(
        &mut self,
        bytes: &[u8],
        range: Range<usize>,
        begins: &[Range<usize>],
        spans: &mut Vec<Range<usize>>,
    ) {
        let mut at = range.start;
        if self.is_open() {
            at = self.inside(bytes, at..range.end, spans);
        }
        for begin in begins {
            if begin.end >= at && begin.end <= range.end {
                let first = begin.start.max(range.start);
                let line = start_of_line(bytes, range.start..first);
                let front = LinePrefix::of(&words(&normalized(bytes, line..first)));
                *self = Self { left: MAX_KEY_BYTES, front, has_begun: false, short: 0 };
                at = self.inside(bytes, begin.end..range.end, spans);
            }
        }
    }

    /// Masks the lines of a block and returns the position after it.
    fn inside(
        &mut self,
        bytes: &[u8],
        range: Range<usize>,
        spans: &mut Vec<Range<usize>>,
    ) -> usize {
        let mut at = range.start;
        while at < range.end && self.is_open() {
            let LineEnd { at: end, next } = end_of_line(bytes, at..range.end.min(at + self.left));
            if !self.takes(bytes, at..end) {
                self.close();
                return at;
            }
            mask(bytes, at..end, spans);
            let Some(next) = next else {
                self.close();
                return end;
            };
            self.left = self.left.saturating_sub(next - at);
            at = next;
        }
        at
    }

    /// Whether a line can be part of a key.
    fn takes(&mut self, bytes: &[u8], line: Range<usize>) -> bool {
        let line = normalized(bytes, line);
        let words = words(&line);
        let mut words = &words[..];
        if let Some((front, rest)) = words.split_at_checked(self.front.words)
            && !front.is_empty()
            && LinePrefix::of(front) == self.front
        {
            words = rest;
        } else if let [first, rest @ ..] = words
            && first.iter().all(u8::is_ascii_digit)
            && !rest.is_empty()
        {
            // Skip the line number.
            words = rest;
        }
        let short = std::mem::take(&mut self.short);
        if words.iter().any(|word| runs(word).any(is_long)) {
            self.has_begun = true;
            return true;
        }
        match *words {
            [] => {
                self.short = short;
                true
            }
            [word] if runs(word).any(|run| run.len() >= WORD && is_mixed(run)) => true,
            [word] if word.iter().all(|byte| is_key(*byte)) => {
                self.short = short + 1;
                let is_path = word.len() >= WORD && word.contains(&b'/');
                !is_path && short < MAX_SHORT_LINES
            }
            [first, ..] => !self.has_begun && is_header(&line, first),
        }
    }
}

impl LinePrefix {
    fn of(words: &[&[u8]]) -> Self {
        let mut hasher = DefaultHasher::new();
        for word in words {
            for byte in word.iter().filter(|byte| !byte.is_ascii_digit()) {
                hasher.write_u8(*byte);
            }
            hasher.write_u8(b' ');
        }
        Self { words: words.len(), hash: hasher.finish() }
    }
}

/// The start of the line that ends with this range, if it is near.
fn start_of_line(bytes: &[u8], range: Range<usize>) -> usize {
    let start = range.start.max(range.end.saturating_sub(MAX_PREFIX_LEN));
    let ends_line = |at: &usize| match bytes[*at] {
        b'\n' | b'\r' => true,
        b'n' | b'r' => *at > start && bytes[*at - 1] == b'\\',
        _ => false,
    };
    (start..range.end).rev().find(ends_line).map_or(start, |at| at + 1)
}

/// A line without colors, with decoded escapes of key characters, and with spaces for all other
/// escapes.
fn normalized(bytes: &[u8], line: Range<usize>) -> Cow<'_, [u8]> {
    let undone = match Normalized::of(bytes, line.clone()) {
        Some(undone) => Cow::Owned(undone.bytes),
        None => Cow::Borrowed(&bytes[line]),
    };
    let next = |at: usize| memchr(b'\\', &undone[at..]).map(|next| at + next);
    if next(0).is_none() {
        return undone;
    }
    let mut plain = Vec::with_capacity(undone.len());
    let mut at = 0;
    while let Some(start) = next(at) {
        plain.extend_from_slice(&undone[at..start]);
        let length = escape(&undone[start..]);
        plain.push(sign(&undone[start..start + length]).unwrap_or(b' '));
        at = start + length;
    }
    plain.extend_from_slice(&undone[at..]);
    Cow::Owned(plain)
}

/// The key character that an escape such as `\u002B` stands for.
fn sign(escape: &[u8]) -> Option<u8> {
    let backslashes = escape.iter().take_while(|byte| **byte == b'\\').count();
    u8::try_from(code(&escape[backslashes..])?).ok().filter(|sign| is_key(*sign))
}

/// The words of a line that do not only consist of punctuation.
fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(|byte| !is_key(*byte) && !b"._-".contains(byte))
        .map(bare)
        .filter(|word| word.iter().any(u8::is_ascii_alphanumeric))
        .collect()
}

/// The end of the line that starts here: a newline, an encoded newline, or dashes.
fn end_of_line(bytes: &[u8], range: Range<usize>) -> LineEnd {
    let mut at = range.start;
    while at < range.end {
        match bytes[at] {
            b'\n' | b'\r' => return LineEnd { at, next: Some(at + 1) },
            b'-' if bytes[at..].starts_with(DASHES) => return LineEnd { at, next: None },
            b'\\' => {
                let length = escape(&bytes[at..range.end]);
                let escape = &bytes[at..at + length];
                let letters = escape.iter().position(|byte| *byte != b'\\').unwrap_or(length);
                if matches!(
                    escape[letters..].to_ascii_lowercase()[..],
                    [b'n' | b'r'] | [b'u', b'0', b'0', b'0', b'a' | b'd']
                ) {
                    return LineEnd { at, next: Some(at + length) };
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    LineEnd { at: range.end, next: Some(range.end) }
}

/// Adds the spans of letters, digits and other key characters.
fn mask(bytes: &[u8], line: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let mut at = line.start;
    while at < line.end {
        let here = bytes[at];
        if is_key(here) {
            match spans.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                Some(_) | None => spans.push(at..at + 1),
            }
        }
        at += if here == b'\\' { escape(&bytes[at..line.end]) } else { 1 };
    }
}

/// Whether keys may contain this byte.
fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// A word without the punctuation around it.
fn bare(word: &[u8]) -> &[u8] {
    let first = word.iter().position(|byte| is_key(*byte)).unwrap_or(word.len());
    let end = word.iter().rposition(|byte| is_key(*byte)).map_or(first, |last| last + 1);
    &word[first..end]
}

/// The runs of key characters in a word.
fn runs(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    word.split(|byte| !is_key(*byte))
}

fn is_long(run: &[u8]) -> bool {
    run.len() >= LONG && is_mixed(run) && run.iter().any(u8::is_ascii_digit)
}

/// Whether the run contains upper and lower case letters.
fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_uppercase) && run.iter().any(u8::is_ascii_lowercase)
}

/// Whether a line is a header of a key, given its first word: `Proc-Type: 4,ENCRYPTED`.
fn is_header(line: &[u8], word: &[u8]) -> bool {
    // A key character may also be the marker of an added line in a diff.
    let name = &word[word.iter().position(u8::is_ascii_alphanumeric).unwrap_or(0)..];
    let is_known = HEADERS.contains(&name) || name.contains(&b'-');
    is_known
        && name.first().is_some_and(u8::is_ascii_uppercase)
        && memmem::find(line, name).is_some_and(|at| line[at + name.len()..].starts_with(b": "))
}

/// The length of an escape, including all its backslashes.
fn escape(bytes: &[u8]) -> usize {
    let run = bytes.iter().take_while(|byte| **byte == b'\\').count();
    match bytes.get(run) {
        Some(b'u') => {
            let digits = bytes[run + 1..].iter().take(DIGITS);
            run + 1 + digits.take_while(|byte| byte.is_ascii_hexdigit()).count()
        }
        Some(_) => run + 1,
        None => run,
    }
}
