//! The output of `list` and `show`.

use std::fs;

use jiff::Timestamp;
use nightwright::store::lock::{Lock, LockOwner};
use nightwright_core::outcome::{Outcome, Proof};
use serde_json::Value;

use super::{TestEnv, recorded, steady, with_task};
use crate::harness::finish;

#[test]
fn a_list_of_tasks_shows_how_each_stands() {
    let env = TestEnv::new();
    env.run(&["list"]).exits(0).says(&["no tasks in `", "nightwright new NAME"]);
    assert_eq!(env.run(&["list", "--json"]).exits(0).out, "[]\n");

    env.run(&["new", "docs"]).exits(0);
    env.run(&["new", "migrate-api", "--mode", "loop"]).exits(0);
    env.run(&["new", "stuck", "--mode", "iterative"]).exits(0);
    env.run(&["new", "torn"]).exits(0);
    env.run(&["new", "unfinished"]).exits(0);
    env.file(".nightwright/tasks/torn/task.toml", "mode = \"loop\"\nmode = [\n");
    fs::create_dir(env.project().join(".nightwright/tasks/no name")).unwrap();
    recorded(&env, "migrate-api", 12, Some(Outcome::completed(Proof::Checks)));
    let needs = "a password\u{1b}[31m for the\nstaging database".to_owned();
    recorded(&env, "stuck", 2, Some(Outcome::Blocked { needs }));
    env.file(".nightwright/tasks/docs/TODO.md", "- [x] one\n- [ ] two\n- [ ] three\n");
    let unfinished = recorded(&env, "unfinished", 1, None);
    let output = env.run(&["list"]).exits(0);
    insta::assert_snapshot!(steady(&env, &[unfinished.id()], &output.out), @r"
    NAME         MODE       STATE        ITERATIONS  PROGRESS  COST   LAST RUN
    docs         loop       new          0           1/3       -
    migrate-api  loop       completed    12          35/60     $0.00  2026-11-16T07:13:00Z Task completed successfully after 12 iterations
    no name      -          broken       0           -         -      invalid task name `no name`: ` ` cannot be part of a name
    stuck        iterative  blocked      2           35/60     $0.00  2026-11-16T07:03:00Z Blocked: a password for the staging database
    torn         -          broken       0           -         -      `.nightwright/tasks/torn/task.toml`, line 2: unclosed array, expected `]`
    unfinished   loop       interrupted  1           35/60     $0.00  2026-11-16T07:01:00Z [run]
    ");
    let rows: Vec<Value> =
        serde_json::from_str(&env.run(&["list", "--json"]).exits(0).out).unwrap();
    let states: Vec<_> = rows.iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["new", "completed", "broken", "blocked", "broken", "interrupted"]);
    assert_eq!(rows[0]["progress"], serde_json::json!({ "completed": 1, "total": 3 }));
    assert_eq!(rows[1]["progress"], serde_json::json!({ "completed": 35, "total": 60 }));
}

#[test]
fn the_mode_is_the_one_that_a_run_would_have() {
    let env = with_task();
    let mode = |env: &TestEnv| -> Value {
        let all: Value = serde_json::from_str(&env.run(&["list", "--json"]).exits(0).out).unwrap();
        all[0]["mode"].clone()
    };
    assert_eq!(mode(&env), "loop");
    env.file(".nightwright/config.toml", "mode = \"iterative\"\n");
    assert_eq!(mode(&env), "iterative");
    let output = env.run(&["task", "show", "a"]).exits(0);
    assert!(output.out.contains("mode          iterative\n"), "{}", output.out);
    // A configuration that cannot be read costs no more than this.
    env.file(".nightwright/config.toml", "mode = [\n");
    assert_eq!(mode(&env), Value::Null);
    let output = env.run(&["list"]).exits(0);
    assert!(output.out.contains("a     -     ready"), "{}", output.out);
    let output = env.run(&["task", "show", "a"]).exits(0);
    assert!(output.out.contains("state         ready\n"), "{}", output.out);
    env.file(".nightwright/tasks/a/task.toml", "mode = \"plan\"\n");
    assert_eq!(mode(&env), "plan");
}

#[test]
fn the_boxes_of_the_list_are_counted_and_the_next_one_is_named() {
    let env = with_task();
    let list = |text: &str| {
        env.file(".nightwright/tasks/a/TODO.md", text);
        let out = env.run(&["task", "show", "a"]).exits(0).out;
        out.lines().find(|line| line.starts_with("checklist ")).map(str::to_owned)
    };
    let text = "- [x] one\n- [ ] two\u{1b}[31m\n- [ ] three\n";
    let line = list(text).unwrap();
    assert!(line.starts_with("checklist     1 of 3 checkboxes checked; next: two"), "{line:?}");
    assert!(!line.contains('\u{1b}'), "{line:?}");
    assert_eq!(list("- [x] one\n").unwrap(), "checklist     1 of 1 checkbox checked");
    assert_eq!(list("only words\n"), None);
}

#[test]
fn a_secret_in_the_list_is_masked_before_it_is_cut() {
    const SECRET: &str = "hunter2-of-the-environment";
    let env = with_task();
    // The second ends behind what is shown.
    for before in ["use ".to_owned(), "x".repeat(90)] {
        env.file(".nightwright/tasks/a/TODO.md", &format!("- [ ] {before}{SECRET} here\n"));
        for words in [&["task", "show", "a"][..], &["task", "show", "a", "--json"]] {
            let mut command = env.command(words);
            let shown = finish(command.env("DB_PASSWORD", SECRET).spawn().unwrap()).exits(0).out;
            assert!(shown.contains(&format!("{before}****")), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}

#[test]
fn a_new_task_is_shown_with_what_it_lacks() {
    let env = TestEnv::new();
    env.run(&["new", "a"]).exits(0);
    let output = env.run(&["task", "show", "a"]).exits(0);
    insta::assert_snapshot!(steady(&env, &[], &output.out), @r"
    task          a
    state         new
    mode          loop
    iterations    0 (setup 0, execution 0)
    folder        [hermit]/project/.nightwright/tasks/a
    instructions  none yet

    next: write `.nightwright/tasks/a/INSTRUCTIONS.md` yourself, or with the agent: nightwright task setup a
    ");
    env.file(super::INSTRUCTIONS, " \n");
    let output = env.run(&["task", "show", "a"]).exits(0);
    assert!(
        output.out.contains("state         new"),
        "empty instructions are none: {}",
        output.out
    );
}

#[test]
fn a_task_that_ran_is_shown_with_its_last_run() {
    let env = with_task();
    env.file(".nightwright/tasks/a/TODO.md", "- [ ] one\n");
    let run = recorded(&env, "a", 3, Some(Outcome::MaxIterations { limit: 3 }));
    let output = env.run(&["task", "show", "a"]).exits(0);
    insta::assert_snapshot!(steady(&env, &[run.id()], &output.out), @r"
    task          a
    state         limit
    mode          loop
    iterations    3 (setup 0, execution 3)
    folder        [hermit]/project/.nightwright/tasks/a
    files         INSTRUCTIONS.md (20 bytes)
                  TODO.md (10 bytes)
    checklist     0 of 1 checkbox checked; next: one
    last run      [run]: Reached maximum iterations (3)
                  3 iterations, $0.00, began 2026-11-16T07:00:00Z, ended 2026-11-16T07:04:00Z
    run folder    [hermit]/state/[project]/runs/[run]

    next: raise the limit and continue: nightwright resume [run] --max-iterations 6
    ");
}

#[test]
fn the_last_line_says_what_to_do_next() {
    let env = with_task();
    let next = |env: &TestEnv| {
        let out = env.run(&["task", "show", "a"]).exits(0).out;
        out.lines().last().unwrap().to_owned()
    };
    let mut lines = vec![next(&env)];
    let live = recorded(&env, "a", 1, None);
    let owner = LockOwner::current(live.id().clone(), Timestamp::now());
    let lock = Lock::take(&live.lock(), &owner).unwrap();
    lines.push(next(&env));
    drop(lock);
    lines.push(steady(&env, &[live.id()], &next(&env)));
    for outcome in [
        Outcome::completed(Proof::Checks),
        Outcome::Blocked { needs: "a password".to_owned() },
        Outcome::Stopped,
        Outcome::Failed { why: "no such library".to_owned() },
    ] {
        let env = with_task();
        let run = recorded(&env, "a", 1, Some(outcome));
        lines.push(steady(&env, &[run.id()], &next(&env)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    next: check the instructions with `nightwright task validate a`, then start a run: nightwright run a
    next: follow its log: nightwright log -f a
    next: if the run crashed, resume it: nightwright resume [run]
    next: review the changes, then archive the task: nightwright task archive a
    next: Blocked: a password; provide what the agent needs, then continue: nightwright resume [run]
    next: resume the run: nightwright resume [run]
    next: fix the cause of the failure, then continue: nightwright resume [run]
    ");
}
