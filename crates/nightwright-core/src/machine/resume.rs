//! Going on where an earlier process left off.

use std::time::Duration;

use super::Machine;
use super::ledger::{Phase, Stage};
use super::left::Left;
use crate::agent::outcome::{AttemptOutcome, Consequence};
use crate::agent::report::AttemptReport;
use crate::effect::Alarm;
use crate::event::{Continuation, Event, Purpose};
use crate::input::{Again, Salvage};
use crate::policy::limits::{self, Room};
use crate::policy::retry;

impl Machine {
    /// What was going on is lost; what was finished is not done again.
    pub(super) fn go_on(&mut self, salvage: Salvage) {
        let Salvage { report, limits, again } = salvage;
        let ended = match &self.ledger.phase {
            Phase::New => return,
            Phase::Ended(_) => true,
            Phase::Ready | Phase::Iterating(_) | Phase::Concluding => false,
        };
        let goes_on = match again {
            Again::Yes => true,
            Again::IfRoom => !ended || self.has_room_with(limits.as_ref()),
            Again::IfCutOff => self.left == Left::CutOff,
        };
        if !goes_on {
            return;
        }
        let why = if ended { Continuation::AfterEnd } else { Continuation::AfterCrash };
        self.record(Event::RunContinued { why });
        if let Some(limits) = limits {
            self.record(Event::LimitChanged { limits });
        }
        self.settle(report);
        self.pick_up();
    }

    /// Whether new limits leave room for a run that had ended.
    fn has_room_with(&self, limits: Option<&crate::settings::Limits>) -> bool {
        let Some(limits) = limits else { return false };
        let mut settings = self.ledger.settings.clone();
        let raised = settings.limits != *limits;
        settings.limits = limits.clone();
        raised && !matches!(limits::before_iteration(&settings, self.used()), Room::None(_))
    }

    /// Writes down what became of the attempt or call that was going on. What was made of its
    /// output is taken as it is: if there is a result in it, it finished and we did not.
    fn settle(&mut self, report: Option<Box<AttemptReport>>) {
        let Some(current) = self.ledger.current() else {
            return;
        };
        let attempt = match current.stage {
            Stage::Attempting { attempt, .. } => Some(attempt),
            Stage::Begun | Stage::Attempted | Stage::Retrying { .. } => None,
        };
        let call = current.call;
        let report =
            report.map_or_else(|| AttemptReport::bare(AttemptOutcome::Lost), |report| *report);
        if let Some(attempt) = attempt {
            self.record_attempt(attempt, report, Duration::ZERO);
        } else if let Some(call) = call {
            self.record_call(call.call, call.purpose, report, Duration::ZERO);
        }
    }

    /// Waits go on to their end; a delay is skipped.
    fn pick_up(&mut self) {
        let unconcluded = self.ledger.current().and_then(|current| current.unconcluded.clone());
        if let Some((purpose, report)) = unconcluded {
            // The gate starts from its beginning, and its verifier with it; what the others said
            // was paid for and is taken.
            return match (purpose, report.outcome.consequence()) {
                (Purpose::Verify, Consequence::Judge | Consequence::Retry) => self.advance(),
                (_, _) => self.conclude_call(purpose, &report),
            };
        }
        if let Some(wait) = self.ledger.wait {
            // However the date was set meanwhile, it is waited no longer than was meant.
            let latest = self.now.plus(wait.planned);
            return self.wait_until(Alarm::At(wait.retry_at.min(latest)));
        }
        match &self.ledger.phase {
            Phase::Iterating(current) => match &current.stage {
                Stage::Retrying { at } => {
                    // The wall clock may have gone anywhere meanwhile; the delay is bounded.
                    let rest = self.now.until(*at).min(retry::longest(&self.ledger.settings.retry));
                    self.wait_until(Alarm::After(rest));
                }
                Stage::Begun | Stage::Attempting { .. } | Stage::Attempted => self.advance(),
            },
            Phase::Concluding => {
                self.live.delayed = self.ending().is_none();
                self.advance();
            }
            Phase::New | Phase::Ready | Phase::Ended(_) => self.advance(),
        }
    }
}
