//! Every outcome has a reason that the events before it show.

use std::time::Duration;

use nightwright_core::event::{
    ChecksAfterIteration, GateResult, IterationFinished, IterationResult, Progress, StopWhen,
};
use nightwright_core::failing::Change;
use nightwright_core::outcome::Outcome;
use nightwright_core::policy::limits::{MIN_COST, MIN_TIME};

use super::book::EventAccount;

/// Limits may have changed since a wrap-up began; no reserve is larger than this, in percent.
const MAX_RESERVE: u8 = 10;

impl EventAccount {
    pub(super) fn justify(&self, outcome: &Outcome, active: Duration) {
        // If events are missing, the reasons may be missing too.
        if self.has_gaps {
            return;
        }
        assert!(
            self.is_justified(outcome, active),
            "nothing shows why the run ended as {outcome:?}"
        );
    }

    fn is_justified(&self, outcome: &Outcome, active: Duration) -> bool {
        match outcome {
            Outcome::Completed { .. } => self.is_complete(),
            Outcome::Stagnated { idle, failing: Some(_) } => {
                let most = self.settings.progress.no_gain;
                most > 0 && *idle >= most && self.without_gain() >= most
            }
            Outcome::Stagnated { idle, failing: None } | Outcome::NoChanges { idle } => {
                let threshold = self.settings.progress.threshold;
                threshold > 0 && self.idle() >= threshold.min(*idle)
            }
            Outcome::MaxIterations { limit } => {
                self.settings.limits.max_iterations == Some(*limit) && self.iterations >= *limit
            }
            Outcome::MaxCost { limit } => {
                let reserve = limit.percent(MAX_RESERVE) + MIN_COST;
                let left = limit.minus(self.cost);
                left <= reserve || left <= self.settings.verify.max_cost
            }
            Outcome::MaxTokens { limit } => self.tokens >= *limit,
            Outcome::MaxDuration { limit } => {
                let reserve = *limit * u32::from(MAX_RESERVE) / 100;
                active + reserve + MIN_TIME >= *limit
            }
            Outcome::Blocked { .. } => self.last().is_some_and(|last| !last.blockers.is_empty()),
            Outcome::Impossible { .. } => matches!(self.gate, Some(GateResult::Impossible { .. })),
            Outcome::Unverified { .. } => self.rejections() >= 3 || self.inconclusive() >= 2,
            Outcome::Stopped => self.stop == Some(StopWhen::AfterIteration),
            Outcome::Interrupted => self.stop == Some(StopWhen::Now),
            Outcome::Failed { .. } | Outcome::Auth { .. } | Outcome::BadAgent { .. } => {
                self.last().is_some_and(|last| last.ends.as_ref() == Some(outcome))
            }
            Outcome::ConsecutiveErrors { errors, .. } => {
                self.errors() >= *errors || self.settings.extras.review.is_some()
            }
            Outcome::AllIterationsFailed { limit, .. } => {
                self.finished.iter().all(|(it, _)| it.result != IterationResult::Done)
                    && self.is_justified(limit, active)
            }
            // The simulated disk belongs to the run alone.
            Outcome::JournalDamaged { .. } => false,
            Outcome::JournalFailed { .. }
            | Outcome::ChecksCannotRun { .. }
            | Outcome::CheckNeedsHost { .. }
            | Outcome::HookAbort { .. }
            | Outcome::LimitWaitTooLong { .. }
            | Outcome::SandboxFailed { .. }
            | Outcome::DiskFull { .. }
            | Outcome::ProjectUnresponsive { .. } => true,
        }
    }

    fn last(&self) -> Option<&IterationFinished> {
        self.finished.last().map(|(finished, _)| finished)
    }

    /// Iterations that were judged, the last one first.
    fn judged(&self) -> impl Iterator<Item = &(IterationFinished, Option<GateResult>)> {
        self.finished.iter().rev().filter(|(it, _)| it.result == IterationResult::Done)
    }

    fn is_complete(&self) -> bool {
        let passed = matches!(self.gate, Some(GateResult::Passed { .. }));
        let checked = self.settings.verify.commands.is_empty() || self.checked == Some(true);
        passed && checked
    }

    fn idle(&self) -> u32 {
        let row = self.judged().take_while(|(it, _)| it.progress != Progress::Work);
        count(row.filter(|(it, _)| it.progress == Progress::Idle && it.blockers.is_empty()))
    }

    fn rejections(&self) -> u32 {
        let row = self.judged().take_while(|(it, gate)| !it.claim.is_empty() && gate.is_some());
        count(row.filter(|(_, gate)| matches!(gate, Some(GateResult::Rejected { .. }))))
    }

    fn inconclusive(&self) -> u32 {
        let is = |gate: &Option<_>| matches!(gate, Some(GateResult::Inconclusive { .. }));
        // Iterations without a claim say nothing of the verifier.
        count(self.judged().filter(|(_, gate)| gate.is_some()).take_while(|(_, gate)| is(gate)))
    }

    /// The iterations at the end in which something failed, and no less than before.
    fn without_gain(&self) -> u32 {
        let is_gain = |checks: &ChecksAfterIteration| {
            matches!(checks.change, Some(Change::First | Change::Better))
        };
        let row = self.judged().map(|(it, _)| it.checks);
        let row = row.take_while(|checks| checks.is_none_or(|checks| !is_gain(&checks)));
        count(row.filter(|checks| checks.is_some_and(|checks| checks.failing.checks > 0)))
    }

    fn errors(&self) -> u32 {
        let row = self.finished.iter().rev();
        let row = row.take_while(|(it, _)| it.result != IterationResult::Done);
        count(row.filter(|(it, _)| matches!(it.result, IterationResult::Failed { .. })))
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).expect("a few")
}
