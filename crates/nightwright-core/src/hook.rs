//! Hooks of the user: when they run, and how they receive the outcome of a run.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, OutcomeClass};
use crate::units::millis;

/// A program of the user that runs at a certain point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// Before the first iteration; may end the run.
    Started,
    /// Before every iteration; may skip it or end the run.
    NextIteration,
    IterationFinished,
    /// After an iteration that reported a new blocker.
    Blocked,
    /// After the end of the run, whatever its outcome. Only the shell runs it, because nothing is
    /// left to decide.
    Finished,
}

impl Hook {
    /// All hooks, in the order of a run.
    pub const ALL: [Self; 5] = [
        Self::Started,
        Self::NextIteration,
        Self::IterationFinished,
        Self::Blocked,
        Self::Finished,
    ];

    /// The name of the hook's file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::NextIteration => "next_iteration",
            Self::IterationFinished => "iteration_finished",
            Self::Blocked => "blocked",
            Self::Finished => "finished",
        }
    }

    /// Whether the exit code of this hook can end the run.
    pub fn can_abort(self) -> bool {
        match self {
            Self::Started | Self::NextIteration => true,
            Self::IterationFinished | Self::Blocked | Self::Finished => false,
        }
    }

    /// Whether its answer can skip an iteration.
    pub fn can_skip(self) -> bool {
        match self {
            Self::NextIteration => true,
            Self::Started | Self::IterationFinished | Self::Blocked | Self::Finished => false,
        }
    }
}

/// The hooks of a run, and their time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each hook, by its name in the journal")]
pub struct Hooks {
    /// Whether there is a hook that may end the run before its first iteration.
    pub started: bool,
    /// Whether there is a hook that may skip an iteration or end the run.
    pub next_iteration: bool,
    /// Whether there is a hook that runs after every iteration.
    pub iteration_finished: bool,
    /// Whether a `blocked` hook exists.
    pub blocked: bool,
    /// Whether a `finished` hook exists.
    pub finished: bool,
    /// The time limit of each hook, after which nightwright kills it.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub timeout: Duration,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            started: false,
            next_iteration: false,
            iteration_finished: false,
            blocked: false,
            finished: false,
            timeout: Duration::from_secs(30),
        }
    }
}

impl Hooks {
    /// Whether the run has this hook.
    pub fn has(&self, hook: Hook) -> bool {
        match hook {
            Hook::Started => self.started,
            Hook::NextIteration => self.next_iteration,
            Hook::IterationFinished => self.iteration_finished,
            Hook::Blocked => self.blocked,
            Hook::Finished => self.finished,
        }
    }

    /// Whether the run has any hook.
    pub fn any(&self) -> bool {
        Hook::ALL.into_iter().any(|hook| self.has(hook))
    }

    /// Adds or removes this hook.
    pub fn set(&mut self, hook: Hook, there: bool) {
        *match hook {
            Hook::Started => &mut self.started,
            Hook::NextIteration => &mut self.next_iteration,
            Hook::IterationFinished => &mut self.iteration_finished,
            Hook::Blocked => &mut self.blocked,
            Hook::Finished => &mut self.finished,
        } = there;
    }
}

/// The class of an outcome, for hooks that do not distinguish every outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishClass {
    /// A person stopped the run.
    Manual,
    /// The run reached its iteration limit.
    MaxIterations,
    /// The work is complete.
    Complete,
    /// The run made no more progress.
    NoChanges,
    /// The run ended with an error.
    Error,
    /// Any other outcome: another limit, blocked, impossible or unverified.
    Other,
}

impl FinishClass {
    /// The class of this outcome.
    pub fn of(outcome: &Outcome) -> Self {
        match outcome.class() {
            OutcomeClass::Stopped | OutcomeClass::Interrupted => Self::Manual,
            OutcomeClass::Limit if matches!(outcome, Outcome::MaxIterations { .. }) => {
                Self::MaxIterations
            }
            OutcomeClass::Completed => Self::Complete,
            OutcomeClass::Stagnated => Self::NoChanges,
            OutcomeClass::Failed => Self::Error,
            OutcomeClass::Limit | OutcomeClass::Blocked | OutcomeClass::Unverified => Self::Other,
        }
    }

    /// The value of the variable in the hook's environment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::MaxIterations => "max_iterations",
            Self::Complete => "complete",
            Self::NoChanges => "no_changes",
            Self::Error => "error",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Strictness, samples};

    #[test]
    fn every_outcome_has_its_class() {
        let classes: Vec<_> = samples()
            .iter()
            .map(|outcome| (outcome.name(), FinishClass::of(outcome).name()))
            .collect();
        assert_eq!(
            classes,
            [
                ("completed", "complete"),
                ("stagnated", "no_changes"),
                ("no_changes", "no_changes"),
                ("max_iterations", "max_iterations"),
                ("max_cost", "other"),
                ("max_duration", "other"),
                ("max_tokens", "other"),
                ("blocked", "other"),
                ("impossible", "other"),
                ("unverified", "other"),
                ("stopped", "manual"),
                ("failed", "error"),
                ("consecutive_errors", "error"),
                ("all_iterations_failed", "error"),
                ("auth", "error"),
                ("bad_agent", "error"),
                ("checks_cannot_run", "error"),
                ("check_needs_host", "error"),
                ("hook_abort", "error"),
                ("limit_wait_too_long", "error"),
                ("disk_full", "error"),
                ("project_unresponsive", "error"),
                ("journal_failed", "error"),
                ("journal_damaged", "error"),
                ("sandbox_failed", "error"),
                ("interrupted", "manual"),
            ]
        );
    }

    #[test]
    fn an_outcome_is_an_error_for_hooks_exactly_if_it_exits_with_1_or_2() {
        for outcome in samples() {
            let error = matches!(outcome.exit_code(Strictness::Lenient), 1 | 2);
            assert_eq!(FinishClass::of(&outcome) == FinishClass::Error, error, "{outcome}");
        }
    }

    #[test]
    fn hooks_of_an_old_journal_are_those_it_knew() {
        let old = r#"{"started":true,"next_iteration":false}"#;
        let hooks: Hooks = serde_json::from_str(old).unwrap();
        assert_eq!(hooks, Hooks { started: true, ..Hooks::default() });
        assert_eq!(hooks.timeout, Duration::from_secs(30));
    }

    #[test]
    fn each_hook_is_set_and_found_by_itself() {
        for hook in Hook::ALL {
            let mut hooks = Hooks::default();
            assert!(!hooks.any());
            hooks.set(hook, true);
            let there: Vec<_> = Hook::ALL.into_iter().filter(|hook| hooks.has(*hook)).collect();
            assert_eq!(there, [hook]);
        }
    }
}
