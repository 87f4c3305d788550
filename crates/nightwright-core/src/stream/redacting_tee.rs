//! Masks what a program prints, where its words come a few characters at a time.
//!
//! A secret can be cut into several lines, none of which shows it, and whoever puts them together
//! does. So such lines are held back until the line of text that they are part of is whole, and go
//! out with their shares of the masked text. All others are masked as they come, and wait only for
//! what came before them.
//!
//! ```text
//!   bytes ─┬─ a piece of a message ─▶ held ────┬─▶ kept
//!          │                  └────────────────┼───▶ heard
//!          └─ anything else ─▶ masked ─▶ held ─┘
//!                                  └───────────────▶ heard
//! ```
//!
//! Whoever listens to the agent waits for nothing, and keeps nothing of the pieces.

mod queue;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memrchr};

use self::queue::{HeldDelta, LineQueue, ScanResult};
use self::text::OpenTexts;
use super::dialect::Dialect;
use crate::redact::{Secrets, StreamMasker};

/// A line that is longer brings no piece of a message.
const PIECE_MAX: usize = 256 << 10;
/// The most that is held back.
const HELD_MAX: usize = 1 << 20;
/// The most of what is no piece that waits for one.
const BEHIND_MAX: usize = 256 << 10;

/// What a line brings of a message that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamedPart<'a> {
    /// Some characters of a text.
    Text(TextDelta<'a>),
    /// Some characters of what comes whole later, and is not read before.
    Unread {
        /// Where in the line they are, as a JSON string.
        at: Range<usize>,
    },
    /// Nothing that has to do with a text.
    Aside,
    /// What this speaker was writing is at its end.
    Ends {
        /// Who.
        speaker: Cow<'a, str>,
        /// Which of the texts of a message; `None` = all of them.
        index: Option<&'a str>,
    },
}

/// Some characters of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextDelta<'a> {
    /// Whose text: empty, or the call that the sub-agent works for.
    pub speaker: Cow<'a, str>,
    /// Which of the texts of a message.
    pub index: &'a str,
    /// Where in the line they are, as a JSON string.
    pub at: Range<usize>,
    /// What they are.
    pub text: Cow<'a, str>,
}

/// Masks what a program prints.
#[derive(Debug)]
pub struct RedactingTee {
    dialect: Dialect,
    secrets: Secrets,
    /// For all that is no piece of a message.
    masking: StreamMasker,
    /// The last line so far, while it may be a piece of a message.
    line: Vec<u8>,
    /// Whether the last line is a long one, the beginning of which is gone already.
    is_long: bool,
    texts: OpenTexts,
    held: LineQueue,
}

impl RedactingTee {
    /// For one stream.
    pub fn new(dialect: Dialect, secrets: Secrets) -> Self {
        let masking = if dialect.prints_json() { StreamMasker::of_json } else { StreamMasker::new };
        Self {
            dialect,
            masking: masking(secrets.clone()),
            texts: OpenTexts::new(secrets.clone()),
            secrets,
            line: Vec::new(),
            is_long: false,
            held: LineQueue::default(),
        }
    }

    /// Takes more. What is `heard` comes out as soon as its line is whole; what is `kept` is the same
    /// but for pieces of messages, which wait for each other, and what comes behind them.
    pub fn push(
        &mut self,
        chunk: &[u8],
        mut kept: impl FnMut(&[u8]),
        mut heard: impl FnMut(&[u8]),
    ) {
        let (kept, heard): (Sink<'_>, Sink<'_>) = (&mut kept, &mut heard);
        if !self.dialect.streams_deltas() {
            return self.plain(chunk, ScanResult::Unknown, kept, heard);
        }
        let rest = self.begun(chunk, kept, heard);
        let (lines, last) = rest.split_at(memrchr(b'\n', rest).map_or(0, |at| at + 1));
        self.lines(lines, kept, heard);
        self.line.extend_from_slice(last);
        self.pass_long(kept, heard);
    }

    /// Hands out the rest: there is no more.
    pub fn finish(&mut self, mut kept: impl FnMut(&[u8]), mut heard: impl FnMut(&[u8])) {
        let (kept, heard): (Sink<'_>, Sink<'_>) = (&mut kept, &mut heard);
        let line = std::mem::take(&mut self.line);
        self.whole(&line, kept, heard);
        self.release_all(kept);
        self.masking.finish(|bytes| {
            kept(bytes);
            heard(bytes);
        });
    }

    /// The rest of a line that began in an earlier chunk. Gives what follows it.
    fn begun<'c>(&mut self, chunk: &'c [u8], kept: Sink<'_>, heard: Sink<'_>) -> &'c [u8] {
        if self.line.is_empty() && !self.is_long {
            return chunk;
        }
        let newline = memchr(b'\n', chunk);
        let (more, rest) = chunk.split_at(newline.map_or(chunk.len(), |at| at + 1));
        if self.is_long {
            self.is_long = newline.is_none();
            self.plain(more, ScanResult::Unknown, kept, heard);
            return rest;
        }
        self.line.extend_from_slice(more);
        if newline.is_some() {
            let mut line = std::mem::take(&mut self.line);
            self.whole(&line, kept, heard);
            // The same memory is used again.
            line.clear();
            self.line = line;
        } else {
            self.pass_long(kept, heard);
        }
        rest
    }

    /// A last line that is too long for a piece is not held.
    fn pass_long(&mut self, kept: Sink<'_>, heard: Sink<'_>) {
        if self.line.len() > PIECE_MAX {
            self.is_long = true;
            let line = std::mem::take(&mut self.line);
            self.plain(&line, ScanResult::Unknown, kept, heard);
        }
    }

    fn whole(&mut self, line: &[u8], kept: Sink<'_>, heard: Sink<'_>) {
        match self.streamed(line) {
            Some(streamed) => self.piece(line, streamed, ScanResult::Unknown, kept, heard),
            None => self.plain(line, ScanResult::Unknown, kept, heard),
        }
    }

    /// Whole lines. Where there is nothing to mask in any of them that is found out once.
    fn lines(&mut self, lines: &[u8], kept: Sink<'_>, heard: Sink<'_>) {
        let is_clean = self.masking.is_idle() && !self.secrets.are_in(lines);
        let look = if is_clean { ScanResult::Clean } else { ScanResult::Unknown };
        // Lines that are no pieces go on together.
        let mut plain = 0;
        let mut at = 0;
        while let Some(length) = memchr(b'\n', &lines[at..]) {
            let end = at + length + 1;
            if let Some(streamed) = self.streamed(&lines[at..end]) {
                self.plain(&lines[plain..at], look, kept, heard);
                self.piece(&lines[at..end], streamed, look, kept, heard);
                plain = end;
            }
            at = end;
        }
        self.plain(&lines[plain..], look, kept, heard);
    }

    fn streamed<'l>(&self, line: &'l [u8]) -> Option<StreamedPart<'l>> {
        if line.len() <= PIECE_MAX { self.dialect.streamed(line) } else { None }
    }

    /// What is no piece: behind everything that is held.
    fn plain(&mut self, bytes: &[u8], look: ScanResult, kept: Sink<'_>, heard: Sink<'_>) {
        if bytes.is_empty() {
            return;
        }
        if !self.held.is_empty() {
            if self.held.behind() > BEHIND_MAX {
                self.break_off(kept);
            } else if self.dialect.ends_turn(bytes) {
                self.release_all(kept);
            }
        }
        let Self { masking, held, .. } = self;
        let mut both = |bytes: &[u8]| {
            heard(bytes);
            if held.is_empty() {
                kept(bytes);
            } else {
                held.push_behind(bytes);
            }
        };
        match look {
            ScanResult::Clean => both(bytes),
            ScanResult::Unknown => masking.push(bytes, both),
        }
    }

    fn piece(
        &mut self,
        line: &[u8],
        streamed: StreamedPart<'_>,
        look: ScanResult,
        kept: Sink<'_>,
        heard: Sink<'_>,
    ) {
        match look {
            ScanResult::Clean => heard(line),
            ScanResult::Unknown => heard(&self.secrets.mask_lines_of_json(line)),
        }
        match streamed {
            StreamedPart::Text(delta) => {
                if self.texts.are_many() {
                    self.texts.give_up();
                    self.release(kept);
                }
                let text = self.texts.push(&delta);
                let piece = HeldDelta { text, at: delta.at, length: delta.text.len() };
                self.held.push(line, look, Some(piece));
            }
            StreamedPart::Unread { at } => {
                // As many as there were bytes between the quotation marks: the line keeps its length.
                let stars = "*".repeat(at.len().saturating_sub(2));
                self.held.push(&with(line, at, &stars), look, None);
            }
            StreamedPart::Aside => self.held.push(line, look, None),
            StreamedPart::Ends { speaker, index } => {
                self.texts.end(&speaker, index);
                self.held.push(line, look, None);
            }
        }
        self.release(kept);
        if self.held.len() > HELD_MAX {
            self.break_off(kept);
        }
    }

    /// Bytes that are kept: of texts, and of lines.
    #[cfg(test)]
    fn memory(&self) -> (usize, usize) {
        (self.texts.memory(), self.held.memory())
    }

    /// Hands out everything that is held.
    fn release_all(&mut self, kept: Sink<'_>) {
        self.texts.end_all();
        self.release(kept);
    }

    /// The same before the lines that are being written are whole: nothing of those is shown, up to
    /// their ends, for nobody knows what they are the beginning of.
    fn break_off(&mut self, kept: Sink<'_>) {
        self.texts.break_off();
        self.release(kept);
    }

    /// Hands out what needs not wait any longer, in the order in which it came.
    fn release(&mut self, kept: Sink<'_>) {
        let Self { held, texts, secrets, .. } = self;
        let share = |piece: &HeldDelta| texts.take(piece.text, piece.length);
        held.release(share, |line, look, share| match (share, look) {
            (Some((at, share)), _) => kept(&secrets.mask_lines_of_json(&with(line, at, &share))),
            (None, ScanResult::Unknown) => kept(&secrets.mask_lines_of_json(line)),
            (None, ScanResult::Clean) => kept(line),
        });
        texts.forget();
    }
}

type Sink<'a> = &'a mut dyn FnMut(&[u8]);

/// The line with another string in this place.
fn with(line: &[u8], at: Range<usize>, text: &str) -> Vec<u8> {
    let string = serde_json::Value::from(text).to_string();
    [&line[..at.start], string.as_bytes(), &line[at.end..]].concat()
}
