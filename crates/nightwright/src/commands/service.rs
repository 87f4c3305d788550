//! `nightwright service`: a systemd unit that resumes a run after a reboot.

mod systemd;

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use nightwright_core::stream::dialect::Dialect;

use super::cli::context::ProjectArgs;
use super::cli::select_run::RunSelector;
use crate::agent::environment;
use crate::config::{self, ResolvedConfig};
use crate::console::{self, eprint_safe, print};
use crate::error::Failure;
use crate::files;
use crate::process::{self, CapturedCommand, CapturedEnd};
use crate::task::{Task, TaskName};

/// The text that identifies a unit of nightwright.
const UNIT_HEADER: &str = "Made by `nightwright service install`";

/// Variables that locate programs, state and configuration. If they are set, the unit needs them to
/// find the run.
const PLACES: [&str; 6] = [
    "PATH",
    "NIGHTWRIGHT_STATE_DIR",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "CLAUDE_CONFIG_DIR",
];
/// Variables that the service manager sets itself, or that are meaningless without a terminal.
const USUAL: [&str; 10] = [
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TERM",
    "TMPDIR",
    "COLORTERM",
    "XDG_RUNTIME_DIR",
];
/// Prefixes of further such variables.
const USUAL_BEGINNINGS: [&str; 3] = ["LC_", "XDG_SESSION_", "XDG_DATA_"];

/// The timeout of a `systemctl` command.
const MANAGER_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of its output that are kept.
const ANSWER: usize = 64 << 10;

#[derive(Clone, Debug, Args)]
pub(super) struct ServiceArgs {
    #[command(subcommand)]
    action: ServiceCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum ServiceCommand {
    /// Install a systemd unit that resumes the run of a task after a reboot
    Install(InstallArgs),
    /// Remove an installed unit
    Remove(RemoveArgs),
}

#[derive(Clone, Debug, Args)]
struct InstallArgs {
    /// Task whose last run the unit resumes, or a run that has not ended [default: the task of the
    /// active or last run; without a task, that run]
    #[arg(value_name = "TASK|RUN")]
    which: Option<String>,

    /// Name of the unit after `nightwright-` [default: the task, or the run]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Print the unit, and write nothing
    #[arg(long, conflicts_with_all = ["yes", "enable"])]
    print: bool,

    /// Replace an existing unit of another project or program without asking
    #[arg(short, long)]
    yes: bool,

    /// Enable the unit
    #[arg(long)]
    enable: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Clone, Debug, Args)]
struct RemoveArgs {
    /// Name of the unit: the task, the run, or the value of `--name`
    #[arg(value_name = "NAME")]
    name: String,
}

/// The contents of a systemd unit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServiceUnit {
    name: String,
    program: String,
    project: String,
    /// The task or the run to resume.
    run: String,
    environment: Vec<(String, String)>,
}

impl ServiceUnit {
    /// Returns the command of the unit. It does nothing unless a run crashed.
    fn command(&self) -> [&str; 6] {
        [&self.program, "resume", "--if-needed", "-C", &self.project, &self.run]
    }
}

/// Returns the program in a form that a unit accepts.
fn startable(program: String) -> Result<String, Failure> {
    if !systemd::starts(&program) {
        let message = format!(
            "cannot install the service: the path of nightwright contains a quote: `{program}`"
        );
        return Err(Failure::trouble(message).hint("move nightwright to another folder"));
    }
    Ok(program)
}

fn file_of(name: &str) -> Result<PathBuf, Failure> {
    systemd::file(name, env::var_os).ok_or_else(|| {
        Failure::trouble("`HOME` is not an absolute path")
            .hint("set HOME: user services are files in your home folder")
    })
}

pub(super) fn service(options: &ServiceArgs) -> Result<ExitCode, Failure> {
    match &options.action {
        ServiceCommand::Install(options) => install(options),
        ServiceCommand::Remove(options) => remove(options),
    }
}

fn install(options: &InstallArgs) -> Result<ExitCode, Failure> {
    let project = options.project.find()?;
    let (run, task) = run_and_task(options, &project)?;
    let what = match &task {
        Some(task) if *task == run => format!("the last run of the task `{task}`"),
        Some(_) | None => format!("the run {run}, and no later one"),
    };
    let name = match &options.name {
        Some(name) => TaskName::of("service", name)?.as_str().to_owned(),
        None => run.clone(),
    };
    let service = ServiceUnit {
        name: name.clone(),
        program: startable(plain("the nightwright program", &own_program()?)?)?,
        project: plain("the project", &project)?,
        run,
        environment: places(env::var_os)?,
    };
    let text = systemd::unit(&service);
    if options.print {
        print(text.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = file_of(&name)?;
    confirm_replacing(&file, &service.project, options.yes)?;
    write(&file, &text)?;
    print(&format!("wrote {}: after a reboot or a crash, it resumes {what}", file.display()))?;
    let commands = systemd::commands(&name);
    if options.enable {
        commands.iter().try_for_each(|command| carry_out(command))?;
    } else {
        let lines: Vec<_> = commands.iter().map(shell_words::join).collect();
        eprint_safe(&format!("To enable it:\n  {}", lines.join("\n  ")));
    }
    eprint_safe("To let it start before you log in:\n  loginctl enable-linger");
    if let Some(hint) = missing(&project, task.as_deref())? {
        eprint_safe(&hint);
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the selected task or run, and the task it belongs to.
fn run_and_task(
    options: &InstallArgs,
    project: &Path,
) -> Result<(String, Option<String>), Failure> {
    if let Some(name) = &options.which
        && let Ok(task) = Task::open(project, name)
    {
        let name = task.name().as_str().to_owned();
        return Ok((name.clone(), Some(name)));
    }
    let which = RunSelector { run: options.which.clone(), project: options.project.clone() };
    let found = which.find()?;
    let view = found.view()?;
    let task = view.facts.and_then(|facts| facts.task);
    if let (None, Some(task)) = (&options.which, &task) {
        return Ok((task.clone(), Some(task.clone())));
    }
    let run = found.folder.id();
    if view.finished.is_some() {
        return Err(Failure::trouble(format!(
            "cannot install a service for run {run}: it has ended"
        ))
        .hint("install it while a run is active, or for a task, whose later runs it resumes"));
    }
    Ok((run.0.clone(), task))
}

fn own_program() -> Result<PathBuf, Failure> {
    env::current_exe()
        .map_err(|error| Failure::trouble(format!("cannot find the nightwright program: {error}")))
}

/// Returns a path as text. Fails if it contains characters that would break the unit file.
fn plain(what: &str, path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let refused = |why: &str| {
        Failure::trouble(format!("cannot install the service: the path of {what} {why}: `{shown}`"))
    };
    let text = path.to_str().ok_or_else(|| refused("is not UTF-8"))?;
    if text.chars().any(char::is_control) {
        return Err(refused("contains control characters"));
    }
    if text.ends_with(['\\', ' ']) {
        return Err(refused("ends with a space or a backslash"));
    }
    Ok(text.to_owned())
}

/// Returns the current values of the variables that locate files.
fn places(
    variable: impl Fn(&'static str) -> Option<OsString>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut all = Vec::new();
    for name in PLACES {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            all.push((name.to_owned(), plain(&format!("`{name}`"), Path::new(&value))?));
        }
    }
    Ok(all)
}

/// Returns why replacing this file needs confirmation; a unit of nightwright for the same project
/// needs none.
fn conflict(file: &Path, project: &str) -> Result<Option<String>, Failure> {
    let shown = file.display();
    Ok(match there(file)? {
        None => None,
        Some(text) if !text.contains(UNIT_HEADER) => {
            Some(format!("`{shown}` already exists, and nightwright did not write it"))
        }
        Some(text) => systemd::project(&text)
            .filter(|other| other != project)
            .map(|other| format!("`{shown}` already exists, and it is for `{other}`")),
    })
}

/// Asks before replacing a file of another project or program.
fn confirm_replacing(file: &Path, project: &str, yes: bool) -> Result<(), Failure> {
    let Some(problem) = conflict(file, project)?.filter(|_| !yes) else { return Ok(()) };
    if console::is_interactive() && console::confirm(&format!("{problem}. Replace it?"))? {
        return Ok(());
    }
    Err(Failure::trouble(problem).hint("choose another name with --name, or replace it with --yes"))
}

/// Returns the contents of a file; `None` if it does not exist.
fn there(file: &Path) -> Result<Option<String>, Failure> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::trouble(format!("cannot read `{}`: {error}", file.display()))),
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            Failure::trouble(format!("cannot create the folder `{}`: {error}", folder.display()))
        })?;
    }
    files::replace(file, text.as_bytes()).map_err(|error| Failure::because(&error))
}

fn carry_out(command: &[String]) -> Result<(), Failure> {
    let shown = shell_words::join(command);
    let [program, arguments @ ..] = command else { return Ok(()) };
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let environment: Vec<_> = env::vars_os().collect();
    let question = CapturedCommand {
        program: OsStr::new(program),
        arguments: &arguments,
        environment: &environment,
        directory: Path::new("/"),
        input: Vec::new(),
        limit: MANAGER_TIMEOUT,
        max_output: ANSWER,
    };
    let refused = |why: &str| {
        Failure::trouble(format!("`{shown}` failed: {}", why.trim()))
            .hint(format!("run `{shown}` yourself; the unit file already exists"))
    };
    let answer = process::run_captured(question).map_err(|error| refused(&error.to_string()))?;
    match answer.ended {
        CapturedEnd::Exited(exit) if exit.is_success() => {
            eprint_safe(&format!("done: {shown}"));
            Ok(())
        }
        CapturedEnd::Exited(_) | CapturedEnd::TimedOut | CapturedEnd::TooMuch => {
            Err(refused(&answer.complaint))
        }
    }
}

/// Names variables that the agent has in this shell and will not have in the service. The unit does
/// not contain their values, because most are secret.
fn missing(project: &Path, task: Option<&str>) -> Result<Option<String>, Failure> {
    let resolved = ResolvedConfig::new(config::load(project, task, |name| env::var_os(name))?);
    let passed = resolved.get_list("agent.pass_env").unwrap_or_default();
    let names = missing_of(env::vars_os(), &resolved.environment_of_agent(), &passed);
    if names.is_empty() {
        return Ok(None);
    }
    let list = names.join(", ");
    Ok(Some(format!(
        "In this shell, the agent gets {list}, which the service does not have. If it needs them, \
         add NAME=value lines to ~/.config/nightwright/environment, readable only by you (chmod \
         600)."
    )))
}

/// Returns the variables that the agent gets here and not in the service. `own` are those that the
/// configuration sets for the agent.
fn missing_of(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    own: &BTreeMap<String, String>,
    passed: &[String],
) -> Vec<String> {
    let usual = |name: &str| {
        PLACES.contains(&name)
            || USUAL.contains(&name)
            || USUAL_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
    };
    let ours: Vec<_> = ours.into_iter().collect();
    let is_on = |switch: &str| environment::is_on(switch, &ours, own);
    let given = |name: &str| {
        Dialect::Claude.environment_allows(name, &is_on)
            || passed.iter().any(|pattern| crate::app::agent_program::fits(pattern, name))
    };
    let names = ours.iter().filter_map(|(name, _)| name.to_str());
    let mut missing: Vec<_> =
        names.filter(|name| given(name) && !usual(name)).map(str::to_owned).collect();
    missing.sort();
    missing
}

fn remove(options: &RemoveArgs) -> Result<ExitCode, Failure> {
    let name = TaskName::of("service", &options.name)?;
    let file = file_of(name.as_str())?;
    let shown = file.display();
    match there(&file)? {
        None => {
            return Err(Failure::trouble(format!(
                "there is no service `{name}`: `{shown}` does not exist"
            )));
        }
        Some(text) if !text.contains(UNIT_HEADER) => {
            return Err(Failure::trouble(format!("nightwright did not write `{shown}`"))
                .hint("remove it yourself if you no longer need it"));
        }
        Some(_) => {}
    }
    systemd::disable(name.as_str(), &file)?;
    fs::remove_file(&file)
        .map_err(|error| Failure::trouble(format!("cannot remove `{shown}`: {error}")))?;
    print(&format!("removed {shown}; a run that it resumed continues"))?;
    eprint_safe("To reload systemd:\n  systemctl --user daemon-reload");
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests;
