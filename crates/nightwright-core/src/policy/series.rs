//! Series policy: several runs, one after another, under one budget.

use std::time::Duration;

use crate::event::Totals;
use crate::outcome::{LIMIT_EXIT_CODE, Outcome, OutcomeClass, Strictness};
use crate::policy::limits::{MIN_COST, MIN_TIME};
use crate::settings::Limits;
use crate::units::Usd;

/// The rest of the limits that all runs of a series share; `None` for no limit. Each run has
/// its own limit of iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeriesBudget {
    pub cost: Option<Usd>,
    pub duration: Option<Duration>,
    pub tokens: Option<u64>,
}

/// The consequence of a run that did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// The series ends with this run.
    Stops,
    /// The next run starts, unless it would fail for the same reason.
    IsSkipped,
}

/// Why a series ends before its last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesEnd {
    /// A run did not complete.
    Unfinished,
    /// The operator stopped a run.
    Operator,
    /// Every other run would fail in the same way.
    Hopeless,
    /// The shared budget is used up.
    BudgetUsed,
}

impl SeriesBudget {
    /// Lowers the limits of the next run to what is left.
    pub fn cap(&self, limits: &mut Limits) {
        fn lower<T: Ord>(own: &mut Option<T>, left: Option<T>) {
            *own = own.take().into_iter().chain(left).min();
        }
        lower(&mut limits.max_cost, self.cost);
        lower(&mut limits.max_duration, self.duration);
        lower(&mut limits.max_tokens, self.tokens);
    }

    /// Subtracts what a run has used.
    pub fn spend(&mut self, used: &Totals) {
        self.cost = self.cost.map(|left| left.minus(used.cost));
        self.duration = self.duration.map(|left| left.saturating_sub(used.duration));
        self.tokens = self.tokens.map(|left| left.saturating_sub(used.tokens.counted()));
    }

    /// Whether too little is left for another run.
    pub fn is_used_up(&self) -> bool {
        self.cost.is_some_and(|left| left < MIN_COST)
            || self.duration.is_some_and(|left| left < MIN_TIME)
            || self.tokens == Some(0)
    }
}

/// Returns why no other run follows after this outcome; `None` if one does.
pub fn end(outcome: &Outcome, unfinished: Unfinished, left: &SeriesBudget) -> Option<SeriesEnd> {
    match outcome.class() {
        OutcomeClass::Stopped | OutcomeClass::Interrupted => return Some(SeriesEnd::Operator),
        OutcomeClass::Failed if is_shared(outcome) => return Some(SeriesEnd::Hopeless),
        OutcomeClass::Completed => {}
        OutcomeClass::Stagnated
        | OutcomeClass::Limit
        | OutcomeClass::Blocked
        | OutcomeClass::Unverified
        | OutcomeClass::Failed => {
            if unfinished == Unfinished::Stops {
                return Some(SeriesEnd::Unfinished);
            }
        }
    }
    left.is_used_up().then_some(SeriesEnd::BudgetUsed)
}

/// Whether a failure has nothing to do with the task.
fn is_shared(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Auth { .. }
            | Outcome::BadAgent { .. }
            | Outcome::LimitWaitTooLong { .. }
            | Outcome::DiskFull { .. }
            | Outcome::ProjectUnresponsive { .. }
            | Outcome::JournalFailed { .. }
            | Outcome::JournalDamaged { .. }
            | Outcome::SandboxFailed { .. }
    )
}

/// Returns the exit code of the first run that did not complete. A task that no run worked on
/// counts as stopped by a limit, because only a limit stops after a completed run.
pub fn exit_code(outcomes: &[&Outcome], tasks: usize, strictness: Strictness) -> u8 {
    let codes = outcomes.iter().map(|outcome| outcome.exit_code(strictness));
    let unstarted = match strictness {
        Strictness::RequireComplete if outcomes.len() < tasks => LIMIT_EXIT_CODE,
        Strictness::RequireComplete | Strictness::Lenient => 0,
    };
    codes.chain([unstarted]).find(|code| *code != 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Proof, samples};
    use crate::units::Tokens;

    fn used(cents: u64, seconds: u64, tokens: u64) -> Totals {
        Totals {
            cost: Usd::from_cents(cents),
            duration: Duration::from_secs(seconds),
            tokens: Tokens { output: tokens, ..Tokens::default() },
            ..Totals::default()
        }
    }

    fn completed() -> Outcome {
        Outcome::Completed { proof: Proof::Checks, unchecked: None }
    }

    #[test]
    fn each_run_gets_what_the_runs_before_it_left() {
        let mut left = SeriesBudget {
            cost: Some(Usd::from_cents(500)),
            duration: Some(Duration::from_secs(1000)),
            tokens: None,
        };
        left.spend(&used(120, 400, 9_000));
        let mut limits = Limits { max_iterations: Some(7), ..Limits::default() };
        left.cap(&mut limits);
        assert_eq!(limits.max_cost, Some(Usd::from_cents(380)));
        assert_eq!(limits.max_duration, Some(Duration::from_mins(10)));
        assert_eq!((limits.max_tokens, limits.max_iterations), (None, Some(7)));
        // A task may have its own, lower limit.
        let mut limits = Limits { max_cost: Some(Usd::from_cents(100)), ..Limits::default() };
        left.cap(&mut limits);
        assert_eq!(limits.max_cost, Some(Usd::from_cents(100)));
        left.spend(&used(1000, 0, 0));
        assert_eq!(left.cost, Some(Usd::ZERO));
    }

    #[test]
    fn the_series_ends_when_too_little_is_left_for_an_attempt() {
        let ends = |left: SeriesBudget| end(&completed(), Unfinished::IsSkipped, &left);
        let budget = SeriesBudget::default();
        assert_eq!(ends(budget), None);
        for left in [
            SeriesBudget { cost: Some(Usd::ZERO), ..budget },
            SeriesBudget { duration: Some(Duration::from_secs(29)), ..budget },
            SeriesBudget { tokens: Some(0), ..budget },
        ] {
            assert_eq!(ends(left), Some(SeriesEnd::BudgetUsed), "{left:?}");
        }
        assert_eq!(ends(SeriesBudget { cost: Some(Usd::from_cents(1)), ..budget }), None);
    }

    #[test]
    fn only_a_completed_run_is_followed_by_another_unless_the_user_wants_all() {
        let left = SeriesBudget::default();
        for outcome in samples() {
            let stops = end(&outcome, Unfinished::Stops, &left);
            let skips = end(&outcome, Unfinished::IsSkipped, &left);
            let wanted = match outcome.name() {
                "completed" => (None, None),
                "stopped" | "interrupted" => (Some(SeriesEnd::Operator), Some(SeriesEnd::Operator)),
                "auth"
                | "bad_agent"
                | "limit_wait_too_long"
                | "disk_full"
                | "project_unresponsive"
                | "journal_failed"
                | "journal_damaged"
                | "sandbox_failed" => (Some(SeriesEnd::Hopeless), Some(SeriesEnd::Hopeless)),
                _ => (Some(SeriesEnd::Unfinished), None),
            };
            assert_eq!((stops, skips), wanted, "{}", outcome.name());
        }
    }
}
