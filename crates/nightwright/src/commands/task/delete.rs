//! `nightwright task delete`: delete a task, after archiving it.

use std::process::ExitCode;

use clap::Args;

use super::locked_task::LockedTask;
use crate::commands::cli::context::ProjectArgs;
use crate::commands::cli::terminal;
use crate::console::print_result;
use crate::error::Failure;

#[derive(Clone, Debug, Args)]
pub(super) struct DeleteArgs {
    /// Name of the task
    #[arg(value_name = "NAME")]
    name: String,

    /// Delete without asking
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

pub(super) fn delete(options: &DeleteArgs) -> Result<ExitCode, Failure> {
    let locked = LockedTask::find(&options.project, &options.name)?;
    let name = locked.task.name();
    let refusal = || {
        Failure::usage(format!("deleting the task `{name}` needs confirmation"))
            .hint(format!("run `nightwright task delete {name} --yes` to confirm"))
    };
    let question = format!("Delete the task `{name}`? nightwright archives it first.");
    if !terminal::confirm_unless(options.yes, &question, refusal)? {
        return Ok(ExitCode::FAILURE);
    }
    let archive = locked.archive()?;
    print_result(&format!(
        "deleted the task `{name}`; its archive is `{archive}`\n\
         to restore it, run `nightwright task restore {name}`"
    ))?;
    Ok(ExitCode::SUCCESS)
}
