//! `nightwright completions`: completion scripts for shells.
//!
//! A script contains no commands or options. It asks the installed binary on every key press, so it
//! never goes stale and offers existing tasks, runs, modes and keys.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use super::cli::context::ProjectArgs;
use super::command;
use crate::config::KEYS;
use crate::config::modes;
use crate::console::print;
use crate::error::Failure;
use crate::store::run_dir::{self, RunDir};
use crate::task::{self, archive, template};

/// The variable with which a script requests completions.
const VARIABLE: &str = "NIGHTWRIGHT_COMPLETE";
/// The program that a script runs, found in `PATH`.
const PROGRAM: &str = "nightwright";
/// Code that completes immediately when zsh autoloads the script as the function `_nightwright`.
const ZSH_AUTOLOAD: &str = "\n\nif [ \"$funcstack[1]\" = \"_nightwright\" ]; then\n    \
                            _clap_dynamic_completer_nightwright \"$@\"\nfi";
/// Maximum number of runs that are offered, the newest first.
const RUNS: usize = 50;

#[derive(Clone, Debug, Args)]
pub(super) struct CompletionsArgs {
    /// Shell to generate the script for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn completions(options: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let name = options.shell.to_string();
    let cannot = |why: &str| Failure::trouble(format!("cannot write a script for {name}: {why}"));
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| cannot("unsupported shell"))?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| cannot(&error.to_string()))?;
    let mut script = String::from_utf8_lossy(&script).trim().to_owned();
    if options.shell == Shell::Zsh {
        // When zsh autoloads the script from `fpath`, it calls it for the first completion.
        script.push_str(ZSH_AUTOLOAD);
    }
    print(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a completion request of a script; `None` if there is none.
pub(super) fn requested(arguments: &[OsString]) -> Option<ExitCode> {
    env::var_os(VARIABLE).filter(|shell| !shell.is_empty())?;
    let folder = env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| offered(arguments)).var(VARIABLE);
    match asked.try_complete(arguments, folder.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        // A message would appear in the middle of the command line.
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// Returns the visible commands, with the possible values of their arguments.
fn offered(arguments: &[OsString]) -> Command {
    let project = project(arguments);
    let whole = command();
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let commands = commands.map(|command| with_values(command.clone(), project.as_deref()));
    Command::default()
        .name(PROGRAM)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommands(commands)
}

/// Returns the project that the command line refers to.
fn project(arguments: &[OsString]) -> Option<PathBuf> {
    let after = |option: &str| {
        let at = arguments.iter().rposition(|argument| argument == option)?;
        arguments.get(at + 1).map(PathBuf::from)
    };
    ProjectArgs { project: after("-C").or_else(|| after("--project")) }.find().ok()
}

fn with_values(command: Command, project: Option<&Path>) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|argument| match CompletionValues::of(&name, &argument) {
            Some(values) => {
                let project = project.map(Path::to_owned);
                argument.add(ArgValueCompleter::new(move |start: &OsStr| {
                    values.starting_with(start, project.as_deref())
                }))
            }
            None => match value_name(&argument) {
                "DIR" => argument.value_hint(ValueHint::DirPath),
                "FILE" => argument.value_hint(ValueHint::FilePath),
                _ => argument,
            },
        })
        .mut_subcommands(|inner| with_values(inner, project))
}

/// The kinds of values that are looked up in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompletionValues {
    Tasks,
    /// The ids of runs, and the names of tasks.
    Runs,
    Modes,
    Keys,
    Templates,
    Archives,
    Commands,
}

impl CompletionValues {
    /// Returns the kind of values of an argument, according to its value name.
    fn of(command: &str, argument: &Arg) -> Option<Self> {
        match (value_name(argument), argument.get_id().as_str()) {
            ("TASK", _) if command != "use" => Some(Self::Tasks),
            ("RUN" | "TASK|RUN", _) => Some(Self::Runs),
            ("MODE", _) => Some(Self::Modes),
            ("TEMPLATE", _) if command != "save" => Some(Self::Templates),
            ("NAME|ARCHIVE", _) => Some(Self::Archives),
            ("COMMAND", _) => Some(Self::Commands),
            (_, "key") => Some(Self::Keys),
            // A new task has a name that does not exist yet, and a model is not a task.
            ("NAME", "task" | "name") if command != "new" => Some(Self::Tasks),
            _ => None,
        }
    }

    fn starting_with(self, start: &OsStr, project: Option<&Path>) -> Vec<CompletionCandidate> {
        let Some(start) = start.to_str() else { return Vec::new() };
        let all = self.all(project).into_iter().filter(|value| value.starts_with(start));
        all.map(CompletionCandidate::new).collect()
    }

    /// Returns all values. Unreadable ones are omitted, because completion cannot show errors.
    fn all(self, project: Option<&Path>) -> Vec<String> {
        match self {
            Self::Keys => KEYS.iter().map(|key| key.name.to_owned()).collect(),
            Self::Commands => {
                let root = command();
                let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
                shown.map(|command| command.get_name().to_owned()).collect()
            }
            Self::Tasks => project.map(tasks).unwrap_or_default(),
            Self::Modes => project.map(modes::known).unwrap_or_default(),
            Self::Templates => project.map(templates).unwrap_or_default(),
            Self::Archives => project.map(archives).unwrap_or_default(),
            Self::Runs => {
                let runs = project.map(runs).unwrap_or_default();
                runs.into_iter().chain(project.map(tasks).unwrap_or_default()).collect()
            }
        }
    }
}

fn value_name(argument: &Arg) -> &str {
    argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str())
}

fn tasks(project: &Path) -> Vec<String> {
    let listed = task::list(project).unwrap_or_default().into_iter();
    listed.map(|listed| listed.name).collect()
}

/// Returns the newest runs, the newest first.
fn runs(project: &Path) -> Vec<String> {
    let runs = run_dir::state_of(project)
        .ok()
        .and_then(|home| RunDir::list(&home).ok())
        .unwrap_or_default();
    runs.into_iter().rev().take(RUNS).map(|run| run.0).collect()
}

fn templates(project: &Path) -> Vec<String> {
    let listed = template::list(project).unwrap_or_default().into_iter();
    listed.map(|template| template.name.to_string()).collect()
}

fn archives(project: &Path) -> Vec<String> {
    let listed = archive::list(project).unwrap_or_default().into_iter();
    let names: BTreeSet<_> = listed.map(|archived| archived.name.to_string()).collect();
    names.into_iter().collect()
}
