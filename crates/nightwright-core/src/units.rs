//! Types for IDs and units, so that a cost cannot be added to a count, nor an attempt be mistaken
//! for a call.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign};
use std::time::Duration;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The current time, always passed as an argument and never read by the core.
///
/// Deadlines and back-off use `mono`, which neither jumps nor runs while the machine sleeps. The
/// reset times of limits use `wall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The wall-clock time, which may jump.
    pub wall: Timestamp,
    /// The time since an arbitrary origin of this process, which never goes back.
    pub mono: Duration,
}

impl Now {
    /// Returns the time in whole milliseconds, as the journal keeps it: a replay must see the same
    /// numbers.
    #[must_use]
    pub fn in_millis(self) -> Self {
        let wall = Timestamp::from_millisecond(self.wall.as_millisecond()).unwrap_or(self.wall);
        Self { wall, mono: whole_millis(self.mono) }
    }

    /// The time until the wall clock shows `then`; zero if that has passed.
    pub fn until(&self, then: Timestamp) -> Duration {
        Duration::try_from(then.duration_since(self.wall)).unwrap_or(Duration::ZERO)
    }

    /// The wall-clock time `after` from now, saturating at the maximum.
    pub fn plus(&self, after: Duration) -> Timestamp {
        self.wall.checked_add(after).unwrap_or(Timestamp::MAX)
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number after this one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

numbered! {
    /// One process of the agent. The ID is unique in a run. All news and timers of the attempt
    /// carry it, so nightwright ignores late news of a cancelled attempt.
    AttemptId
}
numbered! {
    /// One other use of the agent (verifier, reviewer, advisor, council). Unique in a run.
    CallId
}
numbered! {
    /// The number of an iteration, from 1.
    Iteration
}
numbered! {
    /// A request to the shell that is answered later (a survey, the checks, a hook). Answers to a
    /// cancelled request are ignored by number.
    Ticket
}

/// The name of a run. Names sort by start time, and any unique prefix identifies a run.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An amount of US dollars, stored in whole millionths so that sums are exact. In JSON a plain
/// number of dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd {
    micros: u64,
}

impl Usd {
    pub const ZERO: Self = Self { micros: 0 };
    /// The maximum amount. Sums saturate here, so that every amount can be written and read again.
    pub const MAX: Self = Self { micros: 1_000_000_000_000_000_000 };

    /// The amount of this many millionths of a dollar.
    pub const fn from_micros(micros: u64) -> Self {
        Self { micros }
    }

    /// The amount of this many cents.
    pub const fn from_cents(cents: u64) -> Self {
        Self { micros: cents * 10_000 }
    }

    /// Rounds to the nearest millionth; `None` for an invalid amount (negative, not finite, too
    /// large).
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        if !(0.0..=1e12).contains(&dollars) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked above: at most 1e18, never negative"
        )]
        let micros = (dollars * 1e6).round() as u64;
        Some(Self { micros })
    }

    pub fn dollars(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "exact below $9 billion")]
        let micros = self.micros as f64;
        micros / 1e6
    }

    /// The amount in millionths of a dollar.
    pub const fn micros(self) -> u64 {
        self.micros
    }

    /// The amount with all its digits, at least two: a configured amount, such as a limit, is shown
    /// as it was set. [`Display`](fmt::Display) rounds, for measured amounts.
    pub fn exact(self) -> String {
        let (dollars, micros) = (self.micros / 1_000_000, self.micros % 1_000_000);
        let digits = format!("{micros:06}");
        let (cents, rest) = digits.split_at(2);
        format!("${dollars}.{cents}{}", rest.trim_end_matches('0'))
    }

    /// The difference, but at least zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self { micros: self.micros.saturating_sub(other.micros) }
    }

    /// A share of the amount in percent.
    #[must_use]
    pub const fn percent(self, percent: u8) -> Self {
        Self {
            micros: self.micros / 100 * percent as u64 + self.micros % 100 * percent as u64 / 100,
        }
    }

    /// The amount divided by a count; the whole amount if the count is zero.
    #[must_use]
    pub const fn per(self, count: u64) -> Self {
        match count {
            0 => self,
            count => Self { micros: self.micros / count },
        }
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let micros = self.micros.saturating_add(other.micros);
        Self { micros }.min(Self::MAX)
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Usd {
    /// Formats as `$0.42`, with four decimals where two would show nothing. For configured amounts,
    /// use [`Usd::exact`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.micros > 0 && self.micros < 10_000 {
            write!(f, "${:.4}", self.dollars())
        } else {
            write!(f, "${:.2}", self.dollars())
        }
    }
}

impl JsonSchema for Usd {
    fn schema_name() -> Cow<'static, str> {
        "Usd".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "US dollars.", "type": "number", "minimum": 0 })
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::from_dollars(dollars)
            .ok_or_else(|| serde::de::Error::custom(format!("{dollars} is not an amount of money")))
    }
}

/// Tokens by kind, summed over all models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Tokens read by the model at full price.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the provider's prompt cache.
    pub cache_read: u64,
    /// Tokens written to the provider's prompt cache.
    pub cache_write: u64,
}

impl Tokens {
    /// The tokens that count against `max_tokens`: all except reads from the cache.
    pub fn counted(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_write)
    }

    /// Whether no tokens of any kind were used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// A hash over all files of the project that count as work, in hex.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

/// Durations as whole milliseconds in JSON.
pub mod millis {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer};

    /// Serializes as a whole number of milliseconds.
    pub fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        u64::try_from(value.as_millis()).unwrap_or(u64::MAX).serialize(serializer)
    }

    /// Deserializes from a whole number of milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }

    /// Like [`super::millis`], for an optional duration.
    pub mod option {
        use super::{Deserialize, Deserializer, Duration, Serialize, Serializer};

        /// Serializes as a whole number of milliseconds, or null.
        pub fn serialize<S: Serializer>(
            value: &Option<Duration>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            value
                .map(|value| u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
                .serialize(serializer)
        }

        /// Deserializes from a whole number of milliseconds, or null.
        pub fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
        }
    }
}

/// A duration without fractions of milliseconds.
pub fn whole_millis(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// A duration for display: `850ms`, `7s`, `1m 05s`, `2h 13m`, `3d 4h`.
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.is_zero() => "0s".to_owned(),
        0 => format!("{}ms", duration.as_millis().max(1)),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
        86400.. => format!("{}d {}h", seconds / 86400, seconds % 86400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_that_was_set_keeps_its_digits() {
        for (dollars, shown) in [
            (0.0, "$0.00"),
            (0.035, "$0.035"),
            (0.04, "$0.04"),
            (0.5, "$0.50"),
            (1.005, "$1.005"),
            (10.0, "$10.00"),
            (0.000_001, "$0.000001"),
            (1_234.567_8, "$1234.5678"),
        ] {
            assert_eq!(Usd::from_dollars(dollars).unwrap().exact(), shown);
        }
    }

    #[test]
    fn money_survives_json_to_the_last_millionth() {
        for micros in [0, 1, 812, 999_999, 1_000_001, 123_456_789_012] {
            let usd = Usd::from_micros(micros);
            let text = serde_json::to_string(&usd).unwrap();
            assert_eq!(serde_json::from_str::<Usd>(&text).unwrap(), usd, "{text}");
        }
    }

    #[test]
    fn an_invalid_amount_of_money_is_refused() {
        for dollars in [-0.01, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Usd::from_dollars(dollars), None, "{dollars}");
        }
    }

    #[test]
    fn a_percentage_of_money_neither_overflows_nor_loses_cents() {
        assert_eq!(Usd::from_cents(500).percent(10), Usd::from_cents(50));
        assert_eq!(Usd::from_micros(u64::MAX).percent(100), Usd::from_micros(u64::MAX));
    }

    #[test]
    fn cache_reads_do_not_count_against_the_token_limit() {
        let tokens = Tokens { input: 1, output: 2, cache_read: 1000, cache_write: 4 };
        assert_eq!(tokens.counted(), 7);
    }

    #[test]
    fn durations_read_as_people_write_them() {
        let cases = [(0, "0s"), (59, "59s"), (65, "1m 05s"), (8_000, "2h 13m"), (273_600, "3d 4h")];
        for (seconds, text) in cases {
            assert_eq!(human(Duration::from_secs(seconds)), text);
        }
        assert_eq!(human(Duration::from_millis(850)), "850ms");
    }
}
