//! `cargo xtask kill-test`: measures the figures of `docs/internals/safety.md` again.

use std::path::Path;

use crate::program::{self, cargo};

/// The number of kills that the documentation reports.
const KILLS: u32 = 100;

/// The test to run, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// No process survives a killed run, at this number of moments.
    Kill(u32),
}

impl Proof {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        match words {
            [] => Ok(Self::Kill(KILLS)),
            ["--times", times] => match times.parse() {
                Ok(times @ 1..) => Ok(Self::Kill(times)),
                Ok(0) | Err(_) => Err(format!("`--times` takes a number from 1 on, not `{times}`")),
            },
            [other, ..] => Err(format!("`kill-test` takes only `--times N`, not `{other}`")),
        }
    }
}

/// Prints a table; fails if a result is not as documented.
pub(crate) fn run(root: &Path, proof: Proof) -> Result<(), String> {
    match proof {
        Proof::Kill(times) => {
            let arguments =
                ["test", "--release", "--package", "nightwright", "--test", "it", "kill::"];
            let mut command = cargo(root, &arguments);
            command.args(["--", "--nocapture"]).env("NIGHTWRIGHT_KILLS", times.to_string());
            program::run(&mut command)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_number_there_are_a_hundred_kills() {
        assert_eq!(Proof::parse(&[]), Ok(Proof::Kill(100)));
        assert_eq!(Proof::parse(&["--times", "7"]), Ok(Proof::Kill(7)));
    }

    #[test]
    fn unknown_arguments_are_named() {
        for (words, named) in [
            (&["kill"][..], "`kill`"),
            (&["--time"], "`--time`"),
            (&["--times", "0"], "`0`"),
            (&["--times", "many"], "`many`"),
        ] {
            let usage = Proof::parse(words).unwrap_err();
            assert!(usage.contains(named), "{usage}");
        }
    }
}
