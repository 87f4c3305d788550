//! Which branch is checked out, and which is the main one: read from git's own files, so that no
//! process is needed for it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// The branches of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branches {
    /// The one that is checked out; `None` without git, or when a commit is.
    pub current: Option<String>,
    /// The main one, as far as git knows it.
    pub base: Option<String>,
}

/// No name of a branch or folder is longer than this, nor is a file of git's that holds one.
const NAME: u64 = 4 << 10;
/// Of the list of all branches only so much is read; those that are ours come first in it.
const LIST: u64 = 1 << 20;

/// Names that main branches have where nobody says which it is.
const USUAL: [&str; 3] = ["main", "master", "trunk"];

/// The branches of the repository that a project is in.
pub fn branches(project: &Path) -> Branches {
    let Some(folder) = project.ancestors().find_map(git_folder) else {
        return Branches::default();
    };
    // In a worktree, what all of them share is elsewhere.
    let shared = match text_of(&folder.join("commondir"), NAME) {
        Some(path) => folder.join(path.trim()),
        None => folder.clone(),
    };
    let current = named(&folder.join("HEAD"), "refs/heads/");
    let origin = named(&shared.join("refs/remotes/origin/HEAD"), "refs/remotes/origin/");
    let base = origin.or_else(|| usual(&shared, current.as_deref()));
    Branches { current, base }
}

fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let link = text_of(&git, NAME)?;
    Some(folder.join(link.strip_prefix("gitdir:")?.trim()))
}

/// The branch that a file of git's names.
fn named(file: &Path, prefix: &str) -> Option<String> {
    let text = text_of(file, NAME)?;
    text.strip_prefix("ref:")?.trim().strip_prefix(prefix).map(str::to_owned)
}

fn usual(shared: &Path, current: Option<&str>) -> Option<String> {
    let packed = text_of(&shared.join("packed-refs"), LIST).unwrap_or_default();
    let is_there = |name: &&str| {
        current == Some(*name)
            || shared.join("refs/heads").join(name).exists()
            || packed.lines().any(|line| line.ends_with(&format!(" refs/heads/{name}")))
    };
    USUAL.iter().find(|name| is_there(name)).map(|name| (*name).to_owned())
}

/// The beginning of a plain file. Whoever made the repository chose what is in its place.
fn text_of(path: &Path, most: u64) -> Option<String> {
    // Not blocking: a pipe in its place would be waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
