//! Errors about tasks and templates.

use super::super::harness::{Did, Hermit};
use super::super::setup::with_agent;
use super::super::terminal::Terminal;

/// What stands behind the program's name, for a terminal in the project.
fn arguments(line: &str) -> String {
    line.split_once("nightwright ").unwrap().1.to_owned()
}

/// Pastes a command that talks with the agent, in a terminal.
fn talk(hermit: &Hermit, line: &str) {
    let terminal = Terminal::run(hermit, &hermit.line(&arguments(line)));
    terminal.shows("exit=0");
}

#[test]
fn a_task_that_is_not_there_can_be_made_restored_or_replaced_by_a_goal() {
    let hermit = Hermit::new();
    let did = hermit.elsewhere(&["show", "t"]).exits(2);
    let make = "there are no tasks yet; make it: nightwright new {name}";
    hermit.paste_elsewhere(&hermit.command_of(&did, make)).exits(0);
    assert!(hermit.project().join(".nightwright/tasks/t").is_dir());

    let did = hermit.elsewhere(&["run", "done", "--dry-run"]).exits(2);
    let goal = "; for a goal of one word: nightwright {command} -p {goal}";
    let line = hermit.command_of(&did, goal) + " --dry-run";
    hermit.paste_elsewhere(&line).exits(0);

    hermit.elsewhere(&["archive", "t"]).exits(0);
    let did = hermit.elsewhere(&["show", "t"]).exits(2);
    let restore = "it was archived; bring it back: nightwright restore {name}";
    hermit.paste_elsewhere(&hermit.command_of(&did, restore)).exits(0);
    hermit.elsewhere(&["show", "t"]).exits(0);
}

#[test]
fn all_tasks_can_be_listed_when_there_are_too_many_for_a_hint() {
    let hermit = Hermit::new();
    for number in 0..30 {
        hermit.task(&format!("task-{number}"));
    }
    let did = hermit.elsewhere(&["show", "other"]).exits(2);
    let line = hermit.command_of(&did, " and {more} more (`nightwright list`)");
    let listed = hermit.paste_elsewhere(&line).exits(0).out;
    assert!(listed.contains("task-0") && listed.contains("task-29"), "{listed}");
}

#[test]
fn a_task_that_is_there_can_be_shown_reset_and_archived() {
    let hermit = Hermit::new();
    hermit.ready_task("t");
    let did = hermit.elsewhere(&["new", "t"]).exits(2);
    let lines = hermit.printed(
        &did,
        "look at it with `nightwright show {name}`, begin it anew with `nightwright reset {name}`, or put \
         it away with `nightwright archive {name}`",
    );
    for line in &lines {
        hermit.paste_elsewhere(line).exits(0);
    }
    assert!(!hermit.project().join(".nightwright/tasks/t").exists());
}

#[test]
fn a_reset_that_removes_something_is_confirmed_by_the_hint() {
    let hermit = Hermit::new();
    hermit.ready_task("t").file(".nightwright/tasks/t/TODO.md", "- [x] one\n");
    hermit.file(".nightwright/tasks/t/feedback.md", "no\n");
    let hint = "if that is meant: nightwright reset {name}{flag} --yes";
    for flags in [&["reset", "t", "--todo"][..], &["reset", "t"]] {
        hermit.file(".nightwright/tasks/t/feedback.md", "no\n");
        let did = hermit.elsewhere(flags).exits(2);
        hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0);
        assert_eq!(hermit.read(".nightwright/tasks/t/feedback.md"), "");
    }
    assert_eq!(hermit.read(".nightwright/tasks/t/TODO.md"), "- [ ] one\n");
}

#[test]
fn a_deleted_task_is_restored_by_the_hint() {
    let hermit = Hermit::new();
    hermit.ready_task("t");
    let did = hermit.elsewhere(&["delete", "t"]).exits(2);
    let hint =
        "the task is archived before it is removed; `nightwright restore {name}` brings it back";
    let line = hermit.command_of(&did, hint);
    hermit.elsewhere(&["delete", "t", "--force"]).exits(0);
    hermit.paste_elsewhere(&line).exits(0);
    assert_eq!(hermit.read(".nightwright/tasks/t/INSTRUCTIONS.md"), "Write done.txt.\n");
}

#[test]
fn a_task_in_use_is_free_once_its_run_is_stopped() {
    let hermit = Hermit::new();
    hermit.ready_task("t");
    let child = hermit.live(&["t"]);
    let hint = "wait for it to end, or stop it: nightwright stop {run}";
    let line = hermit.command_of(&hermit.elsewhere(&["archive", "t"]).exits(1), hint);
    // Another run and `doctor` say the same.
    for other in [&["run", "-p", "x", "-m", "1", "--dry-run"][..], &["doctor"]] {
        assert_eq!(hermit.command_of(&hermit.elsewhere(other).exits(1), hint), line);
    }
    hermit.paste_elsewhere(&line).exits(0);
    hermit.was_stopped(child);
    hermit.elsewhere(&["archive", "t"]).exits(0);
}

#[test]
fn instructions_that_are_missing_are_set_up_by_the_hint() {
    const WRITES: &str = "echo 'Write done.txt.' > $task/INSTRUCTIONS.md";
    for (arguments, hint) in [
        (
            &["run", "t", "--dry-run"][..],
            "Instructions not found. Run setup first: nightwright setup {task}",
        ),
        (&["edit", "t"], "Instructions not found. Run setup first: nightwright setup {name}"),
        (&["template", "save", "t"], "write them first: nightwright setup {name}"),
    ] {
        let hermit = with_agent(WRITES);
        let did = hermit.elsewhere(arguments).exits(2);
        talk(&hermit, &hermit.command_of(&did, hint));
        assert_eq!(hermit.read(".nightwright/tasks/t/INSTRUCTIONS.md"), "Write done.txt.\n");
    }
}

#[test]
fn instructions_that_are_there_are_edited_by_the_hint() {
    let hermit = with_agent("echo more >> $task/INSTRUCTIONS.md");
    hermit.ready_task("t");
    let did = hermit.elsewhere(&["setup", "t"]).exits(2);
    talk(&hermit, &hermit.command_of(&did, "change them: nightwright edit {name}"));
    assert_eq!(hermit.read(".nightwright/tasks/t/INSTRUCTIONS.md"), "Write done.txt.\nmore\n");
}

#[test]
fn a_conversation_that_changed_nothing_is_repeated_by_the_hint() {
    let hermit = with_agent("true");
    hermit.ready_task("t");
    let terminal = Terminal::run(&hermit, &hermit.line("edit t"));
    let did = Did { code: Some(1), out: String::new(), err: terminal.shows("exit=1") };
    let line = hermit.command_of(&did, "try again: nightwright {command} {name}");
    // A terminal is for one command: the second time is in a project of its own.
    let hermit = with_agent("echo more >> $task/INSTRUCTIONS.md");
    hermit.ready_task("t");
    talk(&hermit, &line);
    assert_eq!(hermit.read(".nightwright/tasks/t/INSTRUCTIONS.md"), "Write done.txt.\nmore\n");
}

#[test]
fn instructions_written_by_hand_are_judged_by_the_hint() {
    let hermit = Hermit::new();
    hermit.task("t");
    let did = hermit.elsewhere(&["setup", "t"]).exits(2);
    let hint = "{verb} the instructions yourself, in `{}`; then: nightwright validate {name}";
    let line = hermit.command_of(&did, hint);
    hermit.ready_task("t");
    hermit.paste_elsewhere(&(line + " --dry-run")).exits(0);
}

#[test]
fn a_template_is_saved_or_removed_by_the_hint() {
    let hermit = Hermit::new();
    hermit.ready_task("t");
    let did = hermit.elsewhere(&["new", "u", "--from", "none"]).exits(2);
    let save = "there are none yet; keep a task's instructions: nightwright template save TASK";
    let line = hermit.command_of(&did, save).replace("TASK", "t");
    hermit.paste_elsewhere(&line).exits(0);
    let did = hermit.elsewhere(&["template", "save", "t"]).exits(2);
    let hint = "give another name, or remove it first: nightwright template delete {name} --force";
    hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0);
    hermit.elsewhere(&["template", "save", "t"]).exits(0);
}

#[test]
fn a_mode_without_its_task_or_plan_says_how_to_get_one() {
    let hermit = Hermit::new();
    let make = "make one: nightwright new NAME --mode {name}";
    let did = hermit.elsewhere(&["run", "-p", "x", "--mode", "loop", "--dry-run"]).exits(2);
    let line = hermit.command_of(&did, make).replace("NAME", "t");
    hermit.paste_elsewhere(&line).exits(0);
    assert!(hermit.project().join(".nightwright/tasks/t").is_dir());

    let did = hermit.elsewhere(&["build", "--dry-run"]).exits(1);
    let line = hermit.command_of(&did, "No plan found. Run: nightwright plan");
    hermit.paste_elsewhere(&(line + " -m 1 --dry-run")).exits(0).says(&["(plan)"]);
}

#[test]
fn a_command_line_without_anything_to_do_says_what_to_type() {
    let hermit = Hermit::new();
    let none = "name a task, or give a goal: nightwright run \"make the tests pass\" -m 10";
    let line = hermit.command_of(&hermit.elsewhere(&["run"]).exits(2), none);
    hermit.paste_elsewhere(&(line + " --dry-run")).exits(0);

    hermit.ready_task("t");
    let some = "name a task ({}), or give a goal: nightwright run \"make the tests pass\" -m 10";
    let line = hermit.command_of(&hermit.elsewhere(&["run"]).exits(2), some);
    hermit.paste_elsewhere(&(line + " --dry-run")).exits(0);

    let did = hermit.elsewhere(&["run", "-r", "t"]).exits(2);
    let line = hermit.command_of(&did, "put the task first: nightwright run {name} -r");
    hermit.paste_elsewhere(&(line + " --dry-run")).exits(0).says(&["t (loop)"]);

    let did = hermit.elsewhere(&["build", "t", "--mode", "iterative"]).exits(2);
    let hint = "name the mode of `run`: nightwright run --mode {mode}{work}";
    let line = hermit.command_of(&did, hint);
    hermit.paste_elsewhere(&(line + " --dry-run")).exits(0).says(&["t (iterative)"]);
}
