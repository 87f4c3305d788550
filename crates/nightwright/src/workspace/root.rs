//! Finds the folder of the project and its repository on disk. [`nightwright_core::root`] decides
//! which one it is.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nightwright_core::root::{self, Folder, Root, SearchLimits};

use crate::workspace::is_repository;

/// The folder that marks a project.
const SETTINGS: &str = ".nightwright";
/// All users may create files, but remove only their own.
const SHARED: u32 = 0o1002;

/// Returns the project that a folder belongs to. The path contains no links.
pub fn find(start: &Path) -> Option<Root> {
    root::root(&folders(start), &limits())
}

/// Returns the root of the repository that contains a project. The path contains no links.
pub fn repository(project: &Path) -> Option<PathBuf> {
    root::repository(&folders(project), &limits()).map(Path::to_owned)
}

/// Whether a folder is the home folder or `/`.
pub fn is_too_wide(folder: &Path) -> bool {
    limits().is_too_wide(folder)
}

/// Returns a folder and all its parents, up to the first that cannot be read.
fn folders(start: &Path) -> Vec<Folder> {
    start.ancestors().map_while(folder).collect()
}

fn folder(path: &Path) -> Option<Folder> {
    let facts = fs::metadata(path).ok()?;
    Some(Folder {
        path: path.to_owned(),
        is_configured: path.join(SETTINGS).is_dir(),
        is_repository: is_repository(path),
        device: facts.dev(),
        owner: facts.uid(),
        is_shared: facts.permissions().mode() & SHARED == SHARED,
    })
}

fn limits() -> SearchLimits {
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let ceilings = env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let ceilings = env::split_paths(&ceilings).filter(|path| path.is_absolute());
    SearchLimits {
        home: home.map(real),
        ceilings: ceilings.map(real).collect(),
        user: rustix::process::geteuid().as_raw(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use nightwright_core::root::RootSource;
    use tempfile::TempDir;

    use super::*;

    /// A folder with `.nightwright`, and a folder in it.
    fn nested() -> (TempDir, PathBuf) {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join(SETTINGS)).unwrap();
        let child = parent.path().join("child");
        fs::create_dir(&child).unwrap();
        let child = child.canonicalize().unwrap();
        (parent, child)
    }

    fn is_found(parent: &TempDir, child: &Path) -> bool {
        let root = find(child).unwrap();
        let parent = parent.path().canonicalize().unwrap();
        let expected = if root.found == RootSource::Configured { &*parent } else { child };
        assert_eq!(root.path, expected);
        root.found == RootSource::Configured
    }

    #[test]
    fn the_search_never_enters_a_folder_in_which_every_user_may_create_files() {
        let (parent, child) = nested();
        for (mode, is_entered) in [(0o755, true), (0o1755, true), (0o777, true), (0o1777, false)] {
            fs::set_permissions(parent.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_found(&parent, &child), is_entered, "{mode:o}");
        }
    }

    #[test]
    fn the_search_never_enters_a_folder_of_another_user() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root can give a folder away");
        }
        let (parent, child) = nested();
        assert!(is_found(&parent, &child));
        chown(parent.path(), Some(65534), None).unwrap();
        assert!(!is_found(&parent, &child));
        // In a project that belongs to that user, root works, too.
        chown(&child, Some(65534), None).unwrap();
        assert!(is_found(&parent, &child));
    }

    #[test]
    fn a_folder_is_on_the_device_of_its_files() {
        let (parent, child) = nested();
        let device = |path: &Path| folder(path).unwrap().device;
        assert_eq!(device(&child), device(parent.path()));
        let processes = Path::new("/proc/self");
        if processes.exists() {
            assert_ne!(device(&child), device(processes.parent().unwrap()));
        }
    }
}
