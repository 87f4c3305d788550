//! Outputs of test runners, as they were printed by small projects with one failing test.

use super::*;

/// The excerpt of ten lines, as one text.
fn ten(output: &str) -> String {
    let lines = excerpt(output, 10);
    assert!(lines.len() <= 10, "{lines:?}");
    lines.join("\n")
}

#[track_caller]
fn names(output: &str, parts: &[&str]) {
    let shown = ten(output);
    for part in parts {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
}

const CARGO: &str = "
running 2 tests
test tests::adds ... FAILED
test tests::subtracts ... ok

failures:

---- tests::adds stdout ----

thread 'tests::adds' panicked at src/lib.rs:9:9:
assertion `left == right` failed
  left: 3
 right: 4
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::adds

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--lib`
";

const BACKTRACES: &str = "
failures:

---- tests::adds stdout ----

thread 'tests::adds' (1716) panicked at src/lib.rs:9:9:
assertion `left == right` failed
  left: 3
 right: 4
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/4a4ef493e3a1488c6e321570238084b38948f6db/library/std/src/panicking.rs:689:5
   1: core::panicking::panic_fmt
             at /rustc/4a4ef493e3a1488c6e321570238084b38948f6db/library/core/src/panicking.rs:80:14
   2: shop::tests::adds::{{closure}}
             at ./src/lib.rs:9:9
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.

---- tests::subtracts stdout ----

thread 'tests::subtracts' (1717) panicked at src/lib.rs:14:9:
assertion `left == right` failed
  left: 1
 right: 2
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/4a4ef493e3a1488c6e321570238084b38948f6db/library/std/src/panicking.rs:689:5
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.


failures:
    tests::adds
    tests::subtracts
";

const NODE_TAP: &str = "
TAP version 13
# Subtest: subtracts
ok 1 - subtracts
  ---
  duration_ms: 0.5
  type: 'test'
  ...
# Subtest: adds
not ok 2 - adds
  ---
  duration_ms: 1.2
  type: 'test'
  location: '/srv/shop/add.test.js:4:1'
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:

    3 !== 4

  code: 'ERR_ASSERTION'
  name: 'AssertionError'
  expected: 4
  actual: 3
  operator: 'strictEqual'
  ...
1..2
# tests 2
# suites 0
# pass 1
# fail 1
# cancelled 0
# skipped 0
# todo 0
# duration_ms 50.1
";

const PYTEST: &str = "
============================= test session starts ==============================
collected 2 items

test_add.py F.                                                           [100%]

=================================== FAILURES ===================================
___________________________________ test_adds __________________________________

    def test_adds():
        one = 1
        two = 2
        three = 3
        four = 4
        five = 5
        six = 6
        seven = 7
        eight = 8
        nine = 9
>       assert one + two == four
E       assert (1 + 2) == 4

test_add.py:13: AssertionError
=========================== short test summary info ============================
FAILED test_add.py::test_adds - assert (1 + 2) == 4
========================= 1 failed, 1 passed in 0.02s ==========================
";

const JEST: &str = "
FAIL ./add.test.js
  ✓ subtracts (1 ms)
  ✕ adds (2 ms)

  ● adds

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

      3 | test('adds', () => {
    > 4 |   expect(add(1, 2)).toBe(4);
        |                     ^
      5 | });

      at Object.toBe (add.test.js:4:21)

Test Suites: 1 failed, 1 total
Tests:       1 failed, 1 passed, 2 total
Snapshots:   0 total
Time:        0.3 s
Ran all test suites.
";

const GO: &str = "
=== RUN   TestSubtracts
--- PASS: TestSubtracts (0.00s)
=== RUN   TestAdds
    add_test.go:8: got 3, want 4
--- FAIL: TestAdds (0.00s)
    add_test.go:9: it does not add
FAIL
FAIL\texample.org/add\t0.002s
FAIL
";

const MAKE: &str = "
cc -o add add.c
./add 1 2
add: got 3, want 4
make: *** [Makefile:4: test] Error 1
";

#[test]
fn an_excerpt_names_the_failing_test_and_its_assertion() {
    names(CARGO, &["---- tests::adds", "src/lib.rs:9:9", "left: 3", "right: 4"]);
    names(NODE_TAP, &["not ok 2 - adds", "strictly equal", "3 !== 4"]);
    names(PYTEST, &["test_adds", "assert one + two == four", "E       assert (1 + 2) == 4"]);
    names(JEST, &["● adds", "Expected: 4", "Received: 3"]);
    names(GO, &["--- FAIL: TestAdds", "add_test.go:9: it does not add"]);
}

#[test]
fn backtraces_leave_room_for_the_next_failure() {
    let both =
        ["---- tests::adds", "lib.rs:9:9", "left: 3", "---- tests::subtracts", "lib.rs:14:9"];
    names(BACKTRACES, &both);
    assert!(!ten(BACKTRACES).contains("backtrace"), "{}", ten(BACKTRACES));
}

#[test]
fn an_output_of_another_format_is_shown_from_its_end() {
    names(MAKE, &["add: got 3, want 4", "make: *** [Makefile:4: test] Error 1"]);
    let long = (1..=30).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
    assert!(ten(&long).starts_with("line 21\n") && ten(&long).ends_with("line 30"));
    assert_eq!(ten(""), "");
}

#[test]
fn the_names_of_the_failed_tests_are_found() {
    for (output, names) in [
        (CARGO, &["tests::adds"][..]),
        ("FAIL [   0.010s] app tests::adds\n", &["app tests::adds"]),
        ("_____ test_a _____\nE   boom\n_____ test_b[1-2] _____\n", &["test_a", "test_b[1-2]"]),
        ("not ok 3 - adds # time=3ms\nok 4 - works\n", &["adds"]),
        ("✖ adds 1 and 2 (1.5ms)\n✖ failing tests:\n", &["adds 1 and 2"]),
        ("    --- FAIL: TestA/x (0.00s)\n--- FAIL: TestA (0.00s)\n", &["TestA", "TestA/x"]),
        ("FAIL: test_a (tests.A)\n", &["test_a (tests.A)"]),
        ("FAILED tests/a.py::test_a - boom\n", &["tests/a.py::test_a"]),
        ("test result: FAILED. 1 passed\nerror: boom\n", &[]),
    ] {
        assert_eq!(Vec::from_iter(titles(output)), names, "{output}");
    }
}
