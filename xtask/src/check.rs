//! `cargo xtask check`: detects most mistakes within a few minutes.
//!
//! It skips the tests that start dozens of processes, real terminals, browsers or whole toolchains.
//! `cargo xtask test` runs all of them.

use std::path::Path;

use crate::program::{self, cargo};
use crate::{deny, test, tidy};

/// The modules of slow integration tests.
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
    "output_without_reader",
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
        command.args(targets).args(["--filterset", &filter()]).args(program::parallel_tests());
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

/// Returns a nextest filter for everything except the slow integration tests.
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
