//! What attempts and calls have in common while they run: deadlines, shares of the limits, and
//! being ended.

use std::time::Duration;

use crate::policy::deadlines::{self, AttemptTiming};
use crate::policy::limits::Allowance;
use crate::settings::Deadlines;
use crate::stream::dialect::Dialect;
use crate::stream::outcome::CancelReason;
use crate::stream::report::Pulse;
use crate::units::Tokens;

/// How long something that was told to end may take to be gone. Its grace and the time to read
/// what is left of its output are well within this; past it, it can't be ended at all.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// A process of the agent, as the machine knows it.
#[derive(Clone, Debug)]
pub(super) struct LiveProcess {
    pub(super) watch: AttemptTiming,
    deadlines: Deadlines,
    /// When the timer for its deadlines fires.
    pub(super) deadline_at: Duration,
    /// Why we are ending it, if we are.
    pub(super) cancelled: Option<CancelReason>,
    /// Tokens it may use.
    tokens_left: Option<u64>,
    /// Tokens it has used, as far as was told.
    pub(super) tokens: Tokens,
}

impl LiveProcess {
    pub(super) fn new(
        now: Duration,
        share: Allowance,
        deadlines: Deadlines,
        dialect: Dialect,
    ) -> Self {
        let paid_until = share.cost.and_then(|cost| dialect.time_for(cost)).map(|time| now + time);
        let watch = AttemptTiming {
            started: now,
            // Nobody waits for a word that never comes.
            ready: !dialect.announces_itself(),
            last_line: now,
            tool: None,
            exiting: None,
            expires: earlier(share.time.map(|time| now + time), paid_until),
        };
        let (deadline_at, _) = deadlines::next(&deadlines, &watch);
        Self {
            watch,
            deadlines,
            deadline_at,
            cancelled: None,
            tokens_left: share.tokens,
            tokens: Tokens::default(),
        }
    }

    pub(super) fn ready(&mut self, now: Duration) {
        self.watch.ready = true;
        self.watch.last_line = now;
    }

    pub(super) fn pulse(&mut self, now: Duration, pulse: &Pulse) {
        let ago = |age: Duration| now.saturating_sub(age);
        self.watch.last_line = ago(pulse.quiet);
        self.watch.tool =
            pulse.tool.as_ref().map(|tool| (ago(tool.running), tool.heartbeat.map(ago)));
        if !pulse.exiting {
            self.watch.exiting = None;
        } else if self.watch.exiting.is_none() {
            self.watch.exiting = Some(now);
        }
        self.tokens = pulse.tokens;
    }

    /// Whether it has used more tokens than it may, and nothing is done about it yet.
    pub(super) fn exceeds_tokens(&self) -> bool {
        self.cancelled.is_none()
            && self.tokens_left.is_some_and(|left| self.tokens.counted() > left)
    }

    /// The next deadline, and what it then means.
    pub(super) fn due(&self) -> (Duration, CancelReason) {
        deadlines::next(&self.deadlines, &self.watch)
    }

    /// When the timer has to be set anew because a deadline has come closer. One that has moved
    /// away is noticed when the timer fires.
    pub(super) fn rearm(&mut self) -> Option<Duration> {
        let (at, _) = self.due();
        let closer = at < self.deadline_at && self.cancelled.is_none();
        closer.then(|| {
            self.deadline_at = at;
            at
        })
    }

    /// Notes that it is being ended; the first reason counts. False when that is known already.
    pub(super) fn cancel(&mut self, why: CancelReason) -> bool {
        let first = self.cancelled.is_none();
        self.cancelled = Some(self.cancelled.unwrap_or(why));
        first
    }
}

fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
