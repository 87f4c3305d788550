//! Appends events to a journal, with space reserved for the last ones.

use std::fmt;
use std::io;
use std::sync::Arc;

use nightwright_core::event::Record;
use nightwright_core::journal::{JournalEnd, MAX_LINE_BYTES, encode};
use nightwright_core::units::RunId;
use ring::digest::{Context, SHA256};

use super::error::{JournalChange, JournalError, RecordingFailure, RecordingStep, StoreFileError};
use super::layer::{FileFacts, FileLayer, NamedFile};
use super::tail::WrittenLength;
use crate::store::seal::{Seal, SealPoint};

/// Bytes reserved for the last events. The final event with all its totals has about 1 KiB; the
/// report of a cancelled attempt rarely has more.
pub const RESERVE: u64 = 64 << 10;

/// Size of one read.
const CHUNK: usize = 256 << 10;

/// Appends events to a journal. There is one per process, which holds the run's lock.
pub struct JournalWriter<L> {
    layer: L,
    run: RunId,
    /// The number of recorded events.
    lines: u64,
    /// The bytes they take: the length to truncate the file to.
    length: u64,
    /// The same length, for the followers in this process.
    written: WrittenLength,
    /// The hash of these bytes.
    contents: Context,
    /// Whether there is anything to sync.
    unsynced: bool,
    /// Records what was written, outside the run folder.
    seal: Option<Seal>,
    /// The lines of the last append.
    batch: Vec<u8>,
    health: WriterHealth,
}

/// Whether events can still be recorded.
#[derive(Debug)]
enum WriterHealth {
    Good,
    /// An append failed: only the last events can be recorded.
    Full(RecordingFailure),
    /// Another process changed the file: only the last events can be recorded, and only if the
    /// events before them are still there.
    Changed(RecordingFailure),
    /// A sync failed: the contents of the disk are unknown, and nothing is acknowledged any more.
    Lost(RecordingFailure),
}

impl<L: fmt::Debug> fmt::Debug for JournalWriter<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalWriter").field("layer", &self.layer).finish_non_exhaustive()
    }
}

impl<L: FileLayer> JournalWriter<L> {
    /// Starts a journal in an empty file.
    pub fn new(layer: L, run: RunId) -> Result<Self, JournalError> {
        Self::after(layer, run, &JournalEnd { run: None, lines: 0, length: 0, torn: None })
    }

    /// Continues after the last good line of a journal; the caller has removed everything after it.
    pub(super) fn after(mut layer: L, run: RunId, end: &JournalEnd) -> Result<Self, JournalError> {
        layer.reserve(RESERVE).map_err(|source| {
            let action = "reserve space for the last events of";
            StoreFileError { action, path: layer.path().to_owned(), source }
        })?;
        let contents =
            hash(&layer, end.length).map_err(StoreFileError::on("read", layer.path()))?;
        let written = WrittenLength::default();
        written.set(end.length);
        Ok(Self {
            layer,
            run,
            lines: end.lines,
            length: end.length,
            written,
            contents,
            unsynced: false,
            seal: None,
            batch: Vec::new(),
            health: WriterHealth::Good,
        })
    }

    /// Records in this seal what was written, and everything that will be.
    pub fn keep_seal(&mut self, mut seal: Seal) -> io::Result<()> {
        let point = SealPoint::new(self.length, self.contents.clone());
        seal.announce(point.clone(), point)?;
        self.layer.sync()?;
        seal.synced()?;
        self.seal = Some(seal);
        Ok(())
    }

    /// Appends events in one write. On an error none of them is recorded, and earlier events stay
    /// intact; from then on, only [`append_last`](Self::append_last) can record events.
    ///
    /// They survive a crash only after a [`sync`](Self::sync).
    pub fn append(&mut self, records: &[Record]) -> Result<(), JournalError> {
        self.batch.clear();
        if let Some(first) = self.failure() {
            return Err(JournalError::Stopped(first.clone()));
        }
        if records.is_empty() {
            return Ok(());
        }
        self.check()?;
        self.write(records).inspect_err(|error| {
            if let JournalError::Failed(failure) = error {
                self.health = WriterHealth::Full(failure.clone());
            }
        })
    }

    /// Returns an error if another process changed the file. From then on, only
    /// [`append_last`](Self::append_last) can record events.
    pub fn check(&mut self) -> Result<(), JournalError> {
        if let Some(first) = self.failure() {
            return Err(JournalError::Stopped(first.clone()));
        }
        let facts = match self.layer.facts() {
            Ok(facts) => facts,
            Err(error) => {
                let failure = self.failed(RecordingStep::Compare, error);
                self.health = WriterHealth::Full(failure.clone());
                return Err(JournalError::Failed(failure));
            }
        };
        difference(facts, self.length).map_or(Ok(()), |change| Err(self.changed(change)))
    }

    fn changed(&mut self, change: JournalChange) -> JournalError {
        let failure = self.failed(RecordingStep::Compare, io::Error::other(change));
        self.health = WriterHealth::Changed(failure);
        JournalError::Changed { path: self.layer.path().to_owned(), change }
    }

    /// Flushes all events to the disk; does nothing if they are already there. After an error,
    /// nothing can be recorded any more.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        if let Some(first) = self.failure() {
            return Err(JournalError::Stopped(first.clone()));
        }
        self.flush()
    }

    /// Appends and syncs the last events of the run. If the disk is full, they use the reserved
    /// space. Refused after a failed sync.
    ///
    /// This function can be called again: a run that ends while an agent is working records several
    /// last events.
    pub fn append_last(&mut self, records: &[Record]) -> Result<(), JournalError> {
        if let WriterHealth::Good = self.health
            && self.append(records).is_ok()
        {
            return self.sync();
        }
        self.batch.clear();
        if let WriterHealth::Lost(first) = &self.health {
            return Err(JournalError::Stopped(first.clone()));
        }
        if let WriterHealth::Changed(first) = &self.health {
            let first = first.clone();
            match self.layer.facts() {
                Ok(FileFacts { length, named: NamedFile::Same }) if length > self.length => {
                    // The copy is only for a person who wants to know what was added.
                    let _ = self.layer.keep_foreign(self.length);
                }
                Ok(facts) if difference(facts, self.length).is_none() => {}
                // Without the events before them, the last events make no readable journal.
                Ok(_) | Err(_) => return Err(JournalError::Stopped(first)),
            }
        }
        // The append shows whether there is space now.
        let _ = self.layer.release_reserve();
        // An earlier truncation may have failed, and events after an incomplete line would be
        // damage.
        self.cut_back().map_err(JournalError::Failed)?;
        self.write(records)?;
        self.flush()
    }

    /// Ends recording: syncs, compares the file with what was written, and frees the reserved space.
    pub fn close(mut self) -> Result<(), JournalError> {
        self.sync()?;
        self.check()?;
        let path = self.layer.path().to_owned();
        let found = hash(&self.layer, self.length).map_err(StoreFileError::on("read", &path))?;
        if found.finish().as_ref() != self.contents.clone().finish().as_ref() {
            return Err(self.changed(JournalChange::Contents));
        }
        let released = self.layer.release_reserve();
        released.map_err(StoreFileError::on("free the space reserved for", &path))?;
        Ok(())
    }

    /// The number of the last event recorded; 0 if there is none.
    pub fn last_seq(&self) -> u64 {
        self.lines
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the length that followers in this process may read.
    pub fn written(&self) -> WrittenLength {
        self.written.clone()
    }

    /// Returns the first failure, if any.
    pub fn failure(&self) -> Option<&RecordingFailure> {
        match &self.health {
            WriterHealth::Good => None,
            WriterHealth::Full(first)
            | WriterHealth::Changed(first)
            | WriterHealth::Lost(first) => Some(first),
        }
    }

    fn write(&mut self, records: &[Record]) -> Result<(), JournalError> {
        if records.is_empty() {
            return Ok(());
        }
        let mut seq = self.lines;
        for record in records {
            seq += 1;
            let start = self.batch.len();
            encode(&mut self.batch, seq, &self.run, record);
            // A line that exceeds the readers' limit would make the whole journal unreadable.
            if self.batch.len() - start > MAX_LINE_BYTES {
                self.batch.clear();
                let why = format!("an event `{}` is too long", record.event.name());
                let failure = self.failed(RecordingStep::Append, io::Error::other(why));
                return Err(JournalError::Failed(failure));
            }
        }
        let length = self.length + self.batch.len() as u64;
        let mut contents = self.contents.clone();
        contents.update(&self.batch);
        let before = SealPoint::new(self.length, self.contents.clone());
        let after = SealPoint::new(length, contents.clone());
        // A resumed run drops events that were not announced.
        if let Some(Err(error)) = self.seal.as_mut().map(|seal| seal.announce(before, after)) {
            return Err(self.undone(RecordingStep::Seal, error));
        }
        if let Err(error) = self.layer.append(&self.batch) {
            return Err(self.undone(RecordingStep::Append, error));
        }
        match self.layer.facts().map(|facts| difference(facts, length)) {
            Ok(None) => {}
            // Another process wrote between the check and the append.
            Ok(Some(change)) => {
                self.batch.clear();
                return Err(self.changed(change));
            }
            Err(error) => return Err(self.undone(RecordingStep::Compare, error)),
        }
        (self.lines, self.length, self.contents) = (seq, length, contents);
        self.written.set(length);
        self.unsynced = true;
        Ok(())
    }

    /// Removes an append that failed, and returns the error.
    fn undone(&mut self, step: RecordingStep, error: io::Error) -> JournalError {
        self.batch.clear();
        // If this fails, an incomplete end remains, and nothing is written after it.
        let _ = self.cut_back();
        JournalError::Failed(self.failed(step, error))
    }

    fn flush(&mut self) -> Result<(), JournalError> {
        if !self.unsynced {
            return Ok(());
        }
        let seal = self.seal.as_mut();
        self.layer.sync().and_then(|()| seal.map_or(Ok(()), Seal::synced)).map_err(|error| {
            let failure = self.failed(RecordingStep::Sync, error);
            let first = self.failure().unwrap_or(&failure).clone();
            self.health = WriterHealth::Lost(first);
            JournalError::Failed(failure)
        })?;
        self.unsynced = false;
        Ok(())
    }

    fn cut_back(&mut self) -> Result<(), RecordingFailure> {
        self.layer.truncate(self.length).map_err(|error| self.failed(RecordingStep::CutBack, error))
    }

    fn failed(&self, stage: RecordingStep, source: io::Error) -> RecordingFailure {
        RecordingFailure { stage, path: self.layer.path().to_owned(), source: Arc::new(source) }
    }
}

/// Returns how a file differs from the one that this process wrote up to `length`.
fn difference(facts: FileFacts, length: u64) -> Option<JournalChange> {
    match facts.named {
        NamedFile::Missing => Some(JournalChange::Deleted),
        NamedFile::Other => Some(JournalChange::Replaced),
        NamedFile::Same if facts.length == length => None,
        NamedFile::Same => Some(JournalChange::Length { expected: length, found: facts.length }),
    }
}

/// Hashes the first bytes of a file, fewer if it is shorter.
fn hash<L: FileLayer>(layer: &L, length: u64) -> io::Result<Context> {
    let mut contents = Context::new(&SHA256);
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0;
    while offset < length {
        let most = usize::try_from(length - offset).unwrap_or(CHUNK).min(CHUNK);
        match layer.read_at(offset, &mut buffer[..most]) {
            Ok(0) => break,
            Ok(count) => {
                contents.update(&buffer[..count]);
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(contents)
}
