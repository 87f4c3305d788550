//! Phrases for the results of checks.

use crate::baseline::{BaselineStatus, status};
use crate::input::{CheckResult, CheckVerdict};
use crate::outcome::count;
use crate::stream::outcome::ProcessExit;
use crate::test_counts::TestCounts;

/// The result of a check: `failed (exit 101)`.
pub fn check_verdict(verdict: &CheckVerdict) -> String {
    match verdict {
        CheckVerdict::Passed => "passed".to_owned(),
        CheckVerdict::Flaky => "failed, then passed when run again".to_owned(),
        CheckVerdict::Failed { how: ProcessExit::Code(code) } => format!("failed (exit {code})"),
        CheckVerdict::Failed { how: ProcessExit::Signal(signal) } => {
            format!("was killed by signal {signal}")
        }
        CheckVerdict::TimedOut => "timed out".to_owned(),
        CheckVerdict::NotStarted { why } => format!("could not be started: {why}"),
        CheckVerdict::Interrupted => "was interrupted".to_owned(),
    }
}

/// A check with its result: `` `cargo test` failed (exit 101) ``.
pub fn check(result: &CheckResult) -> String {
    format!("`{}` {}", result.command, check_verdict(&result.verdict))
}

/// The result of a check with its tests: `failed (exit 101), 2 of 14 tests failed`.
pub fn check_with_tests(verdict: &CheckVerdict, counts: Option<TestCounts>) -> String {
    let counts = counts.map(|counts| format!(", {}", test_counts(counts))).unwrap_or_default();
    format!("{}{counts}", check_verdict(verdict))
}

/// The result of a check before the first iteration: `2 of 14 tests failed`.
pub fn check_before(result: &CheckResult) -> String {
    match (status(result), result.tests) {
        (BaselineStatus::Passes, _) => "passed".to_owned(),
        (BaselineStatus::Fails, Some(counts)) if counts.failed > 0 => test_counts(counts),
        (BaselineStatus::Fails, _) => "failed".to_owned(),
        (BaselineStatus::Unknown, _) => "unknown".to_owned(),
    }
}

fn test_counts(counts: TestCounts) -> String {
    let TestCounts { failed, total } = counts;
    let total = count(total, "test");
    if failed == 0 { total } else { format!("{failed} of {total} failed") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_counted() {
        let failed = CheckVerdict::Failed { how: ProcessExit::Code(101) };
        let cases = [
            (None, "failed (exit 101)"),
            (Some(TestCounts { failed: 0, total: 1 }), "failed (exit 101), 1 test"),
            (Some(TestCounts { failed: 2, total: 14 }), "failed (exit 101), 2 of 14 tests failed"),
        ];
        for (counts, text) in cases {
            assert_eq!(check_with_tests(&failed, counts), text);
        }
    }
}
