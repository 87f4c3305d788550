//! A conversation with the agent about the instructions of a task, in this terminal.

mod outcome;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nightwright_core::phrases::familiar;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Settings;
use nightwright_core::setup_prompts::{self, SetupPrompt, SetupVariables};
use nightwright_core::stream::dialect::{AgentOptions, Dialect, claude};
use tempfile::TempDir;

use self::outcome::TaskFiles;
use crate::agent::environment;
use crate::agent::program::Freshness;
use crate::app::agent_program::{self, find_claude};
use crate::app::async_command::{block_on, catch_signals, interrupted};
use crate::app::locked_run::temp_folder;
use crate::app::run_spec;
use crate::commands::cli::context::ProjectArgs;
use crate::commands::cli::values;
use crate::config::modes;
use crate::console::{advise, eprint_safe};
use crate::error::Failure;
use crate::hex::hex;
use crate::paste::from_here;
use crate::process::Survivors;
use crate::process::terminal::{self, TerminalCommand, TerminalExit, TerminalKind};
use crate::random;
use crate::secrets;
use crate::store::temp_folder::TempFolder;
use crate::task::{self, ProjectRuns, Task, TaskLock, TaskState};

#[derive(Clone, Debug, Args)]
pub(super) struct ConversationArgs {
    /// Name of the task
    #[arg(value_name = "NAME")]
    pub(super) name: String,

    /// Model for the agent [default: the agent's default]
    #[arg(long, value_name = "MODEL", value_parser = values::text)]
    pub(super) model: Option<String>,

    #[command(flatten)]
    pub(super) project: ProjectArgs,
}

pub(super) fn no_instructions(task: &SetupTask) -> Failure {
    let name = task.name();
    Failure::usage(from_here(&familiar::no_instructions(name)))
}

pub(super) struct Conversation {
    pub(super) task: SetupTask,
    pub(super) purpose: SetupPrompt,
    pub(super) model: Option<String>,
}

impl Conversation {
    pub(super) fn hold(&self) -> Result<ExitCode, Failure> {
        if let Some(command) = &self.task.settings.agent.command {
            let message = format!("`{command}` (`agent.command`) is not an interactive agent");
            return Err(self.by_hand(Failure::usage(message)));
        }
        if !terminal::is_there() {
            return Err(self.by_hand(self.no_terminal()));
        }
        let before = TaskFiles::read(&self.task)?;
        block_on(async {
            let mut signals = catch_signals()?;
            let environment = agent_program::environment(
                Dialect::Claude,
                &self.task.settings,
                &self.task.variables,
            );
            let found = tokio::select! {
                found = find_claude(environment.clone(), Freshness::Kept) => found?,
                () = signals.next() => return Ok(interrupted()),
            };
            let folder = private_folder()?;
            let temp = temp_folder(Some(self.task.project()))?;
            let arguments = self.arguments(folder.path())?;
            let command = TerminalCommand {
                program: found.path,
                arguments,
                environment: with_temp(environment, &temp)?,
                directory: self.task.project().to_owned(),
                mark: mark(),
                terminal: TerminalKind::Inherited,
            };
            let exited = terminal::run_on_terminal(&command).await;
            let exited = exited.map_err(|error| {
                let program = command.program.display();
                Failure::trouble(format!("cannot start `{program}`: {error}"))
            })?;
            self.conclude(&before, exited)
        })
    }

    /// Returns the error for a missing terminal, with a hint.
    fn no_terminal(&self) -> Failure {
        let command = match self.purpose {
            SetupPrompt::Setup | SetupPrompt::Validate => "`nightwright task setup`",
            SetupPrompt::Edit => "`nightwright task edit`",
        };
        Failure::usage(format!("{command} is a conversation with the agent and needs a terminal"))
    }

    /// Adds a hint about how to write the instructions without the agent.
    fn by_hand(&self, failure: Failure) -> Failure {
        let (name, file) = (self.task.name(), self.task.instructions_file());
        let verb = match self.purpose {
            SetupPrompt::Setup | SetupPrompt::Validate => "write",
            SetupPrompt::Edit => "change",
        };
        failure.hint(format!(
            "{verb} the instructions yourself, in `{}`; then run `nightwright task validate {name}`",
            file.display()
        ))
    }

    fn arguments(&self, folder: &Path) -> Result<Vec<OsString>, Failure> {
        let text = self.task.setup_prompt(self.purpose)?;
        let file = folder.join(self.purpose.file());
        fs::write(&file, text).map_err(|error| {
            Failure::trouble(format!("cannot write `{}`: {error}", file.display()))
        })?;
        let name = self.task.name();
        let opening = match self.purpose {
            SetupPrompt::Setup | SetupPrompt::Validate => {
                format!("Help me write the instructions of the task {name}. Ask me what you need.")
            }
            SetupPrompt::Edit => format!(
                "Help me change the instructions of the task {name}. Read them first, and say \
                 what you would fix."
            ),
        };
        let file = file.to_string_lossy();
        let options = AgentOptions {
            model: self.model.as_deref().or(self.task.settings.model.name.as_deref()),
            system_prompt_file: Some(&file),
            setting_sources: &self.task.settings.agent.sources,
            ..AgentOptions::default()
        };
        Ok(claude::conversation_arguments(&options, &opening)
            .into_iter()
            .map(OsString::from)
            .collect())
    }

    /// Prints the result of the conversation.
    fn conclude(&self, before: &TaskFiles, exited: TerminalExit) -> Result<ExitCode, Failure> {
        if exited.survivors == Survivors::Some {
            eprint_safe("warning: the agent left processes behind that nightwright could not kill");
        }
        self.task.remember();
        let after = TaskFiles::read(&self.task)?;
        let name = self.task.name();
        let Some(news) = outcome::news(&self.task, before, &after) else {
            if exited.terminated {
                return Ok(interrupted());
            }
            let how = outcome::ended_badly(exited.exit).unwrap_or_default();
            let nothing = match self.purpose {
                SetupPrompt::Setup | SetupPrompt::Validate => "the agent wrote no instructions",
                SetupPrompt::Edit => "the agent changed nothing",
            };
            let failure = Failure::trouble(format!("{nothing}{how}"));
            return Err(match self.purpose {
                SetupPrompt::Setup | SetupPrompt::Validate => {
                    failure.hint(format!("run `nightwright task setup {name}` to retry"))
                }
                SetupPrompt::Edit => {
                    failure.hint(format!("run `nightwright task edit {name}` to retry"))
                }
            });
        };
        eprint_safe(&news);
        if exited.terminated {
            return Ok(interrupted());
        }
        advise(&format!("Next: `nightwright task validate {name}`, then `nightwright run {name}`"));
        Ok(ExitCode::SUCCESS)
    }
}

fn private_folder() -> Result<TempDir, Failure> {
    let made = tempfile::Builder::new().prefix("nightwright-setup-").tempdir();
    made.map_err(|error| {
        Failure::trouble(format!("cannot create a folder for the conversation: {error}"))
    })
}

fn with_temp(
    mut environment: Vec<(OsString, OsString)>,
    temp: &TempFolder,
) -> Result<Vec<(OsString, OsString)>, Failure> {
    let room = temp.room("setup").map_err(|error| {
        let path = temp.path().display();
        Failure::trouble(format!("cannot create a temporary folder in `{path}`: {error}"))
    })?;
    environment::set_temp(&mut environment, Dialect::Claude, &room);
    Ok(environment)
}

/// Returns a mark for the processes of the conversation, so that leftover ones can be killed.
fn mark() -> String {
    // Without randomness, the process id is enough: the mark is not a secret.
    let bytes = random::bytes().unwrap_or(u64::from(std::process::id()).to_be_bytes());
    format!("setup.1.{}", hex(&bytes))
}

/// A task whose instructions are being edited, locked against other commands.
#[derive(Debug)]
pub(super) struct SetupTask {
    task: Task,
    _in_use: TaskLock,
    pub(super) settings: Settings,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) secrets: Secrets,
}

impl SetupTask {
    pub(super) fn open(project: &Path, name: &str) -> Result<Self, Failure> {
        let task = Task::open(project, name)?;
        let in_use = TaskLock::take(project, task.name())?;
        // The previous owner of the lock may have removed it.
        let task = Task::open(project, task.name().as_str())?;
        let (settings, resolved) = run_spec::task_settings(project, &task)?;
        let variables = resolved.environment_of_agent();
        let secrets = secrets::of_config(&resolved)?;
        Ok(Self { task, _in_use: in_use, settings, variables, secrets })
    }

    pub(super) fn name(&self) -> &str {
        self.task.name().as_str()
    }

    pub(super) fn project(&self) -> &Path {
        self.task.project()
    }

    /// Returns its folder, relative to the project.
    pub(super) fn folder(&self) -> PathBuf {
        self.task.relative("")
    }

    pub(super) fn instructions_file(&self) -> PathBuf {
        self.task.relative(task::INSTRUCTIONS)
    }

    pub(super) fn todo_file(&self) -> PathBuf {
        self.task.relative(task::TODO)
    }

    /// Returns its instructions, if any.
    pub(super) fn instructions(&self) -> Result<Option<String>, Failure> {
        self.task.instructions()
    }

    /// Returns its checklist, if any.
    pub(super) fn todo(&self) -> Result<Option<String>, Failure> {
        Ok(self.task.text(task::TODO)?.filter(|text| !text.trim().is_empty()))
    }

    /// Replaces a file of the task.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), Failure> {
        self.task.write(file, text.as_bytes())
    }

    /// Counts the conversation. A failure is only a warning.
    fn remember(&self) {
        let noted = ProjectRuns::of(self.project())
            .and_then(|runs| TaskState::record_setup(&self.task, &runs));
        match noted {
            Ok(None) => {}
            Ok(Some(warning)) => eprint_safe(&format!("warning: {warning}")),
            Err(error) => {
                eprint_safe(&format!(
                    "warning: cannot record the state of the task: {}",
                    error.message
                ));
            }
        }
    }

    /// Returns the system prompt for a conversation about the instructions.
    pub(super) fn setup_prompt(&self, purpose: SetupPrompt) -> Result<String, Failure> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let tokens = SetupVariables {
            task_path: text(&self.folder()),
            task_name: self.name().to_owned(),
            instructions_file: text(&self.instructions_file()),
            todo_file: text(&self.todo_file()),
            project_root: text(self.project()),
            test_command: self.settings.commands.test.clone().unwrap_or_default(),
        };
        let mode = &self.settings.mode;
        modes::check(self.project(), mode)?;
        let own = modes::other_text(self.project(), mode, purpose.file())?;
        let template = own.as_deref().unwrap_or_else(|| setup_prompts::template(mode, purpose));
        setup_prompts::render(template, purpose, &tokens).map_err(|error| {
            let file = modes::own_file(mode, &error.file);
            Failure::usage(format!("`{}`, line {}: {}", file.display(), error.line, error.what))
        })
    }
}
