//! Errors of the command line: options before the command, unknown commands, unknown options.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use nightwright_core::run_view::shell_word;

use super::familiar;
use crate::commands::command;
use crate::commands::help::SINGLE_TASK;
use crate::config::nearest::nearest;
use crate::console::written;
use crate::error::Failure;

/// The arguments as they were given.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The command whose subcommands users often type at the top level.
const TASK: &str = "task";

/// Returns the arguments of this process, with `-C DIR` after the command.
pub(crate) fn given_arguments() -> Vec<OsString> {
    project_last(original_arguments())
}

/// Keeps a copy of the arguments: the process hides the original.
pub(crate) fn keep_arguments(arguments: &[OsString]) {
    // A second call, which does not happen, would have nothing better.
    let _ = ARGUMENTS.set(arguments.to_vec());
}

/// Returns the arguments of this process as they were given.
pub(crate) fn original_arguments() -> Vec<OsString> {
    ARGUMENTS.get().cloned().unwrap_or_else(|| env::args_os().collect())
}

/// Moves `-C DIR` after the command, because every command accepts it there.
pub(crate) fn project_last(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let given: Vec<OsString> = match arguments.get(1).and_then(|argument| argument.to_str()) {
        Some("-C" | "--project") if arguments.len() > 3 => arguments.drain(1..3).collect(),
        Some(argument) if argument.starts_with("--project=") => arguments.drain(1..2).collect(),
        Some(_) | None => return arguments,
    };
    // Arguments after `--` belong to the agent.
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    arguments.splice(end..end, given);
    arguments
}

/// Prints help and version on standard output, and errors on standard error.
pub(crate) fn clap_error(
    mut error: clap::Error,
    arguments: &[OsString],
) -> Result<ExitCode, Failure> {
    let words: Vec<_> = arguments.iter().skip(1).map_while(|word| word.to_str()).collect();
    if let Some(failure) = familiar_words(&error, &words) {
        return Err(failure);
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        let mut root = command();
        root.build();
        let words: Vec<_> = words.into_iter().map(str::to_owned).collect();
        // This fails at the first word that is not a command.
        find_command(&root, &words)?;
    }
    if error.kind() == ErrorKind::UnknownArgument {
        if let Some(failure) = second_task(&error, arguments) {
            return Err(failure);
        }
        drop_escape_tip(&mut error);
    }
    let printed = error.print().and_then(|()| io::stdout().flush());
    if !error.use_stderr() {
        written(printed)?;
    }
    // If the terminal is gone, only the exit code remains.
    Ok(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)))
}

/// Returns the error for a command or an option of another loop runner.
fn familiar_words(error: &clap::Error, words: &[&str]) -> Option<Failure> {
    let (kind, what) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, "command"),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, "argument"),
        _ => return None,
    };
    let Some(ContextValue::String(unknown)) = error.get(kind) else { return None };
    let hint = familiar::hint(words, unknown)?;
    Some(Failure::usage(format!("unknown {what} `{unknown}`")).hint(hint))
}

/// Returns the error for a second task of a command that takes one. It can also be the second word
/// of a goal without quotes.
fn second_task(error: &clap::Error, arguments: &[OsString]) -> Option<Failure> {
    let name = arguments.get(1)?.to_str().filter(|name| SINGLE_TASK.contains(name))?;
    let Some(ContextValue::String(extra)) = error.get(ContextKind::InvalidArg) else { return None };
    if extra.starts_with('-') {
        return None;
    }
    let hint = match quoted_goal(extra, arguments) {
        Some((_, line)) => format!(
            "name one task, or write the goal in quotes: nightwright \
                                    {line}"
        ),
        None => "name one task".to_owned(),
    };
    Some(Failure::usage(format!("`nightwright {name}` takes one task")).hint(hint))
}

/// Returns the error for a goal without quotes, whose second word is `extra`. Its hint is the same
/// command line with quotes.
pub(crate) fn unquoted_goal(extra: &str, arguments: &[OsString]) -> Option<Failure> {
    let (first, line) = quoted_goal(extra, arguments)?;
    Some(
        Failure::usage(format!("there is no task `{first}`, and a goal needs quotes"))
            .hint(format!("write the goal in quotes: nightwright {line}")),
    )
}

/// Returns the first word of a goal without quotes, whose second word is `extra`, and the same
/// command line with quotes.
fn quoted_goal(extra: &str, arguments: &[OsString]) -> Option<(String, String)> {
    let words: Option<Vec<_>> = arguments.iter().map(|word| word.to_str()).collect();
    let mut words = words?;
    // The hint gets the project of this command line by itself.
    words.retain(|word| !word.starts_with("--project="));
    if let Some(at) = words.iter().position(|word| ["-C", "--project"].contains(word)) {
        words.drain(at..words.len().min(at + 2));
    }
    let quoted = |at: usize| {
        let end = words[at..].iter().position(|word| word.starts_with('-'));
        let end = end.map_or(words.len(), |length| at + length);
        let goal = words[at - 1..end].join(" ");
        let mut line = words[..at - 1].to_vec();
        line.push(&goal);
        line.extend(&words[end..]);
        let is_valid = command().try_get_matches_from(&line).is_ok();
        let line: Vec<_> = line[1..].iter().map(|word| shell_word(word)).collect();
        is_valid.then(|| line.join(" "))
    };
    let places = (3..words.len()).filter(|at| words[*at] == extra);
    let (at, line) = places.into_iter().find_map(|at| Some((at, quoted(at)?)))?;
    Some((words[at - 1].to_owned(), line))
}

/// Removes clap's tip `-- --option` for an unknown option, which would pass a typo to the agent or
/// a task.
fn drop_escape_tip(error: &mut clap::Error) {
    let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) else {
        return;
    };
    tips.retain(|tip| !tip.to_string().contains("as a value, use"));
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// Returns the command that these words name. Arguments may follow a command without subcommands.
pub(crate) fn find_command<'a>(
    root: &'a Command,
    words: &[String],
) -> Result<&'a Command, Failure> {
    let mut found = root;
    for (at, word) in words.iter().enumerate() {
        match shown(found).find(|inner| inner.get_name() == word) {
            Some(inner) => found = inner,
            None => return Err(unknown(found, word, &words[at + 1..])),
        }
    }
    Ok(found)
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set())
}

fn unknown(within: &Command, word: &str, rest: &[String]) -> Failure {
    let name = crate::commands::man::full_name(within).replace('-', " ");
    let typed = match name.split_once(' ') {
        Some((_, group)) => format!("{group} {word}"),
        None => word.to_owned(),
    };
    let failure = Failure::usage(format!("unknown command `{typed}`"));
    let own: Vec<_> = shown(within).map(Command::get_name).collect();
    let of_task = within.find_subcommand(TASK).into_iter().flat_map(shown).map(Command::get_name);
    match nearest(word, own.iter().copied().chain(of_task)) {
        Some(near) => {
            let group = if own.contains(&near) { String::new() } else { format!("{TASK} ") };
            let first = format!("{name} {group}{near}");
            let line: Vec<_> =
                [first].into_iter().chain(rest.iter().map(|word| shell_word(word))).collect();
            failure.hint(format!("did you mean `{}`?", line.join(" ")))
        }
        None => failure.hint(format!("list the commands with `{name} --help`")),
    }
}
