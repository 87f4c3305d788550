//! The names of tasks, templates and modes: plain folder names on every system, which cannot be
//! taken for options.

use std::fmt;

use nightwright_core::display::one_line;

use crate::error::Failure;

/// Maximum characters of a name.
const MAX_CHARS: usize = 64;

/// Maximum characters of an invalid name that are shown.
const SHOWN: usize = 80;

/// The rules for names, for hints.
const ALLOWED: &str = "use 1 to 64 characters from a-z, A-Z, 0-9, `_` and `-`, but no `-` at the \
                       beginning, for example `migrate-api`";

/// A valid name of a task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskName(String);

impl TaskName {
    /// Parses the name of a task.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        Self::of("task", text)
    }

    /// Parses the name of something else that follows the same rules.
    pub(crate) fn of(what: &str, text: &str) -> Result<Self, Failure> {
        let problem = match text {
            "" => "its name is empty".to_owned(),
            _ if text.starts_with('-') => "it begins with `-`, like an option".to_owned(),
            _ => match text.chars().find(|c| !is_allowed(*c)) {
                Some(c) => format!("`{}` cannot be part of a name", c.escape_debug()),
                None if text.len() > MAX_CHARS => format!("it is {} characters long", text.len()),
                None => return Ok(Self(text.to_owned())),
            },
        };
        let shown = one_line(text, SHOWN);
        Err(Failure::usage(format!("invalid {what} name `{shown}`: {problem}")).hint(ALLOWED))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_plain_word_of_at_most_64_characters() {
        let longest = "x".repeat(64);
        for name in ["a", "migrate-api", "A_9", "_", "9-", longest.as_str()] {
            assert_eq!(TaskName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn a_wrong_name_is_refused_with_what_is_wrong_and_what_is_allowed() {
        let long = "x".repeat(65);
        for (name, problem) in [
            ("", "its name is empty"),
            ("a/b", "`/` cannot be part of a name"),
            ("../x", "`.` cannot be part of a name"),
            ("-x", "it begins with `-`"),
            ("ä b", "`ä` cannot be part of a name"),
            ("a\nb", "`\\n` cannot be part of a name"),
            (long.as_str(), "it is 65 characters long"),
        ] {
            let failure = TaskName::parse(name).unwrap_err();
            assert_eq!(failure.kind, crate::error::FailureKind::Usage, "{name}");
            assert!(failure.message.contains(problem), "{}", failure.message);
            assert_eq!(failure.hint.as_deref(), Some(ALLOWED));
        }
    }
}
