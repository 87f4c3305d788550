//! `nightwright task edit`: edit the instructions of a task with the agent, in this terminal.

use std::process::ExitCode;

use nightwright_core::setup_prompts::SetupPrompt;

use super::conversation::{Conversation, ConversationArgs, SetupTask, no_instructions};
use crate::error::Failure;

pub(super) fn edit(options: &ConversationArgs) -> Result<ExitCode, Failure> {
    let task = SetupTask::open(&options.project.find()?, &options.name)?;
    if task.instructions()?.is_none() {
        return Err(no_instructions(&task));
    }
    Conversation { task, purpose: SetupPrompt::Edit, model: options.model.clone() }.hold()
}
