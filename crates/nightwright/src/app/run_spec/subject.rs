//! Settings that follow from the task or goal of a run: its mode, and the files of these.

use std::path::Path;

use nightwright_core::mode::{FileLocation, WorkTarget};
use nightwright_core::phrases::familiar;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{EvidenceKind, Files, Settings};

use super::{RequestPurpose, RunRequest};
use crate::config::modes::{self, Mode};
use crate::config::{ConfigLayer, ResolvedConfig};
use crate::error::Failure;
use crate::paste::from_here;
use crate::runtime::evidence_files::EvidenceFiles;
use crate::task::{self, Task};

/// The notes file of a goal without a task.
const SHARED_NOTES: &str = "SHARED_TASK_NOTES.md";

/// Opens the task of a run. A word that names no task never starts a run, so the hint explains how
/// to give a goal of one word.
pub(super) fn open_task(request: &RunRequest, name: &str) -> Result<Task, Failure> {
    let takes_goals = matches!(request.purpose, RequestPurpose::Run | RequestPurpose::Look);
    Task::open(&request.project, name).map_err(|mut failure| {
        let command = request.mode.unwrap_or("run");
        let goal = shell_words::quote(name);
        let or = format!("; for a goal of one word, run `nightwright {command} -p {goal}`");
        if let Some(hint) = failure.hint.as_mut().filter(|_| takes_goals) {
            hint.push_str(&or);
        }
        failure
    })
}

/// Returns the mode that the command implies, else the one of the flag, else the configured one.
/// The configuration does not choose the mode of a goal without a task.
pub(super) fn mode_name(
    request: &RunRequest,
    task: Option<&Task>,
    layers: &[ConfigLayer],
) -> String {
    if let Some(mode) = request.mode {
        return mode.to_owned();
    }
    let mut all = layers.to_vec();
    all.push(request.flags.clone());
    let resolved =
        ResolvedConfig::new(if task.is_some() { all } else { vec![request.flags.clone()] });
    let usual = if task.is_some() { modes::OF_TASKS } else { modes::OF_GOALS };
    resolved.get_text("mode").unwrap_or(usual).to_owned()
}

/// Returns a note if the mode uses prompts of the project instead of the built-in ones.
pub(super) fn own_files_note(mode: &Mode) -> Option<String> {
    let files: Vec<_> = mode.own.iter().map(|file| format!("`{}`", file.display())).collect();
    let Mode { name, .. } = mode;
    (!files.is_empty())
        .then(|| format!("The mode `{name}` uses files of this project: {}.", files.join(", ")))
}

pub(super) fn goal(
    request: &RunRequest,
    mode: &Mode,
    task: Option<&Task>,
) -> Result<String, Failure> {
    let name = &mode.name;
    match (task, &request.goal, mode.definition.works_on) {
        (Some(task), _, _) => task.instructions()?.ok_or_else(|| {
            let (task, file) = (task.name(), task.relative(task::INSTRUCTIONS));
            Failure::usage(from_here(&familiar::no_instructions(task.as_str())))
                .hint(format!("or write `{}` yourself", file.display()))
        }),
        (None, _, WorkTarget::Task) => {
            Err(Failure::usage(format!("the mode `{name}` needs a task"))
                .hint(format!("run `nightwright new NAME --mode {name}` to create a task")))
        }
        (None, Some(goal), WorkTarget::Goal) => Ok(goal.clone()),
        (None, None, WorkTarget::Goal) => mode.definition.goal.clone().ok_or_else(no_goal),
    }
}

pub(crate) fn no_goal() -> Failure {
    Failure::usage("no task or goal given")
        .hint("name a task, or run `nightwright run \"make the tests pass\" -m 10` with your goal")
}

pub(super) fn files_of(mode: &Mode, task: Option<&Task>) -> Result<Files, Failure> {
    let file = |task: &Task, name| task.relative(name).display().to_string();
    let list = match (&mode.definition.list, task) {
        (None, _) => None,
        (Some(list), _) if list.place == FileLocation::Project => Some(list.file.clone()),
        (Some(list), Some(task)) => Some(file(task, &list.file)),
        (Some(list), None) => {
            let name = &mode.name;
            let message = format!("the mode `{name}` needs a task, which contains `{}`", list.file);
            return Err(Failure::usage(message)
                .hint(format!("run `nightwright new NAME --mode {name}` to create a task")));
        }
    };
    Ok(Files {
        task: task.map(|task| file(task, "")),
        status: task.map(|task| file(task, task::STATUS)),
        list,
        principles: None,
    })
}

/// Returns the file for notes. A task has its own, a plan needs none, and a goal uses a file of the
/// project.
pub(super) fn notes_file(mode: &Mode, task: Option<&Task>) -> Option<String> {
    match (task, &mode.definition.list) {
        (Some(task), _) => Some(task.relative(task::NOTES).display().to_string()),
        (None, Some(_)) => None,
        (None, None) => Some(SHARED_NOTES.to_owned()),
    }
}

/// Fails if the mode implements a plan and there is none.
pub(super) fn must_have_plan(
    project: &Path,
    mode: &Mode,
    settings: &Settings,
) -> Result<(), Failure> {
    let evidence = &mode.definition.evidence;
    let has_plan = || {
        let mut files = EvidenceFiles::new(project, &settings.files, evidence, Secrets::default());
        files.read().checklist.is_some()
    };
    if !evidence.contains(&EvidenceKind::Plan) || has_plan() {
        return Ok(());
    }
    let list = settings.files.list.as_deref().unwrap_or("the plan");
    Err(Failure::trouble(from_here(familiar::NO_PLAN))
        .hint(format!("to use your own plan, write it to `{list}` or `impl/README.md`")))
}
