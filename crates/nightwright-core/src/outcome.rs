//! Outcomes of a run: names, classes and exit codes. One enum serves journal, hooks, notifications,
//! JSON and exit code.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Usd;

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// A claim passed the gate.
    Completed {
        /// The proof that the completion rests on.
        proof: Proof,
        /// Why passing checks are not the proof; absent if they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unchecked: Option<Unchecked>,
    },
    /// Too many consecutive idle iterations, or iterations in which no further check or test
    /// passed.
    Stagnated {
        /// Number of these consecutive iterations.
        idle: u32,
        /// The failures that remained; absent if the iterations did no work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failing: Option<String>,
    },
    /// Too many consecutive iterations without changes, in modes that expect changes in every
    /// iteration.
    NoChanges {
        /// Number of consecutive iterations without changes.
        idle: u32,
    },
    /// The run reached its iteration limit.
    MaxIterations {
        /// The maximum number of iterations.
        limit: u32,
    },
    /// The run reached its cost limit.
    MaxCost {
        /// The maximum cost, in US dollars.
        limit: Usd,
    },
    /// The run reached its time limit.
    MaxDuration {
        /// The maximum working time, in milliseconds.
        #[serde(with = "crate::units::millis", rename = "limit_ms")]
        #[schemars(with = "u64")]
        limit: Duration,
    },
    /// The run reached its token limit.
    MaxTokens {
        /// The maximum number of tokens.
        limit: u64,
    },
    /// The agent needs something that only a person can provide.
    Blocked {
        /// The description of what the agent needs.
        needs: String,
    },
    /// The task is impossible as specified: the agent reported it, and a model agreed.
    Impossible {
        /// The reason, in the agent's words.
        why: String,
    },
    /// The agent claimed completion repeatedly, and the gate rejected every claim.
    Unverified {
        /// The reason for the last rejection.
        why: String,
    },
    /// You stopped the run after an iteration.
    Stopped,
    /// The agent's status file says that the task failed.
    Failed {
        /// The reason, in the agent's words.
        why: String,
    },
    /// Too many consecutive failed iterations or failed reviews.
    ConsecutiveErrors {
        /// Number of consecutive failures.
        errors: u32,
        /// The reason for the last failure.
        last: String,
    },
    /// The run reached a limit, no iteration succeeded, and the last one failed.
    AllIterationsFailed {
        /// Number of iterations in the run.
        iterations: u32,
        /// Why the last iteration failed.
        last: String,
        /// The limit that the run reached.
        limit: Box<Outcome>,
    },
    /// The account does not allow the agent to work: not logged in, access refused, or no credit.
    Auth {
        /// The message of the agent.
        why: String,
    },
    /// The agent program does not start, or its model does not exist.
    BadAgent {
        /// The message of the agent program.
        why: String,
    },
    /// A check cannot run on this machine, so nightwright could verify nothing.
    ChecksCannotRun {
        /// The check, and what is missing.
        why: String,
    },
    /// A check fails in the sandbox and passes outside.
    CheckNeedsHost {
        /// The check, and what it needs.
        why: String,
        /// The lines of configuration that give the checks what they need.
        settings: Vec<String>,
    },
    /// A hook aborted the run.
    HookAbort {
        /// The hook, and how it aborted the run.
        why: String,
    },
    /// A limit lasts longer than the allowed waiting time.
    LimitWaitTooLong {
        /// When the limit resets; `null` if unknown.
        until: Option<Timestamp>,
    },
    /// Free disk space is below the minimum.
    DiskFull {
        /// Free disk space, in bytes.
        free: u64,
        /// Required free disk space, in bytes.
        floor: u64,
    },
    /// The project folder did not respond, for example because its file system hangs.
    ProjectUnresponsive {
        /// How long nightwright waited, in milliseconds.
        #[serde(with = "crate::units::millis", rename = "waited_ms")]
        #[schemars(with = "u64")]
        waited: Duration,
    },
    /// nightwright could not record events, and stopped to avoid unrecorded costs.
    JournalFailed {
        /// The error while writing the journal.
        why: String,
    },
    /// Another process changed the journal, so the record of the run is not trustworthy.
    JournalDamaged {
        /// The difference from what nightwright wrote.
        why: String,
    },
    /// The sandbox failed its test when the run was resumed.
    SandboxFailed {
        /// The problem with the sandbox.
        why: String,
    },
    /// A signal (Ctrl-C, SIGQUIT, SIGTERM, SIGHUP) or `stop --now`.
    Interrupted,
}

/// The class of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeClass {
    /// A claim passed the gate, verified or not.
    Completed,
    /// The agent made no more progress.
    Stagnated,
    /// A limit of the run was reached.
    Limit,
    /// The task is impossible, or the agent needs something that only a person can provide.
    Blocked,
    /// The agent claimed completion, and the gate rejected every claim.
    Unverified,
    /// You stopped the run after an iteration.
    Stopped,
    /// Stopped at once, as requested.
    Interrupted,
    Failed,
}

/// A limit that a run reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedLimit {
    Iterations(u32),
    Cost(Usd),
    Duration(Duration),
    Tokens(u64),
}

/// The proof that a completion rests on. Only `checks` counts as verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// A check passed that can show that the work is done.
    Checks,
    /// A model judged the work complete.
    Model,
    /// The gate accepted the claim without checks and without a model's verdict.
    None,
}

impl Proof {
    /// The name in the journal, JSON and hooks.
    pub fn name(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Model => "model",
            Self::None => "none",
        }
    }
}

/// Why passing checks do not prove that the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unchecked {
    /// There are no checks.
    NoChecks,
    /// The run wrote a plan, to which checks do not apply.
    Plan,
    /// Every check passed before the run began.
    PassedBefore,
    /// No check failed before the run began, and at least one had no result then.
    UnknownBefore,
}

impl Unchecked {
    /// The reason, worded for use in parentheses.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoChecks => "no checks configured",
            Self::Plan => "checks do not apply to a plan",
            Self::PassedBefore => "the checks passed before the run began",
            Self::UnknownBefore => {
                "as far as nightwright knows, no check failed before the run began"
            }
        }
    }
}

/// How strictly exit codes report an incomplete run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Every outcome that is not an error exits with 0.
    Lenient,
    /// With `--require-complete`: every outcome except `completed` with a proof exits non-zero.
    RequireComplete,
}

impl Outcome {
    /// A completion with this proof. Without the proof `checks`, it states that no checks are
    /// configured.
    pub fn completed(proof: Proof) -> Self {
        let unchecked = match proof {
            Proof::Checks => None,
            Proof::Model | Proof::None => Some(Unchecked::NoChecks),
        };
        Self::Completed { proof, unchecked }
    }

    /// Returns the proof of a completion; `None` for every other outcome.
    pub fn proof(&self) -> Option<Proof> {
        if let Self::Completed { proof, .. } = self { Some(*proof) } else { None }
    }

    /// The name in the journal, JSON and hooks.
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
            Self::Impossible { .. } => "impossible",
            Self::Unverified { .. } => "unverified",
            Self::Stopped => "stopped",
            Self::Failed { .. } => "failed",
            Self::ConsecutiveErrors { .. } => "consecutive_errors",
            Self::AllIterationsFailed { .. } => "all_iterations_failed",
            Self::Auth { .. } => "auth",
            Self::BadAgent { .. } => "bad_agent",
            Self::ChecksCannotRun { .. } => "checks_cannot_run",
            Self::CheckNeedsHost { .. } => "check_needs_host",
            Self::HookAbort { .. } => "hook_abort",
            Self::LimitWaitTooLong { .. } => "limit_wait_too_long",
            Self::DiskFull { .. } => "disk_full",
            Self::ProjectUnresponsive { .. } => "project_unresponsive",
            Self::JournalFailed { .. } => "journal_failed",
            Self::JournalDamaged { .. } => "journal_damaged",
            Self::SandboxFailed { .. } => "sandbox_failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the class, for decisions that depend only on the kind of outcome.
    pub fn class(&self) -> OutcomeClass {
        match self {
            Self::Completed { .. } => OutcomeClass::Completed,
            Self::Stagnated { .. } | Self::NoChanges { .. } => OutcomeClass::Stagnated,
            Self::MaxIterations { .. }
            | Self::MaxCost { .. }
            | Self::MaxDuration { .. }
            | Self::MaxTokens { .. } => OutcomeClass::Limit,
            Self::Blocked { .. } | Self::Impossible { .. } => OutcomeClass::Blocked,
            Self::Unverified { .. } => OutcomeClass::Unverified,
            Self::Stopped => OutcomeClass::Stopped,
            Self::Interrupted => OutcomeClass::Interrupted,
            Self::Failed { .. }
            | Self::ConsecutiveErrors { .. }
            | Self::AllIterationsFailed { .. }
            | Self::Auth { .. }
            | Self::BadAgent { .. }
            | Self::ChecksCannotRun { .. }
            | Self::CheckNeedsHost { .. }
            | Self::HookAbort { .. }
            | Self::LimitWaitTooLong { .. }
            | Self::DiskFull { .. }
            | Self::ProjectUnresponsive { .. }
            | Self::JournalFailed { .. }
            | Self::JournalDamaged { .. }
            | Self::SandboxFailed { .. } => OutcomeClass::Failed,
        }
    }

    /// Returns the limit that ended the run, if one did.
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

    /// Returns the exit code of the program. Exit code 2 means that the run could not start as
    /// requested: a usage error, or a check that cannot run or needs more than its sandbox has.
    pub fn exit_code(&self, strictness: Strictness) -> u8 {
        let unfinished = |code| match strictness {
            Strictness::Lenient => 0,
            Strictness::RequireComplete => code,
        };
        match self.class() {
            OutcomeClass::Completed if self.proof() == Some(Proof::None) => unfinished(6),
            OutcomeClass::Completed => 0,
            OutcomeClass::Limit => unfinished(LIMIT_EXIT_CODE),
            OutcomeClass::Stagnated => unfinished(4),
            OutcomeClass::Blocked => unfinished(5),
            OutcomeClass::Unverified => unfinished(6),
            OutcomeClass::Stopped => unfinished(7),
            OutcomeClass::Failed if self.is_refusal() => 2,
            OutcomeClass::Failed => 1,
            OutcomeClass::Interrupted => 130,
        }
    }

    /// Whether the run could not start because of its checks.
    fn is_refusal(&self) -> bool {
        matches!(self, Self::ChecksCannotRun { .. } | Self::CheckNeedsHost { .. })
    }

    /// How good the outcome is, for the symbol in front of its sentence.
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

/// The exit code of a limit that ended a run, if the run had to complete.
pub(crate) const LIMIT_EXIT_CODE: u8 = 3;

/// How good an outcome is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Good,
    /// An orderly end without proven completion.
    Mixed,
    Bad,
}

/// Formats a number with its noun: `1 iteration`, `3 iterations`.
pub fn count<N: Copy + fmt::Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns one of each outcome, for the reference page and for tests that must cover all of them.
pub fn samples() -> Vec<Outcome> {
    vec![
        Outcome::completed(Proof::Checks),
        Outcome::Stagnated { idle: 3, failing: None },
        Outcome::NoChanges { idle: 2 },
        Outcome::MaxIterations { limit: 10 },
        Outcome::MaxCost { limit: Usd::from_cents(500) },
        Outcome::MaxDuration { limit: Duration::from_hours(8) },
        Outcome::MaxTokens { limit: 1_000_000 },
        Outcome::Blocked { needs: "a password for the staging database".to_owned() },
        Outcome::Impossible { why: "two tests contradict each other".to_owned() },
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
        Outcome::BadAgent { why: "error: unknown option '--color'".to_owned() },
        Outcome::ChecksCannotRun {
            why: "`cargo test` cannot run: `cargo` is not installed".to_owned(),
        },
        Outcome::CheckNeedsHost {
            why: "`make e2e` fails in the sandbox and passes outside; it needs write access to \
                  `/srv/e2e`"
                .to_owned(),
            settings: vec!["sandbox.write = [\"/srv/e2e\"]".to_owned()],
        },
        Outcome::HookAbort { why: "`started` exited with 2".to_owned() },
        Outcome::LimitWaitTooLong { until: Some(Timestamp::UNIX_EPOCH) },
        Outcome::DiskFull { free: 100 << 20, floor: 1 << 30 },
        Outcome::ProjectUnresponsive { waited: Duration::from_hours(1) },
        Outcome::JournalFailed { why: "no space left on device".to_owned() },
        Outcome::JournalDamaged { why: "8192 bytes instead of 7311".to_owned() },
        Outcome::SandboxFailed { why: "the sandbox does not start".to_owned() },
        Outcome::Interrupted,
    ]
}
