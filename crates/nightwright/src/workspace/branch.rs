//! The current branch and the main branch, read from git's files without starting a process.

use std::path::Path;

use super::repository::{Head, Repository, text_of};

/// The branches of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branches {
    /// The branch that is checked out; `None` without git or with a detached HEAD.
    pub current: Option<String>,
    /// The main branch, if it is known.
    pub base: Option<String>,
}

/// Maximum size of a file that contains the name of a branch or folder.
const NAME: u64 = 4 << 10;
/// Maximum bytes read of the list of all branches; local branches come first in it.
const LIST: u64 = 1 << 20;

/// Usual names of main branches, for repositories that do not define one.
const USUAL: [&str; 3] = ["main", "master", "trunk"];

/// Returns the branches of the repository that contains a project.
pub fn branches(project: &Path) -> Branches {
    let Some(Repository { folder, shared, .. }) = Repository::around(project) else {
        return Branches::default();
    };
    let current = named(&folder.join("HEAD"), "refs/heads/");
    let origin = named(&shared.join("refs/remotes/origin/HEAD"), "refs/remotes/origin/");
    let base = origin.or_else(|| usual(&shared, current.as_deref()));
    Branches { current, base }
}

/// Returns the commit that is checked out, if git's files show it without running git.
pub fn head_commit(project: &Path) -> Option<String> {
    match Repository::around(project)?.head() {
        Head::Commit(commit) => Some(commit),
        Head::Unborn | Head::Unknown => None,
    }
}

/// Returns the branch that a file of git names.
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
