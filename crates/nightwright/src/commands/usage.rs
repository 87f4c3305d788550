//! Errors of the command line: options before the command, unknown commands, unknown options.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use nightwright_core::run_view::shell_word;

use super::command;
use super::context::written;
use crate::config::nearest::nearest;
use crate::error::Failure;

/// The command whose subcommands users often type at the top level.
const TASK: &str = "task";

/// The commands that take a goal.
const GOAL_COMMANDS: [&str; 3] = ["run", "plan", "build"];

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
pub(super) fn clap_error(
    mut error: clap::Error,
    arguments: &[OsString],
) -> Result<ExitCode, Failure> {
    if error.kind() == ErrorKind::InvalidSubcommand {
        let mut root = command();
        root.build();
        let words = arguments.iter().skip(1).map_while(|word| word.to_str());
        let words: Vec<_> = words.map(str::to_owned).collect();
        // This fails at the first word that is not a command.
        find_command(&root, &words)?;
    }
    if error.kind() == ErrorKind::UnknownArgument {
        if let Some(failure) = unquoted_goal(&error, arguments) {
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

/// Returns the error for a goal without quotes, whose second word is an argument too many. Its hint
/// is the same command line with quotes.
fn unquoted_goal(error: &clap::Error, arguments: &[OsString]) -> Option<Failure> {
    let Some(ContextValue::String(extra)) = error.get(ContextKind::InvalidArg) else { return None };
    let words: Option<Vec<_>> = arguments.iter().map(|word| word.to_str()).collect();
    let words = words?;
    if extra.starts_with('-') || !words.get(1).is_some_and(|verb| GOAL_COMMANDS.contains(verb)) {
        return None;
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
    let line = places.into_iter().find_map(quoted)?;
    Some(
        Failure::usage(format!("unexpected argument `{extra}`"))
            .hint(format!("write the goal in quotes: nightwright {line}")),
    )
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
pub(super) fn find_command<'a>(
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
    let name = super::man::full_name(within).replace('-', " ");
    let failure = Failure::usage(format!("`{name}` has no command `{word}`"));
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
