//! A lock that prevents two commands from working on one task at the same time. For example, a task
//! cannot be archived while another command writes to it.
//!
//! The kernel holds the lock, on a file outside the project. It is released when its process exits,
//! and does not depend on the task's folder or on files that the agent can delete.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Failure;
use crate::files::{FileError, open_regular_with};
use crate::name::TaskName;
use crate::store::run_dir;

/// How long to wait for a lock that may be about to be released.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// The interval at which the lock is tried.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Exclusive access to a task while this value lives. The task need not exist.
#[must_use = "the lock is held only while this value lives"]
#[derive(Debug)]
pub struct TaskLock {
    file: File,
}

impl TaskLock {
    /// Locks a task for this process, unless another process holds the lock.
    pub fn take(project: &Path, name: &TaskName) -> Result<Self, Failure> {
        let path = place(project, name)?;
        let fail = |source| Failure::because(&FileError::Write { path: path.clone(), source });
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = open_regular_with(&mut options, &path).map_err(fail)?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file }),
                // A child that a dead process was starting holds the lock until its exec.
                Err(TryLockError::WouldBlock) if begin.elapsed() < LOCK_TIMEOUT => {
                    thread::sleep(POLL_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Failure::trouble(format!(
                        "the task `{name}` is in use by another nightwright command"
                    ))
                    .hint("wait for it to end"));
                }
                Err(TryLockError::Error(error)) => return Err(fail(error)),
            }
        }
    }
}

impl Drop for TaskLock {
    fn drop(&mut self) {
        // Closing the file also releases the lock, unless a child that is being started shares it.
        let _ = self.file.unlock();
    }
}

fn place(project: &Path, name: &TaskName) -> Result<PathBuf, Failure> {
    Ok(run_dir::state_of(project)?.join(format!("task-{name}.lock")))
}
