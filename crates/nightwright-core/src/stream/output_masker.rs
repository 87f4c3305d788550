//! Masks the output of a program whose text arrives a few characters at a time.
//!
//! A secret can be split over several lines, none of which shows it alone, but their concatenation
//! does. So such lines are held until their line of text is complete, and then released with their
//! parts of the masked text. All other lines are masked immediately, and wait only for the lines
//! before them.
//!
//! ```text
//!   bytes ─┬─ a piece of a message ─▶ held ───┬─▶ kept
//!          └─ anything else ─▶ masked ─▶ held ┘
//! ```
//!
//! The transcript does not read this output: a mask could hide the structure of a line from it.

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

/// The maximum length of a line that is tried as a piece of a message.
const MAX_PIECE: usize = 256 << 10;
/// The maximum number of bytes held back.
const MAX_HELD: usize = 1 << 20;
/// The maximum number of bytes of other lines that wait behind a piece.
const MAX_BEHIND: usize = 256 << 10;

/// The part of a streamed message in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamedPart<'a> {
    /// Some characters of a string.
    Text(TextDelta<'a>),
    /// Some characters of a part that is repeated later as a whole, and not read before.
    Unread {
        /// The position of the characters in the line, as a JSON string.
        at: Range<usize>,
    },
    /// A line that concerns no text.
    Aside,
    /// The end of a string of this speaker.
    Ends {
        speaker: Cow<'a, str>,
        /// The index of the text within its message; `None` for all of them.
        index: Option<&'a str>,
    },
}

/// Some characters of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextDelta<'a> {
    /// The author of the text: empty for the main agent, or the call that started the sub-agent.
    pub speaker: Cow<'a, str>,
    /// The index of the text within its message.
    pub index: &'a str,
    /// The position of the characters in the line, as a JSON string.
    pub at: Range<usize>,
    /// The decoded characters of the delta.
    pub text: Cow<'a, str>,
}

/// Masks the output of a program.
#[derive(Debug)]
pub struct OutputMasker {
    dialect: Dialect,
    secrets: Secrets,
    /// The masker for lines that are not pieces of a message.
    masking: StreamMasker,
    /// The last line so far, while it may be a piece of a message.
    line: Vec<u8>,
    /// Whether the last line is a long one, whose start is already released.
    is_long: bool,
    texts: OpenTexts,
    held: LineQueue,
}

impl OutputMasker {
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

    /// Takes a chunk. `kept` gets each line as soon as it is complete, except that pieces of
    /// messages wait for each other, and later lines wait for them.
    pub fn push(&mut self, chunk: &[u8], mut kept: impl FnMut(&[u8])) {
        let kept: Sink<'_> = &mut kept;
        if !self.dialect.streams_deltas() {
            return self.plain(chunk, ScanResult::Unknown, kept);
        }
        let rest = self.begun(chunk, kept);
        let (lines, last) = rest.split_at(memrchr(b'\n', rest).map_or(0, |at| at + 1));
        self.lines(lines, kept);
        self.line.extend_from_slice(last);
        self.pass_long(kept);
    }

    /// Releases the rest at the end of the stream.
    pub fn finish(&mut self, mut kept: impl FnMut(&[u8])) {
        let kept: Sink<'_> = &mut kept;
        let line = std::mem::take(&mut self.line);
        self.whole(&line, kept);
        self.release_all(kept);
        self.masking.finish(kept);
    }

    /// Completes a line that began in an earlier chunk, and returns the rest of the chunk.
    fn begun<'c>(&mut self, chunk: &'c [u8], kept: Sink<'_>) -> &'c [u8] {
        if self.line.is_empty() && !self.is_long {
            return chunk;
        }
        let newline = memchr(b'\n', chunk);
        let (more, rest) = chunk.split_at(newline.map_or(chunk.len(), |at| at + 1));
        if self.is_long {
            self.is_long = newline.is_none();
            self.plain(more, ScanResult::Unknown, kept);
            return rest;
        }
        self.line.extend_from_slice(more);
        if newline.is_some() {
            let mut line = std::mem::take(&mut self.line);
            self.whole(&line, kept);
            // The memory is reused.
            line.clear();
            self.line = line;
        } else {
            self.pass_long(kept);
        }
        rest
    }

    /// Releases a last line that is too long to be a piece of a message.
    fn pass_long(&mut self, kept: Sink<'_>) {
        if self.line.len() > MAX_PIECE {
            self.is_long = true;
            let line = std::mem::take(&mut self.line);
            self.plain(&line, ScanResult::Unknown, kept);
        }
    }

    fn whole(&mut self, line: &[u8], kept: Sink<'_>) {
        match self.streamed(line) {
            Some(streamed) => self.piece(line, streamed, ScanResult::Unknown, kept),
            None => self.plain(line, ScanResult::Unknown, kept),
        }
    }

    /// Processes complete lines. If none of them contains anything to mask, one scan shows it.
    fn lines(&mut self, lines: &[u8], kept: Sink<'_>) {
        let is_clean = self.masking.is_idle() && !self.secrets.are_in(lines);
        let look = if is_clean { ScanResult::Clean } else { ScanResult::Unknown };
        // Lines that are not pieces are passed on together.
        let mut plain = 0;
        let mut at = 0;
        while let Some(length) = memchr(b'\n', &lines[at..]) {
            let end = at + length + 1;
            if let Some(streamed) = self.streamed(&lines[at..end]) {
                self.plain(&lines[plain..at], look, kept);
                self.piece(&lines[at..end], streamed, look, kept);
                plain = end;
            }
            at = end;
        }
        self.plain(&lines[plain..], look, kept);
    }

    fn streamed<'l>(&self, line: &'l [u8]) -> Option<StreamedPart<'l>> {
        if line.len() <= MAX_PIECE { self.dialect.streamed(line) } else { None }
    }

    /// Queues bytes that are not pieces, behind everything that is held.
    fn plain(&mut self, bytes: &[u8], look: ScanResult, kept: Sink<'_>) {
        if bytes.is_empty() {
            return;
        }
        if !self.held.is_empty() {
            if self.held.behind() > MAX_BEHIND {
                self.break_off(kept);
            } else if self.dialect.ends_turn(bytes) {
                self.release_all(kept);
            }
        }
        let Self { masking, held, .. } = self;
        let mut queue = |bytes: &[u8]| {
            if held.is_empty() {
                kept(bytes);
            } else {
                held.push_behind(bytes);
            }
        };
        match look {
            ScanResult::Clean => queue(bytes),
            ScanResult::Unknown => masking.push(bytes, queue),
        }
    }

    fn piece(&mut self, line: &[u8], streamed: StreamedPart<'_>, look: ScanResult, kept: Sink<'_>) {
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
                // One star per byte between the quotes: the line keeps its length.
                self.held.push(line, look, None)[at.start + 1..at.end - 1].fill(b'*');
            }
            StreamedPart::Aside => {
                self.held.push(line, look, None);
            }
            StreamedPart::Ends { speaker, index } => {
                self.texts.end(&speaker, index);
                self.held.push(line, look, None);
            }
        }
        self.release(kept);
        if self.held.len() > MAX_HELD {
            self.break_off(kept);
        }
    }

    /// The number of bytes kept, of strings and of lines.
    #[cfg(test)]
    fn memory(&self) -> (usize, usize) {
        (self.texts.memory(), self.held.memory())
    }

    /// Releases everything that is held.
    fn release_all(&mut self, kept: Sink<'_>) {
        self.texts.end_all();
        self.release(kept);
    }

    /// Releases everything before the current lines of text are complete. Those lines are masked up
    /// to their ends, because they may begin with a secret.
    fn break_off(&mut self, kept: Sink<'_>) {
        self.texts.break_off();
        self.release(kept);
    }

    /// Releases whatever no longer has to wait, in order of arrival.
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

/// The line with the string at this position replaced.
fn with(line: &[u8], at: Range<usize>, text: &str) -> Vec<u8> {
    let string = serde_json::Value::from(text).to_string();
    [&line[..at.start], string.as_bytes(), &line[at.end..]].concat()
}
