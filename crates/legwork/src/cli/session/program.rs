//! The agent program of a run: finding it, and everything it is started with.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_core::agent::dialect::{Ask, Dialect, Permissions};
use legwork_core::event::{AgentFacts, Purpose};
use legwork_core::settings::Settings;
use legwork_core::units::RunId;

use crate::agent::Order;
use crate::agent::environment::inherited;
use crate::agent::process::ArgumentsFor;
use crate::cli::{REHEARSE, say};
use crate::error::Failure;
use crate::journal::{RunDir, create_file};
use crate::process::{Ended, Launch, Stop, run_to_end};
use crate::rehearsal::{self, script};
use crate::report::Level;

/// How long the agent program may take to say its version.
const VERSION_TIME: Duration = Duration::from_secs(10);

/// Which program works.
#[derive(Debug)]
pub(in crate::cli) enum Program {
    /// Claude Code.
    Claude,
    /// Our own binary, playing a script; `None` = the built-in one.
    Rehearsal(Option<Script>),
}

/// A script that was read and understood.
#[derive(Debug)]
pub(in crate::cli) struct Script(String);

impl Script {
    /// One of ours.
    pub(in crate::cli) fn built_in(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The one that a run was begun with, if any.
    pub(in crate::cli) fn of_run(folder: &RunDir) -> Result<Option<Self>, Failure> {
        let path = Self::kept_in(folder);
        if path.exists() { Self::read(&path).map(Some) } else { Ok(None) }
    }

    fn kept_in(folder: &RunDir) -> PathBuf {
        folder.path().join("rehearsal.toml")
    }

    /// One of the user's; what is wrong with it is said before anything starts.
    pub(in crate::cli) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| {
            let path = path.display();
            Failure::usage(format!("--rehearsal `{path}` can't be read: {error}"))
        })?;
        script::Script::parse(&text, path).map_err(|error| {
            Failure::usage(error.to_string().trim_end().to_owned())
                .hint("the format is described in `docs/reference/rehearsal.md`")
        })?;
        Ok(Self(text))
    }
}

impl Program {
    /// Finds the program and asks for its version. Nothing is started without it.
    pub(super) async fn find(&self) -> Result<AgentFacts, Failure> {
        match self {
            Self::Rehearsal(_) => {
                let path = env::current_exe().map_err(|error| {
                    Failure::trouble(format!("can't find our own program: {error}"))
                })?;
                Ok(AgentFacts {
                    name: "rehearsal".to_owned(),
                    path: path.display().to_string(),
                    version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                })
            }
            Self::Claude => {
                let path = env::var_os("PATH").and_then(|path| search(OsStr::new("claude"), &path));
                let path = path.ok_or_else(|| {
                    Failure::trouble(
                        "Claude CLI not found. Make sure 'claude' is installed and in PATH.",
                    )
                    .hint("to try legwork without it: legwork run -p \"...\" -m 3 --dry-run")
                })?;
                let version = version(&path).await?;
                Ok(AgentFacts {
                    name: Dialect::Claude.name().to_owned(),
                    path: path.display().to_string(),
                    version: Some(version),
                })
            }
        }
    }

    /// What people should know before it starts.
    pub(super) fn introduce(&self, settings: &Settings, level: Level) {
        match self {
            Self::Claude => match settings.agent.permissions {
                Permissions::Skip => say(
                    "warning: the agent may do everything without asking, and there is no sandbox",
                ),
                Permissions::Edits if level.speaks() => say(
                    "The agent may change files; other tools only as given with --allowed-tools.",
                ),
                Permissions::Edits | Permissions::AskNothing | Permissions::Listed => {}
            },
            Self::Rehearsal(_) => {}
        }
    }

    /// Its arguments, for each attempt or call.
    pub(super) fn arguments(&self, settings: &Settings) -> ArgumentsFor {
        let rehearsal = matches!(self, Self::Rehearsal(_));
        let Settings { agent, model, .. } = settings.clone();
        let sources = vec!["user".to_owned()];
        Box::new(move |order, system| {
            // Who only judges or advises may change nothing and gets none of the user's wishes for
            // the work; a reviewer repairs, and works like the worker.
            let works = matches!(order.purpose, None | Some(Purpose::Review));
            let wishes = Ask {
                max_turns: model.max_turns,
                permissions: agent.permissions,
                allowed_tools: &agent.allowed_tools,
                extra: &agent.arguments,
                ..Ask::default()
            };
            let ask = if works {
                wishes
            } else {
                Ask { permissions: Permissions::AskNothing, ..Ask::default() }
            };
            let ask = Ask { setting_sources: &sources, ..ask };
            let command = rehearsal.then(|| OsString::from(REHEARSE));
            command.into_iter().chain(arguments(order, system, &ask)).collect()
        })
    }

    /// Its environment, but for what each attempt has of its own.
    pub(super) fn environment(
        &self,
        folder: &RunDir,
        level: Level,
    ) -> Result<Vec<(OsString, OsString)>, Failure> {
        let mut all = environment();
        if let Self::Rehearsal(script) = self {
            all.extend(stage(script.as_ref(), folder, level)?);
        }
        Ok(all)
    }
}

/// What programs of ours find in their environment.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    inherited(Dialect::Claude, env::vars_os(), |_| false)
}

/// The first executable file of this name on the path.
fn search(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(name)).find(|file| {
        fs::metadata(file)
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    })
}

async fn version(program: &Path) -> Result<String, Failure> {
    let launch = Launch {
        program: program.to_owned(),
        arguments: vec!["--version".into()],
        environment: environment(),
        directory: env::temp_dir(),
    };
    let finished = run_to_end(&launch, VERSION_TIME, 4096, &Stop::default()).await;
    let said = finished.output.lines().next().unwrap_or_default().trim().to_owned();
    let shown = program.display();
    match finished.ended {
        Ended::Exited(exit) if exit.is_success() && !said.is_empty() => Ok(said),
        Ended::Exited(_) => {
            Err(Failure::trouble(format!("`{shown} --version` does not work; it said: {said}")))
        }
        Ended::TimedOut | Ended::Stopped => {
            Err(Failure::trouble(format!("`{shown} --version` did not answer in time")))
        }
        Ended::NotStarted { why } => {
            Err(Failure::trouble(format!("`{shown}` can't be started: {why}")))
        }
    }
}

fn arguments(order: &Order, system: Option<&Path>, ask: &Ask<'_>) -> Vec<OsString> {
    let system = system.map(Path::to_string_lossy);
    let ask = Ask {
        model: order.model.as_deref(),
        cap: order.cap,
        system_prompt_file: system.as_deref(),
        ..ask.clone()
    };
    Dialect::Claude.arguments(&ask).into_iter().map(OsString::from).collect()
}

/// The script and the log of a rehearsal. What the agent is asked is kept in a folder of its own
/// that nobody else could have prepared.
fn stage(
    script: Option<&Script>,
    folder: &RunDir,
    level: Level,
) -> Result<Vec<(OsString, OsString)>, Failure> {
    let mut all = Vec::new();
    if let Some(Script(text)) = script {
        let path = Script::kept_in(folder);
        let write = || match create_file(&path) {
            Ok(mut file) => file.write_all(text.as_bytes()),
            // A run that goes on has it already, and it is what it was.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        };
        write().map_err(|error| {
            Failure::trouble(format!("can't write `{}`: {error}", path.display()))
        })?;
        all.push((rehearsal::SCRIPT_VARIABLE.into(), path.into()));
    }
    let RunId(run) = folder.id();
    let own = env::temp_dir().join(format!("legwork-{run}"));
    own_folder(&own).map_err(|error| {
        Failure::trouble(format!("can't make the folder `{}`: {error}", own.display()))
    })?;
    let log = own.join("mock-claude.log");
    if level.speaks() {
        say(&format!("What the rehearsal agent is asked: {}", log.display()));
    }
    all.push((rehearsal::LOG_VARIABLE.into(), log.into()));
    Ok(all)
}

/// A folder of our own in everybody's folder for temporary files; one that is there must be ours.
fn own_folder(path: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let facts = fs::symlink_metadata(path)?;
            let ours = facts.is_dir() && facts.uid() == rustix::process::getuid().as_raw();
            if ours { Ok(()) } else { Err(error) }
        }
        done => done,
    }
}
