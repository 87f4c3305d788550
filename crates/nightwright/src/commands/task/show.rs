//! `nightwright task show`: show the state of a task and what to do next.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nightwright_core::display::{display_safe, one_line};
use nightwright_core::evidence::checklist;
use nightwright_core::input::Checklist;
use nightwright_core::outcome::count;
use serde::Serialize;

use crate::commands::cli::context::ProjectArgs;
use crate::commands::cli::known_secrets;
use crate::console::{eprint_safe, print, print_json};
use crate::error::Failure;
use crate::paste::from_here;
use crate::task::state::{IterationCounts, LastRun};
use crate::task::{
    FEEDBACK, INSTRUCTIONS, NOTES, ProjectRuns, REPORTS, SETTINGS, STATUS, TODO, Task,
    TaskOverview, TaskStatus,
};

/// Maximum characters shown of an outcome or a blocker.
const MAX_TEXT_CHARS: usize = 500;

/// Maximum characters shown of a checklist item.
const MAX_ITEM_CHARS: usize = 100;

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct ShowArgs {
    /// Name of the task
    #[arg(value_name = "NAME")]
    name: String,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

const AFTER_HELP: &str = "\
Fields of the --json object:
  name, mode    mode is null if the configuration is unreadable
  state         one of the states in `nightwright task list --help`
  iterations    {total, setup, execution}
  last_run      {id, outcome, proof, sentence, iterations, cost_usd, progress, started_at,
                last_at}, or null; proof of a completed run: checks, model or none;
                outcome and sentence are null until the run ends, and if the end of its journal is
                unreadable; progress is {completed, total}: the items of the task, or null
  run_folder    folder with the journal, the prompts and the output of that run, or null
  active_run    ID of the active run, or null
  folder        folder of the task
  files         existing files: {name, path (relative to the project), bytes}
  checklist     of TODO.md: {done, open, next (first open item, or null)}, or null; with
                masked secrets
  warning       problem with the recorded state or the last run, or null
  next          next step";

/// All data about a task.
#[derive(Debug, Serialize)]
struct TaskPage {
    name: String,
    mode: Option<String>,
    state: &'static str,
    iterations: IterationCounts,
    last_run: Option<LastRun>,
    run_folder: Option<PathBuf>,
    active_run: Option<String>,
    folder: PathBuf,
    files: Vec<TaskFile>,
    checklist: Option<ChecklistStatus>,
    warning: Option<String>,
    next: String,
}

/// A file in the folder of the task.
#[derive(Debug, Serialize)]
struct TaskFile {
    name: &'static str,
    path: PathBuf,
    bytes: u64,
}

/// The progress of the task's checklist.
#[derive(Debug, Serialize)]
struct ChecklistStatus {
    done: u32,
    open: u32,
    /// The text of the first open box.
    next: Option<String>,
}

pub(crate) fn show(options: &ShowArgs) -> Result<ExitCode, Failure> {
    let project = options.project.find()?;
    let task = Task::open(&project, &options.name)?;
    let runs = ProjectRuns::of(&project)?;
    let page = page(&task, &runs)?;
    if options.json {
        print_json(&page)?;
    } else {
        if let Some(warning) = &page.warning {
            eprint_safe(&format!("warning: {warning}"));
        }
        let is_damaged = page.last_run.as_ref().is_some_and(|last| runs.damage(&last.id).is_some());
        print(&display_safe(&text(&page, is_damaged)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(task: &Task, runs: &ProjectRuns) -> Result<TaskPage, Failure> {
    let standing = TaskOverview::of(task, runs)?;
    let next = from_here(&next(task, &standing, runs)).into_owned();
    let TaskOverview { status, mode, state, live, warning, .. } = standing;
    let mut files = Vec::new();
    for name in [INSTRUCTIONS, TODO, NOTES, FEEDBACK, STATUS, SETTINGS] {
        let part = |bytes| TaskFile { name, path: task.relative(name), bytes };
        files.extend(task.size(name)?.map(part));
    }
    let run_folder = state.last_run.as_ref().and_then(|last| runs.folder(&last.id));
    let known = run_folder.as_ref().map(known_secrets::known_to).unwrap_or_default();
    Ok(TaskPage {
        name: task.name().to_string(),
        mode,
        state: status.name(),
        iterations: state.iterations,
        last_run: state.last_run,
        run_folder: run_folder.map(|folder| folder.path().to_owned()),
        active_run: live.map(|run| run.to_string()),
        folder: task.folder(),
        files,
        checklist: checklist_status(task, &known),
        warning,
        next,
    })
}

/// Returns the progress of the task's checklist, if it has boxes. A file that is not text has none.
/// The list may contain secrets: if the masks cannot be determined, no item is shown. `known`
/// contains additional secrets.
fn checklist_status(task: &Task, known: &[String]) -> Option<ChecklistStatus> {
    let text = task.text(TODO).ok().flatten()?;
    let Checklist { open, done } = checklist::count(&text);
    let secrets = known_secrets::secrets(task.project(), Some(task.name().as_str()), known).ok();
    // Masked before truncating: half of a secret is still a secret.
    let shown = |item: String| Some(one_line(&secrets.as_ref()?.mask(&item), MAX_ITEM_CHARS));
    let next = checklist::items(&text, 1).pop().and_then(shown);
    (open > 0 || done > 0).then_some(ChecklistStatus { done, open, next })
}

/// Formats the progress of a checklist in one line.
fn progress(ChecklistStatus { done, open, next }: &ChecklistStatus) -> String {
    let all = done.saturating_add(*open);
    let noun = if all == 1 { "checkbox" } else { "checkboxes" };
    let next = match next.as_deref() {
        Some(next) if !next.is_empty() => format!("; next: {next}"),
        Some(_) | None => String::new(),
    };
    format!("{done} of {all} {noun} checked{next}")
}

fn text(page: &TaskPage, is_damaged: bool) -> String {
    let IterationCounts { total, setup, execution } = page.iterations;
    let mut lines = vec![
        format!("task          {}", page.name),
        format!("state         {}", page.state),
        format!(
            "mode          {}",
            page.mode.as_deref().unwrap_or("unknown: the configuration is unreadable")
        ),
        format!("iterations    {total} (setup {setup}, execution {execution})"),
        format!("folder        {}", page.folder.display()),
    ];
    if !page.files.iter().any(|part| part.name == INSTRUCTIONS) {
        lines.push("instructions  none yet".to_owned());
    }
    for (place, part) in page.files.iter().enumerate() {
        let label = if place == 0 { "files" } else { "" };
        lines.push(format!("{label:14}{} ({})", part.name, size(part.bytes)));
    }
    lines.extend(page.checklist.as_ref().map(|list| format!("checklist     {}", progress(list))));
    if page.folder.join(REPORTS).is_dir() {
        lines.push(format!("reports       {}", page.folder.join(REPORTS).display()));
    }
    if let Some(last) = &page.last_run {
        lines.extend(last_run(last, page.active_run.as_deref(), is_damaged));
    }
    if let Some(folder) = &page.run_folder {
        lines.push(format!("run folder    {}", folder.display()));
    }
    lines.push(String::new());
    lines.push(format!("next: {}", page.next));
    lines.join("\n")
}

fn last_run(last: &LastRun, live: Option<&str>, is_damaged: bool) -> Vec<String> {
    let id = &last.id;
    let result = match (&last.sentence, live) {
        (_, Some(live)) if live == id.0 => "is running".to_owned(),
        (Some(sentence), _) => one_line(sentence, MAX_TEXT_CHARS),
        (None, _) if is_damaged => "its result is unknown".to_owned(),
        (None, _) => "crashed".to_owned(),
    };
    let mut facts = vec![count(last.iterations, "iteration"), last.cost_usd.to_string()];
    facts.extend(last.started_at.map(|at| format!("began {at:.0}")));
    let label = if last.outcome.is_some() { "ended" } else { "last event" };
    facts.extend(last.last_at.map(|at| format!("{label} {at:.0}")));
    vec![format!("last run      {id}: {result}"), format!("{:14}{}", "", facts.join(", "))]
}

/// Returns the next step, according to the status of the task.
fn next(task: &Task, standing: &TaskOverview, runs: &ProjectRuns) -> String {
    let name = task.name();
    match standing.status {
        TaskStatus::New => write_instructions(task),
        TaskStatus::Ready => format!(
            "check the instructions with `nightwright task validate {name}`, then start a run: \
             nightwright run {name}"
        ),
        TaskStatus::Running => format!("follow its log: nightwright log -f {name}"),
        TaskStatus::Completed => {
            format!("review the changes, then archive the task: nightwright task archive {name}")
        }
        TaskStatus::Blocked => {
            let last = standing.state.last_run.as_ref();
            let needs = last.and_then(|last| last.sentence.as_deref()).unwrap_or("Blocked");
            let step =
                after_run(standing, runs).unwrap_or_else(|| start_again_hint(task, standing, runs));
            format!("{}; {step}", one_line(needs, MAX_TEXT_CHARS))
        }
        TaskStatus::Stopped
        | TaskStatus::Interrupted
        | TaskStatus::Limit
        | TaskStatus::Stagnated
        | TaskStatus::Unverified
        | TaskStatus::Error => {
            after_run(standing, runs).unwrap_or_else(|| start_again_hint(task, standing, runs))
        }
    }
}

/// The next step of a task without instructions.
pub(super) fn write_instructions(task: &Task) -> String {
    let (name, instructions) = (task.name(), task.relative(INSTRUCTIONS));
    let instructions = instructions.display();
    format!("write `{instructions}` yourself, or with the agent: nightwright task setup {name}")
}

/// Returns the next step that the last run suggests, if its journal still exists.
fn after_run(standing: &TaskOverview, runs: &ProjectRuns) -> Option<String> {
    let id = &standing.state.last_run.as_ref()?.id;
    runs.view(id)?.summary(id).next.first().map(ToString::to_string)
}

/// Returns a hint to start a new run: without its journal, a run cannot be resumed.
fn start_again_hint(task: &Task, standing: &TaskOverview, runs: &ProjectRuns) -> String {
    let name = task.name();
    match &standing.state.last_run {
        Some(LastRun { id, .. }) if runs.damage(id).is_some() => format!(
            "you cannot resume run {id}; read the rest of it with `nightwright report {id}`, then \
             start another: nightwright run {name}"
        ),
        Some(LastRun { id, .. }) => {
            format!("the journal of run {id} does not exist; start another: nightwright run {name}")
        }
        None => format!("start a run: nightwright run {name}"),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..=9999 => format!("{bytes} bytes"),
        10_000..=9_999_999 => format!("{} KB", bytes / 1000),
        10_000_000.. => format!("{} MB", bytes / 1_000_000),
    }
}
