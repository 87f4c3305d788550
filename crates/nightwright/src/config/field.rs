//! Access to the fields of the settings that have a configuration key.

use std::time::Duration;

use nightwright_core::permissions::Permissions;
use nightwright_core::sandbox::network::{HostPort, NetworkMode};
use nightwright_core::settings::{
    Council, Depth, Every, Rerun, SandboxKind, Settings, Tamper, VerdictMode, WatchdogResponse,
};
use nightwright_core::units::Usd;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::value::ConfigValue;

/// Getter and setter for a field of the settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Reads the value of the field; `None` if it has none.
    pub(super) get: fn(&Settings) -> Option<ConfigValue>,
    pub(super) set: fn(&mut Settings, &ConfigValue),
}

/// The field with this path in [`Settings`].
macro_rules! field {
    ($($part:ident).+) => {
        $crate::config::field::Field {
            get: |settings| $crate::config::field::FieldValue::write(&settings.$($part).+),
            set: |settings, value| {
                if let Some(value) = $crate::config::field::FieldValue::read(value) {
                    settings.$($part).+ = value;
                }
            },
        }
    };
}
pub(super) use field;

/// A field type that can be converted from a configuration value, and back.
pub(crate) trait FieldValue: Sized {
    /// Converts from a configuration value; `None` if the kind does not match, which the kind of
    /// the key rules out.
    fn read(value: &ConfigValue) -> Option<Self>;

    /// Converts to a configuration value; `None` if there is none.
    fn write(&self) -> Option<ConfigValue>;
}

macro_rules! field_value {
    ($($type:ty => $variant:ident),+) => {
        $(impl FieldValue for $type {
            fn read(value: &ConfigValue) -> Option<Self> {
                let ConfigValue::$variant(value) = value else { return None };
                Some(value.clone())
            }

            fn write(&self) -> Option<ConfigValue> {
                Some(ConfigValue::$variant(self.clone()))
            }
        })+
    };
}

field_value!(u32 => Count, u8 => Percent, u64 => Tokens, Usd => Money, bool => Bool,
    Duration => Duration, String => Text, Vec<String> => List, Vec<u16> => Ports);

impl<T: FieldValue> FieldValue for Option<T> {
    /// 0, an empty text and, for a duration, `off` mean `None`.
    fn read(value: &ConfigValue) -> Option<Self> {
        let is_none =
            matches!(value, ConfigValue::Count(0) | ConfigValue::Duration(Duration::ZERO))
                || matches!(value, ConfigValue::Text(text) if text.is_empty());
        Some(T::read(value).filter(|_| !is_none))
    }

    fn write(&self) -> Option<ConfigValue> {
        self.as_ref().and_then(T::write)
    }
}

impl FieldValue for Council {
    fn read(value: &ConfigValue) -> Option<Self> {
        bool::read(value).map(|on| if on { Self::On } else { Self::Off })
    }

    fn write(&self) -> Option<ConfigValue> {
        Some(ConfigValue::Bool(*self == Self::On))
    }
}

impl FieldValue for Vec<HostPort> {
    fn read(value: &ConfigValue) -> Option<Self> {
        let ConfigValue::List(hosts) = value else { return None };
        hosts.iter().map(|host| host.parse().ok()).collect()
    }

    fn write(&self) -> Option<ConfigValue> {
        Some(ConfigValue::List(self.iter().map(ToString::to_string).collect()))
    }
}

impl FieldValue for NetworkMode {
    fn read(value: &ConfigValue) -> Option<Self> {
        match value {
            ConfigValue::Text(word) => read_word(word),
            _ => Vec::read(value).map(Self::Only),
        }
    }

    fn write(&self) -> Option<ConfigValue> {
        match self {
            Self::Only(hosts) => hosts.write(),
            Self::On | Self::Provider | Self::Off | Self::Host => write_word(self),
        }
    }
}

/// Implements the trait for enums: a word in the configuration is the name of a variant in the
/// journal.
macro_rules! words {
    ($($type:ty),+) => {
        $(impl FieldValue for $type {
            fn read(value: &ConfigValue) -> Option<Self> {
                let ConfigValue::Text(word) = value else { return None };
                read_word(word)
            }

            fn write(&self) -> Option<ConfigValue> {
                write_word(self)
            }
        })+
    };
}

words!(Permissions, SandboxKind, Every, Rerun, VerdictMode, Tamper, Depth, WatchdogResponse);

fn read_word<'a, T: Deserialize<'a>>(word: &'a str) -> Option<T> {
    let word: StrDeserializer<'a, WordError> = word.into_deserializer();
    T::deserialize(word).ok()
}

fn write_word(word: &impl Serialize) -> Option<ConfigValue> {
    let word = serde_json::to_value(word).ok()?;
    word.as_str().map(ConfigValue::from)
}
