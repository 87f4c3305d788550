//! Reads the task or the goal from the command line, and explains how to give one.

use std::io::{self, Read};
use std::path::Path;

use nightwright_core::display::one_line;
use nightwright_core::run_view::shell_word;

use super::RunCommand;
use crate::app::run_spec;
use crate::error::Failure;
use crate::task;

/// Maximum bytes of a goal. Agents accept prompts of 10 MB, and the prompt contains more than the
/// goal.
const MAX_GOAL: u64 = 9_000_000;
/// Maximum characters of a goal that its note shows.
const MAX_NOTE_CHARS: usize = 80;

/// The task or the goal on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunSubject<'a> {
    pub(super) task: Option<&'a str>,
    pub(super) goal: Option<&'a str>,
    /// Whether the goal was given in place of a task name.
    unmarked: bool,
}

impl<'a> RunSubject<'a> {
    /// Returns the subject. Text with a space cannot be a task name, so it is a goal. A single word
    /// is always a task name, because a typo must not start a run.
    pub(super) fn of(positional: Option<&'a str>, prompt: Option<&'a str>) -> Self {
        match positional.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) if text.contains(char::is_whitespace) => {
                Self { task: None, goal: Some(text), unmarked: true }
            }
            task => Self { task, goal: prompt, unmarked: false },
        }
    }

    /// Returns the subject as arguments for another command line, with a leading space.
    pub(super) fn words(self) -> String {
        match (self.task, self.goal) {
            (Some(task), _) => format!(" {}", shell_word(task)),
            (None, Some(goal)) => format!(" -p {}", shell_word(goal)),
            (None, None) => String::new(),
        }
    }

    /// Returns a note if a goal was recognized without `-p`.
    pub(super) fn note(self) -> Option<String> {
        let goal = self.goal.filter(|_| self.unmarked)?;
        let goal = one_line(goal, MAX_NOTE_CHARS);
        Some(format!("Goal: \"{goal}\" (a goal, not a task name, because it contains a space)"))
    }
}

/// Returns the short help, for a command line without a task or a goal.
pub(super) fn short_help(command: RunCommand) -> String {
    let name = match command {
        RunCommand::Run => "run",
        RunCommand::Plan => "plan",
        RunCommand::Build => "build",
    };
    let mut root = crate::commands::command();
    root.build();
    let help = root.find_subcommand_mut(name).map(clap::Command::render_help);
    help.map(|help| help.to_string()).unwrap_or_default()
}

/// Returns the error for a command line with neither a task nor a goal, with the possible choices.
/// An option that takes text may have consumed the name of the task.
pub(super) fn nothing_to_do(project: &Path, review: Option<&str>) -> Failure {
    let names: Vec<_> =
        task::list(project).unwrap_or_default().into_iter().map(|listed| listed.name).collect();
    if let Some(name) = names.iter().find(|name| review == Some(name.as_str())) {
        let message = format!("-r/--review-prompt took `{name}` as its value");
        return Failure::usage(message)
            .hint(format!("put the task first: run `nightwright run {name} -r`"));
    }
    let failure = run_spec::no_goal();
    if names.is_empty() {
        return failure;
    }
    failure.hint(format!(
        "name a task ({}), or run `nightwright run \"make the tests pass\" -m 10` with your goal",
        names.join(", ")
    ))
}

/// Returns the goal, from the argument or from standard input.
pub(super) fn goal(prompt: &str) -> Result<String, Failure> {
    match prompt {
        "-" => read_goal(io::stdin().lock()),
        goal => Ok(goal.to_owned()),
    }
}

/// Reads a goal that is too long for an argument, or comes from another program.
fn read_goal(input: impl Read) -> Result<String, Failure> {
    let mut text = String::new();
    input.take(MAX_GOAL + 1).read_to_string(&mut text).map_err(|error| {
        Failure::usage(format!("cannot read the goal from standard input: {error}"))
    })?;
    if text.len() as u64 > MAX_GOAL {
        return Err(Failure::usage("the goal on standard input is longer than 9 MB")
            .hint("put it into a file of the project, and name that file in a short goal"));
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("no goal given: standard input is empty"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_a_space_is_a_goal_and_a_single_word_is_a_task_name() {
        let of = |text| RunSubject::of(Some(text), None);
        for goal in ["fix the tests", "fix\tit", "two\nlines", " make it pass "] {
            let subject = of(goal);
            assert_eq!((subject.task, subject.goal), (None, Some(goal.trim())));
            assert!(subject.note().is_some_and(|note| note.contains("contains a space")));
        }
        for task in ["migrate-api", "fix", " fix "] {
            let subject = of(task);
            assert_eq!((subject.task, subject.goal), (Some(task.trim()), None));
            assert_eq!(subject.note(), None);
        }
        assert_eq!((of(" ").task, of("").goal), (None, None), "nothing is neither");
        let marked = RunSubject::of(None, Some("fix the tests"));
        assert_eq!((marked.goal, marked.note()), (Some("fix the tests"), None));
    }
}
