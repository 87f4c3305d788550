//! Lines with colors inside words, or slashes written as `\/`. Such a line is searched a second
//! time, without them.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::{self, Finder};
use memchr::{memchr, memchr2};

use super::find::SecretMatch;

const ESCAPE: u8 = 0x1b;

/// The escape character in JSON, after any number of backslashes.
const WRITTEN: [&[u8]; 2] = [b"u001b", b"u001B"];

/// The start of both.
pub(super) const WRITTEN_ESCAPE: &str = "u001";

static SLASH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br"\/"));

/// Bytes that were taken from others, and the original position of each.
pub(super) struct Normalized {
    pub(super) bytes: Vec<u8>,
    /// The bytes in runs that have the same distance from their original positions. The last run
    /// is the end.
    runs: Vec<Run>,
}

/// Bytes that follow each other in both strings.
#[derive(Clone, Copy)]
struct Run {
    /// The position of the first byte.
    start: usize,
    /// The position of this byte in the original text.
    original: usize,
}

/// Calls `each` for every line that changes by normalization. `has_escape` is whether an escape
/// character is written somewhere.
pub(super) fn normalized_lines(
    bytes: &[u8],
    from: usize,
    has_escape: bool,
    mut each: impl FnMut(&Normalized),
) {
    if !has_escape && !is_raw_suspect(&bytes[from..]) {
        return;
    }
    let mut start = from;
    while start < bytes.len() {
        let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length);
        if let Some(normalized) = Normalized::of(bytes, start..end) {
            each(&normalized);
        }
        start = end + 1;
    }
}

/// Whether the bytes contain a written escape character.
pub(super) fn has_written_escape(bytes: &[u8]) -> bool {
    memmem::find(bytes, WRITTEN_ESCAPE.as_bytes()).is_some()
}

/// Whether the bytes contain an escape character, or a slash after a backslash.
fn is_raw_suspect(bytes: &[u8]) -> bool {
    memchr(ESCAPE, bytes).is_some() || SLASH.find(bytes).is_some()
}

impl Normalized {
    /// Normalizes a line: removes colors, and the backslashes before slashes. `None` if the line
    /// stays the same.
    pub(super) fn of(bytes: &[u8], line: Range<usize>) -> Option<Self> {
        let text = &bytes[line.clone()];
        if !is_raw_suspect(text) && !has_written_escape(text) {
            return None;
        }
        let mut normalized = Self::with_capacity(line.len());
        let mut at = line.start;
        while at < line.end {
            let rest = &bytes[at..line.end];
            let plain = memchr2(ESCAPE, b'\\', rest).unwrap_or(rest.len());
            let run = rest[plain..].iter().take_while(|byte| **byte == b'\\').count();
            let rest = &rest[plain..];
            if let Some(length) = colour(rest, run) {
                normalized.keep(&bytes[at..at + plain], at);
                at += plain + length;
            } else if run > 0 && rest.get(run) == Some(&b'/') {
                normalized.keep(&bytes[at..at + plain], at);
                normalized.keep(b"/", at + plain);
                at += plain + run + 1;
            } else {
                let length = plain + rest.len().min(run + 1);
                normalized.keep(&bytes[at..at + length], at);
                at += length;
            }
        }
        (normalized.bytes.len() < line.len()).then(|| normalized.ending(line.end))
    }

    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), runs: Vec::new() }
    }

    /// Appends bytes that follow each other from this original position on.
    pub(super) fn keep(&mut self, bytes: &[u8], original: usize) {
        let start = self.bytes.len();
        let is_next = |last: &Run| last.original + (start - last.start) == original;
        if !bytes.is_empty() && !self.runs.last().is_some_and(is_next) {
            self.runs.push(Run { start, original });
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the end of the text, which stands for this original position.
    pub(super) fn ending(mut self, original: usize) -> Self {
        self.runs.push(Run { start: self.bytes.len(), original });
        self
    }

    /// Maps a match back to its original position.
    pub(super) fn original(&self, hit: &SecretMatch) -> SecretMatch {
        SecretMatch { whole: self.origin(&hit.whole), span: self.origin(&hit.span), by: hit.by }
    }

    /// Maps a span back to its original position.
    pub(super) fn origin(&self, span: &Range<usize>) -> Range<usize> {
        let origin = |at: usize| {
            let run = self.runs[self.runs.partition_point(|run| run.start <= at) - 1];
            run.original + (at - run.start)
        };
        origin(span.start)..origin(span.end)
    }

    /// Whether something was removed before this byte.
    pub(super) fn is_seam(&self, at: usize) -> bool {
        at > 0 && self.runs.binary_search_by_key(&at, |run| run.start).is_ok()
    }
}

/// The length of the color sequence at this position, if any: an escape character, a bracket,
/// parameters and a letter. `run` is the number of backslashes before an escape character in JSON.
fn colour(bytes: &[u8], run: usize) -> Option<usize> {
    let escape = match bytes.get(run..)? {
        [ESCAPE, ..] if run == 0 => 1,
        rest if run > 0 && WRITTEN.iter().any(|written| rest.starts_with(written)) => {
            run + WRITTEN[0].len()
        }
        _ => return None,
    };
    let parameters = bytes[escape..].strip_prefix(b"[")?;
    let length = parameters.iter().take_while(|byte| matches!(byte, b'0'..=b'?')).count();
    parameters.get(length).filter(|last| last.is_ascii_alphabetic())?;
    Some(escape + 1 + length + 1)
}
