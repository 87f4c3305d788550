//! The project's Git state, with real repositories.

mod changes;
mod hostile;
mod runs;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use nightwright::workspace::{Snapshot, StartTree, Workspace, head_commit};
use nightwright_core::tamper::FileSide;
use tempfile::TempDir;

/// A repository with one commit.
pub(crate) struct Repo {
    folder: TempDir,
}

impl Repo {
    /// Creates a repository without commits.
    fn unborn(options: &[&str]) -> Self {
        let repo = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(repo.path("p")).unwrap();
        let mut words = vec!["init", "--quiet", "--initial-branch=main"];
        words.extend(options);
        repo.git(&words);
        // Exclude the user's global ignore file, which nightwright respects.
        repo.git(&["config", "core.excludesFile", "/dev/null"]);
        repo
    }

    fn new() -> Self {
        let repo = Self::unborn(&[]);
        repo.write("a.txt", "one\n").write("sub/b.txt", "two\n").write(".gitignore", "*.log\n");
        repo.commit("first");
        repo
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn root(&self) -> PathBuf {
        self.path("p")
    }

    fn git(&self, words: &[&str]) -> String {
        git(&self.root(), words)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn remove(&self, name: &str) -> &Self {
        fs::remove_file(self.root().join(name)).unwrap();
        self
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
    }

    /// The folder of a run.
    fn run(&self) -> PathBuf {
        let run = self.path("run");
        fs::create_dir_all(&run).unwrap();
        run
    }

    fn workspace(&self) -> Workspace {
        Workspace::new(&self.root(), vec![PathBuf::from("NOTES.md")])
    }
}

/// Runs Git with a neutral identity.
pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    let output = command(folder).args(words).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns a Git command without user configuration and without repositories around the test.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_git(name)) {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("GIT_CEILING_DIRECTORIES", std::env::temp_dir())
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CONFIG_HOME")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Ann")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "ann@example.org")));
    command
}

fn is_of_git(variable: &OsStr) -> bool {
    variable.as_encoded_bytes().starts_with(b"GIT_")
}

fn print(snapshot: &Snapshot) -> (String, String) {
    (snapshot.fingerprint().0, snapshot.head_tree().unwrap_or("no git").to_owned())
}

#[test]
fn the_same_files_have_one_fingerprint_whether_committed_or_not() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repo = Repo::unborn(options);
        repo.write("a.txt", "one\n").write("sub/b.txt", "two\n").commit("first");
        let mut workspace = repo.workspace();
        let start = workspace.snapshot();
        repo.write("a.txt", "changed\n").write("new.sh", "#!/bin/sh\n").remove("sub/b.txt");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(repo.root().join("new.sh"), mode).unwrap();
        symlink("a.txt", repo.root().join("link")).unwrap();
        let dirty = workspace.snapshot();
        assert_eq!(dirty.changed_since(&start), Some(4));
        repo.git(&["add", "--all"]);
        let staged = workspace.snapshot();
        repo.commit("second");
        let committed = workspace.snapshot();
        assert_ne!(dirty.fingerprint(), start.fingerprint());
        assert_eq!(staged.fingerprint(), dirty.fingerprint());
        assert_eq!(committed.fingerprint(), dirty.fingerprint());
        assert_eq!(committed.changed_since(&dirty), Some(0));
        assert_eq!(staged.head_tree(), start.head_tree());
        assert_ne!(committed.head_tree(), start.head_tree());
        assert_eq!(workspace.commits_since(start.head()), 1);
        repo.git(&["revert", "--no-edit", "HEAD"]);
        assert_eq!(print(&workspace.snapshot()), print(&start));
        assert_eq!(workspace.commits_since(start.head()), 2);
        assert!(workspace.take_warnings().is_empty());
    }
}

#[test]
fn a_commit_of_nothing_or_of_the_notes_alone_is_another_commit_and_the_same_tree() {
    let repo = Repo::new();
    let mut workspace = repo.workspace();
    let start = workspace.snapshot();
    repo.write("NOTES.md", "for later").write(".nightwright/tasks/t/.status.json", "{}");
    assert_eq!(print(&workspace.snapshot()), print(&start));
    repo.commit("notes");
    repo.commit("nothing");
    let now = workspace.snapshot();
    assert_eq!(print(&now), print(&start));
    assert_ne!(now.head(), start.head());
    assert_eq!(workspace.commits_since(start.head()), 2);
}

#[test]
fn ignored_files_count_only_if_they_are_tracked_task_files() {
    let repo = Repo::new();
    repo.write(".gitignore", "*.log\n.nightwright\n").commit("ignore");
    let counted = vec![PathBuf::from(".nightwright/tasks/t/TODO.md")];
    let mut workspace = repo.workspace().counting(counted);
    let start = workspace.snapshot();
    repo.write("out.log", "noise").write(".nightwright/tasks/t/other", "ours");
    assert_eq!(print(&workspace.snapshot()), print(&start));
    repo.write(".nightwright/tasks/t/TODO.md", "- [x] it");
    let ticked = workspace.snapshot();
    assert_ne!(ticked.fingerprint(), start.fingerprint());
    repo.git(&["add", "--force", ".nightwright/tasks/t/TODO.md"]);
    repo.git(&["commit", "--quiet", "-m", "ticked"]);
    assert_eq!(workspace.snapshot().fingerprint(), ticked.fingerprint());
}

#[test]
fn reset_rebase_merge_and_other_branches_are_followed() {
    let repo = Repo::new();
    let mut workspace = repo.workspace();
    let start = workspace.snapshot();
    repo.write("c.txt", "c").commit("second");
    let second = workspace.snapshot();
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(print(&workspace.snapshot()), print(&start));
    repo.write("d.txt", "d").commit("other");
    let other = workspace.snapshot();
    repo.git(&["merge", "--quiet", "--no-edit", second.head().unwrap()]);
    let merged = workspace.snapshot();
    assert_eq!(merged.changed_since(&start), Some(2));
    assert_eq!(workspace.commits_since(other.head()), 1);
    repo.git(&["checkout", "--quiet", second.head().unwrap()]);
    let there = workspace.snapshot();
    assert_eq!(print(&there), print(&second));
    assert_eq!(workspace.commits_since(merged.head()), 0);
    repo.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    assert_eq!(workspace.snapshot().fingerprint(), second.fingerprint());
    repo.commit("a root");
    assert_eq!(print(&workspace.snapshot()), print(&second));
    assert!(workspace.take_warnings().is_empty());
}

#[test]
fn before_the_first_commit_everything_is_new() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repo = Repo::unborn(options);
        repo.write("a.txt", "one\n");
        let mut workspace = repo.workspace();
        let start = workspace.snapshot();
        assert_eq!(start.head(), None);
        repo.commit("first");
        let first = workspace.snapshot();
        assert_eq!(first.fingerprint(), start.fingerprint());
        assert_ne!(first.head_tree(), start.head_tree());
        assert_eq!(workspace.commits_since(None), 1);
    }
}

#[test]
fn only_the_project_s_own_part_of_a_larger_repository_counts() {
    let repo = Repo::new();
    repo.write("part/x.txt", "x").commit("a part");
    let mut workspace = Workspace::new(&repo.root().join("part"), vec!["NOTES.md".into()]);
    let start = workspace.snapshot();
    repo.write("a.txt", "elsewhere").write("part/NOTES.md", "notes");
    assert_eq!(print(&workspace.snapshot()), print(&start));
    repo.commit("elsewhere");
    assert_eq!(print(&workspace.snapshot()), print(&start));
    repo.write("part/x.txt", "y").write("part/new.txt", "z");
    let dirty = workspace.snapshot();
    assert_eq!(dirty.changed_since(&start), Some(2));
    repo.commit("in the part");
    assert_eq!(workspace.snapshot().fingerprint(), dirty.fingerprint());
}

#[test]
fn a_project_that_the_repository_around_it_ignores_is_walked() {
    let repo = Repo::new();
    repo.write(".gitignore", "part\n").write("part/x.txt", "x").commit("ignored");
    let mut workspace = Workspace::new(&repo.root().join("part"), Vec::new());
    let start = workspace.snapshot();
    repo.write("part/x.txt", "work");
    assert_ne!(workspace.snapshot().fingerprint(), start.fingerprint());
    assert_eq!(workspace.take_warnings(), Vec::<String>::new());
}

#[test]
fn odd_names_repositories_inside_and_conflicts_break_nothing() {
    use std::os::unix::ffi::OsStrExt;
    let repo = Repo::new();
    let mut workspace = repo.workspace();
    let mut seen = vec![workspace.snapshot().fingerprint()];
    let mut changed = |what: &str, workspace: &mut Workspace| {
        let now = workspace.snapshot();
        assert_eq!(now.unreadable, Vec::<String>::new());
        assert!(!seen.contains(&now.fingerprint()), "{what}");
        seen.push(now.fingerprint());
    };
    repo.write("new\nline \"ü", "x");
    changed("a line's end in a name", &mut workspace);
    let odd = repo.root().join(OsStr::from_bytes(b"\xff\xfe"));
    fs::write(&odd, "x").unwrap();
    changed("a name that is no text", &mut workspace);
    repo.commit("odd names");
    fs::write(&odd, "y").unwrap();
    changed("the same, changed", &mut workspace);
    repo.write("inner/file", "x");
    git(&repo.root().join("inner"), &["init", "--quiet"]);
    changed("a repository inside", &mut workspace);
    git(&repo.root().join("inner"), &["add", "file"]);
    git(&repo.root().join("inner"), &["commit", "--quiet", "-m", "inner"]);
    repo.write("inner/file", "y");
    changed("a change in it", &mut workspace);
    repo.commit("with a link to it");
    let linked = workspace.snapshot();
    assert!(seen.contains(&linked.fingerprint()), "its files are what counts");
    repo.write("inner/file", "z");
    assert_ne!(workspace.snapshot().fingerprint(), linked.fingerprint());
    repo.git(&["checkout", "--quiet", "-b", "left"]);
    repo.write("a.txt", "left\n").commit("left");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("a.txt", "right\n").commit("right");
    let merged = command(&repo.root()).args(["merge", "left"]).output().unwrap();
    assert!(!merged.status.success());
    workspace.snapshot();
    fs::write(repo.root().join(".git/index.lock"), "").unwrap();
    workspace.snapshot();
    assert_eq!(workspace.take_warnings(), Vec::<String>::new());
}

#[test]
fn repositories_inside_that_were_committed_before_the_run_are_looked_into() {
    let repo = Repo::new();
    let inner = repo.root().join("inner");
    repo.write("inner/file", "x");
    for words in [&["init", "--quiet"][..], &["add", "file"], &["commit", "--quiet", "-m", "in"]] {
        git(&inner, words);
    }
    repo.commit("a link to it, and nothing that describes it");
    let mut workspace = repo.workspace();
    let start = workspace.snapshot();
    assert_eq!(workspace.snapshot().fingerprint(), start.fingerprint());
    let changed = |workspace: &mut Workspace| workspace.snapshot().changed_since(&start);
    git(&inner, &["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
    assert_eq!(changed(&mut workspace), Some(0), "its files are what counts");
    repo.write("inner/file", "y");
    assert_eq!(changed(&mut workspace), Some(1));
    fs::remove_dir_all(inner.join(".git")).unwrap();
    repo.write("inner/new", "z");
    assert_eq!(changed(&mut workspace), Some(2), "whether it is still one or not");
    fs::remove_dir_all(&inner).unwrap();
    assert_eq!(changed(&mut workspace), Some(1));
}

#[test]
fn a_repository_made_around_files_hides_nothing() {
    let repo = Repo::new();
    let mut workspace = repo.workspace();
    let start = workspace.snapshot();
    git(&repo.root().join("sub"), &["init", "--quiet"]);
    assert_eq!(workspace.snapshot().fingerprint(), start.fingerprint());
    repo.write("sub/b.txt", "work").write("sub/new", "x");
    assert_eq!(workspace.snapshot().changed_since(&start), Some(2));
}

#[test]
fn a_failing_git_is_reported_once_and_the_files_are_walked() {
    let repo = Repo::new();
    fs::write(repo.root().join(".git/HEAD"), "nonsense").unwrap();
    let mut workspace = repo.workspace();
    let start = workspace.snapshot();
    let warnings = workspace.take_warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("without git: git failed"), "{warnings:?}");
    repo.write("a.txt", "work");
    assert_ne!(workspace.snapshot().fingerprint(), start.fingerprint());
    assert_eq!(workspace.take_warnings(), Vec::<String>::new());
}

#[test]
fn a_look_that_git_fails_in_is_walked_and_is_neither_work_nor_the_end_of_git() {
    let repo = Repo::new();
    let mut workspace = repo.workspace().in_run(&repo.run());
    let start = workspace.snapshot();
    workspace.save_start_tree(&start, &repo.run()).unwrap();
    // Git's own folder is changed, and cannot be made again.
    fs::remove_file(repo.run().join("git/HEAD")).unwrap();
    let (repository, away) = (repo.root().join(".git"), repo.path("away"));
    fs::rename(&repository, &away).unwrap();
    let stray = workspace.snapshot();
    assert_eq!(print(&stray), print(&start));
    assert_eq!(stray.changed_since(&start), None);
    workspace.changes(&stray);
    assert_eq!(workspace.gaps().len(), 1);
    assert_eq!(workspace.gaps()[0].path, ".git");
    let again = workspace.snapshot();
    assert_eq!((print(&again), again.changed_since(&stray)), (print(&start), Some(0)));
    repo.write("a.txt", "work");
    let work = workspace.snapshot();
    assert_ne!(work.fingerprint(), start.fingerprint());
    assert_eq!(work.changed_since(&stray), Some(1));
    fs::rename(&away, &repository).unwrap();
    let now = workspace.snapshot();
    assert_eq!(now.changed_since(&start), Some(1));
    workspace.changes(&now);
    assert_eq!(workspace.gaps(), []);
    let warnings = workspace.take_warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("changed the private git folder"), "{warnings:?}");
    assert!(warnings[1].contains("without git: git failed"), "{warnings:?}");
}

#[test]
fn an_ignored_file_counts_once_it_is_committed() {
    let repo = Repo::new();
    let mut workspace = repo.workspace();
    let start = workspace.snapshot();
    repo.write("forced.log", "x");
    assert_eq!(print(&workspace.snapshot()), print(&start));
    repo.git(&["add", "--force", "forced.log"]);
    repo.git(&["commit", "--quiet", "-m", "forced"]);
    let forced = workspace.snapshot();
    assert_eq!(forced.changed_since(&start), Some(1));
    repo.write("forced.log", "y");
    assert_eq!(workspace.snapshot().changed_since(&forced), Some(1));
}

#[test]
fn going_back_and_forth_makes_no_commits() {
    let repo = Repo::new();
    let mut workspace = repo.workspace();
    let start = workspace.snapshot();
    repo.write("c.txt", "c").commit("second");
    workspace.snapshot();
    for to in ["HEAD~1", "main", "HEAD~1", "main"] {
        repo.git(&["checkout", "--quiet", to]);
        workspace.snapshot();
    }
    assert_eq!(workspace.commits_since(start.head()), 0, "the last time it was there");
    repo.write("d.txt", "d").commit("third");
    workspace.snapshot();
    assert_eq!(workspace.commits_since(start.head()), 1);
}

#[test]
fn staged_and_ignored_files_and_other_line_endings_at_the_start_are_no_change() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.bat eol=crlf\n").write("x.bat", "one\r\ntwo\r\n");
    repo.commit("lines");
    repo.write("staged", "x").write("a.txt", "staged\n").git(&["add", "--all"]);
    repo.git(&["rm", "--quiet", "--cached", "sub/b.txt"]);
    fs::write(repo.root().join(".git/info/exclude"), "private\n").unwrap();
    repo.write("private", "x");
    let mut workspace = repo.workspace().in_run(&repo.run());
    let start = workspace.snapshot();
    workspace.save_start_tree(&start, &repo.run()).unwrap();
    assert_eq!(workspace.changes(&start), []);
    repo.git(&["commit", "--quiet", "--all", "-m", "staged"]);
    repo.write("x.bat", "one\r\ntwo\r\n");
    let now = workspace.snapshot();
    assert_eq!(now.fingerprint(), start.fingerprint());
    repo.write("x.bat", "one\r\nthree\r\n");
    let now = workspace.snapshot();
    let changes = workspace.changes(&now);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].before, FileSide::Text("one\ntwo\n".to_owned()));
    assert_eq!(changes[0].after, FileSide::Text("one\nthree\n".to_owned()));
}

#[test]
fn worktrees_split_indexes_and_odd_places_are_looked_at_through_git() {
    let repo = Repo::new();
    repo.git(&["update-index", "--split-index"]);
    let tree = repo.path("odd \"place\\\nü");
    repo.git(&["worktree", "add", "--quiet", "--detach", tree.to_str().unwrap()]);
    for root in [repo.root(), tree] {
        let mut workspace = Workspace::new(&root, Vec::new());
        let start = workspace.snapshot();
        assert!(start.head().is_some());
        fs::write(root.join("a.txt"), "work\n").unwrap();
        let dirty = workspace.snapshot();
        assert_eq!(dirty.changed_since(&start), Some(1));
        git(&root, &["commit", "--quiet", "--all", "-m", "work"]);
        let now = workspace.snapshot();
        assert_eq!(now.fingerprint(), dirty.fingerprint());
        assert_ne!(now.head_tree(), start.head_tree());
        assert_eq!(workspace.changes(&now)[0].before, FileSide::Text("one\n".to_owned()));
        assert_eq!(workspace.take_warnings(), Vec::<String>::new());
    }
}

#[test]
fn a_resumed_run_counts_from_the_commit_at_which_it_began() {
    let repo = Repo::new();
    let mut workspace = repo.workspace().in_run(&repo.run());
    let start = workspace.snapshot();
    workspace.save_start_tree(&start, &repo.run()).unwrap();
    repo.write("c.txt", "c").commit("second");
    repo.write("d.txt", "d").commit("third");
    let third = workspace.snapshot();
    let again = |repo: &Repo| repo.workspace().since(StartTree::of(&repo.run()).unwrap());
    let mut resumed = again(&repo);
    let now = resumed.snapshot();
    assert_eq!(print(&now), print(&third));
    assert_eq!(resumed.commits_since(start.head()), 2);
    // Without the run's own Git folder, a new one is created for the same commit.
    fs::remove_dir_all(repo.run().join("git")).unwrap();
    repo.git(&["update-index", "--assume-unchanged", "a.txt"]);
    assert_eq!(print(&again(&repo).snapshot()), print(&third));
    repo.write("a.txt", "hidden");
    assert_eq!(again(&repo).snapshot().changed_since(&now), Some(1));
}

#[test]
fn the_commit_is_read_from_git_s_files_too() {
    let repo = Repo::new();
    let head = Some(repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(head_commit(&repo.root().join("sub")), head);
    repo.git(&["pack-refs", "--all"]);
    assert_eq!(head_commit(&repo.root()), head);
    repo.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(head_commit(&repo.root()), head);
    assert_eq!(head_commit(&Repo::unborn(&[]).root()), None);
}
