//! Lines that wait, one behind the other.

use std::collections::VecDeque;
use std::ops::Range;

use super::text::{DeltaState, TextId};

/// More of what is gone is not kept.
const GONE_MAX: usize = 64 << 10;

/// What is known of some lines before they are looked at one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanResult {
    /// There is nothing to mask in any of them.
    Clean,
    Unknown,
}

/// A line that has some characters of a text in it.
#[derive(Debug)]
pub(super) struct HeldDelta {
    pub(super) text: TextId,
    /// Where in the line they are, as a JSON string.
    pub(super) at: Range<usize>,
    /// How many bytes they are, when they are no JSON.
    pub(super) length: usize,
}

/// Everything that waits.
#[derive(Debug, Default)]
pub(super) struct LineQueue {
    /// The bytes of all of it, behind some that are gone.
    bytes: Vec<u8>,
    gone: usize,
    parts: VecDeque<QueuedLines>,
    /// How many bytes of it are no pieces, and wait for one.
    behind: usize,
}

/// A line, or several that are not looked at any more.
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

    /// How many bytes wait that are masked already.
    pub(super) fn behind(&self) -> usize {
        self.behind
    }

    /// Puts a line at the end.
    pub(super) fn push(&mut self, line: &[u8], look: ScanResult, piece: Option<HeldDelta>) {
        self.bytes.extend_from_slice(line);
        if let (None, ScanResult::Clean, Some(last)) = (&piece, look, self.parts.back_mut())
            && last.piece.is_none()
            && last.look == ScanResult::Clean
        {
            last.length += line.len();
            return;
        }
        self.parts.push_back(QueuedLines { length: line.len(), look, piece });
    }

    /// Puts at the end what is masked already.
    pub(super) fn push_behind(&mut self, bytes: &[u8]) {
        self.behind += bytes.len();
        self.push(bytes, ScanResult::Clean, None);
    }

    /// Hands out lines from the front, up to one whose share of a text is not known. Those that stay
    /// as they are go together.
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
        if self.parts.is_empty() || self.gone > GONE_MAX {
            self.bytes.drain(..self.gone);
            self.gone = 0;
        }
    }
}
