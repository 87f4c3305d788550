//! Texts that are being written, masked as far as they are known.

use memchr::memchr;

use super::TextDelta;
use crate::redact::{Secrets, StreamMasker};

/// More texts are never written at the same time.
const TEXTS_MAX: usize = 256;
/// More of what is gone is not kept.
const GONE_MAX: usize = 16 << 10;

/// Which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextId(u64);

/// All of them.
#[derive(Debug)]
pub(super) struct OpenTexts {
    secrets: Secrets,
    open: Vec<OpenText>,
    /// How many there were.
    count: u64,
    /// Whether some were forgotten before they were over: a text that seems to begin may go on.
    any_lost: bool,
}

/// A text that is being written.
#[derive(Debug)]
struct OpenText {
    number: TextId,
    speaker: String,
    index: String,
    masking: StreamMasker,
    /// The last of it.
    original: Vec<u8>,
    /// The same, masked, as far as it is known.
    masked: Vec<u8>,
    /// How much of these is gone already.
    gone: usize,
    /// Whether the beginning of the line that is being written is gone: nobody can tell what is
    /// secret in its rest.
    is_broken: bool,
    /// Whether nothing more comes.
    is_finished: bool,
}

/// What has become of some characters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DeltaState {
    /// It is not known yet.
    Unknown,
    /// They stay as they are.
    Same,
    /// Something in them is masked.
    Masked(String),
}

impl OpenTexts {
    pub(super) fn new(secrets: Secrets) -> Self {
        Self { secrets, open: Vec::new(), count: 0, any_lost: false }
    }

    pub(super) fn are_many(&self) -> bool {
        self.open.len() >= TEXTS_MAX
    }

    /// Takes more of a text.
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

    /// What this speaker was writing is at its end.
    pub(super) fn end(&mut self, speaker: &str, index: Option<&str>) {
        let ended = self.open.iter_mut().filter(|text| {
            text.speaker == speaker && index.is_none_or(|index| text.index == index)
        });
        ended.for_each(OpenText::end);
    }

    /// The lines that are being written go out as they are known so far.
    pub(super) fn break_off(&mut self) {
        self.open.iter_mut().for_each(OpenText::break_off);
    }

    /// The same, and all of them are forgotten.
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

    /// The next so many characters of a text, if they are known.
    pub(super) fn take(&mut self, number: TextId, length: usize) -> DeltaState {
        match self.open.iter_mut().find(|text| text.number == number) {
            Some(text) => text.take(length),
            // Nobody waits for a text that is forgotten.
            None => DeltaState::Same,
        }
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.open.iter().map(|text| text.original.capacity() + text.masked.capacity()).sum()
    }

    /// Forgets what is over and gone.
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

    /// What is known of the line that is being written is masked, and so is what comes of it.
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
        if self.gone == self.original.len() || self.gone > GONE_MAX {
            self.original.drain(..self.gone);
            self.masked.drain(..self.gone);
            self.gone = 0;
        }
        taken
    }
}
