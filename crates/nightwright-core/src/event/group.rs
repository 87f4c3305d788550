//! Macros that declare the events. A group states each name and meaning once; the macros generate
//! the enum, wire format, schema and list of names.

/// Declares a group of events. The doc comment of a variant is its meaning in the schema and
/// reference.
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

            /// The event's name in the journal.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name),+
                }
            }

            /// The meaning of the event in one sentence.
            pub fn meaning(&self) -> &'static str {
                match self {
                    // Each line of a doc comment starts with a space.
                    $(Self::$variant { .. } => concat!($($meaning),+).trim_start()),+
                }
            }
        }
    };
}

/// Declares the enum over all groups. The wire format does not show the groups: an event is one
/// flat object, and its name determines the group.
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
            /// Returns the names of all events, group by group.
            pub fn names() -> impl Iterator<Item = &'static str> {
                [$($group::NAMES),+].into_iter().flatten().copied()
            }

            /// The event's name in the journal.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$arm(event) => event.name()),+
                }
            }

            /// The meaning of the event in one sentence.
            pub fn meaning(&self) -> &'static str {
                match self {
                    $(Self::$arm(event) => event.meaning()),+
                }
            }

            /// Reads the event with this name from an object that also contains the name as a
            /// member.
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
