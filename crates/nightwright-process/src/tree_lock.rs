//! The lock file that shows whether processes of a run are alive. Each guard holds a shared lock
//! until everything below it is gone.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// The interval between two attempts to take the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time for which another process may hold the lock only to test it.
const PEEK_TIMEOUT: Duration = Duration::from_secs(2);

/// Takes a shared lock. It is released when the file is closed.
pub(super) fn share(path: &Path) -> io::Result<File> {
    // Opened for reading too, because some network file systems require that for a shared lock.
    let file = open(File::options().read(true).write(true).create(true).truncate(false), path)?;
    if free(PEEK_TIMEOUT, || file.try_lock_shared())? {
        Ok(file)
    } else {
        Err(Errno::WOULDBLOCK.into())
    }
}

/// Whether no guard holds the lock, now or before `patience` has passed.
pub fn is_free(path: &Path, patience: Duration) -> io::Result<bool> {
    match open(File::options().read(true).write(true), path) {
        Ok(file) => free(patience, || file.try_lock()),
        // No process was ever started.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

fn open(options: &mut std::fs::OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let irregular = || io::Error::other("it is not a regular file");
    let file = options.mode(0o600).custom_flags(flags).open(path).map_err(|error| {
        match Errno::from_io_error(&error) {
            // A link, a socket, and a folder.
            Some(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => irregular(),
            Some(_) | None => error,
        }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

fn free(patience: Duration, take: impl Fn() -> Result<(), TryLockError>) -> io::Result<bool> {
    let begin = Instant::now();
    loop {
        match take() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begin.elapsed() >= patience => return Ok(false),
            Err(TryLockError::WouldBlock) => thread::sleep(POLL_INTERVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_share_it_and_who_takes_over_sees_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree.lock");
        assert!(is_free(&path, Duration::ZERO).unwrap());
        let first = share(&path).unwrap();
        let second = share(&path).unwrap();
        drop(first);
        assert!(!is_free(&path, Duration::ZERO).unwrap());
        drop(second);
        assert!(is_free(&path, Duration::ZERO).unwrap());
    }
}
