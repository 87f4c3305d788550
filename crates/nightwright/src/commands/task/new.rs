//! `nightwright task new`, or `nightwright new`: create a task.

use std::process::ExitCode;

use clap::Args;

use crate::commands::cli::context::ProjectArgs;
use crate::config::modes;
use crate::console::print_result;
use crate::error::Failure;
use crate::task::{INSTRUCTIONS, Task, TaskName, template};

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct NewArgs {
    /// Name of the task: up to 64 letters, digits, `_` and `-`
    #[arg(value_name = "NAME")]
    name: String,

    /// Mode of its runs: loop, iterative, plan, build, prompt, or your own mode [default: the
    /// project's]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Start with the instructions of a template (see `nightwright task template list`)
    #[arg(long, value_name = "TEMPLATE")]
    from: Option<String>,

    #[command(flatten)]
    project: ProjectArgs,
}

const AFTER_HELP: &str = "\
A task is a folder, `.nightwright/tasks/NAME`, with the instructions for the agent in \
INSTRUCTIONS.md. Write that file with `nightwright task setup NAME` or with your editor. You can \
commit, copy and edit the folder like any other.

nightwright never overwrites an existing task.";

pub(crate) fn new(options: &NewArgs) -> Result<ExitCode, Failure> {
    let name = TaskName::parse(&options.name)?;
    let project = options.project.find()?;
    if let Some(mode) = &options.mode {
        modes::check(&project, mode)?;
    }
    let mode = options.mode.as_deref();
    let task = match &options.from {
        None => Task::create(&project, &name, mode, None)?,
        Some(from) => {
            let template = template::find(&project, &template::name(from)?)?;
            template.use_for(&project, &name, mode)?
        }
    };
    print_result(&created(&task)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the message for a new task: its path, and what to do next.
pub(super) fn created(task: &Task) -> Result<String, Failure> {
    let name = task.name();
    let done = format!("created the task `{name}` in `{}`", task.relative("").display());
    let instructions = task.relative(INSTRUCTIONS);
    let instructions = instructions.display();
    let first = match task.instructions()? {
        None => format!(
            "  1. Write the instructions with the agent: nightwright task setup {name}\n     \
             or write `{instructions}` yourself"
        ),
        Some(_) => format!(
            "  1. Adapt the instructions with the agent: nightwright task edit {name}\n     \
             or edit `{instructions}` yourself"
        ),
    };
    Ok(format!("{done}\n\nNext:\n{first}\n  2. Start a run: nightwright run {name}"))
}
