//! Kinds of values: which values a key allows, and how they are parsed from files and plain text.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use nightwright_core::permissions::rule;
use nightwright_core::policy::limits::MIN_COST;
use nightwright_core::redact::Secrets;
use nightwright_core::sandbox::network::HostPort;
use toml::Spanned;
use toml::de::DeValue;

mod read;

pub(super) use self::read::type_of;
use self::read::{integer, list, ports, variables};
use super::amounts::{self, exact};
use super::checks;
use super::layer::ConfigLayer;
use super::origin::ValueOrigin;
use super::url::Url;
use super::value::{CheckCommand, ConfigValue};

/// The form of a rule for a tool.
const TOOL_RULE: &str = "a rule such as `WebSearch` or `Bash(npm install:*)`";

/// The word that turns something off.
const OFF: &str = "off";

/// The maximum of all durations: one year.
pub(super) const MAX_DURATION: Duration = Duration::from_hours(24 * 365);

/// The kind of values that a key allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number within a range.
    Count {
        least: u32,
        most: u32,
    },
    /// An amount of money, in US dollars.
    Money,
    /// A number of tokens.
    Tokens,
    /// A duration of at most one year.
    Duration {
        least: Duration,
        most: Duration,
    },
    /// A duration, or `off`.
    DurationOrOff {
        least: Duration,
    },
    /// A number of bytes.
    Size,
    /// A whole number of percent.
    Percent {
        least: u8,
        most: u8,
    },
    Text,
    /// Text, which may be empty.
    TextOrNothing,
    /// A file inside the project, or empty.
    File,
    /// The name of a mode or task folder.
    Name,
    /// One of several words.
    Choice(&'static [&'static str]),
    Bool,
    /// A list of strings.
    List(Items),
    /// Commands of checks: strings, or tables with `run` and `sandbox`.
    Checks,
    /// One of several words, or a list of strings.
    WordOrList(&'static [&'static str], Items),
    /// A list of ports.
    Ports,
    /// Variables of an environment.
    Variables,
    /// An HTTP URL, or empty.
    Url,
    /// A secret text, or empty.
    Secret,
    /// Several tables with the keys below a name: `[[of]]`.
    Tables {
        /// The name of the table, such as `notify`.
        of: &'static str,
        /// The key that each table must contain.
        needs: &'static str,
    },
}

/// The items that a list allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// Any text, including an empty one.
    Any,
    /// Texts that are not empty.
    Texts,
    /// Names of the agent's tools, which are passed on its command line.
    Tools,
    /// Some of these words, at least one.
    Words(&'static [&'static str]),
    /// Some of these words, or none.
    AnyOf(&'static [&'static str]),
    /// Names of variables; `*` matches any characters.
    Names,
    /// Regular expressions that do not match the empty text.
    Patterns,
    /// Hosts with ports, such as `example.com:443`.
    Hosts,
}

/// The position of a mistake in a file, and its message.
pub(super) type SpanError = (Range<usize>, String);

impl ValueKind {
    /// Describes the allowed values, to follow "must be".
    pub fn allowed(self) -> String {
        match self {
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::Money => {
                format!("an amount in US dollars of at least {MIN_COST}, such as 5 or 2.50")
            }
            Self::Tokens => "a whole number of tokens above 0, such as 500000".to_owned(),
            Self::Duration { least, most } if most < MAX_DURATION => format!(
                "a duration from {} to {}: a number of seconds, or text such as \"1.5s\"",
                exact(least),
                exact(most)
            ),
            Self::Duration { least, .. } if least.is_zero() => {
                "a duration: a number of seconds, or text such as \"2s\" or \"1h 30m\"".to_owned()
            }
            Self::Duration { least, .. } => format!(
                "a duration of at least {}: a number of seconds, or text such as \"1h 30m\"",
                exact(least)
            ),
            Self::DurationOrOff { least } => {
                format!("a duration of at least {}, such as \"5m\", or \"off\"", exact(least))
            }
            Self::Size => {
                "a number of bytes above 0, or text such as \"500MB\" or \"2GiB\"".to_owned()
            }
            Self::Percent { least, most } => {
                format!("a percentage from {least} to {most}")
            }
            Self::Text => "a non-empty string".to_owned(),
            Self::TextOrNothing => "a string (\"\": none)".to_owned(),
            Self::File => "a path inside the project, relative to it (\"\": none)".to_owned(),
            Self::Name => "a name of letters, digits, `-` and `_`".to_owned(),
            Self::Choice(words) => format!("one of {}", quoted(words)),
            Self::Bool => "true or false".to_owned(),
            Self::WordOrList(words, items) => {
                format!("one of {}, or {}", quoted(words), Self::List(items).allowed())
            }
            Self::Ports => "a list of ports, such as [5432, 6379]".to_owned(),
            Self::List(items) => match items {
                Items::Hosts => {
                    "a list of hosts with ports, such as \"example.com:443\"".to_owned()
                }
                Items::Any => "a list of strings".to_owned(),
                Items::Texts => "a list of non-empty strings".to_owned(),
                Items::Tools => {
                    "a list of rules such as `WebSearch` or `Bash(npm install:*)`".to_owned()
                }
                Items::Words(words) => format!("a list of at least one of {}", quoted(words)),
                Items::AnyOf(words) => format!("a list of any of {}", quoted(words)),
                Items::Names => "a list of variable names, each with at most one `*`".to_owned(),
                Items::Patterns => "a list of regular expressions, each of which matches at least \
                                    one character"
                    .to_owned(),
            },
            Self::Checks => "a list of commands, each a non-empty string, or a table such as \
                             `{ run = \"make e2e\", sandbox = false }`"
                .to_owned(),
            Self::Variables => "a table of variable names and values, both strings".to_owned(),
            Self::Url => "a URL that begins with https:// or http://, without user, password \
                          or `#` (\"\": none)"
                .to_owned(),
            Self::Secret => "text without control characters; \"\" for none".to_owned(),
            Self::Tables { of, needs } => {
                format!("tables `[[{of}]]` with the keys of `[{of}]`, each with `{needs}`")
            }
        }
    }

    /// The name of the kind, for the reference.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count { .. } => "number",
            Self::Money => "money",
            Self::Tokens => "tokens",
            Self::Duration { .. } => "duration",
            Self::DurationOrOff { .. } => "duration or off",
            Self::Size => "size",
            Self::Percent { .. } => "percent",
            Self::Text | Self::TextOrNothing => "text",
            Self::File => "file",
            Self::Name => "name",
            Self::Choice(_) => "choice",
            Self::Bool => "true or false",
            Self::List(_) | Self::Ports | Self::Checks => "list",
            Self::WordOrList(..) => "choice or list",
            Self::Variables => "table",
            Self::Url => "URL",
            Self::Secret => "secret",
            Self::Tables { .. } => "tables",
        }
    }

    /// Whether the value is of this kind. Ranges are not checked, because flags have their own
    /// parsers.
    pub(super) fn holds(self, value: &ConfigValue) -> bool {
        match self {
            Self::Count { .. } => matches!(value, ConfigValue::Count(_)),
            Self::Money => matches!(value, ConfigValue::Money(_)),
            Self::Tokens => matches!(value, ConfigValue::Tokens(_)),
            Self::Duration { .. } => matches!(value, ConfigValue::Duration(_)),
            Self::DurationOrOff { .. } => {
                matches!(value, ConfigValue::Duration(_) | ConfigValue::Text(_))
            }
            Self::Size => matches!(value, ConfigValue::Size(_)),
            Self::Percent { .. } => matches!(value, ConfigValue::Percent(_)),
            Self::Text | Self::TextOrNothing | Self::File | Self::Name | Self::Choice(_) => {
                matches!(value, ConfigValue::Text(_))
            }
            Self::Bool => matches!(value, ConfigValue::Bool(_)),
            Self::List(_) => matches!(value, ConfigValue::List(_)),
            Self::Checks => matches!(value, ConfigValue::List(_) | ConfigValue::Checks(_)),
            Self::WordOrList(..) => {
                matches!(value, ConfigValue::Text(_) | ConfigValue::List(_))
            }
            Self::Ports => matches!(value, ConfigValue::Ports(_)),
            Self::Variables => matches!(value, ConfigValue::Table(_)),
            Self::Url => matches!(value, ConfigValue::Url(_)),
            Self::Secret => matches!(value, ConfigValue::Secret(_)),
            Self::Tables { .. } => matches!(value, ConfigValue::Tables(_)),
        }
    }

    /// Whether values of this kind are secret.
    pub fn is_secret(self) -> bool {
        match self {
            Self::Url | Self::Secret | Self::Variables | Self::Tables { .. } => true,
            Self::Count { .. }
            | Self::Money
            | Self::Tokens
            | Self::Duration { .. }
            | Self::DurationOrOff { .. }
            | Self::Size
            | Self::Percent { .. }
            | Self::Text
            | Self::TextOrNothing
            | Self::File
            | Self::Name
            | Self::Choice(_)
            | Self::Bool
            | Self::List(_)
            | Self::WordOrList(..)
            | Self::Ports
            | Self::Checks => false,
        }
    }

    /// Parses a value from a file.
    pub(super) fn read(self, value: &Spanned<DeValue<'_>>) -> Result<ConfigValue, SpanError> {
        let span = value.span();
        let found = match (self, value.get_ref()) {
            (Self::Checks, DeValue::Array(array)) => {
                return checks::read(array.iter()).map(CheckCommand::value);
            }
            (Self::List(items) | Self::WordOrList(_, items), DeValue::Array(array)) => {
                return list(items, span, array.iter());
            }
            (Self::Ports, DeValue::Array(array)) => return ports(array.iter()),
            (Self::Variables, DeValue::Table(table)) => return variables(table),
            (Self::Count { .. }, DeValue::Integer(number)) => integer(number)
                .and_then(|number| u32::try_from(number).ok())
                .map(ConfigValue::Count),
            (Self::Percent { .. }, DeValue::Integer(number)) => integer(number)
                .and_then(|number| u8::try_from(number).ok())
                .map(ConfigValue::Percent),
            (Self::Tokens, DeValue::Integer(number)) => integer(number)
                .and_then(|number| u64::try_from(number).ok())
                .map(ConfigValue::Tokens),
            (Self::Size, DeValue::Integer(number)) => {
                integer(number).and_then(|number| u64::try_from(number).ok()).map(ConfigValue::Size)
            }
            (Self::Size, DeValue::String(text)) => amounts::size(text).ok().map(ConfigValue::Size),
            (Self::Money, DeValue::Integer(number)) => integer(number)
                .and_then(|number| amounts::cost(&number.to_string()).ok())
                .map(ConfigValue::Money),
            (Self::Money, DeValue::Float(number)) => {
                amounts::cost(number.as_str()).ok().map(ConfigValue::Money)
            }
            (Self::DurationOrOff { .. }, DeValue::String(text)) if text == OFF => {
                Some(ConfigValue::Text(OFF.to_owned()))
            }
            (Self::Duration { .. } | Self::DurationOrOff { .. }, DeValue::Integer(number)) => {
                integer(number)
                    .and_then(|number| amounts::duration(&number.to_string()).ok())
                    .map(ConfigValue::Duration)
            }
            (Self::Duration { .. } | Self::DurationOrOff { .. }, DeValue::Float(number)) => {
                amounts::duration(number.as_str()).ok().map(ConfigValue::Duration)
            }
            (Self::Duration { .. } | Self::DurationOrOff { .. }, DeValue::String(text)) => {
                amounts::duration(text).ok().map(ConfigValue::Duration)
            }
            (
                Self::Text
                | Self::TextOrNothing
                | Self::File
                | Self::Name
                | Self::Choice(_)
                | Self::WordOrList(..),
                DeValue::String(text),
            ) => Some(ConfigValue::Text(text.clone().into_owned())),
            (Self::Bool, DeValue::Boolean(yes)) => Some(ConfigValue::Bool(*yes)),
            (Self::Url, DeValue::String(text)) => Some(ConfigValue::Url(text.clone().into_owned())),
            (Self::Secret, DeValue::String(text)) => {
                Some(ConfigValue::Secret(text.clone().into_owned()))
            }
            (_, other) => return Err((span, format!("this is {}", type_of(other)))),
        };
        let refused = || (span, "this is not allowed".to_owned());
        found.and_then(|value| self.checked(value)).ok_or_else(refused)
    }

    /// Parses plain text from the environment or the command line. Lists and tables may consist of
    /// several pieces.
    pub fn parse(self, pieces: &[&str]) -> Result<ConfigValue, String> {
        let allowed = || self.allowed();
        let one = match pieces {
            [one] => one,
            _ => "",
        };
        let found = match self {
            Self::List(_) | Self::WordOrList(..) if is_array(one) => return self.parse_toml(one),
            Self::Checks if is_array(one) || is_array_of_tables(one) => {
                return self.parse_toml(one);
            }
            Self::Checks => {
                let checks: Option<Vec<_>> =
                    pieces.iter().map(|text| checks::piece(text)).collect();
                return checks.map(CheckCommand::value).ok_or_else(allowed);
            }
            Self::Ports if one.trim_start().starts_with('[') => return self.parse_toml(one),
            Self::Ports => {
                let ports = pieces
                    .iter()
                    .map(|piece| piece.trim().parse().ok().filter(|port| is_port(*port)));
                ports.collect::<Option<_>>().map(ConfigValue::Ports)
            }
            Self::WordOrList(words, _) if words.contains(&one.trim()) => {
                Some(ConfigValue::Text(one.trim().to_owned()))
            }
            Self::WordOrList(_, items) => {
                return Self::List(items).parse(pieces).map_err(|_| allowed());
            }
            Self::Variables if one.trim_start().starts_with('{') => return self.parse_toml(one),
            Self::List(items) => {
                let fits = |piece: &&str| items.fit(piece);
                let all = pieces.iter().all(fits) && pieces.len() >= items.least();
                all.then(|| {
                    ConfigValue::List(pieces.iter().map(|piece| (*piece).to_owned()).collect())
                })
            }
            Self::Variables => {
                let pairs = pieces.iter().map(|piece| {
                    let (name, text) = piece.split_once('=')?;
                    is_variable(name).then(|| (name.to_owned(), text.to_owned()))
                });
                pairs.collect::<Option<_>>().map(ConfigValue::Table)
            }
            Self::Tables { of, .. } => return self.parse_tables(of, pieces),
            _ if pieces.len() != 1 => return Err(format!("one value: {}", allowed())),
            Self::Count { .. } => amounts::count(one).ok().map(ConfigValue::Count),
            Self::Money => amounts::cost(one).ok().map(ConfigValue::Money),
            Self::Tokens => amounts::tokens(one).ok().map(ConfigValue::Tokens),
            Self::DurationOrOff { .. } if one.trim() == OFF => {
                Some(ConfigValue::Text(OFF.to_owned()))
            }
            Self::Duration { .. } | Self::DurationOrOff { .. } => {
                amounts::duration(one).ok().map(ConfigValue::Duration)
            }
            Self::Size => amounts::size(one).ok().map(ConfigValue::Size),
            Self::Percent { .. } => {
                one.trim().trim_end_matches('%').parse().ok().map(ConfigValue::Percent)
            }
            Self::Bool => one.trim().parse().ok().map(ConfigValue::Bool),
            Self::Url => Some(ConfigValue::Url(one.trim().to_owned())),
            Self::Secret => Some(ConfigValue::Secret((*one).to_owned())),
            Self::Choice(_) | Self::Name => Some(ConfigValue::Text(one.trim().to_owned())),
            Self::Text | Self::TextOrNothing | Self::File => {
                Some(ConfigValue::Text((*one).to_owned()))
            }
        };
        found.and_then(|value| self.checked(value)).ok_or_else(allowed)
    }

    /// Parses the value of an option: one item of a list, or a value that is not blank.
    pub fn parse_option(self, text: &str) -> Result<ConfigValue, String> {
        match self {
            Self::Checks => {
                let check = checks::piece(text).map(|check| CheckCommand::value(vec![check]));
                check.ok_or_else(|| self.allowed())
            }
            Self::List(items) if items.fit(text) => Ok(ConfigValue::List(vec![text.to_owned()])),
            Self::List(Items::Tools) => Err(match rule::problem(text) {
                Some(why) => format!("{TOOL_RULE}; repeat the option for several: {why}"),
                None => TOOL_RULE.to_owned(),
            }),
            Self::List(_) | Self::TextOrNothing => Self::Text.parse(&[text]),
            _ => self.parse(&[text]),
        }
    }

    fn parse_toml(self, text: &str) -> Result<ConfigValue, String> {
        let value = DeValue::parse(text.trim())
            .map_err(|error| format!("{} (as TOML: {})", self.allowed(), error.message()))?;
        self.read(&value).map_err(|_| self.allowed())
    }

    /// Parses inline tables, or a list of them, as in a file.
    fn parse_tables(self, of: &str, pieces: &[&str]) -> Result<ConfigValue, String> {
        let text = match pieces {
            [one] if one.trim_start().starts_with('[') => format!("{of} = {one}"),
            _ => format!("{of} = [{}]", pieces.join(", ")),
        };
        let layer =
            ConfigLayer::parse(ValueOrigin::BuiltIn, Path::new(of), &text).map_err(|error| {
                let wrong = error.mistakes().first().map_or("", |mistake| mistake.message.as_str());
                format!("{} ({wrong})", self.allowed())
            })?;
        let value = layer.get(of).map(|(_, value)| value.clone());
        value.ok_or_else(|| self.allowed())
    }

    /// Normalizes the value; `None` if it is not allowed.
    fn checked(self, value: ConfigValue) -> Option<ConfigValue> {
        let fits = match (self, &value) {
            (Self::Count { least, most }, ConfigValue::Count(count)) => {
                (least..=most).contains(count)
            }
            (Self::Percent { least, most }, ConfigValue::Percent(percent)) => {
                (least..=most).contains(percent)
            }
            (Self::Duration { least, most }, ConfigValue::Duration(time)) => {
                (least..=most).contains(time)
            }
            (Self::DurationOrOff { least }, ConfigValue::Duration(time)) => {
                (least..=MAX_DURATION).contains(time)
            }
            (Self::DurationOrOff { .. }, ConfigValue::Text(text)) => text == OFF,
            (Self::Tokens, ConfigValue::Tokens(tokens)) => {
                *tokens > 0 && i64::try_from(*tokens).is_ok()
            }
            (Self::Size, ConfigValue::Size(bytes)) => *bytes > 0 && i64::try_from(*bytes).is_ok(),
            (Self::Text, ConfigValue::Text(text)) => Items::Texts.fit(text),
            (Self::TextOrNothing, ConfigValue::Text(text)) => Items::Any.fit(text),
            (Self::Name, ConfigValue::Text(text)) => amounts::is_name(text),
            (Self::Choice(words), ConfigValue::Text(text)) => words.contains(&text.as_str()),
            (Self::File, ConfigValue::Text(text)) if text.is_empty() => true,
            (Self::File, ConfigValue::Text(text)) => {
                return amounts::inside(text)
                    .filter(|path| Items::Any.fit(path))
                    .map(ConfigValue::Text);
            }
            (Self::Money, ConfigValue::Money(_)) | (Self::Bool, ConfigValue::Bool(_)) => true,
            (Self::Checks, ConfigValue::List(_) | ConfigValue::Checks(_)) => true,
            (Self::WordOrList(words, _), ConfigValue::Text(text)) => words.contains(&text.as_str()),
            (Self::Ports, ConfigValue::Ports(ports)) => ports.iter().all(|port| is_port(*port)),
            (Self::List(items) | Self::WordOrList(_, items), ConfigValue::List(list)) => {
                list.len() >= items.least() && list.iter().all(|item| items.fit(item))
            }
            (Self::Variables, ConfigValue::Table(table)) => {
                table.keys().all(|name| is_variable(name))
            }
            (Self::Url, ConfigValue::Url(text)) => text.is_empty() || Url::parse(text).is_some(),
            (Self::Secret, ConfigValue::Secret(text)) => !text.contains(char::is_control),
            (_, _) => false,
        };
        fits.then_some(value)
    }
}

impl Items {
    /// The minimum number of items.
    pub(super) fn least(self) -> usize {
        match self {
            Self::Any
            | Self::Texts
            | Self::Tools
            | Self::Names
            | Self::Patterns
            | Self::Hosts
            | Self::AnyOf(_) => 0,
            Self::Words(_) => 1,
        }
    }

    fn fit(self, text: &str) -> bool {
        // Arguments of programs cannot contain NUL.
        !text.contains('\0')
            && match self {
                Self::Any => true,
                Self::Texts => !text.trim().is_empty(),
                Self::Tools => rule::problem(text).is_none(),
                Self::Words(words) | Self::AnyOf(words) => words.contains(&text),
                Self::Names => {
                    !text.is_empty() && !text.contains('=') && text.matches('*').count() <= 1
                }
                Self::Patterns => wrong_pattern(text).is_none(),
                Self::Hosts => text.parse::<HostPort>().is_ok(),
            }
    }
}

fn is_port(port: u16) -> bool {
    port > 0
}

/// Describes the mistake in a pattern, if any.
fn wrong_pattern(text: &str) -> Option<String> {
    Secrets::new([""; 0], [text]).err().map(|error| error.why)
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// Whether the text is an array. Shell commands may start with a bracket, too: `[ -f README.md ]`.
fn is_array(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('[').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with(['"', '\'', ']']))
}

fn is_array_of_tables(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('[').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with('{'))
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
