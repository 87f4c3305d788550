//! How the last process of a run ended, for deciding what to do after a reboot.

use super::ledger::Ledger;
use super::state::{Phase, State};
use crate::event::Record;
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
        Self::of_state(&Ledger::replay(records))
    }

    /// Derives the interruption from the state of a folded journal.
    pub fn of_state(state: &State) -> Self {
        // A run that only verifies has nothing to continue: nightwright starts a new one.
        if state.phase == Phase::New || state.settings.scope != Scope::Whole {
            return Self::NotStarted;
        }
        let cut_off = match &state.phase {
            Phase::Ended(Outcome::Interrupted) => state.stop_requests.by_system,
            Phase::Ended(_) => false,
            Phase::New | Phase::Ready | Phase::Iterating(_) | Phase::Concluding => true,
        };
        match cut_off {
            false => Self::Ended,
            true if state.stop_requests.by_person => Self::Stopping,
            true if state.paused => Self::Paused,
            true => Self::Crashed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;
    use crate::event::{
        AgentFacts, Continuation, Event, OperatorEvent, RunEvent, RunStarted, StopSource, StopWhen,
        Totals,
    };
    use crate::settings::Settings;

    fn started(scope: Scope) -> Event {
        Event::Run(RunEvent::Started(Box::new(RunStarted {
            settings: Settings { scope, ..Settings::default() },
            agent: AgentFacts::default(),
            project: "/p".to_owned(),
            git_head: None,
            containment: String::new(),
            sandbox: crate::settings::SandboxKind::Off,
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
    fn a_run_that_the_operator_stopped_was_not_cut_off() {
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
    fn a_run_with_another_outcome_has_ended_despite_sigterm() {
        assert_eq!(left(&[over(Outcome::Stopped)]), Interruption::Ended);
        assert_eq!(
            left(&[stop(StopSource::Terminate), over(Outcome::Stopped)]),
            Interruption::Ended
        );
    }

    #[test]
    fn only_the_operator_resumes_a_paused_run() {
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
    fn stop_requests_to_an_earlier_process_do_not_count() {
        let again = || Event::Run(RunEvent::Continued { why: Continuation::AfterEnd });
        let stopped = [stop(StopSource::Operator), over(Outcome::Interrupted), again()];
        assert_eq!(left(&stopped), Interruption::Crashed);
        let down = [stop(StopSource::Terminate), over(Outcome::Interrupted), again()];
        let later = [&down[..], &[stop(StopSource::Signal), over(Outcome::Interrupted)]].concat();
        assert_eq!(left(&later), Interruption::Ended);
    }

    #[test]
    fn a_gate_only_run_and_an_empty_journal_count_as_not_started() {
        assert_eq!(Interruption::of([]), Interruption::NotStarted);
        let event = started(Scope::Gate);
        let record = Record { at: Timestamp::UNIX_EPOCH, active: Duration::ZERO, event };
        assert_eq!(Interruption::of([&record]), Interruption::NotStarted);
    }
}
