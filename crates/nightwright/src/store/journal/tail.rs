//! Follows a journal while another process writes it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nightwright_core::journal::{JournalLine, Scan};

use super::error::{JournalError, StoreFileError};
use crate::files;

/// Size of one read.
const CHUNK: usize = 64 << 10;

/// The length of a journal up to which its writer wrote every byte. Clones share the value.
#[derive(Clone, Debug, Default)]
pub struct WrittenLength(Arc<AtomicU64>);

impl WrittenLength {
    pub(super) fn set(&self, length: u64) {
        self.0.store(length, Ordering::Release);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// A reader that remembers its position. After an error it cannot be used any more; a new one
/// starts from the beginning.
#[derive(Debug)]
pub struct JournalTail {
    file: File,
    path: PathBuf,
    scan: Scan,
    /// The end of what the writer wrote; `None` if the writer is another process.
    written: Option<WrittenLength>,
}

impl JournalTail {
    /// Opens a journal; the first poll passes on all its lines.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Self::open_written(path, None)
    }

    /// [`open`](Self::open), but lines after `written` are not read: only another process can have
    /// added them.
    pub fn open_written(path: &Path, written: Option<WrittenLength>) -> Result<Self, JournalError> {
        let file = files::open_regular(path).map_err(StoreFileError::on("open", path))?;
        Ok(Self { file, path: path.to_owned(), scan: Scan::new(), written })
    }

    /// Passes each line that was completed since the last poll to `each`, with the bytes it was read
    /// from, without the newline.
    pub fn poll_raw(
        &mut self,
        mut each: impl FnMut(JournalLine, &[u8]),
    ) -> Result<(), JournalError> {
        let mut offset = self.scan.position();
        // Later lines are left for the next poll, so that a fast writer cannot keep this loop busy.
        let end = self.file.metadata().map_err(StoreFileError::on("inspect", &self.path))?.len();
        if end < offset {
            return Err(JournalError::CutBack { path: self.path.clone() });
        }
        let end = self.written.as_ref().map_or(end, |written| end.min(written.get()));
        let chunk = |offset| usize::try_from(end - offset).map_or(CHUNK, |left| left.min(CHUNK));
        let mut buffer = vec![0; if offset < end { chunk(offset) } else { 0 }];
        while offset < end {
            let most = chunk(offset);
            let count = match self.file.read_at(&mut buffer[..most], offset) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(StoreFileError::on("read", &self.path)(error).into()),
            };
            offset += count as u64;
            self.scan
                .feed_raw(&buffer[..count], &mut each)
                .map_err(|error| JournalError::scan(&self.path, error))?;
        }
        // The writer may remove an incomplete line that it could not finish, so the line is read
        // again each time.
        self.scan.rewind();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use nightwright_core::event::{NoteEvent, Record};
    use nightwright_core::journal::encode;
    use nightwright_core::units::RunId;

    use super::*;

    #[test]
    fn lines_behind_what_the_writer_wrote_are_not_read_however_much_is_pending() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let warning = NoteEvent::Warning { text: "x".repeat(1000) };
        let (at, active) = (jiff::Timestamp::UNIX_EPOCH, std::time::Duration::ZERO);
        let record = Record { at, active, event: warning.into() };
        let (mut bytes, written) = (Vec::new(), WrittenLength::default());
        for seq in 1..=200 {
            encode(&mut bytes, seq, &RunId("R".to_owned()), &record);
            if seq == 100 {
                written.set(bytes.len() as u64);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        assert!(written.get() > CHUNK as u64 && written.get() % CHUNK as u64 != 0);
        let mut last = 0;
        let mut tail = JournalTail::open_written(&path, Some(written)).unwrap();
        tail.poll_raw(|line, _| last = line.seq).unwrap();
        assert_eq!(last, 100);
    }
}
