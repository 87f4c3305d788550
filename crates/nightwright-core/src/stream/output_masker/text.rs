//! Texts that are being streamed, masked as far as they are complete.

use memchr::memchr;

use super::TextDelta;
use crate::redact::{Secrets, StreamMasker};

/// The maximum number of strings streamed at the same time.
const MAX_TEXTS: usize = 256;
/// The maximum number of released bytes that are kept.
const MAX_GONE: usize = 16 << 10;

/// The identifier of a streamed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextId(u64);

/// All strings that are being streamed.
#[derive(Debug)]
pub(super) struct OpenTexts {
    secrets: Secrets,
    open: Vec<OpenText>,
    /// The number of strings so far.
    count: u64,
    /// Whether strings were dropped before their end: a text that seems to begin may be the rest of
    /// one.
    any_lost: bool,
}

/// A text that is being streamed.
#[derive(Debug)]
struct OpenText {
    number: TextId,
    speaker: String,
    index: String,
    masking: StreamMasker,
    /// The end of the text, unmasked.
    original: Vec<u8>,
    /// The end of the text, masked, as far as it is known.
    masked: Vec<u8>,
    /// The number of bytes of both that are already released.
    gone: usize,
    /// Whether the start of the current line is already released. Secrets in its rest can no longer
    /// be recognized.
    is_broken: bool,
    /// Whether the text has ended.
    is_finished: bool,
}

/// The state of some characters of a string.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DeltaState {
    /// Not known yet: the line is incomplete.
    Unknown,
    /// The characters stay as they are.
    Same,
    /// The characters contain something masked.
    Masked(String),
}

impl OpenTexts {
    pub(super) fn new(secrets: Secrets) -> Self {
        Self { secrets, open: Vec::new(), count: 0, any_lost: false }
    }

    pub(super) fn are_many(&self) -> bool {
        self.open.len() >= MAX_TEXTS
    }

    /// Adds more of a string.
    pub(super) fn push(&mut self, delta: &TextDelta<'_>) -> TextId {
        let same = |text: &OpenText| {
            !text.is_finished && text.speaker == *delta.speaker && text.index == delta.index
        };
        let known = self.open.iter().position(same).unwrap_or_else(|| {
            self.count += 1;
            self.open.push(OpenText {
                number: TextId(self.count),
                speaker: delta.speaker.to_string(),
                index: delta.index.to_owned(),
                masking: StreamMasker::new(self.secrets.clone()),
                original: Vec::new(),
                masked: Vec::new(),
                gone: 0,
                is_broken: self.any_lost,
                is_finished: false,
            });
            self.open.len() - 1
        });
        let text = &mut self.open[known];
        text.push(delta.text.as_bytes());
        text.number
    }

    /// Ends the strings of this speaker.
    pub(super) fn end(&mut self, speaker: &str, index: Option<&str>) {
        let ended = self.open.iter_mut().filter(|text| {
            text.speaker == speaker && index.is_none_or(|index| text.index == index)
        });
        ended.for_each(OpenText::end);
    }

    /// Releases incomplete lines as far as they are known.
    pub(super) fn break_off(&mut self) {
        self.open.iter_mut().for_each(OpenText::break_off);
    }

    /// Releases incomplete lines, and forgets all strings.
    pub(super) fn give_up(&mut self) {
        self.any_lost = true;
        for text in &mut self.open {
            text.break_off();
            text.is_finished = true;
        }
    }

    pub(super) fn end_all(&mut self) {
        self.any_lost = false;
        self.open.iter_mut().for_each(OpenText::end);
    }

    /// Takes the next `length` characters of a string, if they are known.
    pub(super) fn take(&mut self, number: TextId, length: usize) -> DeltaState {
        match self.open.iter_mut().find(|text| text.number == number) {
            Some(text) => text.take(length),
            // A dropped text has nothing left to wait for.
            None => DeltaState::Same,
        }
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.open.iter().map(|text| text.original.capacity() + text.masked.capacity()).sum()
    }

    /// Forgets strings that have ended and are released.
    pub(super) fn forget(&mut self) {
        self.open.retain(|text| !text.is_finished || text.gone < text.original.len());
    }
}

impl OpenText {
    fn push(&mut self, bytes: &[u8]) {
        self.original.extend_from_slice(bytes);
        let mut bytes = bytes;
        if self.is_broken {
            let end = memchr(b'\n', bytes);
            self.is_broken = end.is_none();
            let (rest, more) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.masked.resize(self.masked.len() + rest.len(), b'*');
            bytes = more;
        }
        self.masking.push(bytes, |bytes| self.masked.extend_from_slice(bytes));
    }

    /// Masks the known part of the current line, and the rest of it when it arrives.
    fn break_off(&mut self) {
        if self.is_finished {
            return;
        }
        let masked = &mut self.masked;
        let mut length = 0;
        self.masking.finish(|bytes| length += bytes.len());
        masked.resize(masked.len() + length, b'*');
        self.is_broken |= length > 0;
    }

    fn end(&mut self) {
        if !self.is_finished {
            self.masking.finish(|bytes| self.masked.extend_from_slice(bytes));
            self.is_finished = true;
        }
    }

    fn take(&mut self, length: usize) -> DeltaState {
        let share = self.gone..self.gone + length;
        let Some(masked) = self.masked.get(share.clone()) else { return DeltaState::Unknown };
        let taken = if *masked == self.original[share.clone()] {
            DeltaState::Same
        } else {
            DeltaState::Masked(String::from_utf8_lossy(masked).into_owned())
        };
        self.gone = share.end;
        if self.gone == self.original.len() || self.gone > MAX_GONE {
            self.original.drain(..self.gone);
            self.masked.drain(..self.gone);
            self.gone = 0;
        }
        taken
    }
}
