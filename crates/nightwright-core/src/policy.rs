//! Policies: pure decision rules, one file each, without state.

pub mod check_history;
pub mod check_progress;
pub mod deadlines;
pub mod escalation;
pub mod gains;
pub mod limits;
pub mod outputs;
pub mod progress;
pub mod retry;
pub mod run_limits;
pub mod series;
pub mod signals;
pub mod unearned_checkboxes;
pub mod waiting;

/// A pseudo-random number between 0 and `below`, the same in every replay.
pub(crate) fn dice(seed: u64, salt: u64, below: u64) -> u64 {
    // SplitMix64: enough to keep a thousand runs from waking up in the same second.
    let mut z = seed.wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)).checked_rem(below).unwrap_or(0)
}
