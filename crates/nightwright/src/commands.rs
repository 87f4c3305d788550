//! The command line: one file a command.

mod completions;
mod config;
mod demo;
mod doctor;
mod examples;
mod help;
#[cfg(test)]
mod hints;
mod init;
mod inspect;
mod log;
mod man;
mod masks;
mod notify;
mod principles;
mod prompt;
mod reference;
mod report;
mod resume;
mod run;
mod select_run;
mod selftest;
mod service;
mod status;
mod stop;
mod task;
mod terminal;
mod trust;
mod values;
mod verify;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use nightwright_core::display::display_safe;

use crate::error::Failure;
use crate::paste;
use crate::process::{self, guard};
use crate::rehearsal;

/// The hidden command behind the rehearsal agent.
pub(crate) const REHEARSE: &str = "rehearse";

/// Runs a coding agent unattended until the work is really done.
#[derive(Debug, Parser)]
#[command(name = "nightwright", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Set a project up: find out its type and commands, and write `.nightwright/`
    Init(init::InitArgs),
    /// Make a new task
    New(task::new::NewArgs),
    /// Write the instructions of a task together with the agent, in this terminal
    Setup(task::setup::SetupArgs),
    /// Change the instructions of a task together with the agent, in this terminal
    Edit(task::setup::SetupArgs),
    /// Let the agent judge the instructions of a task
    Validate(task::validate::ValidateArgs),
    /// Work on a task or a goal until it is done and verified, or a limit is reached
    Run(Box<run::RunArgs>),
    /// Compare what is wanted with what is there, and write a plan
    Plan(Box<run::RunArgs>),
    /// Work a plan off, item by item
    Build(Box<run::RunArgs>),
    /// Resume a paused, stopped, blocked, failed or crashed run
    Resume(Box<resume::ResumeArgs>),
    /// Stop a run after its iteration, or now
    Stop(stop::StopArgs),
    /// Pause a run: start nothing new until it is resumed
    Pause(stop::PauseArgs),
    /// Tell the agent of a running run something, or retry now what the run waits for
    Tell(stop::TellArgs),
    /// Judge the work on a task as a run would: checks, changes, a model's verdict
    Verify(verify::VerifyArgs),
    /// Say how a run is doing, now or after its end
    Status(status::StatusArgs),
    /// Print the log of a run, and follow it
    Log(log::LogArgs),
    /// Tell a whole run on a page: what it did, what it cost, what was proved
    Report(report::ReportArgs),
    /// List the tasks of the project
    List(task::list::ListArgs),
    /// Show a task, and what to do next
    Show(task::show::ShowArgs),
    /// Print what the next iteration would be told
    Prompt(Box<prompt::PromptArgs>),
    /// Begin a task anew: its state, status and notes go, its instructions stay
    Reset(task::archive::ResetArgs),
    /// Put a task away as one file
    Archive(task::archive::ArchiveArgs),
    /// Bring an archived task back
    Restore(task::archive::RestoreArgs),
    /// Remove a task, after archiving it
    Delete(task::archive::DeleteArgs),
    /// Keep instructions to use them again
    Template(task::template::TemplateArgs),
    /// Look at the configuration, or change it
    Config(config::ConfigArgs),
    /// Approve what the project would run on this machine
    Trust(trust::TrustArgs),
    /// Try whether notifications arrive
    Notify(notify::NotifyArgs),
    /// Write down what the work goes by when two good things contradict each other
    Principles(principles::PrinciplesArgs),
    /// Let runs go on after a reboot that cut them off
    Service(service::ServiceArgs),
    /// Prove that runs survive the night on this machine
    Selftest(selftest::SelftestArgs),
    /// Show a whole run on a small project, with a scripted agent: no account, no network
    Demo(demo::DemoArgs),
    /// Say whether a run can start here, and what to do if not
    Doctor(doctor::DoctorArgs),
    /// Show what a recorded stream of the agent says, and what a run would make of it
    Inspect(inspect::InspectArgs),
    /// Print a completion script for your shell
    Completions(completions::CompletionsArgs),
    /// Show the manual page of a command, or write all pages to a folder
    Man(man::ManArgs),
    /// Print the help of a command
    Help(help::HelpArgs),
    /// Print the version
    Version,
    /// Print a generated reference page
    #[command(hide = true)]
    Reference(reference::ReferenceArgs),
}

/// The whole program.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    process::set_cloexec_on_inherited_fds();
    // Guard and rehearsal agent are started once an attempt: they take no detour.
    match arguments.get(1).and_then(|argument| argument.to_str()) {
        Some(guard::NAME) => return guard::main(),
        Some(REHEARSE) => return rehearsal::main(&arguments[2..]),
        Some(_) | None => {}
    }
    if let Some(done) = completions::requested(&arguments) {
        return done;
    }
    let arguments = project_last(arguments);
    let read = command().try_get_matches_from(&arguments).inspect(|matches| {
        let here = select_run::project(None).ok();
        paste::remember(command(), matches, here.as_deref());
    });
    let done = match read.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => match cli.command {
            Command::Init(options) => init::init(&options),
            Command::New(options) => task::new::new(&options),
            Command::Setup(options) => task::setup::setup(&options),
            Command::Edit(options) => task::setup::edit(&options),
            Command::Validate(options) => task::validate::validate(&options),
            Command::Verify(options) => verify::verify(&options),
            Command::Status(options) => status::status(&options),
            Command::Log(options) => log::log(&options),
            Command::Report(options) => report::report(&options),
            Command::List(options) => task::list::list(&options),
            Command::Show(options) => task::show::show(&options),
            Command::Prompt(options) => prompt::prompt(&options),
            Command::Reset(options) => task::archive::reset(&options),
            Command::Archive(options) => task::archive::archive(&options),
            Command::Restore(options) => task::archive::restore(&options),
            Command::Delete(options) => task::archive::delete(&options),
            Command::Template(options) => task::template::template(&options),
            Command::Config(options) => config::config(&options),
            Command::Trust(options) => trust::trust(&options),
            Command::Run(options) => run::run(&options, run::RunCommand::Run),
            Command::Plan(options) => run::run(&options, run::RunCommand::Plan),
            Command::Build(options) => run::run(&options, run::RunCommand::Build),
            Command::Resume(options) => resume::resume(&options),
            Command::Stop(options) => stop::stop(&options),
            Command::Pause(options) => stop::pause(&options),
            Command::Tell(options) => stop::tell(&options),
            Command::Notify(options) => notify::notify(&options),
            Command::Principles(options) => principles::principles(&options),
            Command::Service(options) => service::service(&options),
            Command::Selftest(options) => selftest::selftest(&options),
            Command::Demo(options) => demo::demo(&options),
            Command::Doctor(options) => doctor::doctor(&options),
            Command::Inspect(options) => inspect::inspect(&options),
            Command::Completions(options) => completions::completions(&options),
            Command::Man(options) => man::man(&options),
            Command::Help(options) => help::help(&options),
            Command::Version => version(),
            Command::Reference(options) => reference::reference(&options),
        },
        Err(error) => clap_error(&error, &arguments),
    };
    done.unwrap_or_else(|failure| {
        let hint = failure.hint.as_deref().map(|hint| paste::from_here(hint).into_owned());
        let failure = Failure { hint, ..failure };
        eprint_safe(&failure.to_string());
        failure.exit_code()
    })
}

/// What clap has to say: help and version are data that were asked for, the rest is for people.
fn clap_error(error: &clap::Error, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    if error.kind() == ErrorKind::InvalidSubcommand {
        let mut root = command();
        root.build();
        let words = arguments.iter().skip(1).map_while(|word| word.to_str());
        let words: Vec<_> = words.map(str::to_owned).collect();
        // The first word that is no command is an error there, too.
        man::find(&root, &words)?;
    }
    let said = error.print().and_then(|()| io::stdout().flush());
    if !error.use_stderr() {
        written(said)?;
    }
    // Nobody to tell otherwise when the terminal is gone; the exit code says enough.
    Ok(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)))
}

/// Every command takes `-C DIR`; somebody who gives it before the command means the same.
pub(crate) fn project_last(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let given: Vec<OsString> = match arguments.get(1).and_then(|argument| argument.to_str()) {
        Some("-C" | "--project") if arguments.len() > 3 => arguments.drain(1..3).collect(),
        Some(argument) if argument.starts_with("--project=") => arguments.drain(1..2).collect(),
        Some(_) | None => return arguments,
    };
    // What follows `--` belongs to the agent.
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    arguments.splice(end..end, given);
    arguments
}

/// The command line, with all that its help says.
fn command() -> clap::Command {
    help::dressed(Cli::command())
}

/// The same as `--version`.
fn version() -> Result<ExitCode, Failure> {
    print(command().render_version().trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Says something to people. Whatever of it came from an agent or a file is made safe here.
pub(crate) fn eprint_safe(text: &str) {
    // Nobody to tell when standard error is closed; the exit code says enough.
    let _ = writeln!(io::stderr(), "{}", display_safe(text));
}

/// Says something with commands in it, which work from the current folder.
fn advise(text: &str) {
    eprint_safe(&paste::from_here(text));
}

/// Shows people something that is safe already.
fn eprint_raw(text: &str) {
    // Nobody to tell when standard error is closed; the exit code says enough.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints data as JSON, without a character that a terminal would obey or not show: it is written as
/// an escape, which says the same.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&json(value)?)
}

/// Data as JSON, in the same way.
fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Failure::trouble(format!("can't write JSON: {error}")))?;
    nightwright_core::journal::escape_unseen(&mut text, 0);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Prints data.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    written(writeln!(io::stdout(), "{text}"))
}

/// Whether data could be printed.
fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        // Whoever read it has had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::trouble(format!("can't write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}
