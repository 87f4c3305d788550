//! `nightwright sandbox`: look into the sandbox of this project, explain it and test it.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use nightwright_core::phrases::{capitalized, host_refused};
use nightwright_core::sandbox::canary::{Must, ProbeResult};
use nightwright_core::sandbox::mounts::Access;
use nightwright_core::sandbox::network::contacts::ContactNews;
use nightwright_core::sandbox::plan::ShownFile;
use nightwright_core::settings::{SandboxKind, Settings};
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::units::RunId;
use tokio::sync::mpsc;

use super::cli::context::ProjectArgs;
use crate::agent::program::locate;
use crate::app::agent_program;
use crate::app::approval::UntrustedPolicy;
use crate::app::async_command::block_on;
use crate::app::locked_run::{SANDBOX_OWNER, held, take_folder, temp_folder};
use crate::app::run_spec::{self, RequestPurpose, ResolvedRequest, RunRequest};
use crate::app::sandbox::open_in;
use crate::config::ConfigLayer;
use crate::console::{eprint_safe, print};
use crate::error::{Failure, chain};
use crate::process::terminal::{
    self, TerminalCommand, TerminalExit, TerminalKind, run_on_terminal,
};
use crate::process::{Containment, Launch, SigtermScope};
use crate::sandbox::{
    Entered, ProgramKind, Sandbox, SandboxError, SandboxedProgram, Trial, remove_leftovers,
    shown_path,
};
use crate::store::folder_lock::FolderLock;
use crate::store::lock::{Lock, LockOwner};
use crate::store::run_dir;
use crate::store::temp_folder::TempFolder;

/// The name of the folder for temporary files.
const ROOM: &str = "shell";
/// The name of nightwright inside, which starts an interactive shell.
const STARTER: &str = "nightwright";

#[derive(Clone, Debug, Args)]
pub(super) struct SandboxArgs {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum SandboxCommand {
    /// Open a shell in the sandbox, or run a command there
    Shell(ShellArgs),
    /// Show what programs in the sandbox can see and change
    Explain(ExplainArgs),
    /// Test whether the sandbox works and protects on this machine
    Test(TestArgs),
}

#[derive(Clone, Debug, Args)]
struct ShellArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Command to run instead of your shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Debug, Args)]
struct ExplainArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Also show the command line that starts the sandbox
    #[arg(long)]
    command: bool,
}

#[derive(Clone, Debug, Args)]
struct TestArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Show every probe with its result
    #[arg(short, long)]
    verbose: bool,
}

impl SandboxArgs {
    /// Whether the command starts programs of the user's choice.
    pub(super) fn opens_shell(&self) -> bool {
        match self.command {
            SandboxCommand::Shell(_) => true,
            SandboxCommand::Explain(_) | SandboxCommand::Test(_) => false,
        }
    }
}

pub(super) fn sandbox(options: &SandboxArgs) -> Result<ExitCode, Failure> {
    match &options.command {
        SandboxCommand::Shell(options) => shell(options),
        SandboxCommand::Explain(options) => explain(options),
        SandboxCommand::Test(options) => test(options),
    }
}

/// The sandbox that a run in this project would have, with a folder for temporary files.
pub(super) struct OpenSandbox {
    sandbox: Arc<Sandbox>,
    environment: Vec<(OsString, OsString)>,
    project: PathBuf,
    temp: TempFolder,
    _locks: Option<Locks>,
}

/// The locks of a project. A run prepares the same folders, so no run may start meanwhile.
#[derive(Debug)]
struct Locks {
    _project: Lock,
    _folder: FolderLock,
}

/// The use of an open sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Look only.
    Explain,
    /// Run programs.
    Use,
}

impl OpenSandbox {
    /// Opens it for programs, even if the settings turn it off.
    pub(super) fn open(project: &Path) -> Result<Self, Failure> {
        Self::open_for(project, Purpose::Use)
    }

    fn open_for(project: &Path, purpose: Purpose) -> Result<Self, Failure> {
        let (mut settings, variables) = settings(project)?;
        if !settings.sandbox.kind.is_made_here() {
            settings.sandbox.kind = SandboxKind::Bwrap;
        }
        let environment = agent_program::environment(Dialect::Claude, &settings, &variables);
        let state = run_dir::state_of(project)?;
        let locks = match purpose {
            Purpose::Explain => None,
            Purpose::Use => Some(take_locks(&state, project)?),
        };
        let agent = locate("claude", env::var_os("PATH").as_deref()).ok();
        let programs = agent.into_iter().collect();
        // Tools are named by variables that the agent may not get, too.
        let all = env::vars_os().chain(environment.clone()).collect();
        let opened =
            open_in(&settings, project, &state, programs, all).map_err(|error| failure(&error))?;
        let sandbox = opened.ok_or_else(|| Failure::trouble("the sandbox is off"))?;
        let temp = temp_folder(Some(project))?;
        let sandbox = Arc::new(sandbox);
        Ok(Self { sandbox, environment, project: project.to_owned(), temp, _locks: locks })
    }

    pub(super) fn sandbox(&self) -> Arc<Sandbox> {
        Arc::clone(&self.sandbox)
    }

    /// Runs the canary.
    pub(super) fn trial(&self) -> Result<Trial, Failure> {
        self.sandbox.trial(&self.room()?, &|options| options).map_err(|error| failure(&error))
    }

    /// Enters the sandbox with a program that works on the project.
    fn enter(&self, launch: Launch, shown: Vec<ShownFile>) -> Result<Entered, Failure> {
        let (kind, access) = (ProgramKind::Agent, Access::ReadWrite);
        let program = SandboxedProgram { launch, kind, access, room: self.room()?, shown };
        self.sandbox.enter(program).map_err(|error| failure(&error))
    }

    fn room(&self) -> Result<PathBuf, Failure> {
        self.temp.room(ROOM).map_err(|error| {
            let path = self.temp.path().display();
            Failure::trouble(format!("cannot create a temporary folder in `{path}`: {error}"))
        })
    }
}

/// The failure of a command that has no other sandbox.
pub(super) fn failure(error: &SandboxError) -> Failure {
    let failure = Failure::usage(chain(error));
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Locks the project like a run, and removes what a crash left in it.
fn take_locks(state: &Path, project: &Path) -> Result<Locks, Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(|error| {
        Failure::trouble(format!("cannot create `{}`: {error}", state.display()))
    })?;
    let owner = LockOwner::current(RunId(SANDBOX_OWNER.to_owned()), Timestamp::now());
    let lock = Lock::take(&state.join("project.lock"), &owner);
    let lock = lock.map_err(|error| held(project, error))?;
    let folder = take_folder(project)?;
    remove_leftovers(state, project);
    Ok(Locks { _project: lock, _folder: folder })
}

/// The settings of a run in this project, as far as they are approved.
fn settings(project: &Path) -> Result<(Settings, BTreeMap<String, String>), Failure> {
    let ResolvedRequest { settings, resolved, .. } = run_spec::resolve_run(&RunRequest {
        project: project.to_owned(),
        task: None,
        goal: Some("look around".to_owned()),
        mode: None,
        flags: ConfigLayer::flags(),
        unlimited: false,
        purpose: RequestPurpose::Look,
        appended: None,
        principles: None,
        untrusted: UntrustedPolicy::Ignore,
    })?;
    Ok((settings, resolved.environment_of_agent()))
}

fn shell(options: &ShellArgs) -> Result<ExitCode, Failure> {
    let (project, _) = options.project.find_for_work()?;
    let open = OpenSandbox::open(&project)?;
    open.sandbox.must_protect(&open.room()?).map_err(|error| failure(&error))?;
    let users = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let mut line = options.command.clone();
    if line.is_empty() {
        line.push(users.unwrap_or_else(|| "/bin/sh".into()));
    }
    let mut shown = Vec::new();
    let kind = if terminal::is_there() {
        // The session of the user's terminal is not shared, so the program gets its own terminal.
        let from = env::current_exe().map_err(|error| {
            Failure::trouble(format!("cannot find the program of nightwright: {error}"))
        })?;
        shown.push(ShownFile { name: STARTER.to_owned(), from, access: Access::ReadOnly });
        line.splice(0..0, [shown_path(STARTER).into(), terminal::NAME.into()]);
        TerminalKind::Pseudo
    } else {
        TerminalKind::Inherited
    };
    let program = PathBuf::from(line.remove(0));
    let launch = Launch {
        program,
        arguments: line,
        environment: open.environment.clone(),
        directory: open.project.clone(),
        containment: Containment::choose(None),
        sigterm_scope: SigtermScope::All,
    };
    let entered = open.enter(launch, shown)?;
    if options.command.is_empty() {
        let network = capitalized(&open.sandbox.describe_network());
        eprint_safe(&format!("You are in the sandbox of this project. {network}."));
    }
    let command = TerminalCommand {
        program: entered.launch.program.clone(),
        arguments: entered.launch.arguments.clone(),
        environment: entered.launch.environment.clone(),
        directory: entered.launch.directory.clone(),
        mark: format!("shell.{}", std::process::id()),
        terminal: kind,
    };
    let contacts = open.sandbox.take_contacts();
    let ended = block_on(async {
        let ended = run_shell(&command, contacts).await;
        ended.map_err(|error| Failure::trouble(format!("cannot start the shell: {error}")))
    })?;
    for warning in entered.warnings() {
        eprint_safe(&format!("warning: {warning}"));
    }
    let code = ended.exit.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// Runs a command on the terminal, and prints the hosts that it was refused.
async fn run_shell(
    command: &TerminalCommand,
    contacts: Option<mpsc::Receiver<ContactNews>>,
) -> io::Result<TerminalExit> {
    let Some(mut contacts) = contacts else { return run_on_terminal(command).await };
    let mut running = pin!(run_on_terminal(command));
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            Some(news) = contacts.recv() => print_refusal(&news),
        }
    };
    while let Ok(news) = contacts.try_recv() {
        print_refusal(&news);
    }
    ended
}

fn print_refusal(news: &ContactNews) {
    if let ContactNews::Refused(refusal) = news {
        let (host, why) = (refusal.target.to_string(), refusal.to_string());
        let line = host_refused(&host, &why, refusal.setting.as_deref());
        eprint_safe(&format!("nightwright: {line}"));
    }
}

fn explain(options: &ExplainArgs) -> Result<ExitCode, Failure> {
    let (project, _) = options.project.find_for_work()?;
    let open = OpenSandbox::open_for(&project, Purpose::Explain)?;
    let room = open.room()?;
    let mut text = open.sandbox.explain(&room).map_err(|error| failure(&error))?;
    if options.command {
        let line = open.sandbox.command_line(&room).map_err(|error| failure(&error))?;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "Command:\n  {line}");
    }
    print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn test(options: &TestArgs) -> Result<ExitCode, Failure> {
    let (project, _) = options.project.find_for_work()?;
    let open = OpenSandbox::open(&project)?;
    let trial = open.trial()?;
    let mut text = String::new();
    if options.verbose {
        for (expected, result) in &trial.results {
            let result = match result {
                ProbeResult::Done => "works".to_owned(),
                ProbeResult::Failed(why) => format!("fails: {why}"),
            };
            let must = match expected.must {
                Must::Fail => "must fail",
                Must::Work => "must work",
                Must::StayInside => "must stay inside",
            };
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "{must:<17} {}: {result}", expected.probe.words());
        }
    }
    for difference in &trial.differences {
        let _ = writeln!(text, "problem: {difference}");
    }
    let (count, took) = (trial.results.len(), trial.took.as_millis());
    let kind = open.sandbox.kind().name();
    let is_safe = trial.differences.is_empty();
    if is_safe {
        let _ = writeln!(text, "{kind} protects: {count} probes passed in {took} ms");
    }
    print(text.trim_end())?;
    Ok(ExitCode::from(u8::from(!is_safe)))
}
