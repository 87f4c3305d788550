//! The end of a scene: success, failure, or a hang.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::script::{ScriptVerdict, duration, through};

/// How a scene ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SceneEnd {
    /// A result that repeats the last text.
    #[default]
    LastWords,
    /// A final text and a result.
    Result(String),
    /// An answer to the question whether the work is complete.
    Verdict {
        verdict: ScriptVerdict,
        reason: String,
        /// The missing items, as the verifier lists them.
        missing: Vec<String>,
    },
    /// An answer that matches the schema, as JSON.
    Answer(String),
    /// A result, after which the process hangs.
    HangAfterResult(String, SigtermResponse),
    /// The process hangs without further output.
    Hang(SigtermResponse),
    /// The process hangs without any output.
    HangAtStart(SigtermResponse),
    /// The process exits with this code, without a result.
    Crash(i32),
    /// This signal kills the process, without a result.
    Signal(i32),
    /// The process exits with this code, without any output.
    SilentExit(i32),
    /// The process prints an error on standard error and exits.
    BadStart(String),
    /// The maximum number of turns is reached.
    MaxTurns,
    /// The cost cap is reached.
    Budget,
    /// The provider fails in this way.
    Failure(ProviderFailure),
}

/// How a process reacts to SIGTERM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SigtermResponse {
    #[default]
    Polite,
    /// The process ignores the signal.
    Ignores,
}

/// Why the provider failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderFailure {
    /// The account's usage limit, which resets after this time.
    Limit(Duration),
    /// Too many requests, with an unknown reset time.
    LimitUnknown,
    Overloaded,
    /// The agent could not reach the provider.
    Network,
    /// The login was refused, with this message.
    Auth(String),
    /// The account has no credit.
    Billing,
    /// The prompt is too long for the model.
    TooLong,
    /// The model does not exist.
    NoModel,
    /// The request was rejected, with this message.
    Error(String),
    Refuse,
    /// The answer was too long.
    OutputLimit,
}

impl SceneEnd {
    /// Creates a plain result.
    pub fn says(text: &str) -> Self {
        Self::Result(text.to_owned())
    }

    /// Creates a verdict without missing items.
    pub fn verdict(verdict: ScriptVerdict, reason: &str) -> Self {
        Self::Verdict { verdict, reason: reason.to_owned(), missing: Vec::new() }
    }

    /// Whether the process prints a result and is still running then.
    pub fn has_result(&self) -> bool {
        match self {
            Self::LastWords
            | Self::Result(_)
            | Self::Verdict { .. }
            | Self::Answer(_)
            | Self::HangAfterResult(..)
            | Self::MaxTurns
            | Self::Budget
            | Self::Failure(_) => true,
            Self::Hang(_)
            | Self::HangAtStart(_)
            | Self::Crash(_)
            | Self::Signal(_)
            | Self::SilentExit(_)
            | Self::BadStart(_) => false,
        }
    }

    /// Returns how the process reacts to SIGTERM.
    pub fn manners(&self) -> SigtermResponse {
        match self {
            Self::HangAfterResult(_, manners)
            | Self::Hang(manners)
            | Self::HangAtStart(manners) => *manners,
            Self::LastWords
            | Self::Result(_)
            | Self::Verdict { .. }
            | Self::Answer(_)
            | Self::Crash(_)
            | Self::Signal(_)
            | Self::SilentExit(_)
            | Self::BadStart(_)
            | Self::MaxTurns
            | Self::Budget
            | Self::Failure(_) => SigtermResponse::Polite,
        }
    }
}

impl<'de> Deserialize<'de> for SceneEnd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        through(deserializer, end)
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawSceneEnd {
    result: Option<String>,
    hang_after_result: Option<String>,
    hang: Option<bool>,
    hang_at_start: Option<bool>,
    crash: Option<i32>,
    signal: Option<i32>,
    silent_exit: Option<i32>,
    bad_start: Option<String>,
    max_turns: Option<bool>,
    budget: Option<bool>,
    limit: Option<String>,
    limit_unknown: Option<bool>,
    overloaded: Option<bool>,
    network: Option<bool>,
    auth: Option<String>,
    billing: Option<bool>,
    too_long: Option<bool>,
    no_model: Option<bool>,
    error: Option<String>,
    refuse: Option<bool>,
    output_limit: Option<bool>,
    ignore_term: bool,
}

fn end(raw: RawSceneEnd) -> Result<SceneEnd, String> {
    let manners = if raw.ignore_term { SigtermResponse::Ignores } else { SigtermResponse::Polite };
    let ignore_term = raw.ignore_term;
    let mut found = candidates(raw, manners)?;
    let end = match (found.pop(), found.pop()) {
        (Some(one), None) => one,
        (None, _) => return Err("`end` is empty".to_owned()),
        (Some(_), Some(_)) => return Err("`end` has more than one kind of end".to_owned()),
    };
    if ignore_term && end.manners() == SigtermResponse::Polite {
        return Err("`ignore_term` has no effect here: it requires an `end` that hangs".to_owned());
    }
    Ok(end)
}

fn candidates(raw: RawSceneEnd, manners: SigtermResponse) -> Result<Vec<SceneEnd>, String> {
    let limit = raw.limit.as_deref().map(duration).transpose()?;
    let code = |name: &str, code: Option<i32>| match code {
        None | Some(0..=255) => Ok(code),
        Some(_) => Err(format!("`{name}` must be an exit code from 0 to 255")),
    };
    let signal = match raw.signal {
        None | Some(1..=31) => raw.signal,
        Some(_) => return Err("`signal` must be the number of a signal from 1 to 31".to_owned()),
    };
    let plain = [
        raw.result.map(SceneEnd::Result),
        raw.hang_after_result.map(|text| SceneEnd::HangAfterResult(text, manners)),
        flag("hang", raw.hang, SceneEnd::Hang(manners))?,
        flag("hang_at_start", raw.hang_at_start, SceneEnd::HangAtStart(manners))?,
        code("crash", raw.crash)?.map(SceneEnd::Crash),
        signal.map(SceneEnd::Signal),
        code("silent_exit", raw.silent_exit)?.map(SceneEnd::SilentExit),
        raw.bad_start.map(SceneEnd::BadStart),
        flag("max_turns", raw.max_turns, SceneEnd::MaxTurns)?,
        flag("budget", raw.budget, SceneEnd::Budget)?,
    ];
    let failures = [
        limit.map(ProviderFailure::Limit),
        flag("limit_unknown", raw.limit_unknown, ProviderFailure::LimitUnknown)?,
        flag("overloaded", raw.overloaded, ProviderFailure::Overloaded)?,
        flag("network", raw.network, ProviderFailure::Network)?,
        raw.auth.map(ProviderFailure::Auth),
        flag("billing", raw.billing, ProviderFailure::Billing)?,
        flag("too_long", raw.too_long, ProviderFailure::TooLong)?,
        flag("no_model", raw.no_model, ProviderFailure::NoModel)?,
        raw.error.map(ProviderFailure::Error),
        flag("refuse", raw.refuse, ProviderFailure::Refuse)?,
        flag("output_limit", raw.output_limit, ProviderFailure::OutputLimit)?,
    ];
    let failures = failures.into_iter().flatten().map(SceneEnd::Failure);
    Ok(plain.into_iter().flatten().chain(failures).collect())
}

/// Converts a flag; `false` is refused because it would look like an `end`.
fn flag<T>(name: &str, value: Option<bool>, meaning: T) -> Result<Option<T>, String> {
    match value {
        None => Ok(None),
        Some(true) => Ok(Some(meaning)),
        Some(false) => Err(format!("`{name} = false` has no effect: remove it")),
    }
}
