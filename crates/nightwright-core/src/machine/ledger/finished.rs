//! The changes to the state when an iteration ends.

use super::{LastIteration, Phase, State};
use crate::event::{GateResult, IterationFinished, IterationResult, Progress};
use crate::settings::EvidenceKind;
use crate::stream::outcome::{AttemptOutcome, Consequence};

impl State {
    pub(super) fn iteration_finished(&mut self, finished: &IterationFinished) {
        let gate = self.gate_mut().and_then(|gate| gate.result.clone());
        if let Some(GateResult::Rejected { failure: Some(failure), .. }) = &gate {
            *self.failures.entry(failure.clone()).or_default() += 1;
        }
        // The verification of work that was complete before the run does not count as an iteration.
        if finished.iteration.0 > 0 {
            self.totals.iterations += 1;
        }
        self.totals.commits += finished.commits;
        if let Some(end) = &finished.end {
            self.seen.add(end, finished.checklist);
        }
        let before = self.current().and_then(|current| current.checklist);
        self.unearned_checkboxes.note(before, finished);
        self.shorten = false;
        let checks = self.gate_mut().and_then(|gate| gate.checks.take());
        let failure = self.failure(&finished.result);
        if finished.result == IterationResult::Done && finished.iteration.0 > 0 {
            self.succeeded += 1;
        }
        match &finished.result {
            IterationResult::Done => {
                self.requeue_unacknowledged();
                self.inbox.retain(|entry| entry.given_to != Some(finished.iteration));
                self.count_streaks(finished, gate.as_ref());
            }
            IterationResult::Failed { too_long, .. } => {
                self.streaks.errors += 1;
                self.shorten = *too_long;
            }
            IterationResult::Interrupted => {}
        }
        let checks = checks.map(|(results, _)| results).unwrap_or_default();
        self.last = Some(LastIteration { finished: finished.clone(), gate, checks, failure });
        self.phase = Phase::Concluding;
    }

    /// Returns why an iteration with this result counts as failed. An iteration that a limit ended
    /// between two attempts has failed, because the next attempt would have been a retry.
    fn failure(&self, result: &IterationResult) -> Option<String> {
        match result {
            IterationResult::Done => None,
            IterationResult::Failed { why, .. } => Some(why.clone()),
            IterationResult::Interrupted => {
                let report = self.current()?.report.as_ref()?;
                // An attempt lost by nightwright says nothing about the agent.
                let failed = report.outcome.consequence() == Consequence::Retry
                    && report.outcome != AttemptOutcome::Lost;
                failed.then(|| report.outcome.sentence())
            }
        }
    }

    fn count_streaks(&mut self, finished: &IterationFinished, gate: Option<&GateResult>) {
        let streaks = &mut self.streaks;
        streaks.errors = 0;
        streaks.signals = if finished.signal { streaks.signals + 1 } else { 0 };
        let claimed = finished.claim != [EvidenceKind::NoProgress];
        match gate {
            Some(GateResult::Rejected { .. }) if claimed => {
                streaks.rejections += 1;
                streaks.inconclusive = 0;
            }
            Some(GateResult::Inconclusive { .. }) if claimed => streaks.inconclusive += 1,
            Some(
                GateResult::Rejected { .. }
                | GateResult::Inconclusive { .. }
                | GateResult::Passed { .. }
                | GateResult::Unaffordable { .. },
            ) => {
                streaks.rejections = 0;
                streaks.inconclusive = 0;
            }
            // An iteration without a claim resets the rejections: the agent reacted to them. It
            // says nothing about a verifier that is unreachable.
            None => streaks.rejections = 0,
        }
        // A claim without work is not idle, but it does not reset the idle iterations before it.
        // Otherwise alternating claims and idle iterations would keep a run alive.
        let reports = !finished.blockers.is_empty();
        match finished.progress {
            Progress::Work => {
                streaks.idle = 0;
                streaks.excused = 0;
                streaks.blocked = 0;
                self.problems.clear();
            }
            Progress::Idle if reports => streaks.blocked += 1,
            Progress::Idle => {
                streaks.idle += 1;
                streaks.blocked = 0;
            }
            Progress::Excused => streaks.excused += 1,
            Progress::Uncounted if reports => streaks.blocked += 1,
            Progress::Uncounted => {}
        }
    }
}
