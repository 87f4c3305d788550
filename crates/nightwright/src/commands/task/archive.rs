//! The life of a task: `nightwright reset`, `archive`, `restore` and `delete`.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use nightwright_core::display::display_safe;

use crate::commands::select_run::project;
use crate::commands::{eprint_safe, print};
use crate::error::Failure;
use crate::files::Removed;
use crate::paste::from_here;
use crate::task::archive::{self, ArchivedTask, RestoredTask};
use crate::task::{INSTRUCTIONS, ProjectRuns, TODO, Task, TaskLock, TaskState, reset};

/// What `reset` can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = RESET_HELP)]
pub(crate) struct ResetArgs {
    /// The task
    #[arg(value_name = "NAME")]
    name: String,

    /// Open every box of TODO.md again, too
    #[arg(long)]
    todo: bool,

    /// Don't ask
    #[arg(short = 'y', long)]
    yes: bool,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
}

const RESET_HELP: &str = "\
The next run begins as if there had been none before it.

Goes:   NOTES.md, feedback.md, reports/, .status.json, .stop, and the counters in .state.json
Stays:  INSTRUCTIONS.md, TODO.md (with its ticks, unless --todo is given), task.toml,
        .status-instructions.md, every other file, and the journals of the runs so far

A task that a run is working on is not touched. Without a terminal to ask on, --yes is needed.";

/// What `archive` can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = ARCHIVE_HELP)]
pub(crate) struct ArchiveArgs {
    /// The task
    #[arg(value_name = "NAME")]
    name: String,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
}

const ARCHIVE_HELP: &str = "\
The task's folder becomes `.nightwright/archive/NAME-YYYYMMDDTHHMMSS.mmmZ.tar.gz`. It is removed only \
after the archive was written, synced and read back. Links are kept as links.

`nightwright restore NAME` brings it back.";

/// What `restore` can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = RESTORE_HELP)]
pub(crate) struct RestoreArgs {
    /// A task's name (its newest archive), the name of a file in `.nightwright/archive`, or the path
    /// of an archive
    #[arg(value_name = "NAME|ARCHIVE")]
    archive: String,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
}

const RESTORE_HELP: &str = "\
The task comes back as it was, all of it or nothing; the archive stays where it is. A task that \
exists is never overwritten. An archive with anything in it that would end up outside of the \
task's folder is refused.";

/// What `delete` can be told.
#[derive(Clone, Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The task
    #[arg(value_name = "NAME")]
    name: String,

    /// Do it: the task is archived first, and can be brought back with `nightwright restore NAME`
    #[arg(short, long)]
    force: bool,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
}

pub(crate) fn reset(options: &ResetArgs) -> Result<ExitCode, Failure> {
    let LockedTask { task, runs, .. } = &lock_task(options.project.as_deref(), &options.name)?;
    let name = task.name();
    let todo = if options.todo { reset::ChecklistReset::Open } else { reset::ChecklistReset::Keep };
    let there = reset::removed_by_reset(task);
    let ticked = reset::items_to_uncheck(task, todo)?;
    let (would, does) =
        (losses("remove", "open", &there, ticked), losses("removes", "opens", &there, ticked));
    if !options.yes && !would.is_empty() {
        if !io::stdin().is_terminal() {
            let flag = if options.todo { " --todo" } else { "" };
            return Err(Failure::usage(format!("resetting the task `{name}` would {would}"))
                .hint(format!("if that is meant: nightwright reset {name}{flag} --yes")));
        }
        eprint_safe(&format!("Resetting the task `{name}` {does}. Go on? [y/N]"));
        if !agreed()? {
            eprint_safe("nothing was changed");
            return Ok(ExitCode::FAILURE);
        }
    }
    reset::reset(task, runs, todo)?;
    let gone = if there.is_empty() {
        "nothing else had to go".to_owned()
    } else {
        there.join(", ") + " removed"
    };
    let checklist = match todo {
        reset::ChecklistReset::Keep => "stay",
        reset::ChecklistReset::Open => "stay, its boxes open",
    };
    report(&format!(
        "reset the task `{name}`: counters at 0, {gone}; {INSTRUCTIONS} and {TODO} {checklist}\n\
         next: nightwright run {name}"
    ))
}

pub(crate) fn archive(options: &ArchiveArgs) -> Result<ExitCode, Failure> {
    let ours = lock_task(options.project.as_deref(), &options.name)?;
    let archive = archive_and_remove(&ours)?;
    let name = ours.task.name();
    report(&format!(
        "archived the task `{name}` as `{archive}`\nto bring it back: nightwright restore {name}"
    ))
}

pub(crate) fn restore(options: &RestoreArgs) -> Result<ExitCode, Failure> {
    let project = project(options.project.as_deref())?;
    let found = archive::find(&project, &options.archive)?;
    let RestoredTask { task, warning } = archive::restore(&project, &found)?;
    if let Some(warning) = warning {
        eprint_safe(&format!("warning: {warning}"));
    }
    let name = task.name();
    let from = found.strip_prefix(&project).unwrap_or(&found);
    report(&format!(
        "restored the task `{name}` from `{}`, which stays\nnext: nightwright show {name}",
        from.display()
    ))
}

pub(crate) fn delete(options: &DeleteArgs) -> Result<ExitCode, Failure> {
    let ours = lock_task(options.project.as_deref(), &options.name)?;
    let name = ours.task.name();
    if !options.force {
        return Err(Failure::usage(format!("`nightwright delete {name}` needs --force")).hint(format!(
            "the task is archived before it is removed; `nightwright restore {name}` brings it back"
        )));
    }
    let archive = archive_and_remove(&ours)?;
    report(&format!(
        "deleted the task `{name}`; it is kept as `{archive}`\n\
         to bring it back: nightwright restore {name}"
    ))
}

/// A task that nobody else works on as long as this lives.
struct LockedTask {
    task: Task,
    /// The runs there are.
    runs: ProjectRuns,
    _in_use: TaskLock,
}

/// Takes a task for ourselves.
fn lock_task(folder: Option<&Path>, name: &str) -> Result<LockedTask, Failure> {
    let project = project(folder)?;
    let task = Task::open(&project, name)?;
    // Asked first, because it can say which run it is.
    ProjectRuns::of(&project)?.require_idle(task.name())?;
    let in_use = TaskLock::take(&project, task.name())?;
    // Whoever had it until now may have changed everything.
    let task = Task::open(&project, name)?;
    let runs = ProjectRuns::of(&project)?;
    runs.require_idle(task.name())?;
    Ok(LockedTask { task, runs, _in_use: in_use })
}

/// What a reset takes away, after these words for it; nothing, if it takes nothing away.
fn losses(remove: &str, open: &str, files: &[&str], checklist: usize) -> String {
    let mut all = Vec::new();
    if !files.is_empty() {
        all.push(format!("{remove} {}", files.join(", ")));
    }
    if checklist > 0 {
        let noun = if checklist == 1 { "box" } else { "boxes" };
        all.push(format!("{open} {checklist} ticked {noun} of {TODO} again"));
    }
    all.join(" and ")
}

/// Archives and removes a task; gives the archive's name.
fn archive_and_remove(LockedTask { task, runs, .. }: &LockedTask) -> Result<String, Failure> {
    // A state that can't be noted is put away as it is.
    match TaskState::settle(task, runs) {
        Ok(None) => {}
        Ok(Some(warning)) => eprint_safe(&format!("warning: {warning}")),
        Err(error) => {
            eprint_safe(&format!("warning: the state of the task is not noted: {}", error.message));
        }
    }
    let ArchivedTask { archive, folder } = archive::archive_task(task, Timestamp::now())?;
    warn_about_leftovers(&folder);
    Ok(archive.display().to_string())
}

/// Says where the rest of a folder is that could not be removed wholly.
pub(super) fn warn_about_leftovers(folder: &Removed) {
    match folder {
        Removed::Wholly => {}
        Removed::Leaving(rest) => eprint_safe(&format!(
            "warning: some of the folder could not be removed and is now in `{}`",
            rest.display()
        )),
    }
}

fn agreed() -> Result<bool, Failure> {
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::trouble(format!("can't read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn report(text: &str) -> Result<ExitCode, Failure> {
    print(&display_safe(&from_here(text)))?;
    Ok(ExitCode::SUCCESS)
}
