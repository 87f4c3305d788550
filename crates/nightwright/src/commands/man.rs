//! `nightwright man`: the manual pages.

use std::env;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::cli::usage;
use super::command;
use crate::agent::program::locate;
use crate::app::async_command::block_on;
use crate::console::print;
use crate::error::Failure;
use crate::process::terminal::{TerminalCommand, TerminalKind, run_on_terminal};

/// The heading of the examples in help strings.
const EXAMPLES: &str = "Examples:\n";

#[derive(Clone, Debug, Args)]
pub(super) struct ManArgs {
    /// Name of the command, such as `run` or `config set` [default: nightwright itself]
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Vec<String>,

    /// Write the pages of all commands to DIR
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn man(options: &ManArgs) -> Result<ExitCode, Failure> {
    let mut root = command().disable_help_subcommand(true);
    // This sets the full name of every subcommand.
    root.build();
    match &options.dir {
        None => show(usage::find_command(&root, &options.command)?)?,
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
            let count = write_all(&root, folder)?;
            print(&format!("{count} pages in {}", folder.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// On a terminal, opens the page in `man`, which uses `$MANPAGER` or `$PAGER`. Otherwise prints it
/// as roff, for `man -l -` and for files.
fn show(command: &Command) -> Result<(), Failure> {
    let page = page(command)
        .map_err(|error| Failure::trouble(format!("cannot render the manual page: {error}")))?;
    if !io::stdout().is_terminal() {
        return print(String::from_utf8_lossy(&page).trim_end());
    }
    if opens_in_man(command, &page)? {
        return Ok(());
    }
    // Without `man`, the help contains the same information.
    print(command.clone().render_long_help().ansi().to_string().trim_end())
}

/// Whether `man` showed the page.
fn opens_in_man(command: &Command, page: &[u8]) -> Result<bool, Failure> {
    let Ok(program) = locate("man", env::var_os("PATH").as_deref()) else { return Ok(false) };
    let cannot = |error: io::Error| {
        Failure::trouble(format!("cannot write the manual page to a temporary file: {error}"))
    };
    let folder = tempfile::tempdir().map_err(cannot)?;
    let file = folder.path().join(format!("{}.1", full_name(command)));
    fs::write(&file, page).map_err(cannot)?;
    let reading = TerminalCommand {
        program,
        // Every `man` treats a name with a slash as a file.
        arguments: vec![file.into()],
        environment: env::vars_os().collect(),
        directory: folder.path().to_owned(),
        mark: format!("man-{}", std::process::id()),
        terminal: TerminalKind::Inherited,
    };
    block_on(async { Ok(run_on_terminal(&reading).await.is_ok_and(|done| done.exit.is_success())) })
}

/// Writes the pages of a command and its subcommands; returns their number.
fn write_all(command: &Command, folder: &Path) -> Result<u32, Failure> {
    let path = folder.join(format!("{}.1", full_name(command)));
    page(command).and_then(|page| fs::write(&path, page)).map_err(|error| failed(&path, &error))?;
    let mut count = 1;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        count += write_all(inner, folder)?;
    }
    Ok(count)
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let source = concat!("nightwright ", env!("CARGO_PKG_VERSION"));
    // The generator leaves out the help of options that the short help hides.
    let complete = command.clone().mut_args(|argument| argument.hide_short_help(false));
    let man = Man::new(complete).title(full_name(command)).source(source).manual("nightwright");
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let notes = command.get_after_long_help().or_else(|| command.get_after_help());
    if let Some(notes) = notes {
        let text = notes.to_string();
        let (notes, examples) = text.split_once(EXAMPLES).unwrap_or((&text, ""));
        // The text after the examples refers to the help, not to this page.
        let examples = examples.split("\n\n").next().unwrap_or_default();
        render_section("NOTES", notes, &mut page)?;
        render_section("EXAMPLES", examples, &mut page)?;
    }
    Ok(page)
}

/// Renders the text that follows the options in the help. Lines that begin with a space are
/// examples or tables, and stay unchanged.
fn render_section(title: &str, text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let text = text.trim_end().trim_start_matches('\n');
    if text.is_empty() {
        return Ok(());
    }
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    let mut is_kept = false;
    for line in text.lines() {
        let keep = line.starts_with(' ');
        if keep != is_kept {
            roff.control(if keep { "nf" } else { "fi" }, []);
            is_kept = keep;
        }
        match line {
            "" => roff.control("PP", []),
            line => roff.text([roman(line)]),
        };
    }
    if is_kept {
        roff.control("fi", []);
    }
    roff.to_writer(page)
}

/// Returns the name of the page, such as `nightwright-config-set`.
pub(super) fn full_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::trouble(format!("cannot write `{}`: {error}", path.display()))
        .hint("run `nightwright man --dir DIR` with a folder that you can write to")
}
