//! `nightwright init`: set up a project.

use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nightwright_core::display::display_safe;

use super::cli::context::ProjectArgs;
use super::cli::terminal::{self, TerminalPrompt};
use crate::app::approval;
use crate::config::principles;
use crate::config::{self, ConfigFile, ResolvedConfig};
use crate::console::{self, advise, eprint_safe, print};
use crate::error::Failure;
use crate::init::ask::describe;
use crate::init::file_plan::{CONFIG, ExistingConfig, check_new};
use crate::init::import::{Import, ImportedUnit};
use crate::init::{InitPlan, InitResult, ProjectScan};
use crate::runtime::effects::check_runner::cannot_start;

#[derive(Clone, Debug, Args)]
pub(super) struct InitArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Use the detected settings without asking, and replace an existing configuration (backup:
    /// `config.toml.bak`)
    #[arg(short, long)]
    yes: bool,

    /// Do not import files of other tools
    #[arg(long)]
    no_import: bool,
}

pub(super) fn init(options: &InitArgs) -> Result<ExitCode, Failure> {
    let (project, which) = options.project.find_new()?;
    if let Some(which) = which {
        eprint_safe(&which);
    }
    let existing = existing_config(&project, options.yes)?;
    check_new(&project, existing)?;
    let mut look = ProjectScan::at(&project, &principles_file(&project)?);
    if options.no_import {
        look.imports = crate::init::import::Imports::default();
    }
    for line in look.lines() {
        eprint_safe(&line);
    }
    for note in &look.imports.notes {
        eprint_safe(&format!("note: {note}"));
    }
    // From here on, Ctrl-C arrives as an answer, so it cannot interrupt between two files.
    let mut terminal = TerminalPrompt::new()?;
    let setup = if options.yes {
        by_default(look)
    } else if !console::is_interactive() {
        eprint_safe("Not a terminal: using the detected commands and the permissions `usual`.");
        by_default(look)
    } else {
        let environment: Vec<_> = env::vars_os().collect();
        let problem = |command: &str| cannot_start(command, &project, &environment);
        match look.ask(&mut terminal, &problem) {
            Ok(setup) => setup,
            Err(gone) => {
                return terminal::cancelled(gone, "use `--yes` to accept the detected values");
            }
        }
    };
    let show = |written: &InitResult| show(written, &setup);
    setup.carry_out(&project, &format!("{:#}\n", config::schema()), existing, show, |project| {
        approve_for_init(project, &setup)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Decides how to handle an existing configuration: it is replaced only if the user agrees.
fn existing_config(project: &Path, yes: bool) -> Result<ExistingConfig, Failure> {
    let question = format!(
        "`{CONFIG}` already exists. Replace it? nightwright keeps the old one as \
         `config.toml.bak`."
    );
    let exists = fs::symlink_metadata(project.join(CONFIG)).is_ok();
    let replace = exists && (yes || console::is_interactive() && console::confirm(&question)?);
    Ok(if replace { ExistingConfig::Kept } else { ExistingConfig::Refused })
}

/// Returns the path of the principles once the project has its new configuration, which does not
/// set it. Empty for none.
fn principles_file(project: &Path) -> Result<String, Failure> {
    // If there is nothing to import, an invalid configuration of the user does not matter.
    if !project.join(principles::FOREIGN).exists() {
        return Ok(principles::USUAL.to_owned());
    }
    let get_env = |name: &str| env::var_os(name);
    let user = ConfigFile::user(get_env).map(|file| file.layer()).transpose()?;
    let layers = user.into_iter().chain([config::environment(get_env)?]);
    Ok(principles::configured(&ResolvedConfig::new(layers)).unwrap_or_default())
}

/// Approves the new configuration and the settings of the imported tasks, because the user has just
/// chosen them. Existing hooks are not approved.
fn approve_for_init(project: &Path, setup: &InitPlan) -> Result<(), Failure> {
    let units = setup.imports.iter().flat_map(|import| &import.units);
    let tasks = units.filter_map(ImportedUnit::task).map(|task| ConfigFile::task(project, task));
    for file in [Ok(ConfigFile::project(project))].into_iter().chain(tasks) {
        approval::approve_settings(project, &file?.layer()?)?;
    }
    Ok(())
}

fn by_default(look: ProjectScan) -> InitPlan {
    for import in &look.imports.imports {
        eprint_safe(&describe(import));
    }
    look.defaults()
}

fn show(written: &InitResult, setup: &InitPlan) -> Result<(), Failure> {
    for note in &written.notes {
        eprint_safe(&format!("note: {note}"));
    }
    eprint_safe("\nWritten:");
    for file in &written.files {
        print(&display_safe(file))?;
    }
    let tests = match &setup.choices.commands.test {
        Some(test) => format!(
            "nightwright accepts a claim only if `{test}` passes (`verify.commands`). This approves the \
             command: nightwright runs it without asking again."
        ),
        None => format!(
            "No test command found: only a model judges the work. To add a check, set \
             `verify.commands` in `{CONFIG}`."
        ),
    };
    let imported = setup
        .imports
        .iter()
        .flat_map(Import::tasks)
        .take(1)
        .map(|name| format!("  {:<43}  an imported task\n", format!("nightwright run {name}")));
    advise(&format!(
        "\n{tests}\n\nNext:\n{}  \
         nightwright run \"make the tests pass\" -m 10  a goal, up to 10 iterations\n  \
         nightwright new NAME                         a task with its own instructions",
        imported.collect::<String>()
    ));
    Ok(())
}
