//! Events in which every text is replaced, as if an attacker had written them.

use nightwright_core::event::{Event, Record};
use serde_json::Value;

/// Returns the events with every text replaced, wherever the result is still a valid event. An
/// attacker who can write to a journal, or is quoted in one, could produce these.
pub(crate) fn replace_all_texts(records: &[Record], words: &str) -> Vec<Record> {
    let replaced = |record: &Record| {
        let Ok(mut value) = serde_json::to_value(&record.event) else { return record.clone() };
        for place in texts(&value) {
            let before = value
                .pointer_mut(&place)
                .map(|text| std::mem::replace(text, Value::String(words.to_owned())));
            // A name of the format, a time or a number: any other text makes the event invalid.
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

/// The JSON pointers of all strings in a value.
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
