//! `nightwright prompt`: print the prompt of the first iteration of a new run.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nightwright_core::prompt::{self, Briefing, PromptContext};
use nightwright_core::settings::Settings;
use serde::Serialize;

use super::run::{self, RunCommand};
use crate::app::run_spec::{self, RequestPurpose};
use crate::config::principles;
use crate::console::{eprint_safe, print, print_json};
use crate::error::Failure;
use crate::workspace;

#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(super) struct PromptArgs {
    /// Print the addition to the system prompt instead
    #[arg(long)]
    system: bool,

    /// Print one JSON object: {prompt, system, notes}
    #[arg(long, conflicts_with = "system")]
    json: bool,

    #[command(flatten)]
    run: run::RunArgs,
}

#[derive(Debug, Serialize)]
struct PromptPage<'a> {
    prompt: &'a str,
    system: &'a str,
    /// Notes to show to the user.
    notes: &'a [String],
}

pub(super) fn prompt(options: &PromptArgs) -> Result<ExitCode, Failure> {
    let project = options.run.project.find()?;
    let request = run_spec::resolve_run(&options.run.asked(
        RunCommand::Run,
        &project,
        RequestPurpose::Look,
    )?)?;
    let prompt = next(&project, &request.settings)?;
    if options.json {
        let page =
            PromptPage { prompt: &prompt.user, system: &prompt.system, notes: &request.notes };
        print_json(&page)?;
        return Ok(ExitCode::SUCCESS);
    }
    for note in &request.notes {
        eprint_safe(note);
    }
    print(if options.system { prompt.system.trim_end() } else { prompt.user.trim_end() })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the prompt of the first iteration of a new run.
fn next(project: &Path, settings: &Settings) -> Result<prompt::Prompt, Failure> {
    let notes = match &settings.notes_file {
        Some(file) => workspace::read_notes(project, Path::new(file))
            .map_err(|error| Failure::because(&error))?,
        None => None,
    };
    let briefing = Briefing::first(&settings.limits);
    let found = PromptContext { notes, principles: principles::found(project, settings) };
    prompt::compose(settings, &briefing, &found).map_err(|error| Failure::because(&error))
}
