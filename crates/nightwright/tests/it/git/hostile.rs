//! Hostile git configuration by the agent, and its limits: git runs no program of its choice, and
//! nothing that it took away is hidden.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nightwright::workspace::inspection;
use nightwright_core::input::{InspectionTimeout, NotInspected};
use nightwright_core::tamper::FileSide;

use super::changes::{begun, changes};
use super::{Repo, git};
use crate::harness::shell_path;

/// A repository with a test in it, below a folder with a program that tells when it is run.
fn repository() -> Repo {
    let repo = Repo::new();
    repo.write("tests/sum_test.py", "def test_sum():\n    assert 1 + 1 == 2\n").commit("a test");
    let evil = repo.path("evil");
    fs::write(&evil, format!("#!/bin/sh\ntouch {}\ncat\n", shell_path(&repo.path("ran")))).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    repo
}

impl Repo {
    /// Settings that make git run a program in almost any question.
    fn evil_settings(&self) -> String {
        // Git passes a value to a shell after it has removed its own quotes.
        let evil = format!("{:?}", shell_path(&self.path("evil")));
        format!(
            "[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\tsshCommand = {evil}\n\
             [filter \"evil\"]\n\tclean = {evil}\n\tprocess = {evil}\n\
             [diff]\n\texternal = {evil}\n[diff \"evil\"]\n\ttextconv = {evil}\n"
        )
    }

    fn append(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{before}{text}")).unwrap();
    }
}

type Attack = fn(&Repo);

/// The actions of an agent, malicious or innocent.
const DEEDS: [(&str, Attack); 16] = [
    ("a setting", |repo| repo.append(".git/config", &repo.evil_settings())),
    ("a setting far down", |repo| {
        repo.append(".git/config", &"# nothing to see here\n".repeat(100_000));
        repo.append(".git/config", &repo.evil_settings());
    }),
    ("an include with a comment", |repo| {
        fs::write(repo.path("more"), repo.evil_settings()).unwrap();
        let path = repo.path("more");
        repo.append(".git/config", &format!("[include]\n\tpath = {} # x\n", path.display()));
    }),
    ("a configuration that is none", |repo| repo.append(".git/config", "[[[\n")),
    ("hooks", |repo| {
        for hook in ["post-index-change", "fsmonitor-watchman", "pre-commit"] {
            fs::copy(repo.path("evil"), repo.root().join(".git/hooks").join(hook)).unwrap();
        }
    }),
    ("a folder that looks like git's", |repo| {
        git(&repo.root(), &["init", "--quiet", "--bare", "sub/bare"]);
        for name in ["HEAD", "objects", "refs", "config"] {
            fs::rename(repo.root().join("sub/bare").join(name), repo.root().join(name)).unwrap();
        }
        repo.append("config", &repo.evil_settings());
    }),
    ("another repository inside", |repo| {
        repo.write("inner/file", "x");
        git(&repo.root().join("inner"), &["init", "--quiet"]);
        git(&repo.root().join("inner"), &["add", "file"]);
        git(&repo.root().join("inner"), &["commit", "--quiet", "-m", "inner"]);
        repo.append("inner/.git/config", &repo.evil_settings());
    }),
    ("a repository that is broken, below another", |repo| {
        git(repo.folder.path(), &["init", "--quiet"]);
        let path = repo.path(".git/config");
        fs::write(path, repo.evil_settings()).unwrap();
        fs::remove_file(repo.root().join(".git/HEAD")).unwrap();
    }),
    ("no repository any more", |repo| fs::remove_dir_all(repo.root().join(".git")).unwrap()),
    ("another repository in its place", |repo| {
        fs::remove_dir_all(repo.root().join(".git")).unwrap();
        repo.git(&["init", "--quiet"]);
        repo.commit("all of it");
        repo.append(".git/config", &repo.evil_settings());
    }),
    ("files that git is not to look at", |repo| {
        repo.git(&["update-index", "--assume-unchanged", "tests/sum_test.py", "a.txt"]);
    }),
    ("files that are said not to be checked out", |repo| {
        repo.git(&["update-index", "--skip-worktree", "tests/sum_test.py", "a.txt"]);
    }),
    ("an index that is none", |repo| fs::write(repo.root().join(".git/index"), "x").unwrap()),
    ("everything is ignored", |repo| {
        repo.append(".git/info/exclude", "*\n");
        repo.append(".gitignore", "tests\n");
    }),
    ("hooks elsewhere", |repo| drop(repo.git(&["config", "core.hooksPath", ".husky"]))),
    ("a module", |repo| drop(repo.git(&["config", "submodule.x.url", "../x"]))),
];

#[test]
fn no_git_configuration_runs_a_program_or_hides_a_removed_test() {
    for (name, deed) in DEEDS {
        let repo = repository();
        let mut workspace = begun(&repo);
        repo.write(".gitattributes", "* filter=evil diff=evil\n").write("a.txt", "other\n");
        deed(&repo);
        repo.remove("tests/sum_test.py");
        let all = changes(&mut workspace);
        let paths: Vec<_> = all.iter().map(|change| change.path.as_str()).collect();
        assert!(paths.contains(&"a.txt"), "{name}: {paths:?}");
        let test = all.iter().find(|change| change.path == "tests/sum_test.py");
        assert_eq!(test.map(|test| &test.after), Some(&FileSide::Absent), "{name}: {paths:?}");
        let findings = inspection(&all, &[]).findings;
        let is_found = findings.iter().any(|finding| finding.path == "tests/sum_test.py");
        assert!(is_found, "{name}: {findings:?}");
        let first = workspace.snapshot();
        assert_eq!(first.fingerprint(), workspace.snapshot().fingerprint(), "{name}");
        assert_eq!(workspace.take_warnings(), Vec::<String>::new(), "{name}");
        assert!(!repo.path("ran").exists(), "{name}");
        // A process that resumes the run sees the same.
        let start_tree = nightwright::workspace::StartTree::of(&repo.run()).unwrap();
        let mut resumed = repo.workspace().in_run(&repo.run()).since(start_tree);
        assert_eq!(resumed.snapshot().fingerprint(), first.fingerprint(), "{name}");
        assert!(!repo.path("ran").exists(), "{name}");
    }
}

#[test]
fn git_configuration_from_before_the_run_is_not_executed_either() {
    let repo = repository();
    repo.write(".gitattributes", "* filter=evil diff=evil\n");
    git(&repo.root(), &["add", "--all"]);
    git(&repo.root(), &["commit", "--quiet", "-m", "attributes"]);
    repo.git(&["update-index", "--assume-unchanged", "a.txt"]);
    repo.git(&["update-index", "--skip-worktree", "tests/sum_test.py"]);
    repo.append(".git/config", &repo.evil_settings());
    fs::copy(repo.path("evil"), repo.root().join(".git/hooks/post-index-change")).unwrap();
    let mut workspace = begun(&repo);
    assert_eq!(changes(&mut workspace), []);
    repo.write("a.txt", "hidden\n").remove("tests/sum_test.py");
    assert_eq!(changes(&mut workspace).len(), 2);
    assert!(!repo.path("ran").exists());
    assert_eq!(workspace.take_warnings(), Vec::<String>::new());
}

#[test]
fn contents_that_are_gone_with_the_repository_are_a_finding() {
    let repo = repository();
    let mut workspace = begun(&repo);
    repo.write("a.txt", "other\n");
    let now = workspace.snapshot();
    workspace.changes(&now);
    assert_eq!(workspace.gaps(), []);
    fs::remove_dir_all(repo.root().join(".git")).unwrap();
    let later = workspace.snapshot();
    assert_eq!(later, now, "the files are the same");
    let all = workspace.changes(&later);
    assert_eq!(all.iter().map(|change| &change.before).collect::<Vec<_>>(), [&FileSide::Opaque]);
    let gaps = workspace.gaps();
    assert_eq!(gaps.len(), 1);
    assert!(gaps[0].what.contains("can no longer compare"), "{gaps:?}");
}

/// The time limit for git in tests that make it hang.
const LIMIT: Duration = Duration::from_secs(4);

/// Replaces a file with a pipe that blocks its readers, and returns its bytes.
fn make_pipe(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    bytes
}

#[test]
fn a_git_command_that_hangs_is_named_and_is_no_change_by_another_process() {
    let repo = Repo::new();
    let mut workspace = repo.workspace().in_run(&repo.run()).with_git_timeout(LIMIT);
    let start = workspace.snapshot();
    workspace.save_start_tree(&start, &repo.run()).unwrap();
    let id = repo.git(&["rev-parse", "HEAD:a.txt"]);
    repo.write("a.txt", "work").write("new.txt", "new");
    let object = repo.root().join(".git/objects").join(&id[..2]).join(&id[2..]);
    let bytes = make_pipe(&object);
    let now = workspace.snapshot();
    let changes = workspace.changes(&now);
    let known: Vec<_> = changes.iter().map(|change| (&*change.path, &change.before)).collect();
    assert_eq!(known, [("a.txt", &FileSide::Opaque), ("new.txt", &FileSide::Absent)]);
    let why = "`git cat-file` did not finish within 4s and was killed".to_owned();
    let what = NotInspected::Files(vec!["a.txt".to_owned()]);
    assert_eq!(workspace.timeouts(), [InspectionTimeout { why, what }]);
    assert_eq!(workspace.gaps(), []);

    fs::remove_file(&object).unwrap();
    fs::write(&object, bytes).unwrap();
    let now = workspace.snapshot();
    let changes = workspace.changes(&now);
    assert_eq!(changes[0].before, FileSide::Text("one\n".to_owned()));
    assert_eq!((workspace.timeouts(), workspace.gaps()), (&[][..], &[][..]));
    assert_eq!(workspace.take_warnings(), Vec::<String>::new());
}

#[test]
fn a_project_that_git_cannot_list_in_time_is_walked_and_is_not_inspected() {
    let repo = Repo::new();
    let mut workspace = repo.workspace().in_run(&repo.run()).with_git_timeout(LIMIT);
    let start = workspace.snapshot();
    workspace.save_start_tree(&start, &repo.run()).unwrap();
    let path = repo.root().join("sub/.gitignore");
    fs::write(&path, "").unwrap();
    make_pipe(&path);
    let stray = workspace.snapshot();
    let changes = workspace.changes(&stray);
    assert_eq!(changes, []);
    let why = "`git status` did not finish within 4s and was killed".to_owned();
    let timeout = InspectionTimeout { why: why.clone(), what: NotInspected::Everything };
    assert_eq!((workspace.timeouts(), workspace.gaps()), (&[timeout][..], &[][..]));
    let warnings = workspace.take_warnings();
    assert_eq!(warnings, [format!("scanning all files without git: {why}")]);

    fs::remove_file(&path).unwrap();
    let now = workspace.snapshot();
    assert_eq!(now.changed_since(&start), Some(0));
    workspace.changes(&now);
    assert_eq!((workspace.timeouts(), workspace.gaps()), (&[][..], &[][..]));
    assert_eq!(workspace.take_warnings(), Vec::<String>::new());
}
