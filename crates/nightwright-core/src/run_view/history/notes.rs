//! Notes: the events that a report lists as one sentence each.

use jiff::Timestamp;
use serde::Serialize;

/// An event of a run that the report lists as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub at: Timestamp,
    /// The iteration of the event; `None` before the first iteration.
    pub iteration: Option<u32>,
    pub kind: NoteKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A warning for the operator.
    Warning,
    /// Feedback for the agent, sent at once or with the next prompt.
    Feedback,
    /// A finding of the watchdog.
    Watchdog,
    /// The agent was denied a tool.
    Denied,
    /// The council decided a conflict between principles.
    Council,
    /// The status file of the task changed.
    Status,
    /// The run was stopped, paused, given new limits or taken over by another process.
    Control,
    /// A check ran before the first iteration.
    Baseline,
    /// The run waited for a limit to end.
    Wait,
}
