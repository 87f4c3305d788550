//! The repository that a project is in: where it is, and what is checked out in it. Read from git's
//! own files, so that no process is needed for it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::rules::WorkRules;
use crate::workspace::root;

/// No file of git's that is a line or a few is longer than this.
const SHORT: u64 = 64 << 10;
/// The list of all branches, if they are packed.
const LIST: u64 = 64 << 20;
/// A name that leads to a name that leads to a name has an end here, as it has for git.
const DEPTH: u32 = 5;

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The folder that has all the files of the commit.
    pub top: PathBuf,
    /// Git's own folder for it.
    pub folder: PathBuf,
    /// What all its worktrees share.
    pub(super) shared: PathBuf,
    /// Where in it the project is.
    pub(super) inside: PathBuf,
}

/// What is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A commit.
    Commit(String),
    /// A branch without a commit.
    Unborn,
    /// Git's files don't say it, or not in a way that is known here.
    Unknown,
}

impl Repository {
    /// The repository around a project, if there is one.
    pub fn around(project: &Path) -> Option<Self> {
        let project = project.canonicalize().ok()?;
        let top = root::repository(&project)?;
        let folder = git_folder(&top)?;
        let inside = project.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        Some(Self { top, shared: shared(&folder), folder, inside })
    }

    /// What is checked out now.
    pub(super) fn head(&self) -> Head {
        head(&self.folder, &self.shared)
    }

    /// Those of the places in the repository that are in the project and count, as they are called
    /// there.
    pub(super) fn inner(&self, places: &[PathBuf], rules: &WorkRules) -> BTreeSet<PathBuf> {
        let inside = places.iter().filter_map(|place| place.strip_prefix(&self.inside).ok());
        inside.filter(|path| rules.counts(path)).map(Path::to_owned).collect()
    }
}

/// In a worktree, what all of them share is elsewhere.
pub(super) fn shared(folder: &Path) -> PathBuf {
    match text_of(&folder.join("commondir"), SHORT) {
        Some(path) => folder.join(path.trim()),
        None => folder.to_owned(),
    }
}

/// What is checked out, by git's folder and what its worktrees share.
pub(super) fn head(folder: &Path, shared: &Path) -> Head {
    let is_commit = |text: &str| {
        matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let Some(mut text) = text_of(&folder.join("HEAD"), SHORT) else { return Head::Unknown };
    for _ in 0..DEPTH {
        let Some(name) = text.strip_prefix("ref:").map(str::trim) else {
            let commit = text.trim();
            return if is_commit(commit) {
                Head::Commit(commit.to_ascii_lowercase())
            } else {
                Head::Unknown
            };
        };
        // With the other way to keep branches this is the name of none.
        let is_odd = shared.join("reftable").exists() || name.split('/').any(|part| part == "..");
        if is_odd || !name.starts_with("refs/") {
            return Head::Unknown;
        }
        if let Some(next) = text_of(&shared.join(name), SHORT) {
            text = next;
            continue;
        }
        let packed = text_of(&shared.join("packed-refs"), LIST).unwrap_or_default();
        let found = packed.lines().find_map(|line| {
            let (commit, there) = line.split_once(' ')?;
            (there == name && is_commit(commit)).then(|| commit.to_ascii_lowercase())
        });
        return found.map_or(Head::Unborn, Head::Commit);
    }
    Head::Unknown
}

/// Whether a folder is the root of a repository.
pub fn is_repository(folder: &Path) -> bool {
    git_folder(folder).is_some()
}

/// Git's own folder, if there is one for this folder. An empty `.git` is none, and neither is a file
/// that names a folder which is not there.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let git = if git.is_dir() {
        git
    } else {
        let link = text_of(&git, SHORT)?;
        folder.join(link.strip_prefix("gitdir:")?.trim())
    };
    is_git_folder(&git).then_some(git)
}

/// The signs that git looks for. One that is damaged is a repository all the same: whoever asks git
/// is told what is wrong with it.
fn is_git_folder(folder: &Path) -> bool {
    let shared = shared(folder);
    folder.join("HEAD").symlink_metadata().is_ok()
        && shared.join("objects").is_dir()
        && shared.join("refs").is_dir()
}

/// The beginning of a plain file, as text.
pub(super) fn text_of(path: &Path, most: u64) -> Option<String> {
    Some(String::from_utf8_lossy(&bytes_of(path, most)?).into_owned())
}

/// The beginning of a plain file. Whoever made the repository chose what is in its place.
pub(super) fn bytes_of(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A plain file, opened.
pub(super) fn open_plain(path: &Path) -> Option<File> {
    // Not blocking: a pipe in its place would be waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}
