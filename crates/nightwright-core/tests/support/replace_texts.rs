//! Events in which every text is replaced, as if an attacker had written them.

use nightwright_core::event::{Event, Record};
use serde_json::Value;

/// The same events with every text in them replaced, wherever that still makes an event: whoever
/// can write a journal, or be quoted in one, could have written this.
pub(crate) fn replace_all_texts(records: &[Record], words: &str) -> Vec<Record> {
    let replaced = |record: &Record| {
        let Ok(mut value) = serde_json::to_value(&record.event) else { return record.clone() };
        for place in texts(&value) {
            let before = value
                .pointer_mut(&place)
                .map(|text| std::mem::replace(text, Value::String(words.to_owned())));
            // A name of ours, a time or a number in a text: anything else is no event.
            if serde_json::from_value::<Event>(value.clone()).is_err()
                && let (Some(text), Some(before)) = (value.pointer_mut(&place), before)
            {
                *text = before;
            }
        }
        let event = serde_json::from_value(value).unwrap_or_else(|_| record.event.clone());
        Record { event, ..record.clone() }
    };
    records.iter().map(replaced).collect()
}

/// The places of all texts in a value.
fn texts(value: &Value) -> Vec<String> {
    let inside = |name: String, value: &Value| -> Vec<String> {
        texts(value).into_iter().map(|place| format!("/{name}{place}")).collect()
    };
    match value {
        Value::String(_) => vec![String::new()],
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.flat_map(|(index, item)| inside(index.to_string(), item)).collect()
        }
        Value::Object(members) => {
            let name = |name: &str| name.replace('~', "~0").replace('/', "~1");
            members.iter().flat_map(|(key, value)| inside(name(key), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
