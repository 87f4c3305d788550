//! The progress of one check over a run: whether it gets closer to passing.

use std::collections::BTreeSet;

use crate::display::display_safe;
use crate::failure_excerpt;
use crate::failure_identity::{self, ProblemLines};
use crate::input::{CheckResult, CheckVerdict};
use crate::test_counts::{self, TestCounts};

/// The number of runs without counts after which the counts before them are forgotten.
const MAX_UNCOUNTED: u32 = 2;

/// The result of a check, compared with all earlier results of the same check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The check passes for the first time, or fewer tests fail, or fewer problems are left.
    Closer,
    /// The check fails in a way that the run has not seen before: perhaps the next failure.
    Novel,
    None,
}

/// The results of one check so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckProgress {
    /// The result to beat.
    best: Option<Sample>,
    /// The failed and passed tests of all results.
    seen_counts: BTreeSet<(u32, u32)>,
    seen_signatures: BTreeSet<String>,
    seen_titles: BTreeSet<String>,
    /// The last counts, if fewer tests ran than in the best result and fewer of them failed.
    reduced: Option<TestCounts>,
    /// The consecutive results without counts.
    uncounted: u32,
    /// The largest difference between the failed tests of two results of the same project.
    noise: u32,
}

/// One result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sample {
    passes: bool,
    tests: Option<TestCounts>,
    problems: Option<u32>,
    lines: ProblemLines,
    titles: BTreeSet<String>,
    signature: String,
}

impl Sample {
    fn of(result: &CheckResult) -> Self {
        // The output of a check that timed out is chance.
        let ended = result.verdict != CheckVerdict::TimedOut;
        let output = if ended { result.output.as_str() } else { "" };
        let lines = failure_identity::problem_lines(output);
        let places = u32::try_from(lines.places).ok().filter(|places| *places > 0);
        Self {
            passes: result.verdict.is_pass(),
            tests: result.tests.filter(|_| ended),
            problems: test_counts::problems(output).or(places),
            lines,
            titles: failure_excerpt::titles(&display_safe(output)),
            signature: failure_identity::signature(result),
        }
    }

    fn has_fewer_problems(&self, other: &Self) -> bool {
        self.problems.zip(other.problems).is_some_and(|(own, others)| own < others)
    }
}

impl CheckProgress {
    /// Adds a result, and compares it with the earlier ones.
    pub fn add(&mut self, result: &CheckResult) -> Step {
        let now = Sample::of(result);
        self.adopt_reduced(&now);
        let step = self.compare(&now);
        self.seen_counts.extend(now.tests.map(|tests| (tests.failed, tests.passed())));
        self.seen_signatures.insert(now.signature.clone());
        self.seen_titles.extend(now.titles.iter().cloned());
        match &mut self.best {
            Some(best) if step == Step::None => {
                self.uncounted = if now.tests.is_some() { 0 } else { self.uncounted + 1 };
                let both = now.tests.zip(best.tests);
                let is_reduced = |(now, best): &(TestCounts, TestCounts)| {
                    now.total < best.total && now.failed < best.failed
                };
                self.reduced = both.filter(is_reduced).map(|(now, _)| now);
                // Tests were added, or reached for the first time: from here on, fewer of these
                // count.
                if both
                    .is_some_and(|(now, best)| now.total > best.total && now.failed >= best.failed)
                {
                    best.tests = now.tests;
                }
                if self.uncounted >= MAX_UNCOUNTED {
                    best.tests = None;
                }
            }
            // A smaller number of other problems is not the one to beat.
            Some(best) if step == Step::Novel && now.has_fewer_problems(best) => {}
            Some(_) | None => {
                (self.uncounted, self.reduced) = (0, None);
                self.best = Some(now);
            }
        }
        step
    }

    /// Records another result of the same project: the difference is chance.
    pub fn note_noise(&mut self, before: &CheckResult, now: &CheckResult) {
        let failed = |result: &CheckResult| result.tests.map(|tests| tests.failed);
        if let Some((before, now)) = failed(before).zip(failed(now)) {
            self.noise = self.noise.max(before.abs_diff(now));
        }
    }

    /// Whether it runs more tests than ever before, so that more may fail.
    pub fn has_new_tests(&self, result: &CheckResult) -> bool {
        let most =
            self.seen_counts.iter().map(|(failed, passed)| failed.saturating_add(*passed)).max();
        result.tests.zip(most).is_some_and(|(tests, most)| tests.total > most)
    }

    /// If fewer tests ran twice, they were merged or deleted: their counts are the ones to beat.
    fn adopt_reduced(&mut self, now: &Sample) {
        if let (Some(reduced), Some(now), Some(best)) = (self.reduced, now.tests, &mut self.best)
            && best.tests.is_some_and(|tests| now.total < tests.total)
            && now.failed <= reduced.failed
        {
            best.tests = Some(reduced);
        }
    }

    fn compare(&self, now: &Sample) -> Step {
        let Some(best) = &self.best else { return Step::None };
        if best.passes {
            return self.after_pass(now);
        }
        if now.passes {
            return Step::Closer;
        }
        match (now.tests, best.tests) {
            (Some(tests), Some(least)) if least.failed > 0 => self.with_counts(now, tests, least),
            // Now the tests run at all.
            (Some(tests), None) if tests.failed > 0 => {
                if self.was_as_good(tests) {
                    Step::None
                } else {
                    Step::Closer
                }
            }
            (None, Some(least)) if least.failed > 0 => Step::None,
            (Some(_) | None, _) => self.without_counts(now, best),
        }
    }

    /// New tests may fail after all others passed. They count once more tests pass than ever before:
    /// who repairs what it broke does not get that far.
    fn after_pass(&self, now: &Sample) -> Step {
        let passed = now.tests.filter(|_| !now.passes).map(TestCounts::passed);
        if passed.is_some_and(|passed| self.gets_further(passed)) {
            Step::Closer
        } else {
            Step::None
        }
    }

    /// Whether more tests pass than in all results before, and not by chance.
    fn gets_further(&self, passed: u32) -> bool {
        let most = self.seen_counts.iter().map(|(_, passed)| *passed).max().unwrap_or(0);
        passed > most.saturating_add(self.noise)
    }

    /// Whether an earlier result had no more failures and no fewer passes.
    fn was_as_good(&self, now: TestCounts) -> bool {
        let as_good =
            |(failed, passed): &(u32, u32)| *failed <= now.failed && *passed >= now.passed();
        self.seen_counts.iter().any(as_good)
    }

    fn with_counts(&self, now: &Sample, tests: TestCounts, least: TestCounts) -> Step {
        let is_fewer = tests.failed.saturating_add(self.noise) < least.failed;
        let is_more_passed = tests.passed() > least.passed();
        // A runner that prints only failures.
        let counts_no_passed = tests.passed() == 0 && least.passed() == 0;
        // A runner that stops at the first failure, or at the first part with failures.
        let gets_further = self.gets_further(tests.passed());
        let are_others = now.titles.is_disjoint(&self.seen_titles);
        if self.was_as_good(tests) {
            Step::None
        } else if is_fewer && (is_more_passed || counts_no_passed)
            || gets_further && are_others && !now.titles.is_empty()
        {
            Step::Closer
        } else if gets_further
            && now.titles.is_empty()
            && tests.failed == least.failed
            && !self.seen_signatures.contains(&now.signature)
        {
            Step::Novel
        } else {
            Step::None
        }
    }

    /// Whether it fails in a way not seen before. Where tests were counted, another error that
    /// prevents them from running is no news.
    fn is_novel(&self, now: &Sample) -> bool {
        let tests_run = !now.titles.is_empty() && now.titles.is_disjoint(&self.seen_titles);
        !self.seen_signatures.contains(&now.signature) && (self.seen_counts.is_empty() || tests_run)
    }

    fn without_counts(&self, now: &Sample, best: &Sample) -> Step {
        let (lines, least) = (&now.lines.lines, &best.lines.lines);
        // A compiler that reports one syntax error has not looked for the others.
        let is_same_phase = lines.is_empty() || least.is_empty() || !lines.is_disjoint(least);
        let is_fewer = now.has_fewer_problems(best);
        let is_part = !lines.is_empty() && lines.len() < least.len() && lines.is_subset(least);
        if is_same_phase && (is_fewer || is_part && now.lines.places > 0) {
            Step::Closer
        } else if is_part || self.is_novel(now) {
            Step::Novel
        } else {
            Step::None
        }
    }
}
