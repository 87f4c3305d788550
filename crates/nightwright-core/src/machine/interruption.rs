//! How the last process of a run ended, for deciding what to do after a reboot.

use crate::event::{Continuation, Event, Record, StopSource};
use crate::outcome::Outcome;
use crate::settings::Scope;

/// The state in which the last process left a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The run never started.
    NotStarted,
    /// The run did not end on purpose: its process was killed, the power failed, or the system
    /// terminated it during a shutdown.
    Crashed,
    /// The process ended while the run was paused. Only the operator resumes it.
    Paused,
    /// The process ended after the operator had requested a stop.
    Stopping,
    /// The run had ended with an outcome.
    Ended,
}

impl Interruption {
    /// Derives the state from the records of a journal.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut fold = InterruptionFold::default();
        for record in records {
            fold.record(&record.event);
        }
        fold.interruption()
    }
}

/// The facts about a journal that determine the state.
#[derive(Default)]
struct InterruptionFold {
    started: bool,
    paused: bool,
    /// The operator requested a stop.
    stopping: bool,
    /// The system sent the signal to terminate.
    terminated: bool,
    outcome: Option<Outcome>,
}

impl InterruptionFold {
    fn record(&mut self, event: &Event) {
        match event {
            // A run that only verifies has nothing to resume; it starts again.
            Event::RunStarted(started) => self.started = started.settings.scope == Scope::Whole,
            Event::RunContinued { why } => {
                let paused = self.paused && *why == Continuation::AfterCrash;
                *self = Self { started: self.started, paused, ..Self::default() };
            }
            Event::StopRequested { by: StopSource::Terminate, .. } => self.terminated = true,
            Event::StopRequested {
                by:
                    StopSource::Signal
                    | StopSource::TerminalClosed
                    | StopSource::Operator
                    | StopSource::StopFile
                    | StopSource::Key,
                ..
            } => self.stopping = true,
            Event::StopCancelled => self.stopping = false,
            Event::RunPaused => self.paused = true,
            Event::RunResumed => self.paused = false,
            Event::RunFinished { outcome, .. } => self.outcome = Some(outcome.clone()),
            Event::IterationStarted { .. }
            | Event::IterationSkipped { .. }
            | Event::IterationFinished(_)
            | Event::AttemptStarted { .. }
            | Event::AgentReady { .. }
            | Event::AttemptCancelled { .. }
            | Event::AttemptFinished { .. }
            | Event::RetryScheduled { .. }
            | Event::LimitWaitStarted { .. }
            | Event::LimitWaitEnded { .. }
            | Event::QuotaReported { .. }
            | Event::StatusChanged { .. }
            | Event::BlockerReported { .. }
            | Event::WatchdogNoticed { .. }
            | Event::NudgeSent { .. }
            | Event::PermissionDenied { .. }
            | Event::GateStarted { .. }
            | Event::ChecksStarted { .. }
            | Event::ChecksFinished { .. }
            | Event::ChangesInspected { .. }
            | Event::CallStarted { .. }
            | Event::CallCancelled { .. }
            | Event::CallFinished { .. }
            | Event::VerdictGiven { .. }
            | Event::GateFinished { .. }
            | Event::CouncilDecided { .. }
            | Event::PrinciplesAdopted { .. }
            | Event::FeedbackAdded { .. }
            | Event::SettingsChanged { .. }
            | Event::HookFailed { .. }
            | Event::Warning { .. } => {}
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
        Event::RunStarted(Box::new(RunStarted {
            settings: Settings { scope, ..Settings::default() },
            agent: AgentFacts::default(),
            project: "/p".to_owned(),
            git_head: None,
            containment: String::new(),
            baseline: None,
            hooks: std::collections::BTreeMap::new(),
            seed: 1,
        }))
    }

    fn stop(by: StopSource) -> Event {
        Event::StopRequested { when: StopWhen::Now, by }
    }

    fn over(outcome: Outcome) -> Event {
        Event::RunFinished { outcome, note: None, totals: Totals::default() }
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
            left(&[stop(StopSource::Operator), Event::StopCancelled]),
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
    fn only_the_operator_resumes_a_paused_run() {
        let down = [stop(StopSource::Terminate), over(Outcome::Interrupted)];
        assert_eq!(left(&[Event::RunPaused]), Interruption::Paused);
        assert_eq!(left(&[&[Event::RunPaused][..], &down].concat()), Interruption::Paused);
        assert_eq!(left(&[Event::RunPaused, Event::RunResumed]), Interruption::Crashed);
        let again = Event::RunContinued { why: Continuation::AfterEnd };
        assert_eq!(
            left(&[&[Event::RunPaused][..], &down, &[again]].concat()),
            Interruption::Crashed
        );
        let crash = Event::RunContinued { why: Continuation::AfterCrash };
        assert_eq!(left(&[Event::RunPaused, crash]), Interruption::Paused);
    }

    #[test]
    fn what_an_earlier_process_was_told_is_over_with_it() {
        let again = || Event::RunContinued { why: Continuation::AfterEnd };
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
