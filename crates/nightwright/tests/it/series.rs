//! Several tasks, one after another, under one budget.

use nightwright_core::event::{Event, Record, RunEvent};
use nightwright_core::settings::Limits;
use nightwright_core::units::Usd;

use super::harness::{TestEnv, run_outcome};

const DONE: &str = "[[attempt]]\nend = { result = \"<promise>COMPLETE</promise>\" }\n";
const STUCK: &str = "[[attempt]]\nend = { result = \"Nothing to do.\" }\n";

/// A project with these tasks.
fn tasks(names: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    for name in names {
        env.run(&["new", name]).exits(0);
        env.file(&format!(".nightwright/tasks/{name}/INSTRUCTIONS.md"), "Write done.txt.\n");
    }
    env
}

/// The journals of all runs, in their order.
fn journals(env: &TestEnv) -> Vec<Vec<Record>> {
    let path = |run: std::path::PathBuf| run.join("journal.jsonl");
    let runs = env.runs().into_iter().map(path);
    runs.map(|path| nightwright::store::journal::read(&path).unwrap().records).collect()
}

/// The task and the limits of a run.
fn started(journal: &[Record]) -> (String, Limits) {
    match &journal[0].event {
        Event::Run(RunEvent::Started(started)) => {
            (started.settings.task.clone().unwrap(), started.settings.limits.clone())
        }
        other => panic!("the first event is {}", other.name()),
    }
}

fn cost(journal: &[Record]) -> Usd {
    match &journal.last().unwrap().event {
        Event::Run(RunEvent::Finished { totals, .. }) => totals.cost,
        other => panic!("the last event is {}", other.name()),
    }
}

#[test]
fn each_task_is_a_separate_run_with_what_the_budget_has_left() {
    let env = tasks(&["a", "b", "c"]);
    let script = env.script(DONE);
    let output = env.run(&[
        "run",
        "c",
        "a",
        "--max-cost",
        "5",
        "-m",
        "3",
        "--dry-run",
        "--rehearsal",
        &script,
    ]);
    let output =
        output.exits(0).says(&["Task 1 of 2: c", "Task 2 of 2: a", "2 of 2 tasks completed"]);
    let summary = output.err.lines().find(|line| line.starts_with("2 of 2")).unwrap();
    assert!(summary.contains(" (rehearsed), "), "{summary}");
    let journals = journals(&env);
    assert_eq!(journals.len(), 2, "{}", output.err);
    let runs: Vec<_> = journals.iter().map(|journal| started(journal)).collect();
    assert_eq!([&*runs[0].0, &*runs[1].0], ["c", "a"]);
    assert_eq!(runs[0].1.max_cost, Some(Usd::from_cents(500)));
    assert_eq!(runs[1].1.max_cost, Some(Usd::from_cents(500).minus(cost(&journals[0]))));
    assert!(runs.iter().all(|(_, limits)| limits.max_iterations == Some(3)));
    assert!(journals.iter().all(|journal| run_outcome(journal) == "completed"));
}

#[test]
fn the_series_stops_at_the_first_task_that_does_not_complete_unless_it_keeps_going() {
    for (more, runs, rest) in
        [(None, 1, "b  Not started: the previous task"), (Some("--keep-going"), 2, "0 of 2 tasks")]
    {
        let env = tasks(&["a", "b"]);
        let script = env.script(STUCK);
        let mut words = vec!["run", "--all", "-m", "1", "--dry-run", "--rehearsal", &script];
        words.extend(more);
        let output = env.run(&words).exits(0).says(&["0 of 2 tasks completed", rest]);
        assert_eq!(env.runs().len(), runs, "{}", output.err);
        words.push("--require-complete");
        env.run(&words).exits(3);
    }
}

#[test]
fn all_means_the_tasks_that_are_ready() {
    let env = tasks(&["a"]);
    env.run(&["new", "empty"]).exits(0);
    let script = env.script(DONE);
    env.run(&["run", "--all", "--dry-run", "--rehearsal", &script])
        .exits(0)
        .says(&["Skipped: empty (no instructions)", "1 of 1 task completed"]);
    let env = TestEnv::new();
    env.run(&["run", "--all"]).exits(2).says(&["no task or goal given"]);
}

#[test]
fn mistakes_are_found_before_the_first_run() {
    let env = tasks(&["a", "b"]);
    env.run(&["new", "empty"]).exits(0);
    for (words, error) in [
        (&["run", "a", "nosuch"][..], "Task not found: nosuch"),
        (&["run", "a", "empty"], "Instructions not found"),
        (&["run", "a", "a"], "you named the task `a` twice"),
        (
            &["run", "a", "fix the tests"],
            "cannot combine the goal `fix the tests` with other tasks",
        ),
        (&["run", "a", "--keep-going"], "--keep-going requires several tasks"),
        (&["run", "--all", "a"], "cannot be used with"),
        (&["build", "a", "b"], "`nightwright build` takes one task"),
        (&["plan", "--all"], "`nightwright plan` takes one task"),
        (&["build", "--all"], "`nightwright build` takes one task"),
        (&["plan", "a", "--keep-going"], "`nightwright plan` takes one task"),
        (&["prompt", "a", "b"], "`nightwright prompt` takes one task"),
        (&["prompt", "--all"], "this command takes one task"),
    ] {
        env.run(&[words, &["--dry-run"]].concat()).exits(2).says(&[error]);
        assert_eq!(env.runs().len(), 0, "{words:?}");
    }
}
