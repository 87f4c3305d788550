//! What a user is told when a command can't do its work: what failed, on what, and what to do.

use std::fmt;
use std::process::ExitCode;

/// A command could not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose fault it is.
    pub kind: FailureKind,
    /// What failed, on what; lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The command was not called as it can be.
    Usage,
    /// The command was fine and could not be carried out.
    Trouble,
}

impl Failure {
    /// The command was not called as it can be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Usage, message: message.into(), hint: None }
    }

    /// The command could not be carried out.
    pub fn trouble(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Trouble, message: message.into(), hint: None }
    }

    /// The command could not be carried out because of `error` and its causes.
    pub fn because(error: &dyn std::error::Error) -> Self {
        Self::trouble(chain(error))
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            FailureKind::Usage => 2,
            FailureKind::Trouble => 1,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// The message of an error, followed by those of its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
