//! Command lines in messages, adapted so that they work when pasted into the current shell. If the
//! project was given with `-C` and would not be found from the current folder, they name it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::{ArgMatches, Command};
use nightwright_core::run_view::{NextStep, shell_word};

const PROGRAM: &str = "nightwright ";

/// The project of this process, if it is not the one in the current folder. Set once, from the
/// command line.
static ELSEWHERE: OnceLock<Elsewhere> = OnceLock::new();

#[derive(Debug)]
struct Elsewhere {
    project: PathBuf,
    /// All commands; not all of them take `-C`.
    root: Command,
}

/// Stores the project of this command line. `found_here` is the one that a command without `-C`
/// would use.
pub(crate) fn remember(mut root: Command, matches: &ArgMatches, found_here: Option<&Path>) {
    let named = named(matches).and_then(|folder| folder.canonicalize().ok());
    if let Some(project) = named.filter(|named| Some(named.as_path()) != found_here) {
        // Propagates global options to all subcommands.
        root.build();
        // There is only one command line per process.
        let _ = ELSEWHERE.set(Elsewhere { project, root });
    }
}

/// Returns the text with commands that work from the current folder.
pub(crate) fn from_here(text: &str) -> Cow<'_, str> {
    ELSEWHERE.get().map_or(Cow::Borrowed(text), |elsewhere| Cow::Owned(elsewhere.named_in(text)))
}

/// Returns the steps with commands that work from the current folder.
pub(crate) fn steps_from_here(mut steps: Vec<NextStep>) -> Vec<NextStep> {
    for command in steps.iter_mut().filter_map(|step| step.command.as_mut()) {
        *command = from_here(command).into_owned();
    }
    steps
}

/// Returns the folder given with `-C`.
fn named(matches: &ArgMatches) -> Option<&PathBuf> {
    let own = matches.try_get_one::<PathBuf>("project").ok().flatten();
    own.or_else(|| named(matches.subcommand()?.1))
}

impl Elsewhere {
    fn named_in(&self, text: &str) -> String {
        let option = format!("-C {} ", shell_word(&self.project.to_string_lossy()));
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(PROGRAM) {
            let (before, after) = rest.split_at(at + PROGRAM.len());
            let begins = before[..at].chars().next_back().is_none_or(|c| " \n`(".contains(c));
            out.push_str(before);
            if begins && self.takes_project(after) {
                out.push_str(&option);
            }
            rest = after;
        }
        out + rest
    }

    /// Whether these words start with a command that takes `-C`.
    fn takes_project(&self, words: &str) -> bool {
        let mut command = &self.root;
        for word in words.split(|c: char| !(c.is_ascii_lowercase() || c == '-')) {
            match command.find_subcommand(word) {
                Some(inner) => command = inner,
                None => break,
            }
        }
        command.get_arguments().any(|argument| argument.get_id() == "project")
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command as Clap};

    use super::*;

    #[test]
    fn every_command_about_the_project_names_it_and_nothing_else_changes() {
        let project = || Arg::new("project");
        let config = Clap::new("config")
            .subcommand(Clap::new("list").arg(project()))
            .subcommand(Clap::new("schema"));
        let root = Clap::new("nightwright").subcommands([
            Clap::new("stop").arg(project()),
            config,
            Clap::new("man"),
        ]);
        let elsewhere = Elsewhere { project: "/srv/my shop".into(), root };
        for (text, named) in [
            ("stop it: nightwright stop R", "stop it: nightwright -C \"/srv/my shop\" stop R"),
            (
                "`nightwright config list`, or nightwright stop R",
                "`nightwright -C \"/srv/my shop\" config list`, or nightwright -C \"/srv/my shop\" stop R",
            ),
            ("nightwright stops", "nightwright stops"),
            ("nightwright man --dir DIR", "nightwright man --dir DIR"),
            ("nightwright config schema", "nightwright config schema"),
            ("~/bin/nightwright stop", "~/bin/nightwright stop"),
        ] {
            assert_eq!(elsewhere.named_in(text), named);
        }
    }
}
