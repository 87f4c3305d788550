//! Rules that decide which files of a project count as work.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Match, WalkBuilder};

use super::repository::text_of;
use super::{CheckOutputs, is_output};

/// Folders of nightwright and git, at any level.
const NOT_WORK: [&str; 2] = [".git", ".nightwright"];

/// The settings of the project.
const CONFIGURATION: &str = ".nightwright/config.toml";

/// The folder of the project's modes.
const MODES: &str = ".nightwright/modes";

/// Files in nightwright's folder that affect a run, and are therefore inspected.
const EFFECTIVE: [&str; 3] = [CONFIGURATION, ".nightwright/hooks", MODES];

/// Maximum bytes read of a `.gitignore`.
const MAX_IGNORE: u64 = 1 << 20;

/// The rules that decide whether a file counts as work.
#[derive(Debug)]
pub(super) struct WorkRules {
    /// The root folder of the project.
    pub(super) root: PathBuf,
    /// The notes of the iterations and other ignored paths, relative to the root.
    pub(super) left_out: Vec<PathBuf>,
    /// Paths that count although they are in nightwright's folder.
    pub(super) counted: Vec<PathBuf>,
    /// Files that checks wrote.
    pub(super) outputs: CheckOutputs,
}

/// Whether the file contains configuration keys, and may therefore contain secrets.
pub(super) fn is_configuration(path: &Path) -> bool {
    path == Path::new(CONFIGURATION) || (path.starts_with(MODES) && path.ends_with("mode.toml"))
}

/// An entry of a walk.
pub(super) type WalkEntry = Result<DirEntry, ignore::Error>;

impl WorkRules {
    /// Whether a file counts, according to its path.
    pub(super) fn counts(&self, path: &Path) -> bool {
        let elsewhere = || {
            let ours = |part| NOT_WORK.iter().any(|name| part == Path::new(name));
            !path.iter().map(Path::new).any(ours)
        };
        !self.left_out.iter().any(|out| path.starts_with(out))
            && (self.is_counted(path) || elsewhere())
    }

    /// Whether a check wrote the file.
    pub(super) fn is_output(&self, path: &Path) -> bool {
        is_output(&self.outputs, path)
    }

    /// Whether a file counts although it is in nightwright's folder.
    pub(super) fn is_counted(&self, path: &Path) -> bool {
        self.counted.iter().any(|counted| path.starts_with(counted))
    }

    /// Walks over the files in a folder that are not ignored.
    pub(super) fn walk(&self, folder: &Path) -> ignore::Walk {
        let ignored = IgnoreFiles::below(self.root.join(folder));
        // Ignore files above the project, global ignore rules and ignore files of other programs
        // have no effect: work must never be invisible.
        WalkBuilder::new(self.root.join(folder))
            .standard_filters(false)
            .filter_entry(move |entry| {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                NOT_WORK.iter().all(|name| entry.file_name() != *name)
                    && !ignored.covers(entry.path(), is_folder)
            })
            .build()
    }

    /// Walks over the files in nightwright's folder that count, whether they are ignored or not.
    pub(super) fn counted(&self) -> impl Iterator<Item = WalkEntry> + use<> {
        everything_in(self.counted.iter().map(|path| self.root.join(path)).collect())
    }

    /// Walks over the effective files in nightwright's folder.
    pub(super) fn effective(&self) -> impl Iterator<Item = WalkEntry> + use<> {
        everything_in(EFFECTIVE.iter().map(|path| self.root.join(path)).collect())
    }
}

/// The rules of `.gitignore` files. They are read here, because the project is untrusted: a pipe or
/// an endless file in their place must not block the walk.
struct IgnoreFiles {
    top: PathBuf,
    /// The patterns that apply in a folder, the nearest last.
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

/// Returns the patterns in the `.gitignore` of a folder, if it has one. Invalid lines are ignored.
fn own_patterns(folder: &Path) -> Option<Gitignore> {
    let text = text_of(&folder.join(".gitignore"), MAX_IGNORE)?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // Git ignores such lines, too.
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
