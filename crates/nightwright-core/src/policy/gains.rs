//! Improvement policy: when the checks run after an iteration, and what follows if they do not get
//! better.
//!
//! An *improvement* is a result of the checks with fewer failures than any earlier result in the
//! run.

use std::time::Duration;

use crate::input::{CheckPurpose, CheckResult, CheckVerdict};
use crate::policy::check_history::CheckHistory;
use crate::settings::{Depth, Every, Rerun, Verify};
use crate::units::Iteration;

/// Checks that take no longer than this run after every iteration.
const CHEAP: Duration = Duration::from_mins(2);

/// Checks that fail within this time before the first iteration run once more.
const QUICK: Duration = Duration::from_secs(10);

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

/// Whether the checks run after an iteration that changed something and claims nothing. After the
/// last one, they always do: otherwise work that is done would go unnoticed.
pub fn are_due(every: Every, time: CheckTime, is_last: bool) -> bool {
    match every {
        Every::Claim => false,
        Every::Always => true,
        Every::Auto if is_last => true,
        Every::Auto => {
            let CheckTime { expected, spent, active } = time;
            let Some(expected) = expected else { return true };
            expected <= CHEAP || (spent + expected).saturating_mul(SHARE) < active + expected
        }
    }
}

/// The checks that run once more if they fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reruns {
    commands: Vec<String>,
    /// A check that took longer does not run again.
    longest: Option<Duration>,
}

impl Reruns {
    /// Before the first iteration, only checks that fail quickly run again: otherwise a flaky check
    /// that passes later would look like proof of work. After an iteration, only those that passed
    /// before run again: the others are known to fail.
    pub fn of(purpose: CheckPurpose, verify: &Verify, history: &CheckHistory) -> Self {
        let passed_before = |command: &&String| {
            let last = history.last.iter().flat_map(|last| &last.results);
            last.clone().any(|result| result.command == **command && result.verdict.is_pass())
        };
        let all = verify.commands.iter();
        match (verify.rerun, purpose) {
            (Rerun::Never, _) => Self::default(),
            (Rerun::Once, CheckPurpose::Baseline) => {
                Self { commands: all.cloned().collect(), longest: Some(QUICK) }
            }
            (Rerun::Once, CheckPurpose::Gate) => {
                Self { commands: all.cloned().collect(), longest: None }
            }
            (Rerun::Once, CheckPurpose::Progress) => {
                Self { commands: all.filter(passed_before).cloned().collect(), longest: None }
            }
        }
    }

    /// Whether the check with this result runs once more.
    pub fn include(&self, result: &CheckResult) -> bool {
        let has_failed = matches!(result.verdict, CheckVerdict::Failed { .. });
        let is_quick = self.longest.is_none_or(|longest| result.duration <= longest);
        has_failed && is_quick && self.commands.contains(&result.command)
    }
}

/// The gates that ran without a claim because all checks passed, and did not complete the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnclaimedGates {
    failed: u32,
    /// The first iteration after which the next one may run.
    next: Iteration,
}

impl UnclaimedGates {
    /// The maximum number of iterations between two of these gates.
    const MAX_PAUSE: u32 = 8;

    /// Adds one that ran after this iteration. The pause until the next one doubles each time.
    pub fn add(&mut self, iteration: Iteration) {
        let pause = 1_u32
            .checked_shl(self.failed)
            .map_or(Self::MAX_PAUSE, |pause| pause.min(Self::MAX_PAUSE));
        self.failed = self.failed.saturating_add(1);
        self.next = Iteration(iteration.0.saturating_add(pause));
    }

    /// Whether another one may run after this iteration.
    pub fn may_run(&self, iteration: Iteration) -> bool {
        iteration >= self.next
    }
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

/// The number of verdicts that have to accept the claim: two after four rejected claims.
pub fn required_verdicts(rejected_claims: u32) -> u32 {
    if rejected_claims >= 4 { 2 } else { 1 }
}

/// The feedback after `without_gain` consecutive iterations without an improvement, of which `most`
/// end the run.
pub fn feedback(without_gain: u32, most: u32, standing: &str, advice: Option<&str>) -> String {
    let mut text = match without_gain {
        0 | 1 => format!(
            "The last iteration did not fix any test or check: {standing}. Before you edit \
             anything, read the failure below and find its cause."
        ),
        2 => format!(
            "The last 2 iterations did not fix any test or check: {standing}. That approach \
             does not work. Describe it in the notes, and take another approach."
        ),
        3.. => format!(
            "The last {without_gain} iterations did not fix any test or check: {standing}. Reduce \
             the failure to the smallest case, and test each assumption. If the task is impossible \
             as specified, report that as a blocker with your evidence."
        ),
    };
    if without_gain.saturating_add(1) == most {
        text.push_str(" If no further test or check passes in the next iteration, the run ends.");
    }
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

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn before_the_first_iteration_only_checks_that_fail_quickly_run_again() {
        let verify = Verify { commands: vec!["make".to_owned()], ..Verify::default() };
        let reruns = |purpose| Reruns::of(purpose, &verify, &CheckHistory::default());
        let ended = |verdict, seconds| CheckResult {
            duration: Duration::from_secs(seconds),
            ..CheckResult::without_run("make", verdict)
        };
        let failed = || CheckVerdict::Failed { how: ProcessExit::Code(1) };
        assert!(reruns(CheckPurpose::Baseline).include(&ended(failed(), 10)));
        assert!(!reruns(CheckPurpose::Baseline).include(&ended(failed(), 11)));
        assert!(reruns(CheckPurpose::Gate).include(&ended(failed(), 11)));
        assert!(!reruns(CheckPurpose::Progress).include(&ended(failed(), 1)), "never passed");
        for verdict in [CheckVerdict::Passed, CheckVerdict::TimedOut, CheckVerdict::Interrupted] {
            assert!(!reruns(CheckPurpose::Baseline).include(&ended(verdict, 1)));
        }
        let never = Verify { rerun: Rerun::Never, ..verify.clone() };
        let reruns = Reruns::of(CheckPurpose::Baseline, &never, &CheckHistory::default());
        assert!(!reruns.include(&ended(failed(), 1)));
    }

    #[test]
    fn the_pause_between_gates_without_a_claim_doubles_up_to_eight_iterations() {
        let mut gates = UnclaimedGates::default();
        let runs = (1..=40).map(Iteration).filter(|iteration| {
            let may_run = gates.may_run(*iteration);
            if may_run {
                gates.add(*iteration);
            }
            may_run
        });
        let runs: Vec<_> = runs.map(|iteration| iteration.0).collect();
        assert_eq!(runs, [1, 2, 4, 8, 16, 24, 32, 40]);
    }

    #[test]
    fn the_feedback_says_that_the_run_ends_only_before_the_last_chance() {
        let says = |without_gain, most| {
            feedback(without_gain, most, "1 test fails", None).contains("the run ends")
        };
        assert!(says(3, 4) && says(1, 2) && says(6, 7));
        assert!(!says(3, 7) && !says(1, 4) && !says(3, 0));
    }

    #[test]
    fn checks_under_two_minutes_run_each_time_and_slower_ones_stay_under_a_fifth() {
        let time = |expected, spent, active| CheckTime {
            expected: Some(MINUTE * expected),
            spent: MINUTE * spent,
            active: MINUTE * active,
        };
        assert!(are_due(Every::Auto, time(2, 100, 100), false));
        assert!(are_due(Every::Auto, time(10, 0, 50), false));
        assert!(!are_due(Every::Auto, time(10, 0, 40), false));
        assert!(!are_due(Every::Auto, time(10, 10, 60), false));
        assert!(are_due(Every::Always, time(10, 10, 60), false));
        assert!(are_due(Every::Auto, time(10, 10, 60), true), "the last iteration");
        assert!(!are_due(Every::Claim, time(1, 0, 60), true));
        let unknown = CheckTime { expected: None, ..time(1, 0, 0) };
        assert!(are_due(Every::Auto, unknown, false));
    }
}
