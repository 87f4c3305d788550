//! Answers into a running session.

use std::time::Duration;

use super::Machine;
use super::ledger::Answered;
use crate::agent::report::{Notice, TurnEnd};
use crate::effect::Effect;
use crate::event::Event;
use crate::policy::escalation;
use crate::units::AttemptId;

/// Messages sent into one attempt at most.
const MOST_NUDGES: usize = 3;
/// The same thing is answered again only after this long.
const NUDGE_GAP: Duration = Duration::from_mins(1);

impl Machine {
    pub(super) fn record_notice(&mut self, attempt: AttemptId, notice: Notice) {
        let known = self.ledger.current().is_some_and(|current| {
            current.notices.iter().any(|(known, _)| known.key == notice.key)
        });
        if !known {
            self.record(Event::WatchdogNoticed { attempt, notice });
        }
    }

    /// A turn is over and the input still open: answer at once or close it. A session is never
    /// held open to wait, unless for the agent to take up what was said already.
    pub(super) fn turn_ended(&mut self, attempt: AttemptId, how: TurnEnd, noticed: Option<Notice>) {
        if let Some(notice) = noticed.clone() {
            self.record_notice(attempt, notice);
        }
        match (how, noticed.clone()) {
            (TurnEnd::Well, Some(notice)) if self.may_nudge(&notice) => {
                let text = escalation::answer(&notice).to_owned();
                return self.nudge(attempt, Some(notice), text);
            }
            // What it is about to hear may well be the answer.
            (TurnEnd::Queued, _) => return,
            // After an error or a limit another message would only run into the same again.
            (TurnEnd::Well | TurnEnd::Failed, _) => {}
        }
        if let Some(notice) = noticed {
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
            && live.nudges.len() < MOST_NUDGES
            && !recent
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
}
