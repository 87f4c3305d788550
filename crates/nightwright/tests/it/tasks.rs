//! Tasks on disk, and the commands that manage them.

mod archive;
pub(crate) mod disk;
mod in_use;
mod links;
mod screens;
mod state;
mod templates;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use nightwright::store::journal;
use nightwright::store::run_dir::{self, RunDir};
use nightwright_core::event::{Event, IterationEvent, Record, RunEvent, samples};
use nightwright_core::outcome::Outcome;
use nightwright_core::units::RunId;

use super::harness::TestEnv;

const INSTRUCTIONS: &str = ".nightwright/tasks/a/INSTRUCTIONS.md";

/// A project with the task `a`, which has instructions.
fn with_task() -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "a"]).exits(0);
    env.file(INSTRUCTIONS, "Move every handler.\n");
    env
}

/// Everything in a folder: the mode and content of files, the mode of folders, the targets of
/// links.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else if metadata.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        let name = path.strip_prefix(folder).unwrap().to_owned();
        all.insert(name, (metadata.permissions().mode(), content));
    }
    all
}

/// The state folder of the project.
fn home(env: &TestEnv) -> PathBuf {
    run_dir::project_folder(&env.path("state"), &env.project()).unwrap()
}

/// Writes the journal of a task's run with this number of iterations.
fn recorded(env: &TestEnv, task: &str, iterations: usize, outcome: Option<Outcome>) -> RunDir {
    let run = RunDir::create(&home(env), at("07:00")).unwrap();
    write_journal(&run, task, iterations, outcome);
    run
}

/// A time on the day of these tests.
fn at(time: &str) -> Timestamp {
    format!("2026-11-16T{time}:00Z").parse().unwrap()
}

fn write_journal(run: &RunDir, task: &str, iterations: usize, outcome: Option<Outcome>) {
    write_journal_of("claude", at("07:00"), run, task, iterations, outcome);
}

/// Writes the journal of a run with this agent and start time. Events are one minute apart.
fn write_journal_of(
    agent: &str,
    began: Timestamp,
    run: &RunDir,
    task: &str,
    iterations: usize,
    outcome: Option<Outcome>,
) {
    let mut started = None;
    let mut finished = None;
    for event in samples() {
        match event {
            Event::Run(RunEvent::Started(run)) => started = Some(run),
            Event::Iteration(IterationEvent::Finished(iteration)) => finished = Some(iteration),
            _ => {}
        }
    }
    let mut started = started.unwrap();
    started.settings.task = Some(task.to_owned());
    agent.clone_into(&mut started.agent.name);
    let mut events = vec![Event::Run(RunEvent::Started(started))];
    events.extend(
        (0..iterations)
            .map(|_| Event::Iteration(IterationEvent::Finished(finished.clone().unwrap()))),
    );
    events.extend(outcome.map(|outcome| {
        let totals = nightwright_core::event::Totals::default();
        Event::Run(RunEvent::Finished { outcome, note: None, totals })
    }));
    let records: Vec<_> = events
        .into_iter()
        .zip(0..)
        .map(|(event, minutes)| Record {
            at: began + Duration::from_mins(minutes),
            active: Duration::from_mins(minutes),
            event,
        })
        .collect();
    // A run that was resumed has a longer journal.
    match fs::remove_file(run.journal()) {
        Ok(()) | Err(_) => {}
    }
    let mut writer = journal::create(&run.journal(), run.id().clone()).unwrap();
    writer.append(&records).unwrap();
    writer.sync().unwrap();
    writer.close().unwrap();
}

/// Replaces everything in the output that differs between machines and runs.
fn steady(env: &TestEnv, runs: &[&RunId], text: &str) -> String {
    let folder = env.project().parent().unwrap().canonicalize().unwrap();
    let state = home(env).file_name().unwrap().to_str().unwrap().to_owned();
    let mut text = text.replace(folder.to_str().unwrap(), "[hermit]").replace(&state, "[project]");
    for run in runs {
        text = text.replace(&run.0, "[run]");
    }
    text
}

#[test]
fn a_wrong_name_is_a_clear_error_in_every_command() {
    let env = TestEnv::new();
    let long = "x".repeat(65);
    for name in ["", "a/b", "../x", "-x", "ä b", "a.b", "/etc", long.as_str()] {
        for command in ["new", "show", "reset", "archive", "delete"] {
            let output = env.run(&["task", command, "--", name]).exits(2);
            output.says(&["error: invalid task name", "a-z"]);
        }
        // Without the dashes, the name may count as an option, which must not panic.
        env.run(&["new", name]).exits(2).says(&["error: "]);
    }
    assert!(!env.project().join(".nightwright").exists(), "nothing was made");
}

#[test]
fn a_new_task_has_only_what_is_needed_and_says_what_comes_next() {
    let env = TestEnv::new();
    let output = env.run(&["new", "migrate-api"]).exits(0);
    insta::assert_snapshot!(output.out, @r"
    created the task `migrate-api` in `.nightwright/tasks/migrate-api`

    Next:
      1. Write the instructions with the agent: nightwright task setup migrate-api
         or write `.nightwright/tasks/migrate-api/INSTRUCTIONS.md` yourself
      2. Start a run: nightwright run migrate-api
    ");
    let folder = env.project().join(".nightwright/tasks/migrate-api");
    let names: Vec<_> = tree(&folder).into_keys().collect();
    assert_eq!(names, [Path::new(""), Path::new(".state.json")]);
    let entries = fs::read_dir(env.project().join(".nightwright/tasks")).unwrap().count();
    assert_eq!(entries, 1, "nothing is left beside it");

    env.run(&["new", "other", "--mode", "iterative"]).exits(0);
    let settings =
        fs::read_to_string(env.project().join(".nightwright/tasks/other/task.toml")).unwrap();
    insta::assert_snapshot!(settings, @r#"
    # Settings of this task. They override `.nightwright/config.toml`, and can be any of its
    # keys.

    # The mode: the work of one iteration, and the claims of completion that count.
    mode = "iterative"
    "#);
}

#[test]
fn a_task_that_exists_is_not_overwritten() {
    let env = with_task();
    let before = tree(&env.project());
    env.run(&["new", "a", "--mode", "loop"]).exits(2).says(&["error: Task already exists: a"]);
    assert_eq!(tree(&env.project()), before);
    // An empty folder is not overwritten either.
    fs::create_dir(env.project().join(".nightwright/tasks/b")).unwrap();
    env.run(&["new", "b"]).exits(2).says(&["error: Task already exists: b"]);
}

#[test]
fn an_unknown_mode_is_refused_with_the_nearest_and_all_modes_there_are() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright/modes/ours")).unwrap();
    env.run(&["new", "a", "--mode", "biuld"]).exits(2).says(&[
        "error: unknown mode `biuld`",
        "hint: did you mean `build`? choose one of ",
        "loop, iterative, plan",
        "ours",
    ]);
    env.run(&["new", "a", "--mode", "iterativ"]).exits(2).says(&[
        "hint: did you mean `iterative`? choose one of loop, iterative, plan, build, prompt, ours",
    ]);
    assert!(!env.project().join(".nightwright/tasks").exists());
    env.run(&["new", "a", "--mode", "ours"]).exits(0);
}

#[test]
fn a_task_that_is_not_there_is_an_error_that_names_those_that_are() {
    let env = with_task();
    env.run(&["new", "migrate-api"]).exits(0);
    for command in ["show", "reset", "archive", "delete"] {
        env.run(&["task", command, "migrate-ap"]).exits(2).says(&[
            "error: Task not found: migrate-ap\n",
            "hint: did you mean `migrate-api`? choose one of a, migrate-api",
        ]);
    }
    let empty = TestEnv::new();
    empty.run(&["task", "show", "a"]).exits(2).says(&["Task not found: a", "nightwright new a"]);
}

#[test]
fn a_project_folder_may_be_called_anything() {
    let env = TestEnv::new();
    let project = env.project().join("my prÖject\u{1f600} 'x'");
    fs::create_dir(&project).unwrap();
    let path = project.to_str().unwrap();
    env.run(&["new", "a", "-C", path]).exits(0);
    fs::write(project.join(INSTRUCTIONS), "do it").unwrap();
    let before = tree(&project.join(".nightwright/tasks"));
    env.run(&["task", "show", "a", "-C", path]).exits(0);
    env.run(&["list", "-C", path]).exits(0);
    env.run(&["task", "template", "save", "a", "t", "-C", path]).exits(0);
    env.run(&["task", "archive", "a", "-C", path]).exits(0);
    env.run(&["task", "restore", "a", "-C", path]).exits(0);
    assert_eq!(tree(&project.join(".nightwright/tasks")), before);
    env.run(&["task", "delete", "a", "--yes", "-C", path]).exits(0);
    env.run(&["task", "template", "use", "t", "b", "-C", path]).exits(0);
    assert_eq!(
        fs::read_to_string(project.join(".nightwright/tasks/b/INSTRUCTIONS.md")).unwrap(),
        "do it"
    );
}
