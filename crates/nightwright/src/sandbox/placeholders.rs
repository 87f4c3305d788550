//! Protected entries that do not exist: they are created for a program, so that something can be
//! mounted there, and removed afterwards.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nightwright_core::sandbox::mounts::{MountPointContent, Placeholder, PlaceholderContent};

use super::folder_use::FolderUse;
use super::mount_points::{self, Obstacle};
use super::{JUDGES, PRIVATE};
use crate::files;
use crate::workspace::Repository;

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
    place: Place,
    created: Vec<Created>,
    git: Option<FolderUse>,
}

/// The folders in which entries are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) root: PathBuf,
    /// The git folder that all worktrees share, if the project has a repository.
    pub(super) shared: Option<PathBuf>,
}

impl Place {
    /// Whether no sandbox of another project shows the entry: the project itself is locked.
    fn is_own(&self, path: &Path) -> bool {
        let is_shared = self.shared.as_ref().is_some_and(|shared| path.starts_with(shared));
        path.starts_with(&self.root) && !is_shared
    }
}

/// An entry that was created, with its identity once that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Created {
    path: PathBuf,
    /// The device and the inode.
    identity: Option<(u64, u64)>,
}

impl Placeholders {
    /// Creates the entries. Those that exist by now stay as they are.
    pub(super) fn create(
        private: &Path,
        place: Place,
        git: Option<FolderUse>,
        all: &[Placeholder],
    ) -> io::Result<Self> {
        let missing = missing(all);
        let created = missing.iter().map(|one| Created { path: one.path.clone(), identity: None });
        let mut own = Self { private: private.to_owned(), place, created: created.collect(), git };
        if own.created.is_empty() {
            return Ok(own);
        }
        // Recorded before they exist, so that a crash leaves nothing behind.
        let others = read_list(private);
        write_list(private, others.iter().chain(&own.created))?;
        for (one, created) in missing.iter().zip(&mut own.created) {
            let Placeholder { path, content } = one;
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
            created.identity = identity(path);
        }
        write_list(private, others.iter().chain(&own.created))?;
        Ok(own)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let had_git = self.git.is_some();
        let last = self.git.take().and_then(FolderUse::end_as_last);
        let is_alone = !had_git || last.is_some();
        if !self.created.is_empty() {
            sweep(&self.private, &self.place, is_alone);
        }
        if let (Some(shared), Some(_)) = (&self.place.shared, &last) {
            remove_of_others(&self.private, shared);
        }
    }
}

/// Removes what a crash left in a project and its state folder. The project must be locked.
pub fn remove_leftovers(project_state: &Path, project: &Path) {
    let private = project_state.join(PRIVATE);
    // Usually there is none. What cannot be removed only takes up space.
    let _ = fs::remove_dir_all(private.join(JUDGES));
    if read_list(&private).is_empty() {
        return;
    }
    let root = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let shared = Repository::around(&root).and_then(|found| found.shared().canonicalize().ok());
    let git = shared.as_ref().and_then(|shared| FolderUse::begin(shared).ok());
    let had_git = git.is_some();
    let last = git.and_then(FolderUse::end_as_last);
    sweep(&private, &Place { root, shared }, !had_git || last.is_some());
}

/// Removes the entries in the list. The list keeps those that another sandbox may still use, and
/// those that cannot be removed.
fn sweep(private: &Path, place: &Place, is_alone: bool) {
    let all = read_list(private);
    let (free, mut left): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| is_alone || place.is_own(&one.path));
    left.extend(remove(free));
    // The next start tries again, also if the list cannot be written.
    let _ = if left.is_empty() {
        fs::remove_file(private.join(LIST))
    } else {
        write_list(private, left.iter())
    };
}

/// Removes what sandboxes of other projects left in a git folder while it was in use.
fn remove_of_others(private: &Path, shared: &Path) {
    let state = private.ancestors().nth(2);
    for project in state.into_iter().flat_map(fs::read_dir).flatten().flatten() {
        let list = read_list(&project.path().join(PRIVATE));
        remove(list.into_iter().filter(|one| one.path.starts_with(shared)).collect());
    }
}

/// The entries that do not exist, with the missing folders around them.
fn missing(all: &[Placeholder]) -> Vec<Placeholder> {
    let mut found: Vec<Placeholder> = Vec::new();
    for one in all {
        let mut above: Vec<_> =
            one.path.ancestors().skip(1).take_while(|path| !exists(path)).collect();
        above.reverse();
        let folders = above
            .into_iter()
            .map(|path| Placeholder { path: path.to_owned(), content: PlaceholderContent::Folder });
        for new in folders.chain([one.clone()]) {
            if !exists(&new.path) && !found.iter().any(|known| known.path == new.path) {
                found.push(new);
            }
        }
    }
    found
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Reads the list: for each entry the device, the inode and the path.
fn read_list(private: &Path) -> Vec<Created> {
    let bytes = files::read_at_most(&private.join(LIST), MAX_LIST).unwrap_or_default();
    let entry = |bytes: &[u8]| {
        let mut fields = bytes.splitn(3, |byte| *byte == b' ');
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse::<u64>().ok();
        let (device, inode) = (number()?, number()?);
        let path = PathBuf::from(OsString::from_vec(fields.next()?.to_vec()));
        Some(Created { path, identity: (inode != 0).then_some((device, inode)) })
    };
    bytes.split(|byte| *byte == 0).filter_map(entry).collect()
}

fn write_list<'a>(private: &Path, all: impl Iterator<Item = &'a Created>) -> io::Result<()> {
    let mut list = Vec::new();
    for Created { path, identity } in all {
        let (device, inode) = identity.unwrap_or_default();
        list.extend(format!("{device} {inode} ").into_bytes());
        list.extend(path.as_os_str().as_bytes());
        list.push(0);
    }
    files::replace_private(&private.join(LIST), &list)
        .map_err(|error| io::Error::other(crate::error::chain(&error)))
}

/// Removes the entries that are as they were created. Returns those that could not be removed.
fn remove(all: Vec<Created>) -> Vec<Created> {
    let mut left = Vec::new();
    for one in all.into_iter().rev() {
        if !is_unchanged(&one) {
            continue;
        }
        let removed =
            if one.path.is_dir() { fs::remove_dir(&one.path) } else { fs::remove_file(&one.path) };
        match removed {
            Ok(()) => {}
            // Something is in it now, so it is not a placeholder any more.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            Err(_) => left.push(one),
        }
    }
    left.reverse();
    left
}

/// Whether an entry is the one that was created, and still empty.
fn is_unchanged(one: &Created) -> bool {
    let Ok(found) = fs::symlink_metadata(&one.path) else { return false };
    if one.identity.is_some_and(|identity| identity != (found.dev(), found.ino())) {
        return false;
    }
    let has_text = || {
        files::read_at_most(&one.path, MAX_LIST)
            .is_ok_and(|bytes| CONTENTS.iter().any(|text| text.as_bytes() == bytes))
    };
    found.is_dir() || (found.is_file() && found.len() <= 2 && has_text())
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

    fn create(private: &Path, project: &Path) -> Placeholders {
        let place = Place { root: project.to_owned(), shared: None };
        Placeholders::create(private, place, None, &all(project)).unwrap()
    }

    fn names(folder: &Path) -> Vec<OsString> {
        fs::read_dir(folder).unwrap().map(|one| one.unwrap().file_name()).collect()
    }

    #[test]
    fn placeholders_are_removed_unless_someone_wrote_into_them() {
        let (project, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let created = create(private.path(), project.path());
        assert_eq!(fs::read_to_string(project.path().join("commondir")).unwrap(), ".\n");
        fs::write(project.path().join(".mcp.json"), "{}").unwrap();
        drop(created);
        assert_eq!(names(project.path()), [".mcp.json"]);
        assert_eq!(fs::read_dir(private.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_entry_that_replaces_a_placeholder_stays() {
        let (project, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let created = create(private.path(), project.path());
        let (file, folder) = (project.path().join(".mcp.json"), project.path().join(".claude"));
        // Both exist at the same time, so their inodes differ.
        fs::write(project.path().join("new"), "").unwrap();
        fs::rename(project.path().join("new"), &file).unwrap();
        fs::create_dir(project.path().join("new")).unwrap();
        fs::rename(project.path().join("new"), &folder).unwrap();
        drop(created);
        let mut left = names(project.path());
        left.sort();
        assert_eq!(left, [".claude", ".mcp.json"]);
    }

    #[test]
    fn the_next_start_removes_what_a_crash_left() {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let private = state.path().join(PRIVATE);
        fs::create_dir(&private).unwrap();
        let root = project.path().canonicalize().unwrap();
        std::mem::forget(create(&private, &root));
        remove_leftovers(state.path(), &root);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
        remove_leftovers(state.path(), &root);
    }

    #[test]
    fn the_list_keeps_what_could_not_be_removed_and_what_others_use() {
        let (project, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let shared = project.path().join("git");
        fs::create_dir(&shared).unwrap();
        let use_git = || FolderUse::begin(&shared).unwrap();
        let place = Place { root: project.path().to_owned(), shared: Some(shared.clone()) };
        let content = PlaceholderContent::File("");
        let mut wanted = vec![Placeholder { path: shared.join("deep/config"), content }];
        wanted.extend(all(project.path()));
        let other = use_git();
        drop(
            Placeholders::create(private.path(), place.clone(), Some(use_git()), &wanted).unwrap(),
        );
        assert_eq!(names(project.path()), ["git"]);
        assert!(shared.join("deep/config").exists(), "another sandbox has mounted something there");
        drop(other);
        drop(
            Placeholders::create(private.path(), place, Some(use_git()), &all(project.path()))
                .unwrap(),
        );
        assert!(!shared.join("deep").exists());
        assert_eq!(fs::read_dir(private.path()).unwrap().count(), 0);
    }
}
