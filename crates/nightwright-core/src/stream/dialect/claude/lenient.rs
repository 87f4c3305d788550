//! Lenient fields: they accept the values they can use and ignore the rest. A field whose type
//! changed costs that field, never the line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::schema::ApiMessage;
use crate::units::Usd;

/// The maximum length of a list. A line of nothing but commas must not fill the memory.
const MAX_LIST: usize = 1000;

/// Visitor methods for the kinds of value that a field ignores.
macro_rules! ignore {
    ($($kind:ident)*) => { $( ignore!(@ $kind); )* };
    (@ bool) => { ignore!(@ visit_bool: bool); };
    (@ number) => {
        ignore!(@ visit_i64: i64);
        ignore!(@ visit_u64: u64);
        ignore!(@ visit_f64: f64);
    };
    (@ str) => { ignore!(@ visit_str: &str); };
    (@ null) => {
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ $visit:ident: $kind:ty) => {
        fn $visit<E: Error>(self, _: $kind) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
}

fn anything(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("anything")
}

/// A string; empty for any other value.
#[derive(Clone, Debug, Default)]
pub(super) struct LenientText<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = LenientText<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(LenientText(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(LenientText(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(LenientText(Cow::Owned(text)))
            }
            ignore!(bool number null list map);
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A number; `None` for any other value. `3.0` is an integer too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LenientNumber(Option<f64>);

impl LenientNumber {
    /// The number as a count: never negative, truncated.
    pub(super) fn count(self) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates, and no count exceeds 9 x 10^15"
        )]
        self.0.filter(|number| *number >= 0.0).map(|number| number as u64)
    }

    /// The number as a 32-bit count, saturating.
    pub(super) fn small(self) -> Option<u32> {
        self.count().map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// The number as an HTTP status.
    pub(super) fn status(self) -> Option<u16> {
        self.count().and_then(|count| u16::try_from(count).ok())
    }

    /// The number as an amount of money.
    pub(super) fn dollars(self) -> Option<Usd> {
        self.0.and_then(Usd::from_dollars)
    }

    pub(super) fn value(self) -> Option<f64> {
        self.0
    }
}

impl<'de> Deserialize<'de> for LenientNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl<'de> Visitor<'de> for NumberVisitor {
            type Value = LenientNumber;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            #[expect(clippy::cast_precision_loss, reason = "exact far beyond any count of tokens")]
            fn visit_u64<E: Error>(self, number: u64) -> Result<LenientNumber, E> {
                Ok(LenientNumber(Some(number as f64)))
            }
            #[expect(clippy::cast_precision_loss, reason = "exact far beyond any count of tokens")]
            fn visit_i64<E: Error>(self, number: i64) -> Result<LenientNumber, E> {
                Ok(LenientNumber(Some(number as f64)))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<LenientNumber, E> {
                Ok(LenientNumber(Some(number)))
            }
            ignore!(bool str null list map);
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// A boolean; `None` for any other value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LenientBool(pub(super) Option<bool>);

impl<'de> Deserialize<'de> for LenientBool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BoolVisitor;
        impl<'de> Visitor<'de> for BoolVisitor {
            type Value = LenientBool;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<LenientBool, E> {
                Ok(LenientBool(Some(value)))
            }
            ignore!(number str null list map);
        }
        deserializer.deserialize_any(BoolVisitor)
    }
}

/// An object; `None` for any other value.
#[derive(Clone, Debug)]
pub(super) struct LenientObject<T>(pub(super) Option<T>);

impl<T> Default for LenientObject<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = LenientObject<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LenientObject<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
                    .map(|found| LenientObject(Some(found)))
            }
            ignore!(bool number str null list);
        }
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

/// The field `message`: an object in most lines, and a string in a few.
#[derive(Debug, Default)]
pub(super) struct MessageOrText<'a> {
    pub(super) message: Option<ApiMessage<'a>>,
    pub(super) text: Cow<'a, str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for MessageOrText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MessageVisitor;
        impl<'de> Visitor<'de> for MessageVisitor {
            type Value = MessageOrText<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let message = ApiMessage::deserialize(MapAccessDeserializer::new(map))?;
                Ok(MessageOrText { message: Some(message), text: Cow::default() })
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(MessageOrText { message: None, text: Cow::Borrowed(text) })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(MessageOrText { message: None, text: Cow::Owned(text.to_owned()) })
            }
            ignore!(bool number null list);
        }
        deserializer.deserialize_any(MessageVisitor)
    }
}

/// The first entries of a list; none for any other value.
#[derive(Clone, Debug)]
pub(super) struct LenientList<T> {
    pub(super) entries: Vec<T>,
    /// The number of entries in the whole list.
    pub(super) length: u32,
}

impl<T> Default for LenientList<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), length: 0 }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = LenientList<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<LenientList<T>, A::Error> {
                let mut found = LenientList::default();
                while found.entries.len() < MAX_LIST
                    && let Some(entry) = list.next_element()?
                {
                    found.entries.push(entry);
                    found.length += 1;
                }
                while list.next_element::<IgnoredAny>()?.is_some() {
                    found.length = found.length.saturating_add(1);
                }
                Ok(found)
            }
            ignore!(bool number str null map);
        }
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// An object as a list of names and values; `None` for any other value.
#[derive(Clone, Debug)]
pub(super) struct LenientMap<T>(pub(super) Option<Vec<(String, T)>>);

impl<T> Default for LenientMap<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for MapVisitor<T> {
            type Value = LenientMap<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LenientMap<T>, A::Error> {
                let mut found = Vec::new();
                while found.len() < MAX_LIST
                    && let Some(entry) = map.next_entry()?
                {
                    found.push(entry);
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(LenientMap(Some(found)))
            }
            ignore!(bool number str null list);
        }
        deserializer.deserialize_any(MapVisitor(PhantomData))
    }
}

/// Reads the names of an object's fields that are `wanted`, at most the first `most`.
pub(super) fn names(
    line: &[u8],
    wanted: impl Fn(&str) -> bool,
    most: usize,
) -> serde_json::Result<Vec<String>> {
    struct PrefixVisitor<W> {
        wanted: W,
        most: usize,
    }
    impl<'de, W: Fn(&str) -> bool> Visitor<'de> for PrefixVisitor<W> {
        type Value = Vec<String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            anything(f)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
            let mut found = Vec::new();
            while let Some((LenientText(name), IgnoredAny)) = map.next_entry()? {
                if found.len() < self.most && (self.wanted)(&name) {
                    found.push(name.into_owned());
                }
            }
            Ok(found)
        }
        ignore!(bool number str null list);
    }
    serde_json::Deserializer::from_slice(line).deserialize_any(PrefixVisitor { wanted, most })
}
