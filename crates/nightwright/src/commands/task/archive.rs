//! `nightwright task archive`: archive a task as one file and remove its folder.

use std::process::ExitCode;

use clap::Args;

use super::locked_task::LockedTask;
use crate::commands::cli::context::ProjectArgs;
use crate::console::print_result;
use crate::error::Failure;

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct ArchiveArgs {
    /// Name of the task
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    project: ProjectArgs,
}

const AFTER_HELP: &str = "\
The archive is `.nightwright/archive/NAME-YYYYMMDDTHHMMSS.mmmZ.tar.gz`. nightwright removes the \
task folder only after it has written, synced and read back the archive. It archives symbolic \
links as links.

`nightwright task restore NAME` restores the task, so nightwright does not ask for confirmation.";

pub(super) fn archive(options: &ArchiveArgs) -> Result<ExitCode, Failure> {
    let locked = LockedTask::find(&options.project, &options.name)?;
    let archive = locked.archive()?;
    let name = locked.task.name();
    print_result(&format!(
        "archived the task `{name}` as `{archive}`\nto restore it, run `nightwright task restore {name}`"
    ))?;
    Ok(ExitCode::SUCCESS)
}
