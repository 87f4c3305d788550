//! Follows a journal while another process writes it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use nightwright_core::journal::{JournalLine, Scan};

use super::error::{JournalError, StoreFileError};

/// How much is read at a time.
const CHUNK: usize = 64 << 10;

/// A reader that remembers how far it has come. After an error it is of no further use: a new one
/// begins from the start.
#[derive(Debug)]
pub struct JournalTail {
    file: File,
    path: PathBuf,
    scan: Scan,
}

impl JournalTail {
    /// Opens a journal; the first poll gives everything that is in it.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let file = File::open(path).map_err(StoreFileError::on("open", path))?;
        Ok(Self { file, path: path.to_owned(), scan: Scan::new() })
    }

    /// The lines that were completed since the last poll; none if there is nothing new.
    pub fn poll(&mut self) -> Result<Vec<JournalLine>, JournalError> {
        let mut lines = Vec::new();
        self.poll_raw(|line, _| lines.push(line))?;
        Ok(lines)
    }

    /// The same one by one, each with the bytes it was read from, its newline left out.
    pub fn poll_raw(
        &mut self,
        mut each: impl FnMut(JournalLine, &[u8]),
    ) -> Result<(), JournalError> {
        let mut offset = self.scan.position();
        // What is written meanwhile is for the next poll: a fast writer can't keep us here.
        let end = self.file.metadata().map_err(StoreFileError::on("look at", &self.path))?.len();
        if end < offset {
            return Err(JournalError::CutBack { path: self.path.clone() });
        }
        let mut buffer = vec![0; CHUNK.min(usize::try_from(end - offset).unwrap_or(CHUNK))];
        while offset < end {
            let count = match self.file.read_at(&mut buffer, offset) {
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
        // A line that is not complete may be taken back by a writer that could not finish it, so
        // it is read anew each time.
        self.scan.rewind();
        Ok(())
    }
}
