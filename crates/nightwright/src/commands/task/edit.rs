//! `nightwright task edit`: edit the instructions of a task with the agent, in this terminal.

use std::process::ExitCode;

use clap::Args;
use nightwright_core::setup_prompts::SetupPrompt;

use super::conversation::{Conversation, SetupTask, no_instructions};
use crate::commands::context::ProjectArgs;
use crate::commands::values;
use crate::error::Failure;

#[derive(Clone, Debug, Args)]
pub(super) struct EditArgs {
    /// Name of the task
    #[arg(value_name = "NAME")]
    name: String,

    /// Model for the agent [default: the agent's own choice]
    #[arg(long, value_name = "MODEL", value_parser = values::text)]
    model: Option<String>,

    #[command(flatten)]
    project: ProjectArgs,
}

pub(super) fn edit(options: &EditArgs) -> Result<ExitCode, Failure> {
    let task = SetupTask::open(&options.project.find()?, &options.name)?;
    if task.instructions()?.is_none() {
        return Err(no_instructions(&task));
    }
    Conversation { task, purpose: SetupPrompt::Edit, model: options.model.clone() }.hold()
}
