//! A queue of lines that wait for masking.

use std::collections::VecDeque;
use std::ops::Range;

use super::text::{DeltaState, TextId};

/// The maximum number of released bytes that are kept.
const MAX_GONE: usize = 64 << 10;

/// The result of the quick scan of a block of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanResult {
    /// None of the lines contains anything to mask.
    Clean,
    Unknown,
}

/// A line that contains some characters of a string.
#[derive(Debug)]
pub(super) struct HeldDelta {
    pub(super) text: TextId,
    /// The position of the characters in the line, as a JSON string.
    pub(super) at: Range<usize>,
    /// The length of the decoded characters in bytes.
    pub(super) length: usize,
}

#[derive(Debug, Default)]
pub(super) struct LineQueue {
    /// The bytes of all lines, after some that are already released.
    bytes: Vec<u8>,
    gone: usize,
    parts: VecDeque<QueuedLines>,
    /// The number of bytes that are not deltas, and wait behind one.
    behind: usize,
}

/// A line, or several that need no further scan.
#[derive(Debug)]
struct QueuedLines {
    length: usize,
    look: ScanResult,
    piece: Option<HeldDelta>,
}

impl LineQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.gone
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// The number of waiting bytes that are already masked.
    pub(super) fn behind(&self) -> usize {
        self.behind
    }

    /// Appends a line, and returns it.
    pub(super) fn push(
        &mut self,
        line: &[u8],
        look: ScanResult,
        piece: Option<HeldDelta>,
    ) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(line);
        if let (None, ScanResult::Clean, Some(last)) = (&piece, look, self.parts.back_mut())
            && last.piece.is_none()
            && last.look == ScanResult::Clean
        {
            last.length += line.len();
        } else {
            self.parts.push_back(QueuedLines { length: line.len(), look, piece });
        }
        &mut self.bytes[start..]
    }

    /// Appends bytes that are already masked.
    pub(super) fn push_behind(&mut self, bytes: &[u8]) {
        self.behind += bytes.len();
        self.push(bytes, ScanResult::Clean, None);
    }

    /// Releases lines from the front, up to one whose text is not known yet. Unchanged lines are
    /// released together.
    pub(super) fn release(
        &mut self,
        mut share: impl FnMut(&HeldDelta) -> DeltaState,
        mut each: impl FnMut(&[u8], ScanResult, Option<(Range<usize>, String)>),
    ) {
        let mut start = self.gone;
        while let Some(part) = self.parts.front() {
            let share = part.piece.as_ref().map_or(DeltaState::Same, &mut share);
            if share == DeltaState::Unknown {
                break;
            }
            let Some(QueuedLines { length, look, piece }) = self.parts.pop_front() else { break };
            let line = self.gone..self.gone + length;
            self.gone = line.end;
            let masked = match (share, piece) {
                (DeltaState::Masked(text), Some(piece)) => Some((piece.at, text)),
                (DeltaState::Masked(_) | DeltaState::Same | DeltaState::Unknown, _) => None,
            };
            if masked.is_none() && look == ScanResult::Clean {
                continue;
            }
            if start < line.start {
                each(&self.bytes[start..line.start], ScanResult::Clean, None);
            }
            start = line.end;
            each(&self.bytes[line], look, masked);
        }
        if start < self.gone {
            each(&self.bytes[start..self.gone], ScanResult::Clean, None);
        }
        if self.parts.is_empty() {
            self.behind = 0;
        }
        if self.parts.is_empty() || self.gone > MAX_GONE {
            self.bytes.drain(..self.gone);
            self.gone = 0;
        }
    }
}
