//! How many tests of a suite really ran.
//!
//! Tests that lack a program skip themselves, and a suite that skips itself looks just like one
//! that passes. Each test that really ran leaves a file in the folder that a variable names, and
//! these files are counted.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{self, cargo};

/// Names the folder in which each test leaves a file.
const VARIABLE: &str = "NIGHTWRIGHT_TEST_TALLY";

/// Integration tests that skip themselves where a program is missing.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// The prefix that the names of its tests share.
    pub(crate) prefix: &'static str,
    /// How many tests have to run in CI.
    pub(crate) least: usize,
}

impl Suite {
    /// The suite in the words of nextest.
    pub(crate) fn filter(&self) -> String {
        format!("package(nightwright) and test(/^{}/)", self.prefix)
    }

    /// The command that runs the suite and nothing else.
    pub(crate) fn command(&self, root: &Path) -> Command {
        if program::works(&mut cargo(root, &["nextest", "--version"])) {
            let run = ["nextest", "run", "--workspace", "--test", "it", "--no-fail-fast"];
            let mut command = cargo(root, &run);
            command.args(["--filterset", &self.filter()]);
            command
        } else {
            cargo(root, &["test", "--workspace", "--test", "it", self.prefix])
        }
    }

    /// Runs `command`, and returns how many tests really ran.
    pub(crate) fn run(&self, command: &mut Command) -> Result<usize, String> {
        let name = self.prefix.trim_end_matches(':');
        let folder =
            std::env::temp_dir().join(format!("nightwright-tally-{name}-{}", std::process::id()));
        let failed = |error: std::io::Error| format!("cannot use `{}`: {error}", folder.display());
        fs::create_dir(&folder).map_err(failed)?;
        let result = program::run(command.env(VARIABLE, &folder));
        let ran = fs::read_dir(&folder).map_err(failed)?.count();
        fs::remove_dir_all(&folder).map_err(failed)?;
        result.map(|()| ran)
    }

    /// Fails in CI if too few tests ran.
    pub(crate) fn judge(&self, ran: usize) -> Result<(), String> {
        eprintln!("{}: {ran} ran", self.name);
        self.enough(ran, is_ci())
    }

    fn enough(&self, ran: usize, is_ci: bool) -> Result<(), String> {
        let Self { name, least, .. } = self;
        if is_ci && ran < *least {
            return Err(format!("only {ran} {name} ran; in CI at least {least} have to"));
        }
        Ok(())
    }
}

fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: Suite = Suite { name: "tests with moon dust", prefix: "moon::", least: 18 };

    #[test]
    fn too_few_tests_fail_in_ci_and_nowhere_else() {
        assert!(SUITE.enough(17, true).unwrap_err().contains("only 17 tests with moon dust"));
        assert_eq!(SUITE.enough(18, true), Ok(()));
        assert_eq!(SUITE.enough(0, false), Ok(()));
    }

    #[test]
    fn each_test_that_ran_counts_once() {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("cd \"${VARIABLE}\" && touch a && touch b && touch a")]);
        assert_eq!(SUITE.run(&mut command), Ok(2));
    }
}
