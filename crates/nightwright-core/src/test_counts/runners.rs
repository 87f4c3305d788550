//! The tables of test runners, linters and compilers whose summaries are read.

/// A summary that a program prints, and its pattern. It begins at the start of a line, or behind
/// the name of the package or service that a task runner puts there.
pub(super) struct Summary {
    pub(super) pattern: &'static str,
    /// Outputs, each with the number of failed tests and of all tests.
    #[cfg(test)]
    pub(super) samples: &'static [(&'static str, u32, u32)],
}

/// Summaries of the same tests: the first that an output contains counts.
pub(super) type Family = &'static [Summary];

macro_rules! families {
    ($([$($pattern:literal: $(($output:literal, $failed:literal, $total:literal)),+;)+])+) => {
        &[$(&[$(Summary {
            pattern: $pattern,
            #[cfg(test)]
            samples: &[$(($output, $failed, $total)),+],
        }),+]),+]
    };
}

/// The meaning of a number in a summary.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Failed,
    Passed,
    /// Tests that did not run, although the total contains them.
    Skipped,
    Total,
}

/// The meaning of the number next to this word of a summary; `None` if it does not matter.
pub(super) fn meaning(word: &str) -> Option<Meaning> {
    match word {
        "failed"
        | "fail"
        | "failure"
        | "failures"
        | "errors"
        | "error"
        | "timed out"
        | "exec failed"
        | "invalid"
        | "unexpected successes"
        | "error occurred outside of examples"
        | "errors occurred outside of examples" => Some(Meaning::Failed),
        "passed" | "pass" | "succeeded" | "failed as expected" => Some(Meaning::Passed),
        "skipped" | "skips" | "skip" | "todo" | "todos" | "pending" | "pendings" | "excluded"
        | "incomplete" | "ignored" | "omissions" | "canceled" => Some(Meaning::Skipped),
        "total" | "tests" | "test" | "tests run" | "tests completed" | "test completed"
        | "examples" | "example" | "runs" | "run" | "doctests" | "doctest" | "properties"
        | "property" => Some(Meaning::Total),
        _ => None,
    }
}

/// Test runners. The groups are `failed`, `passed`, `skipped` and `total`, also with a digit
/// behind them; `parts` holds numbers with their words. `one_passed` and `one_failed` stand for
/// one test each, unless `not_counted` is found, too. Of `total` tests all but `right` failed.
/// If a runner prints several summaries, their numbers are added.
#[rustfmt::skip]
pub(super) const RUNNERS: &[Family] = families![
    [
        // cargo test
        r"test result: \S+ (?<passed>\d+) passed; (?<failed>\d+) failed;":
            ("test result: FAILED. 12 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out", 2, 14),
            ("test result: ok. 2 passed; 0 failed; 0 ignored\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n", 1, 3),
            ("web-1  | test result: FAILED. 12 passed; 2 failed; 0 ignored\n", 2, 14),
            ("failures:\n\n---- tests::nested stdout ----\nfailures:\n    inner::x\n\ntest result: FAILED. 3 passed; 2 failed; 0 ignored\n\nthread 'tests::nested' panicked\n\n\nfailures:\n    tests::nested\n\ntest result: FAILED. 4 passed; 1 failed; 1 ignored; 0 measured\n", 1, 5);
    ]
    [
        // cargo nextest: the output of tests is indented further
        r" {5}Summary \[[^\]]*\]\s+\S+ tests? run: (?<parts>.*)$":
            ("     Summary [   0.010s] 5 tests run: 3 passed, 2 failed, 1 skipped", 2, 5),
            ("     Summary [   0.010s] 3 tests run: 3 passed, 1 skipped", 0, 3),
            ("     Summary [   0.010s] 3 tests run: 3 passed (1 slow, 1 flaky), 1 skipped", 0, 3),
            ("     Summary [   1.020s] 5 tests run: 3 passed, 1 failed, 1 timed out, 1 skipped", 2, 5),
            ("     Summary [   0.020s] 5/9 tests run: 3 passed, 1 failed, 1 exec failed, 1 skipped", 2, 5),
            ("  stdout ───\n\n    test result: FAILED. 3 passed; 2 failed; 0 ignored\n         Summary [   0.010s] 5 tests run: 3 passed, 2 failed, 1 skipped\n\n     Summary [   0.020s] 5 tests run: 4 passed, 1 failed", 1, 5);
    ]
    [
        // pytest
        r"=* ?(?<parts>\d+ (?:(?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests \w+)(?:, \d+ )?)+) in [\d.]+s\b":
            ("=========== 1 failed, 2 passed, 1 warning in 0.12s ===========", 1, 3),
            ("============== 2 passed in 0.01s ==============", 0, 2),
            ("========================= 1 warning, 1 error in 0.13s ==========================", 1, 1),
            ("========================= 1 skipped, 2 errors in 0.07s =========================", 2, 2),
            ("===================== 1 failed, 1 passed, 3 rerun in 0.03s =====================", 1, 2),
            ("================ 2 failed, 2 passed, 2 subtests passed in 0.02s ================", 2, 4),
            ("1 failed, 2 passed, 1 skipped, 1 xfailed in 75.32s (0:01:15)", 1, 3),
            ("3 failed, 1 error in 0.05s", 4, 4),
            ("1 error in 0.05s", 1, 1);
    ]
    [
        // jest: the output of tests is indented
        r"Tests: +(?<parts>(?:\d+ \w+, )*\d+ total)":
            ("Tests:       1 failed, 2 passed, 3 total", 1, 3),
            ("Tests:       3 passed, 3 total", 0, 3),
            ("  console.log\n    Tests:       9 failed, 1 passed, 10 total\n\nTests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total\n", 1, 3),
            ("packages/web test: Tests:       1 failed, 2 passed, 3 total", 1, 3),
            ("[web] Tests:       1 failed, 2 passed, 3 total", 1, 3);
    ]
    [
        // vitest
        r" {6}Tests  (?<parts>\d.*) \(\d+\)(?:\n +Errors  (?<failed>\d+) errors?)?":
            ("      Tests  1 failed | 2 passed (3)", 1, 3),
            ("\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[32m3 passed\x1b[39m\x1b[22m\x1b[90m (3)\x1b[39m\n\x1b[2m   Start at \x1b[22m 15:20:02", 0, 3),
            ("stdout | a.test.mjs > e\nTests  9 failed | 1 passed (10)\n\n      Tests  1 failed | 2 passed | 1 skipped | 1 todo (5)\n   Start at  15:20:01\n", 1, 3),
            (" Test Files  1 passed (1)\n      Tests  12 passed (12)\n     Errors  1 error\n   Start at  15:20:02\n", 1, 13),
            ("web:test:       Tests  1 failed | 2 passed (3)\nweb:test:    Start at  15:20:01", 1, 3);
    ]
    [
        // node --test and tape
        r"(?:#|ℹ) pass +(?<passed>\d+)\n(?:#|ℹ) fail +(?<failed>\d+)(?:\n(?:#|ℹ) cancelled (?<failed2>\d+))?":
            ("# tests 4\n# suites 0\n# pass 3\n# fail 1\n", 1, 4),
            ("ok 1 - a\nnot ok 2 - b\n1..2\n# tests 2\n# pass  1\n# fail  1\n", 1, 2),
            ("ℹ tests 8\nℹ suites 0\nℹ pass 2\nℹ fail 2\nℹ cancelled 2\nℹ skipped 1\nℹ todo 1\n", 4, 6),
            ("ℹ pass 3\r\nℹ fail 1\r\nℹ cancelled 0\r\n", 1, 4),
            ("api | ℹ pass 3\napi | ℹ fail 0\napi | ℹ cancelled 0\n", 0, 3);
        // tap
        r"# \{ (?<parts>total: .*) \}":
            ("TAP version 14\n1..1\n# Subtest: t/a.mjs\nnot ok 1 - t/a.mjs # time=18.991ms\n\n# { total: 4, pass: 2, fail: 1, skip: 1 }\n", 1, 3);
        // prove
        r"Failed \d+/\d+ test programs\. (?<failed>\d+)/(?<total>\d+) subtests failed|All tests successful\.\nFiles=\d+, Tests=(?<total2>\d+),":
            ("Failed 1/3 test programs. 2/14 subtests failed.\nFiles=3, Tests=14,  0 wallclock secs", 2, 14),
            ("t/a.t .. ok\nAll tests successful.\nFiles=3, Tests=14,  0 wallclock secs", 0, 14);
        // TAP; a test that is still to do has a directive after its name
        r"(?:(?<one_passed>ok)|(?<one_failed>not ok)) \d+\b.*?(?<not_counted># (?i:todo|skip)\b.*)?$":
            ("TAP version 13\n1..3\nok 1 - adds\nnot ok 2 - subtracts\nnot ok 3 - divides # TODO\n", 1, 2),
            ("1..3\nok 1 a\nnot ok 2 b #4\n# (in test file a.bats, line 2)\nok 3 c # skip\n", 1, 2);
    ]
    [
        // mocha
        r" {2}(?<passed>\d+) passing \([^)]*\)(?:\n {2}\d+ pending)?(?:\n {2}(?<failed>\d+) failing)?":
            ("  3 passing (4ms)\n  1 failing\n", 1, 4),
            ("  1 passing (3ms)\r\n  2 pending\r\n  2 failing\r\n", 2, 3);
    ]
    [
        // AVA
        r" {2}(?<passed>\d+) tests? passed$| {2}(?<failed>\d+) tests? failed$| {2}(?<failed2>\d+) (?:uncaught exception|unhandled rejection)s?$":
            ("  ─\n\n  3 tests passed\n  1 test failed\n  1 known failure\n  1 test skipped\n  1 test todo\n", 1, 4),
            ("  ─\n\n  2 tests passed\n  1 uncaught exception\n", 1, 3);
    ]
    [
        // bun test
        r" (?<passed>\d+) pass\n(?: \d+ (?:skip|todo)\n)* (?<failed>\d+) fail\b(?:\n (?<failed2>\d+) errors?\b)?":
            (" 3 pass\n 1 fail\n 4 expect() calls\nRan 4 tests across 1 file. [12.00ms]", 1, 4);
    ]
    [
        // deno test
        r"(?:ok|FAILED) \| (?<parts>\d+ passed.*)$":
            ("FAILED | 3 passed | 1 failed (12ms)", 1, 4),
            ("FAILED | 3 passed (2 steps) | 1 failed (1 step) | 1 ignored (12ms)", 1, 4);
    ]
    [
        // Playwright
        r" {2}(?<failed>\d+) failed$| {2}(?<passed>\d+) flaky$| {2}(?<passed2>\d+) passed \([\d.]+(?:ms|s|m|h)\)$":
            ("  1 failed\n    [chromium] › a.spec.ts:3:5 › adds ─────\n  3 passed (5.2s)", 1, 4),
            ("  2 failed\n    a.spec.js:2:18 › b ─────\n    a.spec.js:5:1 › to ─────\n  1 flaky\n    a.spec.js:4:1 › fl ─────\n  1 skipped\n  1 passed (1.2m)\n", 2, 4);
    ]
    [
        // unittest
        r"Ran (?<total>\d+) tests? in [\d.]+s\n\n\w+(?: \((?<parts>[^)]*)\))?":
            ("Ran 5 tests in 0.001s\n\nFAILED (failures=2, errors=1)", 3, 5),
            ("Ran 5 tests in 0.001s\n\nFAILED (errors=1)", 1, 5),
            ("Ran 5 tests in 0.000s\n\nFAILED (failures=1, skipped=1, expected failures=1, unexpected successes=1)\n", 2, 4),
            ("Ran 2 tests in 0.000s\r\n\r\nFAILED (skipped=1, unexpected successes=1)\r\n", 1, 1),
            ("Ran 5 tests in 0.001s\n\nOK\n", 0, 5);
    ]
    [
        // gotestsum
        r"DONE (?:\d+ runs, )?(?<parts>\d+ tests?(?:, \d+ \w+)*) in ":
            ("--- FAIL: TestB (0.00s)\n=== FAIL: ok TestB (0.00s)\n    a_test.go:4: x\n\nDONE 14 tests, 1 skipped, 2 failures in 0.412s\n", 2, 13);
        // go test -json
        r#"\{"Time":"[^"]*","Action":"(?:(?<one_passed>pass)|(?<one_failed>fail))","Package":"[^"]*","Test":""#:
            ("{\"Time\":\"2026-11-19T15:20:18.337Z\",\"Action\":\"output\",\"Package\":\"x/ok\",\"Test\":\"TestB\",\"Output\":\"--- FAIL: TestB (0.00s)\\n\"}\n{\"Time\":\"2026-11-19T15:20:18.339Z\",\"Action\":\"fail\",\"Package\":\"x/ok\",\"Test\":\"TestB\",\"Elapsed\":0}\n", 1, 1),
            ("{\"Time\":\"2026-11-19T15:20:18.338Z\",\"Action\":\"pass\",\"Package\":\"x/ok\",\"Test\":\"TestA\",\"Elapsed\":0}\n{\"Time\":\"2026-11-19T15:20:18.339Z\",\"Action\":\"fail\",\"Package\":\"x/ok\",\"Elapsed\":0.005}\n", 0, 1);
        // go test: without -v it lists only the tests that failed
        r"\s*--- (?:(?<one_failed>FAIL)|(?<one_passed>PASS)): ":
            ("--- FAIL: TestAdd (0.00s)\n    add_test.go:9: got 3\nFAIL\nFAIL\texample.com/add\t0.002s", 1, 1),
            ("=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\n--- FAIL: TestSub (0.00s)\nFAIL", 1, 2);
    ]
    [
        // Maven Surefire: the lines of single classes continue after the number of skipped tests
        r"(?<parts>Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+)(?:, Flakes: \d+)? *$":
            ("[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.04 s <<< FAILURE!\n[INFO]\n[ERROR] Tests run: 14, Failures: 1, Errors: 1, Skipped: 0\n", 2, 14),
            ("[WARNING] Tests run: 14, Failures: 0, Errors: 0, Skipped: 2, Flakes: 1\n", 0, 12);
        // Gradle
        r"(?<parts>\d+ tests? completed, \d+ failed(?:, \d+ skipped)?)":
            ("14 tests completed, 2 failed, 1 skipped", 2, 13);
        // JUnit 5
        r"\[\s*(?<passed>\d+) tests successful\s*\]|\[\s*(?<failed>\d+) tests failed\s*\]":
            ("[        12 tests successful      ]\n[         2 tests failed          ]", 2, 14);
        // JUnit 4
        r"(?<parts>Tests run: \d+,\s+Failures: \d+) *$":
            ("FAILURES!!!\nTests run: 14,  Failures: 2\n", 2, 14);
    ]
    [
        // sbt, whatever the library
        r"(?:Passed|Failed|Error): (?<parts>Total \d+, Failed \d+, Errors \d+, Passed \d+.*)$":
            ("[info] Tests: succeeded 12, failed 2, canceled 0, ignored 0, pending 0\n[error] Failed: Total 14, Failed 2, Errors 0, Passed 12\n", 2, 14),
            ("[info] Passed: Total 14, Failed 0, Errors 0, Passed 12, Skipped 2\n", 0, 12);
    ]
    [
        // PHPUnit
        r"(?<parts>Tests: \d+, Assertions: \d+.*)$":
            ("FAILURES!\nTests: 14, Assertions: 20, Errors: 1, Failures: 2.", 3, 14),
            ("ERRORS!\nTests: 6, Assertions: 2, Errors: 1, Failures: 1, Skipped: 1, Incomplete: 1, Risky: 1.\n", 2, 4),
            ("OK, but incomplete, skipped, or risky tests!\nTests: 2, Assertions: 1, Skipped: 1.\n", 0, 1);
        // PHPUnit and JUnit 4, without failures
        r"OK \((?<total>\d+) tests?(?:, \d+ assertions?)?\)":
            ("OK (14 tests, 20 assertions)", 0, 14),
            ("OK (1 test)", 0, 1);
        // Pest and `artisan test`
        r"  Tests: +(?<parts>\d+ \w+(?:, \d+ \w+)*)(?: \(\d+ assertions?\))?$":
            ("\n  Tests:    2 failed, 1 skipped, 12 passed (20 assertions)\n  Duration: 0.14s\n", 2, 14),
            ("  Tests:  1 failed, 2 passed\n  Time:   0.05s\n", 1, 3);
    ]
    [
        // dotnet test, with the Microsoft Testing Platform
        r"  total: (?<total>\d+)\n  failed: (?<failed>\d+)\n  succeeded: \d+\n  skipped: (?<skipped>\d+)":
            ("Test run summary: Failed!\n  bin/Debug/net10.0/a.dll (net10.0|x64) failed with 2 error(s) (1s 23ms)\n\n  total: 15\n  failed: 2\n  succeeded: 12\n  skipped: 1\n  duration: 1s 23ms\n", 2, 14);
        // dotnet test, with the terminal logger
        r"Test summary: (?<parts>total: \d+, failed: \d+, succeeded: \d+, skipped: \d+)":
            ("  a test net9.0 failed with 2 error(s) (0.9s)\n\nTest summary: total: 15, failed: 2, succeeded: 12, skipped: 1, duration: 0.9s\n", 2, 14);
        // dotnet test
        r"(?:Passed|Failed)!\s+- (?<parts>Failed: .*, Total: +\d+)":
            ("Failed!  - Failed:     2, Passed:    12, Skipped:     1, Total:    15, Duration: 8 ms - a.dll (net8.0)", 2, 14),
            ("Passed!  - Failed:     0, Passed:    14, Skipped:     0, Total:    14, Duration: 8 ms", 0, 14);
        // VSTest
        r"Total tests: (?<total>\d+)(?:\n +Passed: \d+)?(?:\n +Failed: (?<failed>\d+))?(?:\n +Skipped: (?<skipped>\d+))?":
            ("Total tests: 15\n     Passed: 12\n     Failed: 2\n    Skipped: 1\n", 2, 14);
    ]
    [
        // RSpec
        r"(?<parts>\d+ examples?, \d+ failures?(?:, \d+ .*)?)$":
            ("14 examples, 2 failures", 2, 14),
            ("14 examples, 2 failures, 3 pending\n", 2, 11),
            ("14 examples, 0 failures, 1 error occurred outside of examples\n", 1, 14),
            ("0 examples, 0 failures, 1 error occurred outside of examples\n", 1, 1);
    ]
    [
        // minitest and test-unit
        r"(?<parts>\d+ (?:runs?|tests?), \d+ assertions?, \d+ failures?, \d+ errors?(?:, \d+ \w+)*)":
            ("14 runs, 20 assertions, 2 failures, 1 errors, 0 skips", 3, 14),
            ("5 runs, 2 assertions, 1 failures, 1 errors, 2 skips\n", 2, 3),
            ("5 tests, 2 assertions, 1 failures, 1 errors, 1 pendings, 1 omissions, 0 notifications\n25% passed\n", 2, 3);
    ]
    [
        // ExUnit and Bats
        r"(?<parts>(?:\d+ (?:doctests?|propert(?:y|ies)), )*\d+ tests?, \d+ failures?(?:, \d+ \w+)*)":
            ("1 doctest, 14 tests, 2 failures", 2, 15),
            ("5 properties, 14 tests, 2 failures, 3 excluded, 1 skipped\n", 2, 15),
            ("3 tests, 1 failure, 1 skipped\n", 1, 2),
            ("5 tests, 1 failure", 1, 5);
    ]
    [
        // CTest
        r"\d+% tests passed, (?<failed>\d+) tests failed out of (?<total>\d+)":
            ("[  PASSED  ] 1 test.\n[  FAILED  ] 2 tests, listed below:\n\n86% tests passed, 2 tests failed out of 14", 2, 14);
        // GoogleTest
        r"\[  PASSED  \] (?<passed>\d+) tests?\.|\[  FAILED  \] (?<failed>\d+) tests?, listed below":
            ("[==========] 4 tests from 2 test suites ran. (0 ms total)\n[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] B.c\n[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.b\n[  FAILED  ] B.d\n\n 2 FAILED TESTS\n", 2, 3);
        // Catch2
        r"test cases: +\d+ \| (?<parts>.*)$|All tests passed \(\d+ assertions? in (?<total>\d+) test cases?\)":
            ("test cases: 4 | 1 passed | 2 failed | 1 failed as expected\nassertions: 4 | 1 passed | 2 failed | 1 failed as expected\n", 2, 4),
            ("All tests passed (1 assertion in 1 test case)\n", 0, 1);
        // Meson; some versions leave out what is 0
        r"(?:Ok: +(?<passed>\d+) *\n)?(?:Expected Fail: +(?<passed2>\d+) *\n)?(?:Fail: +(?<failed>\d+) *\n)?(?:Unexpected Pass: +(?<failed2>\d+) *\n)?(?:Skipped: +\d+ *\n)?(?:Timeout: +(?<failed3>\d+) *\n)?\nFull log written to ":
            ("Ok:                1   \nExpected Fail:     1   \nFail:              2   \nUnexpected Pass:   1   \nSkipped:           1   \nTimeout:           1   \n\nFull log written to /b/meson-logs/testlog.txt\n", 4, 6),
            ("Ok:                1   \nFail:              1   \n\nFull log written to /b/meson-logs/testlog.txt\n", 1, 2);
    ]
    [
        // XCTest; the suites within print summaries, too
        r"Test Suite '(?:All|Selected) tests' .*\n\s*Executed (?<total>\d+) tests?, with (?:(?<skipped>\d+) tests? skipped and )?(?<failed>\d+) failures?":
            ("Test Suite 'aTests' failed at 2026-11-19 15:20:01.000\n\t Executed 14 tests, with 2 failures (0 unexpected) in 0.02 (0.03) seconds\nTest Suite 'All tests' failed at 2026-11-19 15:20:01.000\n\t Executed 14 tests, with 1 test skipped and 2 failures (0 unexpected) in 0.02 (0.03) seconds\n", 2, 13);
    ]
    [
        // Swift Testing, which counts issues and not failing tests
        r"[✔✘] Test run with (?<total>\d+) tests? (?:in \d+ suites? )?(?:passed after|failed after .* with (?<failed>\d+) issues?)":
            ("✘ Test run with 14 tests in 2 suites failed after 0.01 seconds with 2 issues.\n", 2, 14),
            ("✔ Test run with 14 tests passed after 0.01 seconds.\n", 0, 14);
    ]
];

/// Scripts, which count only if no runner does. They may print how far they are, so only their
/// last line counts.
#[rustfmt::skip]
pub(super) const SCRIPTS: &[Family] = families![
    [
        r"[✓✔✗✘×•=-]? ?(?:[\w ]+: )?(?<right>\d+)(?: of |/)(?<total>\d+) (?:(?:tests?|checks?|cases?) (?:pass(?:ed|ing)?|ok|correct)|pass(?:ed|ing)?|correct)\b":
            ("score: 3 of 5 tests passed", 2, 5),
            ("1/5 passed\n2/5 passed\n3/5 passed\n", 2, 5),
            ("✓ 3/5 checks ok", 2, 5);
        r"[✓✔✗✘×•=-]? ?(?:[\w ]+: )?(?<failed>\d+)(?: of |/)(?<total>\d+)(?: (?:tests?|checks?|cases?))? (?:fail(?:ed|ing|ures?)?|wrong|missing)\b":
            ("2 of 5 checks failed", 2, 5);
        r"[✓✔✗✘×•=-]? ?(?:\w+: )?(?<passed>\d+) passed, (?<failed>\d+) failed\b":
            ("results: 3 passed, 2 failed", 2, 5);
    ]
];

/// Lines that say that failing tests are missing in the summaries: a program of Go tests that does
/// not compile, or panics, lists none of the rest.
pub(super) const INCOMPLETE: [&str; 2] = [
    r#"(?m)^(?:.*"Output":")?FAIL(?:\t|\\t)\S+ \[(?:build|setup) failed\]"#,
    r#"(?ms)^(?:[^\n]*"Output":")?(?:panic|fatal error): .*^(?:[^\n]*"Output":")?FAIL(?:\t|\\t)"#,
];

/// Linters, type checkers and compilers, with the groups `found` and `one`; of several numbers
/// about the same `subject` the largest counts. A sample has the same number twice.
#[rustfmt::skip]
pub(super) const PROBLEMS: &[Family] = families![
    [
        // rustc and clippy, which compile a library again for its tests
        r#"error: could not compile (?<subject>`[^`]*`(?: \((?:lib|\w+ "[^"]*"))?).*? due to (?:(?<found>\d+)|(?<one>previous error))"#:
            ("error: could not compile `x` (lib) due to 3 previous errors; 1 warning emitted", 3, 3),
            ("error: could not compile `x` (lib) due to 3 previous errors\nwarning: build failed, waiting for other jobs to finish...\nerror: could not compile `x` (lib test) due to 4 previous errors\n", 4, 4),
            ("error: could not compile `x` due to 2 previous errors\nerror: could not compile `y` (bin \"y\") due to 1 previous error\n", 3, 3),
            ("error: could not compile `x` (test \"a\") due to 2 previous errors\nerror: could not compile `x` (test \"b\") due to 3 previous errors\n", 5, 5),
            ("error: could not compile `x` due to previous error\n", 1, 1);
        // rustc alone
        r"error: aborting due to (?:(?<found>\d+)|(?<one>previous error))":
            ("error: aborting due to 3 previous errors; 1 warning emitted\n", 3, 3);
    ]
    [
        // ESLint and Stylelint
        r"✖ (?<found>\d+) problems?":
            ("✖ 12 problems (10 errors, 2 warnings)", 12, 12);
    ]
    [
        // Prettier
        r"\[warn\] Code style issues found in (?:(?<found>\d+) files|(?<one>the above file))":
            ("[warn] a.js\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.\n", 1, 1),
            ("[warn] a.js\n[warn] b.js\n[warn] Code style issues found in 2 files. Run Prettier with --write to fix.\n", 2, 2);
    ]
    [
        // RuboCop
        r"\d+ files? inspected, (?<found>\d+) offenses? detected":
            ("4 files inspected, 5 offenses detected, 3 offenses autocorrectable\n", 5, 5);
    ]
    [
        // black and ruff format
        r"(?<found>\d+) files? would be reformatted":
            ("would reformat a.py\n\nOh no! 💥 💔 💥\n2 files would be reformatted, 1 file would be left unchanged.\n", 2, 2);
    ]
    [
        // tsc, mypy, ruff and others
        r"(?i).*?\bfound (?<found>\d+) (?:errors?|problems?|issues?|violations?|warnings?)":
            ("Found 5 errors in 2 files.", 5, 5),
            ("Found 2 errors in the same file, starting at: ts.ts\x1b[90m:1\x1b[0m\n", 2, 2),
            ("Found 1 error (1 fixable with the --fix option).", 1, 1);
        // tsc, for programs
        r"\S+\(\d+,\d+\): (?<one>error) TS\d+: ":
            ("ts.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\nts.ts(1,30): error TS2322: Type 'string' is not assignable to type 'number'.\n", 2, 2);
    ]
];

/// Other linters and compilers, which count only if none of those above does.
#[rustfmt::skip]
pub(super) const OTHER_PROBLEMS: &[Family] = families![
    [
        r"(?i)\W*(?:\w+: )?(?<found>\d+) (?:errors?|problems?|issues?|violations?|offenses?)\b":
            ("3 errors generated.", 3, 3),
            ("5 offenses", 5, 5);
    ]
];
