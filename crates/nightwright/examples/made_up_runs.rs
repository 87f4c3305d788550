//! Fills the state of a project with runs that never were, and notes them in its tasks.
//!
//! `cargo xtask bench listing` and `cargo xtask pictures` use it:
//! `cargo run -p nightwright --example made_up_runs -- PROJECT RUNS ITERATIONS TASK...`, with
//! `NIGHTWRIGHT_STATE_DIR` set. Run after run goes to the tasks in turn, an hour apart. A run has from half of
//! the iterations up to one and a half times as many; with one run only, it has just as many.

#[path = "../../nightwright-core/tests/support/sample_run.rs"]
mod sample_run;

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use nightwright::store::run_dir::{self, RunDir};
use nightwright::task::{ProjectRuns, Task, TaskState};
use nightwright::workspace;
use nightwright_core::journal::encode;

use self::sample_run::SampleRun;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [project, runs, iterations, tasks @ ..] = &words[..] else {
        return Err("usage: made_up_runs PROJECT RUNS ITERATIONS TASK...".into());
    };
    let (project, runs, iterations) =
        (Path::new(project), runs.parse()?, iterations.parse::<u32>()?);
    let home = run_dir::state_of(project)?;
    let first: Timestamp = "2026-08-01T00:00:00Z".parse()?;
    for (number, task) in (0..runs).zip(tasks.iter().cycle()) {
        let start = first + SignedDuration::from_hours(i64::from(number));
        let more = if runs == 1 { iterations / 2 } else { number * 7 % iterations };
        let mut run = SampleRun::new(task, iterations.div_ceil(2) + more, start);
        run.head = workspace::head_commit(project);
        write(&RunDir::create(&home, start)?, &run)?;
    }
    let known = ProjectRuns::kept_in(home)?;
    for task in tasks {
        TaskState::settle(&Task::open(project, task)?, &known)?;
    }
    Ok(())
}

fn write(folder: &RunDir, run: &SampleRun) -> Result<(), Box<dyn Error>> {
    let mut lines = Vec::new();
    for (seq, record) in (1..).zip(run.records()) {
        encode(&mut lines, seq, folder.id(), &record);
    }
    fs::write(folder.journal(), lines)?;
    fs::write(folder.lock(), "")?;
    Ok(())
}
