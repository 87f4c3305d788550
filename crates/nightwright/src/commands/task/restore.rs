//! `nightwright task restore`: restore a task from an archive.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::locked_task::LockedTask;
use crate::commands::cli::context::ProjectArgs;
use crate::console::{self, eprint_safe, print_result};
use crate::error::Failure;
use crate::task::archive::{self, RestoredTask};
use crate::task::{Task, TaskName};

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct RestoreArgs {
    /// Name of a task (for its newest archive), or a file in `.nightwright/archive`, or the path of
    /// an archive
    #[arg(value_name = "NAME|ARCHIVE")]
    archive: String,

    /// Replace an existing task without asking, after archiving it
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

const AFTER_HELP: &str = "\
nightwright restores the task completely or not at all, and the archive stays where it is. It \
refuses an archive with entries outside the task folder.

If the task exists, nightwright asks before replacing it. Without a terminal, it replaces the task \
only with --yes. It archives the replaced task first.";

pub(super) fn restore(options: &RestoreArgs) -> Result<ExitCode, Failure> {
    let project = options.project.find()?;
    let found = archive::find(&project, &options.archive)?;
    let replaced = match existing(&project, &found)? {
        Some(name) if options.yes || agrees(&name)? => {
            Some(LockedTask::open(&project, name.as_str())?.archive()?)
        }
        Some(_) | None => None,
    };
    let restored = archive::restore(&project, &found).inspect_err(|_| {
        if let Some(replaced) = &replaced {
            put_back(&project, replaced);
        }
    });
    let RestoredTask { task, warning } = restored?;
    if let Some(warning) = warning {
        eprint_safe(&format!("warning: {warning}"));
    }
    if let Some(replaced) = replaced {
        eprint_safe(&format!("archived the existing task as `{replaced}`"));
    }
    let name = task.name();
    let from = found.strip_prefix(&project).unwrap_or(&found);
    print_result(&format!(
        "restored the task `{name}` from `{}`\nnext: nightwright task show {name}",
        from.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the task that an archive of this project would replace. An archive from elsewhere never
/// replaces one.
fn existing(project: &Path, found: &Path) -> Result<Option<TaskName>, Failure> {
    let Some(file) = found.strip_prefix(project.join(archive::FOLDER)).ok() else {
        return Ok(None);
    };
    let archives = archive::list(project)?.into_iter();
    let name = archives.filter(|archived| Path::new(&archived.file) == file).map(|one| one.name);
    let exists = |name: &TaskName| Task::open(project, name.as_str()).is_ok();
    Ok({ name }.find(exists))
}

fn agrees(name: &TaskName) -> Result<bool, Failure> {
    let question = format!("The task `{name}` exists. Archive it and restore the other one?");
    Ok(console::is_interactive() && console::confirm(&question)?)
}

/// Undoes the archiving of a task whose replacement could not be restored.
fn put_back(project: &Path, archive: &str) {
    if let Err(error) = archive::restore(project, &project.join(archive)) {
        let why = error.message;
        eprint_safe(&format!("warning: cannot put the existing task back from `{archive}`: {why}"));
    }
}
