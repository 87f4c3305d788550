//! The agent program of a run: finding it, and everything it is started with.

mod claude;
mod command_line;
mod script;

use std::env;
use std::ffi::OsString;
use std::path::Path;

use legwork_core::agent::dialect::{Ask, Dialect, InputShape, Permissions};
use legwork_core::event::{AgentFacts, Purpose};
use legwork_core::settings::Settings;

pub(in crate::cli) use self::claude::find_claude;
pub(in crate::cli) use self::command_line::CommandLine;
pub(in crate::cli) use self::script::Script;
use crate::agent::Order;
use crate::agent::environment::inherited;
use crate::agent::process::ArgumentsFor;
use crate::agent::program::{Freshness, locate};
use crate::cli::{REHEARSE, say};
use crate::error::Failure;
use crate::journal::RunDir;
use crate::report::Level;

/// Which program works.
#[derive(Debug)]
pub(in crate::cli) enum Program {
    /// Claude Code.
    Claude,
    /// A command of the user's: the prompt on its standard input, plain text out.
    Command(CommandLine),
    /// Our own binary, playing a script; `None` = the built-in one.
    Rehearsal(Option<Script>),
}

impl Program {
    /// Finds the program and asks for its version. Nothing is started without it, and nothing
    /// that it would refuse.
    pub(super) async fn find(&self, settings: &Settings) -> Result<AgentFacts, Failure> {
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
                let environment = environment(Dialect::Claude, settings);
                claude::refused_as_root(settings, &environment)?;
                let found = find_claude(environment, Freshness::Kept).await?;
                self.facts(&found.path, Some(found.version.to_string()))
            }
            Self::Command(command) => {
                let path = locate(&command.program, env::var_os("PATH").as_deref())?;
                self.facts(&path, None)
            }
        }
    }

    fn facts(&self, path: &Path, version: Option<String>) -> Result<AgentFacts, Failure> {
        let shown = path.display().to_string();
        if path.to_str().is_none() {
            return Err(Failure::trouble(format!("can't use `{shown}`: its path is not UTF-8")));
        }
        Ok(AgentFacts { name: self.dialect().name().to_owned(), path: shown, version })
    }

    /// The language it speaks.
    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::Claude | Self::Rehearsal(_) => Dialect::Claude,
            Self::Command(_) => Dialect::Command,
        }
    }

    /// What people should know before it starts.
    pub(super) fn introduce(&self, agent: &AgentFacts, settings: &Settings, level: Level) {
        match self {
            Self::Claude => claude::introduce(agent, settings, level),
            Self::Command(_) if level.speaks() => say(&format!(
                "The agent is `{}`: what it may do is up to it, and what it costs is estimated by \
                 its time.",
                agent.path
            )),
            Self::Command(_) | Self::Rehearsal(_) => {}
        }
    }

    /// Its arguments, for each attempt or call.
    pub(super) fn arguments(&self, settings: &Settings) -> ArgumentsFor {
        let dialect = self.dialect();
        let before: Vec<OsString> = match self {
            Self::Claude => Vec::new(),
            Self::Command(command) => command.arguments.iter().map(OsString::from).collect(),
            Self::Rehearsal(_) => vec![REHEARSE.into()],
        };
        let Settings { agent, model, extras, .. } = settings.clone();
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
            // Only the work is a session into which more can be said.
            let input = match order.purpose {
                None => dialect.input(extras.watchdog),
                Some(_) => InputShape::Prompt,
            };
            let ask = Ask { setting_sources: &sources, input, ..ask };
            before.iter().cloned().chain(arguments(dialect, order, system, &ask)).collect()
        })
    }

    /// Its environment, but for what each attempt has of its own.
    pub(super) fn environment(
        &self,
        settings: &Settings,
        folder: &RunDir,
        level: Level,
    ) -> Result<Vec<(OsString, OsString)>, Failure> {
        let mut all = environment(self.dialect(), settings);
        if let Self::Rehearsal(script) = self {
            all.extend(script::stage(script.as_ref(), folder, level)?);
        }
        Ok(all)
    }
}

/// What programs of ours find in their environment.
pub(in crate::cli) fn environment(
    dialect: Dialect,
    settings: &Settings,
) -> Vec<(OsString, OsString)> {
    // Whoever lets the agent do everything may also have said where that does no harm.
    let all = claude::may_do_everything(settings);
    inherited(dialect, env::vars_os(), |name| all && name == claude::SANDBOXED)
}

fn arguments(
    dialect: Dialect,
    order: &Order,
    system: Option<&Path>,
    ask: &Ask<'_>,
) -> Vec<OsString> {
    let system = system.map(Path::to_string_lossy);
    let ask = Ask {
        model: order.model.as_deref(),
        cap: order.cap,
        system_prompt_file: system.as_deref(),
        ..ask.clone()
    };
    dialect.arguments(&ask).into_iter().map(OsString::from).collect()
}
