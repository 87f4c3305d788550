//! Keeps two processes from doing the same run, or from running in the same project.
//!
//! The lock is the kernel's, on a file that is never deleted: it ends with the process that has
//! it, however that ends, so a dead owner's lock is free at once and a live one's never. What is
//! written in the file only says who has it.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nightwright_core::units::RunId;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::journal::error::StoreFileError;
use super::journal::private;
use crate::process::process_table::ProcessStat;

/// An owner's line is a fraction of this; a file that has more is not one of ours.
const MAX_OWNER_BYTES: u64 = 4096;

/// How often, and how long apart, we look again for the name of an owner that has the lock and has
/// not written its name yet.
const OWNER_RETRIES: u32 = 10;
const OWNER_RETRY_DELAY: Duration = Duration::from_millis(5);

/// How long a lock may be held by nobody who is alive.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(2);

/// A lock that is held. Dropping it lets it go.
#[must_use = "a lock is held only as long as this lives"]
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    /// The process.
    pub pid: u32,
    /// When that process started, in clock ticks since the machine did: a later process with the
    /// same number has another. `None` where the system does not tell.
    pub started: Option<u64>,
    /// The run it does.
    pub run: RunId,
    /// Since when it has the lock.
    pub since: Timestamp,
    /// Where it can be spoken to, if it can.
    #[serde(default)]
    pub socket: Option<PathBuf>,
}

/// A lock can't be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error(transparent)]
    Held(#[from] LockHeld),
    /// The system says no.
    #[error(transparent)]
    File(#[from] StoreFileError),
}

/// Somebody else has the lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is held by {}", path.display(), name(owner.as_ref()))]
pub struct LockHeld {
    /// The lock.
    pub path: PathBuf,
    /// Who has it; `None` if that can't be told.
    pub owner: Option<LockOwner>,
}

impl Lock {
    /// Takes a lock for `owner`, or says who has it. Never waits for somebody who is alive: only
    /// for a child that a dead owner was just starting, which has the lock until it has begun.
    pub fn take(path: &Path, owner: &LockOwner) -> Result<Self, LockError> {
        let file = private::options()
            .read(true)
            .write(true)
            .create(true)
            // It is somebody else's until the lock is ours.
            .truncate(false)
            .open(path)
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
        lock.sign(owner).map_err(StoreFileError::on("sign the lock", path))?;
        Ok(lock)
    }

    /// Changes what the lock says of its holder.
    pub fn describe(&self, owner: &LockOwner) -> io::Result<()> {
        self.sign(owner)
    }

    /// The new name first, then the end of the file behind it: who looks in between reads the
    /// first line only.
    fn sign(&self, owner: &LockOwner) -> io::Result<()> {
        let mut line = serde_json::to_vec(owner)?;
        line.push(b'\n');
        self.file.write_all_at(&line, 0)?;
        self.file.set_len(line.len() as u64)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Both are for courtesy: a name left behind is that of a process which is not alive, and
        // closing the file ends the lock unless a child that is just being started has it too.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Who holds a lock, without touching it: for those who only want to look. `None` if nobody does.
pub fn peek(path: &Path) -> Option<LockOwner> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_OWNER_BYTES).read_to_string(&mut text).ok()?;
    // Without its newline a line is still being written.
    let (line, _) = text.split_once('\n')?;
    serde_json::from_str(line).ok().filter(LockOwner::is_alive)
}

/// Whether nobody holds a lock, by the kernel's word. When in doubt, somebody does.
pub fn is_free(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => file.try_lock_shared().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The lock was taken a moment ago if its file has no name, or a dead one's.
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
    /// This process.
    pub fn current(run: RunId, since: Timestamp) -> Self {
        let pid = std::process::id();
        let started = match look_up(pid) {
            ProcessState::Alive { started } => Some(started),
            ProcessState::Gone | ProcessState::Unknown => None,
        };
        Self { pid, started, run, since, socket: None }
    }

    /// Whether that very process is still there: another one with its number is not.
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

/// What the system says of a process.
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
        // One that is dead and not yet buried has let go of its locks.
        Some(stat) if stat.dead => ProcessState::Gone,
        Some(stat) => ProcessState::Alive { started: stat.started },
        None if Path::new("/proc/self/stat").exists() => ProcessState::Gone,
        None => ProcessState::Unknown,
    }
}

/// Whether there is a process of that number, asked by a signal that is none.
fn answers(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    match test_kill_process(pid) {
        // It is there, and somebody else's.
        Ok(()) | Err(rustix::io::Errno::PERM) => true,
        Err(_) => false,
    }
}

fn name(owner: Option<&LockOwner>) -> String {
    match owner {
        Some(LockOwner { pid, run, since, .. }) => {
            format!("process {pid}, which does the run {run} since {since:.0}")
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
    fn who_comes_second_is_told_who_was_first_until_that_one_lets_go() {
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
                "`{}` is held by process {pid}, which does the run 20261115-233412-7f3a \
                 since 2026-11-15T23:34:12Z",
                path.display()
            )
        );
        drop(lock);
        assert_eq!(peek(&path), None);
        let _lock = Lock::take(&path, &owner()).unwrap();
    }

    #[test]
    fn what_a_crash_left_in_the_file_does_not_matter() {
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
