//! Improvement policy: whether the checks get better, when they are run to find that out, and what
//! follows if they do not.
//!
//! An *improvement* is a result of the checks with fewer failures than any earlier result in the
//! run.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use crate::failing::{self, Change, Failing};
use crate::input::{CheckPurpose, CheckResult, CheckVerdict};
use crate::outcome::count;
use crate::settings::{Depth, Every, Rerun, Verify};
use crate::test_counts::TestCounts;
use crate::units::{Fingerprint, Iteration};

/// Checks that take no longer than this run after every iteration.
const CHEAP: Duration = Duration::from_mins(2);

/// Slower checks may take at most one fifth (1/SHARE) of the active time.
const SHARE: u32 = 5;

/// The number of iterations without an improvement after which an advisor is asked.
pub const ADVISED_AT: u32 = 2;
/// The number of iterations without an improvement after which another model takes over.
pub const ESCALATED_AT: u32 = 3;

/// The time that the checks need, compared with the rest of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckTime {
    /// The expected duration of all checks; `None` if they have never run.
    pub expected: Option<Duration>,
    /// The time spent on checks in this run.
    pub spent: Duration,
    /// The active time in this run, including the checks.
    pub active: Duration,
}

/// Whether the checks run after an iteration that changed something and claims nothing.
pub fn are_due(every: Every, time: CheckTime) -> bool {
    match every {
        Every::Claim => false,
        Every::Always => true,
        Every::Auto => {
            let CheckTime { expected, spent, active } = time;
            let Some(expected) = expected else { return true };
            expected <= CHEAP || (spent + expected).saturating_mul(SHARE) < active + expected
        }
    }
}

/// The checks that run once more if they fail. After an iteration, only those that passed before:
/// the others are known to fail.
pub fn reruns(purpose: CheckPurpose, verify: &Verify, history: &CheckHistory) -> Vec<String> {
    let passed_before = |command: &&String| {
        let last = history.last.iter().flat_map(|last| &last.results);
        last.clone().any(|result| result.command == **command && result.verdict.is_pass())
    };
    match (verify.rerun, purpose) {
        (Rerun::Never, _) | (_, CheckPurpose::Baseline) => Vec::new(),
        (Rerun::Once, CheckPurpose::Gate) => verify.commands.clone(),
        (Rerun::Once, CheckPurpose::Progress) => {
            verify.commands.iter().filter(passed_before).cloned().collect()
        }
    }
}

/// The results of the checks in this run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckHistory {
    /// The last run of the checks in which each had a result.
    pub last: Option<Measurement>,
    /// How much failed in the run before it.
    pub before: Option<Failing>,
    best: Option<Best>,
    /// The signatures of all failures so far.
    failures: BTreeSet<String>,
    /// The fewest problems that linters and compilers have reported.
    fewest_problems: Option<u32>,
    /// The checks that failed at some time in this run.
    pub failed_before: BTreeSet<String>,
    /// The checks whose result changed although the project did not.
    pub flaky: BTreeSet<String>,
    /// The time spent on checks, and the expected duration of the next run.
    pub spent: Duration,
    pub expected: Option<Duration>,
    /// The iteration of the last improvement; 0 for the start of the run.
    pub best_since: Iteration,
    /// The consecutive iterations since then in which something failed and less did not.
    pub without_gain: u32,
}

/// One run of the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The iteration after which they ran; 0 for the baseline.
    pub iteration: Iteration,
    pub at: Timestamp,
    pub failing: Failing,
    pub results: Vec<CheckResult>,
    /// The state of the project after the checks.
    pub fingerprint: Fingerprint,
}

/// The run of the checks in which the least failed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Best {
    failing: BTreeSet<String>,
    tests: Option<TestCounts>,
    signature: String,
}

impl CheckHistory {
    /// Adds a run of the checks, and compares it with those before. Returns `None` if a check had
    /// no result.
    pub fn add(
        &mut self,
        iteration: Iteration,
        at: Timestamp,
        results: &[CheckResult],
        fingerprint: &Fingerprint,
    ) -> Option<Change> {
        let failing = Failing::of(results)?;
        let is_same_tree = self.last.as_ref().is_some_and(|last| last.fingerprint == *fingerprint);
        self.note_flaky(results, is_same_tree);
        let now = Best {
            failing: failing::failing_commands(results),
            tests: failing.tests,
            signature: failing::signature(results),
        };
        let problems = failing::problems(results);
        let is_better = self.is_better(&now, problems);
        let change = match &self.last {
            None => Change::First,
            // Nothing changed, so the difference is chance.
            Some(_) if is_same_tree => Change::Same,
            Some(_) if is_better => Change::Better,
            Some(last) if self.is_worse(&now, last) => Change::Worse,
            Some(_) => Change::Same,
        };
        if matches!(change, Change::First | Change::Better) {
            self.best_since = iteration;
        }
        if is_better || self.best.is_none() {
            self.best = Some(now.clone());
        } else if let Some(best) = &mut self.best
            && has_more_tests(now.tests, best.tests)
        {
            // Tests were added, or reached for the first time: from here on, fewer of these count.
            best.tests = now.tests;
        }
        self.failed_before.extend(now.failing);
        self.failures.insert(now.signature);
        self.fewest_problems = self.fewest_problems.into_iter().chain(problems).min();
        let (results, fingerprint) = (results.to_vec(), fingerprint.clone());
        self.before = self.last.take().map(|last| last.failing);
        self.last = Some(Measurement { iteration, at, failing, results, fingerprint });
        Some(change)
    }

    /// Whether less fails than ever before.
    fn is_better(&self, now: &Best, problems: Option<u32>) -> bool {
        let Some(best) = &self.best else { return false };
        let (failing, least) = (self.steady(&now.failing), self.steady(&best.failing));
        if failing != least {
            return failing < least;
        }
        let steady = failing > 0;
        let is_new = !self.failures.contains(&now.signature);
        match (now.tests, best.tests) {
            (Some(tests), Some(least)) if least.failed > 0 => {
                let is_fewer = tests.failed < least.failed;
                let is_more_passed = tests.passed() > least.passed();
                // A runner that prints only failures, and one that stops at the first failure.
                let counts_no_passed = tests.passed() == 0 && least.passed() == 0;
                let stops_early = tests.failed == least.failed && is_more_passed && is_new;
                is_fewer && (is_more_passed || counts_no_passed) || stops_early
            }
            // Now the tests run at all.
            (Some(tests), None) => tests.failed > 0 && steady,
            (None, Some(least)) if least.failed > 0 => false,
            (Some(_) | None, _) => {
                let fewer = self.fewest_problems.zip(problems).is_some_and(|(few, now)| now < few);
                steady && (is_new || fewer)
            }
        }
    }

    /// Whether more fails than in the run of the checks before.
    fn is_worse(&self, now: &Best, before: &Measurement) -> bool {
        let failing_before = failing::failing_commands(&before.results);
        let checks = self.steady(&now.failing).cmp(&self.steady(&failing_before));
        let tests = now.tests.zip(before.failing.tests);
        let more_tests = tests.is_some_and(|(now, before)| now.failed > before.failed);
        checks.is_gt() || checks.is_eq() && more_tests
    }

    /// The number of these checks without the flaky ones, of which only chance is known.
    fn steady(&self, failing: &BTreeSet<String>) -> usize {
        failing.iter().filter(|command| !self.flaky.contains(*command)).count()
    }

    fn note_flaky(&mut self, results: &[CheckResult], is_same_tree: bool) {
        let before = self.last.as_ref().filter(|_| is_same_tree);
        for result in results {
            let earlier = before.and_then(|last| {
                last.results.iter().find(|earlier| earlier.command == result.command)
            });
            let flipped = earlier
                .is_some_and(|earlier| earlier.verdict.is_pass() != result.verdict.is_pass());
            if flipped || result.verdict == CheckVerdict::Flaky {
                self.flaky.insert(result.command.clone());
            }
        }
    }

    /// Counts an iteration that was judged.
    pub fn count_iteration(&mut self, iteration: Iteration, after: AfterIteration) {
        self.without_gain = self.without_gain_after(after);
        if self.without_gain == 0 && after.fewer_open {
            self.best_since = iteration;
        }
    }

    /// The number of consecutive iterations without an improvement after this one.
    pub fn without_gain_after(&self, after: AfterIteration) -> u32 {
        let Some(last) = &self.last else { return 0 };
        let gained = matches!(after.change, Some(Change::First | Change::Better));
        if last.failing.checks == 0 || gained || after.fewer_open {
            0
        } else if after.change.is_some() || after.is_known && self.without_gain > 0 {
            self.without_gain.saturating_add(1)
        } else {
            self.without_gain
        }
    }

    /// Whether a check that failed at some time in this run passes now.
    pub fn fixed_a_check(&self, results: &[CheckResult]) -> bool {
        let passes = |result: &&CheckResult| result.verdict.is_pass();
        results.iter().filter(passes).any(|result| self.failed_before.contains(&result.command))
    }

    /// The failures that have not changed since the last improvement:
    /// `the same 2 tests have failed since iteration 7`.
    pub fn standing_failure(&self) -> Option<String> {
        let last = self.last.as_ref().filter(|last| last.failing.checks > 0)?;
        let best = self.best.as_ref()?;
        let signature = failing::signature(&last.results);
        let is_same = best.signature == signature && best.tests == last.failing.tests;
        let (number, noun) = match (last.failing.failed_tests(), best.tests) {
            (Some(now), Some(least)) => (now.failed.min(least.failed), "test"),
            (Some(now), None) => (now.failed, "test"),
            (None, _) => (last.failing.checks, "check"),
        };
        let what = match (is_same, number) {
            (true, 1) => format!("the same {noun} has failed"),
            (true, _) => format!("the same {} have failed", count(number, noun)),
            (false, 1) => format!("at least 1 {noun} has failed"),
            (false, _) => format!("at least {} have failed", count(number, noun)),
        };
        Some(match self.best_since {
            Iteration(0) => format!("{what} since the start of the run"),
            iteration => format!("{what} since iteration {iteration}"),
        })
    }
}

/// How an iteration left the checks and the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterIteration {
    /// The change that its own run of the checks showed, if there was one.
    pub change: Option<Change>,
    /// Whether the last results hold for the project as the iteration left it. An iteration that
    /// changed nothing counts only after one that made changes without improvement: otherwise it is
    /// idle.
    pub is_known: bool,
    /// Whether the checklist has fewer open boxes than ever, after other work.
    pub fewer_open: bool,
}

/// Whether tests were added, and none of them reduced the number of failures.
fn has_more_tests(now: Option<TestCounts>, best: Option<TestCounts>) -> bool {
    now.zip(best).is_some_and(|(now, best)| now.total > best.total && now.failed >= best.failed)
}

/// Whether a model judges a claim that the checks alone could accept: after one that was rejected.
pub fn asks_model(rejected_claims: u32) -> bool {
    rejected_claims > 0
}

/// How closely a model inspects the work: more closely after two rejected claims.
pub fn verdict_depth(configured: Depth, rejected_claims: u32) -> Depth {
    match (configured, rejected_claims) {
        (_, 0 | 1) => configured,
        (Depth::Quick, _) => Depth::Standard,
        (Depth::Standard | Depth::Deep, _) => Depth::Deep,
    }
}

/// The number of models that have to agree: two after four rejected claims.
pub fn required_verdicts(rejected_claims: u32) -> u32 {
    if rejected_claims >= 4 { 2 } else { 1 }
}

/// The feedback after `without_gain` consecutive iterations without an improvement.
pub fn feedback(without_gain: u32, standing: &str, advice: Option<&str>) -> String {
    let mut text = match without_gain {
        0 | 1 => format!(
            "No additional test or check passes after the last iteration: {standing}. Before you \
             edit anything, read the failure below and find its cause."
        ),
        2 => format!(
            "The last 2 iterations made no further test or check pass: {standing}. That approach \
             does not work. Write into the notes what was tried, and take another approach."
        ),
        3.. => format!(
            "The last {without_gain} iterations made no further test or check pass: {standing}. \
             The run ends if the next one makes none pass either. Reduce the failure to the \
             smallest case, and test each assumption. If the task cannot be done as specified, \
             report that as a blocker with your evidence."
        ),
    };
    if let Some(advice) = advice.map(str::trim).filter(|advice| !advice.is_empty()) {
        text.push_str("\n\nAdvice from a model that analyzed the failure:\n\n");
        text.push_str(advice);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::outcome::ProcessExit;
    use crate::test_counts;

    const MINUTE: Duration = Duration::from_mins(1);

    /// Adds one run of one check, whose output says how many tests failed.
    fn run(history: &mut CheckHistory, tree: &str, output: &str) -> Change {
        let verdict = match output {
            "" => CheckVerdict::Passed,
            "flaky" => CheckVerdict::Flaky,
            _ => CheckVerdict::Failed { how: ProcessExit::Code(1) },
        };
        let result = CheckResult {
            command: "make test".to_owned(),
            verdict,
            output: output.to_owned(),
            tests: test_counts::of(output),
            log: None,
            duration: MINUTE,
        };
        let fingerprint = Fingerprint(tree.to_owned());
        let change = history.add(Iteration(1), Timestamp::UNIX_EPOCH, &[result], &fingerprint);
        change.expect("it has a result")
    }

    /// The changes that these outputs show, each on another tree.
    fn changes(outputs: &[&str]) -> Vec<Change> {
        let mut history = CheckHistory::default();
        let trees = (0..).map(|tree: u32| tree.to_string());
        outputs.iter().zip(trees).map(|(output, tree)| run(&mut history, &tree, output)).collect()
    }

    use Change::{Better, First, Same, Worse};

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
        let next: Vec<_> = next.iter().map(String::as_str).collect();
        assert_eq!(changes(&next), [First, Better, Better]);
        let same = [stopped("a", 3), stopped("a", 5)];
        let same: Vec<_> = same.iter().map(String::as_str).collect();
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
        assert_eq!(run(&mut history, "C", ""), Same, "a flaky check is never an improvement");
    }

    #[test]
    fn checks_under_two_minutes_run_each_time_and_slower_ones_stay_under_a_fifth() {
        let time = |expected, spent, active| CheckTime {
            expected: Some(MINUTE * expected),
            spent: MINUTE * spent,
            active: MINUTE * active,
        };
        assert!(are_due(Every::Auto, time(2, 100, 100)));
        assert!(are_due(Every::Auto, time(10, 0, 50)));
        assert!(!are_due(Every::Auto, time(10, 0, 40)));
        assert!(!are_due(Every::Auto, time(10, 10, 60)));
        assert!(are_due(Every::Always, time(10, 10, 60)));
        assert!(!are_due(Every::Claim, time(1, 0, 60)));
        let unknown = CheckTime { expected: None, ..time(1, 0, 0) };
        assert!(are_due(Every::Auto, unknown));
    }

    #[test]
    fn slow_checks_take_less_than_a_fifth_of_the_time_over_a_night() {
        for minutes in [3, 10, 25, 60] {
            let (mut spent, mut active) = (Duration::ZERO, Duration::ZERO);
            let mut runs = 0;
            for _ in 1..=60 {
                active += MINUTE * minutes;
                let expected = Some(MINUTE * 10);
                let time = CheckTime { expected, spent, active };
                if are_due(Every::Auto, time) {
                    (spent, active, runs) = (spent + MINUTE * 10, active + MINUTE * 10, runs + 1);
                    assert!(spent * 5 < active, "{spent:?} of {active:?}");
                }
            }
            assert!(runs >= 4, "{runs} runs with iterations of {minutes} minutes");
        }
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
}
