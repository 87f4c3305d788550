//! How much fails, by one run of the checks: failing checks and failing tests.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::{CheckResult, CheckVerdict};
use crate::test_counts::TestCounts;

/// The number of checks and tests that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Failing {
    /// The number of checks that fail.
    pub checks: u32,
    /// The number of these that count no failing tests; absent for 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncounted: u32,
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
        let failing = || results.iter().filter(|result| !result.verdict.is_pass());
        let is_uncounted =
            |result: &&CheckResult| result.tests.is_none_or(|tests| tests.failed == 0);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Some(Self {
            checks: number(failing().count()),
            uncounted: number(failing().filter(is_uncounted).count()),
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
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
    #[serde(rename = "improved")]
    Better,
    /// As many tests or checks fail as when the checks last ran.
    Same,
    /// More tests or checks fail than when the checks last ran.
    Worse,
}

/// The commands of the checks that fail.
pub fn failing_commands(results: &[CheckResult]) -> BTreeSet<String> {
    let failing = results.iter().filter(|result| !result.verdict.is_pass());
    failing.map(|result| result.command.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::stream::outcome::ProcessExit;
    use crate::test_counts;

    fn ended(verdict: CheckVerdict, output: &str) -> CheckResult {
        let (tests, output) = (test_counts::of(output), output.to_owned());
        let command = "make test".to_owned();
        CheckResult {
            command,
            verdict,
            output,
            tests,
            log: None,
            duration: Duration::ZERO,
            outside: false,
        }
    }

    fn failed(output: &str) -> CheckResult {
        ended(CheckVerdict::Failed { how: ProcessExit::Code(1) }, output)
    }

    #[test]
    fn failing_checks_and_tests_are_counted() {
        let passed = ended(CheckVerdict::Passed, "3 passed in 0.1s");
        let all = [passed, failed("2 failed, 12 passed in 0.1s"), failed("boom")];
        let tests = Some(TestCounts { failed: 2, total: 17 });
        assert_eq!(Failing::of(&all), Some(Failing { checks: 2, uncounted: 1, tests }));
        assert_eq!(failing_commands(&all).len(), 1, "the commands are equal");
    }

    #[test]
    fn a_check_without_a_result_leaves_unknown_how_much_fails() {
        assert_eq!(Failing::of(&[]), None);
        let results = [failed("boom"), ended(CheckVerdict::Interrupted, "")];
        assert_eq!(Failing::of(&results), None);
    }
}
