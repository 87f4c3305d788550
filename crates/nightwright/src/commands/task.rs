//! `nightwright task`: create, edit, validate, archive and restore tasks.

mod archive;
mod conversation;
mod delete;
mod edit;
pub(super) mod list;
mod locked_task;
pub(super) mod new;
mod reset;
mod restore;
mod setup;
mod show;
mod template;
mod validate;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::error::Failure;

#[derive(Clone, Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(super) struct TaskArgs {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum TaskCommand {
    /// Create a task
    New(new::NewArgs),
    /// Write the instructions of a task with the agent, in this terminal
    Setup(conversation::ConversationArgs),
    /// Edit the instructions of a task with the agent, in this terminal
    Edit(conversation::ConversationArgs),
    /// Ask the agent whether the instructions of a task are good enough
    Validate(validate::ValidateArgs),
    /// List the tasks of the project
    List(list::ListArgs),
    /// Show the state of a task and what to do next
    Show(show::ShowArgs),
    /// Remove the state, status and notes of a task, but keep its instructions
    Reset(reset::ResetArgs),
    /// Archive a task as one file and remove its folder
    Archive(archive::ArchiveArgs),
    /// Restore a task from an archive
    Restore(restore::RestoreArgs),
    /// Delete a task, after archiving it
    Delete(delete::DeleteArgs),
    /// Manage templates: save instructions and create tasks from them
    Template(template::TemplateArgs),
}

impl TaskArgs {
    /// Whether the command starts a conversation with an agent.
    pub(super) fn is_conversation(&self) -> bool {
        matches!(self.command, TaskCommand::Setup(_) | TaskCommand::Edit(_))
    }
}

pub(super) fn task(options: &TaskArgs) -> Result<ExitCode, Failure> {
    match &options.command {
        TaskCommand::New(options) => new::new(options),
        TaskCommand::Setup(options) => setup::setup(options),
        TaskCommand::Edit(options) => edit::edit(options),
        TaskCommand::Validate(options) => validate::validate(options),
        TaskCommand::List(options) => list::list(options),
        TaskCommand::Show(options) => show::show(options),
        TaskCommand::Reset(options) => reset::reset(options),
        TaskCommand::Archive(options) => archive::archive(options),
        TaskCommand::Restore(options) => restore::restore(options),
        TaskCommand::Delete(options) => delete::delete(options),
        TaskCommand::Template(options) => template::template(options),
    }
}
