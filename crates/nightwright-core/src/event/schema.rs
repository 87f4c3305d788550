//! The JSON Schema of a journal line, for programs that read events.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::Event;

/// Returns the schema of a journal line: the common members, and those of each event.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Event>().to_value();
    schema["title"] = json!("An event of nightwright");
    schema["description"] = json!(
        "One line of `journal.jsonl` and of `--output json`, except for the lines that \
         `--include-messages` adds. Ignore unknown fields. Durations are milliseconds."
    );
    schema["type"] = json!("object");
    schema["properties"] = json!({
        "v": { "description": "The version of the format.", "const": 1 },
        "seq": {
            "description": "The number of the line, without gaps.", "type": "integer", "minimum": 1,
        },
        "at": {
            "description": "Time of the event, in UTC.", "type": "string", "format": "date-time",
        },
        "active_ms": {
            "description": "Active time so far, in milliseconds.", "type": "integer", "minimum": 0,
        },
        "run": { "description": "The ID of the run.", "type": "string" },
        "crc": {
            "description": "CRC-32 of all bytes before its comma.",
            "type": "string", "pattern": "^[0-9a-f]{8}$",
        },
    });
    schema["required"] = json!(["v", "seq", "at", "active_ms", "run", "event", "crc"]);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Record, samples};
    use crate::journal;
    use crate::units::RunId;

    /// Returns the first violation of the schema. It supports only the keywords that the schema
    /// uses; any other keyword is an error, because it would not be checked.
    fn wrong(schema: &Value, root: &Value, value: &Value, at: &str) -> Option<String> {
        const NOT_CHECKED: [&str; 8] = [
            "$schema",
            "$defs",
            "title",
            "description",
            "default",
            "format",
            "pattern",
            "examples",
        ];
        let Some(words) = schema.as_object() else {
            return (schema == &json!(false)).then(|| format!("{at}: nothing is allowed here"));
        };
        words.iter().find_map(|(word, wanted)| {
            let each = |one: &Value| wrong(one, root, value, at);
            let complaint = |text: String| Some(format!("{at}: {text}: {value}"));
            match word.as_str() {
                "$ref" => {
                    let path = wanted.as_str()?.trim_start_matches('#');
                    root.pointer(path).map_or_else(|| complaint(format!("no {path}")), each)
                }
                "const" if value != wanted => complaint(format!("not {wanted}")),
                "enum" if !wanted.as_array()?.contains(value) => complaint("not listed".to_owned()),
                "type" if !has_type(value, wanted) => complaint(format!("no {wanted}")),
                "minimum" if value.is_number() && value.as_f64() < wanted.as_f64() => {
                    complaint("too small".to_owned())
                }
                "maximum" if value.is_number() && value.as_f64() > wanted.as_f64() => {
                    complaint("too large".to_owned())
                }
                "required" => wanted
                    .as_array()?
                    .iter()
                    .find(|name| value.get(name.as_str().unwrap_or_default()).is_none())
                    .and_then(|name| complaint(format!("{name} is missing"))),
                "properties" => wanted.as_object()?.iter().find_map(|(name, inner)| {
                    wrong(inner, root, value.get(name)?, &format!("{at}.{name}"))
                }),
                "additionalProperties" | "propertyNames" if value.is_object() => None,
                "items" => value
                    .as_array()?
                    .iter()
                    .find_map(|item| wrong(wanted, root, item, &format!("{at}[]"))),
                "allOf" => wanted.as_array()?.iter().find_map(each),
                "anyOf" if !wanted.as_array()?.iter().any(|one| each(one).is_none()) => {
                    complaint("none of several".to_owned())
                }
                "oneOf" => {
                    let fits = wanted.as_array()?.iter().filter(|one| each(one).is_none()).count();
                    (fits != 1).then(|| complaint(format!("fits {fits} of several")))?
                }
                "const" | "enum" | "type" | "minimum" | "maximum" | "anyOf" => None,
                "additionalProperties" | "propertyNames" => None,
                word if NOT_CHECKED.contains(&word) => None,
                word => complaint(format!("`{word}` is not known to this test")),
            }
        })
    }

    fn has_type(value: &Value, wanted: &Value) -> bool {
        let is = |name: &str| match name {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            _ => false,
        };
        match wanted {
            Value::String(name) => is(name),
            Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
            _ => false,
        }
    }

    /// Every sample event as a journal line.
    fn lines() -> Vec<Value> {
        let run = RunId("20261115-233412-1a2b".to_owned());
        let records = samples().into_iter().map(|event| Record {
            at: jiff::Timestamp::UNIX_EPOCH,
            active: std::time::Duration::from_millis(5),
            event,
        });
        records
            .zip(1..)
            .map(|(record, seq)| {
                let mut line = Vec::new();
                journal::encode(&mut line, seq, &run, &record);
                serde_json::from_slice(&line).unwrap()
            })
            .collect()
    }

    #[test]
    fn every_event_fits_the_schema() {
        let schema = schema();
        for line in lines() {
            // Check the event's own schema first: its error is more specific than a failed `oneOf`.
            let kinds = schema["oneOf"].as_array().unwrap();
            let own =
                kinds.iter().find(|kind| kind["properties"]["event"]["const"] == line["event"]);
            assert_eq!(wrong(own.unwrap(), &schema, &line, "line"), None);
            assert_eq!(wrong(&schema, &schema, &line, "line"), None);
        }
    }

    #[test]
    fn other_objects_do_not_fit_the_schema() {
        let schema = schema();
        for (name, value) in
            [("event", json!("unheard_of")), ("seq", json!(0)), ("v", json!(2)), ("at", json!(7))]
        {
            for mut line in lines() {
                line[name] = value.clone();
                assert!(wrong(&schema, &schema, &line, "line").is_some(), "{line}");
            }
        }
        for mut line in lines() {
            line.as_object_mut().unwrap().remove("run");
            assert!(wrong(&schema, &schema, &line, "line").is_some(), "{line}");
        }
    }

    #[test]
    fn documented_queries_select_existing_fields() {
        let page = include_str!("../../../../docs/json-events.md");
        let queries = page.lines().filter_map(|line| line.split_once("select(.event==\""));
        let queries: Vec<_> = queries.filter_map(|(_, query)| query.split_once("\") | ")).collect();
        assert!(queries.len() >= 3, "{queries:?}");
        for (event, query) in queries {
            let line = lines().into_iter().find(|line| line["event"] == event).unwrap();
            for rest in query.split('.').skip(1) {
                let field = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                assert!(line.get(field).is_some(), "`{event}` has no field `{field}`");
            }
        }
    }

    #[test]
    fn every_event_is_in_it_and_says_what_it_is() {
        let schema = schema();
        let kinds = schema["oneOf"].as_array().unwrap();
        for event in samples() {
            let kind =
                kinds.iter().find(|kind| kind["properties"]["event"]["const"] == event.name());
            assert!(kind.is_some_and(|kind| kind["description"].is_string()), "{}", event.name());
        }
    }
}
