//! Applies the configuration to the settings of a run: every key with a field sets it.

use nightwright_core::settings::Settings;

use super::keys::{self, KEYS};
use super::layer::ConfigLayer;
use super::resolved::ResolvedConfig;

impl ConfigLayer {
    /// Sets the field of every key that the layer contains.
    pub fn apply(&self, settings: &mut Settings) {
        for (name, _, value) in self.iter() {
            if let Some(set) = keys::find(name).and_then(|key| key.set) {
                set(settings, value);
            }
        }
    }
}

impl ResolvedConfig {
    /// Sets the field of every key. The evidence of the mode must already be set. A field whose key
    /// has no value stays unchanged.
    pub fn apply(&self, settings: &mut Settings) {
        for key in KEYS {
            if let (Some(set), Some(value)) = (key.set, self.value(key.name)) {
                set(settings, value);
            }
        }
        let detect = self.get_bool("completion.detect").unwrap_or(true);
        settings.completion.complete_evidence(detect);
    }
}
