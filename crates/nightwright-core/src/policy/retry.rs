//! Retry policy: the delay before another attempt of the same iteration.

use std::time::Duration;

use super::dice;
use crate::settings::Retry;
use crate::units::AttemptId;

/// The shortest delay that can be configured.
pub const MIN_DELAY: Duration = Duration::from_secs(1);
/// The delay at which doubling stops.
const MAX_DOUBLED_DELAY: Duration = Duration::from_mins(1);

/// The longest possible delay.
pub fn longest(policy: &Retry) -> Duration {
    policy.delay.max(MAX_DOUBLED_DELAY)
}

/// The shortest delay between two attempts of one iteration, and after a failed iteration.
pub fn shortest(policy: &Retry) -> Duration {
    policy.delay.max(MIN_DELAY)
}

/// The delay after the `retries`-th failed attempt, counted from 1. It doubles, varies by a quarter
/// either way so that runs do not retry at the same time, and is never shorter than configured.
pub fn delay(policy: &Retry, retries: u32, seed: u64, attempt: AttemptId) -> Duration {
    let doubled = policy.delay.saturating_mul(1 << retries.saturating_sub(1).min(16));
    let (shortest, longest) = (shortest(policy), longest(policy));
    let base = doubled.clamp(shortest, longest);
    let spread = dice(seed, u64::from(attempt.0), 501);
    let thousandths = u32::try_from(750 + spread).unwrap_or(1000);
    (base * thousandths / 1000).clamp(shortest, longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_minute_within_a_quarter_of_chance() {
        let policy = Retry::default();
        for (retries, middle) in [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (40, 60)] {
            for attempt in 1..200 {
                let delay = delay(&policy, retries, 7, AttemptId(attempt)).as_millis();
                let (low, high) = (middle * 750, middle * 1250);
                assert!((low.max(5000)..=high.min(60_000)).contains(&delay), "{retries}: {delay}");
            }
        }
    }

    #[test]
    fn the_delay_that_was_set_is_the_one_that_is_waited() {
        for (set, low, high) in [(1, 1000, 1250), (2, 2000, 2500), (120, 120_000, 120_000)] {
            let policy = Retry { delay: Duration::from_secs(set), ..Retry::default() };
            for attempt in 1..200 {
                let delay = delay(&policy, 1, 7, AttemptId(attempt)).as_millis();
                assert!((low..=high).contains(&delay), "{set}: {delay}");
            }
        }
        let none = Retry { delay: Duration::ZERO, ..Retry::default() };
        assert!(delay(&none, 1, 7, AttemptId(1)) >= MIN_DELAY);
    }

    #[test]
    fn the_same_seed_waits_the_same() {
        let policy = Retry::default();
        assert_eq!(delay(&policy, 3, 1, AttemptId(4)), delay(&policy, 3, 1, AttemptId(4)));
        assert_ne!(delay(&policy, 3, 1, AttemptId(4)), delay(&policy, 3, 2, AttemptId(4)));
    }
}
