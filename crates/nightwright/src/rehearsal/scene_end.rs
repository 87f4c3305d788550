//! How a process of the stand-in ends: well, badly, or not at all.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::script::{ScriptVerdict, duration, through};

/// An ending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SceneEnd {
    /// A result that repeats the last words.
    #[default]
    LastWords,
    /// Last words and a result.
    Result(String),
    /// An answer to the question whether the work is complete.
    Verdict {
        /// Which.
        verdict: ScriptVerdict,
        /// Why.
        reason: String,
        /// What is missing.
        missing: Vec<String>,
    },
    /// An answer in the shape that was asked for, as JSON.
    Answer(String),
    /// A result, and then the process does not leave.
    HangAfterResult(String, SigtermResponse),
    /// The process neither says anything more nor leaves.
    Hang(SigtermResponse),
    /// The process says nothing at all and does not leave.
    HangAtStart(SigtermResponse),
    /// The process is gone, without a result, with this code.
    Crash(i32),
    /// The process is killed by this signal, without a result.
    Signal(i32),
    /// The process is gone with this code and has said nothing at all.
    SilentExit(i32),
    /// The process complains on standard error and is gone.
    BadStart(String),
    /// The turns are used up.
    MaxTurns,
    /// The cap on the cost is used up.
    Budget,
    /// The provider did not answer as wished.
    Failure(ProviderFailure),
}

/// What a process does about SIGTERM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SigtermResponse {
    /// It leaves.
    #[default]
    Polite,
    /// Nothing.
    Deaf,
}

/// Why the provider did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderFailure {
    /// The account's usage limit, which ends after so long.
    Limit(Duration),
    /// Too many requests, and nobody says until when.
    LimitUnknown,
    /// It is overloaded.
    Overloaded,
    /// It could not be reached.
    Network,
    /// The login was refused, in these words.
    Auth(String),
    /// There is no credit.
    Billing,
    /// The prompt is too long for the model.
    TooLong,
    /// There is no such model.
    NoModel,
    /// The request was rejected, in these words.
    Error(String),
    /// The model declined.
    Refuse,
    /// The answer was too long.
    OutputLimit,
}

impl SceneEnd {
    /// A plain result.
    pub fn says(text: &str) -> Self {
        Self::Result(text.to_owned())
    }

    /// A verdict with nothing missing.
    pub fn verdict(verdict: ScriptVerdict, reason: &str) -> Self {
        Self::Verdict { verdict, reason: reason.to_owned(), missing: Vec::new() }
    }

    /// Whether the process says what came of its turn and is still there then.
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

    /// Whether SIGTERM will be ignored.
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
        through(deserializer, ending)
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

fn ending(raw: RawSceneEnd) -> Result<SceneEnd, String> {
    let manners = if raw.ignore_term { SigtermResponse::Deaf } else { SigtermResponse::Polite };
    let ignore_term = raw.ignore_term;
    let mut found = candidates(raw, manners)?;
    let ending = match (found.pop(), found.pop()) {
        (Some(one), None) => one,
        (None, _) => return Err("says no way to end".to_owned()),
        (Some(_), Some(_)) => return Err("has more than one way to end".to_owned()),
    };
    if ignore_term && ending.manners() == SigtermResponse::Polite {
        return Err(
            "`ignore_term` means nothing here: it goes with a process that hangs".to_owned()
        );
    }
    Ok(ending)
}

fn candidates(raw: RawSceneEnd, manners: SigtermResponse) -> Result<Vec<SceneEnd>, String> {
    let limit = raw.limit.as_deref().map(duration).transpose()?;
    let code = |name: &str, code: Option<i32>| match code {
        None | Some(0..=255) => Ok(code),
        Some(_) => Err(format!("`{name}` is an exit code: 0 to 255")),
    };
    let signal = match raw.signal {
        None | Some(1..=31) => raw.signal,
        Some(_) => return Err("`signal` is the number of a signal: 1 to 31".to_owned()),
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

/// A flag is there or not; `false` would look like an ending and be none.
fn flag<T>(name: &str, value: Option<bool>, meaning: T) -> Result<Option<T>, String> {
    match value {
        None => Ok(None),
        Some(true) => Ok(Some(meaning)),
        Some(false) => Err(format!("`{name} = false` says nothing: leave it out")),
    }
}
