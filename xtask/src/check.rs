//! The daily command: what most mistakes fail, in a few minutes.
//!
//! It leaves out the tests that start dozens of processes, real terminals, browsers or whole
//! toolchains. `cargo xtask test` runs them all.

use std::path::Path;

use crate::program::{self, cargo};
use crate::{deny, test, tidy};

/// The integration tests that take long, by module.
const SLOW: [&str; 12] = [
    "containment",
    "detach",
    "fake_agent",
    "kill",
    "locks",
    "memory",
    "projects",
    "real",
    "report_page",
    "selftest",
    "simulation",
    "unwatched",
];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    test::steps(
        root,
        &[
            ("format", test::format),
            ("clippy", test::clippy),
            ("tests", fast_tests),
            ("tidy", tidy::run),
            ("deny", deny::run),
        ],
    )
}

fn fast_tests(root: &Path) -> Result<(), String> {
    let targets = ["--workspace", "--lib", "--bins", "--tests"];
    let mut command = if program::works(&mut cargo(root, &["nextest", "--version"])) {
        let mut command = cargo(root, &["nextest", "run"]);
        command.args(targets).args(["--filterset", &filter()]);
        command
    } else {
        let mut command = cargo(root, &["test", "--quiet"]);
        command.args(targets).arg("--");
        for module in SLOW {
            command.args(["--skip", &format!("{module}::")]);
        }
        command
    };
    program::run(&mut command)
}

/// Everything but the slow integration tests, in the words of nextest.
fn filter() -> String {
    format!("not (kind(test) and test(/^({})::/))", SLOW.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slow_module_exists() {
        let main = include_str!("../../crates/nightwright/tests/it/main.rs");
        for module in SLOW {
            assert!(main.contains(&format!("mod {module};")), "{module}");
        }
    }

    #[test]
    fn unit_tests_are_never_left_out() {
        assert!(filter().starts_with("not (kind(test) and "), "{}", filter());
    }
}
