//! Links that lead out of the project are refused wherever they stand.

use std::fs;
use std::os::unix::fs::symlink;

use super::{TestEnv, tree, with_task};

/// Every command that reads or changes tasks.
const COMMANDS: [&[&str]; 8] = [
    &["new", "b"],
    &["task", "show", "a"],
    &["task", "reset", "a", "--yes"],
    &["task", "archive", "a"],
    &["task", "delete", "a", "--yes"],
    &["task", "restore", "a"],
    &["task", "template", "save", "a"],
    &["task", "template", "use", "t", "c"],
];

/// Moves a part of the project out of it and leaves a link in its place.
fn lead_out(env: &TestEnv, part: &str) {
    let (inside, outside) = (env.project().join(part), env.path("outside"));
    fs::rename(&inside, &outside).unwrap();
    symlink(&outside, &inside).unwrap();
}

#[test]
fn a_linked_nightwright_folder_is_refused() {
    let env = with_task();
    env.run(&["task", "template", "save", "a", "t"]).exits(0);
    lead_out(&env, ".nightwright");
    let before = tree(&env.path(""));
    for command in COMMANDS {
        env.run(command).exits(1).says(&["outside the project"]);
    }
    env.run(&["list"]).exits(1).says(&["outside the project"]);
    assert_eq!(tree(&env.path("")), before);
}

#[test]
fn a_linked_folder_of_tasks_is_refused() {
    let env = with_task();
    lead_out(&env, ".nightwright/tasks");
    let before = tree(&env.path(""));
    for command in &COMMANDS[..5] {
        env.run(command).exits(1).says(&["outside the project"]);
    }
    env.run(&["list"]).exits(1).says(&["is a link to"]);
    assert_eq!(tree(&env.path("")), before);
}

#[test]
fn a_linked_task_is_refused_and_the_others_are_listed() {
    let env = with_task();
    env.run(&["new", "b"]).exits(0);
    lead_out(&env, ".nightwright/tasks/a");
    let before = tree(&env.path(""));
    for command in &COMMANDS[1..5] {
        env.run(command).exits(1).says(&["is a link to"]);
    }
    env.run(&["new", "a"]).exits(1).says(&["is a link to"]);
    let output = env.run(&["list"]).exits(0);
    assert!(output.out.contains("broken") && output.out.contains("is a link to"), "{}", output.out);
    assert!(output.out.contains("\nb "), "{}", output.out);
    assert_eq!(tree(&env.path("")), before);

    // Even one that stays in the project: what it leads to is not the task's.
    fs::remove_file(env.project().join(".nightwright/tasks/a")).unwrap();
    symlink("b", env.project().join(".nightwright/tasks/a")).unwrap();
    env.run(&["task", "archive", "a"]).exits(1).says(&["is a link to"]);
    assert!(env.project().join(".nightwright/tasks/b/.state.json").exists());
}

#[test]
fn a_linked_file_of_a_task_is_not_read_and_not_written() {
    let env = with_task();
    lead_out(&env, super::INSTRUCTIONS);
    env.run(&["task", "show", "a"]).exits(1).says(&["outside the project"]);
    env.run(&["task", "template", "save", "a"]).exits(1).says(&["outside the project"]);

    let env = with_task();
    lead_out(&env, ".nightwright/tasks/a/.state.json");
    let before = fs::read(env.path("outside")).unwrap();
    env.run(&["task", "reset", "a", "--yes"]).exits(1).says(&["outside the project"]);
    assert_eq!(fs::read(env.path("outside")).unwrap(), before);
}

#[test]
fn a_reset_removes_links_and_never_what_they_lead_to() {
    let env = with_task();
    fs::create_dir(env.path("outside")).unwrap();
    fs::write(env.path("outside/precious"), "x").unwrap();
    let task = env.project().join(".nightwright/tasks/a");
    symlink(env.path("outside"), task.join("reports")).unwrap();
    symlink(env.path("outside/precious"), task.join("NOTES.md")).unwrap();
    env.run(&["task", "reset", "a", "--yes"]).exits(0);
    assert!(fs::symlink_metadata(task.join("reports")).is_err());
    assert!(fs::symlink_metadata(task.join("NOTES.md")).is_err());
    assert_eq!(fs::read_to_string(env.path("outside/precious")).unwrap(), "x");
}

#[test]
fn a_linked_archive_folder_is_refused() {
    let env = with_task();
    env.run(&["new", "b"]).exits(0);
    env.run(&["task", "archive", "b"]).exits(0);
    lead_out(&env, ".nightwright/archive");
    let parts = || [env.project(), env.path("outside")].map(|part| tree(&part));
    let before = parts();
    env.run(&["task", "archive", "a"]).exits(1).says(&["is a link to"]);
    env.run(&["task", "restore", "b"]).exits(1).says(&["is a link to"]);
    assert_eq!(parts(), before);
}
