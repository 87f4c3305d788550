//! The words for events. Screens, log and report take them from here, except for the events that a
//! screen shows with a separate layout.

use super::{denied_as, limit, wait_ended};
use crate::event::{
    AttemptEvent, Continuation, Event, FeedbackSource, IterationEvent, NoteEvent, OperatorEvent,
    RunEvent, StatusText, StopSource, StopWhen, WaitEvent,
};
use crate::permissions::denial;
use crate::run_view::history::NoteKind;

/// An event in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPhrase {
    pub kind: NoteKind,
    pub text: String,
}

/// Returns the words for an event. Returns `None` if the event needs a longer text or is not shown.
/// `in_iteration` says whether an iteration is running.
pub fn event(event: &Event, in_iteration: bool) -> Option<EventPhrase> {
    let (kind, text) = match event {
        Event::Run(RunEvent::Continued { why }) => (NoteKind::Control, continued(*why).to_owned()),
        Event::Iteration(IterationEvent::Skipped { iteration }) => {
            (NoteKind::Control, format!("iteration {iteration}: skipped by a hook"))
        }
        Event::Attempt(event) => attempt(event)?,
        Event::Wait(event) => (NoteKind::Wait, wait(event)?),
        Event::Operator(event) => (NoteKind::Control, requested(event, in_iteration)),
        Event::Note(note) => noted(event, note)?,
        Event::Run(_) | Event::Iteration(_) | Event::Call(_) | Event::Gate(_) => return None,
    };
    Some(EventPhrase { kind, text })
}

fn attempt(event: &AttemptEvent) -> Option<(NoteKind, String)> {
    match event {
        AttemptEvent::MessageSent { text, .. } => {
            Some((NoteKind::Feedback, format!("during the attempt: {text}")))
        }
        AttemptEvent::WatchdogNoticed { finding, .. } => {
            Some((NoteKind::Watchdog, finding.text.clone()))
        }
        AttemptEvent::PermissionDenied { tool, command, rule, .. } => {
            let what = denial::what(tool, command);
            Some((NoteKind::Denied, denied_as(&what, rule.as_deref())))
        }
        // The attempts of an iteration have their own place in the report.
        AttemptEvent::Started { .. }
        | AttemptEvent::AgentReady { .. }
        | AttemptEvent::Cancelled { .. }
        | AttemptEvent::Finished { .. } => None,
    }
}

fn wait(event: &WaitEvent) -> Option<String> {
    match event {
        WaitEvent::RetryScheduled { why, .. } => Some(format!("before another attempt: {why}")),
        WaitEvent::Started { limit: kind, .. } => Some(format!("for the {}", limit(*kind))),
        WaitEvent::Ended { why, waited } => Some(wait_ended(*why, *waited)),
        WaitEvent::QuotaReported { .. } => None,
    }
}

fn noted(event: &Event, note: &NoteEvent) -> Option<(NoteKind, String)> {
    match note {
        NoteEvent::StatusChanged { .. } => Some((NoteKind::Status, StatusText::of(event)?.line())),
        NoteEvent::CouncilDecided { conflict, decision, .. } => {
            Some((NoteKind::Council, format!("{conflict}: {decision}")))
        }
        NoteEvent::PrinciplesAdopted { .. } => {
            let text = "the agent wrote the principles; they now apply";
            Some((NoteKind::Council, text.to_owned()))
        }
        NoteEvent::FeedbackAdded { source, text } => {
            Some((NoteKind::Feedback, format!("{}: {text}", source_name(*source))))
        }
        NoteEvent::HookFailed { hook, why } => {
            Some((NoteKind::Warning, format!("the hook `{hook}` failed: {why}")))
        }
        NoteEvent::HostRefused { host, why, setting } => {
            Some((NoteKind::Warning, host_refused(host, why, setting.as_deref())))
        }
        NoteEvent::Warning { text } => Some((NoteKind::Warning, text.clone())),
        // Blockers and hosts have their own places in the report.
        NoteEvent::BlockerReported { .. } | NoteEvent::HostContacted { .. } => None,
    }
}

/// A refused connection in a sentence, with the setting that allows it.
pub fn host_refused(host: &str, why: &str, setting: Option<&str>) -> String {
    let refused = format!("the sandbox refused a connection to {host}: {why}");
    match setting {
        Some(setting) => format!("{refused}. To allow it, set `{setting}`"),
        None => refused,
    }
}

fn source_name(source: FeedbackSource) -> &'static str {
    match source {
        FeedbackSource::Checks => "from the checks",
        FeedbackSource::Verifier => "from the gate",
        FeedbackSource::Watchdog => "from the watchdog",
        FeedbackSource::Council => "from the council",
        FeedbackSource::Idle => "about lack of progress",
        FeedbackSource::Marker => "about a completion marker that did not count",
        FeedbackSource::Human => "from you",
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
        StopSource::TerminalClosed => "because the terminal closed",
        StopSource::Terminate => "requested by SIGTERM",
        StopSource::Operator => "requested by `nightwright stop`",
        StopSource::StopFile => "requested by the stop file",
        StopSource::Key => "requested by pressing s",
    };
    format!("{when}, {by}")
}
