//! The questions of `init`, answered line by line.

use nightwright_core::permissions::Permissions;
use nightwright_core::settings::Commands;

use super::import::Import;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    EndOfInput,
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// Shows text to the user and asks questions.
pub trait Prompter {
    /// Shows text to the user.
    fn tell(&mut self, text: &str);
    /// Shows a question and waits for a line.
    fn ask(&mut self, question: &str) -> Result<String, NoAnswer>;
}

/// Offers an import: shows its plan and asks.
pub fn import(person: &mut dyn Prompter, import: &Import) -> Result<bool, NoAnswer> {
    person.tell(&describe(import));
    yes(person, "Import it? [Y/n] ")
}

/// Describes the effects of an import.
pub fn describe(import: &Import) -> String {
    let mut lines = vec![format!("\nFound {}. The import adds:", import.source)];
    lines.extend(import.plan().iter().map(|line| format!("  {line}")));
    lines.extend(import.notes.iter().map(|note| format!("  note: {note}")));
    lines.push("nightwright does not change or delete the original files.".to_owned());
    lines.join("\n")
}

/// Asks which commands are right. `problem` says why a command cannot start.
pub fn commands(
    person: &mut dyn Prompter,
    offered: Commands,
    problem: &dyn Fn(&str) -> Option<String>,
) -> Result<Commands, NoAnswer> {
    person.tell("\nThe project's commands (enter = keep, text = replace, - = none):");
    let Commands { test, build, lint } = offered;
    Ok(Commands {
        test: command(person, "test", test.as_deref(), problem)?,
        build: command(person, "build", build.as_deref(), problem)?,
        lint: command(person, "lint", lint.as_deref(), problem)?,
    })
}

fn command(
    person: &mut dyn Prompter,
    name: &str,
    offered: Option<&str>,
    problem: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, NoAnswer> {
    let mut questioned = None;
    loop {
        let question = format!("  {name:5} [{}]: ", offered.unwrap_or("none"));
        let answer = person.ask(&question)?;
        let chosen = match answer.trim() {
            "" => offered.map(str::to_owned),
            "-" | "n" | "no" | "none" => None,
            // For example, the escape sequence of an arrow key.
            text if text.contains(|c: char| c.is_control() || c == '\u{fffd}') => {
                person.tell("The command contains invalid characters. Please type it again.");
                continue;
            }
            text => Some(text.to_owned()),
        };
        // The program may be installed later, so the same answer is accepted the second time.
        match chosen.as_deref().and_then(problem) {
            Some(why) if questioned != chosen => {
                person.tell(&format!("  {why}. Enter the command again to use it anyway."));
                questioned = chosen;
            }
            Some(_) | None => return Ok(chosen),
        }
    }
}

/// Offers the detected test command as the check of a run.
pub fn check(person: &mut dyn Prompter, command: &str) -> Result<bool, NoAnswer> {
    yes(person, &format!("Use `{command}` as the check? [Y/n] "))
}

pub(crate) fn yes(person: &mut dyn Prompter, question: &str) -> Result<bool, NoAnswer> {
    loop {
        let answer = person.ask(question)?;
        match answer.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => person.tell("Please answer y or n."),
        }
    }
}

/// Asks for the permissions of the agent.
pub fn permissions(person: &mut dyn Prompter) -> Result<Permissions, NoAnswer> {
    person.tell(LEVELS);
    loop {
        let answer = person.ask("  permissions [1]: ")?;
        match answer.trim().to_lowercase().as_str() {
            "" | "1" | "usual" => return Ok(Permissions::Usual),
            "2" | "edits" | "edits only" | "acceptedits" => return Ok(Permissions::Edits),
            "3" | "everything" | "bypass" | "bypasspermissions" => {
                person.tell(BYPASS_WARNING);
                return Ok(Permissions::Bypass);
            }
            _ => person.tell("Please answer 1, 2, 3 or the name of a level."),
        }
    }
}

/// The permission levels. The first is recommended.
const LEVELS: &str = "
What may the agent do? It cannot ask during a run: everything else is denied.
  1  usual   change files like `edits`; run the project's test, build, lint,
             format and package-manager commands and its scripts; use git
             (status, diff, log, show, add, commit, switch, mv, rm, init) and
             shell tools such as cp, sed, patch and tar (recommended)
  2  edits   create, edit, move and delete files in the project
  3  bypass  run any command, read and change any file, use the network";

/// The warning about `bypass`.
pub const BYPASS_WARNING: &str = "warning: the agent can run any command on this machine, delete \
                                  your files and send data to any server. Use this only in \
                                  a container or a virtual machine";

#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
mod tests;
