//! Journal scanner: reads a journal in chunks, and distinguishes an incomplete last line from
//! damage.
//!
//! A crash can leave the end of the file half written: bytes without a newline, or a last line
//! whose checksum is wrong. Such an event was never reported as recorded, so it may be cut off. Any
//! error before that is damage: a recorded event is missing, and nightwright must not continue
//! without it.

use crate::journal::{JournalLine, LineError, MAX_LINE_BYTES, decode};
use crate::units::RunId;

/// A reader that takes bytes and returns lines. It is unusable after an error.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The position of the first byte after the last good line.
    position: u64,
    /// The number of the last good line, which is also its `seq`.
    lines: u64,
    /// The run, known from the first line on.
    run: Option<RunId>,
    /// The bytes after the last good line.
    rest: Remainder,
}

/// The bytes after the last good line.
#[derive(Clone, Debug)]
enum Remainder {
    /// The beginning of a line, or nothing.
    Piece(Vec<u8>),
    /// A complete line that is damaged. At the end of the file it is a torn end; otherwise it is
    /// damage.
    Suspect { length: u64, why: crate::journal::Damage },
}

impl Default for Remainder {
    fn default() -> Self {
        Self::Piece(Vec::new())
    }
}

/// The result of scanning a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEnd {
    /// The run; `None` if there is no line.
    pub run: Option<RunId>,
    /// The number of good lines, which is also the `seq` of the last.
    pub lines: u64,
    /// The length of the good lines in bytes.
    pub length: u64,
    /// The torn end after them, if any.
    pub torn: Option<TornTail>,
}

/// The end of a journal that a crash left half written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The number that the line would have had.
    pub line: u64,
    /// The position of its first byte.
    pub offset: u64,
    /// The length of the line in bytes.
    pub length: u64,
}

/// Damage to a journal: the kind and the position.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is invalid")]
pub struct ScanError {
    /// The number of the line, from 1.
    pub line: u64,
    /// The position of the first byte of the line.
    pub offset: u64,
    #[source]
    pub why: ScanErrorKind,
}

/// The kinds of errors in a line of a journal.
#[derive(Debug, thiserror::Error)]
pub enum ScanErrorKind {
    /// The line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// Lines before it are missing or duplicated.
    #[error("it has the number {found}, expected {expected}")]
    Gap { expected: u64, found: u64 },
    /// The line was written by another run.
    #[error("it belongs to run {found}, but earlier lines belong to run {expected}")]
    OtherRun {
        /// The run of the lines before it.
        expected: RunId,
        /// The run of this line.
        found: RunId,
    },
    /// The line exceeds the maximum length.
    #[error("it is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
}

impl Scan {
    /// A reader at the beginning of a journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes, and passes on every line that they complete.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(JournalLine),
    ) -> Result<(), ScanError> {
        self.feed_raw(bytes, |line, _| each(line))
    }

    /// Like [`Self::feed`], with the bytes of each line, without its newline.
    pub fn feed_raw(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(JournalLine, &[u8]),
    ) -> Result<(), ScanError> {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let mut piece = match std::mem::take(&mut self.rest) {
                Remainder::Piece(piece) => piece,
                Remainder::Suspect { why, .. } => return Err(self.wrong(LineError::Damaged(why))),
            };
            let end = memchr::memchr(b'\n', bytes);
            if piece.len() + end.unwrap_or(bytes.len()) > MAX_LINE_BYTES {
                return Err(self.wrong(ScanErrorKind::TooLong));
            }
            let Some(end) = end else {
                piece.extend_from_slice(bytes);
                self.rest = Remainder::Piece(piece);
                return Ok(());
            };
            if piece.is_empty() {
                self.line(&bytes[..end], &mut each)?;
            } else {
                piece.extend_from_slice(&bytes[..end]);
                self.line(&piece, &mut each)?;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// The position of the first byte after the last good line.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The number of good lines so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Forgets the bytes after the last good line: the next bytes must be those at
    /// [`position`](Self::position). For a journal that is still being written, whose half-written
    /// end may be removed.
    pub fn rewind(&mut self) {
        self.rest = Remainder::default();
    }

    pub fn finish(self) -> JournalEnd {
        let length = match &self.rest {
            Remainder::Piece(piece) => piece.len() as u64,
            Remainder::Suspect { length, .. } => *length,
        };
        let torn = (length > 0).then_some(TornTail {
            line: self.lines + 1,
            offset: self.position,
            length,
        });
        JournalEnd { run: self.run, lines: self.lines, length: self.position, torn }
    }

    fn line(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(JournalLine, &[u8]),
    ) -> Result<(), ScanError> {
        let length = bytes.len() as u64 + 1;
        let line = match decode(bytes) {
            Ok(line) => line,
            Err(LineError::Damaged(why)) => {
                self.rest = Remainder::Suspect { length, why };
                return Ok(());
            }
            Err(error) => return Err(self.wrong(error)),
        };
        let expected = self.lines + 1;
        if line.seq != expected {
            return Err(self.wrong(ScanErrorKind::Gap { expected, found: line.seq }));
        }
        match &self.run {
            None => self.run = Some(line.run.clone()),
            Some(run) if *run == line.run => {}
            Some(run) => {
                let expected = run.clone();
                return Err(self.wrong(ScanErrorKind::OtherRun { expected, found: line.run }));
            }
        }
        self.lines = expected;
        self.position += length;
        each(line, bytes);
        Ok(())
    }

    /// An error in the line after the last good one.
    fn wrong(&self, why: impl Into<ScanErrorKind>) -> ScanError {
        ScanError { line: self.lines + 1, offset: self.position, why: why.into() }
    }
}
