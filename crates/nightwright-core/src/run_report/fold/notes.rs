//! What else happened, in a sentence each.

use crate::event::{
    AttemptEvent, CallEvent, Continuation, Event, FeedbackSource, GateEvent, IterationEvent,
    NoteEvent, OperatorEvent, RunEvent, StatusText, StopSource, StopWhen, WaitEnd, WaitEvent,
    WaitKind,
};
use crate::permissions::denial;
use crate::run_report::NoteKind;
use crate::units::human;

/// What people want to read of an event that changes no iteration; `None` for those that say
/// nothing which is not said elsewhere.
pub(super) fn of(event: &Event) -> Option<(NoteKind, String)> {
    Some(match event {
        Event::Note(NoteEvent::Warning { text }) => (NoteKind::Warning, text.clone()),
        Event::Note(NoteEvent::HookFailed { hook, why }) => {
            (NoteKind::Warning, format!("the hook `{hook}` failed: {why}"))
        }
        Event::Note(NoteEvent::FeedbackAdded { source, text }) => {
            (NoteKind::Feedback, format!("{}: {text}", source_name(*source)))
        }
        Event::Attempt(AttemptEvent::NudgeSent { text, .. }) => {
            (NoteKind::Feedback, format!("while it worked: {text}"))
        }
        Event::Attempt(AttemptEvent::WatchdogNoticed { notice, .. }) => {
            (NoteKind::Watchdog, notice.text.clone())
        }
        Event::Attempt(AttemptEvent::PermissionDenied { tool, command, rule, .. }) => {
            let (what, advice) = (denial::what(tool, command), denial::advice(rule.as_deref()));
            (NoteKind::Denied, format!("{what} ({advice})"))
        }
        Event::Note(NoteEvent::CouncilDecided { conflict, decision, .. }) => {
            (NoteKind::Council, format!("{conflict}: {decision}"))
        }
        Event::Note(NoteEvent::StatusChanged { .. }) => {
            (NoteKind::Status, StatusText::of(event)?.line())
        }
        Event::Wait(WaitEvent::Ended { why, waited }) => {
            let end = match why {
                WaitEnd::Elapsed => "",
                WaitEnd::RetryNow => ", then tried again as asked",
                WaitEnd::Stopped => ", until the run was stopped",
            };
            (NoteKind::Wait, format!("{}{end}", human(*waited)))
        }
        Event::Wait(WaitEvent::Started { limit, .. }) => {
            (NoteKind::Wait, format!("for {}", wait(*limit)))
        }
        Event::Wait(WaitEvent::RetryScheduled { why, .. }) => {
            (NoteKind::Wait, format!("before another attempt: {why}"))
        }
        Event::Run(RunEvent::Continued { why }) => (
            NoteKind::Steering,
            match why {
                Continuation::AfterCrash => "gone on with after its process had died".to_owned(),
                Continuation::AfterEnd => "gone on with after its end".to_owned(),
            },
        ),
        Event::Operator(OperatorEvent::StopRequested { when, by }) => {
            let when = match when {
                StopWhen::AfterIteration => "asked to stop after the iteration",
                StopWhen::Now => "asked to stop at once",
            };
            (NoteKind::Steering, format!("{when}, {}", origin(*by)))
        }
        Event::Operator(OperatorEvent::StopCancelled) => {
            (NoteKind::Steering, "told to go on after all".to_owned())
        }
        Event::Operator(OperatorEvent::Paused) => (NoteKind::Steering, "paused".to_owned()),
        Event::Operator(OperatorEvent::Resumed) => (NoteKind::Steering, "resumed".to_owned()),
        Event::Operator(OperatorEvent::SettingsChanged { change, .. }) => {
            (NoteKind::Steering, format!("changed {}", change.sentence()))
        }
        Event::Iteration(IterationEvent::Skipped { iteration }) => {
            (NoteKind::Steering, format!("a hook skipped iteration {iteration}"))
        }
        Event::Note(NoteEvent::PrinciplesAdopted { .. }) => {
            (NoteKind::Council, "the principles that the agent wrote down hold from here on".into())
        }
        Event::Run(RunEvent::Started(_))
        | Event::Iteration(IterationEvent::Started { .. })
        | Event::Attempt(AttemptEvent::Started { .. })
        | Event::Attempt(AttemptEvent::AgentReady { .. })
        | Event::Attempt(AttemptEvent::Cancelled { .. })
        | Event::Attempt(AttemptEvent::Finished { .. })
        | Event::Wait(WaitEvent::QuotaReported { .. })
        | Event::Note(NoteEvent::BlockerReported { .. })
        | Event::Gate(GateEvent::Started { .. })
        | Event::Gate(GateEvent::ChecksStarted { .. })
        | Event::Gate(GateEvent::ChecksFinished { .. })
        | Event::Gate(GateEvent::ChangesInspected { .. })
        | Event::Call(CallEvent::Started { .. })
        | Event::Call(CallEvent::Cancelled { .. })
        | Event::Call(CallEvent::Finished { .. })
        | Event::Gate(GateEvent::VerdictGiven { .. })
        | Event::Gate(GateEvent::Finished { .. })
        | Event::Iteration(IterationEvent::Finished(_))
        | Event::Run(RunEvent::Finished { .. }) => return None,
    })
}

pub(super) fn wait(limit: WaitKind) -> &'static str {
    match limit {
        WaitKind::Usage => "the account's usage limit",
        WaitKind::Rate => "the rate limit",
        WaitKind::Quota => "the share of the quota that is allowed",
    }
}

fn source_name(source: FeedbackSource) -> &'static str {
    match source {
        FeedbackSource::Checks => "by the checks",
        FeedbackSource::Verifier => "by the verifier",
        FeedbackSource::Watchdog => "by the watchdog",
        FeedbackSource::Council => "by the council",
        FeedbackSource::Idle => "for want of progress",
        FeedbackSource::Marker => "about a completion marker that was not counted",
        FeedbackSource::Human => "by a person",
    }
}

fn origin(by: StopSource) -> &'static str {
    match by {
        StopSource::Signal => "by a signal",
        StopSource::TerminalClosed => "because the terminal was closed",
        StopSource::Terminate => "by SIGTERM",
        StopSource::Operator => "by a command",
        StopSource::StopFile => "by the stop file",
        StopSource::Key => "by a key",
    }
}
