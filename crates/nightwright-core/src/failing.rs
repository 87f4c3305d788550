//! How much fails, by one run of the checks: failing checks, failing tests, and how they fail.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::display::display_safe;
use crate::failure_excerpt;
use crate::input::{CheckResult, CheckVerdict};
use crate::test_counts::{self, TestCounts};

/// The number of lines of a failure that identify it.
const SIGNATURE_LINES: usize = 10;

/// The number of checks and tests that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Failing {
    /// The number of checks that fail.
    pub checks: u32,
    /// The test counts of all checks that print any; absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
}

impl Failing {
    /// The failures in these results; `None` if a check has no result.
    pub fn of(results: &[CheckResult]) -> Option<Self> {
        let is_known = |result: &CheckResult| match result.verdict {
            CheckVerdict::Passed
            | CheckVerdict::Flaky
            | CheckVerdict::Failed { .. }
            | CheckVerdict::TimedOut => true,
            CheckVerdict::NotStarted { .. } | CheckVerdict::Interrupted => false,
        };
        if results.is_empty() || !results.iter().all(is_known) {
            return None;
        }
        let failing = results.iter().filter(|result| !result.verdict.is_pass()).count();
        Some(Self {
            checks: u32::try_from(failing).unwrap_or(u32::MAX),
            tests: results.iter().filter_map(|result| result.tests).reduce(TestCounts::plus),
        })
    }

    /// The number of failing tests, if it is known.
    pub fn failing_tests(self) -> Option<u32> {
        match (self.checks, self.tests) {
            (0, _) => Some(0),
            (_, tests) => tests.map(|tests| tests.failed).filter(|failed| *failed > 0),
        }
    }

    /// The failing tests, if the failing checks count them.
    pub fn failed_tests(self) -> Option<TestCounts> {
        self.tests.filter(|tests| self.checks > 0 && tests.failed > 0)
    }
}

/// How much failed over the run: consecutive equal results count once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailingCurve {
    points: Vec<Failing>,
    /// Whether points after the first were left out.
    is_cut: bool,
}

impl FailingCurve {
    /// The maximum number of points: the first, and the last ones.
    const MAX: usize = 5;

    /// Adds what a run of the checks showed.
    pub fn add(&mut self, failing: Failing) {
        if self.points.last() != Some(&failing) {
            self.points.push(failing);
        }
        if self.points.len() > Self::MAX {
            self.points.remove(1);
            self.is_cut = true;
        }
    }

    /// The first point, and the last ones.
    pub fn points(&self) -> &[Failing] {
        &self.points
    }

    /// Whether points after the first were left out.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The failures now; `None` before the checks have run.
    pub fn now(&self) -> Option<Failing> {
        self.points.last().copied()
    }
}

/// Whether a run of the checks is better than all before it in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// There is nothing to compare it with.
    First,
    /// Fewer tests or checks fail than ever before in the run.
    Better,
    /// As much fails as in the run of the checks before it.
    Same,
    /// More fails than in the run of the checks before it.
    Worse,
}

/// The commands of the checks that fail.
pub fn failing_commands(results: &[CheckResult]) -> BTreeSet<String> {
    let failing = results.iter().filter(|result| !result.verdict.is_pass());
    failing.map(|result| result.command.clone()).collect()
}

/// The number of problems that the failing linters and compilers report, if they do.
pub fn problems(results: &[CheckResult]) -> Option<u32> {
    let failing = results.iter().filter(|result| !result.verdict.is_pass());
    failing.filter_map(|result| test_counts::problems(&result.output)).reduce(u32::saturating_add)
}

/// Identifies how the failing checks fail: the same failure has the same signature in every run,
/// although times, addresses and line numbers differ.
pub fn signature(results: &[CheckResult]) -> String {
    let mut hasher = crc32fast::Hasher::new();
    for result in results.iter().filter(|result| !result.verdict.is_pass()) {
        hasher.update(result.command.as_bytes());
        let output = display_safe(&result.output);
        for line in failure_excerpt::excerpt(&output, SIGNATURE_LINES) {
            hasher.update(without_figures(line).as_bytes());
            hasher.update(b"\n");
        }
    }
    format!("{:08x}", hasher.finalize())
}

/// A number, with the word and the characters before it, that does not belong to a name.
static FIGURE: LazyLock<Regex> = LazyLock::new(|| {
    let address = r"\b0x[0-9a-fA-F]+|\b[0-9a-f]*\d[0-9a-f]{7,}\b|/tmp/\S+";
    let number = r"(?:(?<word>\w*[A-Za-z])[\s#:]+)?(?<number>\b\d[\d.,:]*(?:\s?(?:ns|µs|ms|s|sec|m|min|h)\b)?\b)";
    Regex::new(&format!("{address}|{number}")).expect("the pattern is a constant")
});

/// The words after which a number is a name: `test 3`.
const NAMES: [&str; 10] =
    ["case", "check", "example", "exercise", "item", "level", "part", "step", "task", "test"];

/// The line without what differs between two runs of the same failure.
fn without_figures(line: &str) -> String {
    let replaced = FIGURE.replace_all(line.trim(), |found: &Captures<'_>| {
        let word = found.name("word").map_or("", |word| word.as_str());
        let is_name = NAMES.contains(&word.to_ascii_lowercase().as_str());
        match found.name("number") {
            Some(_) if is_name => found[0].to_owned(),
            Some(number) => {
                format!("{}#", &found[0][..found[0].len() - number.as_str().len()])
            }
            None => "#".to_owned(),
        }
    });
    replaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::stream::outcome::ProcessExit;

    fn ended(verdict: CheckVerdict, output: &str) -> CheckResult {
        let (tests, output) = (test_counts::of(output), output.to_owned());
        let command = "make test".to_owned();
        CheckResult { command, verdict, output, tests, log: None, duration: Duration::ZERO }
    }

    fn failed(output: &str) -> CheckResult {
        ended(CheckVerdict::Failed { how: ProcessExit::Code(1) }, output)
    }

    #[test]
    fn failing_checks_and_tests_are_counted() {
        let passed = ended(CheckVerdict::Passed, "3 passed in 0.1s");
        let all = [passed, failed("2 failed, 12 passed in 0.1s"), failed("boom")];
        let tests = Some(TestCounts { failed: 2, total: 17 });
        assert_eq!(Failing::of(&all), Some(Failing { checks: 2, tests }));
        assert_eq!(failing_commands(&all).len(), 1, "the commands are equal");
    }

    #[test]
    fn a_check_without_a_result_leaves_unknown_how_much_fails() {
        assert_eq!(Failing::of(&[]), None);
        let results = [failed("boom"), ended(CheckVerdict::Interrupted, "")];
        assert_eq!(Failing::of(&results), None);
    }

    #[test]
    fn the_same_failure_has_the_same_signature_whatever_its_figures() {
        let alike = |one: &str, other: &str| {
            assert_eq!(signature(&[failed(one)]), signature(&[failed(other)]), "{one} / {other}");
        };
        alike("got 7 in 0.12s", "got 12 in 3.4 s");
        alike("src/a.rs:12:5: boom", "src/a.rs:40:1:  boom");
        alike("at 0x7ffe01 in /tmp/x.1", "at 0x55aa in /tmp/y.22");
        alike(
            "test a ... ok\n\nfailures:\n\n---- b stdout ----\nboom\n",
            "test c ... ok\ntest a ... ok\n\nfailures:\n\n---- b stdout ----\nboom\n",
        );
    }

    #[test]
    fn another_failure_has_another_signature() {
        let differ = |one: &str, other: &str| {
            assert_ne!(signature(&[failed(one)]), signature(&[failed(other)]), "{one} / {other}");
        };
        differ("one.txt is missing", "two.txt is missing");
        differ("file1 is missing", "file2 is missing");
        differ("test 1 is wrong", "test 2 is wrong");
    }
}
