//! The changes since a run began, with both sides.

use std::fs;

use nightwright::workspace::{StartTree, Workspace, inspection};
use nightwright_core::tamper::{FileDiff, FileSide};

use super::Repo;

fn text(text: &str) -> FileSide {
    FileSide::Text(text.to_owned())
}

fn change(path: &str, before: FileSide, after: FileSide) -> FileDiff {
    FileDiff { path: path.to_owned(), before, after }
}

/// A run that has begun in a repository.
pub(super) fn begun(repo: &Repo) -> Workspace {
    let mut workspace = repo.workspace().in_run(&repo.run());
    let start = workspace.snapshot();
    workspace.save_start_tree(&start, &repo.run()).unwrap();
    workspace
}

pub(super) fn changes(workspace: &mut Workspace) -> Vec<FileDiff> {
    let now = workspace.snapshot();
    workspace.changes(&now)
}

#[test]
fn both_sides_are_known_whether_committed_or_not() {
    let repo = Repo::new();
    repo.write("was dirty", "first\n").commit("dirty");
    repo.write("was dirty", "second\n").write("was new", "new\n").write("left alone", "x");
    let mut workspace = begun(&repo);
    assert_eq!(changes(&mut workspace), []);
    repo.write("a.txt", "one\nmore\n").remove("sub/b.txt").write("fresh", "f\n");
    repo.write("was dirty", "third\n").remove("was new").write("picture", "\0");
    repo.write(".nightwright/config.toml", "[verify]\n").write("NOTES.md", "notes");
    let expected = [
        change(".nightwright/config.toml", FileSide::Absent, text("[verify]\n")),
        change("a.txt", text("one\n"), text("one\nmore\n")),
        change("fresh", FileSide::Absent, text("f\n")),
        change("picture", FileSide::Absent, FileSide::Opaque),
        change("sub/b.txt", text("two\n"), FileSide::Absent),
        change("was dirty", text("second\n"), text("third\n")),
        change("was new", text("new\n"), FileSide::Absent),
    ];
    assert_eq!(changes(&mut workspace), expected);
    repo.commit("all of it");
    assert_eq!(changes(&mut workspace), expected);
    let start_tree = StartTree::of(&repo.run()).unwrap();
    assert_eq!(changes(&mut repo.workspace().since(start_tree)), expected);
    // Back to the commit: for the run that is a change of what was not committed.
    repo.write("was dirty", "first\n");
    let back = change("was dirty", text("second\n"), text("first\n"));
    assert!(changes(&mut workspace).contains(&back));
}

#[test]
fn without_git_the_copies_say_how_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("p");
    fs::create_dir_all(project.join("sub")).unwrap();
    for (name, text) in [("a", "one\n"), ("sub/b", "two\n"), ("c", "same\n")] {
        fs::write(project.join(name), text).unwrap();
    }
    fs::write(project.join("large"), "x".repeat(2 << 20)).unwrap();
    let mut workspace = Workspace::new(&project, Vec::new());
    let start = workspace.snapshot();
    workspace.save_start_tree(&start, folder.path()).unwrap();
    assert_eq!(changes(&mut workspace), []);
    fs::write(project.join("a"), "changed\n").unwrap();
    fs::remove_file(project.join("sub/b")).unwrap();
    fs::write(project.join("large"), "small\n").unwrap();
    fs::create_dir(project.join(".git")).unwrap();
    let expected = [
        change("a", text("one\n"), text("changed\n")),
        change("large", FileSide::Opaque, text("small\n")),
        change("sub/b", text("two\n"), FileSide::Absent),
    ];
    assert_eq!(changes(&mut workspace), expected);
    let start_tree = StartTree::of(folder.path()).unwrap();
    assert_eq!(changes(&mut Workspace::new(&project, Vec::new()).since(start_tree)), expected);
}

#[test]
fn a_link_that_came_in_the_place_of_a_file_is_not_followed() {
    let repo = Repo::new();
    let mut workspace = begun(&repo);
    repo.remove("a.txt");
    std::os::unix::fs::symlink("/etc/passwd", repo.root().join("a.txt")).unwrap();
    assert_eq!(changes(&mut workspace), [change("a.txt", text("one\n"), FileSide::Opaque)]);
}

#[test]
fn an_object_put_in_the_place_of_another_does_not_change_what_was() {
    let repo = Repo::new();
    let mut workspace = begun(&repo);
    repo.write("a.txt", "other\n");
    let forged = repo.git(&["hash-object", "-w", "a.txt"]);
    let old = repo.git(&["rev-parse", "HEAD:a.txt"]);
    repo.git(&["replace", &old, &forged]);
    assert_eq!(changes(&mut workspace), [change("a.txt", text("one\n"), text("other\n"))]);
}

#[test]
fn thousands_of_changes_and_large_ones_have_a_bound() {
    let repo = Repo::new();
    let mut workspace = begun(&repo);
    for n in 0..2100 {
        repo.write(&format!("many/{n:04}"), "x\n");
    }
    repo.write("large", &"y\n".repeat(1 << 20));
    let all = changes(&mut workspace);
    assert_eq!(all.len(), 2101);
    let known = all.iter().filter(|change| change.after != FileSide::Opaque).count();
    assert_eq!(known, 2000);
    assert_eq!(workspace.gaps(), [], "nothing could be taken from what is new");
    let inspection = inspection(&all, &[]);
    assert_eq!((inspection.changes.files, inspection.changes.listed.len()), (2101, 50));
}

#[test]
fn files_beyond_the_limit_are_a_finding_and_new_files_do_not_use_it_up() {
    let repo = Repo::new();
    for n in 0..2100 {
        repo.write(&format!("many/{n:04}"), "x\n");
    }
    repo.commit("many");
    let mut workspace = begun(&repo);
    for n in 0..1990 {
        repo.write(&format!("many/{n:04}"), "changed\n").write(&format!("new/{n:04}"), "");
    }
    let all = changes(&mut workspace);
    assert_eq!(all.len(), 2 * 1990);
    assert_eq!(workspace.gaps(), []);
    for n in 0..2100 {
        repo.write(&format!("many/{n:04}"), "changed again\n");
    }
    let all = changes(&mut workspace);
    assert_eq!(all.iter().filter(|change| change.before == FileSide::Opaque).count(), 100);
    assert_eq!(workspace.gaps().len(), 1);
    assert!(workspace.gaps()[0].what.starts_with("did not compare 100 changed files"));
}

#[test]
fn secrets_of_the_configuration_are_on_neither_side() {
    let repo = Repo::new();
    let config = |word: &str| {
        format!(
            "[agent.env]\nDB = \"hush-{word}\"\n[[notify]]\nurl = \"https://ntfy.sh/hush-{word}\"\n\
             secret = \"hush-{word}\"\ntoken = \"hush-{word}\"\n"
        )
    };
    let mode = |word: &str| format!("[defaults]\nnotify.token = 'hush-{word}'\n");
    repo.write(".nightwright/config.toml", &config("a"));
    repo.commit("with secrets");
    let mut workspace = begun(&repo);
    repo.write(".nightwright/config.toml", &format!("delay = 5\n{}", config("b")));
    repo.write(".nightwright/modes/mine/mode.toml", &mode("c"));
    let changes = changes(&mut workspace);
    let paths: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, [".nightwright/config.toml", ".nightwright/modes/mine/mode.toml"]);
    let shown = format!("{changes:?}");
    assert!(shown.contains("delay = 5") && !shown.contains("hush"), "{shown}");
    let inspection = inspection(&changes, &[]);
    assert!(!format!("{inspection:?}").contains("hush"), "{inspection:?}");
}
