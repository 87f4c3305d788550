//! The seal of a run: the length and hash of its journal, outside the run folder.
//!
//! A run that crashed is resumed from its journal, and its agent could have written there. The seal
//! is in the state folder of the project, next to the project's lock. The writer of the journal
//! updates it before each append and after each sync:
//!
//! ```text
//!   journal.jsonl  ──────────┬──────────────┬──────────────┬─ ─ ─ ─ ─ ─ ─
//!   seal                  synced         before          after    unknown writer: dropped
//! ```
//!
//! The seal itself is not synced. As long as the machine has not restarted, the journal ends before
//! or after the last append. Nothing else counts: the effects of an incomplete append have not begun.
//! After a restart, the journal must have everything that was synced.
//!
//! This protects against changes of the run folder. The agent is the same user, so without a sandbox
//! it can rewrite the seal as well.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::journal::error::StoreFileError;
use super::journal::private;
use super::run_dir::RunDir;
use crate::files;
use crate::hex::hex;

/// The size of the file: one sector, which a disk writes as a whole.
const BYTES: usize = 512;
/// Size of one read of a journal.
const CHUNK: usize = 256 << 10;

/// A point in a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealPoint {
    /// The number of bytes before it.
    pub length: u64,
    /// The hash of these bytes.
    pub sha256: String,
}

impl SealPoint {
    /// The point after bytes with this hash.
    pub fn new(length: u64, contents: Context) -> Self {
        Self { length, sha256: hex(contents.finish().as_ref()) }
    }
}

/// The contents of a seal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SealRecord {
    /// The boot of the machine in which it was written.
    boot: String,
    /// The end of the journal before the last append.
    before: SealPoint,
    /// The end after it.
    after: SealPoint,
    synced: SealPoint,
}

/// The seal of a run that this process executes.
#[derive(Debug)]
pub struct Seal {
    file: File,
    record: SealRecord,
}

impl Seal {
    /// Creates the seal of a run, or replaces an existing one. It is synced once, so that later
    /// changes need no new space.
    pub fn create(path: &Path) -> Result<Self, StoreFileError> {
        if let Some(folder) = path.parent() {
            private::create_folders(folder)?;
        }
        let file = files::create_anew(path).map_err(StoreFileError::on("create", path))?;
        let empty = SealPoint::new(0, Context::new(&SHA256));
        let (before, after, synced) = (empty.clone(), empty.clone(), empty);
        let seal = Self { file, record: SealRecord { boot: boot(), before, after, synced } };
        let written = seal.write().and_then(|()| seal.file.sync_all());
        written.map_err(StoreFileError::on("write", path))?;
        private::sync_parent(path)?;
        Ok(seal)
    }

    /// Opens the seal of a run that this process continues.
    pub fn open(path: &Path) -> Result<Self, StoreFileError> {
        let opened = files::open_regular_with(fs::OpenOptions::new().write(true), path);
        let file = opened.map_err(StoreFileError::on("open", path))?;
        Ok(Self { file, record: SealRecord { boot: boot(), ..SealRecord::default() } })
    }

    /// Announces an append between these points.
    pub fn announce(&mut self, before: SealPoint, after: SealPoint) -> io::Result<()> {
        (self.record.before, self.record.after) = (before, after);
        self.write()
    }

    /// Records that everything up to the last append is on disk.
    pub fn synced(&mut self) -> io::Result<()> {
        self.record.synced = self.record.after.clone();
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(&self.record)?;
        bytes.resize(BYTES - 1, b' ');
        bytes.push(b'\n');
        self.file.write_all_at(&bytes, 0)
    }
}

/// The result of comparing a journal with its seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealMatch {
    /// The journal is the one that was written, up to this length. The rest does not count.
    Intact { length: u64 },
    /// Recorded events were removed or changed.
    Changed,
    /// There is no seal.
    Unsealed,
}

/// Whether a run that no process executes has another journal than the one that was written. A run
/// without a seal counts as unchanged.
pub fn is_broken(run: &RunDir) -> bool {
    compare(&run.seal(), &run.journal()).is_ok_and(|found| found == SealMatch::Changed)
}

/// Compares a journal with its seal.
pub fn compare(seal: &Path, journal: &Path) -> io::Result<SealMatch> {
    let mut text = String::new();
    match files::open_regular(seal) {
        Ok(file) => file.take(BYTES as u64).read_to_string(&mut text).map(drop)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SealMatch::Unsealed),
        Err(error) => return Err(error),
    }
    let Ok(record) = serde_json::from_str::<SealRecord>(&text) else {
        return Ok(SealMatch::Unsealed);
    };
    let file = files::open_regular(journal)?;
    let length = file.metadata()?.len();
    let holds = |point: &SealPoint| {
        Ok::<_, io::Error>(length >= point.length && hash(&file, point.length)? == point.sha256)
    };
    let restarted = record.boot != boot();
    Ok(match (restarted, holds(&record.after)?) {
        (false, true) => SealMatch::Intact { length: record.after.length },
        (false, false) if holds(&record.before)? => {
            SealMatch::Intact { length: record.before.length }
        }
        (true, true) => SealMatch::Intact { length },
        // The end may not have reached the disk before the machine went down.
        (true, false) if length < record.after.length && holds(&record.synced)? => {
            SealMatch::Intact { length }
        }
        (_, false) => SealMatch::Changed,
    })
}

fn hash(file: &File, length: u64) -> io::Result<String> {
    let mut contents = Context::new(&SHA256);
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0;
    while offset < length {
        let most = usize::try_from(length - offset).unwrap_or(CHUNK).min(CHUNK);
        file.read_exact_at(&mut buffer[..most], offset)?;
        contents.update(&buffer[..most]);
        offset += most as u64;
    }
    Ok(hex(contents.finish().as_ref()))
}

/// The identity of the boot; empty if the system has none.
fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(bytes: &[u8]) -> SealPoint {
        let mut contents = Context::new(&SHA256);
        contents.update(bytes);
        SealPoint::new(bytes.len() as u64, contents)
    }

    /// Compares a journal with a seal of the bytes before and after the last append.
    fn matched(journal: &[u8], [synced, after]: [&[u8]; 2], restarted: bool) -> SealMatch {
        let folder = tempfile::tempdir().unwrap();
        let (seal_path, path) = (folder.path().join("seal"), folder.path().join("journal"));
        fs::write(&path, journal).unwrap();
        let mut seal = Seal::create(&seal_path).unwrap();
        if restarted {
            seal.record.boot = "another".to_owned();
        }
        seal.announce(point(b""), point(synced)).unwrap();
        seal.synced().unwrap();
        seal.announce(point(synced), point(after)).unwrap();
        assert_eq!(fs::metadata(&seal_path).unwrap().len(), BYTES as u64);
        compare(&seal_path, &path).unwrap()
    }

    #[test]
    fn a_journal_must_have_what_was_written_and_nothing_after_it_counts() {
        let sealed: [&[u8]; 2] = [b"one\n", b"one\ntwo\n"];
        let intact = |length| SealMatch::Intact { length };
        let cases: [(&[u8], SealMatch, SealMatch); 8] = [
            (b"one\ntwo\n", intact(8), intact(8)),
            (b"one\ntwo\nthree\n", intact(8), intact(14)),
            (b"one\ntw", intact(4), intact(6)),
            (b"one\n", intact(4), intact(4)),
            (b"one\nTWO\n", intact(4), SealMatch::Changed),
            (b"on", SealMatch::Changed, SealMatch::Changed),
            (b"ONE\n", SealMatch::Changed, SealMatch::Changed),
            (b"", SealMatch::Changed, SealMatch::Changed),
        ];
        for (journal, live, restarted) in cases {
            let name = String::from_utf8_lossy(journal);
            assert_eq!(matched(journal, sealed, false), live, "{name}");
            assert_eq!(matched(journal, sealed, true), restarted, "{name}");
        }
    }

    #[test]
    fn a_run_can_be_resumed_if_only_its_new_seal_survived_a_power_failure() {
        let folder = tempfile::tempdir().unwrap();
        let (seal_path, path) = (folder.path().join("seal"), folder.path().join("journal"));
        fs::write(&path, "one\n").unwrap();
        let mut seal = Seal::create(&seal_path).unwrap();
        seal.record.boot = "another".to_owned();
        seal.write().unwrap();
        assert_eq!(compare(&seal_path, &path).unwrap(), SealMatch::Intact { length: 4 });
    }

    #[test]
    fn a_journal_without_a_readable_seal_is_unsealed() {
        let folder = tempfile::tempdir().unwrap();
        let (seal, path) = (folder.path().join("seal"), folder.path().join("journal"));
        fs::write(&path, "one\n").unwrap();
        assert_eq!(compare(&seal, &path).unwrap(), SealMatch::Unsealed);
        fs::write(&seal, "{}").unwrap();
        assert_eq!(compare(&seal, &path).unwrap(), SealMatch::Unsealed);
    }
}
