//! A private key in its block of many lines.
//!
//! It is the one secret that goes over lines, so it is a state: from `-----BEGIN … PRIVATE KEY-----`
//! on, letters and digits are masked until `-----END`. Everything else stays, the ends of lines
//! above all, and the quotes that a program has around each of them. In JSON the end of the text
//! that it is in ends it, too.

use std::ops::Range;

/// A longer key is none.
const MOST: usize = 16 << 10;

/// What a block ends with.
const END: &[u8] = b"-----END";

/// Digits after `\u`.
const DIGITS: usize = 4;

/// Whether we are inside of one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyBlock {
    /// How much of it may still come; 0 outside.
    left: usize,
}

impl KeyBlock {
    /// Whether there is one that has not come to its end.
    pub(super) fn is_open(self) -> bool {
        self.left > 0
    }

    /// There is none any more.
    pub(super) fn close(&mut self) {
        self.left = 0;
    }

    /// Adds what is to be masked of `range`, given the first lines of blocks.
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
        for begin in begins.iter().map(|first| first.end) {
            if begin >= at && begin <= range.end {
                self.left = MOST;
                at = self.inside(bytes, begin..range.end, spans);
            }
        }
    }

    /// Goes through a block and says where it left it.
    fn inside(
        &mut self,
        bytes: &[u8],
        range: Range<usize>,
        spans: &mut Vec<Range<usize>>,
    ) -> usize {
        let mut at = range.start;
        while at < range.end && self.left > 0 {
            let here = bytes[at];
            if here == b'-' && bytes[at..].starts_with(END) {
                self.left = 0;
                return at;
            }
            let step = if here == b'\\' { escape(&bytes[at..range.end]) } else { 1 };
            if here.is_ascii_alphanumeric() || matches!(here, b'+' | b'/' | b'=') {
                match spans.last_mut() {
                    Some(last) if last.end == at => last.end += 1,
                    Some(_) | None => spans.push(at..at + 1),
                }
            }
            self.left = self.left.saturating_sub(step);
            at += step;
        }
        at
    }
}

/// How long an escape is, with all of its backslashes.
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
