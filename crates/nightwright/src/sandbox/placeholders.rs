//! Protected entries that do not exist: they are created for a program, so that something can be
//! mounted there, and removed afterwards.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use nightwright_core::sandbox::mounts::{MountPointContent, Placeholder, PlaceholderContent};

use super::mount_points::{self, Obstacle};
use crate::files;

/// The list of created entries, in the private folder. A crash leaves it behind.
const LIST: &str = "placeholders";
/// Maximum size of that list.
const MAX_LIST: u64 = 1 << 20;
/// Every content of a created file.
const CONTENTS: [&str; 2] = ["", ".\n"];

/// The entries that were created for a program. Dropping it removes them.
#[derive(Debug)]
pub(super) struct Placeholders {
    private: PathBuf,
    paths: Vec<PathBuf>,
}

impl Placeholders {
    /// Creates the entries. Those that exist by now stay as they are.
    pub(super) fn create(private: &Path, all: &[Placeholder]) -> io::Result<Self> {
        let paths: Vec<PathBuf> = all.iter().map(|one| one.path.clone()).collect();
        let list: Vec<u8> =
            paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), &[0]].concat()).collect();
        if !paths.is_empty() {
            // Recorded before they exist, so that a crash leaves nothing behind.
            files::replace_private(&private.join(LIST), &list)
                .map_err(|error| io::Error::other(crate::error::chain(&error)))?;
        }
        let created = Self { private: private.to_owned(), paths };
        for Placeholder { path, content } in all {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let kind = match content {
                PlaceholderContent::Folder => MountPointContent::Folder,
                PlaceholderContent::File(_) => MountPointContent::File,
            };
            mount_points::ensure(parent, Path::new(name), &kind, Obstacle::Refused)?;
            if let PlaceholderContent::File(text) = content
                && !text.is_empty()
                && files::read_at_most(path, MAX_LIST)?.is_empty()
            {
                fs::write(path, text)?;
            }
        }
        Ok(created)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        if !self.paths.is_empty() {
            remove(&self.paths);
            // The list names nothing that still exists.
            let _ = fs::remove_file(self.private.join(LIST));
        }
    }
}

/// Removes what a crash left.
pub(super) fn sweep(private: &Path) {
    let list = private.join(LIST);
    let Ok(bytes) = files::read_at_most(&list, MAX_LIST) else { return };
    let paths = bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths: Vec<_> =
        paths.map(|path| PathBuf::from(OsString::from_vec(path.to_vec()))).collect();
    remove(&paths);
    // The next start tries again.
    let _ = fs::remove_file(list);
}

/// Removes the entries that are as they were created.
fn remove(paths: &[PathBuf]) {
    for path in paths.iter().rev() {
        let Ok(found) = fs::symlink_metadata(path) else { continue };
        if found.is_dir() {
            // Fails for a folder with files, which is not a placeholder any more.
            let _ = fs::remove_dir(path);
        } else if found.is_file()
            && found.len() <= 2
            && files::read_at_most(path, MAX_LIST)
                .is_ok_and(|bytes| CONTENTS.iter().any(|text| text.as_bytes() == bytes))
        {
            // If this fails, the empty file stays.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(project: &Path) -> Vec<Placeholder> {
        let one = |name: &str, content| Placeholder { path: project.join(name), content };
        vec![
            one(".claude", PlaceholderContent::Folder),
            one(".mcp.json", PlaceholderContent::File("")),
            one("commondir", PlaceholderContent::File(".\n")),
        ]
    }

    #[test]
    fn placeholders_are_removed_unless_someone_wrote_into_them() {
        let (project, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let created = Placeholders::create(private.path(), &all(project.path())).unwrap();
        assert_eq!(fs::read_to_string(project.path().join("commondir")).unwrap(), ".\n");
        fs::write(project.path().join(".mcp.json"), "{}").unwrap();
        drop(created);
        let left: Vec<_> =
            fs::read_dir(project.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left, [".mcp.json"]);
        assert_eq!(fs::read_dir(private.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_next_start_removes_what_a_crash_left() {
        let (project, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let created = Placeholders::create(private.path(), &all(project.path())).unwrap();
        std::mem::forget(created);
        sweep(private.path());
        assert_eq!(fs::read_dir(project.path()).unwrap().count(), 0);
        sweep(private.path());
    }
}
