//! A shared lock on a git folder while programs work with it.
//!
//! Several sandboxes can show the same git folder, such as those of two worktrees. When a file is
//! removed on which another sandbox has mounted something, the kernel removes that mount, too.
//! Therefore only the last program removes what was created for them.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

/// How long another program may hold the lock exclusively.
const TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// The use of a folder by a program. Dropping it ends the use.
#[derive(Debug)]
pub(super) struct FolderUse(File);

impl FolderUse {
    /// Notes that a program uses the folder. A folder that cannot be locked, as on some network
    /// file systems, counts as unused.
    pub(super) fn begin(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(folder, flags, Mode::empty())?);
        let begun = Instant::now();
        loop {
            match file.try_lock_shared() {
                Err(TryLockError::WouldBlock) if begun.elapsed() < TIMEOUT => {
                    thread::sleep(RETRY_DELAY);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another program has locked it"));
                }
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(Self(file)),
            }
        }
    }

    /// Ends the use, unless another program uses the folder: then no other use can begin while the
    /// returned value lives.
    pub(super) fn end_as_last(self) -> Option<Self> {
        match self.0.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => Some(self),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_of_several_uses_is_exclusive() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderUse::begin(folder.path()).unwrap();
        let second = FolderUse::begin(folder.path()).unwrap();
        assert!(first.end_as_last().is_none());
        assert!(second.end_as_last().is_some());
        assert!(FolderUse::begin(folder.path()).is_ok());
    }
}
