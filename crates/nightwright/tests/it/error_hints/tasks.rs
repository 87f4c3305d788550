//! Errors about tasks and templates.

use crate::harness::{Output, TestEnv};
use crate::setup::with_agent;
use crate::terminal::Terminal;

/// The arguments after the program's name, for a terminal in the project.
fn arguments(line: &str) -> String {
    line.split_once("nightwright ").unwrap().1.to_owned()
}

/// Pastes a command that talks with the agent, in a terminal.
fn converse(env: &TestEnv, line: &str) {
    let terminal = Terminal::run(env, &env.line(&arguments(line)));
    terminal.shows("exit=0");
}

#[test]
fn a_task_that_is_not_there_can_be_made_restored_or_replaced_by_a_goal() {
    let env = TestEnv::new();
    let output = env.elsewhere(&["task", "show", "t"]).exits(2);
    let make = "run `nightwright new {name}` to create it";
    env.paste_elsewhere(&env.command_of(&output, make)).exits(0);
    assert!(env.project().join(".nightwright/tasks/t").is_dir());

    let output = env.elsewhere(&["run", "done", "--dry-run"]).exits(2);
    let goal = "; for a goal of one word, run `nightwright {command} -p {goal}`";
    let line = env.command_of(&output, goal) + " --dry-run";
    env.paste_elsewhere(&line).exits(0);

    env.elsewhere(&["task", "archive", "t"]).exits(0);
    let output = env.elsewhere(&["task", "show", "t"]).exits(2);
    let restore = "run `nightwright task restore {name}` to restore it from the archive";
    env.paste_elsewhere(&env.command_of(&output, restore)).exits(0);
    env.elsewhere(&["task", "show", "t"]).exits(0);
}

#[test]
fn all_tasks_can_be_listed_when_there_are_too_many_for_a_hint() {
    let env = TestEnv::new();
    for number in 0..30 {
        env.task(&format!("task-{number}"));
    }
    let output = env.elsewhere(&["task", "show", "other"]).exits(2);
    let line = env.command_of(&output, " and {more} more (`nightwright list`)");
    let listed = env.paste_elsewhere(&line).exits(0).out;
    assert!(listed.contains("task-0") && listed.contains("task-29"), "{listed}");
}

#[test]
fn a_task_that_is_there_can_be_shown_reset_and_archived() {
    let env = TestEnv::new();
    env.ready_task("t");
    let output = env.elsewhere(&["new", "t"]).exits(2);
    let lines = env.printed(
        &output,
        "show it with `nightwright task show {name}`, reset it with `nightwright task reset {name}`, or \
         archive it with `nightwright task archive {name}`",
    );
    for line in &lines {
        env.paste_elsewhere(line).exits(0);
    }
    assert!(!env.project().join(".nightwright/tasks/t").exists());
}

#[test]
fn a_reset_that_removes_something_is_confirmed_by_the_hint() {
    let env = TestEnv::new();
    env.ready_task("t").file(".nightwright/tasks/t/TODO.md", "- [x] one\n");
    env.file(".nightwright/tasks/t/feedback.md", "no\n");
    let hint = "run `nightwright task reset {name}{flag} --yes` to confirm";
    for flags in [&["task", "reset", "t", "--todo"][..], &["task", "reset", "t"]] {
        env.file(".nightwright/tasks/t/feedback.md", "no\n");
        let output = env.elsewhere(flags).exits(2);
        env.paste_elsewhere(&env.command_of(&output, hint)).exits(0);
        assert_eq!(env.read(".nightwright/tasks/t/feedback.md"), "");
    }
    assert_eq!(env.read(".nightwright/tasks/t/TODO.md"), "- [ ] one\n");
}

#[test]
fn a_deletion_is_confirmed_by_the_hint_and_undone_by_the_message() {
    let env = TestEnv::new();
    env.ready_task("t");
    let output = env.elsewhere(&["task", "delete", "t"]).exits(2);
    let line = env.command_of(&output, "run `nightwright task delete {name} --yes` to confirm");
    let deleted = env.paste_elsewhere(&line).exits(0).out;
    assert!(!env.project().join(".nightwright/tasks/t").exists());
    let restore = deleted.split("to restore it, run `").nth(1).unwrap().trim();
    env.paste_elsewhere(restore.trim_end_matches('`')).exits(0);
    assert_eq!(env.read(".nightwright/tasks/t/INSTRUCTIONS.md"), "Write done.txt.\n");
}

#[test]
fn a_task_in_use_is_free_once_its_run_is_stopped() {
    let env = TestEnv::new();
    env.ready_task("t");
    let child = env.live(&["t"]);
    let hint = "wait for it to end, or run `nightwright stop {run}`";
    let line = env.command_of(&env.elsewhere(&["task", "archive", "t"]).exits(1), hint);
    // Another run and `doctor` say the same.
    for other in [&["run", "-p", "x", "-m", "1", "--dry-run"][..], &["doctor"]] {
        assert_eq!(env.command_of(&env.elsewhere(other).exits(1), hint), line);
    }
    env.paste_elsewhere(&line).exits(0);
    env.was_stopped(child);
    env.elsewhere(&["task", "archive", "t"]).exits(0);
}

#[test]
fn instructions_that_are_missing_are_set_up_by_the_hint() {
    const WRITES: &str = "echo 'Write done.txt.' > $task/INSTRUCTIONS.md";
    for (arguments, hint) in [
        (
            &["run", "t", "--dry-run"][..],
            "Instructions not found. Run: nightwright task setup {task}",
        ),
        (&["task", "edit", "t"], "Instructions not found. Run: nightwright task setup {name}"),
        (&["task", "template", "save", "t"], "run `nightwright task setup {name}` first"),
    ] {
        let env = with_agent(WRITES);
        let output = env.elsewhere(arguments).exits(2);
        converse(&env, &env.command_of(&output, hint));
        assert_eq!(env.read(".nightwright/tasks/t/INSTRUCTIONS.md"), "Write done.txt.\n");
    }
}

#[test]
fn instructions_that_are_there_are_edited_by_the_hint() {
    let env = with_agent("echo more >> $task/INSTRUCTIONS.md");
    env.ready_task("t");
    let output = env.elsewhere(&["task", "setup", "t"]).exits(2);
    converse(&env, &env.command_of(&output, "run `nightwright task edit {name}` to change them"));
    assert_eq!(env.read(".nightwright/tasks/t/INSTRUCTIONS.md"), "Write done.txt.\nmore\n");
}

#[test]
fn a_conversation_that_changed_nothing_is_repeated_by_the_hint() {
    for (command, hint, before) in [
        ("task setup t", "run `nightwright task setup {name}` to retry", ""),
        ("task edit t", "run `nightwright task edit {name}` to retry", "Write done.txt.\n"),
    ] {
        let prepare = |env: &TestEnv| {
            if !before.is_empty() {
                env.ready_task("t");
            }
        };
        let env = with_agent("true");
        prepare(&env);
        let terminal = Terminal::run(&env, &env.line(command));
        let output = Output { code: Some(1), out: String::new(), err: terminal.shows("exit=1") };
        let line = env.command_of(&output, hint);
        // A terminal is for one command: the second time is in another project.
        let env = with_agent("echo more >> $task/INSTRUCTIONS.md");
        prepare(&env);
        converse(&env, &line);
        assert_eq!(env.read(".nightwright/tasks/t/INSTRUCTIONS.md"), format!("{before}more\n"));
    }
}

#[test]
fn instructions_written_by_hand_are_judged_by_the_hint() {
    let env = TestEnv::new();
    env.task("t");
    let output = env.elsewhere(&["task", "setup", "t"]).exits(2);
    let hint =
        "{verb} the instructions yourself, in `{}`; then run `nightwright task validate {name}`";
    let line = env.command_of(&output, hint);
    env.ready_task("t");
    env.paste_elsewhere(&(line + " --dry-run")).exits(0);
}

#[test]
fn a_template_is_saved_or_replaced_by_the_hint() {
    let env = TestEnv::new();
    env.ready_task("t");
    let output = env.elsewhere(&["new", "u", "--from", "none"]).exits(2);
    let save = "run `nightwright task template save TASK` to save the instructions of a task";
    let line = env.command_of(&output, save).replace("TASK", "t");
    env.paste_elsewhere(&line).exits(0);
    let output = env.elsewhere(&["task", "template", "save", "t"]).exits(2);
    output.says(&["hint: choose another name, or replace it with --yes"]);
    env.elsewhere(&["task", "template", "save", "t", "--yes"]).exits(0);
}

#[test]
fn a_mode_without_its_task_or_plan_says_how_to_get_one() {
    let env = TestEnv::new();
    let make = "run `nightwright new NAME --mode {name}` to create a task";
    let output = env.elsewhere(&["run", "-p", "x", "--mode", "loop", "--dry-run"]).exits(2);
    let line = env.command_of(&output, make).replace("NAME", "t");
    env.paste_elsewhere(&line).exits(0);
    assert!(env.project().join(".nightwright/tasks/t").is_dir());

    let output = env.elsewhere(&["build", "--dry-run"]).exits(1);
    let line = env.command_of(&output, "No plan found. Run: nightwright plan");
    env.paste_elsewhere(&(line + " -m 1 --dry-run")).exits(0).says(&["(plan)"]);
}

#[test]
fn a_command_line_without_anything_to_do_says_what_to_type() {
    let env = TestEnv::new();
    let none = "name a task, or run `nightwright run \"make the tests pass\" -m 10` with your goal";
    let line = env.command_of(&env.elsewhere(&["run"]).exits(2), none);
    env.paste_elsewhere(&(line + " --dry-run")).exits(0);

    env.ready_task("t");
    let some =
        "name a task ({}), or run `nightwright run \"make the tests pass\" -m 10` with your goal";
    let line = env.command_of(&env.elsewhere(&["run"]).exits(2), some);
    env.paste_elsewhere(&(line + " --dry-run")).exits(0);

    let output = env.elsewhere(&["run", "-r", "t"]).exits(2);
    let line = env.command_of(&output, "put the task first: run `nightwright run {name} -r`");
    env.paste_elsewhere(&(line + " --dry-run")).exits(0).says(&["t (loop)"]);

    let output = env.elsewhere(&["build", "t", "--mode", "iterative"]).exits(2);
    let hint = "run `nightwright run --mode {mode}{work}`";
    let line = env.command_of(&output, hint);
    env.paste_elsewhere(&(line + " --dry-run")).exits(0).says(&["t (iterative)"]);
}
