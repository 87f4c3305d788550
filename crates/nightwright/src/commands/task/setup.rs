//! `nightwright task setup`: write the instructions of a task with the agent, in this terminal.

use std::process::ExitCode;

use nightwright_core::setup_prompts::SetupPrompt;

use super::conversation::{Conversation, ConversationArgs, SetupTask};
use crate::error::Failure;

pub(super) fn setup(options: &ConversationArgs) -> Result<ExitCode, Failure> {
    let task = SetupTask::open(&options.project.find()?, &options.name)?;
    if task.instructions()?.is_some() {
        let name = task.name();
        return Err(Failure::usage(format!("the task `{name}` already has instructions"))
            .hint(format!("run `nightwright task edit {name}` to change them")));
    }
    Conversation { task, purpose: SetupPrompt::Setup, model: options.model.clone() }.hold()
}
