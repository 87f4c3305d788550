//! Two commands on one task.

use std::fs::{self, File};

use super::{TestEnv, home, tree, with_task};
use crate::agent_env::NIGHTWRIGHT;

/// An answer of an agent that judges instructions, after it did something else.
fn judge(env: &TestEnv, first: &str) {
    let answer = nightwright_core::validation::answer(&[], "");
    env.file("judge.sh", &format!("cat >asked\n{first}\ncat <<'X'\n{answer}\nX\n"));
}

#[test]
fn a_task_that_another_command_works_on_is_left_alone() {
    let env = with_task();
    env.run(&["new", "b"]).exits(0);
    env.run(&["task", "archive", "b"]).exits(0);
    let lock = |name: &str| {
        let file = File::create(home(&env).join(format!("task-{name}.lock"))).unwrap();
        file.lock().unwrap();
        file
    };
    let locks = [lock("a"), lock("b")];
    let before = tree(&env.project());
    for command in [
        &["task", "archive", "a"][..],
        &["task", "delete", "a", "--yes"],
        &["task", "reset", "a", "--yes"],
        &["task", "setup", "a"],
        &["task", "edit", "a"],
        &["task", "validate", "a", "--dry-run"],
        &["task", "restore", "b"],
    ] {
        let name = command[2];
        let words = format!("error: the task `{name}` is in use by another nightwright command");
        env.run(command).exits(1).says(&[&words]);
        assert_eq!(tree(&env.project()), before, "{command:?}");
    }
    // Reading is allowed, and other tasks are free.
    env.run(&["task", "show", "a"]).exits(0);
    env.run(&["new", "c"]).exits(0);
    env.run(&["task", "archive", "c"]).exits(0);
    drop(locks);
    env.run(&["task", "archive", "a"]).exits(0);
    env.run(&["task", "restore", "b"]).exits(0);
}

#[test]
fn a_task_is_not_archived_while_it_is_judged() {
    let env = with_task();
    let state = env.word("state");
    judge(&env, &format!("NIGHTWRIGHT_STATE_DIR={state} {NIGHTWRIGHT} task archive a 2>said"));
    env.run(&["task", "validate", "a", "--agent-command", "sh judge.sh"]).exits(0);
    let said = env.read("said");
    assert!(said.contains("the task `a` is in use by another nightwright command"), "{said}");
    assert!(env.read(".nightwright/tasks/a/reports/validation-report.md").contains("**pass**"));
    env.run(&["task", "archive", "a"]).exits(0);
}

#[test]
fn a_task_that_was_removed_does_not_come_back_by_a_report() {
    let env = with_task();
    judge(&env, "rm -r .nightwright/tasks/a");
    env.run(&["task", "validate", "a", "--agent-command", "sh judge.sh"])
        .exits(1)
        .says(&["cannot write `", "the task folder does not exist"]);
    assert_eq!(fs::read_dir(env.project().join(".nightwright/tasks")).unwrap().count(), 0);
}
