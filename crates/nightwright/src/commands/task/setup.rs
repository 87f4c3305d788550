//! `nightwright task setup`: write the instructions of a task with the agent, in this terminal.

use std::process::ExitCode;

use clap::Args;
use nightwright_core::setup_prompts::SetupPrompt;

use super::conversation::{Conversation, SetupTask};
use crate::commands::context::ProjectArgs;
use crate::commands::values;
use crate::error::Failure;

#[derive(Clone, Debug, Args)]
pub(super) struct SetupArgs {
    /// Name of the task
    #[arg(value_name = "NAME")]
    name: String,

    /// Model for the agent [default: the agent's own choice]
    #[arg(long, value_name = "MODEL", value_parser = values::text)]
    model: Option<String>,

    #[command(flatten)]
    project: ProjectArgs,
}

pub(super) fn setup(options: &SetupArgs) -> Result<ExitCode, Failure> {
    let task = SetupTask::open(&options.project.find()?, &options.name)?;
    if task.instructions()?.is_some() {
        let name = task.name();
        return Err(Failure::usage(format!("the task `{name}` already has instructions"))
            .hint(format!("run `nightwright task edit {name}` to change them")));
    }
    Conversation { task, purpose: SetupPrompt::Setup, model: options.model.clone() }.hold()
}
