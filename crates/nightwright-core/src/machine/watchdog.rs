//! What the watchdog notices: answers into a running session, and words for the next iteration
//! where that was not possible.

use std::time::Duration;

use super::Machine;
use super::ledger::{Answered, Entry};
use crate::agent::report::{Notice, TurnEnd, WatchSignal};
use crate::effect::Effect;
use crate::event::{Event, FeedbackSource, IterationKind, Purpose};
use crate::policy::escalation::{self, Course, Response};
use crate::policy::limits::{self, Room};
use crate::prompt;
use crate::settings::{EvidenceKind, Respond};
use crate::units::AttemptId;
use crate::watchdog;

/// Messages sent into one attempt at most.
const MOST_NUDGES: usize = 3;
/// The same thing is answered again only after this long.
const NUDGE_GAP: Duration = Duration::from_mins(1);

impl Machine {
    pub(super) fn record_notice(&mut self, attempt: AttemptId, notice: Notice) {
        let known = self.ledger.current().is_some_and(|current| {
            let same = |(known, answered): &(Notice, Answered)| {
                known.key == notice.key && *answered != Answered::Over
            };
            current.notices.iter().any(same)
        });
        if !known {
            self.record(Event::WatchdogNoticed { attempt, notice });
        }
    }

    /// Something in the rhythm of a turn that goes on: a word into it may help at once.
    pub(super) fn noticed(&mut self, attempt: AttemptId, notice: Notice) {
        self.record_notice(attempt, notice.clone());
        if self.may_nudge(&notice) {
            self.answer(attempt, notice);
        } else {
            self.record_unanswered(attempt, notice);
        }
    }

    /// A turn is over and the input still open: answer at once or close it. A session is never
    /// held open to wait, unless for the agent to take up what was said already.
    pub(super) fn turn_ended(&mut self, attempt: AttemptId, how: TurnEnd, noticed: Option<Notice>) {
        match how {
            // What it is about to hear may well be the answer; how it ends after that counts.
            TurnEnd::Queued => return,
            // After an error or a limit another message would only run into the same again.
            TurnEnd::Well | TurnEnd::Failed => {}
        }
        if let Some(notice) = noticed {
            self.record_notice(attempt, notice.clone());
            if how == TurnEnd::Well && self.may_nudge(&notice) {
                return self.answer(attempt, notice);
            }
            self.record_unanswered(attempt, notice);
        }
        if let Some(live) = &mut self.live.attempt {
            live.open = false;
        }
        self.effect(Effect::CloseInput { attempt });
    }

    /// What comes again after its answer and gets no other is open again.
    fn record_unanswered(&mut self, attempt: AttemptId, notice: Notice) {
        let last = self
            .ledger
            .current()
            .and_then(|current| current.notices.iter().rfind(|(known, _)| known.key == notice.key));
        if last.is_some_and(|(_, answered)| *answered == Answered::Live) {
            self.record(Event::WatchdogNoticed { attempt, notice });
        }
    }

    /// Nothing is said to an agent that is to stop, by whatever reason: it would only go on.
    fn may_nudge(&self, notice: &Notice) -> bool {
        let Some(live) = &self.live.attempt else {
            return false;
        };
        let recent = live.nudges.iter().any(|(at, answered)| {
            answered.signal == notice.signal && self.now.mono.saturating_sub(*at) < NUDGE_GAP
        });
        live.open
            && live.running.cut.is_none()
            && !self.ledger.paused
            && self.ledger.stop.is_none()
            && self.live.doom.is_none()
            && live.nudges.len() < MOST_NUDGES
            && !recent
    }

    fn answer(&mut self, attempt: AttemptId, notice: Notice) {
        let kind = self.current().kind;
        let text = escalation::answer(notice.signal, &self.ledger.settings, kind);
        self.nudge(attempt, Some(notice), text);
    }

    /// Says something into the running session. It is an event before it is written.
    pub(super) fn nudge(&mut self, attempt: AttemptId, answers: Option<Notice>, text: String) {
        let now = self.now.mono;
        if let (Some(live), Some(notice)) = (&mut self.live.attempt, answers.clone()) {
            live.nudges.push((now, notice));
        }
        self.record(Event::NudgeSent { attempt, answers, text: text.clone() });
        self.effect(Effect::Nudge { attempt, text });
    }

    /// Something was noticed and not answered in the session: the next iteration is told, with an
    /// advisor's words where that is worth a call. True when that has to be waited for.
    pub(super) fn advise(&mut self, claim: &[EvidenceKind]) -> bool {
        if self.ledger.settings.extras.watchdog == Respond::Off || self.has_told_notices() {
            return false;
        }
        self.recall_notices();
        let open = self.open_notices();
        if open.is_empty() {
            return false;
        }
        let stuck: Vec<_> = open
            .iter()
            .filter(|(_, response)| *response == Response::Advise)
            .map(|(notice, _)| (notice.clone(), self.round(notice)))
            .collect();
        let wanted = !stuck.is_empty()
            && self.goes_on(claim)
            && !self.current().calls_done.contains(&Purpose::Advise);
        if wanted {
            let question = prompt::advice_question(&self.ledger.settings, &stuck);
            if self.extra_call(Purpose::Advise, question, Machine::ADVICE_COST) {
                return true;
            }
        }
        let advice = self.live.advice.take();
        self.tell_notices(advice.as_deref());
        false
    }

    /// The agent's program gave up because the context was full again and again: an iteration that
    /// begins like this one would end like it.
    pub(super) fn tell_of_full_context(&mut self) {
        if self.ledger.settings.extras.watchdog == Respond::Off {
            return;
        }
        let signal = WatchSignal::Compaction;
        let (key, text) = (watchdog::key(signal, ""), String::new());
        let notice = Notice { signal, key, text, context: String::new() };
        let attempt = self.ledger.last_attempt;
        self.record_notice(attempt, notice.clone());
        // An answer into its session has not helped.
        self.record_unanswered(attempt, notice);
        self.tell_notices(None);
    }

    /// What the last words of an attempt say is noted behind its end; a journal that is torn off
    /// between the two has only the words.
    fn recall_notices(&mut self) {
        let report = self.current().report.as_ref();
        let noticed = report.map(|report| report.words.noticed.clone()).unwrap_or_default();
        for notice in noticed {
            self.record_notice(self.ledger.last_attempt, notice);
        }
    }

    /// Puts everything that is open into the inbox, as one word: a journal that is torn off has all
    /// of it or nothing.
    fn tell_notices(&mut self, advice: Option<&str>) {
        let open = self.open_notices();
        if open.is_empty() || self.has_told_notices() {
            return;
        }
        let settings = &self.ledger.settings;
        let next = match limits::before_attempt(settings, self.used()) {
            Room::WrapUp(..) => IterationKind::WrapUp,
            Room::Work(_) | Room::None(_) => IterationKind::Work,
        };
        let text = escalation::told(&open, advice, settings, next);
        self.record(Event::FeedbackAdded { source: FeedbackSource::Watchdog, text });
    }

    /// Whether the next iteration has been told already: this place is passed several times.
    fn has_told_notices(&self) -> bool {
        let ours =
            |entry: &Entry| entry.source == FeedbackSource::Watchdog && entry.given_to.is_none();
        self.ledger.inbox.iter().any(ours)
    }

    /// What was noticed in the last attempt and not answered in its session, each problem once, and
    /// what is to be done about it.
    fn open_notices(&self) -> Vec<(Notice, Response)> {
        let mut open: Vec<(Notice, Response)> = Vec::new();
        for (notice, answered) in &self.current().notices {
            let known = open.iter().any(|(known, _)| known.key == notice.key);
            if *answered == Answered::No && !known {
                open.push((notice.clone(), self.response(notice)));
            }
        }
        open
    }

    /// What is to be done about a problem: progress takes it back to the beginning.
    pub(super) fn response(&self, notice: &Notice) -> Response {
        let course = match self.live.work {
            Some(true) => Course::Worked,
            Some(false) | None => Course::Stuck { round: self.round(notice) },
        };
        escalation::response(course)
    }

    /// In how many iterations without progress a problem was noticed, this one included.
    pub(super) fn round(&self, notice: &Notice) -> u32 {
        self.ledger.problems.get(&notice.key).copied().unwrap_or(1)
    }
}
