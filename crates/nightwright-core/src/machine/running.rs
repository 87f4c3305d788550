//! What attempts and calls have in common while they run: deadlines, shares of the limits, and
//! being ended.

use std::time::Duration;

use crate::agent::dialect::Dialect;
use crate::agent::outcome::CutReason;
use crate::agent::report::Pulse;
use crate::policy::deadlines::{self, Watch};
use crate::policy::limits::Share;
use crate::settings::Deadlines;
use crate::units::Tokens;

/// How long something that was told to end may take to be gone. Its grace and the time to read
/// what is left of its output are well within this; past it, it can't be ended at all.
pub(super) const LONGEST_END: Duration = Duration::from_secs(30);

/// A process of the agent, as the machine knows it.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) watch: Watch,
    /// When its share of the run's money is used up, where that goes by time.
    bought: Option<Duration>,
    deadlines: Deadlines,
    /// When the timer for its deadlines fires.
    pub(super) armed: Duration,
    /// Why we are ending it, if we are.
    pub(super) cut: Option<CutReason>,
    /// Tokens it may use.
    tokens_left: Option<u64>,
    /// Tokens it has used, as far as was told.
    pub(super) tokens: Tokens,
}

impl Running {
    pub(super) fn new(now: Duration, share: Share, deadlines: Deadlines, dialect: Dialect) -> Self {
        let bought = share.cost.and_then(|cost| dialect.time_for(cost)).map(|time| now + time);
        let watch = Watch {
            started: now,
            // Nobody waits for a word that never comes.
            ready: !dialect.announces_itself(),
            last_line: now,
            tool: None,
            leaving: None,
            run_out: earlier(share.time.map(|time| now + time), bought),
        };
        let (armed, _) = deadlines::next(&deadlines, &watch);
        Self {
            watch,
            bought,
            deadlines,
            armed,
            cut: None,
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
        if !pulse.leaving {
            self.watch.leaving = None;
        } else if self.watch.leaving.is_none() {
            self.watch.leaving = Some(now);
        }
        self.tokens = pulse.tokens;
    }

    /// Whether it has used more tokens than it may, and nothing is done about it yet.
    pub(super) fn is_over_its_tokens(&self) -> bool {
        self.cut.is_none() && self.tokens_left.is_some_and(|left| self.tokens.counted() > left)
    }

    /// The limits have changed: so has its share.
    pub(super) fn share_changed(&mut self, now: Duration, share: Share) {
        self.tokens_left = share.tokens;
        self.watch.run_out = earlier(share.time.map(|time| now + time), self.bought);
    }

    /// The next deadline, and what it then means.
    pub(super) fn due(&self) -> (Duration, CutReason) {
        deadlines::next(&self.deadlines, &self.watch)
    }

    /// When the timer has to be set anew because a deadline has come closer. One that has moved
    /// away is noticed when the timer fires.
    pub(super) fn rearm(&mut self) -> Option<Duration> {
        let (at, _) = self.due();
        let closer = at < self.armed && self.cut.is_none();
        closer.then(|| {
            self.armed = at;
            at
        })
    }

    /// Notes that it is being ended; the first reason counts. False when that is known already.
    pub(super) fn cut(&mut self, why: CutReason) -> bool {
        let first = self.cut.is_none();
        self.cut = Some(self.cut.unwrap_or(why));
        first
    }
}

fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
