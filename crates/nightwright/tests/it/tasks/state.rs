//! The state of a task between its runs.

use std::fs;

use nightwright::store::run_dir::RunDir;
use nightwright::task::state::TaskState;
use nightwright::task::{ProjectRuns, Task, TaskStatus};
use nightwright_core::outcome::{Outcome, Proof};
use nightwright_core::run_view::RunView;
use serde_json::Value;

use super::{TestEnv, at, home, recorded, tree, with_task, write_journal, write_journal_of};

const STATE: &str = ".nightwright/tasks/a/.state.json";

fn shown(env: &TestEnv) -> Value {
    serde_json::from_str(&env.run(&["task", "show", "a", "--json"]).exits(0).out).unwrap()
}

#[test]
fn an_unrecorded_run_is_found_by_its_journal() {
    let env = with_task();
    assert_eq!(shown(&env)["state"], "ready");
    recorded(&env, "other", 5, Some(Outcome::Stopped));
    let run = recorded(&env, "a", 3, Some(Outcome::MaxIterations { limit: 3 }));
    let page = shown(&env);
    assert_eq!(page["state"], "limit");
    assert_eq!(page["iterations"]["execution"], 3);
    assert_eq!(page["last_run"]["id"], run.id().0);
    assert_eq!(page["last_run"]["outcome"], "max_iterations");
}

#[test]
fn a_task_whose_iterations_all_failed_is_in_error() {
    let env = with_task();
    env.file("agent.sh", "cat >/dev/null; echo working; exit 3\n");
    let run = ["run", "a", "-m", "1", "--max-retries", "0", "--agent-command", "sh agent.sh"];
    env.run(&run).exits(1).says(&["Reached maximum iterations (1)"]);
    let page = shown(&env);
    assert_eq!(page["last_run"]["outcome"], "all_iterations_failed");
    assert_eq!(page["state"], "error");
}

#[test]
fn a_note_that_is_broken_or_lost_is_taken_from_the_journals() {
    let env = with_task();
    recorded(&env, "a", 2, Some(Outcome::completed(Proof::Checks)));
    for broken in [Some("{\"state\": \"running"), Some("[]"), Some(""), None] {
        match broken {
            Some(text) => drop(env.file(STATE, text)),
            None => fs::remove_file(env.project().join(STATE)).unwrap(),
        }
        let before = tree(&env.project());
        let page = shown(&env);
        assert_eq!(page["state"], "completed");
        assert_eq!(page["iterations"]["total"], 2);
        assert_eq!(page["warning"].is_string(), broken.is_some(), "{page}");
        assert_eq!(tree(&env.project()), before, "who only looks changes nothing");
    }
}

#[test]
fn a_resumed_run_is_counted_once() {
    let env = with_task();
    let run = recorded(&env, "a", 2, Some(Outcome::Stopped));
    assert_eq!(shown(&env)["iterations"]["total"], 2);
    // Noted as unfinished by a process that was killed, and longer when it is looked at.
    let mut state: Value =
        serde_json::from_slice(&fs::read(env.project().join(STATE)).unwrap()).unwrap();
    state["runs"] = serde_json::json!({ run.id().0.clone(): 2 });
    state["iterations"] = serde_json::json!({ "total": 3, "setup": 1, "execution": 2 });
    state["last_run"] = serde_json::json!({ "id": run.id().0, "iterations": 2 });
    state["state"] = "running".into();
    state["somebody else's"] = "key".into();
    env.file(STATE, &state.to_string());
    assert_eq!(shown(&env)["state"], "stopped");
    write_journal(&run, "a", 5, None);
    let page = shown(&env);
    assert_eq!(page["state"], "interrupted", "the run crashed");
    assert_eq!(page["iterations"]["execution"], 5);
    assert_eq!(page["iterations"]["total"], 6);
}

#[test]
fn a_reset_task_does_not_remember_its_runs_and_keeps_what_people_wrote() {
    let env = with_task();
    recorded(&env, "a", 2, Some(Outcome::Stopped));
    let task = env.project().join(".nightwright/tasks/a");
    fs::create_dir(task.join("reports")).unwrap();
    for name in ["NOTES.md", "feedback.md", ".status.json", ".stop", "reports/r.md", "mine.txt"] {
        fs::write(task.join(name), "x").unwrap();
    }
    fs::write(task.join("TODO.md"), "- [x] one\n- [ ] two\n").unwrap();

    let before = tree(&env.project());
    env.run(&["task", "reset", "a"]).exits(2).says(&["NOTES.md, feedback.md, reports", "--yes"]);
    assert_eq!(tree(&env.project()), before, "nobody was there to ask");

    env.run(&["task", "reset", "a", "--yes"]).exits(0);
    let names: Vec<_> = tree(&task).into_keys().map(|name| name.display().to_string()).collect();
    assert_eq!(names, ["", ".state.json", "INSTRUCTIONS.md", "TODO.md", "mine.txt"]);
    assert_eq!(fs::read_to_string(task.join("TODO.md")).unwrap(), "- [x] one\n- [ ] two\n");
    let page = shown(&env);
    assert_eq!((&page["state"], &page["iterations"]["total"]), (&"ready".into(), &0.into()));

    env.run(&["task", "reset", "a", "--yes", "--todo"]).exits(0);
    assert_eq!(fs::read_to_string(task.join("TODO.md")).unwrap(), "- [ ] one\n- [ ] two\n");
}

#[test]
fn boxes_are_not_unchecked_without_asking() {
    let env = with_task();
    let list = ".nightwright/tasks/a/TODO.md";
    env.file(list, "- [x] one\n- [ ] two\n- [X] three\n");
    env.run(&["task", "reset", "a", "--todo"]).exits(2).says(&[
        "error: resetting the task `a` would uncheck 2 checkboxes in TODO.md\n",
        "nightwright task reset a --todo --yes",
    ]);
    assert_eq!(env.read(list), "- [x] one\n- [ ] two\n- [X] three\n");
    env.file(".nightwright/tasks/a/NOTES.md", "notes");
    env.run(&["task", "reset", "a", "--todo"])
        .exits(2)
        .says(&["would remove NOTES.md and uncheck 2 checkboxes in TODO.md"]);
    env.run(&["task", "reset", "a", "--todo", "--yes"]).exits(0);
    assert_eq!(env.read(list), "- [ ] one\n- [ ] two\n- [ ] three\n");
    // With nothing to lose there is nothing to ask.
    env.run(&["task", "reset", "a", "--todo"]).exits(0);
}

#[test]
fn a_reset_names_only_files_that_exist_and_a_next_step_that_works() {
    let env = with_task();
    let reset = || env.run(&["task", "reset", "a"]).exits(0).out;
    assert_eq!(reset(), "reset the task `a`; kept INSTRUCTIONS.md\nnext: nightwright run a\n");
    env.file(".nightwright/tasks/a/TODO.md", "- [ ] one\n");
    assert_eq!(
        reset(),
        "reset the task `a`; kept INSTRUCTIONS.md and TODO.md\n\
         next: nightwright run a\n"
    );
    fs::remove_file(env.project().join(".nightwright/tasks/a/TODO.md")).unwrap();
    fs::remove_file(env.project().join(".nightwright/tasks/a/INSTRUCTIONS.md")).unwrap();
    assert_eq!(
        reset(),
        "reset the task `a`\nnext: write `.nightwright/tasks/a/INSTRUCTIONS.md` \
         yourself, or with the agent: nightwright task setup a\n"
    );
}

#[test]
fn the_run_with_the_latest_event_decides_the_state_of_a_task() {
    let env = with_task();
    let home = home(&env);
    let [old, new] = ["07:00", "07:10"].map(|time| RunDir::create(&home, at(time)).unwrap());
    write_journal_of("claude", at("07:00"), &old, "a", 1, Some(Outcome::Stopped));
    write_journal_of("claude", at("07:10"), &new, "a", 1, Some(Outcome::Interrupted));
    assert_eq!(shown(&env)["last_run"]["id"], new.id().0);
    // The older one is resumed, and noted when it ends.
    let limit = Outcome::MaxIterations { limit: 30 };
    write_journal_of("claude", at("07:00"), &old, "a", 30, Some(limit));
    let task = Task::open(&env.project().canonicalize().unwrap(), "a").unwrap();
    let view = RunView::of(&nightwright::store::journal::read(&old.journal()).unwrap().records);
    let runs = ProjectRuns::kept_in(home.clone()).unwrap();
    TaskState::record_run(&task, &runs, old.id(), &view).unwrap();
    let is_as_the_old_one = || {
        let page = shown(&env);
        assert_eq!(page["last_run"]["id"], old.id().0);
        assert_eq!((&page["state"], &page["iterations"]["total"]), (&"limit".into(), &31.into()));
    };
    is_as_the_old_one();
    // Without the note the journals say the same.
    fs::remove_file(env.project().join(STATE)).unwrap();
    is_as_the_old_one();
}

#[test]
fn a_rehearsal_does_not_change_how_a_task_stands() {
    let env = with_task();
    let run = RunDir::create(&home(&env), at("07:00")).unwrap();
    let completed = Outcome::completed(Proof::Checks);
    write_journal_of("rehearsal", at("07:00"), &run, "a", 3, Some(completed));
    let page = shown(&env);
    assert_eq!((&page["state"], &page["iterations"]["total"]), (&"ready".into(), &0.into()));
    assert_eq!(page["last_run"], Value::Null);
}

#[test]
fn a_new_task_does_not_inherit_the_runs_of_an_old_one_of_its_name() {
    let env = with_task();
    recorded(&env, "a", 2, Some(Outcome::Stopped));
    env.run(&["task", "delete", "a", "--yes"]).exits(0);
    env.run(&["new", "a"]).exits(0);
    assert_eq!(shown(&env)["state"], "new");
    env.file(super::INSTRUCTIONS, "Something else.");
    let agent = "sh -c 'cat >/dev/null; echo hi'";
    env.run(&["run", "a", "-m", "1", "--agent-command", agent]);
    let second = shown(&env);
    assert_eq!(second["iterations"]["execution"], 1, "{second}");
    // The old one, restored, remembers its own and no others.
    env.run(&["task", "delete", "a", "--yes"]).exits(0);
    let archives = fs::read_dir(env.project().join(".nightwright/archive")).unwrap();
    let mut archives: Vec<_> = archives.map(|entry| entry.unwrap().path()).collect();
    archives.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    env.run(&["task", "restore", archives[0].to_str().unwrap()]).exits(0);
    let first = shown(&env);
    assert_eq!((&first["state"], &first["iterations"]["total"]), (&"stopped".into(), &2.into()));
    env.run(&["task", "delete", "a", "--yes"]).exits(0);
    env.run(&["task", "restore", archives[1].to_str().unwrap()]).exits(0);
    for key in ["state", "iterations", "last_run"] {
        assert_eq!(shown(&env)[key], second[key]);
    }
}

#[test]
fn every_outcome_leaves_the_task_in_some_state() {
    for outcome in nightwright_core::outcome::samples() {
        let status = TaskStatus::after(&outcome);
        let never = matches!(status, TaskStatus::New | TaskStatus::Ready | TaskStatus::Running);
        assert!(!never, "{outcome}");
        assert_eq!(serde_json::to_value(status).unwrap(), status.name());
    }
}

#[test]
fn a_run_is_counted_once_and_a_broken_state_file_is_set_aside() {
    let env = with_task();
    let task = Task::open(&env.project().canonicalize().unwrap(), "a").unwrap();
    env.file(STATE, r#"{"state":"new"}"#);
    let runs = || ProjectRuns::kept_in(home(&env)).unwrap();
    assert_eq!(TaskState::record_setup(&task, &runs()).unwrap(), None);
    let run = recorded(&env, "a", 4, Some(Outcome::Stopped));
    let view = RunView::of(&nightwright::store::journal::read(&run.journal()).unwrap().records);
    for _ in 0..2 {
        TaskState::record_run(&task, &runs(), run.id(), &view).unwrap();
    }
    let text = fs::read(env.project().join(STATE)).unwrap();
    let state: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(state["iterations"]["total"], 5);
    assert_eq!(state["iterations"]["setup"], 1);
    assert_eq!(state["state"], "stopped");

    env.file(STATE, "broken");
    let warning = TaskState::record_setup(&task, &runs()).unwrap().unwrap();
    assert!(warning.contains(".state.json.broken"), "{warning}");
    let aside = env.project().join(".nightwright/tasks/a/.state.json.broken");
    assert_eq!(fs::read_to_string(aside).unwrap(), "broken");
    fs::remove_file(env.project().join(STATE)).unwrap();
    let rebuilt = shown(&env);
    assert_eq!(
        (&rebuilt["state"], &rebuilt["iterations"]["total"]),
        (&"stopped".into(), &4.into())
    );
}

#[test]
fn a_journal_that_was_damaged_after_its_end_was_noted_is_reported() {
    let env = with_task();
    let task = Task::open(&env.project().canonicalize().unwrap(), "a").unwrap();
    let run = recorded(&env, "a", 4, Some(Outcome::Stopped));
    let view = RunView::of(&nightwright::store::journal::read(&run.journal()).unwrap().records);
    let runs = ProjectRuns::kept_in(home(&env)).unwrap();
    TaskState::record_run(&task, &runs, run.id(), &view).unwrap();
    assert_eq!(shown(&env)["warning"], Value::Null);
    let lines = fs::read_to_string(run.journal()).unwrap();
    let (first, rest) = lines.split_once('\n').unwrap();
    let damaged = format!("{first}\n{}", rest.replacen("\"event\"", "\"Event\"", 1));
    fs::write(run.journal(), damaged).unwrap();
    let page = shown(&env);
    assert!(page["warning"].as_str().unwrap().contains("line 2 of"), "{page}");
    assert_eq!(page["state"], "stopped", "what was noted");
    env.run(&["task", "show", "a"])
        .exits(0)
        .says(&["warning: cannot read the journal of run ", "is damaged"]);
    let listed = env.run(&["list"]).exits(0);
    assert!(listed.out.contains("line 2 of"), "{}", listed.out);
}
