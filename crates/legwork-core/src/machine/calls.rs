//! Calls: every other use of the agent. Limited, classified and journaled exactly like attempts.

use std::time::Duration;

use super::Machine;
use crate::agent::outcome::{Consequence, CutReason, Deadline};
use crate::agent::report::{AgentNews, Answer, AttemptReport};
use crate::effect::{CallRequest, Effect, Grace};
use crate::event::{Event, FeedbackSource, Purpose, StopWhen};
use crate::input::TimerKey;
use crate::policy::{escalation, limits};
use crate::units::{CallId, Usd};

/// The running call.
#[derive(Clone, Debug)]
pub(super) struct LiveCall {
    pub(super) id: CallId,
    pub(super) purpose: Purpose,
    started: Duration,
    pub(super) cut: Option<CutReason>,
}

/// How long an advisor or a council may take.
const ADVICE_TIME: Duration = Duration::from_mins(2);
/// How long a review may take when attempts have no deadline.
const REVIEW_TIME: Duration = Duration::from_hours(1);
/// A review may cost at least this.
const LEAST_REVIEW_COST: Usd = Usd::from_cents(25);

impl Machine {
    /// What an advisor or a council may cost.
    pub(super) const ADVICE_COST: Usd = Usd::from_cents(10);

    /// A review may cost a quarter of the mean attempt.
    pub(super) fn review_cost(&self) -> Usd {
        let work = self.ledger.totals.by_purpose.get("work").copied().unwrap_or_default();
        work.cost.per(u64::from(work.count)).per(4).max(LEAST_REVIEW_COST)
    }

    /// Starts a call that can be done without. One whose cap does not fit is left out. True when
    /// it has to be waited for.
    pub(super) fn extra_call(&mut self, purpose: Purpose, question: String, cap: Usd) -> bool {
        if !limits::fits(&self.ledger.settings, self.used(), cap) {
            return false;
        }
        self.start_call(purpose, question, cap);
        true
    }

    /// Starts a call, or nothing while the operator wants nothing new to start.
    pub(super) fn start_call(&mut self, purpose: Purpose, question: String, cap: Usd) {
        if self.ledger.paused {
            return;
        }
        let call = self.ledger.last_call.next();
        let cap = Some(cap);
        self.record(Event::CallStarted { call, purpose, cap });
        self.live.call = Some(LiveCall { id: call, purpose, started: self.now.mono, cut: None });
        let request = CallRequest { call, purpose, cap, question };
        self.effect(Effect::StartCall(Box::new(request)));
        self.arm(TimerKey::Call(call), self.now.mono + self.call_time(purpose));
    }

    fn call_time(&self, purpose: Purpose) -> Duration {
        let settings = &self.ledger.settings;
        match purpose {
            Purpose::Verify => settings.verify.model_timeout,
            Purpose::Advise | Purpose::Council => ADVICE_TIME,
            Purpose::Review => settings.deadlines.attempt.unwrap_or(REVIEW_TIME),
        }
    }

    pub(super) fn call_deadline(&mut self, id: CallId) {
        if self.live.call.as_ref().is_some_and(|call| call.id == id) {
            self.cut_call(CutReason::Deadline(Deadline::Attempt), Grace::Usual);
        }
    }

    pub(super) fn cut_call(&mut self, why: CutReason, grace: Grace) {
        let Some(live) = &mut self.live.call else {
            return;
        };
        if live.cut.is_some() && grace == Grace::Usual {
            return;
        }
        live.cut = Some(live.cut.unwrap_or(why));
        let call = live.id;
        self.effect(Effect::CutCall { call, why, grace });
    }

    pub(super) fn call_news(&mut self, id: CallId, news: AgentNews) {
        if self.live.call.as_ref().is_none_or(|call| call.id != id) {
            return;
        }
        match news {
            AgentNews::LoginRefused => self.cut_call(CutReason::Auth, Grace::Usual),
            AgentNews::Quota(quota) => self.quota_reported(quota),
            AgentNews::Exited(report) => self.call_over(id, &report),
            AgentNews::Ready(_)
            | AgentNews::Pulse(_)
            | AgentNews::TurnEnded { .. }
            | AgentNews::Noticed(_)
            | AgentNews::Denied { .. } => {}
        }
    }

    fn call_over(&mut self, id: CallId, report: &AttemptReport) {
        let Some(live) = self.live.call.take() else {
            return;
        };
        self.effect(Effect::ClearTimer { key: TimerKey::Call(id) });
        let duration = self.now.mono.saturating_sub(live.started);
        let purpose = live.purpose;
        self.record_call(id, purpose, report.clone(), duration);
        if self.ledger.stop == Some(StopWhen::Now) || self.live.doom.is_some() {
            return self.advance();
        }
        match report.outcome.consequence() {
            Consequence::Wait { limit, until } => self.wait_for_limit(limit, until),
            Consequence::EndRun { ending } => self.end_by(report.outcome.sentence(), ending),
            Consequence::Judge
            | Consequence::JudgeTree
            | Consequence::Retry
            | Consequence::FailIteration { .. } => {
                self.call_answered(purpose, report);
                self.advance();
            }
        }
    }

    /// Writes a call down, with what it is charged.
    pub(super) fn record_call(
        &mut self,
        call: CallId,
        purpose: Purpose,
        report: AttemptReport,
        duration: Duration,
    ) {
        let cap = self.ledger.current().and_then(|current| current.call).and_then(|call| call.cap);
        let (cost, figure) = self.charge(purpose.name(), cap, &report);
        let report = Box::new(report);
        self.record(Event::CallFinished { call, purpose, cost, figure, duration, report });
    }

    fn call_answered(&mut self, purpose: Purpose, report: &AttemptReport) {
        let text = match &report.answer {
            Some(Answer::Text { text }) => Some(text.clone()),
            Some(Answer::Verdict(_)) | None => None,
        };
        match purpose {
            Purpose::Verify => self.verdict(report),
            Purpose::Review => {
                // It may have changed the project: what is judged is what it left.
                self.live.survey = None;
                self.live.work = None;
                if report.outcome.consequence() != Consequence::Judge {
                    self.warn(format!("the review failed: {}", report.outcome.sentence()));
                }
            }
            Purpose::Advise => {
                let text = text.unwrap_or_else(|| {
                    let first = self.current().notices.first();
                    first.map_or_else(String::new, |(n, _)| escalation::answer(n).to_owned())
                });
                self.record(Event::FeedbackAdded { source: FeedbackSource::Watchdog, text });
            }
            Purpose::Council => match text {
                Some(decision) => {
                    self.record(Event::CouncilDecided { decision: decision.clone() });
                    self.record(Event::FeedbackAdded {
                        source: FeedbackSource::Council,
                        text: decision,
                    });
                }
                None => self.warn("the council came to no decision"),
            },
        }
    }
}
