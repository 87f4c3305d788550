//! Where the time comes from. Everything below asks here, so that a test can play a night in a
//! second and the demo can show a wait in fast motion.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use legwork_core::units::Now;
use tokio::time::Instant;

/// How long a wait for a date takes in fast motion.
const FAST_WAIT: Duration = Duration::from_millis(1500);

/// The time of a run. Clones show the same time.
#[derive(Clone, Debug)]
pub struct Clock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    origin: Instant,
    wall: Wall,
    motion: Motion,
    /// Time that was skipped in fast motion.
    skipped: Mutex<Duration>,
    /// How far the date was put forward or back.
    jumped: Mutex<SignedDuration>,
}

/// Where the date comes from.
#[derive(Debug)]
enum Wall {
    /// From the system.
    System,
    /// From a date at the origin and the time since then.
    From(Timestamp),
}

/// How waits for a date are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// As long as they are.
    Real,
    /// Shortened, the clock put forward after them.
    Fast,
}

impl Clock {
    /// The clock of a real run.
    pub fn system(motion: Motion) -> Self {
        Self::with(Wall::System, motion)
    }

    /// A clock that shows `wall` now and goes on by the runtime's own time, paused or not.
    pub fn starting_at(wall: Timestamp) -> Self {
        Self::with(Wall::From(wall), Motion::Real)
    }

    fn with(wall: Wall, motion: Motion) -> Self {
        let skipped = Mutex::new(Duration::ZERO);
        let jumped = Mutex::new(SignedDuration::ZERO);
        Self { inner: Arc::new(Inner { origin: Instant::now(), wall, motion, skipped, jumped }) }
    }

    /// Puts the date forward or back, as somebody who sets the clock does; running time does not
    /// notice. For worlds in which that happens.
    pub fn jump(&self, by: SignedDuration) {
        let mut jumped = self.inner.jumped.lock().unwrap_or_else(PoisonError::into_inner);
        *jumped = jumped.saturating_add(by);
    }

    /// The time.
    pub fn now(&self) -> Now {
        let skipped = self.skipped();
        let since = self.inner.origin.elapsed();
        let wall = match self.inner.wall {
            Wall::System => Timestamp::now(),
            Wall::From(origin) => later(origin, since),
        };
        let wall = later(wall, skipped);
        let wall = wall.checked_add(self.jumped()).unwrap_or(wall);
        Now { wall, mono: since + skipped }.in_millis()
    }

    /// How long to sleep for a wait until `date`.
    pub fn wait_until(&self, date: Timestamp) -> Duration {
        let rest = self.now().until(date);
        match self.inner.motion {
            Motion::Real => rest,
            Motion::Fast => rest.min(FAST_WAIT),
        }
    }

    /// Says that a wait until `date` was slept through.
    pub fn slept_until(&self, date: Timestamp) {
        if self.inner.motion == Motion::Fast {
            let rest = self.now().until(date);
            *self.inner.skipped.lock().unwrap_or_else(PoisonError::into_inner) += rest;
        }
    }

    fn jumped(&self) -> SignedDuration {
        *self.inner.jumped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn skipped(&self) -> Duration {
        *self.inner.skipped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn later(wall: Timestamp, by: Duration) -> Timestamp {
    wall.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn fast_motion_sleeps_a_moment_and_puts_the_clock_forward() {
        let clock = Clock::with(Wall::From(Timestamp::UNIX_EPOCH), Motion::Fast);
        let date = clock.now().plus(Duration::from_hours(2));
        assert_eq!(clock.wait_until(date), FAST_WAIT);
        tokio::time::advance(FAST_WAIT).await;
        clock.slept_until(date);
        assert_eq!(clock.now().wall, date);
        assert_eq!(clock.now().mono, Duration::from_hours(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_date_that_is_set_leaves_running_time_alone() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        tokio::time::advance(Duration::from_secs(5)).await;
        clock.jump(SignedDuration::from_hours(-24));
        assert_eq!(clock.now().wall.as_second(), 5 - 24 * 3600);
        assert_eq!(clock.now().mono, Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_real_wait_is_as_long_as_it_is() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        let date = clock.now().plus(Duration::from_hours(2));
        assert_eq!(clock.wait_until(date), Duration::from_hours(2));
        clock.slept_until(date);
        assert_eq!(clock.now().wall, Timestamp::UNIX_EPOCH);
    }
}
