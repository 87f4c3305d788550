//! The results of the checks in a run, and whether they get better.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::failing::{self, Change, Failing};
use crate::failure_identity;
use crate::input::{CheckResult, CheckVerdict};
use crate::outcome::count;
use crate::policy::check_progress::{CheckProgress, Step};
use crate::units::{Fingerprint, Iteration};

/// The number of consecutive iterations that may add tests without counting as one without a gain.
const MAX_SPARED: u32 = 2;

/// The default maximum number of consecutive gains that show nothing but another failure.
const MAX_NOVEL: u32 = 4;

/// The results of the checks in this run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckHistory {
    /// The last run of the checks in which each had a result.
    pub last: Option<Measurement>,
    /// The run of the checks before it.
    pub before: Option<Measurement>,
    /// The iteration after which the least failed, and how much.
    pub best: Option<(Iteration, Failing)>,
    /// The first run of the checks, or the last one that was better than all before it.
    gain: Option<GainPoint>,
    /// The first iteration of those in a row after which something failed.
    failing_since: Option<Iteration>,
    /// The progress of each check, by its command.
    progress: BTreeMap<String, CheckProgress>,
    /// The gains since the last measurable one that only showed another failure.
    novel_gains: u32,
    /// The consecutive runs of the checks with more tests than ever before, and without a gain.
    grown: u32,
    /// The checks whose result changed although the project did not.
    pub flaky: BTreeSet<String>,
    /// The time spent on checks, and the expected duration of the next run.
    pub spent: Duration,
    pub expected: Option<Duration>,
    /// The consecutive iterations in which something failed and no less than before.
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

/// How the checks failed at the last gain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GainPoint {
    iteration: Iteration,
    failing: Failing,
    signatures: BTreeMap<String, String>,
}

/// How an iteration left the checks and the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterIteration {
    /// The change that its own run of the checks showed, if there was one.
    pub change: Option<Change>,
    /// Whether the last results hold for the project as the iteration left it. An iteration that
    /// changed nothing counts only after one that changed something in vain: otherwise it is idle.
    pub is_known: bool,
    /// Whether fewer items of the task are open than ever, after other work.
    pub fewer_open: bool,
}

impl CheckHistory {
    /// The checks whose result is chance: those that passed only when they ran again, and those
    /// whose result differs from the last one although the project did not change.
    pub fn chance(&self, results: &[CheckResult], fingerprint: &Fingerprint) -> Vec<String> {
        let last = self.last.as_ref().filter(|last| last.fingerprint == *fingerprint);
        let flipped = |result: &CheckResult| {
            let before = last.and_then(|last| last.of(&result.command));
            before.is_some_and(|before| before.verdict.is_pass() != result.verdict.is_pass())
        };
        let is_chance =
            |result: &&CheckResult| result.verdict == CheckVerdict::Flaky || flipped(result);
        results.iter().filter(is_chance).map(|result| result.command.clone()).collect()
    }

    /// Adds a run of the checks, and compares it with those before. Returns `None` if a check had
    /// no result. As many consecutive gains as `no_gain` may show nothing but another failure.
    pub fn add(&mut self, now: Measured<'_>, no_gain: u32) -> Option<Change> {
        let Measured { iteration, at, results, fingerprint } = now;
        let failing = Failing::of(results)?;
        let (results, fingerprint) = (results.to_vec(), fingerprint.clone());
        let now = Measurement { iteration, at, failing, results, fingerprint };
        let is_same_tree =
            self.last.as_ref().is_some_and(|last| last.fingerprint == now.fingerprint);
        let change = if is_same_tree {
            self.note_noise(&now);
            Change::Same
        } else {
            self.compare(&now, if no_gain == 0 { MAX_NOVEL } else { no_gain })
        };
        let since = self.failing_since.unwrap_or(now.iteration);
        self.failing_since = (now.failing.checks > 0).then_some(since);
        self.before = self.last.replace(now);
        Some(change)
    }

    /// Nothing changed, so the difference is chance.
    fn note_noise(&mut self, now: &Measurement) {
        for result in &now.results {
            let before = self.last.as_ref().and_then(|last| last.of(&result.command));
            if let Some((progress, before)) = self.progress.get_mut(&result.command).zip(before) {
                progress.note_noise(before, result);
            }
        }
    }

    fn compare(&mut self, now: &Measurement, most_novel: u32) -> Change {
        let mut progress = self.progress.clone();
        let (mut is_closer, mut is_novel, mut has_new_tests) = (false, false, false);
        for result in self.steady(&now.results) {
            let check = progress.entry(result.command.clone()).or_default();
            has_new_tests |= check.has_new_tests(result);
            match check.add(result) {
                Step::Closer => is_closer = true,
                Step::Novel => is_novel = true,
                Step::None => {}
            }
        }
        let is_better = is_closer || is_novel && self.novel_gains < most_novel;
        let change = match &self.last {
            None => Change::First,
            // A gain of one check counts only once the other one passes again.
            Some(last) if self.newly_fails(now, last) => Change::Worse,
            Some(_) if is_better => Change::Better,
            Some(last) if self.is_worse(now, last) => Change::Worse,
            Some(_) => Change::Same,
        };
        let is_gain = matches!(change, Change::First | Change::Better);
        if is_gain || !self.last.as_ref().is_some_and(|last| self.newly_fails(now, last)) {
            self.progress = progress;
        }
        if is_gain {
            let is_measurable = is_closer || change == Change::First;
            self.novel_gains = if is_measurable { 0 } else { self.novel_gains + 1 };
            let (iteration, failing) = (now.iteration, now.failing);
            self.gain = Some(GainPoint { iteration, failing, signatures: signatures(now) });
        }
        self.grown = if has_new_tests && !is_gain { self.grown + 1 } else { 0 };
        if self.best.is_none_or(|(_, least)| is_less(now.failing, least)) {
            self.best = Some((now.iteration, now.failing));
        }
        change
    }

    /// The results without those of flaky checks, of which only chance is known.
    fn steady<'a>(&self, results: &'a [CheckResult]) -> impl Iterator<Item = &'a CheckResult> {
        results.iter().filter(|result| !self.flaky.contains(&result.command))
    }

    /// Whether a check fails that passed in the run before.
    fn newly_fails(&self, now: &Measurement, last: &Measurement) -> bool {
        let passed = |command| last.of(command).is_some_and(|before| before.verdict.is_pass());
        let fails = |result: &CheckResult| !result.verdict.is_pass();
        self.steady(&now.results).any(|result| fails(result) && passed(&result.command))
    }

    /// Whether more fails than in the run of the checks before.
    fn is_worse(&self, now: &Measurement, last: &Measurement) -> bool {
        let failing = |results| {
            let failing = failing::failing_commands(results);
            failing.iter().filter(|command| !self.flaky.contains(*command)).count()
        };
        let checks = failing(&now.results).cmp(&failing(&last.results));
        let tests = now.failing.tests.zip(last.failing.tests);
        let more_tests = tests.is_some_and(|(now, before)| now.failed > before.failed);
        checks.is_gt() || checks.is_eq() && more_tests
    }

    /// The number of consecutive iterations without a gain after this one.
    pub fn without_gain_after(&self, after: AfterIteration) -> u32 {
        let Some(last) = &self.last else { return 0 };
        let gained = matches!(after.change, Some(Change::First | Change::Better));
        let is_spared = after.change.is_some() && (1..=MAX_SPARED).contains(&self.grown);
        if last.failing.checks == 0 || gained || after.fewer_open {
            0
        } else if !is_spared && (after.change.is_some() || after.is_known && self.without_gain > 0)
        {
            self.without_gain.saturating_add(1)
        } else {
            self.without_gain
        }
    }

    /// The failures that have not changed since the last gain: `the same 2 tests have failed since iteration 7`.
    pub fn standing_failure(&self) -> Option<String> {
        let last = self.last.as_ref().filter(|last| last.failing.checks > 0)?;
        let gain = self.gain.as_ref()?;
        let is_same = gain.failing == last.failing && gain.signatures == signatures(last);
        let least = self.best.map_or(gain.failing, |(_, least)| least);
        let (number, noun) = match (last.failing.failed_tests(), least.failed_tests()) {
            (Some(now), _) if is_same => (now.failed, "test"),
            (Some(_), Some(least)) => (least.failed, "test"),
            (Some(_), None) => (1, "test"),
            (None, _) if is_same => (last.failing.checks, "check"),
            (None, _) => (least.checks.max(1), "check"),
        };
        let what = match (is_same, number) {
            (true, 1) => format!("the same {noun} has failed"),
            (true, _) => format!("the same {} have failed", count(number, noun)),
            (false, 1) => format!("at least 1 {noun} has failed"),
            (false, _) => format!("at least {} have failed", count(number, noun)),
        };
        let since = self.failing_since.map_or(gain.iteration, |first| first.max(gain.iteration));
        Some(match since {
            Iteration(0) => format!("{what} since the start of the run"),
            iteration => format!("{what} since iteration {iteration}"),
        })
    }
}

/// The results of a run of the checks, before they are compared.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The iteration after which they ran; 0 for the baseline.
    pub iteration: Iteration,
    pub at: Timestamp,
    pub results: &'a [CheckResult],
    /// The state of the project after the checks.
    pub fingerprint: &'a Fingerprint,
}

impl Measurement {
    /// The result of this check.
    pub fn of(&self, command: &str) -> Option<&CheckResult> {
        self.results.iter().find(|result| result.command == command)
    }
}

/// How each failing check fails.
fn signatures(measured: &Measurement) -> BTreeMap<String, String> {
    let failing = measured.results.iter().filter(|result| !result.verdict.is_pass());
    failing.map(|result| (result.command.clone(), failure_identity::signature(result))).collect()
}

/// Whether less fails: fewer checks, or as many and fewer tests.
fn is_less(now: Failing, least: Failing) -> bool {
    let tests = now.failed_tests().zip(least.failed_tests());
    let fewer_tests = tests.is_some_and(|(now, least)| now.failed < least.failed);
    now.checks < least.checks || now.checks == least.checks && fewer_tests
}

#[cfg(test)]
mod tests;
