//! The agent program of a run: how it is found, and its arguments and environment.

mod claude;
mod command_line;
mod script;
mod sources;
mod watched;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::Path;

use nightwright_core::effect::AnswerFormat;
use nightwright_core::event::{AgentFacts, AgentKind, CallPurpose};
use nightwright_core::permissions::{Permissions, describe_sandbox, granted};
use nightwright_core::sandbox::network::NetworkWay;
use nightwright_core::settings::{SandboxKind, Settings};
use nightwright_core::stream::dialect::{
    AgentOptions, Dialect, Extensions, InputShape, ToolAccess,
};
use nightwright_core::stream::verdict;
pub(crate) use nightwright_core::withheld::fits;

pub(super) use self::claude::SANDBOXED;
pub(crate) use self::claude::{find_claude, refused_as_root};
pub(crate) use self::command_line::AgentCommandLine;
pub(crate) use self::script::RehearsalScript;
use self::sources::USER_SETTINGS;
pub(crate) use self::sources::{PROJECT_SETTINGS, allowed_sources};
pub(super) use self::watched::watched;
use crate::agent::AgentRequest;
use crate::agent::environment::{inherited, keep_libraries_outside};
use crate::agent::judge_home::JudgeHome;
use crate::agent::process::ArgumentsFor;
use crate::agent::program::{Freshness, locate};
use crate::config::OutputLevel;
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::rehearsal;
use crate::store::run_dir::RunDir;
use crate::trust::TrustItem;

/// Maximum turns of a call without tools: the structured answer, one reminder after a plain-text
/// answer, and one correction of an invalid answer.
const ANSWERS: u32 = 3;

/// The system prompt of a call without tools.
const SYSTEM: &str = "You judge work that another agent has done. Be strict, and use only the \
                      evidence in the message. You have no tools. Do not ask questions.";

/// The program that a run uses as its agent.
#[derive(Debug)]
pub(crate) enum AgentProgram {
    /// Claude Code, with its stream of JSON messages.
    Claude,
    /// A command of the user: it reads the prompt on standard input and prints plain text.
    Command(AgentCommandLine),
    /// The nightwright binary itself, playing a script; `None` for the built-in script.
    Rehearsal(Option<RehearsalScript>),
}

impl AgentProgram {
    /// Chooses the program from the options `--dry-run` and `--rehearsal`, and the command of the
    /// settings or of an option.
    pub(crate) fn choose(
        dry_run: bool,
        script: Option<&Path>,
        command: Option<&String>,
        project: &Path,
    ) -> Result<Self, Failure> {
        if dry_run {
            return script.map(RehearsalScript::read).transpose().map(Self::Rehearsal);
        }
        match command {
            Some(command) => AgentCommandLine::parse(command, project).map(Self::Command),
            None => Ok(Self::Claude),
        }
    }

    /// Finds the program and its version. Fails if it is missing, or would refuse these settings.
    pub(crate) async fn find(
        &self,
        settings: &Settings,
        variables: &BTreeMap<String, String>,
    ) -> Result<AgentFacts, Failure> {
        match self {
            Self::Rehearsal(_) => {
                let path = env::current_exe().map_err(|error| {
                    Failure::trouble(format!("cannot find the nightwright program: {error}"))
                })?;
                Ok(AgentFacts {
                    name: AgentKind::Rehearsal.name().to_owned(),
                    path: path.display().to_string(),
                    version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                })
            }
            Self::Claude => {
                let environment = environment(Dialect::Claude, settings, variables);
                refused_as_root(settings, &environment)?;
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
            return Err(Failure::trouble(format!("cannot use `{shown}`: its path is not UTF-8")));
        }
        Ok(AgentFacts { name: self.dialect().name().to_owned(), path: shown, version })
    }

    /// Whether this is a rehearsal, whose results say nothing about the task.
    pub(crate) fn is_rehearsal(&self) -> bool {
        matches!(self, Self::Rehearsal(_))
    }

    /// The format of the program's output.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Claude | Self::Rehearsal(_) => Dialect::Claude,
            Self::Command(_) => Dialect::Command,
        }
    }

    /// Prints what the user should know before the agent starts.
    pub(super) fn introduce(
        &self,
        agent: &AgentFacts,
        settings: &Settings,
        network: Option<NetworkWay>,
        level: OutputLevel,
    ) {
        match self {
            Self::Claude => claude::introduce(agent, settings, network, level),
            Self::Command(_) if level.shows_messages() => {
                say_sandbox(settings, network);
                eprint_safe(&format!(
                    "The agent is `{}`. nightwright does not control its permissions, and \
                     estimates its cost from its running time.",
                    agent.path
                ));
            }
            Self::Rehearsal(_) if level.shows_messages() => say_sandbox(settings, network),
            Self::Command(_) | Self::Rehearsal(_) => {}
        }
    }

    /// The arguments that come first on every command line of the program.
    pub(crate) fn first_arguments(&self) -> Vec<OsString> {
        match self {
            Self::Claude => Vec::new(),
            Self::Command(command) => command.arguments.iter().map(OsString::from).collect(),
            Self::Rehearsal(_) => vec![rehearsal::COMMAND.into()],
        }
    }

    /// Returns a function that builds the arguments of an attempt or a call.
    pub(super) fn arguments(
        &self,
        settings: &Settings,
        project: &Path,
        agent_files: &[TrustItem],
    ) -> ArgumentsFor {
        let dialect = self.dialect();
        let before = self.first_arguments();
        let granted = granted(settings);
        let Settings { agent, model, extras, .. } = settings.clone();
        let (project, agent_files) = (project.to_owned(), agent_files.to_vec());
        Box::new(move |request, system| {
            // Evaluated for each launch, so files that the agent has changed take no effect.
            let mut sources = allowed_sources(&agent.sources, &project, &agent_files);
            // A judge or adviser may change nothing, and gets none of the user's options for the
            // work. A reviewer makes changes, so it gets the same tools as the worker.
            let works = matches!(request.purpose, None | Some(CallPurpose::Review));
            let for_work = AgentOptions {
                max_turns: model.max_turns,
                permissions: agent.permissions,
                allowed_tools: &granted,
                disallowed_tools: &agent.disallowed_tools,
                fallback_model: model.fallback.as_deref(),
                extra: &agent.arguments,
                ..AgentOptions::default()
            };
            let extensions = if request.purpose.is_some() {
                // The agent must not instruct its own verifier. The user's settings are then those
                // of the verifier's own configuration.
                sources = vec![USER_SETTINGS.to_owned()];
                Extensions::None
            } else {
                Extensions::Configured
            };
            let options = if works { for_work } else { question(request) };
            let json_schema = match request.shape {
                AnswerFormat::Words => None,
                AnswerFormat::Verdict => Some(verdict::SCHEMA),
            };
            // Only a work session accepts further messages while it runs.
            let input = match request.purpose {
                None => dialect.input(extras.watchdog),
                Some(_) => InputShape::Prompt,
            };
            let options = AgentOptions {
                setting_sources: &sources,
                extensions,
                input,
                json_schema,
                ..options
            };
            before.iter().cloned().chain(arguments(dialect, request, system, &options)).collect()
        })
    }

    /// Returns the configuration of calls, whose login is the user's as it is now.
    pub(super) fn judge_home(&self, environment: &[(OsString, OsString)]) -> Option<JudgeHome> {
        match self {
            Self::Claude => Some(JudgeHome::of_user(environment)),
            Self::Command(_) | Self::Rehearsal(_) => None,
        }
    }

    /// Returns the environment that all attempts share.
    pub(super) fn environment(
        &self,
        settings: &Settings,
        variables: &BTreeMap<String, String>,
        folder: &RunDir,
        level: OutputLevel,
    ) -> Result<Vec<(OsString, OsString)>, Failure> {
        let mut all = environment(self.dialect(), settings, variables);
        if let Self::Rehearsal(script) = self {
            all.extend(script::stage(script.as_ref(), folder, level)?);
            script::name_hooks(&settings.hooks, level);
        }
        Ok(all)
    }
}

fn say_sandbox(settings: &Settings, network: Option<NetworkWay>) {
    if let Some(line) = describe_sandbox(settings, network) {
        eprint_safe(&line);
    }
}

/// Returns the environment of the programs that nightwright starts.
pub(crate) fn environment(
    dialect: Dialect,
    settings: &Settings,
    variables: &BTreeMap<String, String>,
) -> Vec<(OsString, OsString)> {
    // A user who allows everything may also have declared that this is a sandbox.
    let all = claude::may_do_everything(settings);
    let wanted = |name: &str| {
        settings.agent.pass_environment.iter().any(|pattern| fits(pattern, name))
            || (all && name == SANDBOXED)
    };
    let mut environment = inherited(dialect, env::vars_os(), variables, wanted);
    keep_libraries_outside(&mut environment, Path::new(&settings.surroundings.project_root));
    if settings.sandbox.kind == SandboxKind::External && dialect == Dialect::Claude {
        environment.retain(|(name, _)| name != SANDBOXED);
        environment.push((SANDBOXED.into(), "1".into()));
    }
    let own = variables.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let most = settings.agent.max_output_tokens.zip(dialect.output_tokens_variable());
    for (name, value) in own.chain(most.map(|(most, name)| (name, most.to_string()))) {
        environment.retain(|(there, _)| there != name);
        environment.push((name.into(), value.into()));
    }
    environment
}

/// Returns the options of a call that only judges or advises. A call without tools needs few turns
/// and no explanation of tools, because the question contains everything.
fn question(request: &AgentRequest) -> AgentOptions<'static> {
    let options = AgentOptions {
        permissions: Permissions::None,
        tools: request.tools,
        ..AgentOptions::default()
    };
    match request.tools {
        ToolAccess::None => {
            AgentOptions { max_turns: Some(ANSWERS), system_prompt: Some(SYSTEM), ..options }
        }
        ToolAccess::ReadOnly | ToolAccess::Usual => options,
    }
}

fn arguments(
    dialect: Dialect,
    request: &AgentRequest,
    system: Option<&Path>,
    options: &AgentOptions<'_>,
) -> Vec<OsString> {
    let system = system.map(Path::to_string_lossy);
    let options = AgentOptions {
        model: request.model.as_deref(),
        cap: request.cap,
        system_prompt_file: system.as_deref(),
        ..options.clone()
    };
    dialect.arguments(&options).into_iter().map(OsString::from).collect()
}
