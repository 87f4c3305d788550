//! How the last process of a run left it: what a machine that comes up again has to know.

use crate::event::{
    AttemptEvent, CallEvent, Continuation, Event, GateEvent, IterationEvent, NoteEvent,
    OperatorEvent, Record, RunEvent, StopSource, WaitEvent,
};
use crate::outcome::Outcome;
use crate::settings::Scope;

/// How a run was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// It was never begun.
    NotStarted,
    /// Nobody wanted it to end: its process was killed, the power failed, or the system told it to
    /// end because it went down.
    Crashed,
    /// It was cut off while it was paused: whoever paused it says when it goes on.
    Paused,
    /// It was cut off after somebody had asked it to stop.
    Stopping,
    /// It had come to an end.
    Ended,
}

impl Interruption {
    /// What a journal says.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut fold = InterruptionFold::default();
        for record in records {
            fold.record(&record.event);
        }
        fold.interruption()
    }
}

/// What has to be known of a journal for that.
#[derive(Default)]
struct InterruptionFold {
    started: bool,
    paused: bool,
    /// A person asked it to stop.
    stopping: bool,
    /// The system told it to end.
    terminated: bool,
    outcome: Option<Outcome>,
}

impl InterruptionFold {
    fn record(&mut self, event: &Event) {
        match event {
            // One that only judges has nothing to go on with: it is made anew.
            Event::Run(RunEvent::Started(started)) => {
                self.started = started.settings.scope == Scope::Whole
            }
            Event::Run(RunEvent::Continued { why }) => {
                let paused = self.paused && *why == Continuation::AfterCrash;
                *self = Self { started: self.started, paused, ..Self::default() };
            }
            Event::Operator(OperatorEvent::StopRequested { by: StopSource::Terminate, .. }) => {
                self.terminated = true
            }
            Event::Operator(OperatorEvent::StopRequested {
                by:
                    StopSource::Signal
                    | StopSource::TerminalClosed
                    | StopSource::Operator
                    | StopSource::StopFile
                    | StopSource::Key,
                ..
            }) => self.stopping = true,
            Event::Operator(OperatorEvent::StopCancelled) => self.stopping = false,
            Event::Operator(OperatorEvent::Paused) => self.paused = true,
            Event::Operator(OperatorEvent::Resumed) => self.paused = false,
            Event::Run(RunEvent::Finished { outcome, .. }) => self.outcome = Some(outcome.clone()),
            Event::Iteration(IterationEvent::Started { .. })
            | Event::Iteration(IterationEvent::Skipped { .. })
            | Event::Iteration(IterationEvent::Finished(_))
            | Event::Attempt(AttemptEvent::Started { .. })
            | Event::Attempt(AttemptEvent::AgentReady { .. })
            | Event::Attempt(AttemptEvent::Cancelled { .. })
            | Event::Attempt(AttemptEvent::Finished { .. })
            | Event::Wait(WaitEvent::RetryScheduled { .. })
            | Event::Wait(WaitEvent::Started { .. })
            | Event::Wait(WaitEvent::Ended { .. })
            | Event::Wait(WaitEvent::QuotaReported { .. })
            | Event::Note(NoteEvent::StatusChanged { .. })
            | Event::Note(NoteEvent::BlockerReported { .. })
            | Event::Attempt(AttemptEvent::WatchdogNoticed { .. })
            | Event::Attempt(AttemptEvent::NudgeSent { .. })
            | Event::Attempt(AttemptEvent::PermissionDenied { .. })
            | Event::Gate(GateEvent::Started { .. })
            | Event::Gate(GateEvent::ChecksStarted { .. })
            | Event::Gate(GateEvent::ChecksFinished { .. })
            | Event::Gate(GateEvent::ChangesInspected { .. })
            | Event::Call(CallEvent::Started { .. })
            | Event::Call(CallEvent::Cancelled { .. })
            | Event::Call(CallEvent::Finished { .. })
            | Event::Gate(GateEvent::VerdictGiven { .. })
            | Event::Gate(GateEvent::Finished { .. })
            | Event::Note(NoteEvent::CouncilDecided { .. })
            | Event::Note(NoteEvent::PrinciplesAdopted { .. })
            | Event::Note(NoteEvent::FeedbackAdded { .. })
            | Event::Operator(OperatorEvent::SettingsChanged { .. })
            | Event::Note(NoteEvent::HookFailed { .. })
            | Event::Note(NoteEvent::Warning { .. }) => {}
        }
    }

    fn interruption(&self) -> Interruption {
        let cut_off = match &self.outcome {
            None => true,
            Some(Outcome::Interrupted) => self.terminated,
            Some(_) => false,
        };
        match (self.started, cut_off) {
            (false, _) => Interruption::NotStarted,
            (true, false) => Interruption::Ended,
            (true, true) if self.stopping => Interruption::Stopping,
            (true, true) if self.paused => Interruption::Paused,
            (true, true) => Interruption::Crashed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;
    use crate::event::{AgentFacts, RunStarted, StopWhen, Totals};
    use crate::settings::Settings;

    fn started(scope: Scope) -> Event {
        Event::Run(RunEvent::Started(Box::new(RunStarted {
            settings: Settings { scope, ..Settings::default() },
            agent: AgentFacts::default(),
            project: "/p".to_owned(),
            git_head: None,
            containment: String::new(),
            baseline: None,
            hooks: std::collections::BTreeMap::new(),
            seed: 1,
        })))
    }

    fn stop(by: StopSource) -> Event {
        Event::Operator(OperatorEvent::StopRequested { when: StopWhen::Now, by })
    }

    fn over(outcome: Outcome) -> Event {
        Event::Run(RunEvent::Finished { outcome, note: None, totals: Totals::default() })
    }

    fn left(events: &[Event]) -> Interruption {
        let first = [started(Scope::Whole)];
        let records: Vec<_> = first
            .iter()
            .chain(events)
            .map(|event| Record {
                at: Timestamp::UNIX_EPOCH,
                active: Duration::ZERO,
                event: event.clone(),
            })
            .collect();
        Interruption::of(&records)
    }

    #[test]
    fn a_run_whose_process_was_killed_or_told_to_end_was_cut_off() {
        assert_eq!(left(&[]), Interruption::Crashed);
        assert_eq!(left(&[stop(StopSource::Terminate)]), Interruption::Crashed);
        assert_eq!(
            left(&[stop(StopSource::Terminate), over(Outcome::Interrupted)]),
            Interruption::Crashed
        );
    }

    #[test]
    fn a_run_that_somebody_stopped_was_not_whatever_came_after_that() {
        for by in [
            StopSource::Signal,
            StopSource::TerminalClosed,
            StopSource::Operator,
            StopSource::StopFile,
            StopSource::Key,
        ] {
            assert_eq!(left(&[stop(by)]), Interruption::Stopping, "{by:?}");
            assert_eq!(
                left(&[stop(by), over(Outcome::Interrupted)]),
                Interruption::Ended,
                "{by:?}"
            );
            let both = [stop(by), stop(StopSource::Terminate), over(Outcome::Interrupted)];
            assert_eq!(left(&both), Interruption::Stopping, "{by:?}");
        }
        assert_eq!(
            left(&[stop(StopSource::Operator), Event::Operator(OperatorEvent::StopCancelled)]),
            Interruption::Crashed
        );
    }

    #[test]
    fn a_run_that_ended_otherwise_is_over_even_if_it_was_told_to_end_too() {
        assert_eq!(left(&[over(Outcome::Stopped)]), Interruption::Ended);
        assert_eq!(
            left(&[stop(StopSource::Terminate), over(Outcome::Stopped)]),
            Interruption::Ended
        );
    }

    #[test]
    fn who_paused_a_run_says_when_it_goes_on() {
        let down = [stop(StopSource::Terminate), over(Outcome::Interrupted)];
        assert_eq!(left(&[Event::Operator(OperatorEvent::Paused)]), Interruption::Paused);
        assert_eq!(
            left(&[&[Event::Operator(OperatorEvent::Paused)][..], &down].concat()),
            Interruption::Paused
        );
        assert_eq!(
            left(&[
                Event::Operator(OperatorEvent::Paused),
                Event::Operator(OperatorEvent::Resumed)
            ]),
            Interruption::Crashed
        );
        let again = Event::Run(RunEvent::Continued { why: Continuation::AfterEnd });
        assert_eq!(
            left(&[&[Event::Operator(OperatorEvent::Paused)][..], &down, &[again]].concat()),
            Interruption::Crashed
        );
        let crash = Event::Run(RunEvent::Continued { why: Continuation::AfterCrash });
        assert_eq!(left(&[Event::Operator(OperatorEvent::Paused), crash]), Interruption::Paused);
    }

    #[test]
    fn what_an_earlier_process_was_told_is_over_with_it() {
        let again = || Event::Run(RunEvent::Continued { why: Continuation::AfterEnd });
        let stopped = [stop(StopSource::Operator), over(Outcome::Interrupted), again()];
        assert_eq!(left(&stopped), Interruption::Crashed);
        let down = [stop(StopSource::Terminate), over(Outcome::Interrupted), again()];
        let later = [&down[..], &[stop(StopSource::Signal), over(Outcome::Interrupted)]].concat();
        assert_eq!(left(&later), Interruption::Ended);
    }

    #[test]
    fn one_that_only_judges_and_one_that_never_began_leave_nothing_to_go_on_with() {
        assert_eq!(Interruption::of([]), Interruption::NotStarted);
        let event = started(Scope::Gate);
        let record = Record { at: Timestamp::UNIX_EPOCH, active: Duration::ZERO, event };
        assert_eq!(Interruption::of([&record]), Interruption::NotStarted);
    }
}
