//! Whether anybody conducts a run, and what follows from that for whoever looks at it.

use serde::Serialize;

use super::{Activity, NextStep, RunView};
use crate::units::RunId;

/// Whether anybody conducts a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// Somebody does.
    Running,
    /// Nobody does, and it has not ended.
    Gone,
    /// It is over.
    Ended,
    /// Nobody does, and whether it has ended cannot be read.
    Unknown,
}

/// Where a journal cannot be read any further. A half-written end is none: whoever wrote it wrote no
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalBreak {
    /// Something that was recorded is not there any more.
    Damaged {
        /// From this line on, counted from 1.
        line: u64,
    },
    /// A later nightwright recorded it.
    Newer {
        /// From this line on, counted from 1.
        line: u64,
    },
}

impl JournalBreak {
    /// What it means for what is told of the run.
    pub fn sentence(self) -> String {
        match self {
            Self::Damaged { line } => {
                format!("What it came to is not known: the journal is damaged from line {line} on")
            }
            Self::Newer { line } => format!(
                "What it came to is not known: from line {line} on the journal is of a newer nightwright"
            ),
        }
    }
}

impl Liveness {
    /// By what could be read of the journal, whether a process holds the run, and where the journal
    /// cannot be read any further.
    pub fn of(view: &RunView, is_live: bool, unread: Option<JournalBreak>) -> Self {
        match (&view.ending, is_live, unread) {
            (_, true, Some(_)) | (None, true, None) => Self::Running,
            // An ending before the break need not be the last.
            (_, false, Some(_)) => Self::Unknown,
            (Some(_), _, None) => Self::Ended,
            (None, false, None) => Self::Gone,
        }
    }
}

impl RunView {
    /// What to do next.
    pub fn steps(
        &self,
        run: &RunId,
        conduct: Liveness,
        unread: Option<JournalBreak>,
    ) -> Vec<NextStep> {
        match (conduct, unread) {
            (Liveness::Running, _) if self.activity() == Activity::Paused || self.paused => {
                vec![NextStep::command("end the pause", format!("nightwright resume {run}"))]
            }
            (Liveness::Running, _) => vec![
                NextStep::command("follow its log", format!("nightwright log -f {run}")),
                NextStep::command(
                    "say something to the agent",
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
                    "the log may have what the journal has lost",
                    format!("nightwright log {run}"),
                ),
                NextStep::text(
                    "the run cannot be resumed: review the changes, then start a new one",
                ),
            ],
            (Liveness::Gone, None) if self.is_only_the_gate() => self.summary(run).next,
            (Liveness::Gone, None) => vec![NextStep::command(
                "its process is gone: continue",
                format!("nightwright resume {run}"),
            )],
            // There is no work to look at or to commit, and more room would not make any.
            (Liveness::Ended, None) if self.is_rehearsal() => {
                vec![NextStep::text(
                    "this was a rehearsal: run again without --dry-run to do the work",
                )]
            }
            (Liveness::Ended, None) => self.summary(run).next,
        }
    }
}
