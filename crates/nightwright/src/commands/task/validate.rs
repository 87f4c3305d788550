//! `nightwright task validate`: ask the agent whether the instructions of a task are good enough.

mod asking;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use nightwright_core::units::Usd;
use nightwright_core::validation::{self, ValidationPage, ValidationResult};
use serde_json::{Value, json};

use self::asking::ValidationAnswer;
use super::conversation::{SetupTask, no_instructions};
use crate::app::agent_program::AgentProgram;
use crate::app::async_command::{block_on, catch_signals, interrupted};
use crate::commands::cli::context::ProjectArgs;
use crate::commands::cli::values;
use crate::console::{advise, eprint_safe, print};
use crate::error::Failure;
use crate::files;

/// The path of the report, relative to the folder of the task.
const REPORT: &str = "reports/validation-report.md";

#[derive(Clone, Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Name of the task
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    project: ProjectArgs,

    /// Model for the agent [default: the agent's default]
    #[arg(long, value_name = "MODEL", value_parser = values::text)]
    model: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Use the rehearsal agent: spend nothing
    #[arg(long)]
    dry_run: bool,

    /// Script for the rehearsal agent (see `docs/reference/rehearsal.md`)
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    rehearsal: Option<PathBuf>,

    /// Use another agent: any program that reads the prompt from standard input and answers in plain
    /// text
    #[arg(long, value_name = "CMD", value_parser = values::text, conflicts_with_all = ["dry_run", "model"])]
    agent_command: Option<String>,
}

pub(crate) fn validate(options: &ValidateArgs) -> Result<ExitCode, Failure> {
    let project = options.project.find()?;
    let task = SetupTask::open(&project, &options.name)?;
    let Some(instructions) = task.instructions()? else {
        return Err(no_instructions(&task));
    };
    let question = validation::question(&instructions, task.todo()?.as_deref());
    // Checked before anything is spent.
    let report = project.join(task.folder()).join(REPORT);
    files::check_inside(&project, &report).map_err(|error| Failure::because(&error))?;
    let program = program(options, &task)?;
    block_on(async {
        let mut signals = catch_signals()?;
        if !options.json {
            eprint_safe(&format!(
                "Asking the agent to judge the instructions of `{}`...",
                task.name()
            ));
        }
        let asking = asking::ValidationQuestion {
            task: &task,
            program: &program,
            rehearsal: options.rehearsal.as_deref(),
            model: options.model.as_deref(),
            question,
        };
        let Some(judged) = asking.ask(&mut signals).await? else {
            return Ok(interrupted());
        };
        keep(&judged, &task)?;
        show(&judged, &task, options.json)?;
        if program.is_rehearsal() && !options.json {
            eprint_safe(
                "This was a rehearsal: no real agent answered, and its judgment says nothing about \
                 the instructions.",
            );
        }
        Ok(ExitCode::from(u8::from(!judged.result.passes())))
    })
}

fn program(options: &ValidateArgs, task: &SetupTask) -> Result<AgentProgram, Failure> {
    let command = options.agent_command.as_ref().or(task.settings.agent.command.as_ref());
    AgentProgram::choose(options.dry_run, options.rehearsal.as_deref(), command, task.project())
}

fn keep(judged: &ValidationAnswer, task: &SetupTask) -> Result<(), Failure> {
    let cost = judged.cost.to_string();
    let model = judged.model.as_deref();
    let page = ValidationPage { task: task.name(), at: Timestamp::now(), model, cost: &cost };
    task.write(REPORT, &validation::markdown(&judged.result, &page))
}

fn show(judged: &ValidationAnswer, task: &SetupTask, as_json: bool) -> Result<(), Failure> {
    let report = task.folder().join(REPORT);
    let ValidationAnswer { result, cost, model } = judged;
    if as_json {
        let mut all = result.to_json();
        all.insert("task".to_owned(), json!(task.name()));
        all.insert("report".to_owned(), json!(report));
        all.insert("model".to_owned(), json!(model));
        all.insert("cost_usd".to_owned(), json!(cost.amount.map(Usd::dollars)));
        all.insert("cost_estimated".to_owned(), json!(cost.estimated));
        return print(&format!("{:#}", Value::Object(all)));
    }
    // The table escapes the agent's strings, line by line.
    print(validation::table(result).trim_end())?;
    eprint_safe(&format!("The report is `{}`; {cost}.", report.display()));
    advise(&next(result, task.name()));
    Ok(())
}

fn next(result: &ValidationResult, name: &str) -> String {
    if result.passes() {
        format!("Next: `nightwright run {name}`")
    } else {
        format!(
            "Next: `nightwright task edit {name}`, then `nightwright task validate {name}` again"
        )
    }
}
