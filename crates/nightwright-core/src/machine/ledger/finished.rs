//! The changes to the state when an iteration ends.

use super::{LastIteration, Phase, State};
use crate::event::{GateResult, IterationFinished, IterationResult, Progress};
use crate::failing::Change;
use crate::prompt::EarlierIteration;
use crate::settings::EvidenceKind;
use crate::stream::outcome::{AttemptOutcome, Consequence};

impl State {
    pub(super) fn iteration_finished(&mut self, finished: &IterationFinished) {
        let gate = self.gate_mut().and_then(|gate| gate.result.clone());
        self.note_impossibility(finished);
        self.note_unclaimed(finished, gate.as_ref());
        let (checklist, items) = (finished.checklist, finished.task);
        let is_further =
            self.seen.is_further(checklist, items, finished.files_changed_outside_plan);
        let is_passing = self.is_passing_unchanged(finished);
        // The verification of work that was complete before the run does not count as an iteration.
        if finished.iteration.0 > 0 {
            self.totals.iterations += 1;
        }
        self.totals.commits += finished.commits;
        if let Some(end) = &finished.end {
            self.seen.add(end, finished.checklist);
        }
        self.seen.add_items(finished.task);
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
                self.checks.without_gain = finished.without_gain;
                self.streaks.idle = finished.idle;
                self.streaks.passing = if is_passing { self.streaks.passing + 1 } else { 0 };
                self.count_streaks(finished, gate.as_ref(), is_further);
                self.note_denied();
            }
            IterationResult::Failed { too_long, .. } => {
                self.streaks.errors += 1;
                self.shorten = *too_long;
            }
            IterationResult::Interrupted => {}
        }
        self.recent.push_back(EarlierIteration::of(finished, gate.as_ref()));
        if self.recent.len() > EarlierIteration::MAX {
            self.recent.pop_front();
        }
        let checks = checks.map(|(results, _)| results).unwrap_or_default();
        self.last = Some(LastIteration { finished: finished.clone(), gate, checks, failure });
        self.phase = Phase::Concluding;
    }

    /// Whether all checks pass and items are open, the same as after the iteration before.
    fn is_passing_unchanged(&self, finished: &IterationFinished) -> bool {
        let before = self.last.as_ref().and_then(|last| last.finished.items());
        finished.checks.is_some_and(|checks| checks.failing.checks == 0)
            && finished.progress == Progress::Work
            && finished.items().is_some_and(|items| items.completed < items.total)
            && finished.items() == before
    }

    /// Remembers a gate that ran because all checks passed.
    fn note_unclaimed(&mut self, finished: &IterationFinished, gate: Option<&GateResult>) {
        if gate.is_some() && finished.claim == [EvidenceKind::ChecksPass] {
            self.unclaimed_gates.add(finished.iteration);
            self.streaks.passing = 0;
        }
    }

    /// Remembers the judged reports of impossibility, so that none is judged again.
    fn note_impossibility(&mut self, finished: &IterationFinished) {
        let gate = self.gate_mut().filter(|gate| gate.is_about_impossibility());
        if gate.is_some_and(|gate| gate.result.is_some()) {
            let reports = finished.blockers.iter().filter(|blocker| blocker.is_impossible());
            self.judged_impossible.extend(reports.map(|report| report.key.clone()));
        }
    }

    fn note_denied(&mut self) {
        let denied = self.current().map(|current| current.denied.clone()).unwrap_or_default();
        for command in denied {
            *self.denied_in.entry(command).or_default() += 1;
        }
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

    fn count_streaks(
        &mut self,
        finished: &IterationFinished,
        gate: Option<&GateResult>,
        is_further: bool,
    ) {
        let change = finished.checks.and_then(|checks| checks.change);
        let gained = change == Some(Change::Better) || is_further;
        let streaks = &mut self.streaks;
        streaks.errors = 0;
        streaks.signals = if finished.signal { streaks.signals + 1 } else { 0 };
        let claimed = finished.is_claimed();
        match gate {
            Some(GateResult::Rejected { .. }) if claimed => {
                self.rejected_claims += 1;
                streaks.rejections = if gained { 0 } else { streaks.rejections + 1 };
                streaks.inconclusive = 0;
            }
            Some(GateResult::Inconclusive { .. }) if claimed => streaks.inconclusive += 1,
            Some(
                GateResult::Rejected { .. }
                | GateResult::Inconclusive { .. }
                | GateResult::Passed { .. }
                | GateResult::Impossible { .. }
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
                streaks.work_reported = 0;
                streaks.blocked = 0;
                self.problems.clear();
            }
            Progress::Idle if reports => streaks.blocked += 1,
            Progress::Idle => streaks.blocked = 0,
            Progress::WorkReported => streaks.work_reported += 1,
            Progress::Uncounted if reports => streaks.blocked += 1,
            Progress::Uncounted => {}
        }
    }
}
