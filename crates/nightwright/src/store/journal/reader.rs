//! Reads a journal, and opens one for appending.

use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use nightwright_core::event::Record;
use nightwright_core::journal::{JournalEnd, MAX_LINE_BYTES, Scan, TornTail};
use nightwright_core::units::RunId;

use super::error::{JournalError, StoreFileError};
use super::layer::{DiskFile, FileLayer};
use super::writer::JournalWriter;
use crate::files;

/// Size of one read.
const CHUNK: usize = 256 << 10;

/// Size of one read of the first line: most lines fit.
const FIRST: usize = 16 << 10;

/// The contents of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The run; `None` if nothing was ever recorded.
    pub run: Option<RunId>,
    /// The events in order. The first has the number 1.
    pub records: Vec<Record>,
    /// The incomplete end, if any: left by a crash, or by a writer that is writing now.
    pub torn: Option<TornTail>,
}

/// Reads a journal without changing it.
pub fn read(path: &Path) -> Result<Journal, JournalError> {
    let file = files::open_regular(path).map_err(StoreFileError::on("open", path))?;
    let mut records = Vec::new();
    let end =
        scan(path, |offset, buffer| file.read_at(buffer, offset), |record| records.push(record))?;
    Ok(Journal { run: end.run, records, torn: end.torn })
}

/// Passes the events of a journal to `each`, without keeping them. Events before damage are passed
/// on before the error is returned. Returns the incomplete end, if any.
pub fn walk(path: &Path, each: impl FnMut(Record)) -> Result<Option<TornTail>, JournalError> {
    let file = files::open_regular(path).map_err(StoreFileError::on("open", path))?;
    Ok(scan(path, |offset, buffer| file.read_at(buffer, offset), each)?.torn)
}

/// Returns the first event of a journal, which contains the settings of the run. `None` if nothing
/// was ever recorded.
pub fn first(path: &Path) -> Result<Option<Record>, JournalError> {
    let file = files::open_regular(path).map_err(StoreFileError::on("open", path))?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; FIRST];
    let mut found = None;
    while bytes.len() <= MAX_LINE_BYTES {
        let count = match file.read_at(&mut buffer, bytes.len() as u64) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(StoreFileError::on("read", path)(error).into()),
        };
        let searched = bytes.len();
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(end) = bytes[searched..].iter().position(|byte| *byte == b'\n') {
            bytes.truncate(searched + end + 1);
            Scan::new()
                .feed(&bytes, |line| found = Some(line.record))
                .map_err(|error| JournalError::scan(path, error))?;
            break;
        }
    }
    Ok(found)
}

/// Creates the journal of a new run.
pub fn create(path: &Path, run: RunId) -> Result<JournalWriter<DiskFile>, JournalError> {
    JournalWriter::new(DiskFile::create(path)?, run)
}

/// Reads the journal of a run and returns a writer that continues it. An incomplete end is removed
/// and reported. The caller holds the run's lock.
pub fn open_for_append(
    path: &Path,
    run: &RunId,
) -> Result<(Journal, JournalWriter<DiskFile>), JournalError> {
    resume(DiskFile::open(path)?, run)
}

/// [`open_for_append`] for any kind of file.
pub fn resume<L: FileLayer>(
    mut layer: L,
    run: &RunId,
) -> Result<(Journal, JournalWriter<L>), JournalError> {
    let path = layer.path().to_owned();
    let mut records = Vec::new();
    let read_at = |offset, buffer: &mut [u8]| layer.read_at(offset, buffer);
    let end = scan(&path, read_at, |record| records.push(record))?;
    if let Some(found) = end.run.as_ref().filter(|found| *found != run) {
        return Err(JournalError::OtherRun { path, expected: run.clone(), found: found.clone() });
    }
    if end.torn.is_some() {
        // Synced at once: after a crash, the removed end must not reappear in front of new events.
        let cut = layer.truncate(end.length).and_then(|()| layer.sync());
        cut.map_err(StoreFileError::on("truncate the incomplete end of", &path))?;
    }
    let writer = JournalWriter::after(layer, run.clone(), &end)?;
    Ok((Journal { run: end.run, records, torn: end.torn }, writer))
}

fn scan(
    path: &Path,
    mut read_at: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    mut each: impl FnMut(Record),
) -> Result<JournalEnd, JournalError> {
    let mut scan = Scan::new();
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0;
    loop {
        let count = match read_at(offset, &mut buffer) {
            Ok(0) => return Ok(scan.finish()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(StoreFileError::on("read", path)(error).into()),
        };
        offset += count as u64;
        scan.feed(&buffer[..count], |line| each(line.record))
            .map_err(|error| JournalError::scan(path, error))?;
    }
}
