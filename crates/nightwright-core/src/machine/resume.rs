//! Resuming a run: how it continues after an earlier process has ended.

use std::time::Duration;

use super::Machine;
use super::attempt::UNKNOWN_COST;
use super::interruption::Interruption;
use super::ledger::{Phase, Stage};
use crate::effect::Alarm;
use crate::event::{CallPurpose, Continuation, OperatorEvent, RunEvent, Totals};
use crate::input::{ResumeData, ResumePolicy};
use crate::outcome::Outcome;
use crate::policy::limits::{self, Budget};
use crate::policy::retry;
use crate::settings::{ChangeSource, SettingChange};
use crate::stream::news::AttemptReport;
use crate::stream::outcome::{AttemptOutcome, Consequence};

/// The reason why a run cannot be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeRefusal {
    /// The run never started.
    NotStarted,
    /// The run did not crash, and the policy resumes only crashed runs.
    NotCrashed,
    /// The run completed, and the user did not request more work.
    Completed,
    /// A check needs more than the sandbox has, and the sandbox and the checks stay the same.
    NeedsHost,
    /// This limit is used up and has to be raised.
    Limit(Outcome),
}

impl Machine {
    /// Returns why this run cannot be resumed; `None` if it can. Changes nothing.
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
                let outcome = outcome?;
                let same_checks = || !changes.iter().any(|(_, change)| change.is_about_checks());
                if matches!(outcome, Outcome::CheckNeedsHost { .. }) && same_checks() {
                    return Some(ResumeRefusal::NeedsHost);
                }
                self.limit_in_the_way(outcome, changes)
            }
        }
    }

    /// Returns the limit that has to be raised before a run that ended can be resumed.
    fn limit_in_the_way(
        &self,
        outcome: &Outcome,
        changes: &[(ChangeSource, SettingChange)],
    ) -> Option<ResumeRefusal> {
        let mut settings = self.ledger.settings.clone();
        for (source, change) in changes {
            change.apply(*source, &mut settings);
        }
        // A run can end below a limit if the rest is too little for the next step.
        if !limits::is_raised(&settings.limits, outcome) {
            return Some(ResumeRefusal::Limit(outcome.clone()));
        }
        match limits::before_iteration(&settings, self.used()) {
            Budget::None(limit) => Some(ResumeRefusal::Limit(limit)),
            Budget::Work(_) | Budget::WrapUp(..) => None,
        }
    }

    /// Resumes a run. Unfinished work is lost; finished work is not repeated.
    pub(super) fn resume_run(&mut self, resume_data: ResumeData) {
        let ResumeData { report, changes, policy, sandbox_failure } = resume_data;
        if self.refusal(&changes, policy).is_some() {
            return;
        }
        let ended = matches!(self.ledger.phase, Phase::Ended(_));
        // A baseline that ended the run is repeated, with the changed checks or sandbox.
        let repeats = matches!(self.ledger.phase, Phase::Ended(Outcome::CheckNeedsHost { .. }));
        self.live.baseline_taken &= !repeats;
        let why = if ended { Continuation::AfterEnd } else { Continuation::AfterCrash };
        self.record(RunEvent::Continued { why });
        for (source, change) in changes {
            self.record(OperatorEvent::SettingsChanged { source, change });
        }
        // An operator who resumes a run wants it to work. A service that only restores it must not
        // unpause it.
        let by_operator = match policy {
            ResumePolicy::IfCrashed => false,
            ResumePolicy::IfUnfinished | ResumePolicy::Always => true,
        };
        if by_operator && self.ledger.paused {
            self.record(OperatorEvent::Resumed);
        }
        self.record_lost_work(report);
        if let Some(why) = sandbox_failure {
            return self.finish(Outcome::SandboxFailed { why }, None);
        }
        self.continue_waiting();
    }

    /// Records the outcome of the attempt or call that was running. Its output decides: if it
    /// contains a result, the attempt finished even though nightwright did not.
    fn record_lost_work(&mut self, report: Option<Box<AttemptReport>>) {
        let Some(current) = self.ledger.current() else {
            return;
        };
        let attempt = match current.stage {
            Stage::Attempting { attempt, .. } => Some(attempt),
            Stage::Begun | Stage::Attempted | Stage::Retrying { .. } => None,
        };
        let call = current.call;
        let mut report =
            report.map_or_else(|| AttemptReport::bare(AttemptOutcome::Lost), |report| *report);
        let purpose = call.map_or(Totals::WORK, |call| call.purpose.name());
        self.doubt_low_cost(purpose, &mut report);
        if let Some(attempt) = attempt {
            self.record_attempt(attempt, report, Duration::ZERO);
        } else if let Some(call) = call {
            self.record_call(call.call, call.purpose, report, Duration::ZERO);
        }
    }

    /// Replaces a cost that is lower than usual by an estimate: the file that it was read from may
    /// have been changed while no process watched it.
    fn doubt_low_cost(&self, purpose: &str, report: &mut AttemptReport) {
        let spend = self.ledger.totals.by_purpose.get(purpose).copied().unwrap_or_default();
        let usual = spend.cost.per(u64::from(spend.count)).max(UNKNOWN_COST);
        if report.cost.is_some_and(|cost| cost < usual) {
            (report.cost, report.priced) = (None, None);
        }
    }

    /// Continues waits until their end; a delay is skipped.
    fn continue_waiting(&mut self) {
        let unconcluded = self.ledger.current().and_then(|current| current.unconcluded.clone());
        if let Some((purpose, report)) = unconcluded {
            // The gate starts again, including its verifier. The answers of the other calls are
            // already paid for and are used.
            return match (purpose, report.outcome.consequence()) {
                (CallPurpose::Verify, Consequence::Assess | Consequence::Retry) => self.advance(),
                (_, _) => self.conclude_call(purpose, &report),
            };
        }
        if let Some(wait) = self.ledger.wait {
            // The wait is never longer than planned, even if the system clock was changed.
            let latest = self.now.plus(wait.planned);
            return self.wait_until(Alarm::At(wait.retry_at.min(latest)));
        }
        match &self.ledger.phase {
            Phase::Iterating(current) => match &current.stage {
                Stage::Retrying { at } => {
                    // The wall clock may have changed in the meantime, so the delay is bounded.
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
