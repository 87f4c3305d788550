//! How the last process of a run left it: what a machine that comes up again has to know.

use crate::event::{Continuation, Event, Origin, Record};
use crate::outcome::Outcome;
use crate::settings::Scope;

/// How a run was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It was never begun.
    NotBegun,
    /// Nobody wanted it to end: its process was killed, the power failed, or the system told it to
    /// end because it went down.
    CutOff,
    /// It was cut off while it was paused: whoever paused it says when it goes on.
    Paused,
    /// It was cut off after somebody had asked it to stop.
    Stopping,
    /// It had come to an end.
    Over,
}

impl Left {
    /// What a journal says.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut fold = Fold::default();
        for record in records {
            fold.record(&record.event);
        }
        fold.left()
    }
}

/// What has to be known of a journal for that.
#[derive(Default)]
struct Fold {
    begun: bool,
    paused: bool,
    /// A person asked it to stop.
    stopping: bool,
    /// The system told it to end.
    terminated: bool,
    over: Option<Outcome>,
}

impl Fold {
    fn record(&mut self, event: &Event) {
        match event {
            // One that only judges has nothing to go on with: it is made anew.
            Event::RunStarted(started) => self.begun = started.settings.scope == Scope::Whole,
            Event::RunContinued { why } => {
                let paused = self.paused && *why == Continuation::AfterCrash;
                *self = Self { begun: self.begun, paused, ..Self::default() };
            }
            Event::StopRequested { by: Origin::Terminate, .. } => self.terminated = true,
            Event::StopRequested {
                by:
                    Origin::Signal
                    | Origin::TerminalClosed
                    | Origin::Operator
                    | Origin::StopFile
                    | Origin::Key,
                ..
            } => self.stopping = true,
            Event::StopCancelled => self.stopping = false,
            Event::RunPaused => self.paused = true,
            Event::RunResumed => self.paused = false,
            Event::RunFinished { outcome, .. } => self.over = Some(outcome.clone()),
            Event::IterationStarted { .. }
            | Event::IterationSkipped { .. }
            | Event::IterationFinished(_)
            | Event::AttemptStarted { .. }
            | Event::AgentReady { .. }
            | Event::AttemptCut { .. }
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
            | Event::CallCut { .. }
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

    fn left(&self) -> Left {
        let cut_off = match &self.over {
            None => true,
            Some(Outcome::Interrupted) => self.terminated,
            Some(_) => false,
        };
        match (self.begun, cut_off) {
            (false, _) => Left::NotBegun,
            (true, false) => Left::Over,
            (true, true) if self.stopping => Left::Stopping,
            (true, true) if self.paused => Left::Paused,
            (true, true) => Left::CutOff,
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
            sandbox: String::new(),
            baseline: None,
            hooks: std::collections::BTreeMap::new(),
            seed: 1,
        }))
    }

    fn stop(by: Origin) -> Event {
        Event::StopRequested { when: StopWhen::Now, by }
    }

    fn over(outcome: Outcome) -> Event {
        Event::RunFinished { outcome, note: None, totals: Totals::default() }
    }

    fn left(events: &[Event]) -> Left {
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
        Left::of(&records)
    }

    #[test]
    fn a_run_whose_process_was_killed_or_told_to_end_was_cut_off() {
        assert_eq!(left(&[]), Left::CutOff);
        assert_eq!(left(&[stop(Origin::Terminate)]), Left::CutOff);
        assert_eq!(left(&[stop(Origin::Terminate), over(Outcome::Interrupted)]), Left::CutOff);
    }

    #[test]
    fn a_run_that_somebody_stopped_was_not_whatever_came_after_that() {
        for by in [
            Origin::Signal,
            Origin::TerminalClosed,
            Origin::Operator,
            Origin::StopFile,
            Origin::Key,
        ] {
            assert_eq!(left(&[stop(by)]), Left::Stopping, "{by:?}");
            assert_eq!(left(&[stop(by), over(Outcome::Interrupted)]), Left::Over, "{by:?}");
            let both = [stop(by), stop(Origin::Terminate), over(Outcome::Interrupted)];
            assert_eq!(left(&both), Left::Stopping, "{by:?}");
        }
        assert_eq!(left(&[stop(Origin::Operator), Event::StopCancelled]), Left::CutOff);
    }

    #[test]
    fn a_run_that_ended_otherwise_is_over_even_if_it_was_told_to_end_too() {
        assert_eq!(left(&[over(Outcome::Stopped)]), Left::Over);
        assert_eq!(left(&[stop(Origin::Terminate), over(Outcome::Stopped)]), Left::Over);
    }

    #[test]
    fn who_paused_a_run_says_when_it_goes_on() {
        let down = [stop(Origin::Terminate), over(Outcome::Interrupted)];
        assert_eq!(left(&[Event::RunPaused]), Left::Paused);
        assert_eq!(left(&[&[Event::RunPaused][..], &down].concat()), Left::Paused);
        assert_eq!(left(&[Event::RunPaused, Event::RunResumed]), Left::CutOff);
        let again = Event::RunContinued { why: Continuation::AfterEnd };
        assert_eq!(left(&[&[Event::RunPaused][..], &down, &[again]].concat()), Left::CutOff);
        let crash = Event::RunContinued { why: Continuation::AfterCrash };
        assert_eq!(left(&[Event::RunPaused, crash]), Left::Paused);
    }

    #[test]
    fn what_an_earlier_process_was_told_is_over_with_it() {
        let again = || Event::RunContinued { why: Continuation::AfterEnd };
        let stopped = [stop(Origin::Operator), over(Outcome::Interrupted), again()];
        assert_eq!(left(&stopped), Left::CutOff);
        let down = [stop(Origin::Terminate), over(Outcome::Interrupted), again()];
        let later = [&down[..], &[stop(Origin::Signal), over(Outcome::Interrupted)]].concat();
        assert_eq!(left(&later), Left::Over);
    }

    #[test]
    fn one_that_only_judges_and_one_that_never_began_leave_nothing_to_go_on_with() {
        assert_eq!(Left::of([]), Left::NotBegun);
        let event = started(Scope::Gate);
        let record = Record { at: Timestamp::UNIX_EPOCH, active: Duration::ZERO, event };
        assert_eq!(Left::of([&record]), Left::NotBegun);
    }
}
