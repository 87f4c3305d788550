//! Wait policy: how long to wait for a limit of the provider to reset.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::dice;
use crate::units::Now;

/// The maximum random delay after a known reset time, so that not all runs retry at once. It is at
/// most a quarter of the wait itself.
const SPREAD: Duration = Duration::from_mins(1);

/// The decision about a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPlan {
    /// Wait, then retry once.
    Wait {
        /// The time of the retry.
        retry_at: Timestamp,
        /// The duration of the wait.
        wait: Duration,
        /// Whether the reset time was given as a date.
        dated: bool,
    },
    /// The wait would exceed the configured maximum.
    TooLong,
}

/// Consecutive waits without a response from the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitStreak {
    /// The number of waits.
    pub rounds: u32,
    /// The total duration of the waits.
    pub waited: Duration,
}

/// A limit that reset this recently did so while the agent reported it.
const JUST_ENDED: SignedDuration = SignedDuration::from_mins(1);
/// The minimum wait before the next try.
const MIN_WAIT: Duration = Duration::from_secs(5);

/// Plans the next wait. A reset time is ignored if it passed long ago, or if it follows a wrong one
/// and is past or near. The wait is then a back-off of 5, 10, 20, 30, 30, … minutes.
pub fn plan(
    streak: WaitStreak,
    until: Option<Timestamp>,
    max_wait: Duration,
    now: Now,
    seed: u64,
) -> WaitPlan {
    let over = |until: Timestamp| now.wall.duration_since(until);
    let dated = until
        .filter(|until| {
            !over(*until).is_positive() || (streak.rounds == 0 && over(*until) < JUST_ENDED)
        })
        .map(|until| now.until(until).max(MIN_WAIT))
        // A reset time that was wrong once may always be a moment ahead.
        .filter(|wait| streak.rounds == 0 || *wait >= back_off(streak.rounds));
    let wait = dated.unwrap_or_else(|| back_off(streak.rounds));
    if streak.waited.saturating_add(wait) > max_wait {
        return WaitPlan::TooLong;
    }
    let late = match dated {
        Some(wait) => {
            let most = u64::try_from(SPREAD.min(wait / 4).as_millis()).unwrap_or(0);
            Duration::from_millis(dice(seed, u64::from(streak.rounds), most + 1))
        }
        None => Duration::ZERO,
    };
    let wait = wait + late;
    WaitPlan::Wait { retry_at: now.plus(wait), wait, dated: dated.is_some() }
}

fn back_off(rounds: u32) -> Duration {
    Duration::from_mins(match rounds {
        0 => 5,
        1 => 10,
        2 => 20,
        3.. => 30,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_WAIT: Duration = Duration::from_hours(12);

    fn now() -> Now {
        Now { wall: Timestamp::from_second(1_800_000_000).unwrap(), mono: Duration::ZERO }
    }

    fn minutes(streak: WaitStreak, until: Option<Timestamp>) -> Option<u64> {
        match plan(streak, until, MAX_WAIT, now(), 3) {
            WaitPlan::Wait { wait, .. } => Some(wait.as_secs() / 60),
            WaitPlan::TooLong => None,
        }
    }

    #[test]
    fn a_known_end_is_waited_for_and_a_minute_at_most_on_top() {
        let until = now().plus(Duration::from_hours(2));
        for seed in 0..100 {
            let WaitPlan::Wait { wait, dated: true, .. } =
                plan(WaitStreak::default(), Some(until), MAX_WAIT, now(), seed)
            else {
                panic!("no dated wait")
            };
            assert!((7200..=7260).contains(&wait.as_secs()), "{wait:?}");
        }
    }

    #[test]
    fn a_short_wait_stays_short() {
        let until = now().plus(Duration::from_secs(20));
        for seed in 0..100 {
            let WaitPlan::Wait { wait, .. } =
                plan(WaitStreak::default(), Some(until), MAX_WAIT, now(), seed)
            else {
                panic!("no wait")
            };
            assert!((20..=25).contains(&wait.as_secs()), "{wait:?}");
        }
    }

    #[test]
    fn an_unknown_end_backs_off_5_10_20_30_minutes() {
        let rounds = |rounds| WaitStreak { rounds, waited: Duration::ZERO };
        let waits: Vec<_> = (0..6).map(|round| minutes(rounds(round), None)).collect();
        assert_eq!(waits, [5, 10, 20, 30, 30, 30].map(Some));
    }

    #[test]
    fn a_date_that_passed_long_ago_backs_off() {
        let long_ago = now().wall - JUST_ENDED;
        assert_eq!(minutes(WaitStreak::default(), Some(long_ago)), Some(5));
    }

    #[test]
    fn a_limit_that_has_just_ended_is_tried_once_at_once() {
        let just_now = now().wall - SignedDuration::from_secs(3);
        assert_eq!(minutes(WaitStreak::default(), Some(just_now)), Some(0));
        let again = WaitStreak { rounds: 1, waited: MIN_WAIT };
        assert_eq!(minutes(again, Some(just_now)), Some(10));
    }

    #[test]
    fn a_date_that_is_always_just_ahead_does_not_make_a_storm_of_tries() {
        let soon = Some(now().plus(Duration::from_secs(2)));
        let waits: Vec<_> = (0..5)
            .map(|rounds| minutes(WaitStreak { rounds, waited: Duration::ZERO }, soon))
            .collect();
        assert_eq!(waits, [0, 10, 20, 30, 30].map(Some));
        let hours = Some(now().plus(Duration::from_hours(3)));
        let again = WaitStreak { rounds: 2, waited: Duration::from_hours(5) };
        assert!(minutes(again, hours).is_some_and(|wait| (180..=181).contains(&wait)));
    }

    #[test]
    fn a_reset_beyond_the_maximum_wait_is_too_long() {
        assert_eq!(minutes(WaitStreak::default(), Some(now().plus(MAX_WAIT + SPREAD))), None);
    }

    #[test]
    fn consecutive_waits_share_one_limit() {
        let streak = WaitStreak { rounds: 9, waited: Duration::from_mins(12 * 60 - 29) };
        assert_eq!(minutes(streak, None), None);
    }
}
