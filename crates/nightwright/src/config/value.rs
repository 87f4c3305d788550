//! Configuration values, and their forms in TOML, JSON and plain text.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use nightwright_core::units::Usd;
use serde_json::{Value as Json, json};
use toml_edit::{Array, InlineTable, Value as Toml};

use super::amounts::{exact, exact_size};
use super::url::Url;

/// A value of a configuration key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigValue {
    Count(u32),
    /// An amount in US dollars.
    Money(Usd),
    /// A number of tokens.
    Tokens(u64),
    /// A number of bytes.
    Size(u64),
    Duration(Duration),
    /// A whole number of percent.
    Percent(u8),
    /// Text, or one of several words.
    Text(String),
    Bool(bool),
    List(Vec<String>),
    /// Ports of this machine.
    Ports(Vec<u16>),
    /// A map from names to strings.
    Table(BTreeMap<String, String>),
    /// An HTTP URL, or empty.
    Url(String),
    /// A text that must not be shown.
    Secret(String),
    /// Commands of checks, some of which run outside the sandbox. If none does, it is a list.
    Checks(Vec<CheckCommand>),
    /// Several tables, by the last parts of their keys.
    Tables(Vec<BTreeMap<&'static str, ConfigValue>>),
}

/// The command of a check, and where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckCommand {
    pub run: String,
    /// Whether it runs in the sandbox, if there is one.
    pub sandbox: bool,
}

impl CheckCommand {
    /// A check that runs in the sandbox.
    pub fn inside(run: String) -> Self {
        Self { run, sandbox: true }
    }

    /// The checks as a value.
    pub fn value(all: Vec<Self>) -> ConfigValue {
        if all.iter().all(|check| check.sandbox) {
            ConfigValue::List(all.into_iter().map(|check| check.run).collect())
        } else {
            ConfigValue::Checks(all)
        }
    }

    fn to_toml(&self) -> Toml {
        if self.sandbox {
            return Toml::from(self.run.as_str());
        }
        let mut table = InlineTable::new();
        table.insert("run", Toml::from(self.run.as_str()));
        table.insert("sandbox", Toml::from(false));
        Toml::InlineTable(table)
    }

    fn to_json(&self) -> Json {
        if self.sandbox {
            return Json::from(self.run.as_str());
        }
        json!({ "run": self.run, "sandbox": false })
    }

    /// The check for scripts, which an option of the command line takes.
    fn plain(&self) -> String {
        if self.sandbox { self.run.clone() } else { self.to_toml().to_string().trim().to_owned() }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),+) => {
        $(impl From<$type> for ConfigValue {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })+
    };
}

from!(u32 => Count, Usd => Money, u64 => Tokens, Duration => Duration, u8 => Percent, String => Text,
    bool => Bool, Vec<String> => List, Vec<u16> => Ports,
    BTreeMap<String, String> => Table);

impl From<&str> for ConfigValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl ConfigValue {
    /// The value of an option that is given several times: lists add up, and the last of other
    /// values counts.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::List(mut all), Self::List(next)) => {
                all.extend(next);
                Self::List(all)
            }
            (all @ (Self::List(_) | Self::Checks(_)), next @ (Self::List(_) | Self::Checks(_))) => {
                CheckCommand::value([all.checks(), next.checks()].concat())
            }
            (_, next) => next,
        }
    }

    /// The checks of a list of commands; empty for other values.
    pub fn checks(&self) -> Vec<CheckCommand> {
        match self {
            Self::List(items) => items.iter().cloned().map(CheckCommand::inside).collect(),
            Self::Checks(checks) => checks.clone(),
            Self::Count(_)
            | Self::Money(_)
            | Self::Tokens(_)
            | Self::Size(_)
            | Self::Duration(_)
            | Self::Percent(_)
            | Self::Text(_)
            | Self::Bool(_)
            | Self::Ports(_)
            | Self::Table(_)
            | Self::Url(_)
            | Self::Secret(_)
            | Self::Tables(_) => Vec::new(),
        }
    }

    /// The value as written in a file.
    pub fn to_toml(&self) -> Toml {
        match self {
            Self::Count(count) => Toml::from(i64::from(*count)),
            Self::Money(usd) if usd.micros() % 1_000_000 == 0 => whole(usd.micros() / 1_000_000),
            Self::Money(usd) => Toml::from(usd.dollars()),
            Self::Tokens(tokens) => whole(*tokens),
            Self::Size(bytes) => Toml::from(exact_size(*bytes)),
            Self::Duration(time) => Toml::from(exact(*time)),
            Self::Percent(percent) => Toml::from(i64::from(*percent)),
            Self::Text(text) | Self::Url(text) | Self::Secret(text) => Toml::from(text.as_str()),
            Self::Bool(yes) => Toml::from(*yes),
            Self::List(items) => Toml::Array(items.iter().collect::<Array>()),
            Self::Checks(checks) => Toml::Array(checks.iter().map(CheckCommand::to_toml).collect()),
            Self::Ports(ports) => {
                Toml::Array(ports.iter().map(|port| i64::from(*port)).collect::<Array>())
            }
            Self::Table(entries) => Toml::InlineTable(entries.iter().collect::<InlineTable>()),
            Self::Tables(tables) => {
                let table = |entries: &BTreeMap<&'static str, Self>| {
                    let entries = entries.iter().map(|(name, value)| (*name, value.to_toml()));
                    Toml::InlineTable(entries.collect())
                };
                Toml::Array(tables.iter().map(table).collect())
            }
        }
    }

    /// The value as JSON: durations in seconds, money in dollars, sizes in bytes.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Count(count) => Json::from(*count),
            Self::Money(usd) => Json::from(usd.dollars()),
            Self::Tokens(number) | Self::Size(number) => Json::from(*number),
            Self::Duration(time) if time.subsec_nanos() == 0 => Json::from(time.as_secs()),
            Self::Duration(time) => Json::from(time.as_secs_f64()),
            Self::Percent(percent) => Json::from(*percent),
            Self::Text(text) | Self::Url(text) | Self::Secret(text) => Json::from(text.as_str()),
            Self::Bool(yes) => Json::from(*yes),
            Self::List(items) => Json::from(items.as_slice()),
            Self::Checks(checks) => checks.iter().map(CheckCommand::to_json).collect(),
            Self::Ports(ports) => Json::from(ports.as_slice()),
            Self::Table(entries) => entries
                .iter()
                .map(|(name, text)| (name.clone(), Json::from(text.as_str())))
                .collect(),
            Self::Tables(tables) => {
                let table = |entries: &BTreeMap<&'static str, Self>| -> Json {
                    entries.iter().map(|(name, value)| (*name, value.to_json())).collect()
                };
                tables.iter().map(table).collect()
            }
        }
    }

    /// The value for scripts: without quotes, one line per item.
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) | Self::Url(text) | Self::Secret(text) => text.clone(),
            Self::List(items) => items.join("\n"),
            Self::Checks(checks) => {
                checks.iter().map(CheckCommand::plain).collect::<Vec<_>>().join("\n")
            }
            Self::Ports(ports) => {
                ports.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            }
            Self::Table(entries) => {
                let lines: Vec<_> =
                    entries.iter().map(|(name, text)| format!("{name}={text}")).collect();
                lines.join("\n")
            }
            Self::Duration(time) => exact(*time),
            Self::Size(bytes) => exact_size(*bytes),
            Self::Tables(_)
            | Self::Count(_)
            | Self::Money(_)
            | Self::Tokens(_)
            | Self::Percent(_)
            | Self::Bool(_) => self.to_string(),
        }
    }

    /// Replaces every text in the value.
    #[must_use]
    pub fn map_texts(&self, other: &impl Fn(&str) -> String) -> Self {
        match self {
            Self::Text(text) => Self::Text(other(text)),
            Self::Url(text) => Self::Url(other(text)),
            Self::Secret(text) => Self::Secret(other(text)),
            Self::List(items) => Self::List(items.iter().map(|item| other(item)).collect()),
            Self::Checks(checks) => {
                let check =
                    |check: &CheckCommand| CheckCommand { run: other(&check.run), ..*check };
                Self::Checks(checks.iter().map(check).collect())
            }
            Self::Table(entries) => {
                let entries = entries.iter().map(|(name, text)| (name.clone(), other(text)));
                Self::Table(entries.collect())
            }
            Self::Tables(tables) => {
                let table = |entries: &BTreeMap<&'static str, Self>| {
                    entries.iter().map(|(name, value)| (*name, value.map_texts(other))).collect()
                };
                Self::Tables(tables.iter().map(table).collect())
            }
            Self::Count(_)
            | Self::Money(_)
            | Self::Tokens(_)
            | Self::Size(_)
            | Self::Duration(_)
            | Self::Percent(_)
            | Self::Ports(_)
            | Self::Bool(_) => self.clone(),
        }
    }

    /// Removes everything that may be secret: variables keep only their names, URLs their host.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        match self {
            Self::Table(entries) => {
                Self::Table(entries.keys().map(|name| (name.clone(), "...".to_owned())).collect())
            }
            Self::Url(text) => {
                Self::Url(Url::parse(text).map(|url| url.shown()).unwrap_or_default())
            }
            Self::Secret(text) if text.is_empty() => self.clone(),
            Self::Secret(_) => Self::Secret("...".to_owned()),
            Self::Tables(tables) => {
                let table = |entries: &BTreeMap<&'static str, Self>| {
                    entries.iter().map(|(name, value)| (*name, value.without_secrets())).collect()
                };
                Self::Tables(tables.iter().map(table).collect())
            }
            Self::Count(_)
            | Self::Money(_)
            | Self::Tokens(_)
            | Self::Size(_)
            | Self::Duration(_)
            | Self::Percent(_)
            | Self::Text(_)
            | Self::Bool(_)
            | Self::Ports(_)
            | Self::List(_)
            | Self::Checks(_) => self.clone(),
        }
    }
}

/// Converts a number. The range of TOML integers is smaller than that of `u64`.
fn whole(number: u64) -> Toml {
    Toml::from(i64::try_from(number).unwrap_or(i64::MAX))
}

impl fmt::Display for ConfigValue {
    /// Writes the value as in a file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_toml().to_string().trim())
    }
}
