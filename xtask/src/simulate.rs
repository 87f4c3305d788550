//! `cargo xtask simulate`: the simulated runs of the test suite, with more seeds and optimized.

use std::path::Path;

use crate::program::{self, cargo};

/// The number of runs that the documentation reports.
const SEEDS: u64 = 100_000;

/// The simulated runs to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Play {
    /// This number of runs, starting with seed 0.
    Many(u64),
    /// One run, printed line by line.
    One(u64),
}

impl Play {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse().map_err(|_| format!("`simulate` takes numbers, not `{text}`"))
        };
        match words {
            [] => Ok(Self::Many(SEEDS)),
            ["--seeds", count] => number(count).map(Self::Many),
            ["--seed", seed] => number(seed).map(Self::One),
            [other, ..] => Err(format!(
                "`simulate` takes `--seeds N` or `--seed N`, not `{other}` or any other argument"
            )),
        }
    }
}

pub(crate) fn run(root: &Path, play: Play) -> Result<(), String> {
    let arguments =
        ["test", "--release", "--package", "nightwright", "--test", "it", "simulation::"];
    let mut command = cargo(root, &arguments);
    command.env_remove("NIGHTWRIGHT_SEED").env_remove("NIGHTWRIGHT_SEEDS");
    match play {
        Play::Many(count) => command.env("NIGHTWRIGHT_SEEDS", count.to_string()),
        Play::One(seed) => {
            command.args(["--", "--nocapture"]).env("NIGHTWRIGHT_SEED", seed.to_string())
        }
    };
    program::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_number_there_are_a_hundred_thousand_runs() {
        assert_eq!(Play::parse(&[]), Ok(Play::Many(100_000)));
    }

    #[test]
    fn many_runs_or_one_but_not_both() {
        assert_eq!(Play::parse(&["--seeds", "7"]), Ok(Play::Many(7)));
        assert_eq!(Play::parse(&["--seed", "7"]), Ok(Play::One(7)));
        for wrong in [&["--seed"][..], &["--seed", "x"], &["--seeds", "1", "--seed", "2"]] {
            assert!(Play::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
