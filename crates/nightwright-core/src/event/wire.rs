//! Deserialization of events: the name selects the group that reads the other members.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::Event;

/// The member that holds the event's name.
const NAME: &str = "event";

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor)
    }
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let first: Option<String> = map.next_key()?;
        match first {
            // nightwright writes the name first, so the other members can be streamed.
            Some(first) if first == NAME => {
                let name: String = map.next_value()?;
                let object = NameThenRest { name: Some(&name), rest: map };
                Event::read(&name, MapAccessDeserializer::new(object))
            }
            Some(first) => read_in_any_order(first, map),
            None => Err(A::Error::missing_field(NAME)),
        }
    }
}

/// Reads an object from another program, which may not write the name first.
fn read_in_any_order<'de, A: MapAccess<'de>>(first: String, mut map: A) -> Result<Event, A::Error> {
    let mut object = Map::new();
    object.insert(first, map.next_value()?);
    while let Some((key, value)) = map.next_entry::<String, Value>()? {
        object.insert(key, value);
    }
    let name = object.get(NAME).and_then(Value::as_str).map(str::to_owned);
    let name = name.ok_or_else(|| A::Error::missing_field(NAME))?;
    Event::read(&name, Value::Object(object)).map_err(A::Error::custom)
}

/// A map whose name entry is already consumed; yields the name again before the other entries.
struct NameThenRest<'name, A> {
    name: Option<&'name str>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for NameThenRest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        if self.name.is_some() {
            let key: StrDeserializer<'_, A::Error> = NAME.into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        self.rest.next_key_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.name.take() {
            Some(name) => {
                let name: StrDeserializer<'_, A::Error> = name.into_deserializer();
                seed.deserialize(name)
            }
            None => self.rest.next_value_seed(seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::samples;

    #[test]
    fn an_event_reads_the_same_wherever_its_name_stands() {
        for event in samples() {
            let json = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event, "{json}");
            let moved = json.replacen('{', "{\"a\":1,", 1);
            assert_eq!(serde_json::from_str::<Event>(&moved).unwrap(), event, "{json}");
            let value: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::from_value::<Event>(value).unwrap(), event, "{json}");
        }
    }

    #[test]
    fn an_error_names_what_is_wrong() {
        let error = |json: &str| serde_json::from_str::<Event>(json).unwrap_err().to_string();
        assert!(error(r#"{"event":"unheard_of"}"#).starts_with("unknown event `unheard_of`"));
        assert!(error(r#"{"event":"warning"}"#).starts_with("missing field `text`"));
        assert!(error(r#"{"text":"x"}"#).starts_with("missing field `event`"));
        assert!(error("{}").starts_with("missing field `event`"));
    }
}
