//! Values of a configuration file that have parts, and their types.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::super::value::ConfigValue;
use super::{Items, SpanError, is_port, is_variable, wrong_pattern};

pub(super) fn list<'i: 'a, 'a>(
    items: Items,
    span: Range<usize>,
    array: impl Iterator<Item = &'a Spanned<DeValue<'i>>>,
) -> Result<ConfigValue, SpanError> {
    let mut list = Vec::new();
    for item in array {
        match item.get_ref() {
            DeValue::String(text) if items.fit(text) => list.push(text.clone().into_owned()),
            DeValue::String(text) => {
                let why = (items == Items::Patterns).then(|| wrong_pattern(text)).flatten();
                let why = why.map_or_else(
                    || "this is not allowed".to_owned(),
                    |why| format!("invalid: {why}"),
                );
                return Err((item.span(), why));
            }
            other => return Err((item.span(), format!("this is {}", type_of(other)))),
        }
    }
    if list.len() < items.least() {
        return Err((span, "this is empty".to_owned()));
    }
    Ok(ConfigValue::List(list))
}

pub(super) fn ports<'i: 'a, 'a>(
    array: impl Iterator<Item = &'a Spanned<DeValue<'i>>>,
) -> Result<ConfigValue, SpanError> {
    let mut ports = Vec::new();
    for item in array {
        match item.get_ref() {
            DeValue::Integer(number) => {
                let port = integer(number).and_then(|number| u16::try_from(number).ok());
                let port = port.filter(|port| is_port(*port));
                ports.push(port.ok_or_else(|| (item.span(), "this is not a port".to_owned()))?);
            }
            other => return Err((item.span(), format!("this is {}", type_of(other)))),
        }
    }
    Ok(ConfigValue::Ports(ports))
}

pub(super) fn variables(table: &DeTable<'_>) -> Result<ConfigValue, SpanError> {
    let mut entries = BTreeMap::new();
    for (name, value) in table {
        if !is_variable(name.get_ref()) {
            return Err((name.span(), "this is not a variable name".to_owned()));
        }
        match value.get_ref() {
            DeValue::String(text) if !text.contains('\0') => {
                entries.insert(name.get_ref().to_string(), text.clone().into_owned());
            }
            DeValue::String(_) => return Err((value.span(), "this is not allowed".to_owned())),
            other => return Err((value.span(), format!("this is {}", type_of(other)))),
        }
    }
    Ok(ConfigValue::Table(entries))
}

pub(super) fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

pub(in crate::config) fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a floating-point number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
