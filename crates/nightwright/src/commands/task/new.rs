//! `nightwright new`: make a new task.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::commands::print;
use crate::commands::select_run::project;
use crate::config::modes;
use crate::error::Failure;
use crate::paste::from_here;
use crate::task::{INSTRUCTIONS, Task, TaskName, template};

/// What the command can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct NewArgs {
    /// What the task is called: letters, digits, `_` and `-`, 64 at most
    #[arg(value_name = "NAME")]
    name: String,

    /// How an iteration works and what says that the work is complete, such as `loop` or
    /// `iterative` [default: the project's]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Begin with the instructions of this template (`nightwright template list`)
    #[arg(long, value_name = "TEMPLATE")]
    from: Option<String>,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
The task is a folder, `.nightwright/tasks/NAME`. What is to be done goes into its INSTRUCTIONS.md: \
`nightwright setup NAME` writes it together with the agent, and any editor will do as well. The \
folder is all there is to a task: it can be committed, copied and changed by hand.

A task that exists is never overwritten.";

pub(crate) fn new(options: &NewArgs) -> Result<ExitCode, Failure> {
    let name = TaskName::parse(&options.name)?;
    let project = project(options.project.as_deref())?;
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
    print(&from_here(&made(&task)?))?;
    Ok(ExitCode::SUCCESS)
}

/// What was made, and what to do with it.
pub(super) fn made(task: &Task) -> Result<String, Failure> {
    let name = task.name();
    let made = format!("made the task `{name}` in `{}`", task.relative("").display());
    let instructions = task.relative(INSTRUCTIONS);
    let instructions = instructions.display();
    Ok(match task.instructions()? {
        None => format!(
            "{made}\n\n\
             Next: say what is to be done, then run it\n  \
             nightwright setup {name}     writes the instructions together with the agent\n  \
             ... or write `{instructions}` yourself\n  \
             nightwright run {name}"
        ),
        Some(_) => format!(
            "{made}\n\n\
             Next: make `{instructions}` say what is to be done here, then run it\n  \
             nightwright edit {name}      changes the instructions together with the agent\n  \
             nightwright run {name}"
        ),
    })
}
