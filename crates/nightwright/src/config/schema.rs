//! The JSON Schema of a configuration file, for editors.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::keys::{KEYS, Key};
use super::kind::{Items, Kind};
use super::value::Value;
use nightwright_core::policy::limits::LEAST_COST;

/// The schema of `config.toml` and `task.toml`.
pub fn schema() -> Json {
    let mut root = object();
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("nightwright configuration");
    root["description"] =
        json!("`.nightwright/config.toml`, `task.toml` and the user's `config.toml`");
    for key in KEYS {
        insert(&mut root, key.name, key);
    }
    root
}

fn object() -> Json {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

fn insert(table: &mut Json, path: &str, key: &Key) {
    let properties = &mut table["properties"];
    match path.split_once('.') {
        None => {
            let below = properties.get(path).cloned();
            properties[path] = property(key);
            if let (Kind::Tables { needs, .. }, Some(table)) = (key.kind, below) {
                properties[path]["anyOf"] = one_or_several(&table, needs);
            }
        }
        Some((first, rest)) => {
            if properties.get(first).is_none() {
                properties[first] = object();
            }
            insert(&mut properties[first], rest, key);
        }
    }
}

/// A table, or a list of such tables; each of several has to have one key.
fn one_or_several(table: &Json, needs: &str) -> Json {
    let mut each = table.clone();
    each["required"] = json!([needs]);
    each["properties"][needs]["minLength"] = json!(1);
    json!([table, { "type": "array", "items": each }])
}

fn property(key: &Key) -> Json {
    let mut json = of_kind(key.kind);
    json["description"] = json!(key.about);
    if let Some(default) = key.default_value() {
        // As people would write it.
        json["default"] = match &default {
            Value::Duration(_) | Value::Size(_) => json!(default.plain()),
            Value::Count(_)
            | Value::Money(_)
            | Value::Tokens(_)
            | Value::Percent(_)
            | Value::Text(_)
            | Value::Bool(_)
            | Value::List(_)
            | Value::Table(_)
            | Value::Url(_)
            | Value::Secret(_)
            | Value::Tables(_) => default.to_json(),
        };
    }
    json
}

fn of_kind(kind: Kind) -> Json {
    match kind {
        Kind::Count { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Percent { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Money => json!({ "type": "number", "minimum": LEAST_COST.dollars() }),
        Kind::Tokens => json!({ "type": "integer", "minimum": 1 }),
        Kind::Size => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "minLength": 1 },
        ] }),
        Kind::Duration { least, most } => {
            let (least, most) = (seconds(least), seconds(most));
            json!({ "anyOf": [
                { "type": "number", "minimum": least, "maximum": most },
                { "type": "string", "minLength": 1 },
            ] })
        }
        Kind::DurationOrOff { least } => json!({ "anyOf": [
            { "type": "number", "minimum": seconds(least) },
            { "type": "string", "minLength": 1 },
        ] }),
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::TextOrNothing | Kind::File | Kind::Secret => json!({ "type": "string" }),
        Kind::Url => json!({ "type": "string", "pattern": "^(https?://.+)?$" }),
        // The table it is a list of says the rest.
        Kind::Tables { .. } => json!({}),
        Kind::Name => json!({ "type": "string", "pattern": "^[a-zA-Z0-9_-]+$" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::List(items) if items.least() > 0 => {
            json!({ "type": "array", "minItems": items.least(), "items": of_item(items) })
        }
        Kind::List(items) => json!({ "type": "array", "items": of_item(items) }),
        Kind::Variables => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
    }
}

/// A time as a number of seconds, a whole one where it is.
fn seconds(time: Duration) -> Json {
    match time.subsec_nanos() {
        0 => json!(time.as_secs()),
        _ => json!(time.as_secs_f64()),
    }
}

fn of_item(items: Items) -> Json {
    let mut json = Map::new();
    match items {
        Items::Any => json.insert("type".to_owned(), json!("string")),
        Items::Texts | Items::Tools | Items::Names | Items::Patterns => {
            json.insert("type".to_owned(), json!("string"));
            json.insert("minLength".to_owned(), json!(1))
        }
        Items::Words(words) | Items::AnyOf(words) => json.insert("enum".to_owned(), json!(words)),
    };
    Json::Object(json)
}
