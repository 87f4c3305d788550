//! Links that lead out of the project are refused wherever they stand.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Hermit, tree, with_task};

/// Every command that reads or changes tasks.
const COMMANDS: [&[&str]; 8] = [
    &["new", "b"],
    &["show", "a"],
    &["reset", "a", "--yes"],
    &["archive", "a"],
    &["delete", "a", "--force"],
    &["restore", "a"],
    &["template", "save", "a"],
    &["template", "use", "t", "c"],
];

/// Moves a part of the project out of it and leaves a link in its place.
fn lead_out(hermit: &Hermit, part: &str) {
    let (inside, outside) = (hermit.project().join(part), hermit.path("outside"));
    fs::rename(&inside, &outside).unwrap();
    symlink(&outside, &inside).unwrap();
}

#[test]
fn a_linked_nightwright_folder_is_refused() {
    let hermit = with_task();
    hermit.run(&["template", "save", "a", "t"]).exits(0);
    lead_out(&hermit, ".nightwright");
    let before = tree(&hermit.path(""));
    for command in COMMANDS {
        hermit.run(command).exits(1).says(&["leads out of the project, to"]);
    }
    hermit.run(&["list"]).exits(1).says(&["leads out of the project, to"]);
    assert_eq!(tree(&hermit.path("")), before);
}

#[test]
fn a_linked_folder_of_tasks_is_refused() {
    let hermit = with_task();
    lead_out(&hermit, ".nightwright/tasks");
    let before = tree(&hermit.path(""));
    for command in &COMMANDS[..5] {
        hermit.run(command).exits(1).says(&["leads out of the project, to"]);
    }
    hermit.run(&["list"]).exits(1).says(&["is a link to"]);
    assert_eq!(tree(&hermit.path("")), before);
}

#[test]
fn a_linked_task_is_refused_and_the_others_are_listed() {
    let hermit = with_task();
    hermit.run(&["new", "b"]).exits(0);
    lead_out(&hermit, ".nightwright/tasks/a");
    let before = tree(&hermit.path(""));
    for command in &COMMANDS[1..5] {
        hermit.run(command).exits(1).says(&["is a link to"]);
    }
    hermit.run(&["new", "a"]).exits(1).says(&["is a link to"]);
    let did = hermit.run(&["list"]).exits(0);
    assert!(did.out.contains("broken") && did.out.contains("is a link to"), "{}", did.out);
    assert!(did.out.contains("\nb "), "{}", did.out);
    assert_eq!(tree(&hermit.path("")), before);

    // Even one that stays in the project: what it leads to is not the task's.
    fs::remove_file(hermit.project().join(".nightwright/tasks/a")).unwrap();
    symlink("b", hermit.project().join(".nightwright/tasks/a")).unwrap();
    hermit.run(&["archive", "a"]).exits(1).says(&["is a link to"]);
    assert!(hermit.project().join(".nightwright/tasks/b/.state.json").exists());
}

#[test]
fn a_linked_file_of_a_task_is_not_read_and_not_written() {
    let hermit = with_task();
    lead_out(&hermit, super::INSTRUCTIONS);
    hermit.run(&["show", "a"]).exits(1).says(&["leads out of the project"]);
    hermit.run(&["template", "save", "a"]).exits(1).says(&["leads out of the project"]);

    let hermit = with_task();
    lead_out(&hermit, ".nightwright/tasks/a/.state.json");
    let before = fs::read(hermit.path("outside")).unwrap();
    hermit.run(&["reset", "a", "--yes"]).exits(1).says(&["leads out of the project"]);
    assert_eq!(fs::read(hermit.path("outside")).unwrap(), before);
}

#[test]
fn a_reset_removes_links_and_never_what_they_lead_to() {
    let hermit = with_task();
    fs::create_dir(hermit.path("outside")).unwrap();
    fs::write(hermit.path("outside/precious"), "x").unwrap();
    let task = hermit.project().join(".nightwright/tasks/a");
    symlink(hermit.path("outside"), task.join("reports")).unwrap();
    symlink(hermit.path("outside/precious"), task.join("NOTES.md")).unwrap();
    hermit.run(&["reset", "a", "--yes"]).exits(0);
    assert!(fs::symlink_metadata(task.join("reports")).is_err());
    assert!(fs::symlink_metadata(task.join("NOTES.md")).is_err());
    assert_eq!(fs::read_to_string(hermit.path("outside/precious")).unwrap(), "x");
}

#[test]
fn a_linked_archive_folder_is_refused() {
    let hermit = with_task();
    hermit.run(&["new", "b"]).exits(0);
    hermit.run(&["archive", "b"]).exits(0);
    lead_out(&hermit, ".nightwright/archive");
    let parts = || [hermit.project(), hermit.path("outside")].map(|part| tree(&part));
    let before = parts();
    hermit.run(&["archive", "a"]).exits(1).says(&["is a link to"]);
    hermit.run(&["restore", "b"]).exits(1).says(&["is a link to"]);
    assert_eq!(parts(), before);
}
