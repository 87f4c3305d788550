//! Branches in repositories created by Git itself.

use std::fs;

use nightwright::workspace::{Branches, branches};

use super::git::git;

#[test]
fn the_branches_are_those_that_git_names() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    assert_eq!(branches(&project), Branches::default());
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&project, &["pack-refs", "--all"]);
    git(&project, &["worktree", "add", "-q", "../other", "-b", "feature/a"]);
    let named = |current: Option<&str>, base: Option<&str>| Branches {
        current: current.map(str::to_owned),
        base: base.map(str::to_owned),
    };
    assert_eq!(branches(&project), named(Some("main"), Some("main")));
    assert_eq!(branches(&folder.path().join("other")), named(Some("feature/a"), Some("main")));
    git(&project, &["checkout", "-q", "--detach"]);
    assert_eq!(branches(&project).current, None);
    git(&project, &["remote", "add", "origin", "."]);
    git(&project, &["fetch", "-q", "origin"]);
    git(&project, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/feature/a"]);
    assert_eq!(branches(&project).base.as_deref(), Some("feature/a"));
}
