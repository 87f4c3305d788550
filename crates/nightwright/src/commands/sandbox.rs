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

use clap::{Args, Subcommand};
use jiff::Timestamp;
use nightwright_core::phrases::{capitalized, host_refused};
use nightwright_core::sandbox::canary::{Must, ProbeResult};
use nightwright_core::sandbox::mounts::Access;
use nightwright_core::sandbox::network::contacts::ContactNews;
use nightwright_core::settings::{SandboxKind, Settings};
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::units::RunId;
use tokio::sync::mpsc;

use super::cli::context::ProjectArgs;
use crate::agent::program::locate;
use crate::app::agent_program;
use crate::app::approval::UntrustedPolicy;
use crate::app::async_command::block_on;
use crate::app::locked_run::temp_folder;
use crate::app::run_spec::{self, RequestPurpose, ResolvedRequest, RunRequest};
use crate::app::sandbox::open_in;
use crate::config::ConfigLayer;
use crate::console::{eprint_safe, print};
use crate::error::Failure;
use crate::process::terminal::{TerminalCommand, TerminalExit, run_on_terminal};
use crate::process::{Containment, Launch, SigtermScope};
use crate::sandbox::{Sandbox, SandboxedProgram, Trial};
use crate::store::lock::{Lock, LockError, LockOwner};
use crate::store::run_dir;
use crate::store::temp_folder::TempFolder;

/// The name of the folder for temporary files.
const ROOM: &str = "shell";
/// The name of these commands in the lock of the project.
const LOCK_OWNER: &str = "sandbox";

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
    sandbox: Sandbox,
    environment: Vec<(OsString, OsString)>,
    project: PathBuf,
    temp: TempFolder,
    /// A run prepares the same folders, so no run may start meanwhile.
    _lock: Lock,
}

impl OpenSandbox {
    /// Opens it even if the settings turn it off.
    pub(super) fn open(project: &Path) -> Result<Self, Failure> {
        let (mut settings, variables) = settings(project)?;
        if !settings.sandbox.kind.is_on() {
            settings.sandbox.kind = SandboxKind::Bwrap;
        }
        let environment = agent_program::environment(Dialect::Claude, &settings, &variables);
        let state = run_dir::state_of(project)?;
        let lock = take_lock(&state)?;
        let agent = locate("claude", env::var_os("PATH").as_deref()).ok();
        let programs = agent.into_iter().collect();
        // Tools are named by variables that the agent may not get, too.
        let all = env::vars_os().chain(environment.clone()).collect();
        let opened = open_in(&settings, project, &state, programs, all)?;
        let sandbox = opened.ok_or_else(|| Failure::trouble("the sandbox is off"))?;
        let temp = temp_folder(Some(project))?;
        Ok(Self { sandbox, environment, project: project.to_owned(), temp, _lock: lock })
    }

    /// Runs the canary.
    pub(super) fn trial(&self) -> Result<Trial, Failure> {
        Ok(self.sandbox.trial(&self.room()?, &|options| options)?)
    }

    fn room(&self) -> Result<PathBuf, Failure> {
        self.temp.room(ROOM).map_err(|error| {
            let path = self.temp.path().display();
            Failure::trouble(format!("cannot create a temporary folder in `{path}`: {error}"))
        })
    }
}

/// Locks the project like a run.
fn take_lock(state: &Path) -> Result<Lock, Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(|error| {
        Failure::trouble(format!("cannot create `{}`: {error}", state.display()))
    })?;
    let owner = LockOwner::current(RunId(LOCK_OWNER.to_owned()), Timestamp::now());
    Lock::take(&state.join("project.lock"), &owner).map_err(|error| match error {
        LockError::Held(_) => {
            Failure::trouble("a run or a sandbox shell is active in this project")
                .hint("wait for it to end")
        }
        LockError::File(error) => Failure::because(&error),
    })
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
    open.sandbox.must_protect(&open.room()?)?;
    let users = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let mut line = options.command.clone();
    if line.is_empty() {
        line.push(users.unwrap_or_else(|| "/bin/sh".into()));
    }
    let program = line.remove(0).into();
    let launch = Launch {
        program,
        arguments: line,
        environment: open.environment.clone(),
        directory: open.project.clone(),
        containment: Containment::choose(None),
        sigterm_scope: SigtermScope::All,
    };
    let room = open.room()?;
    let access = Access::ReadWrite;
    let entered =
        open.sandbox.enter(SandboxedProgram { launch, access, room, shown: Vec::new() })?;
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
    };
    let contacts = open.sandbox.take_contacts();
    let ended = block_on(async {
        let ended = run_shell(&command, contacts).await;
        ended.map_err(|error| Failure::trouble(format!("cannot start the shell: {error}")))
    })?;
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
    let open = OpenSandbox::open(&project)?;
    let mut text = open.sandbox.explain(&open.room()?)?;
    if options.command {
        let line = open.sandbox.command_line(&open.room()?)?;
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
