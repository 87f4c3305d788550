//! Archiving and restoring tasks.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use nightwright::store::lock::{Lock, LockOwner};
use tar::{EntryType, Header};

use super::{TestEnv, recorded, tree, with_task};
use crate::terminal::Terminal;

/// The archives of a project, by name.
fn archives(env: &TestEnv) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(env.project().join(".nightwright/archive"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

#[test]
fn a_restored_task_is_the_archived_one_byte_for_byte() {
    let env = with_task();
    let task = env.project().join(".nightwright/tasks/a");
    fs::create_dir_all(task.join("reports/deep")).unwrap();
    fs::write(task.join("reports/deep/ünï code.md"), [0, 255, 10]).unwrap();
    fs::write(task.join(OsStr::from_bytes(b"not \xff utf-8")), "x").unwrap();
    fs::write(task.join("n".repeat(200)), "a long name").unwrap();
    fs::write(task.join("empty"), "").unwrap();
    fs::write(task.join("check.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(task.join("check.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("reports/deep", task.join("link")).unwrap();
    symlink("../INSTRUCTIONS.md", task.join("reports/up")).unwrap();
    symlink("nowhere", task.join("dangling")).unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365);
    fs::File::open(task.join("empty")).unwrap().set_modified(old).unwrap();
    let before = tree(&task);

    let output = env.run(&["task", "archive", "a"]).exits(0);
    assert!(output.out.contains("nightwright task restore a"), "{}", output.out);
    assert!(!task.exists());
    env.run(&["task", "show", "a"])
        .exits(2)
        .says(&["Task not found: a", "nightwright task restore a"]);
    env.run(&["task", "restore", "a"]).exits(0);
    assert_eq!(tree(&task), before);
    assert_eq!(fs::metadata(task.join("empty")).unwrap().modified().unwrap(), old);
    assert_eq!(archives(&env).len(), 1, "the archive stays, and nothing beside it");
    env.run(&["task", "restore", "a"]).exits(2).says(&["Task already exists: a"]);
    assert_eq!(tree(&task), before);
}

#[test]
fn archives_of_one_second_stand_side_by_side_and_the_newest_is_restored() {
    let env = TestEnv::new();
    for text in ["first", "second", "third"] {
        env.run(&["new", "a"]).exits(0);
        env.file(".nightwright/tasks/a/INSTRUCTIONS.md", text);
        env.run(&["task", "archive", "a"]).exits(0);
    }
    assert_eq!(archives(&env).len(), 3);
    env.run(&["task", "restore", "a"]).exits(0);
    let text =
        || fs::read_to_string(env.project().join(".nightwright/tasks/a/INSTRUCTIONS.md")).unwrap();
    assert_eq!(text(), "third");

    // A certain one, by its file name, with or without its extension, or by its path.
    let mut by_age = archives(&env);
    by_age.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    let first = by_age[0].file_name().unwrap().to_str().unwrap().to_owned();
    for reference in [
        first.as_str(),
        first.strip_suffix(".tar.gz").unwrap(),
        &format!(".nightwright/archive/{first}"),
        by_age[0].to_str().unwrap(),
    ] {
        env.run(&["task", "delete", "a", "--yes"]).exits(0);
        env.run(&["task", "restore", reference]).exits(0);
        assert_eq!(text(), "first", "{reference}");
    }
}

#[test]
fn deletion_needs_confirmation_and_archives_first() {
    let env = with_task();
    let before = tree(&env.project());
    env.run(&["task", "delete", "a"]).exits(2).says(&["needs confirmation", "--yes"]);
    assert_eq!(tree(&env.project()), before);
    env.run(&["task", "delete", "a", "--yes"]).exits(0);
    assert!(!env.project().join(".nightwright/tasks/a").exists());
    env.run(&["task", "restore", "a"]).exits(0);
    assert!(env.project().join(super::INSTRUCTIONS).exists());
}

#[test]
fn on_a_terminal_deletion_is_a_question() {
    let env = with_task();
    let delete = env.line("task delete a");
    let terminal = Terminal::run(&env, &format!("{delete}; echo first=$?; {delete}"));
    terminal.shows("Delete the task `a`? nightwright archives it first. [y/N]");
    terminal.types(&["Enter"]);
    terminal.shows("first=1");
    assert!(env.project().join(super::INSTRUCTIONS).exists());
    terminal.shows_when(|screen| screen.matches("[y/N]").count() == 2);
    terminal.types(&["y", "Enter"]);
    terminal.shows("exit=0");
    assert!(!env.project().join(".nightwright/tasks/a").exists());
}

#[test]
fn a_task_that_exists_is_replaced_only_with_yes_and_is_archived_first() {
    let env = with_task();
    env.run(&["task", "archive", "a"]).exits(0);
    let old = archives(&env).remove(0);
    env.run(&["task", "restore", "a"]).exits(0);
    env.file(super::INSTRUCTIONS, "newer");
    let old = old.file_name().unwrap().to_str().unwrap().to_owned();
    env.run(&["task", "restore", &old]).exits(2).says(&["Task already exists: a"]);
    assert_eq!(env.read(super::INSTRUCTIONS), "newer");
    let replaced = env.run(&["task", "restore", &old, "--yes"]).exits(0);
    replaced.says(&["archived the existing task as `.nightwright/archive/a-"]);
    assert_ne!(env.read(super::INSTRUCTIONS), "newer");
    // The replaced one is the newest archive now.
    env.run(&["task", "restore", "a", "--yes"]).exits(0);
    assert_eq!(env.read(super::INSTRUCTIONS), "newer");
}

#[test]
fn a_task_is_kept_when_its_replacement_cannot_be_restored() {
    let env = with_task();
    fs::create_dir_all(env.project().join(".nightwright/archive")).unwrap();
    env.file(".nightwright/archive/a-20261115T233412Z.tar.gz", "no archive");
    let before = env.read(super::INSTRUCTIONS);
    let file = "a-20261115T233412Z.tar.gz";
    env.run(&["task", "restore", file, "--yes"]).exits(1).says(&["cannot restore the archive"]);
    assert_eq!(env.read(super::INSTRUCTIONS), before);
}

#[test]
fn files_that_could_not_be_restored_are_not_archived() {
    let env = with_task();
    let task = env.project().join(".nightwright/tasks/a");
    symlink("../../../secret", task.join("out")).unwrap();
    let before = tree(&task);
    for command in [vec!["task", "archive", "a"], vec!["task", "delete", "a", "--yes"]] {
        env.run(&command).exits(1).says(&[
            "a/out`",
            "leads out of the task",
            "the task is unchanged",
        ]);
        assert_eq!(tree(&task), before);
        assert_eq!(archives(&env), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_task_that_a_run_works_on_is_left_alone() {
    let env = with_task();
    let run = recorded(&env, "a", 1, None);
    let owner = LockOwner::current(run.id().clone(), Timestamp::now());
    let lock = Lock::take(&run.lock(), &owner).unwrap();
    let before = tree(&env.project());
    for command in [
        vec!["task", "reset", "a", "--yes"],
        vec!["task", "archive", "a"],
        vec!["task", "delete", "a", "--yes"],
    ] {
        let stop = format!("nightwright stop {}", run.id());
        env.run(&command).exits(1).says(&["the task `a` is in use", &stop]);
        assert_eq!(tree(&env.project()), before);
    }
    // One that has not said yet what it is for may be for this task.
    fs::write(run.journal(), "").unwrap();
    env.run(&["task", "archive", "a"]).exits(1).says(&["may work on it"]);
    drop(lock);
    env.run(&["task", "archive", "a"]).exits(0);
}

#[test]
fn there_is_no_archive_of_what_was_never_archived() {
    let env = with_task();
    env.run(&["task", "restore", "a"]).exits(2).says(&["there is no archive of `a`"]);
    env.run(&["task", "archive", "a"]).exits(0);
    env.run(&["task", "restore", "b"]).exits(2).says(&["hint: did you mean `a`? choose one of a"]);
    env.run(&["task", "restore", "../../x.tar.gz"]).exits(2).says(&["there is no archive"]);
    env.run(&["task", "restore", ""]).exits(2).says(&["there is no archive"]);
}

/// An entry of an archive, named as no honest program would name it.
struct HostileEntry {
    name: String,
    kind: EntryType,
    target: &'static str,
}

fn entry(name: &str, kind: EntryType, target: &'static str) -> HostileEntry {
    HostileEntry { name: name.to_owned(), kind, target }
}

fn file(name: &str) -> HostileEntry {
    entry(name, EntryType::Regular, "")
}

fn link(name: &str, target: &'static str) -> HostileEntry {
    entry(name, EntryType::Symlink, target)
}

fn write(path: &std::path::Path, entries: &[HostileEntry]) {
    let mut archive =
        tar::Builder::new(GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast()));
    for HostileEntry { name, kind, target } in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_mtime(0);
        let text: &[u8] = if *kind == EntryType::Regular { b"evil" } else { b"" };
        header.set_size(text.len() as u64);
        header.set_cksum();
        archive.append(&header, text).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap();
}

#[test]
fn a_malicious_archive_writes_nothing() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright/archive")).unwrap();
    fs::create_dir(env.path("outside")).unwrap();
    fs::create_dir(env.project().join(".nightwright/tasks")).unwrap();
    let evil = env.path("evil");
    let cases: Vec<(&str, Vec<HostileEntry>)> = vec![
        ("leads out of the task", vec![file("m/ok"), file("m/../../evil")]),
        ("leads out of the task", vec![file("../evil")]),
        ("is an absolute path", vec![file(evil.to_str().unwrap())]),
        ("a link that leads out", vec![link("m/x", "../../../../outside"), file("m/x/evil")]),
        ("a link that leads out", vec![link("m/x", "/")]),
        ("which is not a folder", vec![link("m/x", "y"), file("m/x/evil")]),
        ("which is not a folder", vec![file("m/x"), file("m/x/evil")]),
        ("duplicate entry", vec![link("m/x", "y"), file("m/x")]),
        ("duplicate entry", vec![file("m/x/y"), link("m/x", "z")]),
        ("the entry of the task is not a folder", vec![link("m", "z")]),
        ("the entry of the task is not a folder", vec![file("m")]),
        ("a task's name", vec![file(".git/hooks/pre-commit")]),
        ("a task's name", vec![file("./m/x")]),
        ("more than one folder", vec![file("m/x"), file("n/x")]),
        ("neither a file", vec![entry("m/x", EntryType::Link, "/etc/passwd")]),
        ("neither a file", vec![entry("m/x", EntryType::Fifo, "")]),
        ("neither a file", vec![entry("m/x", EntryType::Char, "")]),
        ("it is empty", vec![]),
    ];
    let path = env.project().join(".nightwright/archive/m-20261116T070000Z.tar.gz");
    for (why, entries) in cases {
        write(&path, &entries);
        let before = tree(&env.path(""));
        env.run(&["task", "restore", "m"]).exits(1).says(&[
            "cannot restore the archive",
            why,
            "nightwright wrote nothing",
        ]);
        assert_eq!(tree(&env.path("")), before, "{why}");
    }
    // The same without the bad entries is fine: it is they that are refused.
    write(&path, &[file("m/ok"), link("m/x", "ok")]);
    env.run(&["task", "restore", "m"]).exits(0);
}

#[test]
fn a_damaged_archive_restores_nothing() {
    let env = with_task();
    env.file(".nightwright/tasks/a/NOTES.md", &"some words to fill it\n".repeat(5000));
    env.run(&["task", "archive", "a"]).exits(0);
    let path = archives(&env).remove(0);
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for damaged in
        [&whole[..whole.len() / 2], &whole[..whole.len() - 4], &[][..], b"no archive", &flipped]
    {
        fs::File::create(&path).unwrap().write_all(damaged).unwrap();
        env.run(&["task", "restore", "a"])
            .exits(1)
            .says(&["cannot restore the archive", "nightwright wrote nothing"]);
        assert_eq!(tree(&env.project().join(".nightwright/tasks")).len(), 1);
    }
    fs::write(&path, whole).unwrap();
    env.run(&["task", "restore", "a"]).exits(0);
}
