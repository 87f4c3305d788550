//! The timers of the machine, by their purpose.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::effect::Alarm;
use nightwright_core::input::TimerKey;
use tokio::time::Instant;

use crate::clock::Clock;

/// The maximum interval between looks at the wall clock during a wait for a date, because the clock
/// may jump.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Longer deadlines are cut to this, the maximum that the async runtime supports.
const MAX_DEADLINE: Duration = Duration::from_hours(24 * 365);

/// The times at which the machine wants to be woken.
#[derive(Debug, Default)]
pub(super) struct Timers {
    set: BTreeMap<TimerKey, TimerDue>,
}

#[derive(Clone, Copy, Debug)]
enum TimerDue {
    /// In running time, which excludes time in which the process could not run.
    Running(Duration),
    Date(Timestamp),
}

impl Timers {
    pub(super) fn set(&mut self, key: TimerKey, alarm: Alarm, clock: &Clock) {
        let when = match alarm {
            Alarm::After(after) => TimerDue::Running(clock.now().mono + after.min(MAX_DEADLINE)),
            Alarm::At(date) => TimerDue::Date(date),
        };
        self.set.insert(key, when);
    }

    pub(super) fn clear(&mut self, key: TimerKey) {
        self.set.remove(&key);
    }

    /// Returns the next time at which a timer may be due.
    pub(super) fn next_look(&self, clock: &Clock) -> Option<Instant> {
        self.set
            .values()
            .map(|when| match when {
                TimerDue::Running(at) => Instant::now() + at.saturating_sub(clock.now().mono),
                TimerDue::Date(date) => {
                    Instant::now() + clock.wait_until(*date).min(CLOCK_CHECK_INTERVAL)
                }
            })
            .min()
    }

    /// Removes and returns one timer that is due.
    pub(super) fn take_due(&mut self, clock: &Clock) -> Option<TimerKey> {
        let now = clock.now().mono;
        let due = self.set.iter().find_map(|(key, when)| match when {
            TimerDue::Running(at) => (*at <= now).then_some(*key),
            TimerDue::Date(date) => {
                clock.slept_until(*date);
                (clock.now().wall >= *date).then_some(*key)
            }
        })?;
        self.set.remove(&due);
        Some(due)
    }
}
