//! Every ending of a run: its name, its exit code, its sentence. One enum serves journal, hooks,
//! notifications, JSON and exit code.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Usd;

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Outcome {
    /// A claim passed the gate.
    Completed {
        /// What it rests on.
        proof: Proof,
        /// Why passing checks are not the proof; absent when they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unchecked: Option<Unchecked>,
    },
    /// Too many idle iterations in a row, or the same checks failing in the same way.
    Stagnated {
        /// How many.
        idle: u32,
    },
    /// The same, in modes where every iteration is expected to change files.
    NoChanges {
        /// How many.
        idle: u32,
    },
    /// All allowed iterations are used up.
    MaxIterations {
        /// The limit.
        limit: u32,
    },
    /// The money is used up.
    MaxCost {
        /// The limit.
        limit: Usd,
    },
    /// The time is used up.
    MaxDuration {
        /// The limit.
        #[serde(with = "crate::units::millis", rename = "limit_ms")]
        #[schemars(with = "u64")]
        limit: Duration,
    },
    /// The tokens are used up.
    MaxTokens {
        /// The limit.
        limit: u64,
    },
    /// The agent cannot continue without something that only a person can give.
    Blocked {
        /// What is needed.
        needs: String,
    },
    /// Completion was claimed again and again and not believed.
    Unverified {
        /// Why it was not.
        why: String,
    },
    /// Stopped after an iteration, as asked.
    Stopped,
    /// The agent's status file says that the task failed.
    Failed {
        /// In its words.
        why: String,
    },
    /// Too many failed iterations, or failed reviews, in a row.
    ConsecutiveErrors {
        /// How many.
        errors: u32,
        /// The last one.
        last: String,
    },
    /// A limit was reached, no iteration of the run succeeded, and the last one failed.
    AllIterationsFailed {
        /// How many iterations there were.
        iterations: u32,
        /// Why the last one failed.
        last: String,
        /// The limit that was reached.
        limit: Box<Outcome>,
    },
    /// The account does not let the agent work: not logged in, refused, no credit.
    Auth {
        /// What the agent said.
        why: String,
    },
    /// The agent program cannot work: it does not start, or its model does not exist.
    BadAgent {
        /// What it said.
        why: String,
    },
    /// A check cannot run on this machine, so nothing could be verified.
    ChecksCannotRun {
        /// Which one, and what is missing.
        why: String,
    },
    /// A hook said so.
    HookAbort {
        /// Which, and how.
        why: String,
    },
    /// A limit lasts longer than we were allowed to wait.
    LimitWaitTooLong {
        /// When the limit ends, if that is known.
        until: Option<Timestamp>,
    },
    /// Free disk space is below the floor.
    DiskFull {
        /// Bytes free.
        free: u64,
        /// Bytes that have to be.
        floor: u64,
    },
    /// Events could not be recorded; spending off the record is worse than stopping.
    JournalFailed {
        /// The error.
        why: String,
    },
    /// A signal (Ctrl-C, SIGQUIT, SIGTERM, SIGHUP) or `stop --now`.
    Interrupted,
}

/// The kind of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeClass {
    /// A claim passed the gate, verified or not.
    Completed,
    /// The agent made no more progress.
    Stagnated,
    /// A limit of the run was reached.
    Limit,
    /// The agent needs something that only a person can provide.
    Blocked,
    /// The agent claimed completion, and the gate rejected every claim.
    Unverified,
    /// Stopped after an iteration, as requested.
    Stopped,
    /// Stopped at once, as requested.
    Interrupted,
    /// An error.
    Failed,
}

/// A limit that a run reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedLimit {
    /// `max_iterations`.
    Iterations(u32),
    /// `max_cost`.
    Cost(Usd),
    /// `max_duration`.
    Duration(Duration),
    /// `max_tokens`.
    Tokens(u64),
}

/// What a completion rests on. Only `checks` is called verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// A check that can show that the work is done passed.
    Checks,
    /// A model judged the work complete.
    Model,
    /// Neither: the claim was accepted as it was made.
    None,
}

impl Proof {
    /// The name in journal, JSON and hooks.
    pub fn name(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Model => "model",
            Self::None => "none",
        }
    }
}

/// Why passing checks could not show that the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unchecked {
    /// No checks are configured.
    NoChecks,
    /// Every check passed before the run began.
    PassedBefore,
    /// No check failed before the run began, and at least one had no result then.
    UnknownBefore,
}

impl Unchecked {
    /// The reason as it stands in parentheses.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoChecks => "no checks configured",
            Self::PassedBefore => "the checks passed before the run began",
            Self::UnknownBefore => "no check is known to have failed before the run began",
        }
    }
}

/// What a caller of the program is told beyond success and failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Every orderly ending exits 0.
    Lenient,
    /// With `--require-complete`: everything but `completed` with a proof exits non-zero.
    RequireComplete,
}

impl Outcome {
    /// A completion with this proof, without checks where the proof is not `checks`.
    pub fn completed(proof: Proof) -> Self {
        let unchecked = match proof {
            Proof::Checks => None,
            Proof::Model | Proof::None => Some(Unchecked::NoChecks),
        };
        Self::Completed { proof, unchecked }
    }

    /// What a completion rests on; `None` for every other outcome.
    pub fn proof(&self) -> Option<Proof> {
        if let Self::Completed { proof, .. } = self { Some(*proof) } else { None }
    }

    /// The name in journal, JSON and hooks.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Stagnated { .. } => "stagnated",
            Self::NoChanges { .. } => "no_changes",
            Self::MaxIterations { .. } => "max_iterations",
            Self::MaxCost { .. } => "max_cost",
            Self::MaxDuration { .. } => "max_duration",
            Self::MaxTokens { .. } => "max_tokens",
            Self::Blocked { .. } => "blocked",
            Self::Unverified { .. } => "unverified",
            Self::Stopped => "stopped",
            Self::Failed { .. } => "failed",
            Self::ConsecutiveErrors { .. } => "consecutive_errors",
            Self::AllIterationsFailed { .. } => "all_iterations_failed",
            Self::Auth { .. } => "auth",
            Self::BadAgent { .. } => "bad_agent",
            Self::ChecksCannotRun { .. } => "checks_cannot_run",
            Self::HookAbort { .. } => "hook_abort",
            Self::LimitWaitTooLong { .. } => "limit_wait_too_long",
            Self::DiskFull { .. } => "disk_full",
            Self::JournalFailed { .. } => "journal_failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// The kind of outcome. Everything that depends only on the kind asks for this.
    pub fn class(&self) -> OutcomeClass {
        match self {
            Self::Completed { .. } => OutcomeClass::Completed,
            Self::Stagnated { .. } | Self::NoChanges { .. } => OutcomeClass::Stagnated,
            Self::MaxIterations { .. }
            | Self::MaxCost { .. }
            | Self::MaxDuration { .. }
            | Self::MaxTokens { .. } => OutcomeClass::Limit,
            Self::Blocked { .. } => OutcomeClass::Blocked,
            Self::Unverified { .. } => OutcomeClass::Unverified,
            Self::Stopped => OutcomeClass::Stopped,
            Self::Interrupted => OutcomeClass::Interrupted,
            Self::Failed { .. }
            | Self::ConsecutiveErrors { .. }
            | Self::AllIterationsFailed { .. }
            | Self::Auth { .. }
            | Self::BadAgent { .. }
            | Self::ChecksCannotRun { .. }
            | Self::HookAbort { .. }
            | Self::LimitWaitTooLong { .. }
            | Self::DiskFull { .. }
            | Self::JournalFailed { .. } => OutcomeClass::Failed,
        }
    }

    /// The limit that the run reached, if it ended by one.
    pub fn reached_limit(&self) -> Option<ReachedLimit> {
        match self {
            Self::MaxIterations { limit } => Some(ReachedLimit::Iterations(*limit)),
            Self::MaxCost { limit } => Some(ReachedLimit::Cost(*limit)),
            Self::MaxDuration { limit } => Some(ReachedLimit::Duration(*limit)),
            Self::MaxTokens { limit } => Some(ReachedLimit::Tokens(*limit)),
            Self::AllIterationsFailed { limit, .. } => limit.reached_limit(),
            _ => None,
        }
    }

    /// The exit code of the program. Exit 2 means that the run could not start as requested: a
    /// usage error, or a check that cannot run.
    pub fn exit_code(&self, strictness: Strictness) -> u8 {
        let unfinished = |code| match strictness {
            Strictness::Lenient => 0,
            Strictness::RequireComplete => code,
        };
        match self.class() {
            OutcomeClass::Completed if self.proof() == Some(Proof::None) => unfinished(6),
            OutcomeClass::Completed => 0,
            OutcomeClass::Limit => unfinished(3),
            OutcomeClass::Stagnated => unfinished(4),
            OutcomeClass::Blocked => unfinished(5),
            OutcomeClass::Unverified => unfinished(6),
            OutcomeClass::Stopped => unfinished(7),
            OutcomeClass::Failed if matches!(self, Self::ChecksCannotRun { .. }) => 2,
            OutcomeClass::Failed => 1,
            OutcomeClass::Interrupted => 130,
        }
    }

    /// How good an ending it is, for the sign in front of its sentence.
    pub fn tone(&self) -> Tone {
        match self.exit_code(Strictness::RequireComplete) {
            0 => Tone::Good,
            1 | 2 => Tone::Bad,
            _ => Tone::Mixed,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How good an ending is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What was wanted.
    Good,
    /// An orderly end that is not what was wanted.
    Mixed,
    /// Something is wrong.
    Bad,
}

/// `1 iteration`, `3 iterations`.
pub fn count(number: u32, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// One of each, for the reference page and for tests that must cover every ending.
pub fn samples() -> Vec<Outcome> {
    vec![
        Outcome::completed(Proof::Checks),
        Outcome::Stagnated { idle: 3 },
        Outcome::NoChanges { idle: 2 },
        Outcome::MaxIterations { limit: 10 },
        Outcome::MaxCost { limit: Usd::from_cents(500) },
        Outcome::MaxDuration { limit: Duration::from_hours(8) },
        Outcome::MaxTokens { limit: 1_000_000 },
        Outcome::Blocked { needs: "a password for the staging database".to_owned() },
        Outcome::Unverified { why: "`cargo test` failed (exit 101)".to_owned() },
        Outcome::Stopped,
        Outcome::Failed { why: "the library does not support this".to_owned() },
        Outcome::ConsecutiveErrors { errors: 3, last: "overloaded".to_owned() },
        Outcome::AllIterationsFailed {
            iterations: 2,
            last: "overloaded".to_owned(),
            limit: Box::new(Outcome::MaxIterations { limit: 2 }),
        },
        Outcome::Auth { why: "not logged in".to_owned() },
        Outcome::BadAgent { why: "error: unknown option '--colour'".to_owned() },
        Outcome::ChecksCannotRun {
            why: "`cargo test` cannot run: `cargo` is not installed".to_owned(),
        },
        Outcome::HookAbort { why: "`started` exited with 2".to_owned() },
        Outcome::LimitWaitTooLong { until: Some(Timestamp::UNIX_EPOCH) },
        Outcome::DiskFull { free: 100 << 20, floor: 1 << 30 },
        Outcome::JournalFailed { why: "no space left on device".to_owned() },
        Outcome::Interrupted,
    ]
}
