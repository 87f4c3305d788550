//! The common part of running attempts and calls: deadlines, shares of the limits, and
//! cancellation.

use std::time::Duration;

use crate::policy::deadlines::{self, AttemptTiming};
use crate::policy::limits::Allowance;
use crate::settings::Deadlines;
use crate::stream::dialect::Dialect;
use crate::stream::news::Pulse;
use crate::stream::outcome::CancelReason;
use crate::units::Tokens;

/// The time after which a cancelled process counts as impossible to kill. The grace period and the
/// time to read the remaining output are well below it.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// The machine's view of a process of the agent.
#[derive(Clone, Debug)]
pub(super) struct LiveProcess {
    pub(super) watch: AttemptTiming,
    deadlines: Deadlines,
    /// The time at which the timer for its deadlines fires.
    pub(super) deadline_at: Duration,
    /// The reason for its cancellation, if it was cancelled.
    pub(super) cancelled: Option<CancelReason>,
    /// The number of tokens it may use; `None` means unlimited.
    tokens_left: Option<u64>,
    /// The number of tokens it has reported so far.
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
            // An agent that does not announce itself counts as ready.
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

    /// Whether the process exceeds its token limit and has not been cancelled yet.
    pub(super) fn exceeds_tokens(&self) -> bool {
        self.cancelled.is_none()
            && self.tokens_left.is_some_and(|left| self.tokens.counted() > left)
    }

    /// Returns the next deadline, and the reason for cancelling the process then.
    pub(super) fn due(&self) -> (Duration, CancelReason) {
        deadlines::next(&self.deadlines, &self.watch)
    }

    /// Returns the new time of the timer if a deadline has moved forward. A deadline that has moved
    /// back is noticed when the timer fires.
    pub(super) fn rearm(&mut self) -> Option<Duration> {
        let (at, _) = self.due();
        let closer = at < self.deadline_at && self.cancelled.is_none();
        closer.then(|| {
            self.deadline_at = at;
            at
        })
    }

    /// Marks the process as cancelled; the first reason is kept. Returns false if it was cancelled
    /// before.
    pub(super) fn cancel(&mut self, why: CancelReason) -> bool {
        let first = self.cancelled.is_none();
        self.cancelled = Some(self.cancelled.unwrap_or(why));
        first
    }
}

fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
