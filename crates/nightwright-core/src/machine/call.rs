//! Calls: every other use of the agent. They are limited, classified and journaled like attempts.

use std::time::Duration;

use super::Machine;
use super::ledger::is_own_limit;
use super::live_process::{KILL_TIMEOUT, LiveProcess};
use crate::effect::{AnswerFormat, CallRequest, Effect, Grace};
use crate::event::{CallEvent, CallPurpose, SecondOpinion, StopWhen, Totals};
use crate::input::TimerKey;
use crate::outcome::Outcome;
use crate::policy::limits::{self, Allowance};
use crate::settings::{Deadlines, Depth};
use crate::stream::dialect::ToolAccess;
use crate::stream::news::{AgentNews, Answer, AttemptReport};
use crate::stream::outcome::{AttemptOutcome, CancelReason, Consequence};
use crate::units::{CallId, Usd};

/// The call whose process is currently running.
#[derive(Clone, Debug)]
pub(super) struct LiveCall {
    pub(super) id: CallId,
    pub(super) purpose: CallPurpose,
    pub(super) process: LiveProcess,
    /// The kinds of extensions that its program has loaded, which could instruct it.
    loaded: Vec<&'static str>,
}

/// The timeout of a call to an advisor or a council.
const ADVICE_TIME: Duration = Duration::from_mins(2);
/// The timeout of a review when attempts have no deadline.
const REVIEW_TIME: Duration = Duration::from_hours(1);
/// The lowest cost cap of a review.
const MIN_REVIEW_COST: Usd = Usd::from_cents(25);

impl Machine {
    /// The cost cap of a call to an advisor or a council.
    pub(super) const ADVICE_COST: Usd = Usd::from_cents(10);

    /// Returns the cost cap of a review: a quarter of the mean attempt.
    pub(super) fn review_cost(&self) -> Usd {
        let work = self.ledger.totals.by_purpose.get(Totals::WORK).copied().unwrap_or_default();
        work.cost.per(u64::from(work.count)).per(4).max(MIN_REVIEW_COST)
    }

    /// Starts an optional call. It is skipped if it does not fit into the limits together with the
    /// gate that would follow. Returns true if the run has to wait for the call.
    pub(super) fn extra_call(&mut self, purpose: CallPurpose, question: String, cap: Usd) -> bool {
        match limits::before_extra_call(&self.ledger.settings, self.used(), cap) {
            Ok(share) => {
                self.start_call(purpose, question, share);
                true
            }
            Err(_) => false,
        }
    }

    /// Starts a call, unless the operator has paused or stopped the run.
    pub(super) fn start_call(&mut self, purpose: CallPurpose, question: String, share: Allowance) {
        if self.ledger.paused {
            // The run is stopping and may not continue, so there is nothing to wait for.
            if self.ledger.stop.is_some() {
                self.interrupt_iteration();
                self.advance();
            }
            return;
        }
        let call = self.ledger.last_call.next();
        let cap = share.cost;
        let second_opinion = match purpose {
            CallPurpose::Verify => self.source_of_second_opinion(),
            CallPurpose::Review | CallPurpose::Advise | CallPurpose::Council => None,
        };
        self.record(CallEvent::Started { call, purpose, cap, second_opinion });
        let attempt = Some(self.call_time(purpose));
        let deadlines = Deadlines { attempt, ..self.ledger.settings.deadlines.clone() };
        let cost = match purpose {
            CallPurpose::Review | CallPurpose::Advise | CallPurpose::Council => share.cost,
            // A verifier has little time and the run depends on it, so a cost cap does not shorten
            // it further.
            CallPurpose::Verify => None,
        };
        let share = Allowance { cost, ..share };
        let process = LiveProcess::new(self.now.mono, share, deadlines, self.ledger.dialect);
        let armed = process.deadline_at;
        self.live.call = Some(LiveCall { id: call, purpose, process, loaded: Vec::new() });
        let (tools, shape) = self.call_terms(purpose);
        let model = self.call_model(purpose);
        let request = CallRequest { call, purpose, cap, question, model, tools, shape };
        self.effect(Effect::StartCall(Box::new(request)));
        self.arm(TimerKey::Call(call), armed);
    }

    /// Returns the tools that a call may use, and the format of its answer.
    fn call_terms(&self, purpose: CallPurpose) -> (ToolAccess, AnswerFormat) {
        match purpose {
            CallPurpose::Verify => match self.verdict_depth() {
                Depth::Quick | Depth::Standard => (ToolAccess::None, AnswerFormat::Verdict),
                Depth::Deep => (ToolAccess::ReadOnly, AnswerFormat::Verdict),
            },
            CallPurpose::Advise | CallPurpose::Council => {
                (ToolAccess::ReadOnly, AnswerFormat::Words)
            }
            CallPurpose::Review => (ToolAccess::Usual, AnswerFormat::Words),
        }
    }

    /// Returns the model for a call. A verifier model that the account lacks is requested once per
    /// run.
    fn call_model(&self, purpose: CallPurpose) -> Option<String> {
        let settings = &self.ledger.settings;
        match purpose {
            CallPurpose::Verify if self.source_of_second_opinion().is_some() => {
                self.second_opinion()
            }
            CallPurpose::Verify => self.first_opinion(),
            CallPurpose::Advise | CallPurpose::Council => None,
            CallPurpose::Review => settings.model.name.clone(),
        }
    }

    /// Returns the model that judges first; `None` for the agent's default.
    fn first_opinion(&self) -> Option<String> {
        let is_missing = self.ledger.missing_verifiers > 0;
        self.ledger.settings.verify.model_name.clone().filter(|_| !is_missing)
    }

    /// Returns the model whose verdict is needed as well: the stronger one, or the one that works.
    fn second_opinion(&self) -> Option<String> {
        let model = &self.ledger.settings.model;
        model.escalate.clone().or_else(|| model.name.clone())
    }

    /// Returns where the next verdict comes from, if a model has already accepted the claim.
    fn source_of_second_opinion(&self) -> Option<SecondOpinion> {
        let is_accepted = self.current().gate.as_ref().is_some_and(|gate| gate.agreed > 0);
        let is_same = self.first_opinion() == self.second_opinion();
        let source = if is_same { SecondOpinion::SameModel } else { SecondOpinion::OtherModel };
        is_accepted.then_some(source)
    }

    fn call_time(&self, purpose: CallPurpose) -> Duration {
        let settings = &self.ledger.settings;
        match purpose {
            CallPurpose::Verify => settings.verify.verdict_time(self.verdict_depth()),
            CallPurpose::Advise | CallPurpose::Council => ADVICE_TIME,
            CallPurpose::Review => settings.deadlines.attempt.unwrap_or(REVIEW_TIME),
        }
    }

    pub(super) fn call_deadline(&mut self, id: CallId) {
        let Some(live) = &mut self.live.call else { return };
        if live.id != id {
            return;
        }
        if live.process.cancelled.is_some() {
            // The call was killed and is still running; no other process may start next to it.
            let report = self.call_so_far(AttemptOutcome::Lost);
            self.live.abort_outcome.get_or_insert(Outcome::BadAgent {
                why: "nightwright could not kill its processes".to_owned(),
            });
            return self.call_exited(id, &report);
        }
        let (at, why) = live.process.due();
        if at <= self.now.mono {
            self.cancel_call(why, Grace::Usual);
        } else {
            live.process.deadline_at = at;
            self.arm(TimerKey::Call(id), at);
        }
    }

    /// Returns the report of the running call as far as it is known without the agent's own report.
    pub(super) fn call_so_far(&self, outcome: AttemptOutcome) -> AttemptReport {
        let bare = AttemptReport::bare(outcome);
        match &self.live.call {
            // The model that answers a call is unknown, so the most expensive one is assumed.
            Some(live) => self.priced_so_far(&live.process, "", bare),
            None => bare,
        }
    }

    pub(super) fn cancel_call(&mut self, why: CancelReason, grace: Grace) {
        let Some(live) = &mut self.live.call else { return };
        let (call, first) = (live.id, live.process.cancel(why));
        if !first && grace == Grace::Usual {
            return;
        }
        if first && !self.live.journal_failed {
            self.record(CallEvent::Cancelled { call, why });
        }
        self.effect(Effect::CancelCall { call, why, grace });
        self.arm(TimerKey::Call(call), self.now.mono + KILL_TIMEOUT);
    }

    pub(super) fn call_news(&mut self, id: CallId, news: AgentNews) {
        let now = self.now.mono;
        let Some(live) = &mut self.live.call else { return };
        if live.id != id {
            return;
        }
        match news {
            AgentNews::Ready(ready) => {
                live.process.ready(now);
                live.loaded = ready.loaded;
            }
            AgentNews::Pulse(pulse) => {
                live.process.pulse(now, &pulse);
                if live.process.exceeds_tokens() {
                    self.cancel_call(CancelReason::Limit, Grace::Usual);
                }
            }
            AgentNews::LoginRefused => self.cancel_call(CancelReason::Auth, Grace::Usual),
            AgentNews::Quota(quota) => self.quota_reported(quota),
            AgentNews::Exited(report) => return self.call_exited(id, &report),
            AgentNews::TurnEnded { .. } | AgentNews::Noticed(_) | AgentNews::Denied { .. } => {}
        }
        let Some(live) = &mut self.live.call else { return };
        if let Some(at) = live.process.rearm() {
            self.arm(TimerKey::Call(id), at);
        }
    }

    fn call_exited(&mut self, id: CallId, report: &AttemptReport) {
        let Some(live) = self.live.call.take() else {
            return;
        };
        self.effect(Effect::ClearTimer { key: TimerKey::Call(id) });
        let duration = self.now.mono.saturating_sub(live.process.watch.started);
        let purpose = live.purpose;
        let report = self.without_foreign_answer(&live, report.clone());
        self.record_call(id, purpose, report.clone(), duration);
        self.conclude_call(purpose, &report);
    }

    /// Drops an answer that memory files or other extensions may have dictated. The call was
    /// started without any, so the program has not obeyed.
    fn without_foreign_answer(&mut self, live: &LiveCall, report: AttemptReport) -> AttemptReport {
        // The user's own arguments may load extensions for a review, which judges nothing.
        if live.loaded.is_empty() || live.purpose == CallPurpose::Review {
            return report;
        }
        self.warn_once(format!(
            "ignored the answer of a `{}` call: its program loaded {}, which the agent could have \
             written",
            live.purpose.name(),
            live.loaded.join(" and ")
        ));
        AttemptReport { answer: None, ..report }
    }

    /// Decides what follows a call that has ended.
    pub(super) fn conclude_call(&mut self, purpose: CallPurpose, report: &AttemptReport) {
        if self.ledger.stop == Some(StopWhen::Now) || self.live.abort_outcome.is_some() {
            if self.live.abort_outcome.is_none() {
                self.interrupt_iteration();
            }
            return self.advance();
        }
        // The call was lost together with an earlier nightwright process. A verifier is called
        // again. Optional calls are not repeated, because a call that crashes the process would
        // crash it every time.
        if report.outcome == AttemptOutcome::Lost {
            if purpose == CallPurpose::Review {
                self.warn(format!("skipped the review: {}", report.outcome.sentence()));
            }
            self.resurvey_after(purpose);
            return self.advance();
        }
        match report.outcome.consequence() {
            // After a stop the run does not wait, and the gate can judge the claim without this
            // call.
            Consequence::Wait { .. }
                if self.ledger.stop.is_some() && purpose != CallPurpose::Verify =>
            {
                self.resurvey_after(purpose);
                self.advance();
            }
            Consequence::Wait { limit, until } => {
                self.wait_for_limit(limit, until);
                self.resurvey_after(purpose);
            }
            Consequence::EndRun { .. } if self.has_another_verifier(purpose, report) => {
                self.warn(format!(
                    "{}; using the agent's own model instead (`verify.model_name`)",
                    report.outcome.sentence()
                ));
                self.advance();
            }
            Consequence::EndRun { outcome } => self.end_by(report.outcome.sentence(), outcome),
            Consequence::Assess
            | Consequence::AssessWorkTree
            | Consequence::Retry
            | Consequence::FailIteration { .. } => {
                self.call_answered(purpose, report);
                self.resurvey_after(purpose);
                self.advance();
            }
        }
    }

    /// Surveys the project again, because a reviewer may have changed it however the call ended.
    fn resurvey_after(&mut self, purpose: CallPurpose) {
        if purpose == CallPurpose::Review {
            self.live.survey = None;
            self.live.work = None;
        }
    }

    /// Whether the verifier's model is missing and the agent's default model has not been tried
    /// yet.
    fn has_another_verifier(&self, purpose: CallPurpose, report: &AttemptReport) -> bool {
        purpose == CallPurpose::Verify
            && matches!(report.outcome, AttemptOutcome::ModelNotFound { .. })
            && self.ledger.settings.verify.model_name.is_some()
            && self.ledger.missing_verifiers == 1
    }

    /// Records a call and the cost that it is charged.
    pub(super) fn record_call(
        &mut self,
        call: CallId,
        purpose: CallPurpose,
        report: AttemptReport,
        duration: Duration,
    ) {
        let cap = self.ledger.current().and_then(|current| current.call).and_then(|call| call.cap);
        let (cost, figure) = self.charge(purpose.name(), cap, &report);
        let report = Box::new(report);
        self.record(CallEvent::Finished { call, purpose, cost, figure, duration, report });
    }

    fn call_answered(&mut self, purpose: CallPurpose, report: &AttemptReport) {
        match purpose {
            CallPurpose::Verify => self.verdict(report),
            CallPurpose::Review => {
                let how = report.outcome.sentence();
                if is_own_limit(&report.outcome) {
                    self.warn(format!("the review did not finish: it {how}"));
                } else if report.outcome.consequence() != Consequence::Assess {
                    self.warn(format!("the review failed: {how}"));
                }
            }
            CallPurpose::Advise => {
                // The answer is used after the survey, because the feedback depends on the work.
                self.live.advice = match &report.answer {
                    Some(Answer::Text { text }) => Some(text.clone()),
                    Some(Answer::Verdict(_)) | None => None,
                };
            }
            CallPurpose::Council => self.council_answered(report),
        }
    }
}
