//! Reactions to the watchdog: messages into a running session, or feedback for the next iteration
//! if the session cannot receive them.

use std::time::Duration;

use super::Machine;
use super::ledger::{Answered, InboxEntry};
use crate::effect::Effect;
use crate::event::{AttemptEvent, CallPurpose, FeedbackSource, IterationKind, NoteEvent};
use crate::policy::escalation::{self, EscalationStep, IterationCourse};
use crate::policy::limits::{self, Budget};
use crate::prompt;
use crate::settings::{EvidenceKind, WatchdogResponse};
use crate::stream::news::{TurnEnd, WatchdogFinding, WatchdogSignal};
use crate::units::AttemptId;
use crate::watchdog;

/// The maximum number of messages to one attempt.
const MAX_NUDGES: usize = 3;
/// The minimum time between two messages about the same finding.
const NUDGE_GAP: Duration = Duration::from_mins(1);

impl Machine {
    pub(super) fn record_finding(&mut self, attempt: AttemptId, finding: WatchdogFinding) {
        let known = self.ledger.current().is_some_and(|current| {
            let same = |(known, answered): &(WatchdogFinding, Answered)| {
                known.key == finding.key && *answered != Answered::Superseded
            };
            current.findings.iter().any(same)
        });
        if !known {
            self.record(AttemptEvent::WatchdogNoticed { attempt, finding });
        }
    }

    /// Handles a finding in the middle of a turn: a message may help at once.
    pub(super) fn watchdog_finding(&mut self, attempt: AttemptId, finding: WatchdogFinding) {
        self.record_finding(attempt, finding.clone());
        if self.may_nudge(&finding) {
            self.answer(attempt, finding);
        } else {
            self.record_unanswered(attempt, finding);
        }
    }

    /// Handles the end of a turn while the input is still open: sends a message or closes the
    /// input. A session is kept open only until the agent has taken up the messages already sent.
    pub(super) fn turn_ended(
        &mut self,
        attempt: AttemptId,
        how: TurnEnd,
        noticed: Option<WatchdogFinding>,
    ) {
        match how {
            // The queued message may be the answer; the end of the next turn counts.
            TurnEnd::Queued => return,
            // After an error or a limit, another message would only fail in the same way.
            TurnEnd::Well | TurnEnd::Failed => {}
        }
        if let Some(finding) = noticed {
            self.record_finding(attempt, finding.clone());
            if how == TurnEnd::Well && self.may_nudge(&finding) {
                return self.answer(attempt, finding);
            }
            self.record_unanswered(attempt, finding);
        }
        if let Some(live) = &mut self.live.attempt {
            live.open = false;
        }
        self.effect(Effect::CloseInput { attempt });
    }

    /// Records a finding that returned after its answer and gets no other.
    fn record_unanswered(&mut self, attempt: AttemptId, finding: WatchdogFinding) {
        let last = self.ledger.current().and_then(|current| {
            current.findings.iter().rfind(|(known, _)| known.key == finding.key)
        });
        if last.is_some_and(|(_, answered)| *answered == Answered::Live) {
            self.record(AttemptEvent::WatchdogNoticed { attempt, finding });
        }
    }

    /// Whether a message may be sent. An agent that has to stop receives none, because it would
    /// continue.
    fn may_nudge(&self, finding: &WatchdogFinding) -> bool {
        let Some(live) = &self.live.attempt else {
            return false;
        };
        let recent = live.nudges.iter().any(|(at, answered)| {
            answered.signal == finding.signal && self.now.mono.saturating_sub(*at) < NUDGE_GAP
        });
        live.open
            && live.process.cancelled.is_none()
            && !self.ledger.paused
            && self.ledger.stop.is_none()
            && self.live.abort_outcome.is_none()
            && live.nudges.len() < MAX_NUDGES
            && !recent
    }

    fn answer(&mut self, attempt: AttemptId, finding: WatchdogFinding) {
        let kind = self.current().kind;
        let text = escalation::answer(finding.signal, &self.ledger.settings, kind);
        self.nudge(attempt, Some(finding), text);
    }

    /// Sends a message into the running session. The event is recorded before the message is
    /// written.
    pub(super) fn nudge(
        &mut self,
        attempt: AttemptId,
        answers: Option<WatchdogFinding>,
        text: String,
    ) {
        let now = self.now.mono;
        if let (Some(live), Some(finding)) = (&mut self.live.attempt, answers.clone()) {
            live.nudges.push((now, finding));
        }
        self.record(AttemptEvent::MessageSent { attempt, answers, text: text.clone() });
        self.effect(Effect::Nudge { attempt, text });
    }

    /// Passes unanswered findings to the next iteration, with an advisor's answer if that justifies
    /// a call. Returns true if the run has to wait for it.
    pub(super) fn advise(&mut self, claim: &[EvidenceKind]) -> bool {
        if self.ledger.settings.extras.watchdog == WatchdogResponse::Off
            || self.has_queued_watchdog_feedback()
        {
            return false;
        }
        self.restore_findings();
        let open = self.open_findings();
        if open.is_empty() {
            return false;
        }
        let stuck: Vec<_> = open
            .iter()
            .filter(|(_, response)| *response == EscalationStep::Advise)
            .map(|(finding, _)| (finding.clone(), self.round(finding)))
            .collect();
        let wanted = !stuck.is_empty()
            && self.will_continue(claim)
            && !self.current().calls_done.contains(&CallPurpose::Advise);
        if wanted {
            let question = prompt::advice_question(&self.ledger.settings, &stuck);
            if self.extra_call(CallPurpose::Advise, question, Machine::ADVICE_COST) {
                return true;
            }
        }
        let advice = self.live.advice.take();
        self.queue_watchdog_feedback(advice.as_deref());
        false
    }

    /// Queues feedback if the agent's program gave up because its context was repeatedly full. An
    /// iteration that begins in the same way would end in the same way.
    pub(super) fn queue_full_context_feedback(&mut self) {
        if self.ledger.settings.extras.watchdog == WatchdogResponse::Off {
            return;
        }
        let signal = WatchdogSignal::Compaction;
        let (key, text) = (watchdog::key(signal, ""), String::new());
        let finding = WatchdogFinding { signal, key, text, context: String::new() };
        let attempt = self.ledger.last_attempt;
        self.record_finding(attempt, finding.clone());
        // A message into its session has not helped.
        self.record_unanswered(attempt, finding);
        self.queue_watchdog_feedback(None);
    }

    /// Restores findings about the last message of an attempt. They are recorded after the end of
    /// the attempt, so a truncated journal contains only the message.
    fn restore_findings(&mut self) {
        let report = self.current().report.as_ref();
        let noticed =
            report.map(|report| report.text_evidence.findings.clone()).unwrap_or_default();
        for finding in noticed {
            self.record_finding(self.ledger.last_attempt, finding);
        }
    }

    /// Adds all open findings to the inbox as one entry, so that a truncated journal has all of
    /// them or none.
    fn queue_watchdog_feedback(&mut self, advice: Option<&str>) {
        let open = self.open_findings();
        if open.is_empty() || self.has_queued_watchdog_feedback() {
            return;
        }
        let settings = &self.ledger.settings;
        let next = match limits::before_attempt(settings, self.used()) {
            Budget::WrapUp(..) => IterationKind::WrapUp,
            Budget::Work(_) | Budget::None(_) => IterationKind::Work,
        };
        let text = escalation::feedback(&open, advice, settings, next);
        self.record(NoteEvent::FeedbackAdded { source: FeedbackSource::Watchdog, text });
    }

    /// Whether the feedback is queued already, because this code runs several times.
    fn has_queued_watchdog_feedback(&self) -> bool {
        let ours = |entry: &InboxEntry| {
            entry.source == FeedbackSource::Watchdog && entry.given_to.is_none()
        };
        self.ledger.inbox.iter().any(ours)
    }

    /// Returns the findings of the last attempt that were not answered in its session, each problem
    /// once, with the reaction to each.
    fn open_findings(&self) -> Vec<(WatchdogFinding, EscalationStep)> {
        let mut open: Vec<(WatchdogFinding, EscalationStep)> = Vec::new();
        for (finding, answered) in &self.current().findings {
            let known = open.iter().any(|(known, _)| known.key == finding.key);
            if *answered == Answered::No && !known {
                open.push((finding.clone(), self.response(finding)));
            }
        }
        open
    }

    /// Returns the reaction to a problem; progress resets it to the first step.
    pub(super) fn response(&self, finding: &WatchdogFinding) -> EscalationStep {
        let course = match self.live.work {
            Some(true) => IterationCourse::Worked,
            Some(false) | None => IterationCourse::Stuck { round: self.round(finding) },
        };
        escalation::response(course)
    }

    /// Returns the number of iterations without progress in which a problem was noticed, including
    /// this one.
    pub(super) fn round(&self, finding: &WatchdogFinding) -> u32 {
        self.ledger.problems.get(&finding.key).copied().unwrap_or(1)
    }
}
