//! The life of a task: `nightwright reset`, `archive`, `restore` and `delete`.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use nightwright_core::display::display_safe;

use super::which::project;
use super::{print, say};
use crate::error::Failure;
use crate::files::Removed;
use crate::paste::from_here;
use crate::task::archive::{self, PutAway, Restored};
use crate::task::{INSTRUCTIONS, InUse, Runs, State, TODO, Task, reset};

/// What `reset` can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = RESET_HELP)]
pub(super) struct ResetOptions {
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
pub(super) struct ArchiveOptions {
    /// The task
    #[arg(value_name = "NAME")]
    name: String,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
}

const ARCHIVE_HELP: &str = "\
The task's folder becomes `.nightwright/archive/NAME-YYYYMMDDTHHMMSSZ.tar.gz`. It is removed only \
after the archive was written, synced and read back. Links are kept as links.

`nightwright restore NAME` brings it back.";

/// What `restore` can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = RESTORE_HELP)]
pub(super) struct RestoreOptions {
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
pub(super) struct DeleteOptions {
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

pub(super) fn reset(options: &ResetOptions) -> Result<ExitCode, Failure> {
    let Ours { task, runs, .. } = &ours(options.project.as_deref(), &options.name)?;
    let name = task.name();
    let todo = if options.todo { reset::Boxes::Open } else { reset::Boxes::Keep };
    let there = reset::what_goes(task);
    let ticked = reset::boxes_to_open(task, todo)?;
    let (would, does) =
        (losses("remove", "open", &there, ticked), losses("removes", "opens", &there, ticked));
    if !options.yes && !would.is_empty() {
        if !io::stdin().is_terminal() {
            let flag = if options.todo { " --todo" } else { "" };
            return Err(Failure::usage(format!("resetting the task `{name}` would {would}"))
                .hint(format!("if that is meant: nightwright reset {name}{flag} --yes")));
        }
        say(&format!("Resetting the task `{name}` {does}. Go on? [y/N]"));
        if !agreed()? {
            say("nothing was changed");
            return Ok(ExitCode::FAILURE);
        }
    }
    reset::reset(task, runs, todo)?;
    let gone = if there.is_empty() {
        "nothing else had to go".to_owned()
    } else {
        there.join(", ") + " removed"
    };
    let boxes = match todo {
        reset::Boxes::Keep => "stay",
        reset::Boxes::Open => "stay, its boxes open",
    };
    tell(&format!(
        "reset the task `{name}`: counters at 0, {gone}; {INSTRUCTIONS} and {TODO} {boxes}\n\
         next: nightwright run {name}"
    ))
}

pub(super) fn archive(options: &ArchiveOptions) -> Result<ExitCode, Failure> {
    let ours = ours(options.project.as_deref(), &options.name)?;
    let archive = put_away(&ours)?;
    let name = ours.task.name();
    tell(&format!(
        "archived the task `{name}` as `{archive}`\nto bring it back: nightwright restore {name}"
    ))
}

pub(super) fn restore(options: &RestoreOptions) -> Result<ExitCode, Failure> {
    let project = project(options.project.as_deref())?;
    let found = archive::find(&project, &options.archive)?;
    let Restored { task, warning } = archive::restore(&project, &found)?;
    if let Some(warning) = warning {
        say(&format!("warning: {warning}"));
    }
    let name = task.name();
    let from = found.strip_prefix(&project).unwrap_or(&found);
    tell(&format!(
        "restored the task `{name}` from `{}`, which stays\nnext: nightwright show {name}",
        from.display()
    ))
}

pub(super) fn delete(options: &DeleteOptions) -> Result<ExitCode, Failure> {
    let ours = ours(options.project.as_deref(), &options.name)?;
    let name = ours.task.name();
    if !options.force {
        return Err(Failure::usage(format!("`nightwright delete {name}` needs --force")).hint(format!(
            "the task is archived before it is removed; `nightwright restore {name}` brings it back"
        )));
    }
    let archive = put_away(&ours)?;
    tell(&format!(
        "deleted the task `{name}`; it is kept as `{archive}`\n\
         to bring it back: nightwright restore {name}"
    ))
}

/// A task that nobody else works on as long as this lives.
struct Ours {
    task: Task,
    /// The runs there are.
    runs: Runs,
    _in_use: InUse,
}

/// Takes a task for ourselves.
fn ours(folder: Option<&Path>, name: &str) -> Result<Ours, Failure> {
    let project = project(folder)?;
    let task = Task::open(&project, name)?;
    // Asked first, because it can say which run it is.
    Runs::of(&project)?.must_rest(task.name())?;
    let in_use = InUse::take(&project, task.name())?;
    // Whoever had it until now may have changed everything.
    let task = Task::open(&project, name)?;
    let runs = Runs::of(&project)?;
    runs.must_rest(task.name())?;
    Ok(Ours { task, runs, _in_use: in_use })
}

/// What a reset takes away, after these words for it; nothing, if it takes nothing away.
fn losses(remove: &str, open: &str, files: &[&str], boxes: usize) -> String {
    let mut all = Vec::new();
    if !files.is_empty() {
        all.push(format!("{remove} {}", files.join(", ")));
    }
    if boxes > 0 {
        let noun = if boxes == 1 { "box" } else { "boxes" };
        all.push(format!("{open} {boxes} ticked {noun} of {TODO} again"));
    }
    all.join(" and ")
}

/// Archives and removes a task; gives the archive's name.
fn put_away(Ours { task, runs, .. }: &Ours) -> Result<String, Failure> {
    // A state that can't be noted is put away as it is.
    match State::settle(task, runs) {
        Ok(None) => {}
        Ok(Some(warning)) => say(&format!("warning: {warning}")),
        Err(error) => {
            say(&format!("warning: the state of the task is not noted: {}", error.message));
        }
    }
    let PutAway { archive, folder } = archive::put_away(task, Timestamp::now())?;
    warn_of_rest(&folder);
    Ok(archive.display().to_string())
}

/// Says where the rest of a folder is that could not be removed wholly.
pub(super) fn warn_of_rest(folder: &Removed) {
    match folder {
        Removed::Wholly => {}
        Removed::Leaving(rest) => say(&format!(
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

fn tell(text: &str) -> Result<ExitCode, Failure> {
    print(&display_safe(&from_here(text)))?;
    Ok(ExitCode::SUCCESS)
}
