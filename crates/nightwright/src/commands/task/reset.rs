//! `nightwright task reset`: remove the state, status and notes of a task, keep its instructions.

use std::process::ExitCode;

use clap::Args;

use super::locked_task::LockedTask;
use super::show::write_instructions;
use crate::commands::cli::context::ProjectArgs;
use crate::commands::cli::terminal;
use crate::console::print_result;
use crate::error::Failure;
use crate::task::{INSTRUCTIONS, TODO, reset};

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct ResetArgs {
    /// Name of the task
    #[arg(value_name = "NAME")]
    name: String,

    /// Also uncheck all checkboxes in TODO.md
    #[arg(long)]
    todo: bool,

    /// Reset without asking
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

const AFTER_HELP: &str = "\
The next run starts as if it were the first.

Removed:  NOTES.md, feedback.md, reports/, .status.json, .stop, and the counters in .state.json
Kept:     INSTRUCTIONS.md, TODO.md (with its checked checkboxes, unless you add --todo), task.toml,
          .status-instructions.md, every other file, and the journals of earlier runs

You cannot reset a task while a run works on it. Without a terminal, add --yes.";

pub(super) fn reset(options: &ResetArgs) -> Result<ExitCode, Failure> {
    let LockedTask { task, runs, .. } = &LockedTask::find(&options.project, &options.name)?;
    let name = task.name();
    let todo = if options.todo { reset::ChecklistReset::Open } else { reset::ChecklistReset::Keep };
    let files = reset::removed_by_reset(task);
    let losses = losses(&files, reset::items_to_uncheck(task, todo)?);
    let refusal = || {
        let flag = if options.todo { " --todo" } else { "" };
        Failure::usage(format!("resetting the task `{name}` would {losses}"))
            .hint(format!("run `nightwright task reset {name}{flag} --yes` to confirm"))
    };
    let question = format!("Reset the task `{name}` ({losses})?");
    if !terminal::confirm_unless(options.yes || losses.is_empty(), &question, refusal)? {
        return Ok(ExitCode::FAILURE);
    }
    reset::reset(task, runs, todo)?;
    let removed = match files.as_slice() {
        [] => String::new(),
        files => format!("; removed {}", files.join(", ")),
    };
    let checklist = match todo {
        reset::ChecklistReset::Keep => "",
        reset::ChecklistReset::Open => " with every checkbox unchecked",
    };
    let kept = [(INSTRUCTIONS, ""), (TODO, checklist)]
        .into_iter()
        .filter(|(file, _)| task.path(file).exists())
        .map(|(file, how)| format!("{file}{how}"))
        .collect::<Vec<_>>();
    let kept = match kept.as_slice() {
        [] => String::new(),
        files => format!("; kept {}", files.join(" and ")),
    };
    let next = match task.instructions()? {
        Some(_) => format!("nightwright run {name}"),
        None => write_instructions(task),
    };
    print_result(&format!("reset the task `{name}`{removed}{kept}\nnext: {next}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Describes what a reset removes; empty if there is nothing to remove.
fn losses(files: &[&str], checked: usize) -> String {
    let mut all = Vec::new();
    if !files.is_empty() {
        all.push(format!("remove {}", files.join(", ")));
    }
    if checked > 0 {
        let noun = if checked == 1 { "checkbox" } else { "checkboxes" };
        all.push(format!("uncheck {checked} {noun} in {TODO}"));
    }
    all.join(" and ")
}
