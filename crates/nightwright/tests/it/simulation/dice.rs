//! All chance of a simulated run, from one number.

use std::time::Duration;

/// Chance that a seed determines.
#[derive(Debug)]
pub(super) struct Dice {
    state: u64,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next number of `SplitMix64`.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to but not including `below`; 0 if there is nothing below.
    pub(super) fn below(&mut self, below: u64) -> u64 {
        self.next().checked_rem(below).unwrap_or(0)
    }

    /// True once in this number of throws; never for 0.
    pub(super) fn one_in(&mut self, throws: u64) -> bool {
        throws > 0 && self.below(throws) == 0
    }

    pub(super) fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        let index = usize::try_from(self.below(choices.len() as u64)).expect("a short list");
        choices[index].clone()
    }

    /// Up to `most`, in whole milliseconds.
    pub(super) fn time(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_millis()).expect("less than an age");
        Duration::from_millis(self.below(most + 1))
    }

    /// A time of any order of magnitude: moments are as likely as hours.
    pub(super) fn any_time(&mut self) -> Duration {
        let most = self.of(&[
            Duration::ZERO,
            Duration::from_millis(5),
            Duration::from_secs(2),
            Duration::from_secs(30),
            Duration::from_mins(5),
            Duration::from_mins(40),
            Duration::from_hours(3),
        ]);
        self.time(most)
    }
}
