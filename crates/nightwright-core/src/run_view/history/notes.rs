//! Notes: the events that a report lists as one sentence each.

use jiff::Timestamp;
use serde::Serialize;

use crate::event::{
    AttemptEvent, Event, FeedbackSource, IterationEvent, NoteEvent, RunEvent, StatusText, WaitEvent,
};
use crate::permissions::denial;
use crate::phrases;

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
    #[serde(rename = "control")]
    Steering,
    /// A check ran before the first iteration.
    Baseline,
    /// The run waited for a limit to end.
    Wait,
}

/// Returns the note for an event; `None` if the report shows the event elsewhere. `in_iteration`
/// says whether an iteration is running.
pub(super) fn of(event: &Event, in_iteration: bool) -> Option<(NoteKind, String)> {
    let phrase = || phrases::event(event, in_iteration).unwrap_or_default();
    match event {
        Event::Run(RunEvent::Continued { .. })
        | Event::Iteration(IterationEvent::Skipped { .. })
        | Event::Operator(_) => Some((NoteKind::Steering, phrase())),
        Event::Run(_) | Event::Iteration(_) | Event::Call(_) | Event::Gate(_) => None,
        Event::Attempt(event) => of_attempt(event),
        Event::Wait(wait) => match wait {
            WaitEvent::RetryScheduled { why, .. } => {
                Some((NoteKind::Wait, format!("before another attempt: {why}")))
            }
            WaitEvent::Started { limit, .. } => {
                Some((NoteKind::Wait, format!("for the {}", phrases::limit(*limit))))
            }
            WaitEvent::Ended { .. } => Some((NoteKind::Wait, phrase())),
            WaitEvent::QuotaReported { .. } => None,
        },
        Event::Note(note) => match note {
            NoteEvent::StatusChanged { .. } => {
                Some((NoteKind::Status, StatusText::of(event)?.line()))
            }
            NoteEvent::CouncilDecided { conflict, decision, .. } => {
                Some((NoteKind::Council, format!("{conflict}: {decision}")))
            }
            NoteEvent::PrinciplesAdopted { .. } => Some((NoteKind::Council, phrase())),
            NoteEvent::FeedbackAdded { source, text } => {
                Some((NoteKind::Feedback, format!("{}: {text}", source_name(*source))))
            }
            NoteEvent::HookFailed { .. } | NoteEvent::Warning { .. } => {
                Some((NoteKind::Warning, phrase()))
            }
            NoteEvent::BlockerReported { .. } => None,
        },
    }
}

fn of_attempt(event: &AttemptEvent) -> Option<(NoteKind, String)> {
    match event {
        AttemptEvent::MessageSent { text, .. } => {
            Some((NoteKind::Feedback, format!("during the attempt: {text}")))
        }
        AttemptEvent::WatchdogNoticed { finding, .. } => {
            Some((NoteKind::Watchdog, finding.text.clone()))
        }
        AttemptEvent::PermissionDenied { tool, command, rule, .. } => {
            let what = denial::what(tool, command);
            Some((NoteKind::Denied, phrases::denied_as(&what, rule.as_deref())))
        }
        // The attempts of an iteration have their own place in the report.
        AttemptEvent::Started { .. }
        | AttemptEvent::AgentReady { .. }
        | AttemptEvent::Cancelled { .. }
        | AttemptEvent::Finished { .. } => None,
    }
}

fn source_name(source: FeedbackSource) -> &'static str {
    match source {
        FeedbackSource::Checks => "from the checks",
        FeedbackSource::Verifier => "from the verifier",
        FeedbackSource::Watchdog => "from the watchdog",
        FeedbackSource::Council => "from the council",
        FeedbackSource::Idle => "about lack of progress",
        FeedbackSource::Marker => "about a completion marker that did not count",
        FeedbackSource::Human => "from you",
    }
}
