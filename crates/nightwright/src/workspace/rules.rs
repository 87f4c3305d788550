//! Which files of a project count as work.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Match, WalkBuilder};

use super::repository::text_of;
use super::{CheckOutputs, is_output};

/// Folders of ours and git's, wherever they are.
const NOT_WORK: [&str; 2] = [".git", ".nightwright"];

/// The project's own settings.
pub(super) const CONFIGURATION: &str = ".nightwright/config.toml";

/// In our own folder: what takes effect there, and is looked through for that reason.
const EFFECTIVE: [&str; 3] = [CONFIGURATION, ".nightwright/hooks", ".nightwright/modes"];

/// No more is read of a `.gitignore`.
const IGNORE_MAX: u64 = 1 << 20;

/// What counts, and what does not.
#[derive(Debug)]
pub(super) struct WorkRules {
    /// The project.
    pub(super) root: PathBuf,
    /// What iterations leave for each other, relative to the root.
    pub(super) left_out: Vec<PathBuf>,
    /// What counts although it lies in our own folder.
    pub(super) counted: Vec<PathBuf>,
    /// What checks wrote.
    pub(super) outputs: CheckOutputs,
}

/// One of the things that a walk comes to.
pub(super) type WalkEntry = Result<DirEntry, ignore::Error>;

impl WorkRules {
    /// Whether a file counts, by where it is.
    pub(super) fn counts(&self, path: &Path) -> bool {
        let elsewhere = || {
            let ours = |part| NOT_WORK.iter().any(|name| part == Path::new(name));
            !path.iter().map(Path::new).any(ours)
        };
        !self.left_out.iter().any(|out| path.starts_with(out))
            && (self.is_counted(path) || elsewhere())
    }

    /// Whether a check wrote a file.
    pub(super) fn is_output(&self, path: &Path) -> bool {
        is_output(&self.outputs, path)
    }

    /// Whether a file counts although it is in our own folder.
    pub(super) fn is_counted(&self, path: &Path) -> bool {
        self.counted.iter().any(|counted| path.starts_with(counted))
    }

    /// What is in a folder and is not ignored.
    pub(super) fn walk(&self, folder: &Path) -> ignore::Walk {
        let ignored = IgnoreFiles::below(self.root.join(folder));
        // What lies above the project, what the user ignores everywhere, and ignore files of other
        // programs say nothing about it: work must never be invisible.
        WalkBuilder::new(self.root.join(folder))
            .standard_filters(false)
            .filter_entry(move |entry| {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                NOT_WORK.iter().all(|name| entry.file_name() != *name)
                    && !ignored.covers(entry.path(), is_folder)
            })
            .build()
    }

    /// What is in our own folder and counts, whatever ignore files say of it.
    pub(super) fn counted(&self) -> impl Iterator<Item = WalkEntry> + use<> {
        everything_in(self.counted.iter().map(|path| self.root.join(path)).collect())
    }

    /// What is in our own folder and takes effect.
    pub(super) fn effective(&self) -> impl Iterator<Item = WalkEntry> + use<> {
        everything_in(EFFECTIVE.iter().map(|path| self.root.join(path)).collect())
    }
}

/// What `.gitignore` files say. They are read here: whoever made them chose what is in their place,
/// and a pipe or an endless file must hold nobody.
struct IgnoreFiles {
    top: PathBuf,
    /// What holds in a folder, the nearest last.
    folders: Mutex<HashMap<PathBuf, IgnorePatterns>>,
}

type IgnorePatterns = Arc<Vec<Arc<Gitignore>>>;

impl IgnoreFiles {
    fn below(top: PathBuf) -> Self {
        Self { top, folders: Mutex::default() }
    }

    fn covers(&self, path: &Path, is_folder: bool) -> bool {
        let Some(folder) = path.parent().filter(|_| path != self.top) else { return false };
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        for patterns in patterns_in(folder, &self.top, &mut folders).iter().rev() {
            match patterns.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

fn patterns_in(
    folder: &Path,
    top: &Path,
    known: &mut HashMap<PathBuf, IgnorePatterns>,
) -> IgnorePatterns {
    if let Some(patterns) = known.get(folder) {
        return Arc::clone(patterns);
    }
    let above = match folder.parent() {
        Some(parent) if folder != top => patterns_in(parent, top, known),
        Some(_) | None => IgnorePatterns::default(),
    };
    let patterns = match own_patterns(folder) {
        Some(own) => Arc::new(above.iter().cloned().chain([Arc::new(own)]).collect()),
        None => above,
    };
    known.insert(folder.to_owned(), Arc::clone(&patterns));
    patterns
}

/// What the `.gitignore` of a folder says, if it has one. A line that can't be read says nothing.
fn own_patterns(folder: &Path) -> Option<Gitignore> {
    let text = text_of(&folder.join(".gitignore"), IGNORE_MAX)?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // One line of it more or less: git leaves such lines out, too.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

fn everything_in(mut places: Vec<PathBuf>) -> impl Iterator<Item = WalkEntry> {
    places.retain(|path| fs::symlink_metadata(path).is_ok());
    places.into_iter().flat_map(|place| {
        let mut walk = WalkBuilder::new(place);
        walk.standard_filters(false).build()
    })
}
