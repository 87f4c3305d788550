//! What the watchdog notices: answers into a running session, and words for the next iteration
//! where that was not possible.

use std::time::Duration;

use super::Machine;
use super::ledger::{Answered, InboxEntry};
use crate::effect::Effect;
use crate::event::{AttemptEvent, CallPurpose, FeedbackSource, IterationKind, NoteEvent};
use crate::policy::escalation::{self, EscalationStep, IterationCourse};
use crate::policy::limits::{self, Budget};
use crate::prompt;
use crate::settings::{EvidenceKind, WatchdogResponse};
use crate::stream::report::{TurnEnd, WatchdogFinding, WatchdogSignal};
use crate::units::AttemptId;
use crate::watchdog;

/// Messages sent into one attempt at most.
const MAX_NUDGES: usize = 3;
/// The same thing is answered again only after this long.
const NUDGE_GAP: Duration = Duration::from_mins(1);

impl Machine {
    pub(super) fn record_finding(&mut self, attempt: AttemptId, finding: WatchdogFinding) {
        let known = self.ledger.current().is_some_and(|current| {
            let same = |(known, answered): &(WatchdogFinding, Answered)| {
                known.key == finding.key && *answered != Answered::Over
            };
            current.findings.iter().any(same)
        });
        if !known {
            self.record(AttemptEvent::WatchdogNoticed { attempt, notice: finding });
        }
    }

    /// Something in the rhythm of a turn that goes on: a word into it may help at once.
    pub(super) fn watchdog_finding(&mut self, attempt: AttemptId, finding: WatchdogFinding) {
        self.record_finding(attempt, finding.clone());
        if self.may_nudge(&finding) {
            self.answer(attempt, finding);
        } else {
            self.record_unanswered(attempt, finding);
        }
    }

    /// A turn is over and the input still open: answer at once or close it. A session is never
    /// held open to wait, unless for the agent to take up what was said already.
    pub(super) fn turn_ended(
        &mut self,
        attempt: AttemptId,
        how: TurnEnd,
        noticed: Option<WatchdogFinding>,
    ) {
        match how {
            // What it is about to hear may well be the answer; how it ends after that counts.
            TurnEnd::Queued => return,
            // After an error or a limit another message would only run into the same again.
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

    /// What comes again after its answer and gets no other is open again.
    fn record_unanswered(&mut self, attempt: AttemptId, finding: WatchdogFinding) {
        let last = self.ledger.current().and_then(|current| {
            current.findings.iter().rfind(|(known, _)| known.key == finding.key)
        });
        if last.is_some_and(|(_, answered)| *answered == Answered::Live) {
            self.record(AttemptEvent::WatchdogNoticed { attempt, notice: finding });
        }
    }

    /// Nothing is said to an agent that is to stop, by whatever reason: it would only go on.
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

    /// Says something into the running session. It is an event before it is written.
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
        self.record(AttemptEvent::NudgeSent { attempt, answers, text: text.clone() });
        self.effect(Effect::Nudge { attempt, text });
    }

    /// Something was noticed and not answered in the session: the next iteration is told, with an
    /// advisor's words where that is worth a call. True when that has to be waited for.
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

    /// The agent's program gave up because the context was full again and again: an iteration that
    /// begins like this one would end like it.
    pub(super) fn queue_full_context_feedback(&mut self) {
        if self.ledger.settings.extras.watchdog == WatchdogResponse::Off {
            return;
        }
        let signal = WatchdogSignal::Compaction;
        let (key, text) = (watchdog::key(signal, ""), String::new());
        let finding = WatchdogFinding { signal, key, text, context: String::new() };
        let attempt = self.ledger.last_attempt;
        self.record_finding(attempt, finding.clone());
        // An answer into its session has not helped.
        self.record_unanswered(attempt, finding);
        self.queue_watchdog_feedback(None);
    }

    /// What the last words of an attempt say is noted behind its end; a journal that is torn off
    /// between the two has only the words.
    fn restore_findings(&mut self) {
        let report = self.current().report.as_ref();
        let noticed =
            report.map(|report| report.text_evidence.findings.clone()).unwrap_or_default();
        for finding in noticed {
            self.record_finding(self.ledger.last_attempt, finding);
        }
    }

    /// Puts everything that is open into the inbox, as one word: a journal that is torn off has all
    /// of it or nothing.
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

    /// Whether the next iteration has been told already: this place is passed several times.
    fn has_queued_watchdog_feedback(&self) -> bool {
        let ours = |entry: &InboxEntry| {
            entry.source == FeedbackSource::Watchdog && entry.given_to.is_none()
        };
        self.ledger.inbox.iter().any(ours)
    }

    /// What was noticed in the last attempt and not answered in its session, each problem once, and
    /// what is to be done about it.
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

    /// What is to be done about a problem: progress takes it back to the beginning.
    pub(super) fn response(&self, finding: &WatchdogFinding) -> EscalationStep {
        let course = match self.live.work {
            Some(true) => IterationCourse::Worked,
            Some(false) | None => IterationCourse::Stuck { round: self.round(finding) },
        };
        escalation::response(course)
    }

    /// In how many iterations without progress a problem was noticed, this one included.
    pub(super) fn round(&self, finding: &WatchdogFinding) -> u32 {
        self.ledger.problems.get(&finding.key).copied().unwrap_or(1)
    }
}
