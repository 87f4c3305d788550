//! Questions to git, asked so that nothing the agent, the repository or the user says can make it
//! do anything else.
//!
//! A repository's configuration, hooks, filters and attributes name programs, and the agent can
//! write to all of them. So git is not asked in the repository, but in a folder of our own that
//! defines no program; see [`private`](super::private). What it is told about that folder and the
//! files it is told by name, so that it looks for neither.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{self, CapturedCommand, CapturedEnd, CapturedOutput};

/// How long git may take.
const GIT_TIMEOUT: Duration = Duration::from_mins(1);
/// How much git may print: the names of half a million files.
const MAX_OUTPUT_BYTES: usize = 48 << 20;

/// Before every question.
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

/// Where programs are if nobody says where.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// In the environment of every question.
const SET: [(&str, &str); 4] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("LC_ALL", "C"),
];
/// Where git finds no configuration but that of its folder.
const ALONE: [(&str, &str); 3] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
];
/// What of our own environment git needs to find the user's configuration.
const USER: [&str; 2] = ["HOME", "XDG_CONFIG_HOME"];

/// Why git gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum GitError {
    /// It is not there.
    #[error("git can't be started: {0}")]
    NotStarted(String),
    /// It says no.
    #[error("git failed: {0}")]
    Failed(String),
    /// It hangs.
    #[error("git gave no answer within {} s", GIT_TIMEOUT.as_secs())]
    TimedOut,
    /// There is too much of it.
    #[error("git has more to say than can be kept")]
    TooMuch,
    /// It says something else than we know.
    #[error("git said something that is not understood: {0}")]
    Odd(String),
    /// The project is not part of the repository above it.
    #[error("the repository around the project ignores it")]
    Ignored,
    /// Its folder can't be made.
    #[error("git's own folder can't be made: {0}")]
    Folder(String),
}

/// Git in one folder.
#[derive(Debug)]
pub(super) struct Git {
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl Git {
    /// Git in our own folder, for the files below `top`, asked from inside of them.
    pub(super) fn alone(folder: &Path, top: &Path, inside: &Path) -> Self {
        let mut environment = base(top);
        environment.extend(ALONE.map(|(name, value)| (name.into(), value.into())));
        environment.push(("GIT_DIR".into(), folder.into()));
        environment.push(("GIT_WORK_TREE".into(), top.into()));
        Self { directory: top.join(inside), environment }
    }

    /// Git as the user has it, in the repository's own folder: only for questions that make it run
    /// nothing whatever the configuration says.
    pub(super) fn of_user(folder: &Path, top: &Path) -> Self {
        let mut environment = base(top);
        for name in USER {
            environment.extend(env::var_os(name).map(|value| (name.into(), value)));
        }
        environment.push(("GIT_DIR".into(), folder.into()));
        environment.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
        Self { directory: top.to_owned(), environment }
    }

    /// All that git says; an exit code other than 0 is trouble.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        self.run_with_input(arguments, Vec::new())
    }

    /// The same, with something to read for git.
    pub(super) fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, GitError> {
        let answer = self.run_raw(arguments, input)?;
        match answer.ended {
            CapturedEnd::Exited(exit) if exit.code() == Some(0) => Ok(answer.output),
            CapturedEnd::Exited(_) => {
                let first = answer.complaint.lines().next().unwrap_or("it does not say why");
                Err(GitError::Failed(first.to_owned()))
            }
            CapturedEnd::TimedOut => Err(GitError::TimedOut),
            CapturedEnd::TooMuch => Err(GitError::TooMuch),
        }
    }

    /// Whether git says yes, by its exit code.
    pub(super) fn succeeds(&self, arguments: &[&str]) -> Result<bool, GitError> {
        let answer = self.run_raw(arguments, Vec::new())?;
        Ok(matches!(answer.ended, CapturedEnd::Exited(exit) if exit.code() == Some(0)))
    }

    /// The answer as it is, even if it is not whole.
    pub(super) fn run_raw<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: Vec<u8>,
    ) -> Result<CapturedOutput, GitError> {
        let mut all: Vec<OsString> = HARDENED.iter().map(OsString::from).collect();
        all.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        process::run_captured(CapturedCommand {
            program: OsStr::new("git"),
            arguments: &all,
            environment: &self.environment,
            directory: &self.directory,
            input,
            limit: GIT_TIMEOUT,
            max_output: MAX_OUTPUT_BYTES,
        })
        .map_err(|error| GitError::NotStarted(error.to_string()))
    }
}

/// What every question has in its environment.
fn base(top: &Path) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<_> =
        SET.iter().map(|(name, value)| (name.into(), value.into())).collect();
    environment.extend(env::var_os("TMPDIR").map(|value| ("TMPDIR".into(), value)));
    let path = env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
    environment.push(("PATH".into(), outside(&path, top)));
    environment
}

/// The folders in which programs are looked for, without those that are the agent's to fill.
fn outside(path: &OsStr, project: &Path) -> OsString {
    let is_safe = |folder: &PathBuf| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        folder.is_absolute() && !folder.starts_with(project) && !real.starts_with(project)
    };
    // Folders that were split at a colon have none.
    let safe = env::join_paths(env::split_paths(path).filter(is_safe)).unwrap_or_default();
    // An empty list would mean the current folder, which is the agent's.
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
