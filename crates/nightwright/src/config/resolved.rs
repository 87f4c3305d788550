//! The resolved configuration: the effective value of each key, and its origin.

use std::collections::BTreeMap;

use super::keys::KEYS;
use super::layer::ConfigLayer;
use super::origin::ValueOrigin;
use super::output_settings::{ColorChoice, OutputLevel};
use super::value::ConfigValue;

/// The effective configuration of all layers.
#[derive(Clone, Debug)]
pub struct ResolvedConfig {
    layers: Vec<ConfigLayer>,
    effective: BTreeMap<&'static str, (ValueOrigin, ConfigValue)>,
}

impl ResolvedConfig {
    /// Merges the layers: later ones override earlier ones, and all override the built-in defaults.
    /// Tables merge by key, arrays replace.
    pub fn new(layers: impl IntoIterator<Item = ConfigLayer>) -> Self {
        let mut all = vec![ConfigLayer::built_in()];
        all.extend(layers);
        let mut effective: BTreeMap<&'static str, (ValueOrigin, ConfigValue)> = BTreeMap::new();
        for (key, origin, value) in all.iter().flat_map(ConfigLayer::iter) {
            let mut value = value.clone();
            if let (ConfigValue::Table(new), Some((_, ConfigValue::Table(old)))) =
                (&mut value, effective.get(key))
            {
                // A layer that adds nothing is not the origin of the value.
                if new.is_empty() {
                    continue;
                }
                for (name, text) in old {
                    new.entry(name.clone()).or_insert_with(|| text.clone());
                }
            }
            effective.insert(key, (origin.clone(), value));
        }
        Self { layers: all, effective }
    }

    /// The effective value; `None` if no layer sets it and there is no default.
    pub fn value(&self, key: &str) -> Option<&ConfigValue> {
        self.effective.get(key).map(|(_, value)| value)
    }

    pub fn origin(&self, key: &str) -> &ValueOrigin {
        self.effective.get(key).map_or(&ValueOrigin::BuiltIn, |(origin, _)| origin)
    }

    /// The values of a key in all layers, the weakest first.
    pub fn all(&self, key: &str) -> Vec<(&ValueOrigin, &ConfigValue)> {
        self.layers.iter().filter_map(|layer| layer.get(key)).collect()
    }

    /// The values that need the user's approval and may come with the project: key, origin, value.
    pub fn gated(&self) -> Vec<(&'static str, &ValueOrigin, &ConfigValue)> {
        let gated = KEYS.iter().filter(|key| key.gated);
        gated
            .flat_map(|key| {
                self.all(key.name).into_iter().map(|(from, value)| (key.name, from, value))
            })
            .filter(|(_, origin, _)| origin.comes_with_project())
            .collect()
    }

    /// The variables that are set for the agent program.
    pub fn environment_of_agent(&self) -> BTreeMap<String, String> {
        match self.value("agent.env") {
            Some(ConfigValue::Table(entries)) => entries.clone(),
            Some(_) | None => BTreeMap::new(),
        }
    }

    /// The verbosity of the output.
    pub fn level(&self) -> OutputLevel {
        self.get_text("output.level").and_then(OutputLevel::named).unwrap_or_default()
    }

    /// Whether the output is colored.
    pub fn color(&self) -> ColorChoice {
        self.get_text("output.color").and_then(ColorChoice::named).unwrap_or_default()
    }

    /// Whether the machine is kept awake during a run.
    pub fn keeps_awake(&self) -> bool {
        self.get_bool("keep_awake").unwrap_or(true)
    }

    /// The value of a string or choice key.
    pub fn get_text(&self, key: &str) -> Option<&str> {
        let ConfigValue::Text(text) = self.value(key)? else { return None };
        Some(text)
    }

    /// The value of a text that may be empty: `None` if unset, `Some(None)` if set to empty.
    pub fn get_optional(&self, key: &str) -> Option<Option<String>> {
        let text = self.get_text(key)?;
        Some(Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    pub fn get_count(&self, key: &str) -> Option<u32> {
        let ConfigValue::Count(count) = self.value(key)? else { return None };
        Some(*count)
    }

    /// The value of a size key, in bytes.
    pub fn get_size(&self, key: &str) -> Option<u64> {
        let ConfigValue::Size(bytes) = self.value(key)? else { return None };
        Some(*bytes)
    }

    pub fn get_bool(&self, key: &str) -> Option<bool> {
        let ConfigValue::Bool(yes) = self.value(key)? else { return None };
        Some(*yes)
    }

    pub fn get_list(&self, key: &str) -> Option<Vec<String>> {
        let ConfigValue::List(items) = self.value(key)? else { return None };
        Some(items.clone())
    }
}
