//! The start and end of an iteration, and the decisions between two iterations: whether to start,
//! whether to end, and in which order to check.

use std::time::Duration;

use super::ledger::{Current, LastIteration, Phase};
use super::{IterationSetup, Machine, PendingKind};
use crate::effect::{Alarm, Effect, Needed};
use crate::event::{
    FeedbackSource, GateResult, IterationEvent, IterationFinished, IterationKind, IterationResult,
    NoteEvent, Progress, RunEvent, StopSource, StopWhen, WaitKind,
};
use crate::hook::Hook;
use crate::input::{Checklist, Prepared, TimerKey};
use crate::outcome::{Outcome, Proof};
use crate::phrases;
use crate::policy::limits::{self, Budget, Consumed};
use crate::policy::{progress, retry};
use crate::prompt;
use crate::settings::{EvidenceKind, Scope, Stagnation};
use crate::stream::news::{Blocker, QuotaNews, QuotaWindow};
use crate::units::{Iteration, Ticket};

/// The minimum delay after a skipped iteration, so that a hook cannot cause a busy loop.
const MIN_SKIP_DELAY: Duration = Duration::from_secs(1);
/// The number of consecutive skips that ends the run.
const MAX_SKIPS: u32 = 10;
/// The number of consecutive rejected claims that ends the run.
const MAX_REJECTIONS: u32 = 3;
/// The number of consecutive inconclusive gates that ends the run.
const MAX_INCONCLUSIVE: u32 = 2;
/// The number of consecutive idle iterations with a blocker that ends the run.
pub(super) const MAX_BLOCKED: u32 = 2;
/// The number of consecutive failed reviews that ends the run.
const MAX_REVIEW_ERRORS: u32 = 3;

impl Machine {
    /// Returns the usage that counts against the limits so far.
    pub(super) fn used(&self) -> Consumed {
        Consumed { active: self.active(), ..self.ledger.used() }
    }

    /// Applies the first of these that holds: stop now, stop; the hook `started`, once; pause,
    /// limits, quota; the baseline, once; then the disk, the hook `next_iteration` and the iteration.
    /// After every answer, this list starts again from the top.
    pub(super) fn before_iteration(&mut self) {
        match self.ledger.stop {
            Some(StopWhen::Now) => return self.finish(Outcome::Interrupted, None),
            Some(StopWhen::AfterIteration) => return self.finish(Outcome::Stopped, None),
            None => {}
        }
        if !self.live.started {
            self.live.started = true;
            if self.ledger.settings.hooks.started {
                return self.run_hook(Hook::Started);
            }
        }
        if self.ledger.paused {
            return;
        }
        let budget = limits::before_iteration(&self.ledger.settings, self.used());
        let before = match (budget, &self.ledger.wrap_up) {
            (Budget::None(limit), _) => return self.finish_by_limit(limit),
            (_, Some(limit)) => return self.finish_by_limit(limit.clone()),
            (Budget::Work(_), None) => None,
            (Budget::WrapUp(_, limit), None) => Some(limit),
        };
        if let Some(quota) = self.quota_reached() {
            return self.wait_for_limit(WaitKind::Quota, quota.resets_at);
        }
        if self.wants_baseline() {
            self.live.baseline_taken = true;
            return self.take_baseline();
        }
        let Some(prepared) = self.live.setup.prepared.clone() else {
            return self.prepare();
        };
        if let Some(disk) = prepared.disk
            && disk.free < disk.floor
        {
            return self.finish(Outcome::DiskFull { free: disk.free, floor: disk.floor }, None);
        }
        if self.ledger.settings.hooks.next_iteration && !self.live.setup.hooked {
            return self.run_hook(Hook::NextIteration);
        }
        self.begin_iteration(before, prepared);
    }

    /// Returns the quota whose usage exceeds the operator's limit; if there are several, the one
    /// that resets last.
    fn quota_reached(&self) -> Option<QuotaNews> {
        let allowed = self.ledger.settings.limits.quota;
        self.ledger
            .quotas
            .values()
            .filter(|quota| {
                let share = match quota.window {
                    QuotaWindow::FiveHour => allowed.five_hour,
                    QuotaWindow::SevenDay => allowed.seven_day,
                };
                let over = quota.resets_at.is_some_and(|reset| reset <= self.now.wall);
                share.is_some_and(|share| quota.used >= share) && !over
            })
            .max_by_key(|quota| quota.resets_at)
            .copied()
    }

    fn prepare(&mut self) {
        let known = self.ledger.last.as_ref().is_some_and(|last| last.finished.end.is_some());
        // A hook may have changed the project, so its state has to be surveyed again.
        let known = known && self.live.untouched && !self.live.setup.hooked;
        let mark = if known { Needed::Known } else { Needed::Yes };
        let ticket = self.ask(PendingKind::Prepare);
        self.effect(Effect::Prepare { ticket, mark });
    }

    pub(super) fn prepared(&mut self, ticket: Ticket, prepared: Prepared) {
        if self.answered(ticket).is_some() {
            self.live.setup.prepared = Some(prepared);
            self.advance();
        }
    }

    pub(super) fn skip(&mut self) {
        let iteration = Iteration(self.ledger.totals.iterations).next();
        self.live.setup = IterationSetup::default();
        self.record(IterationEvent::Skipped { iteration });
        if self.ledger.streaks.skips >= MAX_SKIPS {
            let why = format!("`next_iteration` skipped {MAX_SKIPS} consecutive iterations");
            return self.finish(Outcome::HookAbort { why }, None);
        }
        self.delay(self.ledger.settings.delay.max(MIN_SKIP_DELAY));
    }

    fn delay(&mut self, delay: Duration) {
        // A stop that arrived in the meantime ends every wait, even one that has not begun.
        if delay.is_zero() || self.ledger.stop.is_some() || self.live.abort_outcome.is_some() {
            self.live.delayed = true;
            return self.advance();
        }
        let ticket = self.ask(PendingKind::Delay);
        self.effect(Effect::SetTimer { key: TimerKey::Delay(ticket), alarm: Alarm::After(delay) });
    }

    fn begin_iteration(&mut self, before: Option<Outcome>, prepared: Prepared) {
        let end = self.ledger.last.as_ref().and_then(|last| last.finished.end.clone());
        let Some(start) = prepared.mark.or(end) else {
            // The answer was "as before", but there is no earlier state, so request a full survey.
            self.live.setup = IterationSetup { prepared: None, hooked: true };
            return self.prepare();
        };
        self.live.setup = IterationSetup::default();
        self.live.survey = None;
        self.live.work = None;
        self.live.advice = None;
        self.live.delayed = false;
        let next = Iteration(self.ledger.totals.iterations).next();
        let (iteration, kind) = match before {
            Some(_) => (next, IterationKind::WrapUp),
            None if self.is_verify_only(prepared.checklist) => {
                (Iteration(0), IterationKind::VerifyOnly)
            }
            None => (next, IterationKind::Work),
        };
        let known = self.ledger.last.as_ref().and_then(|last| last.finished.checklist);
        let checklist = prepared.checklist.or(known);
        let status = self.first_status(prepared.status.as_ref());
        self.record(IterationEvent::Started { iteration, kind, before, start, checklist, status });
        self.advance();
    }

    /// Whether the run only verifies: the user requested only that, or every box of the plan is
    /// already checked at the start.
    fn is_verify_only(&self, checklist: Option<Checklist>) -> bool {
        match self.ledger.settings.scope {
            Scope::Gate => return true,
            Scope::Whole => {}
        }
        // An interrupted verification starts again.
        let first = self.ledger.last.as_ref().is_none_or(|last| {
            last.finished.iteration.0 == 0 && last.finished.result == IterationResult::Interrupted
        });
        first
            && self.ledger.settings.completion.evidence.contains(&EvidenceKind::Plan)
            && checklist.is_some_and(Checklist::is_complete)
    }

    /// Records the iteration with everything that is known about it. A failed or stopped iteration
    /// has no further consequences.
    pub(super) fn finish_iteration(&mut self, result: IterationResult, ends: Option<Outcome>) {
        let current = self.current().clone();
        let judged = result == IterationResult::Done;
        let survey = self.live.survey.take();
        let blockers = self.blockers(&current, survey.as_deref());
        let new: Vec<_> = blockers
            .iter()
            .filter(|blocker| !self.ledger.reported_blockers.contains(&blocker.key))
            .filter(|_| !self.live.journal_failed)
            .cloned()
            .collect();
        self.queue_hooks(!new.is_empty());
        for blocker in new {
            self.record(NoteEvent::BlockerReported { blocker });
        }
        let words = current.report.as_ref().map(|report| &report.text_evidence).filter(|_| judged);
        let claim = current.gate.as_ref().map(|gate| gate.claim.clone()).unwrap_or_default();
        let progress = match survey.as_deref() {
            Some(survey) if judged => self.progress(&current, survey),
            Some(_) | None => Progress::Uncounted,
        };
        let status = survey.as_deref().and_then(|survey| survey.status.as_ref());
        let stated = status.map(|status| &status.summary).filter(|summary| !summary.is_empty());
        let summary = stated.or_else(|| words.map(|words| &words.summary)).cloned();
        let checks = survey.as_deref().filter(|_| judged);
        let checks = checks.and_then(|survey| self.checks_after(Some(survey)));
        let counts = judged && current.iteration.0 > 0;
        let (idle, without_gain) = (self.ledger.streaks.idle, self.ledger.checks.without_gain);
        let finished = IterationFinished {
            iteration: current.iteration,
            checks,
            idle: if judged {
                progress::idle_after(idle, progress, !blockers.is_empty())
            } else {
                idle
            },
            without_gain: if counts { self.without_gain(survey.as_deref()) } else { without_gain },
            result,
            ends,
            progress,
            claim,
            blockers,
            signal: words.is_some_and(|words| words.signal),
            files_changed: survey.as_ref().map_or(0, |survey| survey.files_changed),
            files_changed_outside_plan: survey
                .as_ref()
                .and_then(|survey| survey.files_changed_outside_plan),
            commits: survey.as_ref().map_or(0, |survey| survey.commits),
            changes: survey.as_ref().and_then(|survey| survey.changes.clone()),
            task: status.and_then(|status| status.progress),
            phase: status.and_then(|status| status.phase.clone()),
            checklist: survey.as_ref().and_then(|survey| survey.checklist),
            end: survey.map(|survey| survey.mark),
            cost: self.ledger.totals.cost.minus(current.cost_before),
            duration: self.active().saturating_sub(current.active_before),
            summary: summary.unwrap_or_default(),
        };
        if judged && finished.claim.is_empty() {
            self.explain_marker(&current);
        }
        self.queue_idle_feedback(&finished);
        if judged {
            self.queue_gain_feedback(&finished);
        }
        self.record(IterationEvent::Finished(Box::new(finished)));
    }

    /// Explains an ignored completion marker to the agent that wrote it.
    fn explain_marker(&mut self, current: &Current) {
        let evidence = &self.ledger.settings.completion.evidence;
        let by_marker = [EvidenceKind::Promise, EvidenceKind::Planned];
        let reads_it = by_marker.iter().any(|kind| evidence.contains(kind));
        let ignored = Self::text_evidence(current).and_then(|words| words.marker_ignored.clone());
        if let Some(because) = ignored.filter(|_| reads_it) {
            self.feedback_once(FeedbackSource::Marker, prompt::marker_ignored(&because));
        }
    }

    /// Queues feedback for the next iteration after an idle one that is not the last. This happens
    /// before the iteration is recorded: a crash in between repeats the feedback and loses nothing.
    fn queue_idle_feedback(&mut self, finished: &IterationFinished) {
        let idle = finished.idle;
        let threshold = self.ledger.settings.progress.threshold;
        if idle > self.ledger.streaks.idle && (threshold == 0 || idle < threshold) {
            self.feedback_once(FeedbackSource::Idle, progress::idle_feedback(idle));
        }
    }

    /// Runs the hooks, then ends the run for the first reason that holds: stop now; a fatal
    /// outcome; a passed gate; stop; errors; rejections; blockers; no progress; limits. Otherwise
    /// the next iteration follows after the delay.
    pub(super) fn after_iteration(&mut self) {
        if let Some(hook) = self.next_hook() {
            return self.run_hook(hook);
        }
        if self.live.delayed {
            return self.before_iteration();
        }
        if let Some((outcome, note)) = self.outcome_after_iteration() {
            return self.finish(outcome, note);
        }
        let failed = self
            .ledger
            .last
            .as_ref()
            .is_some_and(|last| matches!(last.finished.result, IterationResult::Failed { .. }));
        let retry = &self.ledger.settings.retry;
        let least = if failed { retry::shortest(retry) } else { Duration::ZERO };
        self.delay(self.ledger.settings.delay.max(least));
    }

    /// Returns the outcome that follows from the last iteration, if any. Reads only the durable
    /// state, so a run that crashed here ends the same way when it is resumed.
    pub(super) fn outcome_after_iteration(&self) -> Option<(Outcome, Option<String>)> {
        let state = &self.ledger;
        let LastIteration { finished, gate, .. } = state.last.as_ref()?;
        if state.stop == Some(StopWhen::Now) {
            return Some((Outcome::Interrupted, None));
        }
        if let Some(outcome) = &finished.ends {
            return Some((outcome.clone(), None));
        }
        if let Some(GateResult::Passed { proof }) = gate {
            let unchecked = match proof {
                Proof::Checks => None,
                Proof::Model | Proof::None => state.unchecked(),
            };
            return Some((Outcome::Completed { proof: *proof, unchecked }, None));
        }
        if let Some(GateResult::Impossible { why }) = gate {
            return Some((Outcome::Impossible { why: why.clone() }, None));
        }
        if state.stop == Some(StopWhen::AfterIteration) {
            return Some((Outcome::Stopped, None));
        }
        self.streak_outcome(finished, gate.as_ref())
            .map(|outcome| (outcome, self.note_without_claim()))
            .or_else(|| self.limit_reached(gate.as_ref()))
    }

    /// Describes a gate that ran without a claim: which checks pass, and what else prevented
    /// completion.
    fn note_without_claim(&self) -> Option<String> {
        let LastIteration { finished, gate, checks, .. } = self.ledger.last.as_ref()?;
        let gate = gate.as_ref().filter(|_| finished.claim == [EvidenceKind::NoProgress])?;
        let results = checks.iter().map(|result| {
            let command = &result.command;
            if result.verdict.is_pass() {
                format!("`{command}` passes")
            } else {
                phrases::check(result)
            }
        });
        let commands = &self.ledger.settings.verify.commands;
        let not_run =
            commands.iter().skip(checks.len()).map(|c| format!("nightwright did not run `{c}`"));
        let mut parts: Vec<String> = results.chain(not_run).collect();
        let checks_pass = checks.iter().all(|result| result.verdict.is_pass());
        match gate {
            GateResult::Rejected { why, .. } if checks_pass => {
                parts.push(format!("not complete: {why}"));
            }
            GateResult::Inconclusive { .. } | GateResult::Unaffordable { .. } => {
                parts.push(phrases::gate_result(gate));
            }
            GateResult::Rejected { .. }
            | GateResult::Passed { .. }
            | GateResult::Impossible { .. } => {}
        }
        Some(parts.join(", ")).filter(|note| !note.is_empty())
    }

    fn streak_outcome(
        &self,
        finished: &IterationFinished,
        gate: Option<&GateResult>,
    ) -> Option<Outcome> {
        let streaks = &self.ledger.streaks;
        let settings = &self.ledger.settings;
        if streaks.errors >= settings.retry.max_consecutive_errors.max(1) {
            let last = match &finished.result {
                IterationResult::Failed { why, .. } => why.clone(),
                IterationResult::Done | IterationResult::Interrupted => String::new(),
            };
            return Some(Outcome::ConsecutiveErrors { errors: streaks.errors, last });
        }
        if streaks.review_errors >= MAX_REVIEW_ERRORS {
            let last = format!("the review failed: {}", self.ledger.review_error);
            return Some(Outcome::ConsecutiveErrors { errors: streaks.review_errors, last });
        }
        let once = settings.scope == Scope::Gate;
        let doubt = match gate {
            Some(GateResult::Rejected { why }) if once || streaks.rejections >= MAX_REJECTIONS => {
                Some(why)
            }
            Some(GateResult::Inconclusive { why })
                if once || streaks.inconclusive >= MAX_INCONCLUSIVE =>
            {
                Some(why)
            }
            Some(_) | None => None,
        };
        if let Some(why) = doubt {
            return Some(Outcome::Unverified { why: why.clone() });
        }
        if streaks.blocked >= MAX_BLOCKED {
            let needs: Vec<_> = finished.blockers.iter().map(Blocker::sentence).collect();
            return Some(Outcome::Blocked { needs: needs.join("; ") });
        }
        let threshold = settings.progress.threshold;
        if threshold > 0 && streaks.idle >= threshold {
            return Some(match settings.progress.outcome {
                Stagnation::Stagnated => Outcome::Stagnated { idle: streaks.idle, failing: None },
                Stagnation::NoChanges => Outcome::NoChanges { idle: streaks.idle },
            });
        }
        self.outcome_without_gain(finished)
    }

    fn limit_reached(&self, gate: Option<&GateResult>) -> Option<(Outcome, Option<String>)> {
        if let Some(failed) = self.all_failed(gate) {
            return Some(failed);
        }
        let limit = self.limit(gate)?;
        let note = self.limit_note(&limit, gate);
        Some((limit, note))
    }

    /// Returns the result of the last claim, and why a limit ends the run before it is used up.
    fn limit_note(&self, limit: &Outcome, gate: Option<&GateResult>) -> Option<String> {
        let parts = [claim_note(gate), limits::too_little(limit, self.used())];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns the limit that ends the run before another iteration.
    fn limit(&self, gate: Option<&GateResult>) -> Option<Outcome> {
        if let Some(GateResult::Unaffordable { outcome }) = gate {
            return Some(outcome.clone());
        }
        if let Some(outcome) = &self.ledger.wrap_up {
            return Some(outcome.clone());
        }
        match limits::before_iteration(&self.ledger.settings, self.used()) {
            Budget::None(outcome) => Some(outcome),
            Budget::Work(_) | Budget::WrapUp(..) => None,
        }
    }

    /// Returns an error outcome if only failures led to the limit.
    fn all_failed(&self, gate: Option<&GateResult>) -> Option<(Outcome, Option<String>)> {
        let limit = self.limit(gate)?;
        let last = self.ledger.last.as_ref()?.failure.clone()?;
        let iterations = self.ledger.totals.iterations;
        if self.ledger.succeeded > 0 || iterations == 0 {
            return None;
        }
        let note = limit.sentence(iterations);
        let limit = Box::new(limit);
        Some((Outcome::AllIterationsFailed { iterations, last, limit }, Some(note)))
    }

    /// Ends the run at a limit before an iteration could begin, with a note about the last claim.
    fn finish_by_limit(&mut self, limit: Outcome) {
        let gate = self.ledger.last.as_ref().and_then(|last| last.gate.clone());
        if let Some((outcome, note)) = self.all_failed(gate.as_ref()) {
            self.finish(outcome, note);
        } else {
            let note = self.limit_note(&limit, gate.as_ref());
            self.finish(limit, note);
        }
    }

    /// Ends the run. No decisions follow.
    pub(super) fn finish(&mut self, outcome: Outcome, note: Option<String>) {
        debug_assert!(!matches!(self.ledger.phase, Phase::Ended(_)), "a run ends once");
        let note = match (&outcome, self.ledger.stopped_by) {
            (Outcome::Interrupted, Some(StopSource::TerminalClosed)) if note.is_none() => {
                Some("the terminal closed".to_owned())
            }
            (_, _) => note,
        };
        let mut totals = self.ledger.totals.clone();
        totals.duration = self.active();
        self.record(RunEvent::Finished { outcome, note, totals });
        self.effect(Effect::Finish);
    }
}

/// Returns the result of the last claim, for a run that ends at a limit.
fn claim_note(gate: Option<&GateResult>) -> Option<String> {
    let result = gate.filter(|result| !matches!(result, GateResult::Passed { .. }))?;
    Some(format!("claimed, {}", phrases::gate_result(result)))
}
