//! Outcome of an attempt, and its consequence. This one classification is used everywhere.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::WaitKind;
use crate::outcome::Outcome;

/// The outcome of an attempt or call.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The agent finished by itself.
    Finished,
    /// The agent reached its turn limit.
    TurnLimit,
    /// The attempt reached its share of the run's cost, tokens or time.
    AttemptBudget,
    /// The account reached its usage limit.
    UsageLimited {
        /// When the limit resets, if the agent reported it.
        until: Option<Timestamp>,
    },
    /// Too many requests, without a reset time.
    RateLimited,
    /// The provider is down or overloaded.
    Overloaded,
    /// The agent could not reach the provider.
    Network,
    /// The attempt exceeded a deadline of nightwright.
    TimedOut {
        /// The deadline that the attempt exceeded.
        which: Deadline,
    },
    /// The agent exited without a result, and nightwright did not kill it.
    Crashed {
        /// The exit code, or the signal that killed it.
        how: ProcessExit,
    },
    /// The account lacks authorization.
    Auth {
        /// The message of the agent.
        why: String,
    },
    /// The account has no credit.
    Billing {
        /// The message of the agent.
        why: String,
    },
    /// The program did not start to work.
    BadStart {
        /// The message of the program.
        why: String,
    },
    /// The attempt did not start, because nightwright could not compose the prompt.
    NotStarted {
        /// The reason for the failure.
        why: String,
    },
    /// The prompt is longer than the model's context.
    PromptTooLong,
    /// The agent gave up, because its context was full again right after a compaction.
    ContextFull,
    /// The provider rejected the request.
    BadRequest {
        /// The message of the provider.
        why: String,
    },
    /// The model does not exist for this account.
    ModelNotFound {
        /// The message of the agent.
        why: String,
    },
    /// The model declined the request.
    Refused,
    /// The answer exceeded the output limit of the model.
    OutputLimit,
    /// nightwright or another process stopped the attempt.
    Interrupted,
    /// The agent reports success without any sign of work.
    Suspect {
        /// The reason for the suspicion.
        #[serde(default)]
        why: Suspicion,
    },
    /// nightwright crashed during the attempt and did not record its end.
    Lost,
}

/// The reason why a reported success is suspect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspicion {
    /// The agent neither said nor did anything.
    #[default]
    NoSignOfWork,
    /// The message ends right before a tool call.
    BrokenOff,
    /// The program interpreted the prompt as a slash command and did not call a model. A retry
    /// would send the same prompt.
    LocalCommand,
}

/// The exit of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// The process exited with this code.
    Code(i32),
    /// This signal killed the process.
    Signal(i32),
}

/// A deadline that nightwright sets for an attempt.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// The agent never reported that it was ready.
    Start,
    /// The agent timed out without output.
    Idle,
    /// One tool call timed out.
    Tool,
    /// The whole attempt timed out.
    Attempt,
}

/// The reason why nightwright ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// The attempt exceeded a deadline.
    Deadline(Deadline),
    /// The agent gave its result and did not exit. The result counts.
    AfterResult,
    /// The attempt reached its share of the run's time or tokens.
    Limit,
    /// The provider refused the login; the agent would only keep retrying.
    Auth,
    /// You requested an immediate stop, or nightwright cannot write the journal.
    StopNow,
}

/// The consequence of an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The iteration is assessed by the agent's words and its changes.
    Assess,
    /// The iteration is assessed by its changes alone.
    AssessWorkTree,
    /// The run waits for a limit to reset, which costs no retry.
    Wait {
        limit: WaitKind,
        /// When the limit resets, if known.
        until: Option<Timestamp>,
    },
    /// The attempt is retried, if a retry is left.
    Retry,
    /// This prompt cannot succeed.
    FailIteration {
        /// Whether a shorter prompt might succeed.
        too_long: bool,
    },
    /// No attempt can succeed, so the run ends.
    EndRun {
        /// The outcome of the run.
        outcome: Outcome,
    },
}

impl AttemptOutcome {
    /// The name shown in the journal, on the console and by `inspect`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::TurnLimit => "turn_limit",
            Self::AttemptBudget => "attempt_budget",
            Self::UsageLimited { .. } => "usage_limited",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Network => "network",
            Self::TimedOut { .. } => "timed_out",
            Self::Crashed { .. } => "crashed",
            Self::Auth { .. } => "auth",
            Self::Billing { .. } => "billing",
            Self::BadStart { .. } => "bad_start",
            Self::NotStarted { .. } => "not_started",
            Self::PromptTooLong => "prompt_too_long",
            Self::ContextFull => "context_full",
            Self::BadRequest { .. } => "bad_request",
            Self::ModelNotFound { .. } => "model_not_found",
            Self::Refused => "refused",
            Self::OutputLimit => "output_limit",
            Self::Interrupted => "interrupted",
            Self::Suspect { .. } => "suspect",
            Self::Lost => "lost",
        }
    }

    pub fn consequence(&self) -> Consequence {
        match self {
            Self::Finished | Self::TurnLimit | Self::AttemptBudget => Consequence::Assess,
            Self::Suspect { why: Suspicion::NoSignOfWork | Suspicion::BrokenOff } => {
                Consequence::AssessWorkTree
            }
            Self::UsageLimited { until } => {
                Consequence::Wait { limit: WaitKind::Usage, until: *until }
            }
            Self::RateLimited => Consequence::Wait { limit: WaitKind::Rate, until: None },
            Self::Overloaded
            | Self::Network
            | Self::TimedOut { .. }
            | Self::Crashed { .. }
            | Self::Interrupted
            | Self::Lost => Consequence::Retry,
            Self::NotStarted { .. }
            | Self::ContextFull
            | Self::BadRequest { .. }
            | Self::Refused
            | Self::OutputLimit
            | Self::Suspect { why: Suspicion::LocalCommand } => {
                Consequence::FailIteration { too_long: false }
            }
            Self::PromptTooLong => Consequence::FailIteration { too_long: true },
            Self::Auth { why } | Self::Billing { why } => {
                Consequence::EndRun { outcome: Outcome::Auth { why: why.clone() } }
            }
            Self::BadStart { why } => {
                Consequence::EndRun { outcome: Outcome::BadAgent { why: why.clone() } }
            }
            Self::ModelNotFound { .. } => {
                Consequence::EndRun { outcome: Outcome::BadAgent { why: self.sentence() } }
            }
        }
    }

    /// Whether no model can have answered, unless tokens were seen. The attempt was then free.
    pub fn never_asked(&self) -> bool {
        matches!(
            self,
            Self::NotStarted { .. }
                | Self::BadStart { .. }
                | Self::Auth { .. }
                | Self::Billing { .. }
        )
    }

    /// Whether the provider responded at all, which ends a series of waits for limits.
    pub fn got_an_answer(&self) -> bool {
        match self {
            Self::Finished
            | Self::TurnLimit
            | Self::AttemptBudget
            | Self::Refused
            | Self::OutputLimit
            | Self::PromptTooLong
            | Self::ContextFull
            | Self::Suspect { why: Suspicion::NoSignOfWork | Suspicion::BrokenOff } => true,
            Self::UsageLimited { .. }
            | Self::RateLimited
            | Self::Overloaded
            | Self::Network
            | Self::TimedOut { .. }
            | Self::Crashed { .. }
            | Self::Auth { .. }
            | Self::Billing { .. }
            | Self::BadStart { .. }
            | Self::NotStarted { .. }
            | Self::BadRequest { .. }
            | Self::ModelNotFound { .. }
            | Self::Interrupted
            | Self::Suspect { why: Suspicion::LocalCommand }
            | Self::Lost => false,
        }
    }

    /// A short description of the outcome, for display.
    pub fn sentence(&self) -> String {
        match self {
            Self::Finished => "finished".to_owned(),
            Self::TurnLimit => "reached its turn limit".to_owned(),
            Self::AttemptBudget => "reached its share of the remaining budget".to_owned(),
            Self::UsageLimited { until: Some(until) } => format!("usage limit until {until}"),
            Self::UsageLimited { until: None } => "usage limit".to_owned(),
            Self::RateLimited => "rate limited".to_owned(),
            Self::Overloaded => "the provider is overloaded".to_owned(),
            Self::Network => "cannot reach the provider".to_owned(),
            Self::TimedOut { which } => match which {
                Deadline::Start => "timed out before it was ready".to_owned(),
                Deadline::Idle => "timed out without output".to_owned(),
                Deadline::Tool => "timed out in a tool call".to_owned(),
                Deadline::Attempt => "timed out".to_owned(),
            },
            Self::Crashed { how: ProcessExit::Code(code) } => {
                format!("exited with {code}, no result")
            }
            Self::Crashed { how: ProcessExit::Signal(signal) } => {
                format!("killed by signal {signal}")
            }
            Self::Auth { why } => format!("login refused: {why}"),
            Self::Billing { why } => format!("billing: {why}"),
            Self::BadStart { why } => format!("did not start: {why}"),
            Self::NotStarted { why } => format!("could not start: {why}"),
            Self::PromptTooLong => "the prompt is too long".to_owned(),
            Self::ContextFull => "its context overflowed repeatedly".to_owned(),
            Self::BadRequest { why } => format!("the provider rejected the request: {why}"),
            Self::ModelNotFound { why } => format!("no such model: {why}"),
            Self::Refused => "the model declined".to_owned(),
            Self::OutputLimit => "the answer was too long".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Suspect { why } => match why {
                Suspicion::NoSignOfWork => "claims success without any sign of work".to_owned(),
                Suspicion::BrokenOff => "claims success in the middle of a tool call".to_owned(),
                Suspicion::LocalCommand => {
                    "interpreted the prompt as a slash command and did not call a model".to_owned()
                }
            },
            Self::Lost => "lost: nightwright crashed during the attempt".to_owned(),
        }
    }
}
