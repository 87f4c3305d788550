//! Errors of the agent program, with hints.

use std::path::PathBuf;
use std::time::Duration;

use nightwright_core::phrases::familiar::CLAUDE_NOT_FOUND;
use nightwright_core::stream::version::Version;
use nightwright_core::units::human;

use crate::error::Failure;

/// Why the program cannot be used. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// Claude Code is not in `PATH`.
    #[error("{CLAUDE_NOT_FOUND}")]
    Missing,
    /// A program with another name is not in `PATH`.
    #[error("`{name}` is not in PATH")]
    NotFound { name: String },
    /// The given path does not exist.
    #[error("`{}` does not exist", file.display())]
    Nothing { file: PathBuf },
    /// The file has no execute permission.
    #[error("`{}` is not executable", file.display())]
    NotExecutable { file: PathBuf },
    /// The path is not a regular file.
    #[error("`{}` is {what}, not a program", file.display())]
    NoFile {
        file: PathBuf,
        /// The kind of file, such as `a folder`.
        what: &'static str,
    },
    /// The target of a link cannot be read.
    #[error("cannot follow the link `{}` to `{}`: {why}", file.display(), target.display())]
    Dangling { file: PathBuf, target: PathBuf, why: String },
    /// The interpreter of a script does not exist.
    #[error("cannot start `{}`: its interpreter `{}` does not exist", file.display(), interpreter.display())]
    NoInterpreter {
        file: PathBuf,
        /// The path after `#!` in the first line.
        interpreter: PathBuf,
    },
    /// The system refuses to start the program.
    #[error("{why}")]
    CantStart {
        /// The program and the system's error.
        why: String,
    },
    /// The program printed nothing before the timeout.
    #[error("`{} --version` did not answer within {}", file.display(), human(*waited))]
    NoAnswer { file: PathBuf, waited: Duration },
    /// A signal killed the program.
    #[error("signal {signal} killed `{} --version`", file.display())]
    Killed { file: PathBuf, signal: i32 },
    /// The program exited with an error.
    #[error("`{} --version` exited with {code}{}", file.display(), colon(output))]
    Failed {
        file: PathBuf,
        code: i32,
        /// The first line it printed.
        output: String,
    },
    /// The output contains no version.
    #[error("`{} --version` printed {}, not a version such as `2.1.325 (Claude Code)`", file.display(), quoted(output))]
    NoVersion {
        file: PathBuf,
        /// The first line it printed.
        output: String,
    },
    /// The version is older than the oldest supported one.
    #[error("`{}` is version {version}; nightwright needs {needed} or newer", file.display())]
    TooOld {
        file: PathBuf,
        version: Version,
        /// The oldest supported version.
        needed: Version,
    },
}

fn colon(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!(": {output}") }
}

fn quoted(output: &str) -> String {
    if output.is_empty() { "nothing".to_owned() } else { format!("`{output}`") }
}

impl ProgramError {
    /// Returns the hint for this error.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing => {
                "run `nightwright run -p \"...\" -m 3 --dry-run` to try nightwright without it"
                    .to_owned()
            }
            Self::NotFound { .. } | Self::Nothing { .. } => {
                "install it, or give its full path".to_owned()
            }
            Self::NotExecutable { file } => {
                format!("run `chmod +x '{}'`, or reinstall it", file.display())
            }
            Self::NoFile { file, .. } => {
                format!("rename `{}`, or install the program in an earlier folder of PATH", file.display())
            }
            Self::Dangling { .. } => "reinstall it, or remove the link".to_owned(),
            Self::NoInterpreter { interpreter, .. } => format!(
                "install `{}`, or change the first line of the file",
                interpreter.display()
            ),
            Self::CantStart { .. } => {
                "reinstall it: it may be for another system".to_owned()
            }
            Self::NoAnswer { file, .. } | Self::Killed { file, .. } | Self::Failed { file, .. } => {
                format!("run `{} --version` by hand to see why", file.display())
            }
            Self::NoVersion { .. } => {
                "check that this is Claude Code: `type -a claude` lists all programs with that name".to_owned()
            }
            Self::TooOld { .. } => {
                "update it with `claude update` or `npm install -g @anthropic-ai/claude-code@latest`"
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
