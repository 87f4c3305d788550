//! `nightwright completions`: what a shell needs to complete our command lines.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::{command, print};
use crate::error::Failure;

/// For which shell.
#[derive(Clone, Debug, Args)]
pub(super) struct Options {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn completions(options: &Options) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    generate(options.shell, &mut shown(), "nightwright", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// The commands without those that nobody types: shells would offer them.
fn shown() -> Command {
    let whole = command();
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::default()
        .name("nightwright")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommands(commands)
}
