//! Phrases for the results of checks.

use crate::baseline::{BaselineStatus, status};
use crate::failing::{Failing, FailingCurve};
use crate::input::{CheckResult, CheckVerdict};
use crate::outcome::count;
use crate::stream::outcome::ProcessExit;
use crate::test_counts::TestCounts;

/// The result of a check: `failed (exit 101)`.
pub fn check_verdict(verdict: &CheckVerdict) -> String {
    match verdict {
        CheckVerdict::Passed => "passed".to_owned(),
        CheckVerdict::Flaky => "failed, then passed on rerun".to_owned(),
        CheckVerdict::Failed { how: ProcessExit::Code(code) } => format!("failed (exit {code})"),
        CheckVerdict::Failed { how: ProcessExit::Signal(signal) } => {
            format!("failed (signal {signal})")
        }
        CheckVerdict::TimedOut => "timed out".to_owned(),
        CheckVerdict::NotStarted { why } => format!("cannot start: {why}"),
        CheckVerdict::Interrupted => "interrupted".to_owned(),
    }
}

/// The text of every screen if no check fails.
pub const CHECKS_PASSED: &str = "the checks passed";

/// A check with its result: `` `cargo test` failed (exit 101) ``.
pub fn check(result: &CheckResult) -> String {
    let outside = if result.outside { OUTSIDE } else { "" };
    format!("`{}` {}{outside}", result.command, check_verdict(&result.verdict))
}

/// The mark of a check that ran outside the sandbox.
pub const OUTSIDE: &str = ", outside the sandbox";

/// The result of a check with its tests: `failed (exit 101), 2 of 14 tests failed`.
pub fn check_with_tests(verdict: &CheckVerdict, counts: Option<TestCounts>) -> String {
    let counts = counts.map(|counts| format!(", {}", test_counts(counts))).unwrap_or_default();
    format!("{}{counts}", check_verdict(verdict))
}

/// How much fails: `2 of 14 tests fail`, `2 of 14 tests and 1 more check fail`, `1 check fails`,
/// `all checks pass`.
pub fn failing(failing: Failing) -> String {
    let Some(TestCounts { failed, total }) = failing.failed_tests() else {
        return match failing.checks {
            0 => "all checks pass".to_owned(),
            1 => "1 check fails".to_owned(),
            checks => format!("{checks} checks fail"),
        };
    };
    let tests =
        if failed == total { count(failed, "test") } else { format!("{failed} of {total} tests") };
    match failing.uncounted {
        0 if failed == 1 => format!("{tests} fails"),
        0 => format!("{tests} fail"),
        more => format!("{tests} and {} fail", count(more, "more check")),
    }
}

/// How much failed over the run: `failing 12 → 5 → 2`. Empty if nothing has ever failed.
pub fn failing_curve(curve: &FailingCurve) -> String {
    let points = curve.points();
    if points.iter().all(|point| point.checks == 0) {
        return String::new();
    }
    let counts_tests = points.iter().any(|point| point.failed_tests().is_some());
    let number = |point: &Failing| match (point.checks, point.failed_tests()) {
        (0, _) => "0".to_owned(),
        (_, Some(tests)) => tests.failed.to_string(),
        (checks, None) if counts_tests => count(checks, "check"),
        (checks, None) => checks.to_string(),
    };
    let mut numbers: Vec<_> = points.iter().map(number).collect();
    if curve.is_cut() {
        numbers.insert(1, "…".to_owned());
    }
    let what = if counts_tests { "failing" } else { "failing checks" };
    format!("{what} {}", numbers.join(" → "))
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
    fn the_curve_shows_the_first_result_and_the_last_ones() {
        let tests = |failed| Failing {
            checks: 1,
            uncounted: 0,
            tests: Some(TestCounts { failed, total: 14 }),
        };
        let passes = Failing { checks: 0, ..tests(0) };
        let check = |checks| Failing { checks, uncounted: checks, tests: None };
        let curve = |points: &[Failing]| {
            let mut curve = FailingCurve::default();
            for point in points {
                curve.add(*point);
            }
            failing_curve(&curve)
        };
        assert_eq!(curve(&[tests(12), tests(5), tests(5), tests(2)]), "failing 12 → 5 → 2");
        assert_eq!(curve(&[tests(2), passes]), "failing 2 → 0");
        assert_eq!(curve(&[check(1), tests(5)]), "failing 1 check → 5");
        assert_eq!(curve(&[check(2), check(1)]), "failing checks 2 → 1");
        let many: Vec<_> = (1..=9).rev().map(tests).collect();
        assert_eq!(curve(&many), "failing 9 → … → 4 → 3 → 2 → 1");
        assert_eq!((curve(&[passes]), curve(&[])), (String::new(), String::new()));
    }

    #[test]
    fn failing_tests_do_not_hide_failing_checks_without_counts() {
        let fails = |failed, checks, uncounted| {
            failing(Failing { checks, uncounted, tests: Some(TestCounts { failed, total: 14 }) })
        };
        assert_eq!(fails(2, 1, 0), "2 of 14 tests fail");
        assert_eq!(fails(1, 1, 0), "1 of 14 tests fails");
        assert_eq!(fails(2, 2, 1), "2 of 14 tests and 1 more check fail");
        assert_eq!(fails(1, 3, 2), "1 of 14 tests and 2 more checks fail");
        assert_eq!(fails(0, 1, 1), "1 check fails");
        assert_eq!(fails(14, 1, 0), "14 tests fail");
        assert_eq!(fails(0, 0, 0), "all checks pass");
    }

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
