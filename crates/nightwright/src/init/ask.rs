//! The questions of `init`, to somebody who answers line by line.

use nightwright_core::agent::dialect::Permissions;
use nightwright_core::settings::Commands;

use super::import::Import;
use super::text::{allowed_tools, permission_name};

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The input ended.
    EndOfInput,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

/// Somebody who can be told things and asked.
pub trait Person {
    /// Shows lines.
    fn tell(&mut self, text: &str);
    /// Shows a question and waits for a line.
    fn ask(&mut self, question: &str) -> Result<String, Gone>;
}

/// Offers an import: its plan, then the question.
pub fn import(person: &mut dyn Person, import: &Import) -> Result<bool, Gone> {
    person.tell(&describe(import));
    loop {
        let answer = person.ask("Import it? [Y/n] ")?;
        match answer.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => person.tell("Please answer y or n."),
        }
    }
}

/// What an import would do.
pub fn describe(import: &Import) -> String {
    let mut lines = vec![format!("\nFound {}. Importing it brings:", import.source)];
    lines.extend(import.plan().iter().map(|line| format!("  {line}")));
    lines.extend(import.notes.iter().map(|note| format!("  note: {note}")));
    lines.push("Nothing there is changed or deleted.".to_owned());
    lines.join("\n")
}

/// Asks which commands are right.
pub fn commands(person: &mut dyn Person, offered: Commands) -> Result<Commands, Gone> {
    person.tell("\nThe project's commands (enter = keep, text = replace, - = none):");
    let Commands { test, build, lint } = offered;
    Ok(Commands {
        test: command(person, "test", test)?,
        build: command(person, "build", build)?,
        lint: command(person, "lint", lint)?,
    })
}

fn command(
    person: &mut dyn Person,
    name: &str,
    offered: Option<String>,
) -> Result<Option<String>, Gone> {
    loop {
        let question = format!("  {name:5} [{}]: ", offered.as_deref().unwrap_or("none"));
        let answer = person.ask(&question)?;
        match answer.trim() {
            "" => return Ok(offered),
            "-" => return Ok(None),
            // What an arrow key leaves behind, for example.
            text if text.contains(|c: char| c.is_control() || c == '\u{fffd}') => {
                person.tell("That has characters in it that no command has. Please type it again.");
            }
            text => return Ok(Some(text.to_owned())),
        }
    }
}

/// Asks what the agent may do.
pub fn permissions(person: &mut dyn Person, commands: &Commands) -> Result<Permissions, Gone> {
    let tools = allowed_tools(commands);
    let tools = if tools.is_empty() { "no command".to_owned() } else { tools.join(", ") };
    person.tell(&format!(
        "\nWhat may the agent do without asking? Nobody will be there to be asked.\n  \
         edits        change files, and run: {tools}\n  \
         listed       only run: {tools}\n  \
         ask-nothing  only what it allows by itself\n  \
         skip         everything, without any check"
    ));
    loop {
        let answer = person.ask("  permissions [edits]: ")?;
        let answer = answer.trim().to_lowercase();
        let all =
            [Permissions::Edits, Permissions::Listed, Permissions::AskNothing, Permissions::Skip];
        let chosen = all.into_iter().find(|one| permission_name(*one) == answer);
        match chosen {
            None if answer.is_empty() => return Ok(Permissions::Edits),
            None => person.tell("Please answer edits, listed, ask-nothing or skip."),
            Some(Permissions::Skip) => {
                person.tell(SKIP_WARNING);
                return Ok(Permissions::Skip);
            }
            Some(chosen) => return Ok(chosen),
        }
    }
}

/// What `skip` means, plainly.
pub const SKIP_WARNING: &str = "warning: with `skip` the agent can run any command on this machine, \
                                delete any file of yours and send anything anywhere; use it only \
                                in a container or a machine of its own";

#[cfg(test)]
mod tests;
