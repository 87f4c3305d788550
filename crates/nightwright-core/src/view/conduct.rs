//! Whether anybody conducts a run, and what follows from that for whoever looks at it.

use serde::Serialize;

use super::{Activity, RunView, Step};
use crate::units::RunId;

/// Whether anybody conducts a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conduct {
    /// Somebody does.
    Running,
    /// Nobody does, and it has not ended.
    Gone,
    /// It is over.
    Ended,
    /// Nobody does, and whether it has ended can't be read.
    Unknown,
}

/// Where a journal can't be read any further. A half-written end is none: whoever wrote it wrote no
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
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

impl Break {
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

impl Conduct {
    /// By what could be read of the journal, whether a process holds the run, and where the journal
    /// can't be read any further.
    pub fn of(view: &RunView, is_live: bool, unread: Option<Break>) -> Self {
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
    pub fn steps(&self, run: &RunId, conduct: Conduct, unread: Option<Break>) -> Vec<Step> {
        match (conduct, unread) {
            (Conduct::Running, _) if self.activity() == Activity::Paused || self.paused => {
                vec![Step::command("end the pause", format!("nightwright resume {run}"))]
            }
            (Conduct::Running, _) => vec![
                Step::command("follow its log", format!("nightwright log -f {run}")),
                Step::command(
                    "say something to the agent",
                    format!("nightwright tell {run} \"TEXT\""),
                ),
                Step::command("stop it after this iteration", format!("nightwright stop {run}")),
            ],
            (_, Some(Break::Newer { .. })) => {
                vec![Step::text("update nightwright: a newer version recorded this run")]
            }
            (_, Some(Break::Damaged { .. })) | (Conduct::Unknown, None) => vec![
                Step::command(
                    "the log may have what the journal has lost",
                    format!("nightwright log {run}"),
                ),
                Step::text("the run cannot be resumed: review the changes, then start a new one"),
            ],
            (Conduct::Gone, None) if self.is_only_the_gate() => self.summary(run).next,
            (Conduct::Gone, None) => vec![Step::command(
                "its process is gone: continue",
                format!("nightwright resume {run}"),
            )],
            // There is no work to look at or to commit, and more room would not make any.
            (Conduct::Ended, None) if self.is_rehearsal() => {
                vec![Step::text("this was a rehearsal: run again without --dry-run to do the work")]
            }
            (Conduct::Ended, None) => self.summary(run).next,
        }
    }
}
