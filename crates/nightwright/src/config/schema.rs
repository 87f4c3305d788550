//! The JSON Schema of a configuration file, for editors.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::keys::{KEYS, Key};
use super::kind::{Items, ValueKind};
use super::value::ConfigValue;
use nightwright_core::policy::limits::MIN_COST;

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
            if let (ValueKind::Tables { needs, .. }, Some(table)) = (key.kind, below) {
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

/// The schema of a table, or of a list of such tables; with several, each needs one key.
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
        // The default in the syntax of the configuration.
        json["default"] = match &default {
            ConfigValue::Duration(_) | ConfigValue::Size(_) => json!(default.plain()),
            ConfigValue::Count(_)
            | ConfigValue::Money(_)
            | ConfigValue::Tokens(_)
            | ConfigValue::Percent(_)
            | ConfigValue::Text(_)
            | ConfigValue::Bool(_)
            | ConfigValue::List(_)
            | ConfigValue::Checks(_)
            | ConfigValue::Ports(_)
            | ConfigValue::Table(_)
            | ConfigValue::Url(_)
            | ConfigValue::Secret(_)
            | ConfigValue::Tables(_) => default.to_json(),
        };
    }
    json
}

fn of_kind(kind: ValueKind) -> Json {
    match kind {
        ValueKind::Count { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ValueKind::Percent { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ValueKind::Money => json!({ "type": "number", "minimum": MIN_COST.dollars() }),
        ValueKind::Tokens => json!({ "type": "integer", "minimum": 1 }),
        ValueKind::Size => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "minLength": 1 },
        ] }),
        ValueKind::Duration { least, most } => {
            let (least, most) = (seconds(least), seconds(most));
            json!({ "anyOf": [
                { "type": "number", "minimum": least, "maximum": most },
                { "type": "string", "minLength": 1 },
            ] })
        }
        ValueKind::DurationOrOff { least } => json!({ "anyOf": [
            { "type": "number", "minimum": seconds(least) },
            { "type": "string", "minLength": 1 },
        ] }),
        ValueKind::Text => json!({ "type": "string", "minLength": 1 }),
        ValueKind::TextOrNothing | ValueKind::File | ValueKind::Secret => {
            json!({ "type": "string" })
        }
        ValueKind::Url => json!({ "type": "string", "pattern": "^(https?://.+)?$" }),
        // The schema of the table contains the rest.
        ValueKind::Tables { .. } => json!({}),
        ValueKind::Name => json!({ "type": "string", "pattern": "^[a-zA-Z0-9_-]+$" }),
        ValueKind::Choice(words) => json!({ "enum": words }),
        ValueKind::Bool => json!({ "type": "boolean" }),
        ValueKind::List(items) if items.least() > 0 => {
            json!({ "type": "array", "minItems": items.least(), "items": of_item(items) })
        }
        ValueKind::List(items) => json!({ "type": "array", "items": of_item(items) }),
        ValueKind::Checks => json!({ "type": "array", "items": { "anyOf": [
            of_item(Items::Texts),
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["run"],
                "properties": {
                    "run": { "type": "string", "minLength": 1 },
                    "sandbox": { "type": "boolean", "default": true },
                },
            },
        ] } }),
        ValueKind::WordOrList(words, items) => {
            json!({ "anyOf": [{ "enum": words }, { "type": "array", "items": of_item(items) }] })
        }
        ValueKind::Ports => {
            let port = json!({ "type": "integer", "minimum": 1, "maximum": u16::MAX });
            json!({ "type": "array", "items": port })
        }
        ValueKind::Variables => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
    }
}

/// A duration in seconds, as an integer if possible.
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
        Items::Texts | Items::Tools | Items::Names | Items::Patterns | Items::Hosts => {
            json.insert("type".to_owned(), json!("string"));
            json.insert("minLength".to_owned(), json!(1))
        }
        Items::Words(words) | Items::AnyOf(words) => json.insert("enum".to_owned(), json!(words)),
    };
    Json::Object(json)
}
