//! The durable state of a run, computed from its events.
//!
//! The state is readable everywhere and changes only in [`Ledger::record`]. The same function folds
//! a live run and a journal. Therefore the state contains exactly what the events contain.

mod finished;
mod fold;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::time::Duration;

use jiff::Timestamp;

pub use super::state::{
    Answered, Current, Gate, InboxEntry, LastIteration, Nudge, OpenCall, Phase, Stage, State,
    StopRequests, Streaks, Wait,
};
use crate::baseline::{self, BaselineStatus};
use crate::event::{
    CallPurpose, Charge, Continuation, FeedbackSource, IterationKind, Record, RunStarted, StopWhen,
    WaitEnd, WaitKind,
};
use crate::input::{CheckPurpose, CheckResult, CheckVerdict, Checklist, WorkspaceMark};
use crate::obstacles;
use crate::permissions::denial::{self, Denial, DeniedCommand};
use crate::permissions::granted;
use crate::policy::check_history::Measured;
use crate::policy::gains::UnclaimedGates;
use crate::policy::limits::{self, Budget};
use crate::policy::waiting::WaitStreak;
use crate::settings::{ChangeSource, EvidenceKind, SettingChange, Settings};
use crate::stream::news::{AttemptReport, Blocker, WatchdogFinding};
use crate::stream::outcome::{AttemptOutcome, Consequence, Deadline};
use crate::units::{AttemptId, Fingerprint, Iteration, Usd};

/// The durable state; only events can change it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    state: State,
}

impl Ledger {
    /// Applies one event to the state.
    pub fn record(&mut self, record: &Record) {
        self.state.fold(record);
    }

    /// Computes the state from the records of a journal.
    pub fn replay<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut ledger = Self::default();
        for record in records {
            ledger.record(record);
        }
        ledger
    }
}

impl Deref for Ledger {
    type Target = State;
    fn deref(&self) -> &State {
        &self.state
    }
}

impl State {
    fn current_mut(&mut self) -> Option<&mut Current> {
        match &mut self.phase {
            Phase::Iterating(current) => Some(current),
            Phase::New | Phase::Ready | Phase::Concluding | Phase::Ended(_) => None,
        }
    }

    fn gate_mut(&mut self) -> Option<&mut Gate> {
        self.current_mut().and_then(|current| current.gate.as_mut())
    }

    fn at_gate(&mut self, change: impl FnOnce(&mut Gate)) {
        if let Some(gate) = self.gate_mut() {
            change(gate);
        }
    }

    /// The denied commands, given the agent's rules.
    pub(super) fn refused(&self, denial: &Denial) -> Vec<DeniedCommand> {
        let granted = granted(&self.settings);
        denial::refused(denial, &granted, &self.settings.surroundings.project_root)
    }

    fn permission_denied(&mut self, refused: DeniedCommand) {
        if let Some(current) = self.current_mut() {
            current.denied.insert(refused.clone());
        }
        self.denied.insert(refused);
    }

    fn run_started(&mut self, started: &RunStarted) {
        self.settings = started.settings.clone();
        self.dialect = started.agent.kind().dialect();
        self.seed = started.seed;
        self.baseline.clone_from(&started.baseline);
        self.phase = Phase::Ready;
    }

    /// Applies a changed setting. The gate in effect is the one of the start or of the operator's
    /// last change.
    fn setting_changed(&mut self, source: ChangeSource, change: &SettingChange) {
        change.apply(source, &mut self.settings);
        // A command that is denied again is a new finding.
        if change.is_permission() {
            self.denied.clear();
        }
        // A raised limit leaves room for work, so a later wrap-up is a new one.
        if change.is_limit()
            && let Budget::Work(_) = limits::before_attempt(&self.settings, self.used())
        {
            self.wrap_up = None;
        }
    }

    /// Resets work that an earlier process left unfinished: the gate starts again, and a stop meant
    /// for that process no longer applies.
    fn run_continued(&mut self, why: Continuation) {
        (self.stop, self.stopped_by) = (None, None);
        self.stop_requests = StopRequests::default();
        if let Some(current) = self.current_mut() {
            current.gate = None;
            current.verifier = None;
        }
        match why {
            Continuation::AfterCrash => {}
            Continuation::AfterEnd => {
                self.phase = Phase::Ready;
                self.paused = false;
                self.streaks = Streaks::default();
                self.checks.without_gain = 0;
                self.unclaimed_gates = UnclaimedGates::default();
                self.judged_impossible.clear();
                self.obstacles.clear();
                self.denied_in.clear();
                self.problems.clear();
                self.wait_streak = WaitStreak::default();
                self.wait = None;
                self.wrap_up = None;
            }
        }
    }

    fn iteration_started(
        &mut self,
        iteration: Iteration,
        kind: IterationKind,
        start: &WorkspaceMark,
        checklist: Option<Checklist>,
    ) {
        if self.origin.is_none() {
            self.origin = Some(start.clone());
        }
        // The state at the end of the previous iteration is usually the one at the start of this
        // one. Any difference was made outside of the agent and must not count as its work.
        self.seen.add(start, checklist);
        self.streaks.skips = 0;
        for entry in &mut self.inbox {
            entry.given_to = Some(iteration);
        }
        let current = Current::new(iteration, kind, start.clone(), checklist, self);
        self.phase = Phase::Iterating(Box::new(current));
    }

    /// Clears the results of the checks until they finish, so that a crash in between leaves them
    /// unknown.
    fn checks_started(&mut self, purpose: CheckPurpose, commands: &[String]) {
        self.checks_began = Some(self.active);
        match purpose {
            CheckPurpose::Baseline => {
                let unknown =
                    |command: &String| CheckResult::without_run(command, CheckVerdict::Interrupted);
                self.baseline = Some(commands.iter().map(unknown).collect());
            }
            CheckPurpose::Progress | CheckPurpose::Gate => {}
        }
    }

    fn checks_finished(
        &mut self,
        purpose: CheckPurpose,
        results: &[CheckResult],
        fingerprint: &Fingerprint,
    ) {
        match purpose {
            CheckPurpose::Baseline => self.baseline = Some(results.to_vec()),
            CheckPurpose::Progress => {}
            CheckPurpose::Gate => {
                self.at_gate(|gate| gate.checks = Some((results.to_vec(), fingerprint.clone())));
            }
        }
    }

    /// Adds results that were measured now to the history of the checks.
    fn checks_measured(
        &mut self,
        at: Timestamp,
        purpose: CheckPurpose,
        results: &[CheckResult],
        fingerprint: &Fingerprint,
    ) {
        let took = self.checks_began.take().map(|began| self.active.saturating_sub(began));
        let each: Duration = results.iter().map(|result| result.duration).sum();
        let took = took.unwrap_or_default();
        self.checks.spent += took;
        let cut_off = results.iter().any(|result| result.verdict == CheckVerdict::TimedOut);
        let least = if cut_off { self.settings.verify.timeout } else { Duration::ZERO };
        self.checks.expected = Some(took.max(each).max(least));
        for obstacle in obstacles::of(results) {
            *self.obstacles.entry(obstacle.key).or_default() += 1;
        }
        let is_usable = |result: &CheckResult| baseline::status(result) != BaselineStatus::Unknown;
        if purpose == CheckPurpose::Baseline && !results.iter().all(is_usable) {
            return;
        }
        let iteration = self.current().map_or(Iteration(0), |current| current.iteration);
        let measured = Measured { iteration, at, results, fingerprint };
        let change = self.checks.add(measured, self.settings.progress.no_gain);
        if let Some(current) = self.current_mut() {
            current.checked = true;
            current.change = change.or(current.change);
        }
    }

    fn gate_started(&mut self, claim: &[EvidenceKind]) {
        if let Some(current) = self.current_mut() {
            current.gate = Some(Gate {
                claim: claim.to_vec(),
                checks: None,
                findings: None,
                verdict_calls: 0,
                verdict: None,
                agreed: 0,
                result: None,
            });
        }
    }

    fn attempt_started(&mut self, attempt: AttemptId, cap: Option<Usd>) {
        self.last_attempt = attempt;
        self.totals.attempts += 1;
        if let Some(current) = self.current_mut() {
            current.attempts += 1;
            current.nudges.clear();
            for (_, answered) in &mut current.findings {
                *answered = Answered::Superseded;
            }
            current.stage = Stage::Attempting { attempt, cap };
        }
    }

    fn attempt_finished(&mut self, report: &AttemptReport) {
        match report.outcome.consequence() {
            Consequence::Assess | Consequence::AssessWorkTree => {
                self.unmark_unacknowledged(report.acknowledged);
            }
            // Another attempt of this iteration receives the messages again.
            Consequence::Wait { .. }
            | Consequence::Retry
            | Consequence::FailIteration { .. }
            | Consequence::EndRun { .. } => {}
        }
        let denied: Vec<_> = report.denied.iter().flat_map(|denial| self.refused(denial)).collect();
        let edited =
            report.edited.as_ref().map(|files| files.iter().any(|file| self.is_work(file)));
        if let Some(current) = self.current_mut() {
            current.stage = Stage::Attempted;
            current.edited = current.edited.zip(edited).map(|(before, now)| before || now);
            current.denied.extend(denied);
            let earlier = std::mem::take(&mut current.blockers);
            current.blockers =
                distinct(earlier.into_iter().chain(report.text_evidence.blockers.clone()));
            match report.outcome.consequence() {
                Consequence::Retry => {
                    current.retries += 1;
                    current.suspects = 0;
                }
                Consequence::AssessWorkTree => current.suspects += 1,
                Consequence::Assess => current.suspects = 0,
                Consequence::Wait { .. }
                | Consequence::FailIteration { .. }
                | Consequence::EndRun { .. } => {}
            }
            current.report = Some(report.clone());
        }
    }

    /// Whether a change to this file counts as work. Notes, the status file and other files of
    /// nightwright do not count, except the checklist.
    fn is_work(&self, file: &str) -> bool {
        let Settings { files, notes_file, .. } = &self.settings;
        let is = |known: &Option<String>| {
            known.as_ref().is_some_and(|known| {
                file.strip_suffix(known.as_str())
                    .is_some_and(|at| at.is_empty() || at.ends_with('/'))
            })
        };
        let ours = file.split('/').any(|part| part == ".nightwright");
        is(&files.list) || !(ours || is(&files.status) || is(notes_file))
    }

    fn call_finished(&mut self, purpose: CallPurpose, report: &AttemptReport) {
        let waits = matches!(report.outcome.consequence(), Consequence::Wait { .. });
        if purpose == CallPurpose::Verify
            && matches!(report.outcome, AttemptOutcome::ModelNotFound { .. })
        {
            self.missing_verifiers += 1;
        }
        if purpose == CallPurpose::Review {
            self.review_finished(&report.outcome);
        }
        if let Some(current) = self.current_mut() {
            current.call = None;
            current.unconcluded = Some((purpose, Box::new(report.clone())));
            let lost = report.outcome == AttemptOutcome::Lost;
            // A call that hit a limit did not take place, and the verifier's answer is still
            // pending.
            if waits || (lost && purpose == CallPurpose::Verify) {
                return;
            }
            if purpose == CallPurpose::Verify {
                current.verifier = Some(report.clone());
                // The model does not exist, so the call did not take place.
                let missing = matches!(report.outcome, AttemptOutcome::ModelNotFound { .. });
                if let Some(gate) = &mut current.gate.as_mut().filter(|_| !missing) {
                    gate.verdict_calls += 1;
                }
            } else {
                current.calls_done.insert(purpose);
            }
        }
    }

    /// Counts failed reviews. A review that ended by itself or at its own limits did not fail. One
    /// that ended because of an account limit, a stop or a crash of nightwright does not count.
    fn review_finished(&mut self, outcome: &AttemptOutcome) {
        let ours = *outcome == AttemptOutcome::Lost || self.stop == Some(StopWhen::Now);
        match outcome.consequence() {
            Consequence::Assess => self.streaks.review_errors = 0,
            Consequence::Retry if is_own_limit(outcome) => self.streaks.review_errors = 0,
            Consequence::Wait { .. } => {}
            Consequence::AssessWorkTree
            | Consequence::Retry
            | Consequence::FailIteration { .. }
            | Consequence::EndRun { .. } => {
                if !ours {
                    self.streaks.review_errors += 1;
                    self.review_error = outcome.sentence();
                }
            }
        }
    }

    fn charge(&mut self, charge: Charge<'_>) {
        let report = charge.report;
        // Also one that hit a limit in the end may have got answers before it.
        let spent = report.cost.is_some_and(|cost| cost > Usd::ZERO);
        if report.outcome.got_an_answer() || report.tokens.output > 0 || spent {
            self.wait_streak = WaitStreak::default();
        }
        self.totals.add(charge);
    }

    fn limit_wait_ended(&mut self, why: WaitEnd, waited: Duration) {
        self.totals.waited += waited;
        if let Some(wait) = self.wait.take() {
            // A completed wait took as long as planned, even with a crash in between.
            self.wait_streak.waited += match why {
                WaitEnd::Elapsed => wait.planned,
                WaitEnd::RetryNow | WaitEnd::Stopped => waited,
            };
            if wait.kind == WaitKind::Quota {
                // The next iteration determines whether the quota is available again.
                self.quotas.clear();
            }
        }
        if let Some(current) = self.current_mut()
            && current.stage == Stage::Attempted
        {
            let limited = current.report.as_ref().is_some_and(|report| {
                matches!(report.outcome.consequence(), Consequence::Wait { .. })
            });
            if limited {
                current.stage = Stage::Begun;
            }
        }
    }

    fn watchdog_noticed(&mut self, finding: &WatchdogFinding) {
        let Some(current) = self.current_mut() else {
            return;
        };
        let first = !current.findings.iter().any(|(known, _)| known.key == finding.key);
        current.findings.push((finding.clone(), Answered::No));
        if first {
            *self.problems.entry(finding.key.clone()).or_default() += 1;
        }
    }

    /// Keeps a person's message to the session for later attempts: if this one fails, the next one
    /// has not received it.
    fn message_sent(&mut self, answers: Option<&WatchdogFinding>, text: &str) {
        let Some(current) = self.current_mut() else {
            return;
        };
        let given_to = Some(current.iteration);
        let nudge =
            Nudge { answers: answers.map(|finding| finding.key.clone()), text: text.to_owned() };
        current.nudges.push(nudge);
        if let Some(answers) = answers {
            current.mark(&answers.key, Answered::Live);
        } else {
            let source = FeedbackSource::Human;
            self.inbox.push(InboxEntry { source, text: text.to_owned(), given_to });
        }
    }

    /// Unmarks the findings whose answers did not reach the session.
    fn unmark_unacknowledged(&mut self, acknowledged: Option<u32>) {
        if let Some(current) = self.current_mut() {
            let unacknowledged = current.unacknowledged(acknowledged).to_vec();
            for key in unacknowledged.iter().filter_map(|nudge| nudge.answers.as_deref()) {
                current.mark(key, Answered::No);
            }
        }
    }

    /// Queues a person's undelivered messages for the next iteration. Other attempts of this one
    /// received them anyway.
    fn requeue_unacknowledged(&mut self) {
        let Some(current) = self.current_mut() else {
            return;
        };
        let iteration = Some(current.iteration);
        let acknowledged = current.report.as_ref().and_then(|report| report.acknowledged);
        let unacknowledged = current.unacknowledged(acknowledged).to_vec();
        for nudge in unacknowledged.iter().filter(|nudge| nudge.answers.is_none()) {
            let entry = self.inbox.iter_mut().rfind(|entry| {
                entry.given_to == iteration
                    && entry.source == FeedbackSource::Human
                    && entry.text == nudge.text
            });
            if let Some(entry) = entry {
                entry.given_to = None;
            }
        }
    }
}

/// Whether a call ended at its own limits, including its timeout.
pub(super) fn is_own_limit(outcome: &AttemptOutcome) -> bool {
    matches!(
        outcome,
        AttemptOutcome::TurnLimit
            | AttemptOutcome::AttemptBudget
            | AttemptOutcome::TimedOut { which: Deadline::Attempt }
    )
}

/// Returns the blockers without duplicate keys.
pub(crate) fn distinct(blockers: impl IntoIterator<Item = Blocker>) -> Vec<Blocker> {
    let mut keys = BTreeSet::new();
    blockers.into_iter().filter(|blocker| keys.insert(blocker.key.clone())).collect()
}
