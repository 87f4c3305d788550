//! Lines with colours inside words, or slashes written as `\/`. Such a line is searched a second
//! time, without them.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr, memchr2};

use super::find::SecretMatch;

const ESCAPE: u8 = 0x1b;

/// The escape character in JSON, after any number of backslashes.
const WRITTEN: [&[u8]; 2] = [b"u001b", b"u001B"];

/// Texts that make a second search necessary, besides the escape character itself.
static SUSPECTS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| [&b"u001b["[..], b"u001B[", br"\/"].map(Finder::new));

/// A line without colours and with plain slashes, and the original position of each byte.
pub(super) struct Normalized {
    pub(super) bytes: Vec<u8>,
    /// The original position of each byte, and of the end.
    pub(super) from: Vec<usize>,
}

/// Calls `each` for every line that changes by normalization.
pub(super) fn normalized_lines(bytes: &[u8], from: usize, mut each: impl FnMut(&Normalized)) {
    if !is_suspect(&bytes[from..]) {
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

fn is_suspect(bytes: &[u8]) -> bool {
    memchr(ESCAPE, bytes).is_some() || SUSPECTS.iter().any(|suspect| suspect.find(bytes).is_some())
}

impl Normalized {
    /// Normalizes a line; `None` if it stays the same.
    pub(super) fn of(bytes: &[u8], line: Range<usize>) -> Option<Self> {
        if !is_suspect(&bytes[line.clone()]) {
            return None;
        }
        let mut normalized = Self { bytes: Vec::with_capacity(line.len()), from: Vec::new() };
        let mut at = line.start;
        while at < line.end {
            let rest = &bytes[at..line.end];
            let plain = memchr2(ESCAPE, b'\\', rest).unwrap_or(rest.len());
            normalized.keep(bytes, at..at + plain);
            at += plain;
            let rest = &rest[plain..];
            let run = rest.iter().take_while(|byte| **byte == b'\\').count();
            if let Some(length) = colour(rest, run) {
                at += length;
            } else if run > 0 && rest.get(run) == Some(&b'/') {
                normalized.bytes.push(b'/');
                normalized.from.push(at);
                at += run + 1;
            } else {
                let length = rest.len().min(run + 1);
                normalized.keep(bytes, at..at + length);
                at += length;
            }
        }
        normalized.from.push(line.end);
        (normalized.bytes.len() < line.len()).then_some(normalized)
    }

    fn keep(&mut self, bytes: &[u8], range: Range<usize>) {
        self.bytes.extend_from_slice(&bytes[range.clone()]);
        self.from.extend(range);
    }

    /// Maps a match back to its original position.
    pub(super) fn original(&self, hit: &SecretMatch) -> SecretMatch {
        SecretMatch { whole: self.origin(&hit.whole), span: self.origin(&hit.span), by: hit.by }
    }

    /// Maps a span back to its original position.
    pub(super) fn origin(&self, span: &Range<usize>) -> Range<usize> {
        self.from[span.start]..self.from[span.end]
    }

    /// Whether something was removed before this byte.
    pub(super) fn is_seam(&self, at: usize) -> bool {
        at > 0 && self.from[at] != self.from[at - 1] + 1
    }
}

/// The length of the colour sequence at this position, if any: an escape character, a bracket,
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
