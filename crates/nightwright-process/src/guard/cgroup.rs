//! A cgroup for everything below a guard, on systems that support it. All its processes can be
//! killed atomically, however fast they fork.

use std::fs;
use std::path::{Path, PathBuf};

/// The file of a cgroup that lists its processes, and adds those written to it.
pub(crate) const MEMBERS: &str = "cgroup.procs";
/// The file of a cgroup that kills all its processes.
pub(crate) const KILL: &str = "cgroup.kill";

/// The guard's cgroup, or none. Errors do not matter: the guard kills every process by itself, and
/// the cgroup is only faster.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: Option<PathBuf>,
    /// Whether the guard has left the cgroup, so that a kill spares it.
    outside: bool,
}

impl Cgroup {
    /// Creates the cgroup and joins it, so that the next program starts in it. Without a path,
    /// there is no cgroup.
    pub(super) fn enter(folder: &Path) -> Self {
        let joined = !folder.as_os_str().is_empty()
            && fs::create_dir(folder).is_ok()
            && fs::write(folder.join(MEMBERS), "0").is_ok();
        let group = Self { folder: Some(folder.to_owned()), outside: false };
        if joined {
            return group;
        }
        if !folder.as_os_str().is_empty() {
            group.remove();
        }
        Self { folder: None, outside: true }
    }

    /// Leaves the cgroup: the guard must survive the kill.
    pub(super) fn leave(&mut self) {
        let above = self.folder.as_deref().and_then(Path::parent);
        self.outside = above.is_some_and(|above| fs::write(above.join(MEMBERS), "0").is_ok());
    }

    /// Kills every process in the cgroup.
    pub(super) fn kill(&self) {
        if let Some(folder) = self.folder.as_ref().filter(|_| self.outside) {
            // Signals to each process follow in any case.
            let _ = fs::write(folder.join(KILL), "1");
        }
    }

    /// Removes the cgroup if it is empty.
    pub(super) fn remove(&self) {
        if let Some(folder) = &self.folder {
            // A leftover is removed by the next run.
            let _ = fs::remove_dir(folder);
        }
    }
}
