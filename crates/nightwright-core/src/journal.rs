//! Journal format: one line per event, with version, number, time, event and checksum.
//!
//! ```text
//! {"v":1,"seq":12,"at":"2026-11-15T23:40:33.123Z","active_ms":81234,"run":"…","event":"…",…,"crc":"xxxxxxxx"}
//! ```
//!
//! One event is one line. `v` is the first member and `crc`, the CRC-32 of all bytes before its
//! comma in eight lower-case hex digits, the last one. Both stay where they are in every later
//! version: this lets an older nightwright distinguish a newer line from a damaged one. Members
//! that are not known are ignored, so a version may add some without a new number; whatever an
//! older reader must not ignore takes a new one.
//!
//! A line is written around the event's own JSON object, and split again before its two halves are
//! parsed. `#[serde(flatten)]` would turn every line into a tree first, and a resume reads all of
//! them.

mod scan;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use memchr::memchr_iter;
use serde::Deserialize;

use crate::display::is_unsafe;
use crate::event::{Event, Record};
use crate::units::RunId;

pub use scan::{JournalEnd, Scan, ScanError, ScanErrorKind, TornTail};

/// The version that is written. Older versions are read, newer ones are rejected.
pub const VERSION: u64 = 1;

/// The maximum length of a line without its newline. Recorded lines are much shorter; the limit
/// keeps a file without newlines from being read into memory as a whole.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// A decoded line of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalLine {
    /// The number of the line: from 1, without gaps.
    pub seq: u64,
    /// The run it belongs to.
    pub run: RunId,
    /// The event and its time.
    pub record: Record,
}

/// The reason why a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The bytes of the line differ from those that were written.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The line is intact, but has a version that only a later nightwright supports.
    #[error("version {version} is newer than the newest this nightwright reads ({VERSION})")]
    Newer { version: u64 },
    /// The line is intact and its version supported, but its event is unknown: a later nightwright
    /// added it.
    #[error("this nightwright does not know the event `{name}`")]
    UnknownEvent { name: String },
    /// The line is intact, but not a valid journal line.
    #[error("it is not a journal line")]
    Malformed(#[source] serde_json::Error),
}

/// The way in which a checksum shows damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// There is no checksum at the end of the line.
    #[error("its end is missing or overwritten")]
    NoChecksum,
    /// The checksum does not match the bytes.
    #[error("its checksum is {written:08x}, and its bytes give {computed:08x}")]
    Mismatch {
        /// The checksum in the line.
        written: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
}

/// Appends the line of one event, with its newline.
pub fn encode(buffer: &mut Vec<u8>, seq: u64, run: &RunId, record: &Record) {
    let Record { at, active, event } = record;
    let start = buffer.len();
    let active_ms = u64::try_from(active.as_millis()).unwrap_or(u64::MAX);

    put(buffer, format_args!("{{\"v\":{VERSION},\"seq\":{seq},\"at\":\""));
    timestamp(buffer, *at);
    put(buffer, format_args!("\",\"active_ms\":{active_ms},\"run\":"));
    json(buffer, run);

    // The event's object becomes the rest of the line's: its opening brace turns into a comma, and
    // its closing brace makes room for the checksum.
    let object = buffer.len();
    json(buffer, event);
    escape_unseen(buffer, object);
    buffer[object] = b',';
    buffer.pop();

    let crc = crc32fast::hash(&buffer[start..]);
    put(buffer, format_args!(",\"crc\":\"{crc:08x}\"}}\n"));
}

/// Writes characters that a terminal would interpret or not show as `\uXXXX`, so that the file can
/// be displayed safely. Such characters occur only in JSON strings.
pub fn escape_unseen(buffer: &mut Vec<u8>, start: usize) {
    let text = &buffer[start..];
    // Nearly all text is plain, which one scan shows.
    if text.is_ascii() && memchr::memchr(0x7f, text).is_none() {
        return;
    }
    let Ok(text) = str::from_utf8(text) else { return };
    if !text.contains(is_unsafe) {
        return;
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if !is_unsafe(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(escaped, "\\u{unit:04x}").expect("writing to memory cannot fail");
        }
    }
    buffer.truncate(start);
    buffer.extend_from_slice(escaped.as_bytes());
}

/// Decodes a line, given without its newline.
pub fn decode(line: &[u8]) -> Result<JournalLine, LineError> {
    let body = verify(line)?;
    match as_written(body) {
        Some(line) => Ok(line),
        None => in_any_order(line),
    }
}

/// Decodes a line whose members are in the order of [`encode`], given without its checksum. Parsing
/// the members of the line and of the event separately takes a third less time. `None` does not
/// tell whether anything is wrong.
fn as_written(body: &[u8]) -> Option<JournalLine> {
    let body = str::from_utf8(body).ok()?;
    // A quote inside a string is escaped, so this is a member's name. If it belonged to a nested
    // member, the text before it would not be an object that lacks only its end.
    let event = |at: &usize| body[*at..].starts_with(",\"event\":");
    let (own, event) = body.split_at(memchr_iter(b',', body.as_bytes()).find(event)?);
    let mut text = String::with_capacity(body.len() + "}{}".len());
    text.extend([own, "}{", &event[",".len()..], "}"]);
    let (own, event) = text.split_at(own.len() + "}".len());
    let own: LineHeader = serde_json::from_str(own).ok()?;
    (own.v == VERSION).then_some(())?;
    Some(own.line(serde_json::from_str(event).ok()?))
}

/// Decodes a line that another program wrote, or finds out why it cannot be read.
fn in_any_order(line: &[u8]) -> Result<JournalLine, LineError> {
    let own: LineHeader = match serde_json::from_slice(line) {
        Ok(own) => own,
        Err(error) => return Err(unreadable(line, error)),
    };
    if own.v > VERSION {
        return Err(LineError::Newer { version: own.v });
    }
    let EventName { event: name } = serde_json::from_slice(line).map_err(LineError::Malformed)?;
    match serde_json::from_slice(line) {
        Ok(event) => Ok(own.line(event)),
        Err(error) if Event::names().any(|known| known == name) => Err(LineError::Malformed(error)),
        Err(_) => Err(LineError::UnknownEvent { name: name.into_owned() }),
    }
}

/// The members of a line besides its event. Borrowed if they have no escapes.
#[derive(Deserialize)]
struct LineHeader<'line> {
    v: u64,
    seq: u64,
    at: Timestamp,
    active_ms: u64,
    #[serde(borrow)]
    run: Cow<'line, str>,
}

impl LineHeader<'_> {
    fn line(self, event: Event) -> JournalLine {
        let active = Duration::from_millis(self.active_ms);
        JournalLine {
            seq: self.seq,
            run: RunId(self.run.into_owned()),
            record: Record { at: self.at, active, event },
        }
    }
}

/// The name of the event, known or not.
#[derive(Deserialize)]
struct EventName<'line> {
    #[serde(borrow)]
    event: Cow<'line, str>,
}

/// The members that every version of a line has.
#[derive(Deserialize)]
struct LineVersion {
    v: u64,
}

/// The error for an intact line that could not be read: a newer version may have other members.
fn unreadable(line: &[u8], error: serde_json::Error) -> LineError {
    match serde_json::from_slice(line) {
        Ok(LineVersion { v }) if v > VERSION => LineError::Newer { version: v },
        Ok(_) | Err(_) => LineError::Malformed(error),
    }
}

/// Compares the checksum at the end of a line with the bytes before it, and returns those.
fn verify(line: &[u8]) -> Result<&[u8], Damage> {
    let (body, written) = split_checksum(line).ok_or(Damage::NoChecksum)?;
    let computed = crc32fast::hash(body);
    if written == computed { Ok(body) } else { Err(Damage::Mismatch { written, computed }) }
}

/// Splits off `…,"crc":"xxxxxxxx"}`, and returns the bytes before it and its value.
fn split_checksum(line: &[u8]) -> Option<(&[u8], u32)> {
    let (line, digits) = line.strip_suffix(b"\"}")?.split_last_chunk::<8>()?;
    let body = line.strip_suffix(b",\"crc\":\"")?;
    let value = digits.iter().try_fold(0, |value, digit| {
        // Upper case would be a second form of the same line, and so an undetected change.
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u32::from(digit))
    })?;
    Some((body, value))
}

/// Writes milliseconds with three digits. More digits are written only if the time has them,
/// because a replay must see the same time.
fn timestamp(buffer: &mut Vec<u8>, at: Timestamp) {
    const MILLIS: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
    const EXACT: DateTimePrinter = DateTimePrinter::new();
    let printer = if at.subsec_nanosecond() % 1_000_000 == 0 { &MILLIS } else { &EXACT };
    printer.print_timestamp(&at, buffer).expect("writing to memory cannot fail");
}

fn put(buffer: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    buffer.write_fmt(text).expect("writing to memory cannot fail");
}

fn json(buffer: &mut Vec<u8>, value: &impl serde::Serialize) {
    serde_json::to_writer(buffer, value)
        .expect("ids and events are strings, numbers and objects with names: all of them are JSON");
}

#[cfg(test)]
mod tests;
