//! A control group for everything below a guard, where the system has such groups: then they can
//! all be killed in one instant, however fast they multiply.

use std::fs;
use std::path::{Path, PathBuf};

/// The file in a group that lists, and takes, its processes.
pub(crate) const MEMBERS: &str = "cgroup.procs";
/// The file in a group that kills all of them.
pub(crate) const KILL: &str = "cgroup.kill";

/// A control group of our own, or none. Nothing that fails here matters: the guard ends everybody
/// by itself, and this is only the faster way.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: Option<PathBuf>,
    /// Whether the guard is outside, so that a kill spares it.
    outside: bool,
}

impl Cgroup {
    /// Makes the group and joins it, so that what is started next is born in it. No path, no group.
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

    /// Leaves the group again: the guard must survive what it does to the others.
    pub(super) fn leave(&mut self) {
        let above = self.folder.as_deref().and_then(Path::parent);
        self.outside = above.is_some_and(|above| fs::write(above.join(MEMBERS), "0").is_ok());
    }

    /// Kills everybody in it.
    pub(super) fn kill(&self) {
        if let Some(folder) = self.folder.as_ref().filter(|_| self.outside) {
            // The signals to each of them follow in any case.
            let _ = fs::write(folder.join(KILL), "1");
        }
    }

    /// Removes it once it is empty.
    pub(super) fn remove(&self) {
        if let Some(folder) = &self.folder {
            // One that stays is removed by the next run.
            let _ = fs::remove_dir(folder);
        }
    }
}
