//! `--detach`: the run goes on without this terminal.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::execute::block_on;
use crate::commands::{eprint_safe, print, print_json, project_last};
use crate::error::Failure;
use crate::output::OutputLevel;
use crate::paste::from_here;
use crate::process::{self, DetachOutcome, DetachPipe};

/// Whether the run goes on without this terminal.
#[derive(Clone, Debug, Args)]
pub(crate) struct DetachArgs {
    /// Run in the background: print the id of the run once it has started, and exit
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    detach: bool,

    /// Where the process that was started for that gives its word
    #[arg(long, value_name = "FD", hide = true, hide_short_help = true, require_equals = true)]
    detach_fd: Option<i32>,
}

/// How this process gets away from its terminal, and what is said then.
#[derive(Clone, Debug)]
pub(crate) struct DetachTarget {
    pub(super) pipe: Arc<DetachPipe>,
    /// How much people want to be told.
    pub(super) level: OutputLevel,
}

/// What whoever waits at the terminal is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DetachReport {
    pub(super) run: String,
    pub(super) pid: u32,
    pub(super) project: PathBuf,
    pub(super) run_folder: PathBuf,
    pub(super) tone: DetachFormat,
}

/// How it is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DetachFormat {
    /// With all that people may want to know.
    People,
    /// The id, and nothing else.
    Quiet,
    /// As one object.
    Json,
}

impl From<OutputLevel> for DetachFormat {
    fn from(level: OutputLevel) -> Self {
        match level {
            OutputLevel::Quiet => Self::Quiet,
            OutputLevel::Progress | OutputLevel::Verbose => Self::People,
            OutputLevel::Json | OutputLevel::JsonMessages => Self::Json,
        }
    }
}

impl DetachArgs {
    /// Whether somebody else is to make the run.
    pub(crate) fn is_wanted(&self) -> bool {
        self.detach && self.detach_fd.is_none()
    }

    /// The way off the terminal, if we are that somebody. To be asked for first: from then on we
    /// end with whoever started us.
    pub(crate) fn pipe(&self) -> Result<Option<Arc<DetachPipe>>, Failure> {
        let open = |number| {
            DetachPipe::open(number).map(Arc::new).map_err(|error| {
                Failure::trouble(format!("whoever started this run does not listen: {error}"))
                    .hint("--detach-fd is for nightwright itself; use --detach")
            })
        };
        self.detach_fd.map(open).transpose()
    }
}

impl DetachTarget {
    /// How we leave, if there is a way, and how much we say: nobody would hear it later.
    pub(crate) fn choose(
        way_off: Option<Arc<DetachPipe>>,
        level: OutputLevel,
    ) -> (Option<Self>, OutputLevel) {
        match way_off {
            Some(pipe) => (Some(Self { pipe, level }), OutputLevel::Quiet),
            None => (None, level),
        }
    }
}

/// Has the same command carried out by another process, waits until its run has begun, and says how
/// to look at it.
pub(crate) fn detach() -> Result<ExitCode, Failure> {
    let arguments = project_last(env::args_os().collect());
    let option = |number| OsString::from(format!("--detach-fd={number}"));
    let outcome = block_on(async {
        process::start_detached(arguments, option)
            .map_err(|error| Failure::trouble(format!("can't start ourselves: {error}")))
    })?;
    match outcome {
        DetachOutcome::Detached(word) => {
            let word: DetachReport = serde_json::from_slice(&word).map_err(|error| {
                Failure::trouble(format!(
                    "the run continues, but its answer cannot be read: {error}"
                ))
                .hint("look for it: nightwright status")
            })?;
            word.announce()?;
            Ok(ExitCode::SUCCESS)
        }
        DetachOutcome::Ended(exit) => {
            let code = exit.code().or_else(|| exit.signal().map(|signal| 128 + signal));
            Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
        }
    }
}

impl DetachReport {
    /// Says it here. Where the id can't be printed people are told of the run all the same: it goes
    /// on, and nobody else would say so.
    fn announce(&self) -> Result<(), Failure> {
        let help = from_here(&self.help()).into_owned();
        match (self.print(), self.tone) {
            (Ok(()), DetachFormat::People) => eprint_safe(&help),
            (Ok(()), DetachFormat::Quiet | DetachFormat::Json) => {}
            (Err(failure), DetachFormat::People | DetachFormat::Quiet | DetachFormat::Json) => {
                eprint_safe(&help);
                let Self { run, .. } = self;
                let message = format!("run {run} continues, and {}", failure.message);
                return Err(
                    Failure::trouble(message).hint(format!("to end it: nightwright stop {run}"))
                );
            }
        }
        Ok(())
    }

    /// The part of it that is for programs.
    pub(super) fn print(&self) -> Result<(), Failure> {
        let Self { run, pid, project, run_folder, tone } = self;
        match tone {
            DetachFormat::Json => print_json(&serde_json::json!({
                "run": run,
                "pid": pid,
                "project": project,
                "run_folder": run_folder,
            })),
            DetachFormat::Quiet | DetachFormat::People => print(run),
        }
    }

    /// How to look at it.
    fn help(&self) -> String {
        let Self { run, pid, .. } = self;
        format!(
            "The run continues without this terminal (pid {pid}).\n  \
             nightwright status {run}       show its status\n  \
             nightwright log -f {run}       follow its log\n  \
             nightwright tell {run} \"TEXT\"  say something to the agent\n  \
             nightwright stop {run}         stop it after this iteration"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_how_to_look_at_it() {
        let word = DetachReport {
            run: "20261116-183131-0a1b".to_owned(),
            pid: 4711,
            project: "/srv/my shop".into(),
            run_folder: "/state/run".into(),
            tone: DetachFormat::People,
        };
        insta::assert_snapshot!(word.help(), @r#"
        The run continues without this terminal (pid 4711).
          nightwright status 20261116-183131-0a1b       show its status
          nightwright log -f 20261116-183131-0a1b       follow its log
          nightwright tell 20261116-183131-0a1b "TEXT"  say something to the agent
          nightwright stop 20261116-183131-0a1b         stop it after this iteration
        "#);
    }
}
