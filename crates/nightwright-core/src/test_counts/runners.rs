//! The table of test runners, linters and compilers whose summaries are read.

/// A program, the pattern of its summary, and what it prints.
pub(super) struct Summary {
    pub(super) pattern: &'static str,
    /// Outputs, each with the number of failed tests and of all tests.
    #[cfg(test)]
    pub(super) samples: &'static [(&'static str, u32, u32)],
}

macro_rules! summaries {
    ($($pattern:literal: $(($output:literal, $failed:literal, $total:literal)),+;)+) => {
        &[$(Summary {
            pattern: $pattern,
            #[cfg(test)]
            samples: &[$(($output, $failed, $total)),+],
        }),+]
    };
}

/// Test runners. The groups are `passed`, `failed` (also `failed2`) and `total` (also `total2`);
/// `one_passed` and `one_failed` stand for one test each, and of `total` tests all but `right`
/// failed. If a runner prints several summaries, their numbers are added.
#[rustfmt::skip]
pub(super) const RUNNERS: &[Summary] = summaries![
    // cargo test
    r"(?m)^test result: \S+ (?<passed>\d+) passed; (?<failed>\d+) failed;":
        ("test result: FAILED. 12 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out", 2, 14),
        ("test result: ok. 2 passed; 0 failed; 0 ignored\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n", 1, 3);
    // cargo nextest
    r"(?m)^\s*Summary \[[^\]]*\]\s+\S+ tests? run: (?<passed>\d+) passed(?: \([^)]*\))?(?:, (?<failed>\d+) failed)?":
        ("     Summary [   0.010s] 5 tests run: 3 passed, 2 failed, 1 skipped", 2, 5),
        ("     Summary [   0.010s] 3 tests run: 3 passed, 1 skipped", 0, 3);
    // pytest
    r"(?m)^=* ?(?:(?<failed>\d+) failed(?:, )?)?(?:(?<passed>\d+) passed)?(?:, \d+ (?:skipped|deselected|xfailed|xpassed|warnings?))*(?:(?:, )?(?<failed2>\d+) errors?)? in [\d.]+s\b":
        ("=========== 1 failed, 2 passed, 1 warning in 0.12s ===========", 1, 3),
        ("============== 2 passed in 0.01s ==============", 0, 2),
        ("3 failed, 1 error in 0.05s", 4, 4),
        ("1 error in 0.05s", 1, 1);
    // jest
    r"(?m)^Tests:\s+(?:(?<failed>\d+) failed, )?(?:\d+ \w+, )*(?:(?<passed>\d+) passed, )?(?<total>\d+) total":
        ("Tests:       1 failed, 2 passed, 3 total", 1, 3),
        ("Tests:       3 passed, 3 total", 0, 3);
    // vitest
    r"(?m)^\s*Tests\s+(?:(?<failed>\d+) failed)?(?: \| )?(?:(?<passed>\d+) passed)?.*\(\d+\)":
        ("      Tests  1 failed | 2 passed (3)", 1, 3),
        ("\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[32m3 passed\x1b[39m\x1b[22m\x1b[90m (3)\x1b[39m", 0, 3);
    // node --test
    r"(?m)^(?:#|ℹ) pass (?<passed>\d+)\n(?:#|ℹ) fail (?<failed>\d+)":
        ("# tests 4\n# suites 0\n# pass 3\n# fail 1\n", 1, 4),
        ("ℹ pass 3\nℹ fail 0\n", 0, 3);
    // mocha
    r"(?m)^\s*(?<passed>\d+) passing \([^)]*\)(?:\n\s*\d+ pending)?(?:\n\s*(?<failed>\d+) failing)?":
        ("  3 passing (4ms)\n  1 failing\n", 1, 4);
    // bun test
    r"(?m)^\s*(?<passed>\d+) pass\n(?:\s*\d+ (?:skip|todo)\n)*\s*(?<failed>\d+) fail\b":
        (" 3 pass\n 1 fail\n 4 expect() calls\nRan 4 tests across 1 file. [12.00ms]", 1, 4);
    // deno test
    r"(?m)^(?:ok|FAILED) \| (?<passed>\d+) passed(?: \([^)]*\))? \| (?<failed>\d+) failed":
        ("FAILED | 3 passed | 1 failed (12ms)", 1, 4);
    // Playwright
    r"(?m)^\s+(?<failed>\d+) failed$|^\s+(?<passed>\d+) passed \([\d.]+m?s\)$":
        ("  1 failed\n    [chromium] > a.spec.ts:3:5 > adds\n  3 passed (5.2s)", 1, 4);
    // unittest
    r"(?m)^Ran (?<total>\d+) tests? in [\d.]+s\n\n(?:OK|FAILED \((?:failures=(?<failed>\d+))?(?:, )?(?:errors=(?<failed2>\d+))?)":
        ("Ran 5 tests in 0.001s\n\nFAILED (failures=2, errors=1)", 3, 5),
        ("Ran 5 tests in 0.001s\n\nFAILED (errors=1)", 1, 5),
        ("Ran 5 tests in 0.001s\n\nOK\n", 0, 5);
    // go test: without -v it lists only the tests that failed
    r"(?m)^\s*--- (?:(?<one_failed>FAIL)|(?<one_passed>PASS)): ":
        ("--- FAIL: TestAdd (0.00s)\n    add_test.go:9: got 3\nFAIL\nFAIL\texample.com/add\t0.002s", 1, 1),
        ("=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\n--- FAIL: TestSub (0.00s)\nFAIL", 1, 2);
    // Maven Surefire: the lines of single classes continue after the number of skipped tests
    r"(?m)^(?:\[\w+\]\s*)?Tests run: (?<total>\d+), Failures: (?<failed>\d+), Errors: (?<failed2>\d+), Skipped: \d+\s*$":
        ("[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.04 s <<< FAILURE!\n[INFO]\n[ERROR] Tests run: 14, Failures: 1, Errors: 1, Skipped: 0\n", 2, 14);
    // JUnit 4
    r"(?m)^Tests run: (?<total>\d+),\s+Failures: (?<failed>\d+)\s*$":
        ("FAILURES!!!\nTests run: 14,  Failures: 2\n", 2, 14);
    // JUnit 5
    r"(?m)^\[\s*(?<passed>\d+) tests successful\s*\]|^\[\s*(?<failed>\d+) tests failed\s*\]":
        ("[        12 tests successful      ]\n[         2 tests failed          ]", 2, 14);
    // Gradle
    r"(?m)^(?<total>\d+) tests? completed, (?<failed>\d+) failed":
        ("14 tests completed, 2 failed, 1 skipped", 2, 14);
    // PHPUnit, with failures
    r"(?m)^Tests: (?<total>\d+), Assertions: \d+(?:, Errors: (?<failed2>\d+))?(?:, Failures: (?<failed>\d+))?":
        ("FAILURES!\nTests: 14, Assertions: 20, Errors: 1, Failures: 2.", 3, 14),
        ("Tests: 14, Assertions: 20, Failures: 2.", 2, 14);
    // PHPUnit and JUnit 4, without
    r"(?m)^OK \((?<total>\d+) tests?(?:, \d+ assertions?)?\)":
        ("OK (14 tests, 20 assertions)", 0, 14),
        ("OK (1 test)", 0, 1);
    // dotnet test
    r"(?m)^(?:Passed|Failed)!\s+- Failed:\s+(?<failed>\d+), Passed:\s+(?<passed>\d+),":
        ("Failed!  - Failed:     2, Passed:    12, Skipped:     0, Total:    14, Duration: 8 ms - a.dll (net8.0)", 2, 14),
        ("Passed!  - Failed:     0, Passed:    14, Skipped:     0, Total:    14, Duration: 8 ms", 0, 14);
    // VSTest
    r"(?m)^Total tests: (?<total>\d+)\n(?:\s*Passed: \d+\n)?(?:\s*Failed: (?<failed>\d+))?":
        ("Total tests: 14\n     Passed: 12\n     Failed: 2\n", 2, 14);
    // RSpec
    r"(?m)^(?<total>\d+) examples?, (?<failed>\d+) failures?":
        ("14 examples, 2 failures", 2, 14);
    // minitest
    r"(?m)^(?<total>\d+) runs?, \d+ assertions?, (?<failed>\d+) failures?, (?<failed2>\d+) errors?":
        ("14 runs, 20 assertions, 2 failures, 1 errors, 0 skips", 3, 14);
    // ExUnit and Bats
    r"(?m)^(?:\d+ doctests?, )?(?<total>\d+) tests?, (?<failed>\d+) failures?":
        ("1 doctest, 14 tests, 2 failures", 2, 14),
        ("5 tests, 1 failure", 1, 5);
    // CTest
    r"(?m)tests passed, (?<failed>\d+) tests failed out of (?<total>\d+)":
        ("86% tests passed, 2 tests failed out of 14", 2, 14);
    // prove
    r"(?m)(?<failed>\d+)/(?<total>\d+) subtests failed|^All tests successful\.\nFiles=\d+, Tests=(?<total2>\d+),":
        ("Failed 1/3 test programs. 2/14 subtests failed.\nFiles=3, Tests=14,  0 wallclock secs", 2, 14),
        ("All tests successful.\nFiles=3, Tests=14,  0 wallclock secs", 0, 14);
    // TAP; a test that is still to do has a directive after its name
    r"(?m)^(?:(?<one_passed>ok)|(?<one_failed>not ok)) \d+\b[^#\n]*$":
        ("TAP version 13\n1..3\nok 1 - adds\nnot ok 2 - subtracts\nnot ok 3 - divides # TODO\n", 1, 2);
    // Scripts
    r"(?m)\b(?<right>\d+)(?: of |/)(?<total>\d+)(?: (?:tests?|checks?|cases?))? (?:pass(?:ed|ing)?|ok|correct|done)\b":
        ("score: 3 of 5 tests passed", 2, 5),
        ("3/5 ok", 2, 5);
    r"(?m)\b(?<failed>\d+)(?: of |/)(?<total>\d+)(?: (?:tests?|checks?|cases?))? (?:fail(?:ed|ing|ures?)?|wrong|missing)\b":
        ("2 of 5 checks failed", 2, 5);
    r"(?m)^\W*(?:\w+: )?(?<passed>\d+) passed, (?<failed>\d+) failed\b":
        ("results: 3 passed, 2 failed", 2, 5);
];

/// Linters, type checkers and compilers, with the group `found`. A sample has the same number
/// twice.
#[rustfmt::skip]
pub(super) const PROBLEMS: &[Summary] = summaries![
    // rustc and clippy
    r"(?m)due to (?<found>\d+) previous errors?":
        ("error: could not compile `x` (lib) due to 3 previous errors; 1 warning emitted", 3, 3);
    // ESLint
    r"(?m)^✖ (?<found>\d+) problems?":
        ("✖ 12 problems (10 errors, 2 warnings)", 12, 12);
    // tsc, mypy, ruff and others
    r"(?mi)\bfound (?<found>\d+) (?:errors?|problems?|issues?|violations?|warnings?)":
        ("Found 5 errors in 2 files.", 5, 5),
        ("Found 1 error (1 fixable with the --fix option).", 1, 1);
    r"(?mi)^\W*(?:\w+: )?(?<found>\d+) (?:errors?|problems?|issues?|violations?)\b":
        ("3 errors generated.", 3, 3);
];
