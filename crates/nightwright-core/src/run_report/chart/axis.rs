//! Positions of the ticks on an axis.

use std::time::Duration;

/// Maximum number of steps on an axis.
const MAX_STEPS: u64 = 5;

/// Common steps of a time axis, in seconds.
const TIMES: [u64; 20] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400, 172_800, 604_800,
];

/// Returns ticks from 0 to at least `most`, in steps of 1, 2 or 5 times a power of ten. For a
/// maximum of 0, the only tick is 0.
pub(super) fn ticks(most: u64) -> Vec<u64> {
    let wanted = most.div_ceil(MAX_STEPS);
    let mut power: u64 = 1;
    let step = 'found: loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if step >= wanted {
                break 'found step;
            }
        }
        power = power.saturating_mul(10);
    };
    (0..=most.div_ceil(step)).map(|count| count.saturating_mul(step)).collect()
}

/// Returns ticks from 0 up to the end, in common steps of time.
pub(super) fn times(whole: Duration) -> Vec<Duration> {
    let whole = whole.as_secs();
    let wanted = whole.div_ceil(MAX_STEPS + 1).max(1);
    let week = TIMES[TIMES.len() - 1];
    let step = TIMES.into_iter().find(|step| *step >= wanted);
    // The longest step in the table is a week. A run of months uses a multiple of it.
    let step = step.unwrap_or_else(|| wanted.div_ceil(week).saturating_mul(week));
    (0..=whole / step).map(|count| Duration::from_secs(count * step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_few_and_reach_the_top() {
        assert_eq!(ticks(0), [0]);
        assert_eq!(ticks(7), [0, 2, 4, 6, 8]);
        assert_eq!(ticks(420_000), [0, 100_000, 200_000, 300_000, 400_000, 500_000]);
        for most in [1, 3, 99, 1_000, 123_456_789, u64::MAX / 2] {
            let ticks = ticks(most);
            assert!(ticks.len() <= 6 && *ticks.last().unwrap() >= most, "{ticks:?}");
        }
    }

    #[test]
    fn time_is_counted_as_people_do() {
        let seconds = |whole| -> Vec<_> {
            times(Duration::from_secs(whole)).iter().map(Duration::as_secs).collect()
        };
        assert_eq!(seconds(0), [0]);
        assert_eq!(seconds(60), [0, 10, 20, 30, 40, 50, 60]);
        assert_eq!(seconds(8 * 3_600), [0, 7_200, 14_400, 21_600, 28_800]);
        assert!(seconds(400 * 86_400).len() <= 8);
        assert!(seconds(u64::MAX).len() <= 8);
    }
}
