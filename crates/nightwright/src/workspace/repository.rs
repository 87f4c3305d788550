//! The repository that contains a project: its location and its HEAD, read from git's files without
//! starting a process.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::rules::WorkRules;
use crate::workspace::root;

/// Maximum size of git's files that have a few lines.
const SHORT: u64 = 64 << 10;
/// Maximum size of the list of packed branches.
const LIST: u64 = 64 << 20;
/// Maximum depth of symbolic refs, as in git.
const DEPTH: u32 = 5;

/// The location of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The root of the work tree.
    pub top: PathBuf,
    /// The git folder of the work tree.
    pub folder: PathBuf,
    /// The git folder that all worktrees share.
    pub(super) shared: PathBuf,
    /// The path of the project relative to `top`.
    pub(super) inside: PathBuf,
}

/// The state of HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Commit(String),
    /// A branch without a commit.
    Unborn,
    /// Git's files do not show it in a form that is known here.
    Unknown,
}

impl Repository {
    /// Returns the repository that contains a project, if any.
    pub fn around(project: &Path) -> Option<Self> {
        let project = project.canonicalize().ok()?;
        let top = root::repository(&project)?;
        let folder = git_folder(&top)?;
        let inside = project.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        Some(Self { top, shared: shared(&folder), folder, inside })
    }

    /// The git folder that all worktrees share.
    pub fn shared(&self) -> &Path {
        &self.shared
    }

    /// Reads the current HEAD.
    pub(super) fn head(&self) -> Head {
        head(&self.folder, &self.shared)
    }

    /// Returns the paths that are inside the project and count as work, relative to the project.
    pub(super) fn inner(&self, places: &[PathBuf], rules: &WorkRules) -> BTreeSet<PathBuf> {
        let inside = places.iter().filter_map(|place| place.strip_prefix(&self.inside).ok());
        inside.filter(|path| rules.counts(path)).map(Path::to_owned).collect()
    }
}

/// Returns the git folder that all worktrees share.
pub(super) fn shared(folder: &Path) -> PathBuf {
    match text_of(&folder.join("commondir"), SHORT) {
        Some(path) => folder.join(path.trim()),
        None => folder.to_owned(),
    }
}

/// Reads HEAD, given the git folder and the shared folder.
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
        // With the reftable format, HEAD names a branch that does not exist.
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

/// Returns the git folder of a work tree, if any. An empty `.git` does not count, nor does a file
/// that names a missing folder.
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

/// Checks for the files that git requires. A damaged repository still counts: git reports what is
/// wrong with it.
fn is_git_folder(folder: &Path) -> bool {
    let shared = shared(folder);
    folder.join("HEAD").symlink_metadata().is_ok()
        && shared.join("objects").is_dir()
        && shared.join("refs").is_dir()
}

/// Returns the beginning of a regular file, as text.
pub(super) fn text_of(path: &Path, most: u64) -> Option<String> {
    Some(String::from_utf8_lossy(&bytes_of(path, most)?).into_owned())
}

/// Returns the beginning of a regular file. The path may be a pipe or a device, because the
/// repository is untrusted.
pub(super) fn bytes_of(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Opens a file and checks that it is plain.
pub(super) fn open_plain(path: &Path) -> Option<File> {
    // Non-blocking: opening a pipe would block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}
