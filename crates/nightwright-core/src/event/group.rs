//! The macros behind the vocabulary: a group of events says each name and each meaning once, and
//! from that come the enum, its wire format, its schema and the list of names.

/// Declares a group of events. The comment above a variant is its meaning in schema and reference.
macro_rules! event_group {
    (
        $(#[$attribute:meta])*
        $group:ident {
            $(
                $(#[doc = $meaning:literal])+
                $name:literal => $variant:ident $(($($tuple:tt)*))? $({$($fields:tt)*})?
            ),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(
            Clone, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
        )]
        #[serde(tag = "event")]
        pub enum $group {
            $(
                $(#[doc = $meaning])+
                #[serde(rename = $name)]
                $variant $(($($tuple)*))? $({$($fields)*})?
            ),+
        }

        impl $group {
            pub(super) const NAMES: &[&str] = &[$($name),+];

            /// The name in the journal.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name),+
                }
            }

            /// What it means, in one sentence.
            pub fn meaning(&self) -> &'static str {
                match self {
                    // Each line of a doc comment starts with a space.
                    $(Self::$variant { .. } => concat!($($meaning),+).trim_start()),+
                }
            }
        }
    };
}

/// Declares the enum over all groups. On the wire the groups do not show: an event is one flat
/// object, and its name says to which group it belongs.
macro_rules! event_groups {
    ($(#[$attribute:meta])* $event:ident { $($(#[$meaning:meta])+ $arm:ident($group:ident)),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $event {
            $($(#[$meaning])+ $arm($group)),+
        }

        $(
            impl From<$group> for $event {
                fn from(event: $group) -> Self {
                    Self::$arm(event)
                }
            }
        )+

        impl $event {
            /// The names of all events, group by group.
            pub fn names() -> impl Iterator<Item = &'static str> {
                [$($group::NAMES),+].into_iter().flatten().copied()
            }

            /// The name in the journal.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$arm(event) => event.name()),+
                }
            }

            /// What it means, in one sentence.
            pub fn meaning(&self) -> &'static str {
                match self {
                    $(Self::$arm(event) => event.meaning()),+
                }
            }

            /// Reads the event of this name from an object that has the name as a member, too.
            fn read<'de, D: serde::Deserializer<'de>>(name: &str, object: D) -> Result<Self, D::Error> {
                use serde::Deserialize as _;
                $(
                    if $group::NAMES.contains(&name) {
                        return $group::deserialize(object).map(Self::$arm);
                    }
                )+
                Err(serde::de::Error::custom(format_args!("unknown event `{name}`")))
            }
        }

        impl serde::Serialize for $event {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$arm(event) => event.serialize(serializer)),+
                }
            }
        }

        impl schemars::JsonSchema for $event {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($event).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let groups = [$($group::json_schema(generator)),+];
                let kinds = groups.iter().filter_map(|group| group.get("oneOf")?.as_array());
                let kinds: Vec<_> = kinds.flatten().cloned().collect();
                schemars::json_schema!({ "oneOf": kinds })
            }
        }
    };
}

pub(super) use {event_group, event_groups};
