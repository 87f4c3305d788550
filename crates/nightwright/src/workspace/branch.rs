//! Which branch is checked out, and which is the main one: read from git's own files, so that no
//! process is needed for it.

use std::path::Path;

use super::repository::{Head, Repository, text_of};

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
    let Some(Repository { folder, shared, .. }) = Repository::around(project) else {
        return Branches::default();
    };
    let current = named(&folder.join("HEAD"), "refs/heads/");
    let origin = named(&shared.join("refs/remotes/origin/HEAD"), "refs/remotes/origin/");
    let base = origin.or_else(|| usual(&shared, current.as_deref()));
    Branches { current, base }
}

/// The commit that is checked out, as far as git's files say it without git.
pub fn head_commit(project: &Path) -> Option<String> {
    match Repository::around(project)?.head() {
        Head::Commit(commit) => Some(commit),
        Head::Unborn | Head::Unknown => None,
    }
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
