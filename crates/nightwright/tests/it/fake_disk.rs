//! A file with scripted faults and crashes, for tests and for the simulator.
//!
//! Appended bytes are *volatile* at first. A sync makes them *durable*. A crash keeps all durable
//! bytes and any prefix of the volatile ones. A failed sync behaves as on Linux: the system drops
//! the unwritten bytes, and a later sync succeeds without saving them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nightwright::store::journal::{FileFacts, FileLayer, NamedFile};

/// A disk with one file. Clones share the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeDisk {
    state: Arc<Mutex<FakeDiskState>>,
}

#[derive(Debug, Default)]
struct FakeDiskState {
    bytes: Vec<u8>,
    /// The number of bytes that survive every crash.
    durable: usize,
    /// The number of bytes that a sync can still save, after a failed sync.
    salvageable: Option<usize>,
    reserve: u64,
    /// The capacity of the disk in bytes, if limited.
    capacity: Option<u64>,
    /// The number of calls of each operation.
    calls: BTreeMap<Operation, u64>,
    /// The faults, by operation and number of the call.
    faults: BTreeMap<(Operation, u64), Fault>,
}

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Append,
    Sync,
    Truncate,
    Reserve,
}

/// The way in which an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `ENOSPC`, without any effect.
    NoSpace,
    /// `EIO`, without any effect.
    Io,
    /// Writes this many bytes and then returns `ENOSPC`. Only for appends; otherwise like
    /// `NoSpace`.
    Short(usize),
}

impl FakeDisk {
    /// An empty disk without a limit or faults.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A disk with a file whose content is durable.
    pub(crate) fn with(bytes: &[u8]) -> Self {
        let bytes = bytes.to_owned();
        let state = FakeDiskState { durable: bytes.len(), bytes, ..FakeDiskState::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub(crate) fn open(&self) -> FakeFile {
        FakeFile { disk: self.clone(), path: PathBuf::from("journal.jsonl") }
    }

    /// Makes the `nth` call from now fail, counted from 1.
    pub(crate) fn fail(&self, operation: Operation, nth: u64, fault: Fault) {
        let mut state = self.state();
        let at = state.calls.get(&operation).copied().unwrap_or(0) + nth;
        state.faults.insert((operation, at), fault);
    }

    /// Removes all pending faults.
    pub(crate) fn heal(&self) {
        self.state().faults.clear();
    }

    /// Limits the total size of the file and its reserve. Appends beyond it are short.
    pub(crate) fn set_capacity(&self, bytes: u64) {
        self.state().capacity = Some(bytes);
    }

    /// The content of the file, including volatile bytes.
    pub(crate) fn contents(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    /// Adds bytes as another process would.
    pub(crate) fn intrude(&self, bytes: &[u8]) {
        self.state().bytes.extend_from_slice(bytes);
    }

    /// The number of bytes that a crash could lose.
    pub(crate) fn volatile(&self) -> usize {
        let state = self.state();
        state.bytes.len() - state.durable
    }

    /// The reserved space in bytes.
    pub(crate) fn reserved(&self) -> u64 {
        self.state().reserve
    }

    /// The number of calls of an operation.
    pub(crate) fn calls(&self, operation: Operation) -> u64 {
        self.state().calls.get(&operation).copied().unwrap_or(0)
    }

    /// Simulates a power failure that keeps only the first `surviving` volatile bytes. Returns a
    /// new disk without faults. This disk stays unchanged, so that a test can try another crash.
    #[must_use]
    pub(crate) fn crash(&self, surviving: usize) -> Self {
        let state = self.state();
        let length = state.bytes.len().min(state.durable + surviving);
        let disk = Self::with(&state.bytes[..length]);
        {
            let mut after = disk.state();
            after.reserve = state.reserve;
            after.capacity = state.capacity;
        }
        disk
    }

    /// Locks the state. A panic of another holder leaves it intact.
    fn state(&self) -> MutexGuard<'_, FakeDiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file on a [`FakeDisk`].
#[derive(Debug)]
pub(crate) struct FakeFile {
    disk: FakeDisk,
    path: PathBuf,
}

impl FileLayer for FakeFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn facts(&self) -> io::Result<FileFacts> {
        Ok(FileFacts { length: self.disk.state().bytes.len() as u64, named: NamedFile::Same })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.state();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(state.bytes.len());
        let rest = &state.bytes[start..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        let room = match state.call(Operation::Append) {
            None => state.room(bytes.len()),
            Some(Fault::NoSpace) => 0,
            Some(Fault::Io) => return Err(eio()),
            Some(Fault::Short(count)) => count.min(bytes.len()),
        };
        state.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        if room < bytes.len() { Err(enospc()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        if let Some(fault) = state.call(Operation::Sync) {
            let durable = state.durable;
            state.salvageable.get_or_insert(durable);
            return Err(fault.error());
        }
        state.durable = state.salvageable.unwrap_or(state.bytes.len());
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        if let Some(fault) = state.call(Operation::Truncate) {
            return Err(fault.error());
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        state.bytes.truncate(length);
        state.durable = state.durable.min(length);
        Ok(())
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        if let Some(fault) = state.call(Operation::Reserve) {
            return Err(fault.error());
        }
        let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
        if state.reserve != bytes && state.room(wanted) < wanted {
            return Err(enospc());
        }
        state.reserve = bytes;
        Ok(())
    }

    fn release_reserve(&mut self) -> io::Result<()> {
        self.disk.state().reserve = 0;
        Ok(())
    }
}

impl FakeDiskState {
    /// Counts a call and returns its fault, if any.
    fn call(&mut self, operation: Operation) -> Option<Fault> {
        let calls = self.calls.entry(operation).or_default();
        *calls += 1;
        self.faults.remove(&(operation, *calls))
    }

    /// The number of these bytes that still fit.
    fn room(&self, wanted: usize) -> usize {
        let Some(capacity) = self.capacity else {
            return wanted;
        };
        let free = capacity.saturating_sub(self.bytes.len() as u64 + self.reserve);
        wanted.min(usize::try_from(free).unwrap_or(usize::MAX))
    }
}

impl Fault {
    fn error(self) -> io::Error {
        match self {
            Self::NoSpace | Self::Short(_) => enospc(),
            Self::Io => eio(),
        }
    }
}

fn enospc() -> io::Error {
    rustix::io::Errno::NOSPC.into()
}

fn eio() -> io::Error {
    rustix::io::Errno::IO.into()
}

#[test]
fn a_crash_takes_what_was_not_synced_and_nothing_else() {
    let disk = FakeDisk::new();
    let mut file = disk.open();
    file.append(b"safe").unwrap();
    file.sync().unwrap();
    file.append(b"volatile").unwrap();
    assert_eq!(disk.volatile(), 8);
    assert_eq!(disk.crash(0).contents(), b"safe");
    assert_eq!(disk.crash(3).contents(), b"safevol");
    assert_eq!(disk.crash(99).contents(), b"safevolatile");
}

#[test]
fn after_a_failed_sync_the_next_one_succeeds_and_saves_nothing() {
    let disk = FakeDisk::new();
    disk.fail(Operation::Sync, 1, Fault::Io);
    let mut file = disk.open();
    file.append(b"gone").unwrap();
    assert_eq!(file.sync().unwrap_err().kind(), eio().kind());
    file.sync().unwrap();
    assert_eq!(disk.crash(0).contents(), b"");
}

#[test]
fn a_full_disk_takes_what_fits_until_the_reserve_is_given_back() {
    let disk = FakeDisk::new();
    disk.set_capacity(10);
    let mut file = disk.open();
    file.reserve(4).unwrap();
    let error = file.append(b"12345678").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(disk.contents(), b"123456");
    file.release_reserve().unwrap();
    file.append(b"7890").unwrap();
    assert!(file.reserve(1).is_err());
}

#[test]
fn faults_come_at_the_call_they_were_meant_for() {
    let disk = FakeDisk::new();
    let mut file = disk.open();
    file.append(b"a").unwrap();
    disk.fail(Operation::Append, 2, Fault::Short(1));
    file.append(b"b").unwrap();
    assert!(file.append(b"cd").is_err());
    file.append(b"e").unwrap();
    assert_eq!(disk.contents(), b"abce");
    assert_eq!(disk.calls(Operation::Append), 4);
}
