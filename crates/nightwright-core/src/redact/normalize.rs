//! Text that looks otherwise than it is written: letters as `\u0041`, colours in the middle of a
//! word, characters that nobody sees. Such a line is looked at a second time, without all that.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::escapes::is_inside_character;
use super::find::SecretMatch;
use crate::display::{begins_string, is_unsafe, is_unseen};

/// Digits after `\u`.
const DIGITS: usize = 4;
/// The title of a window or a link is not longer.
const MAX_STRING_LEN: usize = 2048;
/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// What follows the backslash of an escape that may stand for something else.
const ESCAPES: [u8; 7] = *b"ux0bfe/";

/// A line without its disguise, and where each byte came from.
pub(super) struct Normalized {
    pub(super) bytes: Vec<u8>,
    /// Where each byte was; one more for the end.
    pub(super) from: Vec<usize>,
}

/// What some bytes stand for.
enum Decoded {
    /// For themselves, so many.
    Plain(usize),
    /// For a letter, a digit or a slash.
    For(u8, usize),
    /// For nothing that is seen.
    Nothing(usize),
}

/// What a line is, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineFormat {
    /// It may be JSON, which is made of quotes and backslashes: nothing goes over one.
    Json,
    Plain,
}

impl LineFormat {
    fn of(line: &[u8]) -> Self {
        match line.trim_ascii_start().first() {
            Some(b'{' | b'[' | b'"') => Self::Json,
            Some(_) | None => Self::Plain,
        }
    }
}

/// Each line that has something to undo.
pub(super) fn normalized_lines(bytes: &[u8], from: usize, mut each: impl FnMut(&Normalized)) {
    let mut at = from;
    while let Some(next) = next_hidden(bytes, at) {
        let start = memrchr(b'\n', &bytes[at..next]).map_or(at, |newline| at + newline + 1);
        let end = memchr(b'\n', &bytes[next..]).map_or(bytes.len(), |newline| next + newline);
        if let Some(normalized) = Normalized::of(bytes, start..end) {
            each(&normalized);
        }
        at = end;
    }
}

/// The next place where something is not what it looks like.
fn next_hidden(bytes: &[u8], from: usize) -> Option<usize> {
    let is_hidden = |at: usize| {
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        (is_odd(bytes[at]) || begins_escape(bytes[at], next))
            && !matches!(decode(&bytes[at..], LineFormat::Json), Decoded::Plain(_))
            && !is_of_picture(bytes, at)
    };
    let mut start = from;
    while let Some((block, next)) = bytes
        .get(start..)
        .and_then(|rest| Some((rest.first_chunk::<BLOCK>()?, rest.get(1..)?.first_chunk()?)))
    {
        if may_hide(block, next)
            && let Some(found) = (start..start + BLOCK).find(|at| is_hidden(*at))
        {
            return Some(found);
        }
        start += BLOCK;
    }
    (start..bytes.len()).find(|at| is_hidden(*at))
}

/// Whether a joiner or a variant is part of a picture or of a sign of a script without letters: half
/// of all emoji are made so, and a line with one need not be looked at twice for that.
fn is_of_picture(bytes: &[u8], at: usize) -> bool {
    let is_joiner = matches!(bytes[at..], [0xe2, 0x80, 0x8c | 0x8d, ..] | [0xef, 0xb8, _, ..]);
    let before = bytes[..at].iter().rev().take(4).find(|byte| !is_inside_character(**byte));
    is_joiner && before.is_some_and(|first| *first >= 0xe1)
}

/// Whether something may be hidden in a block, given the same one byte further on. Counted without
/// a way out early, each question is asked of many bytes at once; most are just letters.
fn may_hide(block: &[u8; BLOCK], next: &[u8; BLOCK]) -> bool {
    let (mut strange, mut escape) = (0, 0);
    for byte in block {
        strange |= u8::from(!matches!(byte, b' '..=b'~'));
        escape |= u8::from(*byte == b'\\');
    }
    if strange > 0 && has_suspect(block) && block.iter().any(|byte| is_odd(*byte)) {
        return true;
    }
    if escape > 0 {
        escape = 0;
        for (byte, next) in block.iter().zip(next) {
            let begins = ESCAPES.iter().fold(0, |any, sign| any | u8::from(next == sign));
            escape |= u8::from(*byte == b'\\') & begins;
        }
    }
    escape > 0
}

/// Whether there may be an odd byte in a block: what goes on with a character or ends a line is none,
/// nor are most letters of the languages of Europe. Few questions, for many bytes at once.
fn has_suspect(block: &[u8; BLOCK]) -> bool {
    let suspect = |byte: u8| {
        let control = byte < b' ' && byte != b'\n' && byte != b'\t';
        let letter = byte > 0xc1 && byte != 0xc3;
        control || letter || byte == 0x7f
    };
    block.iter().fold(0, |any, byte| any | u8::from(suspect(*byte))) > 0
}

/// Whether a character that nobody sees may begin with this byte.
fn is_odd(byte: u8) -> bool {
    matches!(
        byte,
        0..=8 | 11 | 12 | 14..=31 | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3
    )
}

/// Whether these two may begin an escape that stands for something else.
fn begins_escape(byte: u8, next: u8) -> bool {
    byte == b'\\' && ESCAPES.contains(&next)
}

impl Normalized {
    /// `None` if there is nothing to undo.
    pub(super) fn of(bytes: &[u8], line: Range<usize>) -> Option<Self> {
        let mut normalized = Self { bytes: Vec::with_capacity(line.len()), from: Vec::new() };
        let kind = LineFormat::of(&bytes[line.clone()]);
        let mut at = line.start;
        while at < line.end {
            match decode(&bytes[at..line.end], kind) {
                Decoded::Plain(length) => {
                    normalized.bytes.extend_from_slice(&bytes[at..at + length]);
                    normalized.from.extend(at..at + length);
                    at += length;
                }
                Decoded::For(letter, length) => {
                    normalized.bytes.push(letter);
                    normalized.from.push(at);
                    at += length;
                }
                Decoded::Nothing(length) => at += length,
            }
        }
        normalized.from.push(line.end);
        (normalized.bytes.len() < line.len()).then_some(normalized)
    }

    /// Something that was found in it, where it was.
    pub(super) fn original(&self, hit: &SecretMatch) -> SecretMatch {
        SecretMatch { whole: self.origin(&hit.whole), span: self.origin(&hit.span), by: hit.by }
    }

    /// Where a span was.
    pub(super) fn origin(&self, span: &Range<usize>) -> Range<usize> {
        self.from[span.start]..self.from[span.end]
    }

    /// Whether something was taken out in front of this byte.
    pub(super) fn is_seam(&self, at: usize) -> bool {
        at > 0 && self.from[at] != self.from[at - 1] + 1
    }
}

/// What the first bytes of these stand for; there is at least one.
fn decode(bytes: &[u8], kind: LineFormat) -> Decoded {
    match bytes[0] {
        b'\\' => escape(bytes, kind),
        0x1b => Decoded::Nothing(1 + sequence(&bytes[1..], kind)),
        b'\n' | b'\t' | b'\r' => Decoded::Plain(1),
        byte if byte < 0x20 || byte == 0x7f => Decoded::Nothing(1),
        byte if byte < 0x80 => Decoded::Plain(1),
        _ => {
            let Some(c) = first_char(bytes) else { return Decoded::Plain(1) };
            let length = c.len_utf8();
            match c {
                '\u{9b}' => {
                    Decoded::Nothing(length + parameters(&bytes[length..], kind).unwrap_or(0))
                }
                c if begins_string(c) => {
                    Decoded::Nothing(length + string(&bytes[length..], kind).unwrap_or(0))
                }
                '\u{2028}' | '\u{2029}' => Decoded::Plain(length),
                c if is_unseen(c) => Decoded::Nothing(length),
                _ => Decoded::Plain(length),
            }
        }
    }
}

fn first_char(bytes: &[u8]) -> Option<char> {
    let start = &bytes[..bytes.len().min(4)];
    start.utf8_chunks().next()?.valid().chars().next()
}

/// What a run of backslashes and what follows it stand for.
fn escape(bytes: &[u8], kind: LineFormat) -> Decoded {
    let run = bytes.iter().take_while(|byte| **byte == b'\\').count();
    let rest = &bytes[run..];
    if rest.starts_with(b"x1b") || rest.starts_with(b"x1B") || rest.starts_with(b"033") {
        return Decoded::Nothing(run + 3 + sequence(&rest[3..], kind));
    }
    // Backspace and form feed, as JSON writes them.
    if let Some(b'b' | b'f') = rest.first() {
        return Decoded::Nothing(run + 1);
    }
    // Some write every slash of an address so.
    if rest.starts_with(b"/") {
        return Decoded::For(b'/', run + 1);
    }
    // The shell's name for the escape character begins many words: only a colour is one.
    if let Some(length) = rest.strip_prefix(b"e[").and_then(|rest| parameters(rest, kind)) {
        return Decoded::Nothing(run + 2 + length);
    }
    let plain = Decoded::Plain((run + 1).min(bytes.len()));
    let Some((character, length)) = character(rest, run) else { return plain };
    match character {
        c if c.is_ascii_alphanumeric() => Decoded::For(bytes_of(c), length),
        '\u{1b}' => Decoded::Nothing(length + sequence(&bytes[length..], kind)),
        '\u{9b}' => Decoded::Nothing(length + parameters(&bytes[length..], kind).unwrap_or(0)),
        c if begins_string(c) => {
            Decoded::Nothing(length + string(&bytes[length..], kind).unwrap_or(0))
        }
        '\r' | '\n' | '\t' | '\u{2028}' | '\u{2029}' => plain,
        c if is_unseen(c) => Decoded::Nothing(length),
        _ => plain,
    }
}

/// The character of `uXXXX` behind so many backslashes, or of two of them, and how long all that is.
fn character(rest: &[u8], run: usize) -> Option<(char, usize)> {
    let first = code(rest)?;
    let length = run + 1 + DIGITS;
    if let Some(c) = char::from_u32(first) {
        return Some((c, length));
    }
    let second = &rest[1 + DIGITS..];
    let signs = second.iter().take_while(|byte| **byte == b'\\').count();
    let second = code(&second[signs..]).filter(|_| signs > 0)?;
    let units = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let c = char::decode_utf16(units).next()?.ok()?;
    Some((c, length + signs + 1 + DIGITS))
}

fn bytes_of(c: char) -> u8 {
    u8::try_from(c).unwrap_or(b'?')
}

/// The number in `uXXXX`.
pub(super) fn code(rest: &[u8]) -> Option<u32> {
    let digits = rest.strip_prefix(b"u")?.get(..DIGITS)?;
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    let text = str::from_utf8(digits).ok().filter(|_| is_number)?;
    u32::from_str_radix(text, 16).ok()
}

/// How much behind an escape character belongs to it.
fn sequence(rest: &[u8], kind: LineFormat) -> usize {
    match rest.first() {
        Some(b'[') => parameters(&rest[1..], kind).map_or(0, |length| 1 + length),
        Some(b'P' | b'X' | b']' | b'^' | b'_') => {
            string(&rest[1..], kind).map_or(0, |length| 1 + length)
        }
        Some(_) => shape(rest, |_| false, b'0', kind).unwrap_or(0),
        None => 0,
    }
}

fn parameters(rest: &[u8], kind: LineFormat) -> Option<usize> {
    shape(rest, |byte| (b'0'..=b'?').contains(&byte), b'@', kind)
}

/// Parameters, intermediates and a last byte. In JSON a quote or a backslash among them is escaped:
/// bare ones are what JSON is made of.
fn shape(
    rest: &[u8],
    is_parameter: impl Fn(u8) -> bool,
    least: u8,
    kind: LineFormat,
) -> Option<usize> {
    let mut at = rest.iter().take_while(|byte| is_parameter(**byte)).count();
    loop {
        let signs = rest[at..].iter().take_while(|byte| **byte == b'\\').count();
        match (*rest.get(at + signs)?, signs, kind) {
            (b'"', 0, LineFormat::Json) => return None,
            (b'"', 1.., LineFormat::Json) => at += signs + 1,
            (b' '..=b'/', 0, _) => at += 1,
            // The last byte is a backslash.
            (_, 1.., LineFormat::Plain) => return Some(at + 1),
            (_, 2.., LineFormat::Json) => return Some(at + signs),
            (_, 1, LineFormat::Json) => return None,
            (last, 0, _) => return (least..=b'~').contains(&last).then_some(at + 1),
        }
    }
}

/// A title or a link, up to what ends it: a bell, or an escape character and a backslash, or the one
/// character for both. As on a screen, one in which there is something else that is not seen is
/// none, and is shown.
fn string(rest: &[u8], kind: LineFormat) -> Option<usize> {
    let near = &rest[..rest.len().min(MAX_STRING_LEN)];
    let mut at = 0;
    while at < near.len() {
        match near[at] {
            b'"' if kind == LineFormat::Json => return None,
            0x07 => return Some(at + 1),
            0x1b => return (near.get(at + 1) == Some(&b'\\')).then_some(at + 2),
            b'\\' => {
                let run = near[at..].iter().take_while(|byte| **byte == b'\\').count();
                let end = at + run + 1 + DIGITS;
                match code(&near[at + run..]).and_then(char::from_u32) {
                    Some('\u{7}' | '\u{9c}') => return Some(end),
                    Some('\u{1b}') => {
                        let signs = near[end..].iter().take_while(|byte| **byte == b'\\').count();
                        return (signs > 0).then_some(end + signs);
                    }
                    Some(c) if is_unsafe(c) => return None,
                    Some(_) | None => at += run + 1,
                }
            }
            b'\t' => at += 1,
            byte if byte < 0x20 || byte == 0x7f => return None,
            byte if byte < 0x80 => at += 1,
            _ => match first_char(&near[at..]) {
                Some('\u{9c}') => return Some(at + '\u{9c}'.len_utf8()),
                Some(c) if is_unsafe(c) => return None,
                Some(c) => at += c.len_utf8(),
                None => at += 1,
            },
        }
    }
    None
}
