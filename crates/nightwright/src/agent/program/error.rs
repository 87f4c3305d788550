//! What can be wrong with the agent program, and what to do about it.

use std::path::PathBuf;
use std::time::Duration;

use nightwright_core::stream::version::Version;
use nightwright_core::units::human;

use crate::error::Failure;

/// Why the program can't be used. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// There is none.
    #[error("Claude CLI not found. Make sure 'claude' is installed and in PATH.")]
    Missing,
    /// There is no program of another name.
    #[error("`{name}` was not found in PATH")]
    NotFound {
        /// What was looked for.
        name: String,
    },
    /// There is nothing where it should be.
    #[error("`{}` is not there", file.display())]
    Nothing {
        /// Where.
        file: PathBuf,
    },
    /// There is one that nobody may run.
    #[error("`{}` is not executable", file.display())]
    NotExecutable {
        /// Where.
        file: PathBuf,
    },
    /// Something else has its name.
    #[error("`{}` is {what}, not a program", file.display())]
    NoFile {
        /// Where.
        file: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A link leads nowhere.
    #[error("`{}` is a link to `{}`, which can't be followed: {why}", file.display(), target.display())]
    Dangling {
        /// The link.
        file: PathBuf,
        /// Where it leads.
        target: PathBuf,
        /// Why it can't be followed.
        why: String,
    },
    /// A script whose interpreter is not there.
    #[error("`{}` can't be started: its interpreter `{}` is not there", file.display(), interpreter.display())]
    NoInterpreter {
        /// The script.
        file: PathBuf,
        /// What its first line names.
        interpreter: PathBuf,
    },
    /// The system refuses to start it.
    #[error("{why}")]
    CantStart {
        /// What the system says, of what.
        why: String,
    },
    /// It does not answer.
    #[error("`{} --version` gave no answer within {}", file.display(), human(*waited))]
    NoAnswer {
        /// Where.
        file: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// It dies.
    #[error("`{} --version` was killed by signal {signal}", file.display())]
    Killed {
        /// Where.
        file: PathBuf,
        /// By what.
        signal: i32,
    },
    /// It says that it failed.
    #[error("`{} --version` exited with {code}{}", file.display(), colon(output))]
    Failed {
        /// Where.
        file: PathBuf,
        /// Its exit code.
        code: i32,
        /// The first line it printed.
        output: String,
    },
    /// It answers something else.
    #[error("`{} --version` printed {} where a version such as `2.1.325 (Claude Code)` was expected", file.display(), quoted(output))]
    NoVersion {
        /// Where.
        file: PathBuf,
        /// The first line it printed.
        output: String,
    },
    /// It lacks what we need.
    #[error("`{}` is version {version}; nightwright needs {needed} or newer", file.display())]
    TooOld {
        /// Where.
        file: PathBuf,
        /// Its version.
        version: Version,
        /// The oldest that will do.
        needed: Version,
    },
}

fn colon(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

fn quoted(said: &str) -> String {
    if said.is_empty() { "nothing".to_owned() } else { format!("`{said}`") }
}

impl ProgramError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing => {
                "to try nightwright without it: nightwright run -p \"...\" -m 3 --dry-run"
                    .to_owned()
            }
            Self::NotFound { .. } | Self::Nothing { .. } => {
                "install it, or give its whole path".to_owned()
            }
            Self::NotExecutable { file } => {
                format!("make it so (chmod +x '{}'), or install it again", file.display())
            }
            Self::NoFile { file, .. } => {
                format!("rename `{}`, or install the program before it in PATH", file.display())
            }
            Self::Dangling { .. } => "install it again, or remove the link".to_owned(),
            Self::NoInterpreter { interpreter, .. } => format!(
                "install `{}`, or name another one in the first line of the file",
                interpreter.display()
            ),
            Self::CantStart { .. } => {
                "install it again: it may be made for another system".to_owned()
            }
            Self::NoAnswer { file, .. } | Self::Killed { file, .. } | Self::Failed { file, .. } => {
                format!("try it by hand: {} --version", file.display())
            }
            Self::NoVersion { .. } => {
                "is that Claude Code? `type -a claude` shows all programs of that name".to_owned()
            }
            Self::TooOld { .. } => {
                "update it: claude update, or npm install -g @anthropic-ai/claude-code@latest"
                    .to_owned()
            }
        }
    }
}

impl From<ProgramError> for Failure {
    fn from(trouble: ProgramError) -> Self {
        Self::trouble(trouble.to_string()).hint(trouble.hint())
    }
}
