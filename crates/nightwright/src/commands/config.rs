//! `nightwright config`: show or change the configuration.

mod show;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::cli::context::ProjectArgs;
use crate::app::approval;
use crate::config::modes;
use crate::config::tightening;
use crate::config::{self, ConfigFile, ConfigLayer, ConfigValue, Key, ResolvedConfig, edit};
use crate::console::{eprint_safe, print};
use crate::error::Failure;
use nightwright_core::phrases::familiar;

#[derive(Clone, Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    what: ConfigCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum ConfigCommand {
    /// Print the effective value of a key; exit 1 if it is not set
    Get {
        /// Name of the key, such as `limits.max_cost`
        key: String,
        #[command(flatten)]
        place: ConfigTarget,
        #[command(flatten)]
        format: ConfigFormat,
    },
    /// Set a key for the project, a task or all your projects
    Set {
        /// Name of the key, such as `limits.max_cost`
        key: String,
        /// Value; several for a list, `NAME=VALUE` for variables
        #[arg(required = true, value_name = "VALUE", allow_negative_numbers = true)]
        values: Vec<String>,
        #[command(flatten)]
        place: ConfigTarget,
        #[command(flatten)]
        whose: ConfigScope,
    },
    /// Remove a key from the configuration of the project, a task or all your projects
    Unset {
        /// Name of the key, such as `limits.max_cost`
        key: String,
        #[command(flatten)]
        place: ConfigTarget,
        #[command(flatten)]
        whose: ConfigScope,
    },
    /// List all keys with their effective values and where they come from
    List {
        #[command(flatten)]
        place: ConfigTarget,
        #[command(flatten)]
        format: ConfigFormat,
    },
    /// Explain a key: its allowed values, its value in every layer, and which one wins
    Explain {
        /// Name of the key, such as `limits.max_cost`
        key: String,
        #[command(flatten)]
        place: ConfigTarget,
        #[command(flatten)]
        format: ConfigFormat,
    },
    /// Print the JSON Schema of the configuration files
    Schema,
}

#[derive(Clone, Debug, Args)]
struct ConfigTarget {
    #[command(flatten)]
    project: ProjectArgs,

    /// Read or change the configuration of this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
}

#[derive(Clone, Debug, Args)]
struct ConfigScope {
    /// Change your own configuration, for all projects
    #[arg(long, conflicts_with = "task")]
    user: bool,
}

#[derive(Clone, Copy, Debug, Args)]
struct ConfigFormat {
    /// Print JSON, with durations in seconds and money in US dollars
    #[arg(long)]
    json: bool,
}

impl ConfigArgs {
    /// Whether the command changes the configuration.
    pub(super) fn changes(&self) -> bool {
        matches!(self.what, ConfigCommand::Set { .. } | ConfigCommand::Unset { .. })
    }
}

pub(super) fn config(options: &ConfigArgs) -> Result<ExitCode, Failure> {
    match &options.what {
        ConfigCommand::Get { key, place, format } => {
            show::get(config::look_up(key)?, &place.resolved()?, *format)?;
        }
        ConfigCommand::Set { key, values, place, whose } => {
            set(config::look_up(key)?, values, &place.file(whose)?, place)?;
        }
        ConfigCommand::Unset { key, place, whose } => {
            unset(config::look_up(key)?, &place.file(whose)?)?;
        }
        ConfigCommand::List { place, format } => show::list(&place.resolved()?, *format)?,
        ConfigCommand::Explain { key, place, format } => {
            let key = config::look_up(key)?;
            let (resolved, notes) = place.resolved_with_notes()?;
            show::explain(key, &resolved, *format)?;
            let about = format!(" sets {} = ", key.name);
            for note in notes.iter().filter(|note| note.contains(&about)) {
                eprint_safe(&format!("note: {note}"));
            }
        }
        ConfigCommand::Schema => print(&format!("{:#}", config::schema()))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl ConfigTarget {
    /// Returns the project, and the task if it exists.
    fn find(&self) -> Result<(PathBuf, Option<&str>), Failure> {
        let project = self.project.find()?;
        if let Some(task) = &self.task {
            let file = ConfigFile::task(&project, task)?;
            if !file.path().parent().is_some_and(Path::is_dir) {
                return Err(Failure::usage(familiar::task_not_found(task)));
            }
        }
        Ok((project, self.task.as_deref()))
    }

    /// Returns the effective configuration, including the defaults of the mode.
    fn resolved(&self) -> Result<ResolvedConfig, Failure> {
        Ok(self.resolved_with_notes()?.0)
    }

    /// Returns the same, and why some values of the project do not apply.
    fn resolved_with_notes(&self) -> Result<(ResolvedConfig, Vec<String>), Failure> {
        let (project, task) = self.find()?;
        let layers = config::load(&project, task, variable)?;
        let (layers, notes) = approval::as_it_applies(&project, layers)?;
        let resolved = ResolvedConfig::new(layers.clone());
        let usual = if task.is_some() { modes::OF_TASKS } else { modes::OF_GOALS };
        let mode = resolved.get_text("mode").unwrap_or(usual);
        let mode: ConfigLayer = modes::load(&project, mode)?.defaults;
        Ok((ResolvedConfig::new([mode].into_iter().chain(layers)), notes))
    }

    /// Returns the configuration file to change.
    fn file(&self, whose: &ConfigScope) -> Result<ConfigFile, Failure> {
        let (project, task) = self.find()?;
        match task {
            _ if whose.user => ConfigFile::user(variable).ok_or_else(|| {
                Failure::trouble("cannot find the folder of your configuration")
                    .hint("set `HOME` or `XDG_CONFIG_HOME` to an absolute path")
            }),
            Some(task) => ConfigFile::task(&project, task),
            None => Ok(ConfigFile::project(&project)),
        }
    }
}

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

fn set(
    key: &Key,
    values: &[String],
    file: &ConfigFile,
    place: &ConfigTarget,
) -> Result<(), Failure> {
    let pieces: Vec<&str> = values.iter().map(String::as_str).collect();
    let value = key.kind.parse(&pieces).map_err(|allowed| {
        let shows = pieces.len() == 1 && !key.kind.is_secret();
        let given = if shows { format!(" `{}`", pieces[0]) } else { String::new() };
        Failure::usage(format!("invalid value{given} for `{}`: it must be {allowed}", key.name))
    })?;
    file.set(key, &value)?;
    if key.gated || tightening::is_bound(key.name) {
        approval::approve_setting(&place.project.find()?, &file.layer()?, key.name)?;
    }
    eprint_safe(&format!(
        "{} = {} in {}",
        key.name,
        value.without_secrets(),
        file.path().display()
    ));
    // The user should know if the new value has no effect. Other problems are not reported here.
    if let Ok(resolved) = place.resolved()
        && resolved.value(key.name) != Some(&value)
        && resolved.origin(key.name) != file.origin()
    {
        let (shown, origin) =
            (resolved.value(key.name).map(ConfigValue::without_secrets), resolved.origin(key.name));
        let shown = shown.map_or_else(|| key.unset.to_owned(), |value| value.to_string());
        eprint_safe(&format!("warning: the new value has no effect: {origin} sets it to {shown}"));
    }
    Ok(())
}

fn unset(key: &Key, file: &ConfigFile) -> Result<(), Failure> {
    let path = file.path().display();
    let old = file.read()?.unwrap_or_default();
    match edit::unset(&old, key) {
        Ok(Some(new)) => {
            file.replace(&old, &new)?;
            eprint_safe(&format!("{} is no longer set in {path}", key.name));
        }
        Ok(None) => eprint_safe(&format!("{} is not set in {path}", key.name)),
        Err(_) => file.replace(&old, &old)?,
    }
    Ok(())
}
