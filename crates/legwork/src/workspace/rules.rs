//! Which files of a project count as work.

use std::fs;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

/// Folders of ours and git's, wherever they are.
const NOT_WORK: [&str; 2] = [".git", ".legwork"];

/// The project's own settings.
pub(super) const CONFIGURATION: &str = ".legwork/config.toml";

/// In our own folder: what takes effect there, and is looked through for that reason.
const EFFECTIVE: [&str; 3] = [CONFIGURATION, ".legwork/hooks", ".legwork/modes"];

/// What counts, and what does not.
#[derive(Debug)]
pub(super) struct Rules {
    /// The project.
    pub(super) root: PathBuf,
    /// What iterations leave for each other, relative to the root.
    pub(super) left_out: Vec<PathBuf>,
    /// What counts although it lies in our own folder.
    pub(super) counted: Vec<PathBuf>,
}

/// One of the things that a walk comes to.
pub(super) type Found = Result<DirEntry, ignore::Error>;

impl Rules {
    /// Whether a file counts, by where it is.
    pub(super) fn counts(&self, path: &Path) -> bool {
        let elsewhere = || {
            let ours = |part| NOT_WORK.iter().any(|name| part == Path::new(name));
            !path.iter().map(Path::new).any(ours)
        };
        !self.left_out.iter().any(|out| path.starts_with(out))
            && (self.is_counted(path) || elsewhere())
    }

    /// Whether a file counts although it is in our own folder.
    pub(super) fn is_counted(&self, path: &Path) -> bool {
        self.counted.iter().any(|counted| path.starts_with(counted))
    }

    /// What is in a folder and is not ignored.
    pub(super) fn walk(&self, folder: &Path) -> ignore::Walk {
        WalkBuilder::new(self.root.join(folder))
            .hidden(false)
            .require_git(false)
            // What lies above the project, and what the user ignores everywhere, says nothing
            // about it: work must never be invisible.
            .parents(false)
            .git_global(false)
            .filter_entry(|entry| NOT_WORK.iter().all(|name| entry.file_name() != *name))
            .build()
    }

    /// What is in our own folder and counts, whatever ignore files say of it.
    pub(super) fn counted(&self) -> impl Iterator<Item = Found> + use<> {
        everything_in(self.counted.iter().map(|path| self.root.join(path)).collect())
    }

    /// What is in our own folder and takes effect.
    pub(super) fn effective(&self) -> impl Iterator<Item = Found> + use<> {
        everything_in(EFFECTIVE.iter().map(|path| self.root.join(path)).collect())
    }
}

fn everything_in(mut places: Vec<PathBuf>) -> impl Iterator<Item = Found> {
    places.retain(|path| fs::symlink_metadata(path).is_ok());
    places.into_iter().flat_map(|place| {
        let mut walk = WalkBuilder::new(place);
        walk.standard_filters(false).build()
    })
}
