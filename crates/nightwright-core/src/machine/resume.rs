//! Going on where an earlier process left off.

use std::time::Duration;

use super::Machine;
use super::interruption::Interruption;
use super::ledger::{Phase, Stage};
use crate::effect::Alarm;
use crate::event::{CallPurpose, Continuation, OperatorEvent, RunEvent};
use crate::input::{ResumeData, ResumePolicy};
use crate::outcome::Outcome;
use crate::policy::limits::{self, Budget};
use crate::policy::retry;
use crate::settings::{ChangeSource, SettingChange};
use crate::stream::outcome::{AttemptOutcome, Consequence};
use crate::stream::report::AttemptReport;

/// Why a run does not continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeRefusal {
    /// It never began.
    NotStarted,
    /// It was not cut off, and only a run that was is to continue.
    NotCrashed,
    /// It completed, and nobody asked for more.
    Completed,
    /// This limit leaves no room: it has to be raised.
    Limit(Outcome),
}

impl Machine {
    /// Why this run would not continue; `None` if it would. Changes nothing.
    pub fn refusal(
        &self,
        changes: &[(ChangeSource, SettingChange)],
        again: ResumePolicy,
    ) -> Option<ResumeRefusal> {
        let outcome = match &self.ledger.phase {
            Phase::New => return Some(ResumeRefusal::NotStarted),
            Phase::Ended(outcome) => Some(outcome),
            Phase::Ready | Phase::Iterating(_) | Phase::Concluding => None,
        };
        match again {
            ResumePolicy::IfCrashed => {
                (self.interruption != Interruption::Crashed).then_some(ResumeRefusal::NotCrashed)
            }
            ResumePolicy::IfUnfinished if matches!(outcome, Some(Outcome::Completed { .. })) => {
                Some(ResumeRefusal::Completed)
            }
            ResumePolicy::IfUnfinished | ResumePolicy::Always => {
                self.limit_in_the_way(outcome?, changes)
            }
        }
    }

    /// The limit that a run which ended has to have raised before it can continue.
    fn limit_in_the_way(
        &self,
        outcome: &Outcome,
        changes: &[(ChangeSource, SettingChange)],
    ) -> Option<ResumeRefusal> {
        let mut settings = self.ledger.settings.clone();
        for (source, change) in changes {
            change.apply(*source, &mut settings);
        }
        // A run can reach a limit with something left of it: too little for what comes next.
        if !limits::is_raised(&settings.limits, outcome) {
            return Some(ResumeRefusal::Limit(outcome.clone()));
        }
        match limits::before_iteration(&settings, self.used()) {
            Budget::None(limit) => Some(ResumeRefusal::Limit(limit)),
            Budget::Work(_) | Budget::WrapUp(..) => None,
        }
    }

    /// What was going on is lost; what was finished is not done again.
    pub(super) fn resume_run(&mut self, resume_data: ResumeData) {
        let ResumeData { report, changes, policy } = resume_data;
        if self.refusal(&changes, policy).is_some() {
            return;
        }
        let ended = matches!(self.ledger.phase, Phase::Ended(_));
        let why = if ended { Continuation::AfterEnd } else { Continuation::AfterCrash };
        self.record(RunEvent::Continued { why });
        for (source, change) in changes {
            self.record(OperatorEvent::SettingsChanged { source, change });
        }
        // An operator who resumes a run wants it to work; a service that only restores it does not
        // decide that.
        let by_operator = match policy {
            ResumePolicy::IfCrashed => false,
            ResumePolicy::IfUnfinished | ResumePolicy::Always => true,
        };
        if by_operator && self.ledger.paused {
            self.record(OperatorEvent::Resumed);
        }
        self.record_lost_work(report);
        self.continue_waiting();
    }

    /// Writes down what became of the attempt or call that was going on. What was made of its
    /// output is taken as it is: if there is a result in it, it finished and we did not.
    fn record_lost_work(&mut self, report: Option<Box<AttemptReport>>) {
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
    fn continue_waiting(&mut self) {
        let unconcluded = self.ledger.current().and_then(|current| current.unconcluded.clone());
        if let Some((purpose, report)) = unconcluded {
            // The gate starts from its beginning, and its verifier with it; what the others said
            // was paid for and is taken.
            return match (purpose, report.outcome.consequence()) {
                (CallPurpose::Verify, Consequence::Assess | Consequence::Retry) => self.advance(),
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
                self.live.delayed = self.outcome_after_iteration().is_none();
                self.advance();
            }
            Phase::New | Phase::Ready | Phase::Ended(_) => self.advance(),
        }
    }
}
