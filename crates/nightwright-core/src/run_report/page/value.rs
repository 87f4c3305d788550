//! Values for templates. The type of a value decides whether a page escapes it.

use std::sync::Arc;
use std::time::Duration;

use minijinja::Value;
use minijinja::value::{Enumerator, Object};

use crate::units::{Usd, human};

/// A value for a template.
///
/// Pages escape every [`String`], because it may contain external text. Numbers, amounts, durations,
/// constant phrases (`&'static str`) and [`OwnText`] are inserted as they are.
#[derive(Clone, Debug)]
pub(in crate::run_report) struct PageValue(Value);

/// Text that nightwright composed without any external text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::run_report) struct OwnText(pub(in crate::run_report) String);

/// The named fields of a record. See [`fields!`].
#[derive(Debug)]
struct Fields(Vec<(&'static str, Value)>);

impl Object for Fields {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone())
    }

    // A record without an enumeration counts as empty, and an empty one as false.
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|(name, _)| Value::from(*name)).collect())
    }
}

impl PageValue {
    /// Creates a record of named fields.
    pub(in crate::run_report) fn record(fields: Vec<(&'static str, Self)>) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (name, value.0)).collect();
        Self(Value::from_object(Fields(fields)))
    }

    pub(super) fn into_inner(self) -> Value {
        self.0
    }
}

/// Creates a record of named fields for a template.
macro_rules! fields {
    ($($name:ident: $value:expr),* $(,)?) => {
        $crate::run_report::page::PageValue::record(vec![
            $((stringify!($name), $crate::run_report::page::PageValue::from($value))),*
        ])
    };
}
pub(in crate::run_report) use fields;

impl From<String> for PageValue {
    fn from(text: String) -> Self {
        Self(Value::from(text))
    }
}

impl From<OwnText> for PageValue {
    fn from(OwnText(text): OwnText) -> Self {
        Self(Value::from_safe_string(text))
    }
}

impl From<&'static str> for PageValue {
    fn from(phrase: &'static str) -> Self {
        OwnText(phrase.to_owned()).into()
    }
}

impl From<Usd> for PageValue {
    fn from(amount: Usd) -> Self {
        OwnText(amount.to_string()).into()
    }
}

impl From<Duration> for PageValue {
    fn from(duration: Duration) -> Self {
        OwnText(human(duration)).into()
    }
}

impl From<bool> for PageValue {
    fn from(is_true: bool) -> Self {
        Self(Value::from(is_true))
    }
}

impl From<u32> for PageValue {
    fn from(number: u32) -> Self {
        Self(Value::from(number))
    }
}

impl From<usize> for PageValue {
    fn from(number: usize) -> Self {
        Self(Value::from(number))
    }
}

impl<T: Clone + Into<Self>> From<&T> for PageValue {
    fn from(value: &T) -> Self {
        value.clone().into()
    }
}

impl<T: Into<Self>> From<Option<T>> for PageValue {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Self(Value::from(())), Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for PageValue {
    fn from(values: Vec<T>) -> Self {
        Self(values.into_iter().map(|value| value.into().0).collect())
    }
}
