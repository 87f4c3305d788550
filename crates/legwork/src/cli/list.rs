//! `legwork list`: list the tasks of the project.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use legwork_core::display::one_line;
use serde::Serialize;

use super::which::project;
use super::{print, say};
use crate::error::Failure;
use crate::task::state::{Iterations, LastRun};
use crate::task::{self, Listed, Runs, Standing};

/// The most of an ending, a problem or a name that a line shows, in characters.
const MOST_WORDS: usize = 100;

/// The state of what can't be read.
const BROKEN: &str = "broken";

/// What the command can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Options {
    /// Print a JSON array with an object for each task
    #[arg(long)]
    json: bool,

    /// The project folder [default: this one]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
The states of a task:
  new          it has no instructions yet
  ready        it has instructions, and no run has begun
  running      a run is going on
  completed    done
  stopped      stopped after an iteration, as asked
  interrupted  broken off, or the process of its run is gone
  limit        a limit of iterations, cost, time or tokens was reached
  stagnated    the last run came no further
  blocked      something is needed that only a person can give
  unverified   said to be done, and not believed
  error        something went wrong
  broken       the task can't be read; the line says why

`legwork show NAME` says more about one of them, and what to do next.";

/// A task in the JSON array.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    mode: Option<String>,
    state: &'static str,
    iterations: Iterations,
    last_run: Option<LastRun>,
    /// What is wrong with it.
    problem: Option<String>,
}

pub(super) fn list(options: &Options) -> Result<ExitCode, Failure> {
    let project = project(options.project.as_deref())?;
    let runs = Runs::of(&project)?;
    let listed = task::list(&project)?;
    let rows: Vec<_> = listed.into_iter().map(|listed| row(listed, &runs)).collect();
    if options.json {
        super::print_json(&rows)?;
    } else if rows.is_empty() {
        say(&none(&project));
    } else {
        print(&table(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn none(project: &Path) -> String {
    format!(
        "there are no tasks in `{}` yet; make one: legwork new NAME\n\
         or work on a goal without a task: legwork run -p \"...\" -m 10",
        project.display()
    )
}

fn row(listed: Listed, runs: &Runs) -> Row {
    let Listed { name, task } = listed;
    match task.and_then(|task| Standing::of(&task, runs)) {
        Ok(Standing { status, mode, state, warning, .. }) => Row {
            name,
            mode,
            state: status.name(),
            iterations: state.iterations,
            last_run: state.last_run,
            problem: warning,
        },
        Err(failure) => Row {
            name,
            mode: None,
            state: BROKEN,
            iterations: Iterations::default(),
            last_run: None,
            problem: Some(failure.message),
        },
    }
}

/// Names and texts come from files: every cell is one safe line.
fn table(rows: &[Row]) -> String {
    let head = ["NAME", "MODE", "STATE", "ITERATIONS", "LAST RUN"].map(str::to_owned);
    let mut lines = vec![head];
    for row in rows {
        let last = row.last_run.as_ref();
        let ending = last.and_then(|last| {
            let at = last.last_at.map_or_else(String::new, |at| format!("{at:.0}  "));
            last.sentence.as_ref().map(|sentence| format!("{at}{sentence}"))
        });
        let unfinished = last.map(|last| last.id.to_string());
        let last_words = row.problem.clone().or(ending).or(unfinished).unwrap_or_default();
        lines.push([
            one_line(&row.name, MOST_WORDS),
            one_line(row.mode.as_deref().unwrap_or("-"), MOST_WORDS),
            row.state.to_owned(),
            row.iterations.total.to_string(),
            one_line(&last_words, MOST_WORDS),
        ]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<_> = (0..4).map(|column| width(column).unwrap_or(0)).collect();
    let render = |line: &[String; 5]| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
        format!("{}{}", cells.collect::<String>(), line[4]).trim_end().to_owned()
    };
    lines.iter().map(render).collect::<Vec<_>>().join("\n")
}
