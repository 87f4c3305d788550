//! Phrases for events that read the same wherever they are shown.

use super::wait_ended;
use crate::event::{
    Continuation, Event, IterationEvent, NoteEvent, OperatorEvent, RunEvent, StopSource, StopWhen,
    WaitEvent,
};

/// Returns a short phrase for an event. Returns `None` if the event needs a longer text or is not
/// shown. `in_iteration` says whether an iteration is running.
pub fn event(event: &Event, in_iteration: bool) -> Option<String> {
    match event {
        Event::Run(RunEvent::Continued { why }) => Some(continued(*why).to_owned()),
        Event::Iteration(IterationEvent::Skipped { iteration }) => {
            Some(format!("iteration {iteration}: skipped by a hook"))
        }
        Event::Wait(WaitEvent::Ended { why, waited }) => Some(wait_ended(*why, *waited)),
        Event::Operator(event) => Some(requested(event, in_iteration)),
        Event::Note(NoteEvent::PrinciplesAdopted { .. }) => {
            Some("the agent wrote the principles; they now apply".to_owned())
        }
        Event::Note(NoteEvent::HookFailed { hook, why }) => {
            Some(format!("the hook `{hook}` failed: {why}"))
        }
        Event::Note(NoteEvent::Warning { text }) => Some(text.clone()),
        Event::Run(_)
        | Event::Iteration(_)
        | Event::Attempt(_)
        | Event::Call(_)
        | Event::Wait(_)
        | Event::Gate(_)
        | Event::Note(_) => None,
    }
}

fn continued(why: Continuation) -> &'static str {
    match why {
        Continuation::AfterCrash => "resuming after a crash",
        Continuation::AfterEnd => "resuming an ended run",
    }
}

fn requested(event: &OperatorEvent, in_iteration: bool) -> String {
    match event {
        OperatorEvent::StopRequested { when, by } => stop_requested(*when, *by, in_iteration),
        OperatorEvent::StopCancelled => "stop cancelled".to_owned(),
        OperatorEvent::Paused => "paused".to_owned(),
        OperatorEvent::Resumed => "resumed".to_owned(),
        OperatorEvent::RetryRefused => retry_refused().to_owned(),
        OperatorEvent::SettingsChanged { change, .. } => format!("changed {}", change.sentence()),
    }
}

/// Why a request to retry is refused.
pub fn retry_refused() -> &'static str {
    "retried less than a minute ago; not retrying yet"
}

/// A request to stop and its source: `stopping after this iteration, requested by SIGTERM`.
pub fn stop_requested(when: StopWhen, by: StopSource, in_iteration: bool) -> String {
    let when = match when {
        StopWhen::AfterIteration if in_iteration => "stopping after this iteration",
        StopWhen::AfterIteration => "stopping before the next iteration",
        StopWhen::Now => "stopping now",
    };
    let by = match by {
        StopSource::Signal => "requested by a signal",
        StopSource::TerminalClosed => "because the terminal was closed",
        StopSource::Terminate => "requested by SIGTERM",
        StopSource::Operator => "requested by `nightwright stop`",
        StopSource::StopFile => "requested by the stop file",
        StopSource::Key => "requested by pressing s",
    };
    format!("{when}, {by}")
}
