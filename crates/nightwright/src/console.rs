//! Printing for commands, and questions to the user, before and after a run.
//!
//! A blocked terminal blocks the writer. So during a run, `app::stderr_writer` writes instead.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use nightwright_core::display::display_safe;

use crate::error::Failure;
use crate::output::wrap;
use crate::paste;

/// Prints a message on standard error, wrapped between words on a terminal. Escapes text that may
/// come from an agent or a file.
pub(crate) fn eprint_safe(text: &str) {
    // If standard error is closed, only the exit code remains.
    let _ = writeln!(io::stderr(), "{}", wrap::for_stderr(&display_safe(text)));
}

/// Prints a message whose commands work when pasted in the current folder.
pub(crate) fn advise(text: &str) {
    eprint_safe(&paste::from_here(text));
}

/// Prints a message on standard error that is already escaped.
pub(crate) fn eprint_raw(text: &str) {
    // If standard error is closed, only the exit code remains.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints data as JSON. Escapes invisible characters and those that control a terminal.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&json(value)?)
}

/// Returns the text that [`print_json`] prints.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Failure::trouble(format!("cannot write JSON: {error}")))?;
    nightwright_core::journal::escape_unseen(&mut text, 0);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Prints data on standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    written(writeln!(io::stdout(), "{text}"))
}

/// Prints the result of a command. Escapes it for the terminal, and adapts its commands to the
/// current folder.
pub(crate) fn print_result(text: &str) -> Result<(), Failure> {
    print(&display_safe(&paste::from_here(text)))
}

/// Converts the result of a write to standard output. A pipe closed by its reader is not an error.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::trouble(format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Whether there is a terminal to ask on.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes/no question on the terminal. The end of input counts as no.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    loop {
        // If the terminal is gone, reading from it reports that.
        let _ = write!(io::stderr(), "{} [y/N] ", display_safe(question));
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        read.map_err(|error| Failure::trouble(format!("cannot read the answer: {error}")))?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" | "n" | "no" => return Ok(false),
            _ => eprint_safe("Please answer y or n."),
        }
    }
}
