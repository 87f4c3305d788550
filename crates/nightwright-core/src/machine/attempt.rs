//! Attempts: how they start, how they are supervised, and what follows when they end.

use std::time::Duration;

use super::ledger::Stage;
use super::live_process::{KILL_TIMEOUT, LiveProcess};
use super::{IterationSetup, Machine, PendingKind};
use crate::effect::{Alarm, AttemptRequest, Effect, Grace};
use crate::event::{
    AttemptEvent, CostSource, IterationKind, IterationResult, StopWhen, Totals, WaitEnd, WaitEvent,
    WaitKind,
};
use crate::input::TimerKey;
use crate::outcome::Outcome;
use crate::permissions::denial::{Denial, DeniedCommand};
use crate::policy::gains;
use crate::policy::limits::{self, Allowance, Budget};
use crate::policy::retry;
use crate::policy::waiting::{self, WaitPlan};
use crate::prompt::{Briefing, CheckNews, Feedback, PreviousIteration};
use crate::stream::dialect::InputShape;
use crate::stream::news::{AgentNews, AttemptReport, Pulse, QuotaNews, Ready, WatchdogFinding};
use crate::stream::outcome::{AttemptOutcome, CancelReason, Consequence};
use crate::units::{AttemptId, Usd};

/// The charge for an attempt of unknown cost when no better estimate exists.
pub(super) const UNKNOWN_COST: Usd = Usd::from_cents(1);

/// The maximum number of denied commands that a run reports.
const MAX_DENIED: usize = 200;

/// The attempt whose process is currently running.
#[derive(Clone, Debug)]
pub(super) struct LiveAttempt {
    pub(super) id: AttemptId,
    pub(super) process: LiveProcess,
    /// Messages sent into its session: the time, and the finding that each one answers.
    pub(super) nudges: Vec<(Duration, WatchdogFinding)>,
    /// Whether its session accepts further messages.
    pub(super) open: bool,
    /// The requested model; `None` means the agent's default.
    pub(super) model: Option<String>,
}

impl Machine {
    /// Starts another attempt of this iteration, unless a stop or a limit prevents it.
    pub(super) fn next_attempt(&mut self) {
        if self.ledger.stop.is_some() {
            self.interrupt_iteration();
            return self.advance();
        }
        if self.ledger.paused {
            return;
        }
        let budget = limits::before_attempt(&self.ledger.settings, self.used());
        let share = match (budget, self.current().kind) {
            (Budget::Work(share), _) => share,
            (Budget::WrapUp(share, _), IterationKind::WrapUp) => share,
            // The rest of the budget is reserved for the wrap-up, or there is none.
            (Budget::WrapUp(..), IterationKind::Work | IterationKind::VerifyOnly)
            | (Budget::None(_), _) => {
                self.interrupt_iteration();
                return self.advance();
            }
        };
        self.start_attempt(share);
    }

    fn start_attempt(&mut self, share: Allowance) {
        let attempt = self.ledger.last_attempt.next();
        let iteration = self.current().iteration;
        let model = self.model();
        let briefing = self.briefing();
        self.record(AttemptEvent::Started {
            attempt,
            iteration,
            cap: share.cost,
            model: model.clone(),
        });
        let deadlines = self.ledger.settings.deadlines.clone();
        let process = LiveProcess::new(self.now.mono, share, deadlines, self.ledger.dialect);
        let armed = process.deadline_at;
        self.live.attempt = Some(LiveAttempt {
            id: attempt,
            process,
            nudges: Vec::new(),
            open: self.ledger.input() == InputShape::Messages,
            model: model.clone(),
        });
        let request = AttemptRequest { attempt, cap: share.cost, model, briefing };
        self.effect(Effect::StartAttempt(Box::new(request)));
        self.arm(TimerKey::Attempt(attempt), armed);
    }

    pub(super) fn arm(&mut self, key: TimerKey, at: Duration) {
        let alarm = Alarm::After(at.saturating_sub(self.now.mono));
        self.effect(Effect::SetTimer { key, alarm });
    }

    /// Returns the model for the next attempt: a stronger one from the third escalation step on.
    fn model(&self) -> Option<String> {
        let model = &self.ledger.settings.model;
        match &model.escalate {
            Some(stronger)
                if self.ledger.streaks.idle >= 3
                    || self.ledger.checks.without_gain >= gains::ESCALATED_AT =>
            {
                Some(stronger.clone())
            }
            Some(_) | None => model.name.clone(),
        }
    }

    fn briefing(&self) -> Briefing {
        let state = &self.ledger;
        let current = self.current();
        let remaining = limits::remaining(&state.settings, self.used());
        let is_for_this_iteration =
            |entry: &&super::ledger::InboxEntry| entry.given_to == Some(current.iteration);
        Briefing {
            iteration: current.iteration,
            kind: current.kind,
            last: remaining.iterations == Some(1),
            cut_off: current.attempts > 0,
            shorten: state.shorten,
            feedback: state
                .inbox
                .iter()
                .filter(is_for_this_iteration)
                .map(|entry| Feedback { source: entry.source, text: entry.text.clone() })
                .collect(),
            decisions: state.decisions.clone(),
            earlier: state.recent.iter().cloned().collect(),
            checks: CheckNews::of(&state.checks),
            previous: state.last.as_ref().map(|last| PreviousIteration {
                summary: last.finished.summary.clone(),
                progress: last.finished.task,
                phase: last.finished.phase.clone(),
            }),
            remaining,
        }
    }

    pub(super) fn agent_news(&mut self, id: AttemptId, news: AgentNews) {
        // News of an attempt that was already given up is ignored.
        if self.live.attempt.as_ref().is_none_or(|attempt| attempt.id != id) {
            return;
        }
        match news {
            AgentNews::Ready(ready) => self.ready(id, ready),
            AgentNews::Pulse(pulse) => self.pulse(&pulse),
            AgentNews::TurnEnded { how, noticed } => self.turn_ended(id, how, noticed),
            AgentNews::Noticed(finding) => self.watchdog_finding(id, finding),
            AgentNews::Denied(denial) => self.denied(id, &denial),
            AgentNews::LoginRefused => self.cancel_attempt(CancelReason::Auth, Grace::Usual),
            AgentNews::Quota(quota) => self.quota_reported(quota),
            AgentNews::Exited(report) => self.attempt_exited(id, *report),
        }
    }

    /// Records a denied command. A run reports each command once.
    fn denied(&mut self, attempt: AttemptId, denial: &Denial) {
        for refused in self.ledger.refused(denial) {
            if self.ledger.denied.len() < MAX_DENIED && !self.ledger.denied.contains(&refused) {
                let DeniedCommand { tool, command, rule } = refused;
                self.record(AttemptEvent::PermissionDenied { attempt, tool, command, rule });
            }
        }
    }

    fn ready(&mut self, attempt: AttemptId, ready: Ready) {
        let now = self.now.mono;
        let asked = self.live.attempt.as_mut().and_then(|live| {
            live.process.ready(now);
            live.model.clone()
        });
        let failed = ready.failed_servers.join(", ");
        let working = ready.model.clone();
        self.record(AttemptEvent::AgentReady { attempt, ready });
        if let Some(asked) = asked
            && !self.ledger.dialect.is_model(&asked, &working)
        {
            self.warn_once(format!(
                "requested the model `{asked}`, but the agent uses `{working}`"
            ));
        }
        if !failed.is_empty() {
            self.warn_once(format!("MCP servers failed to start: {failed}"));
        }
        self.rearm_attempt();
    }

    fn pulse(&mut self, pulse: &Pulse) {
        let now = self.now.mono;
        let Some(live) = &mut self.live.attempt else { return };
        live.process.pulse(now, pulse);
        if live.process.exceeds_tokens() {
            self.cancel_attempt(CancelReason::Limit, Grace::Usual);
        }
        self.rearm_attempt();
    }

    pub(super) fn rearm_attempt(&mut self) {
        let Some(live) = &mut self.live.attempt else { return };
        let (id, at) = (live.id, live.process.rearm());
        if let Some(at) = at {
            self.arm(TimerKey::Attempt(id), at);
        }
    }

    pub(super) fn attempt_deadline(&mut self, id: AttemptId) {
        let Some(live) = &mut self.live.attempt else { return };
        if live.id != id {
            return;
        }
        if live.process.cancelled.is_some() {
            return self.abandon_attempt(id);
        }
        let (at, why) = live.process.due();
        if at <= self.now.mono {
            self.cancel_attempt(why, Grace::Usual);
        } else {
            live.process.deadline_at = at;
            self.arm(TimerKey::Attempt(id), at);
        }
    }

    /// Gives up an attempt that is still running after a kill. No other process may start next to
    /// it.
    fn abandon_attempt(&mut self, id: AttemptId) {
        let report = self.attempt_so_far(AttemptOutcome::Lost);
        self.live.abort_outcome.get_or_insert(Outcome::BadAgent {
            why: "nightwright could not kill its processes".to_owned(),
        });
        self.attempt_exited(id, report);
    }

    /// Returns the report of the running attempt as far as it is known without the agent's own
    /// report.
    pub(super) fn attempt_so_far(&self, outcome: AttemptOutcome) -> AttemptReport {
        let bare = AttemptReport::bare(outcome);
        match &self.live.attempt {
            Some(live) => {
                let model = live.model.as_deref().unwrap_or_default();
                self.priced_so_far(&live.process, model, bare)
            }
            None => bare,
        }
    }

    /// Returns a report for a process that never sent its own, with the usage observed so far.
    pub(super) fn priced_so_far(
        &self,
        running: &LiveProcess,
        model: &str,
        report: AttemptReport,
    ) -> AttemptReport {
        let (dialect, tokens) = (self.ledger.dialect, running.tokens);
        let by_tokens = Some(dialect.price(model, &tokens)).filter(|_| !tokens.is_zero());
        let time = self.now.mono.saturating_sub(running.watch.started);
        let priced = by_tokens.or_else(|| dialect.price_of_time(time));
        AttemptReport { priced, tokens, ..report }
    }

    /// Stops the running attempt. The first reason is kept.
    pub(super) fn cancel_attempt(&mut self, why: CancelReason, grace: Grace) {
        let Some(live) = &mut self.live.attempt else { return };
        let (attempt, first) = (live.id, live.process.cancel(why));
        if !first && grace == Grace::Usual {
            return;
        }
        if first && !self.live.journal_failed {
            self.record(AttemptEvent::Cancelled { attempt, why });
        }
        self.effect(Effect::CancelAttempt { attempt, why, grace });
        self.arm(TimerKey::Attempt(attempt), self.now.mono + KILL_TIMEOUT);
    }

    pub(super) fn quota_reported(&mut self, quota: QuotaNews) {
        if self.ledger.quotas.get(&quota.window) != Some(&quota) {
            self.record(WaitEvent::QuotaReported { quota });
        }
    }

    fn attempt_exited(&mut self, id: AttemptId, report: AttemptReport) {
        let started =
            self.live.attempt.take().map_or(self.now.mono, |live| live.process.watch.started);
        self.effect(Effect::ClearTimer { key: TimerKey::Attempt(id) });
        self.live.survey = None;
        self.live.work = None;
        let duration = self.now.mono.saturating_sub(started);
        self.record_attempt(id, report, duration);
        self.advance();
    }

    /// Records an attempt and the cost that it is charged.
    pub(super) fn record_attempt(
        &mut self,
        attempt: AttemptId,
        report: AttemptReport,
        duration: Duration,
    ) {
        let cap = match self.current().stage {
            Stage::Attempting { cap, .. } => cap,
            Stage::Begun | Stage::Attempted | Stage::Retrying { .. } => None,
        };
        for denial in &report.denied {
            self.denied(attempt, denial);
        }
        let (cost, figure) = self.charge(Totals::WORK, cap, &report);
        let notices = report.text_evidence.findings.clone();
        let report = Box::new(report);
        self.record(AttemptEvent::Finished { attempt, cost, figure, duration, report });
        for finding in notices {
            self.record_finding(attempt, finding);
        }
    }

    /// Returns the charge for an attempt or a call: the cost that the agent reports. Without one,
    /// it is the price of the tokens, the mean of its kind, or half of its cap. It is never zero
    /// unless the attempt cannot have called a model: it printed nothing, or a result that says so.
    pub(super) fn charge(
        &self,
        purpose: &str,
        cap: Option<Usd>,
        report: &AttemptReport,
    ) -> (Usd, CostSource) {
        if let Some(cost) = report.cost {
            return (cost, CostSource::Reported);
        }
        let positive = |cost: &Usd| *cost > Usd::ZERO;
        // The observed usage counts in full, even if it exceeds the cap.
        if let Some(priced) = report.priced.filter(positive) {
            return (priced, CostSource::Estimated);
        }
        if report.tokens.is_zero() && report.outcome.never_asked() {
            if report.stream.stdout_bytes == 0 || report.stream.results > 0 {
                return (Usd::ZERO, CostSource::Reported);
            }
            // A refused login is cheap, but its output is no proof that no model was called.
            let guess = cap.map_or(UNKNOWN_COST, |cap| UNKNOWN_COST.min(cap));
            return (guess, CostSource::Estimated);
        }
        // The process was supervised until it exited and never called a model.
        let unasked = report.priced == Some(Usd::ZERO) && report.tokens.is_zero();
        if unasked && report.outcome != AttemptOutcome::Lost {
            return (Usd::ZERO, CostSource::Estimated);
        }
        let spend = self.ledger.totals.by_purpose.get(purpose).copied().unwrap_or_default();
        let guess = Some(spend.cost.per(u64::from(spend.count)))
            .filter(positive)
            .or_else(|| cap.map(|cap| cap.per(2)).filter(positive))
            .unwrap_or(UNKNOWN_COST);
        // The agent respects its cap, so no estimate exceeds it.
        (cap.map_or(guess, |cap| guess.min(cap)), CostSource::Estimated)
    }

    /// Decides what follows an attempt that has ended.
    pub(super) fn conclude_attempt(&mut self) {
        if self.ledger.stop == Some(StopWhen::Now) {
            self.interrupt_iteration();
            return self.advance();
        }
        let Some(report) = self.current().report.clone() else {
            return;
        };
        match report.outcome.consequence() {
            Consequence::Assess => self.assess(),
            Consequence::AssessWorkTree => self.assess_suspect(),
            Consequence::Wait { limit, until } => self.wait_for_limit(limit, until),
            Consequence::Retry => self.retry(&report.outcome.sentence()),
            Consequence::FailIteration { too_long } => {
                if report.outcome == AttemptOutcome::ContextFull {
                    self.queue_full_context_feedback();
                }
                self.fail_iteration(report.outcome.sentence(), too_long);
            }
            Consequence::EndRun { outcome } => self.end_by(report.outcome.sentence(), outcome),
        }
    }

    /// Schedules another attempt, if any retries remain.
    pub(super) fn retry(&mut self, why: &str) {
        let current = self.current();
        let used = current.retries + current.suspects;
        if used > self.ledger.settings.retry.max_retries || current.suspects >= 2 {
            return self.fail_iteration(why.to_owned(), false);
        }
        if self.ledger.stop.is_some() {
            self.interrupt_iteration();
            return self.advance();
        }
        let policy = &self.ledger.settings.retry;
        let delay = retry::delay(policy, used, self.ledger.seed, self.ledger.last_attempt);
        let at_time = self.now.plus(delay);
        self.record(WaitEvent::RetryScheduled { at_time, why: why.to_owned() });
        self.wait_until(Alarm::After(delay));
    }

    pub(super) fn wait_until(&mut self, alarm: Alarm) {
        let ticket = self.ask(PendingKind::Wait { since: self.now.mono });
        self.effect(Effect::SetTimer { key: TimerKey::Wait(ticket), alarm });
    }

    /// Waits for a limit to reset, if the maximum waiting time allows it.
    pub(super) fn wait_for_limit(&mut self, limit: WaitKind, until: Option<jiff::Timestamp>) {
        if self.ledger.stop.is_some() {
            if self.ledger.current().is_some() {
                self.interrupt_iteration();
            }
            return self.advance();
        }
        let max_wait = self.ledger.settings.limits.max_wait;
        match waiting::plan(self.ledger.wait_streak, until, max_wait, self.now, self.ledger.seed) {
            WaitPlan::Wait { retry_at, wait, dated } => {
                self.record(WaitEvent::Started { limit, until, retry_at, wait });
                self.wait_until(if dated { Alarm::At(retry_at) } else { Alarm::After(wait) });
            }
            WaitPlan::TooLong => {
                if self.ledger.current().is_some() {
                    self.finish_iteration(
                        IterationResult::Interrupted,
                        Some(Outcome::LimitWaitTooLong { until }),
                    );
                    self.advance();
                } else {
                    self.finish(Outcome::LimitWaitTooLong { until }, None);
                }
            }
        }
    }

    pub(super) fn wait_ended(&mut self, why: WaitEnd, since: Duration) {
        self.live.untouched = false;
        self.live.setup = IterationSetup::default();
        if self.ledger.wait.is_some() {
            let waited = self.now.mono.saturating_sub(since);
            self.record(WaitEvent::Ended { why, waited });
        }
    }

    /// Ends the run because the account or the agent's program prevents all work.
    pub(super) fn end_by(&mut self, why: String, outcome: Outcome) {
        self.finish_iteration(IterationResult::Failed { why, too_long: false }, Some(outcome));
        self.advance();
    }

    pub(super) fn fail_iteration(&mut self, why: String, too_long: bool) {
        self.finish_iteration(IterationResult::Failed { why, too_long }, None);
        self.advance();
    }

    pub(super) fn interrupt_iteration(&mut self) {
        self.finish_iteration(IterationResult::Interrupted, None);
    }
}
