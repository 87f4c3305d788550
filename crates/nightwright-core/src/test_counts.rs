//! Test counts of a check, parsed from its output.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The test counts of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TestCounts {
    /// The number of tests that failed.
    pub failed: u32,
    /// The number of tests that passed or failed.
    pub total: u32,
}

/// One pattern per test runner, with the groups `passed`, `failed` (also `failed2`) and `total`. If
/// a runner prints several summaries, their numbers are added.
const RUNNERS: [&str; 10] = [
    // cargo test
    r"(?m)^test result: \S+ (?<passed>\d+) passed; (?<failed>\d+) failed;",
    // cargo nextest
    r"(?m)^\s*Summary \[[^\]]*\]\s+\S+ tests? run: (?<passed>\d+) passed(?: \([^)]*\))?(?:, (?<failed>\d+) failed)?",
    // pytest
    r"(?m)^=* ?(?:(?<failed>\d+) failed(?:, )?)?(?:(?<passed>\d+) passed)?(?:, \d+ (?:skipped|deselected|xfailed|xpassed|warnings?))*(?:, (?<failed2>\d+) errors?)? in [\d.]+s\b",
    // jest
    r"(?m)^Tests:\s+(?:(?<failed>\d+) failed, )?(?:\d+ \w+, )*(?:(?<passed>\d+) passed, )?(?<total>\d+) total",
    // vitest
    r"(?m)^\s*Tests\s+(?:(?<failed>\d+) failed)?(?: \| )?(?:(?<passed>\d+) passed)?.*\(\d+\)",
    // node --test
    r"(?m)^(?:#|ℹ) pass (?<passed>\d+)\n(?:#|ℹ) fail (?<failed>\d+)",
    // mocha
    r"(?m)^\s*(?<passed>\d+) passing \([^)]*\)(?:\n\s*\d+ pending)?(?:\n\s*(?<failed>\d+) failing)?",
    // unittest
    r"(?m)^Ran (?<total>\d+) tests? in [\d.]+s\n\n(?:OK|FAILED \((?:failures=(?<failed>\d+))?(?:, )?(?:errors=(?<failed2>\d+))?)",
    // RSpec
    r"(?m)^(?<total>\d+) examples?, (?<failed>\d+) failures?",
    // CTest
    r"(?m)tests passed, (?<failed>\d+) tests failed out of (?<total>\d+)",
];

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compile = |pattern: &&str| Regex::new(pattern).expect("the patterns are constants");
    RUNNERS.iter().map(compile).collect()
});

static COLOURS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("\x1b\\[[0-9;]*m").expect("the pattern is a constant"));

/// The counts in this output, by the first runner whose pattern matches; `None` if there is none.
pub fn of(output: &str) -> Option<TestCounts> {
    let output = COLOURS.replace_all(output, "");
    PATTERNS.iter().find_map(|pattern| {
        let mut all: Option<TestCounts> = None;
        for found in pattern.captures_iter(&output) {
            let number = |name| {
                let text = found.name(name)?;
                text.as_str().parse::<u32>().ok()
            };
            let failed =
                number("failed").unwrap_or(0).saturating_add(number("failed2").unwrap_or(0));
            let passed = number("passed").unwrap_or(0);
            let total = number("total").unwrap_or_else(|| passed.saturating_add(failed));
            let before = all.unwrap_or(TestCounts { failed: 0, total: 0 });
            all = Some(TestCounts {
                failed: before.failed.saturating_add(failed),
                total: before.total.saturating_add(total),
            });
        }
        all.filter(|counts| counts.total > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(output: &str) -> Option<(u32, u32)> {
        of(output).map(|counts| (counts.failed, counts.total))
    }

    #[test]
    fn each_runner_is_read_by_its_own_summary() {
        let cases = [
            (
                "test result: FAILED. 12 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
                (2, 14),
            ),
            ("     Summary [   0.010s] 5 tests run: 3 passed, 2 failed, 1 skipped", (2, 5)),
            ("     Summary [   0.010s] 3 tests run: 3 passed, 1 skipped", (0, 3)),
            ("=========== 1 failed, 2 passed, 1 warning in 0.12s ===========", (1, 3)),
            ("============== 2 passed in 0.01s ==============", (0, 2)),
            ("3 failed, 1 error in 0.05s", (4, 4)),
            ("Tests:       1 failed, 2 passed, 3 total", (1, 3)),
            ("Tests:       3 passed, 3 total", (0, 3)),
            ("      Tests  1 failed | 2 passed (3)", (1, 3)),
            (
                "\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[32m3 passed\x1b[39m\x1b[22m\x1b[90m (3)\x1b[39m",
                (0, 3),
            ),
            ("# tests 4\n# suites 0\n# pass 3\n# fail 1\n", (1, 4)),
            ("ℹ pass 3\nℹ fail 0\n", (0, 3)),
            ("  3 passing (4ms)\n  1 failing\n", (1, 4)),
            ("Ran 5 tests in 0.001s\n\nFAILED (failures=2, errors=1)", (3, 5)),
            ("Ran 5 tests in 0.001s\n\nFAILED (errors=1)", (1, 5)),
            ("Ran 5 tests in 0.001s\n\nOK\n", (0, 5)),
            ("14 examples, 2 failures", (2, 14)),
            ("86% tests passed, 2 tests failed out of 14", (2, 14)),
        ];
        for (output, expected) in cases {
            assert_eq!(counts(output), Some(expected), "{output}");
        }
    }

    #[test]
    fn the_test_binaries_of_a_crate_add_up() {
        let one = "test result: ok. 2 passed; 0 failed; 0 ignored\n";
        let two = "test result: FAILED. 0 passed; 1 failed; 0 ignored\n";
        assert_eq!(counts(&format!("{one}{two}")), Some((1, 3)));
    }

    #[test]
    fn other_output_has_no_counts() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored\n";
        for output in ["", "boom", "compiled in 3s", "finished in 0.10s", none] {
            assert_eq!(counts(output), None, "{output}");
        }
    }
}
