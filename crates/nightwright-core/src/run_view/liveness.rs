//! Liveness of a run: whether a process controls it, and which next steps follow from that.

use serde::Serialize;

use super::{Activity, NextStep, RunView};
use crate::units::RunId;

/// Whether a process controls a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// A process controls the run.
    Running,
    /// No process controls the run, and it has not ended.
    Crashed,
    Ended,
    /// No process controls the run, and the journal does not show whether it has ended.
    Unknown,
}

/// The point where a journal becomes unreadable. An incomplete last line does not count, because
/// nothing follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalBreak {
    /// Recorded data is missing or corrupt.
    Damaged {
        /// The first unreadable line, counted from 1.
        line: u64,
    },
    /// A newer version of nightwright wrote the rest.
    Newer {
        /// The first unreadable line, counted from 1.
        line: u64,
    },
}

impl JournalBreak {
    /// Explains how the break affects the information about the run.
    pub fn sentence(self) -> String {
        match self {
            Self::Damaged { line } => {
                format!("Outcome unknown: the journal is damaged from line {line}")
            }
            Self::Newer { line } => format!(
                "Outcome unknown: a newer nightwright wrote the journal from line {line} on"
            ),
        }
    }
}

impl Liveness {
    /// Determines the liveness from the readable part of the journal, whether a process holds the
    /// run, and where the journal becomes unreadable.
    pub fn of(view: &RunView, is_live: bool, unread: Option<JournalBreak>) -> Self {
        match (&view.finished, is_live, unread) {
            (_, true, Some(_)) | (None, true, None) => Self::Running,
            // The run may have continued after an outcome that precedes the break.
            (_, false, Some(_)) => Self::Unknown,
            (Some(_), _, None) => Self::Ended,
            (None, false, None) => Self::Crashed,
        }
    }
}

impl RunView {
    /// Returns the suggested next steps.
    pub fn steps(
        &self,
        run: &RunId,
        liveness: Liveness,
        unread: Option<JournalBreak>,
    ) -> Vec<NextStep> {
        match (liveness, unread) {
            (Liveness::Running, _) if self.activity() == Activity::Paused || self.paused => {
                vec![NextStep::command("resume the run", format!("nightwright resume {run}"))]
            }
            (Liveness::Running, _) => vec![
                NextStep::command("follow its log", format!("nightwright log -f {run}")),
                NextStep::command(
                    "send a message to the agent",
                    format!("nightwright tell {run} \"TEXT\""),
                ),
                NextStep::command(
                    "stop it after this iteration",
                    format!("nightwright stop {run}"),
                ),
            ],
            (_, Some(JournalBreak::Newer { .. })) => {
                vec![NextStep::text("update nightwright: a newer version recorded this run")]
            }
            (_, Some(JournalBreak::Damaged { .. })) | (Liveness::Unknown, None) => vec![
                NextStep::command(
                    "read the log: it may contain events that the journal lacks",
                    format!("nightwright log {run}"),
                ),
                NextStep::text(
                    "review the changes, then start a new run: you cannot resume this one",
                ),
            ],
            (Liveness::Crashed, None) if self.is_only_the_gate() => self.summary(run).next,
            (Liveness::Crashed, None) => vec![NextStep::command(
                "resume the crashed run",
                format!("nightwright resume {run}"),
            )],
            // A rehearsal leaves no work to review or commit, and higher limits would not change
            // that.
            (Liveness::Ended, None) if self.is_rehearsal() => {
                vec![NextStep::text(
                    "this was a rehearsal: run again without --dry-run to do the work",
                )]
            }
            (Liveness::Ended, None) => self.summary(run).next,
        }
    }
}
