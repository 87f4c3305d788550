//! Appends events to a journal, with space reserved for the last ones.

use std::io;
use std::sync::Arc;

use nightwright_core::event::Record;
use nightwright_core::journal::{JournalEnd, MAX_LINE_BYTES, encode};
use nightwright_core::units::RunId;

use super::error::{JournalError, RecordingFailure, RecordingStep, StoreFileError};
use super::layer::FileLayer;

/// Bytes reserved for the last events. The final event with all its totals has about 1 KiB; the
/// report of a cancelled attempt rarely has more.
pub const RESERVE: u64 = 64 << 10;

/// Appends events to a journal. There is one per process, which holds the run's lock.
#[derive(Debug)]
pub struct JournalWriter<L> {
    layer: L,
    run: RunId,
    /// The number of recorded events.
    lines: u64,
    /// The bytes they take: the length to truncate the file to.
    length: u64,
    /// Whether there is anything to sync.
    unsynced: bool,
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
    /// A sync failed: the contents of the disk are unknown, and nothing is acknowledged any more.
    Lost(RecordingFailure),
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
        Ok(Self {
            layer,
            run,
            lines: end.lines,
            length: end.length,
            unsynced: false,
            batch: Vec::new(),
            health: WriterHealth::Good,
        })
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
        self.write(records).map_err(|failure| {
            self.health = WriterHealth::Full(failure.clone());
            JournalError::Failed(failure)
        })
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
        // The append shows whether there is space now.
        let _ = self.layer.release_reserve();
        // An earlier truncation may have failed, and events after an incomplete line would be
        // damage.
        self.cut_back().and_then(|()| self.write(records)).map_err(JournalError::Failed)?;
        self.flush()
    }

    /// Ends recording: syncs, and frees the reserved space.
    pub fn close(mut self) -> Result<(), JournalError> {
        self.sync()?;
        let path = self.layer.path().to_owned();
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

    /// Returns the first failure, if any.
    pub fn failure(&self) -> Option<&RecordingFailure> {
        match &self.health {
            WriterHealth::Good => None,
            WriterHealth::Full(first) | WriterHealth::Lost(first) => Some(first),
        }
    }

    fn write(&mut self, records: &[Record]) -> Result<(), RecordingFailure> {
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
                return Err(self.failed(RecordingStep::Append, io::Error::other(why)));
            }
        }
        if let Err(error) = self.layer.append(&self.batch) {
            self.batch.clear();
            // If this fails, an incomplete end remains, and nothing is written after it.
            let _ = self.cut_back();
            return Err(self.failed(RecordingStep::Append, error));
        }
        self.lines = seq;
        self.length += self.batch.len() as u64;
        self.unsynced = true;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), JournalError> {
        if !self.unsynced {
            return Ok(());
        }
        self.layer.sync().map_err(|error| {
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
