//! What came of one attempt, and what follows from it. The same classification decides everywhere.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::WaitKind;
use crate::outcome::Outcome;

/// What came of one attempt or call.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It came to its own end.
    Finished,
    /// It used up its turns.
    TurnLimit,
    /// It used up its share of the run's money, tokens or time.
    AttemptBudget,
    /// The account's usage limit; `until` when it ends.
    UsageLimited {
        /// When the limit ends, if the agent said so.
        until: Option<Timestamp>,
    },
    /// Too many requests, without a date.
    RateLimited,
    /// The provider's side is down or overloaded.
    Overloaded,
    /// The provider could not be reached.
    Network,
    /// One of our deadlines fired.
    TimedOut {
        /// Which.
        which: Deadline,
    },
    /// It died without a result, and we did not cause it.
    Crashed {
        /// By which signal, or with which exit code.
        how: ProcessExit,
    },
    /// The account is not allowed to work.
    Auth {
        /// What the agent said.
        why: String,
    },
    /// The account has no credit.
    Billing {
        /// What the agent said.
        why: String,
    },
    /// The program did not start to work.
    BadStart {
        /// What it said.
        why: String,
    },
    /// It could not be asked: the prompt could not be composed.
    NotStarted {
        /// What went wrong.
        why: String,
    },
    /// The prompt is longer than the model can read.
    PromptTooLong,
    /// Its context was full again right after it had been cut down, so it gave up.
    ContextFull,
    /// The provider rejected the request.
    BadRequest {
        /// What it said.
        why: String,
    },
    /// The model does not exist for this account.
    ModelNotFound {
        /// What the agent said.
        why: String,
    },
    /// The model declined.
    Refused,
    /// The answer was longer than one answer may be.
    OutputLimit,
    /// We stopped it, or somebody else did.
    Interrupted,
    /// It says success, and nothing about it looks like work.
    Suspect {
        /// What is wrong with it.
        #[serde(default)]
        why: Suspicion,
    },
    /// Begun before a crash of nightwright; nobody saw its end.
    Lost,
}

/// What is wrong with a success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspicion {
    /// Nothing was said or done.
    #[default]
    NoSignOfWork,
    /// It ends where a tool was about to be called.
    BrokenOff,
    /// The program took the prompt for a command to itself and asked no model: we should never
    /// have sent such a prompt, and would send it again.
    LocalCommand,
}

/// How a process died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// Our deadlines for an attempt.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// It never said that it was ready.
    Start,
    /// It said nothing for too long.
    Idle,
    /// One tool call took too long.
    Tool,
    /// The whole attempt took too long.
    Attempt,
}

/// Why we end an attempt before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// A deadline fired.
    Deadline(Deadline),
    /// It has given its result and does not leave. The result stands.
    AfterResult,
    /// Its share of the run's time or tokens is used up.
    Limit,
    /// The account was refused; it would only go on asking.
    Auth,
    /// The operator wants it to stop now, or the journal can't be written.
    StopNow,
}

/// What follows from an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The iteration is judged by what was said and done.
    Assess,
    /// The iteration is judged by what was done only.
    AssessWorkTree,
    /// A limit is waited out; it costs no retry.
    Wait {
        /// Which.
        limit: WaitKind,
        /// When it ends, if that is known.
        until: Option<Timestamp>,
    },
    /// Another attempt, if any is left.
    Retry,
    /// This prompt can't work.
    FailIteration {
        /// Whether a shorter one might.
        too_long: bool,
    },
    /// Nothing can work.
    EndRun {
        /// The ending of the run.
        ending: Outcome,
    },
}

impl AttemptOutcome {
    /// The name that journal, console and `inspect` show.
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

    /// What follows from it.
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
                Consequence::EndRun { ending: Outcome::Auth { why: why.clone() } }
            }
            Self::BadStart { why } => {
                Consequence::EndRun { ending: Outcome::BadAgent { why: why.clone() } }
            }
            Self::ModelNotFound { .. } => {
                Consequence::EndRun { ending: Outcome::BadAgent { why: self.sentence() } }
            }
        }
    }

    /// Whether no model can have answered, unless tokens were seen: then it cost nothing.
    pub fn never_asked(&self) -> bool {
        matches!(
            self,
            Self::NotStarted { .. }
                | Self::BadStart { .. }
                | Self::Auth { .. }
                | Self::Billing { .. }
        )
    }

    /// Whether the provider answered at all: then a row of waits for limits is over.
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

    /// The outcome in a few words, for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Finished => "finished".to_owned(),
            Self::TurnLimit => "used up its turns".to_owned(),
            Self::AttemptBudget => "used up its share of the limits".to_owned(),
            Self::UsageLimited { until: Some(until) } => format!("usage limit until {until}"),
            Self::UsageLimited { until: None } => "usage limit".to_owned(),
            Self::RateLimited => "rate limited".to_owned(),
            Self::Overloaded => "the provider is overloaded".to_owned(),
            Self::Network => "the provider could not be reached".to_owned(),
            Self::TimedOut { which } => match which {
                Deadline::Start => "did not get ready in time".to_owned(),
                Deadline::Idle => "was silent for too long".to_owned(),
                Deadline::Tool => "one tool call took too long".to_owned(),
                Deadline::Attempt => "took too long".to_owned(),
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
            Self::NotStarted { why } => format!("could not be asked: {why}"),
            Self::PromptTooLong => "the prompt is too long".to_owned(),
            Self::ContextFull => "its context ran full again and again".to_owned(),
            Self::BadRequest { why } => format!("the request was rejected: {why}"),
            Self::ModelNotFound { why } => format!("no such model: {why}"),
            Self::Refused => "the model declined".to_owned(),
            Self::OutputLimit => "the answer was too long".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Suspect { why } => match why {
                Suspicion::NoSignOfWork => "claims success without any sign of work".to_owned(),
                Suspicion::BrokenOff => "claims success in the middle of a tool call".to_owned(),
                Suspicion::LocalCommand => {
                    "took the prompt for a command of its own and asked no model".to_owned()
                }
            },
            Self::Lost => "lost with an earlier nightwright process".to_owned(),
        }
    }
}
