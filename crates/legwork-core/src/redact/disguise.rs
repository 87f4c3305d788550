//! Text that looks otherwise than it is written: letters as `\u0041`, colours in the middle of a
//! word, characters that nobody sees. Such a line is looked at a second time, without all that.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use memchr::{memchr, memrchr};

use crate::display::is_unsafe;

/// Digits after `\u`.
const DIGITS: usize = 4;
/// The title of a window or a link is not longer.
const STRING_MOST: usize = 2048;
/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// How escapes begin that may stand for something else.
static SIGNS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build([r"\u", r"\x1b", r"\x1B", r"\033"])
        .expect("these few can be looked for")
});

/// A line without its disguise, and where each byte came from.
pub(super) struct Undone {
    pub(super) bytes: Vec<u8>,
    /// Where each byte was; one more for the end.
    from: Vec<usize>,
}

/// What some bytes stand for.
enum Stands {
    /// For themselves, so many.
    Plain(usize),
    /// For a letter or digit.
    For(u8, usize),
    /// For nothing that is seen.
    Nothing(usize),
}

/// Each line that has something to undo.
pub(super) fn undone_lines(bytes: &[u8], from: usize, mut each: impl FnMut(&Undone)) {
    let mut at = from;
    let (mut sign, mut byte) = (next_sign(bytes, at), next_byte(bytes, at));
    while let Some(next) = sign.into_iter().chain(byte).min() {
        let start = memrchr(b'\n', &bytes[at..next]).map_or(at, |newline| at + newline + 1);
        let end = memchr(b'\n', &bytes[next..]).map_or(bytes.len(), |newline| next + newline);
        if let Some(undone) = Undone::of(bytes, start..end) {
            each(&undone);
        }
        at = end;
        if sign.is_some_and(|sign| sign < at) {
            sign = next_sign(bytes, at);
        }
        if byte.is_some_and(|byte| byte < at) {
            byte = next_byte(bytes, at);
        }
    }
}

/// The next escape that stands for something else.
fn next_sign(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let found = SIGNS.find(Input::new(bytes).span(at..bytes.len()))?.start();
        if !matches!(stands(&bytes[found..]), Stands::Plain(_)) {
            return Some(found);
        }
        at = found + 1;
    }
}

/// The next byte that begins something that is not seen.
fn next_byte(bytes: &[u8], from: usize) -> Option<usize> {
    let is_odd = |byte: u8| {
        (byte < 0x20 && byte != b'\n' && byte != b'\t' && byte != b'\r')
            || byte == 0x7f
            || byte == 0xc2
            || byte == 0xd8
            || byte == 0xe1
            || byte == 0xe2
            || byte == 0xef
            || byte == 0xf3
    };
    for (number, block) in bytes[from..].chunks(BLOCK).enumerate() {
        // Without a way out early this is done for many bytes at once.
        if !block.iter().fold(false, |any, byte| any | is_odd(*byte)) {
            continue;
        }
        let start = from + number * BLOCK;
        let found = (start..start + block.len())
            .find(|at| is_odd(bytes[*at]) && matches!(stands(&bytes[*at..]), Stands::Nothing(_)));
        if found.is_some() {
            return found;
        }
    }
    None
}

impl Undone {
    /// `None` if there is nothing to undo.
    fn of(bytes: &[u8], line: Range<usize>) -> Option<Self> {
        let mut undone = Self { bytes: Vec::with_capacity(line.len()), from: Vec::new() };
        let mut at = line.start;
        while at < line.end {
            match stands(&bytes[at..line.end]) {
                Stands::Plain(length) => {
                    undone.bytes.extend_from_slice(&bytes[at..at + length]);
                    undone.from.extend(at..at + length);
                    at += length;
                }
                Stands::For(letter, length) => {
                    undone.bytes.push(letter);
                    undone.from.push(at);
                    at += length;
                }
                Stands::Nothing(length) => at += length,
            }
        }
        undone.from.push(line.end);
        (undone.bytes.len() < line.len()).then_some(undone)
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
fn stands(bytes: &[u8]) -> Stands {
    match bytes[0] {
        b'\\' => escape(bytes),
        0x1b => Stands::Nothing(1 + sequence(&bytes[1..])),
        b'\n' | b'\t' | b'\r' => Stands::Plain(1),
        byte if byte < 0x20 || byte == 0x7f => Stands::Nothing(1),
        byte if byte < 0x80 => Stands::Plain(1),
        _ => {
            let Some(c) = first_char(bytes) else { return Stands::Plain(1) };
            let length = c.len_utf8();
            match c {
                '\u{9b}' => Stands::Nothing(length + parameters(&bytes[length..]).unwrap_or(0)),
                '\u{2028}' | '\u{2029}' => Stands::Plain(length),
                c if is_unsafe(c) => Stands::Nothing(length),
                _ => Stands::Plain(length),
            }
        }
    }
}

fn first_char(bytes: &[u8]) -> Option<char> {
    let start = &bytes[..bytes.len().min(4)];
    start.utf8_chunks().next()?.valid().chars().next()
}

/// What a run of backslashes and what follows it stand for.
fn escape(bytes: &[u8]) -> Stands {
    let run = bytes.iter().take_while(|byte| **byte == b'\\').count();
    let rest = &bytes[run..];
    if rest.starts_with(b"x1b") || rest.starts_with(b"x1B") || rest.starts_with(b"033") {
        return Stands::Nothing(run + 3 + sequence(&rest[3..]));
    }
    let plain = Stands::Plain((run + 1).min(bytes.len()));
    let Some(code) = code(rest) else { return plain };
    let length = run + 1 + DIGITS;
    match char::from_u32(code) {
        Some(c) if c.is_ascii_alphanumeric() => Stands::For(bytes_of(c), length),
        Some('\u{1b}') => Stands::Nothing(length + sequence(&bytes[length..])),
        Some('\u{9b}') => Stands::Nothing(length + parameters(&bytes[length..]).unwrap_or(0)),
        Some('\r' | '\n' | '\t' | '\u{2028}' | '\u{2029}') => plain,
        Some(c) if is_unsafe(c) => Stands::Nothing(length),
        Some(_) | None => plain,
    }
}

fn bytes_of(c: char) -> u8 {
    u8::try_from(c).unwrap_or(b'?')
}

/// The number in `uXXXX`.
fn code(rest: &[u8]) -> Option<u32> {
    let digits = rest.strip_prefix(b"u")?.get(..DIGITS)?;
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    let text = str::from_utf8(digits).ok().filter(|_| is_number)?;
    u32::from_str_radix(text, 16).ok()
}

/// How much behind an escape character belongs to it.
fn sequence(rest: &[u8]) -> usize {
    match rest.first() {
        Some(b'[') => parameters(&rest[1..]).map_or(0, |length| 1 + length),
        Some(b'P' | b'X' | b']' | b'^' | b'_') => string(&rest[1..]).map_or(0, |length| 1 + length),
        Some(_) => shape(rest, |_| false, b'0').unwrap_or(0),
        None => 0,
    }
}

fn parameters(rest: &[u8]) -> Option<usize> {
    shape(rest, |byte| (b'0'..=b'?').contains(&byte), b'@')
}

/// Parameters, intermediates and a last byte. A quote and a backslash are what JSON is made of.
fn shape(rest: &[u8], is_parameter: impl Fn(u8) -> bool, least: u8) -> Option<usize> {
    let mut at = rest.iter().take_while(|byte| is_parameter(**byte)).count();
    at +=
        rest[at..].iter().take_while(|byte| (b' '..=b'/').contains(byte) && **byte != b'"').count();
    let last = *rest.get(at)?;
    ((least..=b'~').contains(&last) && last != b'\\').then_some(at + 1)
}

/// A title or a link, up to what ends it: a bell, or an escape character and a backslash.
fn string(rest: &[u8]) -> Option<usize> {
    let near = &rest[..rest.len().min(STRING_MOST)];
    let mut at = 0;
    while at < near.len() {
        match near[at] {
            b'"' | b'\n' => return None,
            0x07 => return Some(at + 1),
            0x1b => return (near.get(at + 1) == Some(&b'\\')).then_some(at + 2),
            b'\\' => {
                let run = near[at..].iter().take_while(|byte| **byte == b'\\').count();
                match code(&near[at + run..]) {
                    Some(0x07) => return Some(at + run + 1 + DIGITS),
                    Some(0x1b) => {
                        let end = at + run + 1 + DIGITS;
                        let signs = near[end..].iter().take_while(|byte| **byte == b'\\').count();
                        return (signs > 0).then_some(end + signs);
                    }
                    Some(_) | None => at += run + 1,
                }
            }
            _ => at += 1,
        }
    }
    None
}
