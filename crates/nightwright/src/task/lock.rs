//! Keeps two commands from working on one task at a time: what one of them archives, deletes or
//! begins anew is not what another one is just writing.
//!
//! The lock is the kernel's, on a file outside of the project: it ends with the process that has
//! it, and goes neither with the task's folder nor with whatever the agent clears away.

use std::env;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::name::TaskName;
use crate::error::Failure;
use crate::files::FileError;
use crate::store::run_dir;

/// How long it may be somebody's who is about to let it go.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// How often that is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A task that is ours alone as long as this lives. It need not be there.
#[must_use = "a task is ours only as long as this lives"]
#[derive(Debug)]
pub struct TaskLock {
    file: File,
}

impl TaskLock {
    /// Takes a task for this process, unless another one has it and keeps it.
    pub fn take(project: &Path, name: &TaskName) -> Result<Self, Failure> {
        let path = place(project, name)?;
        let fail = |source| Failure::because(&FileError::Write { path: path.clone(), source });
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(fail)?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file }),
                // A child that a dead process was just starting has it until it has begun.
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
        // Closing the file ends the lock as well, unless a child that is just being started still
        // has it too.
        let _ = self.file.unlock();
    }
}

fn place(project: &Path, name: &TaskName) -> Result<PathBuf, Failure> {
    let root = run_dir::state_root(env::var_os).map_err(|error| Failure::because(&error))?;
    let home = run_dir::project_folder(&root, project);
    let home = home.map_err(|error| Failure::because(&error))?;
    Ok(home.join(format!("task-{name}.lock")))
}
