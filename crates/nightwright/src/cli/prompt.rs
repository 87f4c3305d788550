//! `nightwright prompt`: what the next iteration would be told.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nightwright_core::event::IterationKind;
use nightwright_core::prompt::{self, Briefing, Found, Left};
use nightwright_core::settings::Settings;
use nightwright_core::units::Iteration;
use serde::Serialize;

use super::run::{self, Command};
use super::told::{self, Purpose};
use super::{print, say, which};
use crate::error::Failure;
use crate::principles;
use crate::workspace;

/// What the command can be told: what a run can be told.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(super) struct Options {
    /// Print what is added to the agent's system prompt instead
    #[arg(long)]
    system: bool,

    /// Print one JSON object: {prompt, system, notes}
    #[arg(long, conflicts_with = "system")]
    json: bool,

    #[command(flatten)]
    run: run::Options,
}

/// What the next iteration would be told.
#[derive(Debug, Serialize)]
struct Page<'a> {
    prompt: &'a str,
    system: &'a str,
    /// What people should know.
    notes: &'a [String],
}

pub(super) fn prompt(options: &Options) -> Result<ExitCode, Failure> {
    let project = which::project(options.run.project.as_deref())?;
    let told = told::told(&options.run.asked(Command::Run, &project, Purpose::Look)?)?;
    let prompt = next(&project, &told.settings)?;
    if options.json {
        let page = Page { prompt: &prompt.user, system: &prompt.system, notes: &told.notes };
        super::print_json(&page)?;
        return Ok(ExitCode::SUCCESS);
    }
    for note in &told.notes {
        say(note);
    }
    print(if options.system { prompt.system.trim_end() } else { prompt.user.trim_end() })?;
    Ok(ExitCode::SUCCESS)
}

/// What the first iteration of a new run would be told.
fn next(project: &Path, settings: &Settings) -> Result<prompt::Prompt, Failure> {
    let notes = match &settings.notes_file {
        Some(file) => workspace::read_notes(project, Path::new(file))
            .map_err(|error| Failure::because(&error))?,
        None => None,
    };
    let limits = &settings.limits;
    let briefing = Briefing {
        iteration: Iteration(1),
        kind: IterationKind::Work,
        last: limits.max_iterations == Some(1),
        cut_off: false,
        shorten: false,
        feedback: Vec::new(),
        decisions: Vec::new(),
        previous: None,
        left: Left {
            iterations: limits.max_iterations,
            cost: limits.max_cost,
            duration: limits.max_duration,
            tokens: limits.max_tokens,
        },
    };
    let found = Found { notes, principles: principles::found(project, settings) };
    prompt::compose(settings, &briefing, &found).map_err(|error| Failure::because(&error))
}
