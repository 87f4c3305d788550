//! Locks that prevent two processes from running the same run, or from working in the same project.
//!
//! The kernel holds the lock, on a file that is never deleted. It is released when its process
//! exits for any reason: the lock of a dead owner is free at once. The text in the file only names
//! the owner.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nightwright_core::units::RunId;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::journal::error::StoreFileError;
use super::journal::private;
use crate::files;
use crate::process::process_table::ProcessStat;

/// Maximum size of a lock file. An owner's line is much shorter.
const MAX_OWNER_BYTES: u64 = 4096;

/// How often to look again for the name of an owner that has the lock but has not written its name
/// yet.
const OWNER_RETRIES: u32 = 10;
const OWNER_RETRY_DELAY: Duration = Duration::from_millis(5);

/// How long to wait for a lock that is held without the name of a live owner. On a busy machine a
/// new owner may need seconds to write its name.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the kernel's list is read: it comes in pieces, and skips entries if other locks are
/// released meanwhile.
const HOLDER_READS: u32 = 3;

/// A lock that is held. Dropping it releases it.
#[must_use = "a lock is held only as long as this lives"]
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// The process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    pub pid: u32,
    /// When that process started, in clock ticks since the boot: another process with the same id
    /// has another value. `None` if the system does not report it.
    pub started: Option<u64>,
    /// The run that it executes.
    pub run: RunId,
    /// When it acquired the lock.
    pub since: Timestamp,
}

/// A lock cannot be acquired.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error(transparent)]
    Held(#[from] LockHeld),
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] StoreFileError),
}

/// Another process holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is in use by {}", path.display(), name(owner.as_ref()))]
pub struct LockHeld {
    /// The path of the lock file.
    pub path: PathBuf,
    /// The process that holds it; `None` if unknown.
    pub owner: Option<LockOwner>,
}

impl Lock {
    /// Acquires a lock for `owner`, or returns the process that holds it. It never waits for a live
    /// owner. It waits briefly for a child that a dead owner was starting, which holds the lock
    /// until its exec.
    pub fn take(path: &Path, owner: &LockOwner) -> Result<Self, LockError> {
        let mut options = private::options();
        // Until the lock is acquired, the contents belong to another process.
        options.read(true).write(true).create(true).truncate(false);
        let file = files::open_regular_with(&mut options, path)
            .map_err(StoreFileError::on("open the lock", path))?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let owner = wait_for_name(path);
                    if owner.is_some() || begin.elapsed() > TAKEOVER_TIMEOUT {
                        return Err(LockHeld { path: path.to_owned(), owner }.into());
                    }
                }
                Err(TryLockError::Error(error)) => {
                    return Err(StoreFileError::on("lock", path)(error).into());
                }
            }
        }
        let lock = Self { file };
        lock.sign(owner).map_err(StoreFileError::on("write the lock", path))?;
        Ok(lock)
    }

    /// Writes the new name before truncating the file: concurrent readers read only the first line.
    fn sign(&self, owner: &LockOwner) -> io::Result<()> {
        let mut line = serde_json::to_vec(owner)?;
        line.push(b'\n');
        self.file.write_all_at(&line, 0)?;
        self.file.set_len(line.len() as u64)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Neither is required: a leftover name is that of a dead process, and closing the file
        // releases the lock unless a child that is being started shares it.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Returns the process that holds a lock, without touching the lock; `None` if it is free.
pub fn peek(path: &Path) -> Option<LockOwner> {
    let mut text = String::new();
    files::open_regular(path).ok()?.take(MAX_OWNER_BYTES).read_to_string(&mut text).ok()?;
    // A line without a newline is still being written.
    let (line, _) = text.split_once('\n')?;
    serde_json::from_str(line).ok().filter(LockOwner::is_alive)
}

/// Returns the process that holds the lock on this file or folder exclusively, according to the
/// kernel. `None` if there is none, or if it is in another PID namespace.
pub fn holder(path: &Path) -> Option<i32> {
    let found = std::fs::symlink_metadata(path).ok()?;
    (0..HOLDER_READS).find_map(|_| {
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        holder_in(&locks, found.dev(), found.ino())
    })
}

/// Finds the holder in the kernel's list: `1: FLOCK  ADVISORY  WRITE 42 08:01:1234 0 EOF`, with the
/// device in hexadecimal.
fn holder_in(locks: &str, device: u64, inode: u64) -> Option<i32> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    let pid = locks.lines().find_map(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        match fields.as_slice() {
            [_, "FLOCK", _, "WRITE", pid, found, ..] if *found == file => pid.parse().ok(),
            _ => None,
        }
    });
    pid.filter(|pid| *pid > 0)
}

/// Whether a lock is free, according to the kernel. If in doubt, it is not.
pub fn is_free(path: &Path) -> bool {
    match files::open_regular(path) {
        Ok(file) => file.try_lock_shared().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Waits for the owner's name. If the file has no name or that of a dead process, the lock was
/// acquired a moment ago.
fn wait_for_name(path: &Path) -> Option<LockOwner> {
    for _ in 1..OWNER_RETRIES {
        if let Some(owner) = peek(path) {
            return Some(owner);
        }
        thread::sleep(OWNER_RETRY_DELAY);
    }
    peek(path)
}

impl LockOwner {
    /// Describes the current process.
    pub fn current(run: RunId, since: Timestamp) -> Self {
        let pid = std::process::id();
        let started = match look_up(pid) {
            ProcessState::Alive { started } => Some(started),
            ProcessState::Gone | ProcessState::Unknown => None,
        };
        Self { pid, started, run, since }
    }

    /// Whether exactly this process still exists, not another one with the same id.
    pub fn is_alive(&self) -> bool {
        match look_up(self.pid) {
            ProcessState::Alive { started } => {
                self.started.is_none_or(|expected| expected == started)
            }
            ProcessState::Gone => false,
            ProcessState::Unknown => answers(self.pid),
        }
    }
}

/// The state of a process, as the system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessState {
    Alive {
        started: u64,
    },
    Gone,
    /// The system has no `/proc`.
    Unknown,
}

fn look_up(pid: u32) -> ProcessState {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return ProcessState::Gone;
    };
    match ProcessStat::of(pid) {
        // A zombie has released its locks.
        Some(stat) if stat.dead => ProcessState::Gone,
        Some(stat) => ProcessState::Alive { started: stat.started },
        None if Path::new("/proc/self/stat").exists() => ProcessState::Gone,
        None => ProcessState::Unknown,
    }
}

/// Whether a process with this id exists, tested with signal 0.
fn answers(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    match test_kill_process(pid) {
        // `EPERM`: it exists, but belongs to another user.
        Ok(()) | Err(rustix::io::Errno::PERM) => true,
        Err(_) => false,
    }
}

fn name(owner: Option<&LockOwner>) -> String {
    match owner {
        Some(LockOwner { pid, run, since, .. }) => {
            format!("process {pid}, which has been running {run} since {since:.0}")
        }
        None => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn owner() -> LockOwner {
        let since = "2026-11-15T23:34:12Z".parse().unwrap();
        LockOwner::current(RunId("20261115-233412-7f3a".to_owned()), since)
    }

    #[test]
    fn the_second_process_learns_who_holds_the_lock_until_it_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(peek(&path), None);
        let lock = Lock::take(&path, &owner()).unwrap();
        assert_eq!(peek(&path), Some(owner()));
        let error = Lock::take(&path, &owner()).unwrap_err();
        let pid = std::process::id();
        assert_eq!(
            error.to_string(),
            format!(
                "`{}` is in use by process {pid}, which has been running 20261115-233412-7f3a \
                 since 2026-11-15T23:34:12Z",
                path.display()
            )
        );
        drop(lock);
        assert_eq!(peek(&path), None);
        let _lock = Lock::take(&path, &owner()).unwrap();
    }

    #[test]
    fn the_kernel_knows_who_holds_a_lock_whatever_the_file_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(holder(&path), None);
        let lock = Lock::take(&path, &owner()).unwrap();
        fs::write(&path, "garbage").unwrap();
        assert_eq!(holder(&path), i32::try_from(std::process::id()).ok());
        drop(lock);
        assert_eq!(holder(&path), None);
        let list = "1: POSIX  ADVISORY  WRITE 7 08:01:12 0 EOF\n\
                    2: -> FLOCK  ADVISORY  WRITE 9 08:01:12 0 EOF\n\
                    3: FLOCK  ADVISORY  READ 8 08:01:12 0 EOF\n\
                    4: FLOCK  ADVISORY  WRITE 42 08:01:12 0 EOF\n\
                    5: FLOCK  ADVISORY  WRITE 0 08:01:13 0 EOF\n";
        assert_eq!(holder_in(list, rustix::fs::makedev(8, 1), 12), Some(42));
        assert_eq!(holder_in(list, rustix::fs::makedev(8, 1), 13), None);
    }

    #[test]
    fn leftovers_of_a_crash_in_the_lock_file_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let long = "x".repeat(10_000);
        for left in ["", "\n", "{\"pid\":", "no JSON\n", &long] {
            fs::write(&path, left).unwrap();
            assert_eq!(peek(&path), None);
            let lock = Lock::take(&path, &owner()).unwrap();
            assert_eq!(peek(&path), Some(owner()), "{left}");
            assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
            drop(lock);
        }
    }

    #[test]
    fn a_lock_without_a_readable_name_is_held_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let _lock = Lock::take(&path, &owner()).unwrap();
        fs::write(&path, "garbage").unwrap();
        match Lock::take(&path, &owner()).unwrap_err() {
            LockError::Held(held) => assert_eq!(held.owner, None),
            LockError::File(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let owner = owner();
        assert!(owner.is_alive());
        let later =
            LockOwner { started: owner.started.map(|started| started + 1), ..owner.clone() };
        assert!(owner.started.is_none() || !later.is_alive());
        assert!(!LockOwner { pid: u32::MAX, ..owner }.is_alive());
    }
}
