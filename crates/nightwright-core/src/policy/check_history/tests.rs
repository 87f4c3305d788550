//! Stories of checks: the changes that their results show.

use Change::{Better, First, Same, Worse};

use super::*;
use crate::stream::outcome::ProcessExit;
use crate::test_counts;

/// The number of consecutive gains that may show nothing but another failure.
const MOST_NOVEL: u32 = 4;

/// The result of a check by its output: nothing for a pass, `flaky`, `timeout`, or a failure.
fn result(command: &str, output: &str) -> CheckResult {
    let verdict = match output {
        "" => CheckVerdict::Passed,
        "flaky" => CheckVerdict::Flaky,
        _ if output.starts_with("timeout") => CheckVerdict::TimedOut,
        _ => CheckVerdict::Failed { how: ProcessExit::Code(1) },
    };
    CheckResult {
        command: command.to_owned(),
        verdict,
        output: output.to_owned(),
        tests: test_counts::of(output),
        log: None,
        duration: Duration::from_mins(1),
        outside: false,
    }
}

/// Adds one run of the checks.
fn run_all(history: &mut CheckHistory, tree: &str, results: &[CheckResult]) -> Change {
    let fingerprint = &Fingerprint(tree.to_owned());
    let chance = history.chance(results, fingerprint);
    history.flaky.extend(chance);
    let (iteration, at) = (Iteration(1), Timestamp::UNIX_EPOCH);
    let measured = Measured { iteration, at, results, fingerprint };
    history.add(measured, MOST_NOVEL).expect("each check has a result")
}

/// Adds one run of one check.
fn run(history: &mut CheckHistory, tree: &str, output: &str) -> Change {
    run_all(history, tree, &[result("make test", output)])
}

/// The changes that these outputs of one check show, each on another tree.
fn changes<S: AsRef<str>>(outputs: &[S]) -> Vec<Change> {
    let mut history = CheckHistory::default();
    let trees = (0..).map(|tree: u32| tree.to_string());
    outputs
        .iter()
        .zip(trees)
        .map(|(output, tree)| run(&mut history, &tree, output.as_ref()))
        .collect()
}

/// The changes that these outputs of two checks show, each on another tree.
fn changes_of_two(outputs: &[(&str, &str)]) -> Vec<Change> {
    let mut history = CheckHistory::default();
    let trees = (0..).map(|tree: u32| tree.to_string());
    let both = |(one, other): &(&str, &str)| [result("test", one), result("lint", other)];
    outputs.iter().zip(trees).map(|(two, tree)| run_all(&mut history, &tree, &both(two))).collect()
}

/// The summary of a runner that counts.
fn counts(failed: u32, passed: u32) -> String {
    format!("{failed} failed, {passed} passed in 1s")
}

/// The changes that these numbers of failed and passed tests show.
fn changes_of_counts(results: &[(u32, u32)]) -> Vec<Change> {
    let results = results.iter().map(|(failed, passed)| counts(*failed, *passed));
    changes(&results.collect::<Vec<_>>())
}

/// The number of consecutive runs at the end that show no gain.
fn without_gain(changes: &[Change]) -> usize {
    changes.iter().rev().take_while(|change| **change != Better).count()
}

#[test]
fn fewer_failing_tests_than_ever_are_better() {
    let outputs = ["5 failed, 9 passed in 1s", "4 failed, 10 passed in 1s"];
    assert_eq!(changes(&outputs), [First, Better]);
    let up_and_down = [
        "4 failed, 10 passed in 1s",
        "5 failed, 9 passed in 1s",
        "4 failed, 10 passed in 1s",
        "3 failed, 11 passed in 1s",
    ];
    assert_eq!(changes(&up_and_down), [First, Worse, Same, Better]);
}

#[test]
fn a_deleted_test_is_no_gain() {
    let outputs = ["2 failed, 9 passed in 1s", "1 failed, 9 passed in 1s"];
    assert_eq!(changes(&outputs), [First, Same]);
}

#[test]
fn tests_that_pass_from_the_start_are_no_gain() {
    let outputs = ["1 failed, 9 passed in 1s", "1 failed, 12 passed in 1s"];
    assert_eq!(changes(&outputs), [First, Same]);
}

#[test]
fn after_tests_were_added_fewer_failures_of_them_are_better() {
    let outputs = [
        "1 failed, 0 passed in 1s",
        "9 failed, 0 passed in 1s",
        "8 failed, 1 passed in 1s",
        "7 failed, 2 passed in 1s",
    ];
    assert_eq!(changes(&outputs), [First, Worse, Better, Better]);
}

#[test]
fn a_runner_that_stops_at_the_first_failure_shows_progress_by_the_next_one() {
    let stopped = |name: &str, passed: u32| {
        format!("_____ {name} _____\nE   boom\n1 failed, {passed} passed in 1s")
    };
    let next = [stopped("a", 3), stopped("b", 5), stopped("c", 8)];
    assert_eq!(changes(&next), [First, Better, Better]);
    let same = [stopped("a", 3), stopped("a", 5)];
    assert_eq!(changes(&same), [First, Same]);
}

#[test]
fn an_error_before_the_tests_run_is_not_better_than_failing_tests() {
    let outputs = ["5 failed, 9 passed in 1s", "syntax error", "5 failed, 9 passed in 1s"];
    assert_eq!(changes(&outputs), [First, Same, Same]);
    let first_error = ["syntax error", "5 failed, 9 passed in 1s"];
    assert_eq!(changes(&first_error), [First, Better]);
}

#[test]
fn without_counts_a_failure_that_was_never_seen_is_better() {
    let outputs = ["one.txt is missing", "two.txt is missing", "one.txt is missing", ""];
    assert_eq!(changes(&outputs), [First, Better, Same, Better]);
    assert_eq!(changes(&["got 7", "got 12", "got 3"]), [First, Same, Same]);
}

#[test]
fn fewer_problems_of_a_linter_are_better() {
    let outputs = ["Found 12 errors.", "Found 5 errors.", "Found 7 errors."];
    assert_eq!(changes(&outputs), [First, Better, Same]);
}

#[test]
fn a_different_result_for_the_same_project_is_chance() {
    let mut history = CheckHistory::default();
    assert_eq!(run(&mut history, "A", "boom"), First);
    assert_eq!(run(&mut history, "A", ""), Same);
    assert!(history.flaky.contains("make test"));
    assert_eq!(run(&mut history, "B", "boom"), Same);
    assert_eq!(run(&mut history, "C", ""), Same, "a flaky check is never a gain");
}

#[test]
fn the_standing_failure_names_tests_and_the_iteration_of_the_last_gain() {
    let mut history = CheckHistory::default();
    run(&mut history, "A", "2 failed, 9 passed in 1s");
    let same = "the same 2 tests have failed since iteration 1";
    assert_eq!(history.standing_failure().as_deref(), Some(same));
    run(&mut history, "B", "3 failed, 8 passed in 1s");
    let more = "at least 2 tests have failed since iteration 1";
    assert_eq!(history.standing_failure().as_deref(), Some(more));
    run(&mut history, "C", "");
    assert_eq!(history.standing_failure(), None);
}

#[test]
fn a_check_that_gets_better_is_a_gain_while_another_keeps_failing() {
    let lint = ["Found 15 errors.", "Found 12 errors.", "Found 9 errors.", "Found 6 errors."];
    let stuck = counts(1, 9);
    let both: Vec<_> = lint.iter().map(|lint| (stuck.as_str(), *lint)).collect();
    assert_eq!(changes_of_two(&both), [First, Better, Better, Better]);
}

#[test]
fn what_one_check_gains_while_another_begins_to_fail_counts_once_that_passes_again() {
    let (three, two) = (counts(3, 9), counts(2, 10));
    let outputs = [(&*three, ""), (&*two, "Found 4 errors."), (&*two, "")];
    assert_eq!(changes_of_two(&outputs), [First, Worse, Better]);
    let swapped = [("boom", ""), ("", "bang"), ("boom", ""), ("", "bang")];
    assert_eq!(changes_of_two(&swapped), [First, Worse, Worse, Worse]);
}

#[test]
fn a_runner_that_stops_at_the_first_part_with_failures_shows_progress_by_the_next_part() {
    let part = |number: u32, failed: u32| {
        let passed = "test result: ok. 10 passed; 0 failed;\n".repeat(number as usize);
        let names = (0..failed).map(|test| format!("---- part{number}::t{test} stdout ----\n"));
        let ok = 10 - failed;
        format!(
            "{passed}{}test result: FAILED. {ok} passed; {failed} failed;",
            names.collect::<String>()
        )
    };
    let outputs = [part(0, 1), part(1, 2), part(2, 3), part(3, 4)];
    assert_eq!(changes(&outputs), [First, Better, Better, Better]);
    // The same test keeps failing, and others pass.
    let stuck = |passed: u32| {
        format!("---- a stdout ----\ntest result: FAILED. {passed} passed; 1 failed;")
    };
    assert_eq!(changes(&[stuck(3), stuck(5), stuck(9)]), [First, Same, Same]);
}

#[test]
fn a_test_that_fails_differently_each_time_is_no_gain() {
    let outputs: Vec<_> = ["Type", "Value", "Key", "Index", "Name", "Attribute", "OS"]
        .iter()
        .zip(9..)
        .map(|(kind, passed)| {
            format!("_____ test_a _____\nE   {kind}Error: no\n{}", counts(1, passed))
        })
        .collect();
    assert_eq!(without_gain(&changes(&outputs)), 7);
}

#[test]
fn after_tests_were_merged_their_number_is_the_one_to_beat() {
    let merged = [(6, 100), (5, 80), (4, 81), (3, 82), (2, 83)];
    assert_eq!(changes_of_counts(&merged), [First, Same, Better, Better, Better]);
    let deleted = [(6, 4), (5, 4), (4, 4), (3, 4), (2, 4)];
    assert_eq!(without_gain(&changes_of_counts(&deleted)), 5);
}

#[test]
fn a_state_that_an_earlier_one_was_as_good_as_is_no_gain() {
    for worse in [(5, 6), (3, 8), (4, 7)] {
        let results: Vec<_> = [(2, 8), worse].into_iter().cycle().take(12).collect();
        assert_eq!(without_gain(&changes_of_counts(&results)), 12, "{worse:?}");
    }
}

#[test]
fn tests_written_first_are_spared_twice_in_a_row() {
    let mut history = CheckHistory::default();
    let mut spent = Vec::new();
    for (tree, failed) in ["A", "B", "C", "D", "E"].iter().zip([1, 3, 6, 9, 12]) {
        let change = Some(run(&mut history, tree, &counts(failed, 1)));
        let after = AfterIteration { change, is_known: true, fewer_open: false };
        history.without_gain = history.without_gain_after(after);
        spent.push(history.without_gain);
    }
    assert_eq!(spent, [0, 0, 0, 1, 2]);
    assert_eq!(run(&mut history, "F", &counts(11, 2)), Better);
}

#[test]
fn without_counts_fewer_problems_are_better_wherever_they_are_fixed() {
    let typescript = |from: u8| {
        let line = |file: u8| format!("src/{}.ts(1,1): error TS2304: no name\n", char::from(file));
        (from..b'z').map(line).collect::<String>()
    };
    let outputs = [typescript(b'a'), typescript(b'd'), typescript(b'h'), typescript(b'f')];
    assert_eq!(changes(&outputs), [First, Better, Better, Same]);
}

#[test]
fn a_single_syntax_error_is_not_the_fewest_problems() {
    let types = |number: u32| {
        format!(
            "error[E0308]: mismatched types\n --> src/z.rs:3:4\n\nerror: could not compile `x` \
             (lib) due to {number} previous errors"
        )
    };
    let syntax = "error: expected `;`\nerror: could not compile `x` due to 1 previous error";
    let outputs = [syntax.to_owned(), types(30), types(25), types(20)];
    assert_eq!(changes(&outputs), [First, Better, Better, Better]);
    let between = [types(30), syntax.to_owned(), types(30), types(25)];
    assert_eq!(without_gain(&changes(&between)[3..]), 0, "{:?}", changes(&between));
}

#[test]
fn counts_that_are_gone_for_two_runs_are_forgotten() {
    let outputs = [&*counts(5, 5), "FAILED a.py", "FAILED b.py", "FAILED c.py", ""];
    assert_eq!(changes(&outputs), [First, Same, Same, Better, Better]);
    let broken = [&*counts(5, 5), "error: a", "error: b", "error: c", "error: d"];
    assert_eq!(without_gain(&changes(&broken)), 5);
}

#[test]
fn a_lucky_result_for_the_same_project_is_not_the_one_to_beat() {
    let mut history = CheckHistory::default();
    run(&mut history, "A", &counts(4, 6));
    assert_eq!(run(&mut history, "A", &counts(3, 7)), Same);
    // The failures differ by one for the same project, so one less is chance.
    assert_eq!(run(&mut history, "B", &counts(3, 7)), Same);
    assert_eq!(run(&mut history, "C", &counts(2, 8)), Better);
}

#[test]
fn without_counts_no_more_than_four_new_failures_in_a_row_are_gains() {
    let errors: Vec<_> = "abcdefghijkl".chars().map(|name| format!("error: no {name}")).collect();
    assert_eq!(without_gain(&changes(&errors)), 7);
    let random = ["1b4e28ba-2fa1-11d2-883f-0016d3cca427", "6fa459ea-ee8a-3ca4-894e-db77e160355e"];
    assert_eq!(changes(&random.map(|id| format!("no session {id}"))), [First, Same]);
}

#[test]
fn a_check_that_times_out_at_another_line_is_no_gain() {
    let outputs = ["timeout a", "timeout a b", "timeout c", "timeout d e"];
    assert_eq!(changes(&outputs), [First, Same, Same, Same]);
}

/// The history and the changes of these numbers of failed and passed tests, after iterations 0, 1
/// and so on. The check passes if no test fails.
fn history_of(results: &[(u32, u32)]) -> (CheckHistory, Vec<Change>) {
    let mut history = CheckHistory::default();
    let changes = (0..).zip(results).map(|(iteration, (failed, passed))| {
        let mut result = result("make test", &counts(*failed, *passed));
        if *failed == 0 {
            result.verdict = CheckVerdict::Passed;
        }
        let (at, fingerprint) = (Timestamp::UNIX_EPOCH, &Fingerprint(iteration.to_string()));
        let (iteration, results) = (Iteration(iteration), &[result][..]);
        let measured = Measured { iteration, at, results, fingerprint };
        history.add(measured, MOST_NOVEL).expect("each check has a result")
    });
    let changes = changes.collect();
    (history, changes)
}

#[test]
fn new_tests_that_pass_one_after_another_are_gains_even_if_all_tests_passed_before() {
    let mut results = vec![(0, 100)];
    results.extend([20, 18, 16, 14, 10, 8, 0].map(|failed| (failed, 120 - failed)));
    let (_, changes) = history_of(&results);
    assert_eq!(changes[..2], [First, Worse]);
    assert!(changes[2..].iter().all(|change| *change == Better), "{changes:?}");
    // Repairing the damage of an earlier iteration is not an improvement.
    let (_, repaired) = history_of(&[(0, 100), (20, 80), (10, 90), (5, 95), (1, 99)]);
    assert!(!repaired.contains(&Better), "{repaired:?}");
}

#[test]
fn a_failure_is_as_old_as_the_iteration_that_caused_it() {
    let (history, _) = history_of(&[(0, 10), (2, 8), (2, 8), (2, 8)]);
    let text = history.standing_failure();
    assert_eq!(text.as_deref(), Some("at least 1 test has failed since iteration 1"));
}

#[test]
fn absurd_counts_are_compared_all_the_same() {
    let most = u32::MAX;
    let outputs = [counts(most, most), counts(most, 3), counts(3, most)];
    assert_eq!(changes(&outputs)[0], First);
}
