//! Test counts of a check, parsed from its output.

mod runners;

use std::sync::LazyLock;

use regex::{Captures, Regex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::runners::{PROBLEMS, RUNNERS, Summary};

/// The test counts of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TestCounts {
    /// The number of tests that failed.
    pub failed: u32,
    /// The number of tests that passed or failed.
    pub total: u32,
}

impl TestCounts {
    /// The number of tests that passed.
    pub fn passed(self) -> u32 {
        self.total.saturating_sub(self.failed)
    }

    /// The counts of two checks together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            failed: self.failed.saturating_add(other.failed),
            total: self.total.saturating_add(other.total),
        }
    }
}

static RUNNER_PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(RUNNERS));
static PROBLEM_PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(PROBLEMS));

fn compiled(table: &[Summary]) -> Vec<Regex> {
    let compile = |summary: &Summary| {
        Regex::new(summary.pattern).expect("a test compiles every pattern of the table")
    };
    table.iter().map(compile).collect()
}

static COLOURS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("\x1b\\[[0-9;]*m").expect("the pattern is a constant"));

/// The counts in this output, by the first runner whose pattern matches; `None` if there is none.
pub fn of(output: &str) -> Option<TestCounts> {
    let output = COLOURS.replace_all(output, "");
    RUNNER_PATTERNS.iter().find_map(|pattern| {
        let sum = pattern.captures_iter(&output).map(|found| counts(&found));
        sum.reduce(TestCounts::plus).filter(|counts| counts.total > 0)
    })
}

/// The number of problems that a linter or a compiler reports at its end.
pub fn problems(output: &str) -> Option<u32> {
    let output = COLOURS.replace_all(output, "");
    PROBLEM_PATTERNS.iter().find_map(|pattern| {
        let all = pattern.captures_iter(&output).filter_map(|found| number(&found, "found"));
        all.reduce(u32::saturating_add)
    })
}

fn counts(found: &Captures<'_>) -> TestCounts {
    let number = |name| number(found, name);
    let one = |name| u32::from(found.name(name).is_some());
    let failed = [number("failed"), number("failed2"), Some(one("one_failed"))];
    let failed = failed.into_iter().flatten().fold(0, u32::saturating_add);
    let passed = number("passed").unwrap_or(0).saturating_add(one("one_passed"));
    match (number("total").or_else(|| number("total2")), number("right")) {
        (Some(total), Some(right)) => TestCounts { failed: total.saturating_sub(right), total },
        (Some(total), None) => TestCounts { failed: failed.min(total), total },
        (None, _) => TestCounts { failed, total: passed.saturating_add(failed) },
    }
}

fn number(found: &Captures<'_>, name: &str) -> Option<u32> {
    found.name(name)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_runner_is_read_by_its_own_summary() {
        for Summary { pattern, samples } in RUNNERS {
            for (output, failed, total) in *samples {
                let expected = TestCounts { failed: *failed, total: *total };
                assert_eq!(of(output), Some(expected), "{pattern}\n{output}");
            }
        }
    }

    #[test]
    fn linters_and_compilers_count_their_problems() {
        for Summary { pattern, samples } in PROBLEMS {
            for (output, expected, _) in *samples {
                assert_eq!(problems(output), Some(*expected), "{pattern}\n{output}");
                assert_eq!(of(output), None, "{output}");
            }
        }
    }

    #[test]
    fn other_output_has_no_counts() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored\n";
        for output in ["", "boom", "compiled in 3s", "finished in 0.10s", none] {
            assert_eq!(of(output), None, "{output}");
            assert_eq!(problems(output), None, "{output}");
        }
    }

    proptest! {
        #[test]
        fn no_output_makes_a_pattern_panic(noise in "(?s).{0,200}", at in 0_usize..60, digits in "[0-9]{1,30}") {
            let sample = RUNNERS[at % RUNNERS.len()].samples[0].0;
            let broken = sample.replace(|c: char| c.is_ascii_digit(), &digits);
            for output in [noise.clone(), format!("{noise}\n{sample}\n{noise}"), broken] {
                let counts = of(&output);
                prop_assert!(counts.is_none_or(|counts| counts.failed <= counts.total));
                let _ = problems(&output);
            }
        }
    }
}
