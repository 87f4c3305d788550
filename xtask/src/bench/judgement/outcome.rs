//! The outcomes of a run, and their exit codes.

use serde::Deserialize;

/// The outcomes of a run that a behavior can lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExpectedOutcome {
    Completed,
    Stagnated,
    NoChanges,
    MaxIterations,
    MaxCost,
    MaxDuration,
    MaxTokens,
    Blocked,
    Impossible,
    Unverified,
    Failed,
    ConsecutiveErrors,
    AllIterationsFailed,
    Auth,
    BadAgent,
    LimitWaitTooLong,
    Stopped,
}

impl ExpectedOutcome {
    /// Returns the name in journals and in the files of behaviors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stagnated => "stagnated",
            Self::NoChanges => "no_changes",
            Self::MaxIterations => "max_iterations",
            Self::MaxCost => "max_cost",
            Self::MaxDuration => "max_duration",
            Self::MaxTokens => "max_tokens",
            Self::Blocked => "blocked",
            Self::Impossible => "impossible",
            Self::Unverified => "unverified",
            Self::Failed => "failed",
            Self::ConsecutiveErrors => "consecutive_errors",
            Self::AllIterationsFailed => "all_iterations_failed",
            Self::Auth => "auth",
            Self::BadAgent => "bad_agent",
            Self::LimitWaitTooLong => "limit_wait_too_long",
            Self::Stopped => "stopped",
        }
    }

    /// Returns the exit code of a run with this outcome, as in `docs/reference/outcomes.md`.
    pub(super) fn exit_code(self, strictness: Strictness) -> i32 {
        let strict = match self {
            Self::Completed => return 0,
            Self::Failed
            | Self::ConsecutiveErrors
            | Self::AllIterationsFailed
            | Self::Auth
            | Self::BadAgent
            | Self::LimitWaitTooLong => return 1,
            Self::MaxIterations | Self::MaxCost | Self::MaxDuration | Self::MaxTokens => 3,
            Self::Stagnated | Self::NoChanges => 4,
            Self::Blocked | Self::Impossible => 5,
            Self::Unverified => 6,
            Self::Stopped => 7,
        };
        match strictness {
            Strictness::Usual => 0,
            Strictness::RequireComplete => strict,
        }
    }
}

/// The meaning of exit code 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// The run ended in an orderly way.
    Usual,
    /// The run completed its task.
    RequireComplete,
}

impl Strictness {
    /// Derives the strictness from the options of a command line.
    pub(super) fn of(options: &[String]) -> Self {
        if options.iter().any(|option| option == "--require-complete") {
            Self::RequireComplete
        } else {
            Self::Usual
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_use_the_names_of_the_outcomes() {
        #[derive(Deserialize)]
        struct One {
            outcome: ExpectedOutcome,
        }
        for name in ["completed", "no_changes", "limit_wait_too_long", "consecutive_errors"] {
            let one: One = toml::from_str(&format!("outcome = \"{name}\"")).unwrap();
            assert_eq!(one.outcome.name(), name);
        }
    }

    #[test]
    fn exit_codes_are_those_that_are_documented() {
        let page = include_str!("../../../../docs/reference/outcomes.md");
        let rows = page.lines().filter_map(|line| {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let [_, name, usual, strict, ..] = cells[..] else { return None };
            let name = name.strip_prefix('`')?.strip_suffix('`')?;
            // An agent cannot cause the other outcomes.
            let outcome: ExpectedOutcome = serde_json::from_value(name.into()).ok()?;
            Some((outcome, usual.to_owned(), strict.to_owned()))
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 17);
        for (outcome, usual, strict) in rows {
            let of = |strictness| outcome.exit_code(strictness).to_string();
            let ours = (of(Strictness::Usual), of(Strictness::RequireComplete));
            assert_eq!(ours, (usual, strict), "{outcome:?}");
        }
    }
}
