//! The error of a command, as the user sees it: what failed, on what, and a hint.

use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;

/// Shows or records a warning; never blocks.
pub type WarnFn = Arc<dyn Fn(String) + Send + Sync>;

/// The failure of a command, printed as `error:` and `hint:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Decides the exit code.
    pub kind: FailureKind,
    /// The failed action and its object; lower case, without a full stop.
    pub message: String,
    /// Advice to the user, in the imperative.
    pub hint: Option<String>,
}

/// The kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The command was called incorrectly.
    Usage,
    /// The command was called correctly but failed.
    Trouble,
}

impl Failure {
    /// Creates the failure of an incorrect call.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Usage, message: message.into(), hint: None }
    }

    /// Creates the failure of a correct call.
    pub fn trouble(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Trouble, message: message.into(), hint: None }
    }

    /// Creates a failure from `error` and its causes.
    pub fn because(error: &dyn std::error::Error) -> Self {
        Self::trouble(chain(error))
    }

    /// Adds a hint for the user.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a fact about the state after the failure to the message.
    #[must_use]
    pub(crate) fn and(mut self, fact: &str) -> Self {
        self.message.push_str("; ");
        self.message.push_str(fact);
        self
    }

    /// Returns the exit code of the program.
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
