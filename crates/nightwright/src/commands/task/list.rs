//! `nightwright task list`, or `nightwright list`: list the tasks of the project.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nightwright_core::display::one_line;
use nightwright_core::evidence::checklist;
use nightwright_core::input::{Checklist, TaskProgress};
use serde::Serialize;

use crate::commands::cli::context::{ProjectArgs, table};
use crate::console::{advise, print, print_json};
use crate::error::Failure;
use crate::task::state::{IterationCounts, LastRun};
use crate::task::{self, ListedTask, ProjectRuns, TODO, Task, TaskOverview};

/// Maximum characters of an outcome, a problem or a name in a line.
const MAX_TEXT_CHARS: usize = 100;

/// The status of an unreadable task.
const BROKEN: &str = "broken";

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct ListArgs {
    /// Print a JSON array with one object per task
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

const AFTER_HELP: &str = "\
The states of a task:
  new          has no instructions yet
  ready        has instructions, but no run yet
  running      a run is working on it
  completed    done
  stopped      stopped after an iteration, on request
  interrupted  stopped in the middle of an iteration, or crashed
  limit        reached an iteration, cost, time or token limit
  stagnated    the last run made no progress
  blocked      needs something that only a person can provide
  unverified   the agent claimed completion, but the gate did not accept it
  error        failed with an error
  broken       unreadable; the line says why

COST is the cost of the last run. `nightwright task show NAME` shows more about a task. \
`nightwright status --all` lists the runs.

Fields of the --json objects:
  name, mode    mode is null if the configuration is unreadable
  state         one of the states above
  iterations    {total, setup, execution}
  progress      {completed, total}: the items of the task in its last run, otherwise the checkboxes
                of its checklist; or null
  last_run      {id, outcome, proof, sentence, iterations, cost_usd, progress, started_at,
                last_at}, or null; proof of a completed run: checks, model or none;
                outcome and sentence are null until the run ends, and if the end of its journal is
                unreadable
  problem       problem with the task or its last run, or null";

/// A task in the JSON array.
#[derive(Debug, Serialize)]
struct TaskRow {
    name: String,
    mode: Option<String>,
    state: &'static str,
    iterations: IterationCounts,
    progress: Option<TaskProgress>,
    last_run: Option<LastRun>,
    /// Why the task cannot be read.
    problem: Option<String>,
}

pub(crate) fn list(options: &ListArgs) -> Result<ExitCode, Failure> {
    let project = options.project.find()?;
    let runs = ProjectRuns::of(&project)?;
    let listed = task::list(&project)?;
    let rows: Vec<_> = listed.into_iter().map(|listed| row(listed, &runs)).collect();
    if options.json {
        print_json(&rows)?;
    } else if rows.is_empty() {
        advise(&none(&project));
    } else {
        print(&text(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn none(project: &Path) -> String {
    format!(
        "no tasks in `{}` yet; create one: nightwright new NAME\n\
         or work on a goal without a task: nightwright run \"make the tests pass\" -m 10",
        project.display()
    )
}

fn row(listed: ListedTask, runs: &ProjectRuns) -> TaskRow {
    let ListedTask { name, task } = listed;
    let standing =
        task.and_then(|task| Ok((TaskOverview::of(&task, runs)?, checklist_progress(&task))));
    match standing {
        Ok((TaskOverview { status, mode, state, warning, .. }, checklist)) => TaskRow {
            name,
            mode,
            state: status.name(),
            iterations: state.iterations,
            progress: state.last_run.as_ref().and_then(|last| last.progress).or(checklist),
            last_run: state.last_run,
            problem: warning,
        },
        Err(failure) => TaskRow {
            name,
            mode: None,
            state: BROKEN,
            iterations: IterationCounts::default(),
            progress: None,
            last_run: None,
            problem: Some(failure.message),
        },
    }
}

/// Returns the progress of a task's checklist. A file that is not text has no boxes.
fn checklist_progress(task: &Task) -> Option<TaskProgress> {
    let text = task.text(TODO).ok().flatten()?;
    let Checklist { open, done } = checklist::count(&text);
    let total = done.saturating_add(open);
    (total > 0).then_some(TaskProgress { completed: done, total })
}

/// Formats the tasks as a table. Names and strings come from files, so every cell is escaped and on
/// one line.
fn text(rows: &[TaskRow]) -> String {
    let head = ["NAME", "MODE", "STATE", "ITERATIONS", "PROGRESS", "COST", "LAST RUN"];
    let mut lines = vec![head.map(str::to_owned)];
    for row in rows {
        let last = row.last_run.as_ref();
        let last_words = row.problem.clone().or_else(|| last.map(words)).unwrap_or_default();
        let progress = row.progress.map(|items| format!("{}/{}", items.completed, items.total));
        let cost = last.map(|last| last.cost_usd.to_string());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        lines.push([
            one_line(&row.name, MAX_TEXT_CHARS),
            one_line(row.mode.as_deref().unwrap_or("-"), MAX_TEXT_CHARS),
            row.state.to_owned(),
            row.iterations.total.to_string(),
            or_none(progress),
            or_none(cost),
            one_line(&last_words, MAX_TEXT_CHARS),
        ]);
    }
    table(&lines)
}

/// Returns the time and outcome of the last run, or its ID if it has no outcome.
fn words(last: &LastRun) -> String {
    let at = last.last_at.map_or_else(String::new, |at| format!("{at:.0}  "));
    match &last.sentence {
        Some(sentence) => format!("{at}{sentence}"),
        None => format!("{at}{}", last.id),
    }
}
