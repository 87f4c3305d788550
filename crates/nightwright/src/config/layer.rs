//! One layer of the configuration: the values from one file, the environment or the command line.

use std::collections::BTreeMap;
use std::path::Path;

use nightwright_core::mode::{FileLocation, ModeDefinition};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error as TomlError};

use super::amounts::inside;
use super::error::{ConfigError, ConfigMistake};
use super::keys::{self, KEYS, Key};
use super::kind::ValueKind;
use super::origin::ValueOrigin;
use super::value::ConfigValue;
use crate::config::nearest::nearest;
use crate::paste::from_here;

/// The values from one file, the environment or the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLayer {
    origin: ValueOrigin,
    values: BTreeMap<&'static str, (ValueOrigin, ConfigValue)>,
}

impl ConfigLayer {
    /// Creates a layer without values.
    pub fn empty(origin: ValueOrigin) -> Self {
        Self { origin, values: BTreeMap::new() }
    }

    /// Creates the layer of the command line. Each value records its flag.
    pub fn flags() -> Self {
        Self::empty(ValueOrigin::Flag(""))
    }

    /// The layer of the built-in defaults.
    pub fn built_in() -> Self {
        let mut layer = Self::empty(ValueOrigin::BuiltIn);
        for key in KEYS {
            layer.give(key.name, key.default_value());
        }
        layer
    }

    /// Parses a configuration file.
    pub fn parse(origin: ValueOrigin, path: &Path, text: &str) -> Result<Self, ConfigError> {
        let text = without_mark(text);
        let table = document(path, text)?;
        Self::parse_table(origin, path, text, table.get_ref())
    }

    /// Reads keys from a table of the file with this text.
    fn parse_table(
        origin: ValueOrigin,
        path: &Path,
        text: &str,
        table: &DeTable<'_>,
    ) -> Result<Self, ConfigError> {
        let mut layer = Self::empty(origin);
        let mut mistakes = Vec::new();
        layer.walk("", table, &mut mistakes);
        if mistakes.is_empty() {
            return Ok(layer);
        }
        Err(ConfigError::new(path, text, mistakes))
    }

    fn walk(&mut self, above: &str, table: &DeTable<'_>, mistakes: &mut Vec<ConfigMistake>) {
        for (name, value) in table {
            let full = match above {
                "" => name.get_ref().to_string(),
                above => format!("{above}.{}", name.get_ref()),
            };
            let key = keys::find(&full);
            match (key, value.get_ref()) {
                // Checked before the key: several tables may also be written as one.
                (_, DeValue::Table(inner)) if keys::is_table(&full) => {
                    self.walk(&full, inner, mistakes);
                }
                (Some(key), DeValue::Array(array))
                    if matches!(key.kind, ValueKind::Tables { .. }) =>
                {
                    self.walk_tables(key, array.iter(), mistakes);
                }
                (Some(key), _) => self.read(key, value, mistakes),
                (None, _) if keys::is_table(&full) => mistakes.push(ConfigMistake {
                    span: value.span(),
                    message: format!("`{full}` must be a table"),
                    label: "this is not a table".to_owned(),
                    hint: Some(format!("write `[{full}]`, and its keys below")),
                }),
                (None, _) => mistakes.push(ConfigMistake {
                    span: name.span(),
                    message: format!("unknown key `{full}`"),
                    label: "unknown".to_owned(),
                    hint: Some(keys::closest(&full).map_or_else(
                        || {
                            from_here("run `nightwright config schema` to see all keys")
                                .into_owned()
                        },
                        |near| format!("did you mean `{near}`?"),
                    )),
                }),
            }
        }
    }

    fn read(&mut self, key: &Key, value: &Spanned<DeValue<'_>>, mistakes: &mut Vec<ConfigMistake>) {
        match key.kind.read(value) {
            Ok(value) => self.set(key.name, value),
            Err((span, label)) => mistakes.push(ConfigMistake {
                span,
                message: format!("`{}` must be {}", key.name, key.kind.allowed()),
                label,
                hint: None,
            }),
        }
    }

    /// Reads several tables, each as if it were the only one.
    fn walk_tables<'i: 'a, 'a>(
        &mut self,
        key: &Key,
        tables: impl Iterator<Item = &'a Spanned<DeValue<'i>>>,
        mistakes: &mut Vec<ConfigMistake>,
    ) {
        let ValueKind::Tables { of, needs } = key.kind else { return };
        let mut all = Vec::new();
        for table in tables {
            let mut wrong = |label: &str| {
                let message = format!("`{of}` must be {}", key.kind.allowed());
                let label = label.to_owned();
                mistakes.push(ConfigMistake { span: table.span(), message, label, hint: None });
            };
            let DeValue::Table(inner) = table.get_ref() else {
                wrong("this is not a table");
                continue;
            };
            if inner.get(needs).is_none_or(|value| value.get_ref().as_str() == Some("")) {
                wrong(&format!("this has no `{needs}`"));
            }
            let mut layer = Self::empty(self.origin.clone());
            layer.walk(of, inner, mistakes);
            let short = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
            let values = layer.values.into_iter();
            all.push(values.map(|(name, (_, value))| (short(name), value)).collect());
        }
        self.set(key.name, ConfigValue::Tables(all));
    }

    /// Parses `mode.toml`: the definition of the mode, and its defaults.
    pub fn parse_mode(
        name: &str,
        path: &Path,
        text: &str,
    ) -> Result<(ModeDefinition, Self), ConfigError> {
        let text = without_mark(text);
        let mut table = document(path, text)?;
        let defaults = table.get_mut().remove("defaults");
        let list = table.get_ref().get("list").map(Spanned::span).unwrap_or_default();
        let mut definition =
            ModeDefinition::deserialize(Deserializer::from(table)).map_err(|error| {
                let mut mistake = mistake(&error, text);
                if let Some(field) = unknown_field(&mistake.message) {
                    let known = [
                        "description",
                        "evidence",
                        "list",
                        "works_on",
                        "goal",
                        "idle_outcome",
                        "commits",
                        "idle_unless",
                        "defaults",
                    ];
                    let near = nearest(field, known).or(keys::find(field).map(|_| "[defaults]"));
                    mistake.hint = near.map(|near| format!("did you mean `{near}`?"));
                }
                ConfigError::new(path, text, vec![mistake])
            })?;
        if let Some(found) = &mut definition.list {
            found.file = inside(&found.file).ok_or_else(|| {
                let message = match found.place {
                    FileLocation::Task => "`list.file` must be a file inside the task folder",
                    FileLocation::Project => "`list.file` must be a file inside the project",
                };
                let message = format!("{message}, relative to it");
                let label = "this leads elsewhere".to_owned();
                ConfigError::new(
                    path,
                    text,
                    vec![ConfigMistake { span: list, message, label, hint: None }],
                )
            })?;
        }
        Ok((definition, Self::mode_layer(name, path, text, defaults.as_ref())?))
    }

    fn mode_layer(
        name: &str,
        path: &Path,
        text: &str,
        defaults: Option<&Spanned<DeValue<'_>>>,
    ) -> Result<Self, ConfigError> {
        let origin = ValueOrigin::Mode(name.to_owned());
        let Some(defaults) = defaults else { return Ok(Self::empty(origin)) };
        let wrong = |span, message: &str, label: &str| {
            let (message, label) = (message.to_owned(), label.to_owned());
            ConfigError::new(path, text, vec![ConfigMistake { span, message, label, hint: None }])
        };
        let Some(table) = defaults.get_ref().as_table() else {
            return Err(wrong(
                defaults.span(),
                "`defaults` must be a table",
                "this is not a table",
            ));
        };
        if let Some((name, _)) = table.get_key_value("mode") {
            return Err(wrong(name.span(), "a mode cannot choose the mode", "not allowed here"));
        }
        Self::parse_table(origin, path, text, table)
    }

    /// Sets a key by its full name.
    ///
    /// # Panics
    /// If there is no such key, or its values are of another kind: a bug in the caller.
    pub fn set(&mut self, key: &str, value: impl Into<ConfigValue>) {
        let key = known(key);
        let origin = match &self.origin {
            ValueOrigin::Environment(_) => ValueOrigin::Environment(key.env),
            ValueOrigin::Flag(_) => ValueOrigin::Flag(key.flag().unwrap_or_default()),
            ValueOrigin::BuiltIn
            | ValueOrigin::Mode(_)
            | ValueOrigin::User(_)
            | ValueOrigin::Project(_)
            | ValueOrigin::Task(_) => self.origin.clone(),
        };
        self.put(key, origin, value.into());
    }

    /// Sets a key if there is a value for it.
    pub fn give<V: Into<ConfigValue>>(&mut self, key: &str, value: Option<V>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }

    /// Sets a key from a flag other than the key's own: `--no-delay`.
    pub fn set_by_flag(&mut self, flag: &'static str, key: &str, value: impl Into<ConfigValue>) {
        self.put(known(key), ValueOrigin::Flag(flag), value.into());
    }

    /// Adds the values of another layer, which override those of this one.
    pub fn extend(&mut self, other: &Self) {
        self.values.extend(other.values.iter().map(|(key, value)| (*key, value.clone())));
    }

    fn put(&mut self, key: &'static Key, origin: ValueOrigin, value: ConfigValue) {
        assert!(key.kind.holds(&value), "`{}` is not a valid {}", key.name, key.kind.name());
        self.values.insert(key.name, (origin, value));
    }

    /// The value of a key, and its exact origin.
    pub fn get(&self, key: &str) -> Option<(&ValueOrigin, &ConfigValue)> {
        self.values.get(key).map(|(origin, value)| (origin, value))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ValueOrigin, &ConfigValue)> {
        self.values.iter().map(|(key, (origin, value))| (*key, origin, value))
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn origin(&self) -> &ValueOrigin {
        &self.origin
    }

    /// The values that need the user's approval.
    pub fn gated(&self) -> Vec<(&'static str, &ValueOrigin, &ConfigValue)> {
        self.iter().filter(|(key, ..)| known(key).gated).collect()
    }

    /// Removes these keys from the layer.
    #[must_use]
    pub fn without(mut self, keys: &[&str]) -> Self {
        self.values.retain(|key, _| !keys.contains(key));
        self
    }
}

fn known(key: &str) -> &'static Key {
    match keys::find(key) {
        Some(key) => key,
        None => panic!("`{key}` is in the table of keys"),
    }
}

/// Removes the byte order mark that some editors add.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn document<'t>(path: &Path, text: &'t str) -> Result<Spanned<DeTable<'t>>, ConfigError> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(table);
    }
    let mistakes = errors.iter().map(|error| mistake(error, text)).collect();
    Err(ConfigError::new(path, text, mistakes))
}

fn mistake(error: &TomlError, text: &str) -> ConfigMistake {
    let (message, label) = match error.message().split_once(", expected ") {
        Some((what, wanted)) => (what.to_owned(), format!("expected {wanted}")),
        None => (error.message().to_owned(), String::new()),
    };
    let label = if label.is_empty() { "here".to_owned() } else { label };
    ConfigMistake {
        span: error.span().unwrap_or(text.len()..text.len()),
        message,
        label,
        hint: None,
    }
}

fn unknown_field(message: &str) -> Option<&str> {
    message.strip_prefix("unknown field `")?.split('`').next()
}
