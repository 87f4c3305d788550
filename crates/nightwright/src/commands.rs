//! The command line: one file per command.

mod cli;
mod completions;
mod config;
mod demo;
mod doctor;
mod help;
#[cfg(test)]
mod hints;
mod init;
mod inside;
mod inspect;
mod log;
mod man;
mod notify;
mod pause;
mod principles;
mod prompt;
mod reference;
mod report;
mod resume;
mod run;
mod sandbox;
mod selftest;
mod service;
mod status;
mod stop;
mod task;
mod tell;
mod trust;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::cli::context::ProjectArgs;
use self::inside::Reserved;
use crate::console::{eprint_safe, print};
use crate::error::Failure;
use crate::paste;
use crate::process::{self, guard, network, own_arguments, terminal};
use crate::rehearsal;
use crate::sandbox as own_sandbox;

/// Run a coding agent unattended until the gate accepts its work
#[derive(Debug, Parser)]
#[command(name = "nightwright", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Set up a project: detect its type and commands, and write `.nightwright/`
    Init(init::InitArgs),
    /// Work on a task or a goal until the gate accepts a claim or the run reaches a limit
    Run(Box<run::RunArgs>),
    /// Show the status of a run
    Status(status::StatusArgs),
    /// Print or follow the log of a run
    Log(log::LogArgs),
    /// Stop a run, after the current iteration or now
    Stop(stop::StopArgs),
    /// Resume a paused, stopped or crashed run
    Resume(Box<resume::ResumeArgs>),
    /// Generate a report of a run (Markdown, HTML or JSON)
    Report(report::ReportArgs),
    /// Check whether a run can start here
    Doctor(doctor::DoctorArgs),
    /// Create a task (short for `nightwright task new`)
    New(task::new::NewArgs),
    /// List the tasks of the project (short for `nightwright task list`)
    List(task::list::ListArgs),
    /// Create, edit, validate, archive and restore tasks
    Task(task::TaskArgs),
    /// Compare the specs with the code and write `IMPLEMENTATION_PLAN.md`
    Plan(Box<run::RunArgs>),
    /// Implement the plan, one item per iteration
    Build(Box<run::RunArgs>),
    /// Run the gate on a task now, without running an iteration
    Verify(verify::VerifyArgs),
    /// Show a complete run on a sample project (no account, no network)
    Demo(demo::DemoArgs),
    /// Pause a run (continue with `nightwright resume`)
    Pause(pause::PauseArgs),
    /// Send a message to the agent of a run, or retry now
    Tell(tell::TellArgs),
    /// Show or change the configuration
    Config(config::ConfigArgs),
    /// Approve the commands and hooks that the project would run on this machine
    Trust(trust::TrustArgs),
    /// Set trade-off priorities (speed vs. safety, scope vs. quality, ...)
    Principles(principles::PrinciplesArgs),
    /// Open a shell in the sandbox, explain it, or test it
    Sandbox(sandbox::SandboxArgs),
    /// Test the notifications
    Notify(notify::NotifyArgs),
    /// Test how this machine handles crashes, hangs, limits and full disks
    Selftest(selftest::SelftestArgs),
    /// Resume crashed runs after a reboot
    Service(service::ServiceArgs),
    /// Show a recorded agent stream and how nightwright classifies it
    Inspect(inspect::InspectArgs),
    /// Print the prompt of the first iteration of a new run
    Prompt(Box<prompt::PromptArgs>),
    /// Show the manual page of a command, or write all pages to a folder
    Man(man::ManArgs),
    /// Print a completion script for your shell
    Completions(completions::CompletionsArgs),
    /// Print the help of a command
    Help(help::HelpArgs),
    /// Print the version
    Version,
    /// Print a generated reference page
    #[command(hide = true)]
    Reference(reference::ReferenceArgs),
}

impl Command {
    /// Why only the operator may use this command; `None` if a program of a run may use it too.
    fn reserved(&self) -> Option<Reserved> {
        match self {
            Self::Trust(options) => options.approves().then_some(Reserved::Approval),
            Self::Config(options) => options.changes().then_some(Reserved::Approval),
            Self::Task(options) => options.is_conversation().then_some(Reserved::Approval),
            Self::Run(options) | Self::Plan(options) | Self::Build(options) => {
                options.accepts_all().then_some(Reserved::Approval)
            }
            Self::Verify(options) => options.accepts_all().then_some(Reserved::Approval),
            Self::Sandbox(options) => options.opens_shell().then_some(Reserved::Steering),
            // It approves what it writes.
            Self::Init(_) | Self::Service(_) => Some(Reserved::Approval),
            Self::Stop(_) | Self::Resume(_) | Self::Pause(_) | Self::Tell(_) => {
                Some(Reserved::Steering)
            }
            Self::Status(_)
            | Self::Log(_)
            | Self::Report(_)
            | Self::Doctor(_)
            | Self::New(_)
            | Self::List(_)
            | Self::Demo(_)
            | Self::Principles(_)
            | Self::Notify(_)
            | Self::Selftest(_)
            | Self::Inspect(_)
            | Self::Prompt(_)
            | Self::Man(_)
            | Self::Completions(_)
            | Self::Help(_)
            | Self::Version
            | Self::Reference(_) => None,
        }
    }
}

/// Hides the goals and messages of these commands from process lists, which all users can read.
fn hide_texts(arguments: &[OsString]) {
    const COMMANDS: [&str; 8] =
        ["run", "plan", "build", "tell", "resume", "verify", "config", "prompt"];
    cli::usage::keep_arguments(arguments);
    let command = arguments.iter().position(|word| COMMANDS.iter().any(|name| word == name));
    if let Some(command) = command {
        // Some systems forbid it, and the command works all the same.
        let _ = own_arguments::hide(command + 1);
    }
}

/// Runs the program and returns its exit code.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    process::set_cloexec_on_inherited_fds();
    // The guard, the network of a sandbox and the rehearsal agent start with every attempt, so they
    // skip the rest.
    match arguments.get(1).and_then(|argument| argument.to_str()) {
        Some(guard::NAME) => return guard::main(),
        Some(network::NAME) => return network::main(&arguments[2..]),
        Some(rehearsal::COMMAND) => return rehearsal::main(&arguments[2..]),
        Some(own_sandbox::CANARY_COMMAND) => return own_sandbox::canary_main(),
        Some(terminal::NAME) => return terminal::main(&arguments[2..]),
        Some(_) | None => {}
    }
    process::guard_captured_commands(process::own_program());
    if let Some(done) = completions::requested(&arguments) {
        return done;
    }
    hide_texts(&arguments);
    let arguments = cli::usage::project_last(arguments);
    let read = command().try_get_matches_from(&arguments).inspect(|matches| {
        let here = ProjectArgs::default().find().ok();
        paste::remember(command(), matches, here.as_deref());
    });
    let done = match read.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => dispatch(&cli.command),
        Err(error) => cli::usage::clap_error(error, &arguments),
    };
    done.unwrap_or_else(|failure| {
        let hint = failure.hint.as_deref().map(|hint| paste::from_here(hint).into_owned());
        let failure = Failure { hint, ..failure };
        eprint_safe(&failure.to_string());
        failure.exit_code()
    })
}

fn dispatch(command: &Command) -> Result<ExitCode, Failure> {
    inside::refuse(command)?;
    match command {
        Command::Init(options) => init::init(options),
        Command::Run(options) => run::run(options, run::RunCommand::Run),
        Command::Status(options) => status::status(options),
        Command::Log(options) => log::log(options),
        Command::Stop(options) => stop::stop(options),
        Command::Resume(options) => resume::resume(options),
        Command::Report(options) => report::report(options),
        Command::Doctor(options) => doctor::doctor(options),
        Command::New(options) => task::new::new(options),
        Command::List(options) => task::list::list(options),
        Command::Task(options) => task::task(options),
        Command::Plan(options) => run::run(options, run::RunCommand::Plan),
        Command::Build(options) => run::run(options, run::RunCommand::Build),
        Command::Verify(options) => verify::verify(options),
        Command::Demo(options) => demo::demo(options),
        Command::Pause(options) => pause::pause(options),
        Command::Tell(options) => tell::tell(options),
        Command::Config(options) => config::config(options),
        Command::Trust(options) => trust::trust(options),
        Command::Principles(options) => principles::principles(options),
        Command::Sandbox(options) => sandbox::sandbox(options),
        Command::Notify(options) => notify::notify(options),
        Command::Selftest(options) => selftest::selftest(options),
        Command::Service(options) => service::service(options),
        Command::Inspect(options) => inspect::inspect(options),
        Command::Prompt(options) => prompt::prompt(options),
        Command::Man(options) => man::man(options),
        Command::Completions(options) => completions::completions(options),
        Command::Help(options) => help::help(options),
        Command::Version => version(),
        Command::Reference(options) => reference::reference(options),
    }
}

/// Returns the command line with all help strings.
fn command() -> clap::Command {
    help::with_help(Cli::command())
}

fn version() -> Result<ExitCode, Failure> {
    print(command().render_version().trim_end())?;
    Ok(ExitCode::SUCCESS)
}
