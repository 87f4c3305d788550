//! Runs git so that neither the agent, the repository nor the user's configuration can make it run
//! other programs.
//!
//! The configuration, hooks, filters and attributes of a repository name programs, and the agent
//! can write to all of them. Therefore git runs in a private folder that defines no program; see
//! [`private`](super::private). The environment names this folder and the work tree, so that git
//! does not search for them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use nightwright_core::units::human;

use super::private_facts::{CommandEnd, PrivateFacts};
use crate::process::{self, CapturedCommand, CapturedEnd, CapturedOutput};

/// Time limit for one git command, unless another one is set.
pub(super) const GIT_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum bytes of output: the names of half a million files.
const MAX_OUTPUT_BYTES: usize = 48 << 20;

/// Options for every git command.
const HARDENED: [&str; 14] = [
    "--no-pager",
    "--no-replace-objects",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.sshCommand=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "protocol.allow=never",
    "-c",
    "core.quotePath=false",
];

/// Options for git in a private folder, whose rules are in its `info` folder.
const WITHOUT_FILES: [&str; 4] =
    ["-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=/dev/null"];

/// The default for an unset `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Environment variables of every git command.
const SET: [(&str, &str); 4] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("LC_ALL", "C"),
];
/// Variables that make git ignore all configuration except that of its folder.
const ALONE: [(&str, &str); 3] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
];
/// Variables that git needs to find the user's configuration.
const USER: [&str; 2] = ["HOME", "XDG_CONFIG_HOME"];

/// Why a git command failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum GitError {
    /// Git could not be started.
    #[error("cannot start git: {0}")]
    NotStarted(String),
    /// Git exited with an error.
    #[error("git failed: {0}")]
    Failed(String),
    /// Git exceeded its time limit and was killed.
    #[error("{0}")]
    TimedOut(GitTimeout),
    /// The output exceeds the limit.
    #[error("the output of git is too large")]
    TooMuch,
    /// The output has an unknown format.
    #[error("unexpected output of git: {0}")]
    Odd(String),
    /// The repository that contains the project ignores it.
    #[error("the enclosing git repository ignores the project")]
    Ignored,
    /// Another process changed the private git folder.
    #[error("another process changed the private git folder")]
    Changed,
    /// The private git folder cannot be created.
    #[error("cannot create a private git folder: {0}")]
    Folder(String),
}

/// A git command that was killed because it exceeded its time limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitTimeout {
    /// The subcommand, such as `status`.
    command: String,
    limit: Duration,
}

impl fmt::Display for GitTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, limit } = self;
        write!(f, "`git {command}` did not finish within {} and was killed", human(*limit))
    }
}

/// Git in one folder.
#[derive(Debug)]
pub(super) struct Git {
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
    options: &'static [&'static str],
    /// The time limit for one command.
    limit: Duration,
    /// The private folder as git left it, if it is compared before each use.
    facts: Option<Mutex<PrivateFacts>>,
}

impl Git {
    /// Git in the private folder, for the files below `top`, with `inside` as the working
    /// directory.
    pub(super) fn alone(folder: &Path, top: &Path, inside: &Path) -> Self {
        let mut environment = base(top);
        environment.extend(ALONE.map(|(name, value)| (name.into(), value.into())));
        environment.push(("GIT_DIR".into(), folder.into()));
        environment.push(("GIT_WORK_TREE".into(), top.into()));
        Self {
            directory: top.join(inside),
            environment,
            options: &WITHOUT_FILES,
            limit: GIT_TIMEOUT,
            facts: None,
        }
    }

    /// Compares the private folder before each command with its state after the previous one.
    pub(super) fn watched(self, folder: &Path) -> Self {
        Self { facts: Some(Mutex::new(PrivateFacts::of(folder))), ..self }
    }

    /// Sets the time limit for one command.
    pub(super) fn limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Git with the user's configuration, in the folder of the repository. Only for commands that
    /// run no other program, whatever the configuration says.
    pub(super) fn of_user(folder: &Path, top: &Path) -> Self {
        let mut environment = base(top);
        for name in USER {
            environment.extend(env::var_os(name).map(|value| (name.into(), value)));
        }
        environment.push(("GIT_DIR".into(), folder.into()));
        environment.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
        Self {
            directory: top.to_owned(),
            environment,
            options: &[],
            limit: GIT_TIMEOUT,
            facts: None,
        }
    }

    /// Runs git and returns its output; an exit code other than 0 is an error.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        self.run_with_input(arguments, Vec::new())
    }

    /// Runs git with this standard input.
    pub(super) fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, GitError> {
        let arguments: Vec<_> = arguments.into_iter().collect();
        let answer = self.run_raw(&arguments, input)?;
        match answer.ended {
            CapturedEnd::Exited(exit) if exit.code() == Some(0) => Ok(answer.output),
            CapturedEnd::Exited(_) => {
                let first = answer.complaint.lines().next().unwrap_or("no reason given");
                Err(GitError::Failed(first.to_owned()))
            }
            CapturedEnd::TimedOut => Err(GitError::TimedOut(self.timeout(&arguments))),
            CapturedEnd::TooMuch => Err(GitError::TooMuch),
        }
    }

    /// Describes the timeout of a command.
    pub(super) fn timeout<S: AsRef<OsStr>>(&self, arguments: &[S]) -> GitTimeout {
        let command = arguments.first().map(|command| command.as_ref().to_string_lossy());
        GitTimeout { command: command.unwrap_or_default().into_owned(), limit: self.limit }
    }

    /// Whether git exits with 0.
    pub(super) fn succeeds(&self, arguments: &[&str]) -> Result<bool, GitError> {
        let answer = self.run_raw(arguments, Vec::new())?;
        Ok(matches!(answer.ended, CapturedEnd::Exited(exit) if exit.code() == Some(0)))
    }

    /// Runs git and returns its output as it is, even if it is incomplete.
    pub(super) fn run_raw<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: Vec<u8>,
    ) -> Result<CapturedOutput, GitError> {
        let mut facts = match &self.facts {
            Some(facts) => Some(facts.lock().map_err(|_| GitError::Changed)?),
            None => None,
        };
        if facts.as_ref().is_some_and(|facts| !facts.hold()) {
            return Err(GitError::Changed);
        }
        let answer = self.captured(arguments, input);
        if let Some(facts) = &mut facts {
            let complete = answer.as_ref().is_ok_and(CapturedOutput::is_complete);
            facts.command_ended(if complete { CommandEnd::Exited } else { CommandEnd::Killed });
        }
        answer
    }

    fn captured<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: Vec<u8>,
    ) -> Result<CapturedOutput, GitError> {
        let options = HARDENED.iter().chain(self.options);
        let mut all: Vec<OsString> = options.map(OsString::from).collect();
        all.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        process::run_captured(CapturedCommand {
            program: OsStr::new("git"),
            arguments: &all,
            environment: &self.environment,
            directory: &self.directory,
            input,
            limit: self.limit,
            max_output: MAX_OUTPUT_BYTES,
        })
        .map_err(|error| GitError::NotStarted(error.to_string()))
    }
}

/// Returns the variables that all git commands share.
fn base(top: &Path) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<_> =
        SET.iter().map(|(name, value)| (name.into(), value.into())).collect();
    environment.extend(env::var_os("TMPDIR").map(|value| ("TMPDIR".into(), value)));
    environment.push(("PATH".into(), safe_path(top)));
    environment
}

/// Returns the `PATH` of nightwright without folders inside the project.
pub(crate) fn safe_path(top: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
    outside(&path, top)
}

/// Returns the `PATH` without folders inside the project, which the agent can write to.
fn outside(path: &OsStr, project: &Path) -> OsString {
    let is_safe = |folder: &PathBuf| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        folder.is_absolute() && !folder.starts_with(project) && !real.starts_with(project)
    };
    // The folders were split at colons, so they contain none.
    let safe = env::join_paths(env::split_paths(path).filter(is_safe)).unwrap_or_default();
    // An empty list would mean the current folder, which the agent can write to.
    if safe.is_empty() { USUAL_PATH.into() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_of_the_project_is_taken_for_git() {
        let path = OsStr::new("/usr/bin:bin:.::/p/node_modules/.bin:/pp/bin");
        assert_eq!(outside(path, Path::new("/p")), "/usr/bin:/pp/bin");
        assert_eq!(outside(OsStr::new("/p/bin:."), Path::new("/p")), USUAL_PATH);
    }
}
