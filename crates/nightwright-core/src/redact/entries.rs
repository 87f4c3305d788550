//! Values in lists of variables, as in Kubernetes, where the value follows its name in another
//! member or line.
//!
//! ```text
//!   - name: DB_PASSWORD      "name": "DB_PASSWORD",      {name: DB_PASSWORD, value: …}
//!     value: …               "value": "…"
//! ```
//!
//! Inside a JSON string, both lines are part of one line of the stream. In plain text they are two
//! lines, and the masker of the stream remembers the name.

use std::ops::Range;

use super::assignments::{
    MAX_LOOK, MAX_SPACES, ValueEnd, closed, is_of_name, is_variable, name_start, opened, spaces,
    value_length,
};
use super::escapes::keep_whole;
use super::names::{NameStrength, strength};
use super::normalize::Normalized;
use super::written_value::{ValueStyle, is_phrase, looks_secret};

/// The number of bytes at the start of a line that are searched for `value`. Programs add file
/// names and line numbers.
const MAX_PREFIX: usize = 160;

/// The name of an entry whose value follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryName {
    strength: NameStrength,
    /// Whether it is the name of an environment variable.
    is_variable: bool,
    /// Whether a comma follows, as in source code. Without one, a value without quotes is YAML.
    has_comma: bool,
}

/// The value of an entry.
pub(super) enum EntryValue {
    /// At this position, and secret.
    Secret(Range<usize>),
    /// In the next line of the stream.
    InNextLine(EntryName),
}

/// The position of the text after a name.
enum Gap {
    /// The value follows in the same line.
    Member(usize),
    /// The next line of a JSON text.
    WrittenLine(usize),
    /// The next line of the stream.
    Line,
}

/// How lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineStyle {
    Plain,
    /// With `\n`, in a JSON string.
    Written,
}

/// The value of the entry whose name contains this piece and ends at `name_end`. `after` is the
/// position after its closing quote.
pub(super) fn entry_value(
    bytes: &[u8],
    stem: usize,
    name_end: usize,
    after: usize,
) -> Option<(Range<usize>, EntryValue)> {
    // Most names are followed by something else.
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let next = bytes.get(after + usize::from(is_blank(bytes.get(after))));
    if !is_blank(next) && !matches!(next, Some(b',' | b'\n' | b'\r' | b'\\' | b'#')) {
        return None;
    }
    let has_comma = bytes.get(after) == Some(&b',');
    let gap = gap(bytes, after + usize::from(has_comma), has_comma)?;
    let name = name_start(bytes, stem)?..name_end;
    if !follows_key(&bytes[..name.start]) {
        return None;
    }
    let text = str::from_utf8(&bytes[name.clone()]).ok()?;
    let entry = EntryName { strength: strength(text)?, is_variable: is_variable(text), has_comma };
    let value = match gap {
        Gap::Member(at) => entry.member(bytes, at)?,
        Gap::WrittenLine(at) => entry.in_text(bytes, at..bytes.len(), LineStyle::Written)?,
        Gap::Line => return Some((name, EntryValue::InNextLine(entry))),
    };
    Some((name.start..value.end, EntryValue::Secret(value)))
}

impl EntryName {
    /// The secret value in the line after the name.
    pub(super) fn value_in(self, bytes: &[u8], line: Range<usize>) -> Option<Range<usize>> {
        let value = match Normalized::of(bytes, line.clone()) {
            None => self.in_text(bytes, line, LineStyle::Plain)?,
            Some(normalized) => {
                let all = 0..normalized.bytes.len();
                normalized.origin(&self.in_text(&normalized.bytes, all, LineStyle::Plain)?)
            }
        };
        let value = keep_whole(bytes, value);
        (!value.is_empty()).then_some(value)
    }

    /// The secret value in the first line of this text.
    fn in_text(self, bytes: &[u8], text: Range<usize>, style: LineStyle) -> Option<Range<usize>> {
        let first = &bytes[text.start..text.end.min(text.start + MAX_PREFIX)];
        let first = &first[..line_length(first, style)];
        let key = memchr::memmem::find(first, b"alue").filter(|key| *key > 0)? + text.start - 1;
        if key > text.start && is_of_name_before(bytes, key) {
            return None;
        }
        let (at, is_yaml) = after_key(bytes, key)?;
        let (start, quote) = opened(bytes, at)?;
        if let Some(quote) = quote {
            return self.secret(bytes, start, |text, limit| {
                value_length(text, ValueEnd::Quote(quote), limit)
            });
        }
        if self.has_comma || !is_yaml {
            return self.code(bytes, start);
        }
        self.secret(bytes, start, |text, limit| {
            let line = &text[..text.len().min(limit)];
            let line = &line[..line_length(line, style)];
            let end = memchr::memmem::find(line, b" #").unwrap_or(line.len());
            line[..end].trim_ascii_end().len()
        })
    }

    /// The secret value of a member at this position.
    fn member(self, bytes: &[u8], at: usize) -> Option<Range<usize>> {
        let (key, _) = opened(bytes, at)?;
        let (at, _) = after_key(bytes, key)?;
        let (start, quote) = opened(bytes, at)?;
        match quote {
            Some(quote) => self.secret(bytes, start, |text, limit| {
                value_length(text, ValueEnd::Quote(quote), limit)
            }),
            None => self.code(bytes, start),
        }
    }

    /// The secret value without quotes at this position, which may be source code.
    fn code(self, bytes: &[u8], start: usize) -> Option<Range<usize>> {
        let end = ValueEnd::Signs(b"\"'`\\;,<>}");
        let length = value_length(bytes.get(start..)?, end, usize::MAX);
        let value = &bytes[start..start + length.min(MAX_LOOK)];
        looks_secret(value, self.strength, ValueStyle::Plain).then_some(start..start + length)
    }

    /// The value at this position if it is secret. It is data, not source code.
    fn secret(
        self,
        bytes: &[u8],
        start: usize,
        length: impl Fn(&[u8], usize) -> usize,
    ) -> Option<Range<usize>> {
        let rest = bytes.get(start..)?;
        let value = &rest[..length(rest, MAX_LOOK)];
        let style = if self.is_variable { ValueStyle::Variable } else { ValueStyle::Quoted };
        let is_secret = if value.contains(&b' ') {
            self.strength == NameStrength::Password && is_phrase(value, style)
        } else {
            looks_secret(value, self.strength, ValueStyle::Quoted)
                || looks_secret(value, self.strength, style)
        };
        is_secret.then(|| start..start + length(rest, usize::MAX))
    }
}

/// The position of the value after a name and its comma, if there may be one.
fn gap(bytes: &[u8], at: usize, has_comma: bool) -> Option<Gap> {
    let at = at + spaces(bytes.get(at..)?);
    match bytes.get(at)? {
        b'v' | b'V' | b'"' | b'\'' if has_comma => {
            let (key, _) = opened(bytes, at)?;
            bytes[key..].get(1..)?.starts_with(b"alue").then_some(Gap::Member(at))
        }
        b'#' => {
            let rest = &bytes[at..bytes.len().min(at + MAX_LOOK)];
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\\'))?;
            line_break(bytes, at + end)
        }
        b'\n' | b'\r' => line_break(bytes, at),
        b'\\' => line_break(bytes, at).or_else(|| {
            let is_member = has_comma && opened(bytes, at)?.1.is_some();
            is_member.then_some(Gap::Member(at))
        }),
        _ => None,
    }
}

/// The line break at this position.
fn line_break(bytes: &[u8], at: usize) -> Option<Gap> {
    let rest = &bytes[at..];
    if rest.starts_with(b"\n") || rest.starts_with(b"\r\n") {
        return Some(Gap::Line);
    }
    let length = |rest: &[u8], letter: u8| {
        let run = rest.iter().take(MAX_SPACES).take_while(|byte| **byte == b'\\').count();
        (run > 0 && rest.get(run) == Some(&letter)).then_some(run + 1)
    };
    let before = length(rest, b'r').unwrap_or(0);
    Some(Gap::WrittenLine(at + before + length(&rest[before..], b'n')?))
}

/// The length of the first line.
fn line_length(text: &[u8], style: LineStyle) -> usize {
    let is_end = |at: &usize| match text[*at] {
        b'\n' | b'\r' => true,
        b'"' => style == LineStyle::Written && (*at == 0 || text[at - 1] != b'\\'),
        b'\\' => {
            let next = text[*at..].iter().find(|byte| **byte != b'\\');
            style == LineStyle::Written && matches!(next, Some(b'n' | b'r'))
        }
        _ => false,
    };
    (0..text.len()).find(is_end).unwrap_or(text.len())
}

/// Whether `name:` or `name =` is at the end of these bytes, perhaps with quotes.
fn follows_key(before: &[u8]) -> bool {
    let before = without_spaces(without_quote(before));
    let Some((b':' | b'=', before)) = before.split_last() else { return false };
    let before = without_quote(without_spaces(before));
    let before = before.strip_suffix(b"ame").and_then(|before| before.split_last());
    matches!(before, Some((b'n' | b'N', before)) if !is_of_name_before(before, before.len()))
}

/// Whether the byte before this position belongs to the same name. The letter of `\n` and `\t` does
/// not.
fn is_of_name_before(bytes: &[u8], at: usize) -> bool {
    match bytes[..at] {
        [.., b'\\', b'n' | b't'] => false,
        [.., last] => is_of_name(last) && last != b'-',
        [] => false,
    }
}

/// The position after `value:` or `value =`, and whether it is `:`. The key starts at `at`.
fn after_key(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let [b'v' | b'V', rest @ ..] = bytes.get(at..)? else { return None };
    rest.strip_prefix(b"alue")?;
    let (after, _) = closed(bytes, at + b"value".len())?;
    let after = after + spaces(bytes.get(after..)?);
    let sign = bytes.get(after)?;
    let value = after + 1 + spaces(&bytes[after + 1..]);
    matches!(sign, b':' | b'=').then_some((value, *sign == b':'))
}

fn without_quote(bytes: &[u8]) -> &[u8] {
    match bytes.split_last() {
        Some((b'"' | b'\'', rest)) => {
            let run = rest.iter().rev().take(MAX_SPACES).take_while(|byte| **byte == b'\\').count();
            &rest[..rest.len() - run]
        }
        Some(_) | None => bytes,
    }
}

fn without_spaces(bytes: &[u8]) -> &[u8] {
    let run = bytes.iter().rev().take(MAX_SPACES).take_while(|byte| **byte == b' ').count();
    &bytes[..bytes.len() - run]
}
