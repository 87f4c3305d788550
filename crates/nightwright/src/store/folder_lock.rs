//! The lock on the folder of a project itself.
//!
//! The lock file of a project is in the state folder. It knows the project by its path and can be
//! removed. So it does not notice a run with another state folder, or in a folder inside the project.
//! The same is true of a bind mount. The kernel's lock on the folder does:
//!
//! ```text
//!   /           shared  ┐
//!   /a          shared  ├ by the runs of all projects below
//!   /a/b        exclusive: the project of a run; conflicts with a run above and below
//! ```
//!
//! A linked worktree of a git repository may lie inside another worktree and is locked alone.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use crate::process::inside;

/// How long to wait for a process that is being started: it shares the locks until its exec.
const START_TIMEOUT: Duration = Duration::from_secs(2);
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// A folder that is locked, with all folders around it. Dropping it releases the locks.
#[must_use = "a lock is held only as long as this lives"]
#[derive(Debug)]
pub struct FolderLock {
    _folders: Vec<File>,
}

/// Another run holds a lock that conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderHeld {
    /// The folder that is locked by both.
    pub folder: PathBuf,
    /// The process that holds it exclusively, if it is known.
    pub process: Option<i32>,
}

impl FolderLock {
    /// Locks a folder, unless a run works in it, in a folder around it, or in a folder inside it. A
    /// folder that cannot be locked, as on some network file systems, counts as free.
    pub fn take(folder: &Path) -> Result<Self, FolderHeld> {
        let mut folders = Vec::new();
        for (index, path) in around(folder).into_iter().enumerate() {
            // The folders above may belong to another user.
            let Ok(file) = open(path) else { break };
            let is_own = index == 0;
            match lock(&file, is_own, || is_held_by_others(path)) {
                Ok(()) => folders.push(file),
                // Any user can lock `/`, for a backup or to annoy.
                Err(TryLockError::WouldBlock) if !is_own && is_held_by_others(path) => {}
                Err(TryLockError::WouldBlock) => {
                    let process = super::lock::holder(path);
                    return Err(FolderHeld { folder: path.to_owned(), process });
                }
                Err(TryLockError::Error(_)) => {}
            }
        }
        Ok(Self { _folders: folders })
    }
}

/// Returns the folder and the folders around it that a run in it may touch.
fn around(folder: &Path) -> Vec<&Path> {
    let linked = folder.ancestors().position(is_linked_worktree);
    let end = linked.map_or(usize::MAX, |index| index + 1);
    folder.ancestors().take(end).collect()
}

/// Whether a folder is the top of a linked worktree: its `.git` is a file that names a folder with a
/// `commondir`.
fn is_linked_worktree(folder: &Path) -> bool {
    let text = crate::files::read_at_most(&folder.join(".git"), 4096).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let named = text.trim().strip_prefix("gitdir: ").map(|path| folder.join(path));
    named.is_some_and(|git| fs::symlink_metadata(git.join("commondir")).is_ok())
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Whether another program than nightwright has locked the folder.
fn is_held_by_others(folder: &Path) -> bool {
    super::lock::holder(folder).is_some_and(inside::is_other_program)
}

/// Locks a folder. Waits as long as a process that is being started may share the lock, unless the
/// wait is `in_vain`.
fn lock(file: &File, exclusive: bool, in_vain: impl Fn() -> bool) -> Result<(), TryLockError> {
    let begin = Instant::now();
    loop {
        match if exclusive { file.try_lock() } else { file.try_lock_shared() } {
            Err(TryLockError::WouldBlock) if begin.elapsed() < START_TIMEOUT && !in_vain() => {
                thread::sleep(RETRY_DELAY);
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_conflicts_with_those_around_and_inside_it_and_not_with_its_siblings() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for name in ["p/inside", "other"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let own = i32::try_from(std::process::id()).ok();
        let lock = FolderLock::take(&root.join("p")).unwrap();
        let held = |name: &str| FolderLock::take(&root.join(name)).map(drop);
        let conflict = |name: &str, process| Err(FolderHeld { folder: root.join(name), process });
        assert_eq!(held("p"), conflict("p", own));
        assert_eq!(held("p/inside"), conflict("p", own));
        assert_eq!(FolderLock::take(&root).map(drop).unwrap_err().folder, root);
        assert_eq!(held("other"), Ok(()));
        drop(lock);
        assert_eq!(held("p/inside"), Ok(()));
        assert_eq!(held("p"), Ok(()));
    }

    #[test]
    fn a_linked_worktree_inside_a_project_is_locked_alone() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/worktrees/w")).unwrap();
        fs::write(root.join(".git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::create_dir_all(root.join("w/inside")).unwrap();
        let git = root.join(".git/worktrees/w");
        fs::write(root.join("w/.git"), format!("gitdir: {}\n", git.display())).unwrap();
        let _lock = FolderLock::take(&root).unwrap();
        let worktree = FolderLock::take(&root.join("w"));
        assert!(worktree.is_ok());
        assert!(FolderLock::take(&root.join("w/inside")).is_err(), "in use by the worktree");
    }
}
