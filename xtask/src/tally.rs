//! Counts the tests of a suite that really ran.
//!
//! Tests skip themselves if a program is missing, and a skipped suite looks like one that passes.
//! Therefore each test that ran leaves a file in the folder named by an environment variable.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{self, cargo};

/// The environment variable with the folder in which each test leaves a file.
const VARIABLE: &str = "NIGHTWRIGHT_TEST_TALLY";

/// Integration tests that skip themselves if a program is missing.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// The common prefix of the names of its tests.
    pub(crate) prefix: &'static str,
}

/// The tests that have to run in CI.
#[derive(Debug)]
pub(crate) enum Needed {
    AtLeast(usize),
    /// The names of the files that the tests leave.
    Each(BTreeSet<String>),
}

impl Suite {
    /// Returns a nextest filter for the suite.
    pub(crate) fn filter(&self) -> String {
        format!("package(nightwright) and test(/^{}/)", self.prefix)
    }

    /// Returns the command that runs only this suite.
    pub(crate) fn command(&self, root: &Path) -> Command {
        if program::works(&mut cargo(root, &["nextest", "--version"])) {
            let run = ["nextest", "run", "--workspace", "--test", "it", "--no-fail-fast"];
            let mut command = cargo(root, &run);
            command.args(["--filterset", &self.filter()]).args(program::parallel_tests());
            command
        } else {
            cargo(root, &["test", "--workspace", "--test", "it", self.prefix])
        }
    }

    /// Runs `command` and returns the files that the tests left.
    pub(crate) fn run(command: &mut Command) -> Result<BTreeSet<String>, String> {
        let failed = |error: std::io::Error| format!("cannot use a temporary folder: {error}");
        let folder = tempfile::tempdir().map_err(failed)?;
        let result = program::run(command.env(VARIABLE, folder.path()));
        let ran = fs::read_dir(folder.path())
            .and_then(|entries| {
                let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
                entries.map(|entry| entry.map(name)).collect()
            })
            .map_err(failed)?;
        folder.close().map_err(failed)?;
        result.map(|()| ran)
    }

    /// Fails in CI if required tests did not run.
    pub(crate) fn judge(&self, ran: &BTreeSet<String>, needed: &Needed) -> Result<(), String> {
        eprintln!("{}: {} ran", self.name, ran.len());
        if is_ci() { self.enough(ran, needed) } else { Ok(()) }
    }

    fn enough(&self, ran: &BTreeSet<String>, needed: &Needed) -> Result<(), String> {
        let (name, count) = (self.name, ran.len());
        match needed {
            Needed::AtLeast(least) if count < *least => {
                Err(format!("only {count} {name} ran; CI requires at least {least}"))
            }
            Needed::Each(names) if !names.is_subset(ran) => {
                let missing: Vec<_> = names.difference(ran).map(String::as_str).collect();
                Err(format!("{name} did not run, but CI requires them: {}", missing.join(", ")))
            }
            Needed::AtLeast(_) | Needed::Each(_) => Ok(()),
        }
    }
}

fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: Suite = Suite { name: "tests with moon dust", prefix: "moon::" };

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn too_few_tests_are_named() {
        let ran = names(&["a", "b"]);
        let failure = SUITE.enough(&ran, &Needed::AtLeast(3)).unwrap_err();
        assert!(failure.contains("only 2 tests with moon dust"), "{failure}");
        assert_eq!(SUITE.enough(&ran, &Needed::AtLeast(2)), Ok(()));
    }

    #[test]
    fn another_test_does_not_stand_in_for_one_that_did_not_run() {
        let needed = Needed::Each(names(&["rust", "c"]));
        let failure = SUITE.enough(&names(&["rust", "go"]), &needed).unwrap_err();
        assert!(failure.ends_with("requires them: c"), "{failure}");
        assert_eq!(SUITE.enough(&names(&["rust", "c"]), &needed), Ok(()));
    }

    #[test]
    fn each_test_that_ran_counts_once() {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("cd \"${VARIABLE}\" && touch a && touch b && touch a")]);
        assert_eq!(Suite::run(&mut command), Ok(names(&["a", "b"])));
    }
}
