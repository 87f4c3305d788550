//! Two commands on one task.

use std::fs::{self, File};

use super::super::stage::NIGHTWRIGHT;
use super::{Hermit, home, tree, with_task};

/// An answer of an agent that judges instructions, after it did something else.
fn judge(hermit: &Hermit, first: &str) {
    let answer = nightwright_core::validation::answer(&[], "");
    hermit.file("judge.sh", &format!("cat >asked\n{first}\ncat <<'X'\n{answer}\nX\n"));
}

#[test]
fn a_task_that_another_command_works_on_is_left_alone() {
    let hermit = with_task();
    hermit.run(&["new", "b"]).exits(0);
    hermit.run(&["archive", "b"]).exits(0);
    let lock = |name: &str| {
        let file = File::create(home(&hermit).join(format!("task-{name}.lock"))).unwrap();
        file.lock().unwrap();
        file
    };
    let locks = [lock("a"), lock("b")];
    let before = tree(&hermit.project());
    for command in [
        &["archive", "a"][..],
        &["delete", "a", "--force"],
        &["reset", "a", "--yes"],
        &["setup", "a"],
        &["edit", "a"],
        &["validate", "a", "--dry-run"],
        &["restore", "b"],
    ] {
        let name = command[1];
        let words = format!("error: the task `{name}` is in use by another nightwright command");
        hermit.run(command).exits(1).says(&[&words]);
        assert_eq!(tree(&hermit.project()), before, "{command:?}");
    }
    // Whoever only looks is not kept out, and other tasks are free.
    hermit.run(&["show", "a"]).exits(0);
    hermit.run(&["new", "c"]).exits(0);
    hermit.run(&["archive", "c"]).exits(0);
    drop(locks);
    hermit.run(&["archive", "a"]).exits(0);
    hermit.run(&["restore", "b"]).exits(0);
}

#[test]
fn a_task_is_not_put_away_while_it_is_judged() {
    let hermit = with_task();
    let state = hermit.path("state");
    let state = state.display();
    judge(&hermit, &format!("NIGHTWRIGHT_STATE_DIR={state} {NIGHTWRIGHT} archive a 2>said"));
    hermit.run(&["validate", "a", "--agent-command", "sh judge.sh"]).exits(0);
    let said = hermit.read("said");
    assert!(said.contains("the task `a` is in use by another nightwright command"), "{said}");
    assert!(hermit.read(".nightwright/tasks/a/reports/validation-report.md").contains("**pass**"));
    hermit.run(&["archive", "a"]).exits(0);
}

#[test]
fn a_task_that_was_removed_does_not_come_back_by_a_report() {
    let hermit = with_task();
    judge(&hermit, "rm -r .nightwright/tasks/a");
    hermit
        .run(&["validate", "a", "--agent-command", "sh judge.sh"])
        .exits(1)
        .says(&["can't write `", "the folder of the task is gone"]);
    assert_eq!(fs::read_dir(hermit.project().join(".nightwright/tasks")).unwrap().count(), 0);
}
