//! The clock of a run. All code asks it for the time, so that a test can simulate a night in a
//! second and the demo can shorten waits.
//!
//! Running time excludes the time in which the process could not run: suspended with Ctrl-Z, or
//! frozen with the machine. The clock ticks once per second and detects that time by the ticks that
//! it missed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use nightwright_core::units::Now;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The interval of the ticks.
const BEAT: Duration = Duration::from_secs(1);
/// The maximum time between two ticks that counts as running time. The loop is never busy for that
/// long.
const GAP: Duration = Duration::from_secs(5);

/// How long a wait for a date takes in fast mode.
const FAST_WAIT: Duration = Duration::from_millis(1500);

/// The time of a run. Clones share the same time.
#[derive(Clone, Debug)]
pub struct Clock {
    inner: Arc<ClockInner>,
}

#[derive(Debug)]
struct ClockInner {
    origin: Instant,
    wall: WallClock,
    speed: ClockSpeed,
    /// Time that was skipped in fast mode.
    skipped: Mutex<Duration>,
    /// How far the date was set forward or back.
    jumped: Mutex<SignedDuration>,
    /// The time in which the process could not run.
    ticks: Mutex<Ticks>,
}

/// The ticks of a clock. Times are relative to its origin.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    /// The last tick; `None` for a clock without ticks.
    last: Option<Duration>,
    /// Total time in which the process could not run.
    lost: Duration,
}

impl Ticks {
    /// Returns the time in which the process could not run, up to `now`.
    fn lost(&self, now: Duration) -> Duration {
        let gap = self.last.map_or(Duration::ZERO, |last| now.saturating_sub(last));
        self.lost + gap.saturating_sub(GAP)
    }

    fn beat(&mut self, now: Duration) {
        self.lost = self.lost(now);
        self.last = Some(now);
    }
}

/// The source of the date.
#[derive(Debug)]
enum WallClock {
    System,
    /// A date at the origin plus the time since then.
    From(Timestamp),
}

/// How waits for a date are performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSpeed {
    /// They take their full time.
    Real,
    /// They are shortened, and the clock is set forward afterwards.
    Fast,
}

impl Clock {
    /// Creates the clock of a real run.
    pub fn system(speed: ClockSpeed) -> Self {
        Self::with(WallClock::System, speed)
    }

    /// Creates a clock that shows `wall` now and advances with the time of the async runtime,
    /// paused or not.
    pub fn starting_at(wall: Timestamp) -> Self {
        Self::with(WallClock::From(wall), ClockSpeed::Real)
    }

    fn with(wall: WallClock, speed: ClockSpeed) -> Self {
        let skipped = Mutex::new(Duration::ZERO);
        let jumped = Mutex::new(SignedDuration::ZERO);
        let (origin, ticks) = (Instant::now(), Mutex::default());
        Self { inner: Arc::new(ClockInner { origin, wall, speed, skipped, jumped, ticks }) }
    }

    /// Ticks while the future is polled.
    pub async fn beat(self) {
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let now = self.inner.origin.elapsed();
            self.inner.ticks.lock().unwrap_or_else(PoisonError::into_inner).beat(now);
        }
    }

    /// Sets the date forward or back, as a change of the system clock does; running time is
    /// unaffected. For simulations.
    pub fn jump(&self, by: SignedDuration) {
        let mut jumped = self.inner.jumped.lock().unwrap_or_else(PoisonError::into_inner);
        *jumped = jumped.saturating_add(by);
    }

    /// Returns the current date and running time.
    pub fn now(&self) -> Now {
        let skipped = self.skipped();
        let since = self.inner.origin.elapsed();
        let wall = match self.inner.wall {
            WallClock::System => Timestamp::now(),
            WallClock::From(origin) => later(origin, since),
        };
        let wall = later(wall, skipped);
        let wall = wall.checked_add(self.jumped()).unwrap_or(wall);
        Now { wall, mono: since.saturating_sub(self.lost(since)) + skipped }.in_millis()
    }

    /// Returns how long to sleep for a wait until `date`.
    pub fn wait_until(&self, date: Timestamp) -> Duration {
        let rest = self.now().until(date);
        match self.inner.speed {
            ClockSpeed::Real => rest,
            ClockSpeed::Fast => rest.min(FAST_WAIT),
        }
    }

    /// Reports that a wait until `date` is complete.
    pub fn slept_until(&self, date: Timestamp) {
        if self.inner.speed == ClockSpeed::Fast {
            let rest = self.now().until(date);
            *self.inner.skipped.lock().unwrap_or_else(PoisonError::into_inner) += rest;
        }
    }

    fn jumped(&self) -> SignedDuration {
        *self.inner.jumped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lost(&self, now: Duration) -> Duration {
        self.inner.ticks.lock().unwrap_or_else(PoisonError::into_inner).lost(now)
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
        let clock = Clock::with(WallClock::From(Timestamp::UNIX_EPOCH), ClockSpeed::Fast);
        let date = clock.now().plus(Duration::from_hours(2));
        assert_eq!(clock.wait_until(date), FAST_WAIT);
        tokio::time::advance(FAST_WAIT).await;
        clock.slept_until(date);
        assert_eq!(clock.now().wall, date);
        assert_eq!(clock.now().mono, Duration::from_hours(2));
    }

    #[test]
    fn time_in_which_the_process_could_not_run_does_not_count_and_never_goes_back() {
        let mut ticks = Ticks::default();
        let seconds = Duration::from_secs;
        let running = |ticks: &Ticks, now: Duration| now.saturating_sub(ticks.lost(now));
        assert_eq!(running(&ticks, seconds(1000)), seconds(1000), "it does not beat");
        ticks.beat(seconds(1000));
        ticks.beat(seconds(1001));
        assert_eq!(running(&ticks, seconds(1003)), seconds(1003));
        // Suspended for an hour: the result is the same before and after the next tick.
        assert_eq!(running(&ticks, seconds(4600)), seconds(1006));
        ticks.beat(seconds(4601));
        assert_eq!(running(&ticks, seconds(4601)), seconds(1006));
        assert_eq!(running(&ticks, seconds(4603)), seconds(1008));
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
