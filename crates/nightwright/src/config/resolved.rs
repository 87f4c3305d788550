//! All layers together: what holds, and who says so.

use std::collections::BTreeMap;

use clap::ValueEnum as _;

use super::keys::KEYS;
use super::layer::ConfigLayer;
use super::origin::ValueOrigin;
use super::value::ConfigValue;
use crate::output::{ColorChoice, OutputLevel};

/// All layers together.
#[derive(Clone, Debug)]
pub struct ResolvedConfig {
    layers: Vec<ConfigLayer>,
    effective: BTreeMap<&'static str, (ValueOrigin, ConfigValue)>,
}

impl ResolvedConfig {
    /// What holds by these layers, in order: later ones win over earlier ones, and all over what
    /// is built in. Tables merge by key, arrays replace.
    pub fn new(layers: impl IntoIterator<Item = ConfigLayer>) -> Self {
        let mut all = vec![ConfigLayer::built_in()];
        all.extend(layers);
        let mut effective: BTreeMap<&'static str, (ValueOrigin, ConfigValue)> = BTreeMap::new();
        for (key, origin, value) in all.iter().flat_map(ConfigLayer::iter) {
            let mut value = value.clone();
            if let (ConfigValue::Table(new), Some((_, ConfigValue::Table(old)))) =
                (&mut value, effective.get(key))
            {
                // A layer that adds nothing is not the one that says it.
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

    /// What holds; `None` if nobody says anything and nothing is built in.
    pub fn value(&self, key: &str) -> Option<&ConfigValue> {
        self.effective.get(key).map(|(_, value)| value)
    }

    /// Who says so.
    pub fn origin(&self, key: &str) -> &ValueOrigin {
        self.effective.get(key).map_or(&ValueOrigin::BuiltIn, |(origin, _)| origin)
    }

    /// What each layer says, the weakest first.
    pub fn all(&self, key: &str) -> Vec<(&ValueOrigin, &ConfigValue)> {
        self.layers.iter().filter_map(|layer| layer.get(key)).collect()
    }

    /// What needs the user's approval and may have come with the project: key, origin, value.
    pub fn gated(&self) -> Vec<(&'static str, &ValueOrigin, &ConfigValue)> {
        let gated = KEYS.iter().filter(|key| key.gated);
        gated
            .flat_map(|key| {
                self.all(key.name).into_iter().map(|(from, value)| (key.name, from, value))
            })
            .filter(|(_, origin, _)| origin.comes_with_project())
            .collect()
    }

    /// Variables that are set for the agent program.
    pub fn environment_of_agent(&self) -> BTreeMap<String, String> {
        match self.value("agent.env") {
            Some(ConfigValue::Table(entries)) => entries.clone(),
            Some(_) | None => BTreeMap::new(),
        }
    }

    /// How much is shown.
    pub fn level(&self) -> OutputLevel {
        let level = self.get_text("output.level").map(|word| OutputLevel::from_str(word, false));
        level.and_then(Result::ok).unwrap_or_default()
    }

    /// Whether colours are used.
    pub fn color(&self) -> ColorChoice {
        let color = self.get_text("output.color").map(|word| ColorChoice::from_str(word, false));
        color.and_then(Result::ok).unwrap_or_default()
    }

    /// Whether the machine is kept awake during a run.
    pub fn keeps_awake(&self) -> bool {
        self.get_bool("keep_awake").unwrap_or(true)
    }

    /// A text, or a word.
    pub fn get_text(&self, key: &str) -> Option<&str> {
        let ConfigValue::Text(text) = self.value(key)? else { return None };
        Some(text)
    }

    /// A text of which the empty one means none: `None` if nobody says anything, `Some(None)` if
    /// there shall be none.
    pub fn get_optional(&self, key: &str) -> Option<Option<String>> {
        let text = self.get_text(key)?;
        Some(Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    /// A number.
    pub fn get_count(&self, key: &str) -> Option<u32> {
        let ConfigValue::Count(count) = self.value(key)? else { return None };
        Some(*count)
    }

    /// A number of bytes.
    pub fn get_size(&self, key: &str) -> Option<u64> {
        let ConfigValue::Size(bytes) = self.value(key)? else { return None };
        Some(*bytes)
    }

    /// Yes or no.
    pub fn get_bool(&self, key: &str) -> Option<bool> {
        let ConfigValue::Bool(yes) = self.value(key)? else { return None };
        Some(*yes)
    }

    /// Several texts.
    pub fn get_list(&self, key: &str) -> Option<Vec<String>> {
        let ConfigValue::List(items) = self.value(key)? else { return None };
        Some(items.clone())
    }
}
