//! What the configuration means for a run: every key with a field in the settings sets it.

use nightwright_core::settings::{EvidenceKind, Settings};

use super::keys::KEYS;
use super::resolved::ResolvedConfig;

impl ResolvedConfig {
    /// Sets every field that a key stands for. The evidence of the mode has to be there already. A
    /// field whose key has no value stays as it is.
    pub fn apply(&self, settings: &mut Settings) {
        for key in KEYS {
            if let (Some(set), Some(value)) = (key.set, self.value(key.name)) {
                set(settings, value);
            }
        }
        let completion = &mut settings.completion;
        if self.get_bool("completion.detect") == Some(false) {
            completion.evidence.clear();
        } else if completion.end_phrase.is_some()
            && !completion.evidence.contains(&EvidenceKind::EndPhrase)
        {
            completion.evidence.push(EvidenceKind::EndPhrase);
        }
    }
}
