//! Secrets for commands that show data without a run. Output of git and files of a task have not
//! passed through the masks of a run.

use std::env;
use std::path::Path;

use nightwright_core::event::{
    AttemptEvent, Event, FeedbackSource, NoteEvent, OperatorEvent, RunEvent,
};
use nightwright_core::redact::{Secrets, has_masks};
use nightwright_core::settings::{SettingChange, Settings};

use crate::app::approval::{self, UntrustedPolicy};
use crate::config::{self, ResolvedConfig};
use crate::error::Failure;
use crate::secrets;
use crate::store::journal;
use crate::store::run_dir::RunDir;
use crate::task::Task;

/// The masked strings of a journal. The masked values are still secret, even if no variable
/// contains them any more.
#[derive(Debug, Default)]
pub(crate) struct MaskedJournalTexts {
    settings: Option<Box<Settings>>,
    operator_messages: Vec<String>,
    changed: Vec<SettingChange>,
}

impl MaskedJournalTexts {
    /// Adds the masked strings of an event.
    pub(crate) fn record(&mut self, event: &Event) {
        if let Event::Run(RunEvent::Started(started)) = event
            && started.settings.masked
        {
            self.settings = Some(Box::new(started.settings.clone()));
        } else if let Event::Note(NoteEvent::FeedbackAdded { source: FeedbackSource::Human, text })
        | Event::Attempt(AttemptEvent::MessageSent { answers: None, text, .. }) = event
            && has_masks(text)
        {
            self.operator_messages.push(text.clone());
        } else if let Event::Operator(OperatorEvent::SettingsChanged { change, .. }) = event
            && has_masks(change)
        {
            self.changed.push(change.clone());
        }
    }

    /// Returns the masked values, as far as they were saved.
    pub(crate) fn secrets(&self, folder: &RunDir) -> Vec<String> {
        let settings = self.settings.as_deref();
        secrets::masked_values(folder.path(), settings, &self.operator_messages, &self.changed)
    }
}

/// Returns the secrets in the settings and messages of a run. Reads the journal only if it has
/// masks.
pub(crate) fn known_to(folder: &RunDir) -> Vec<String> {
    if !secrets::has_unmasked(folder.path()) {
        return Vec::new();
    }
    let mut masked = MaskedJournalTexts::default();
    // The events before damage still count.
    match journal::walk(&folder.journal(), |record| masked.record(&record.event)) {
        Ok(_) | Err(_) => masked.secrets(folder),
    }
}

/// Returns all secrets: from the environment, from the configuration of a project and of a task,
/// and those already known.
pub(crate) fn secrets(
    project: &Path,
    task: Option<&str>,
    known: &[String],
) -> Result<Secrets, Failure> {
    // A journal may name a task that no longer exists, or an invalid one.
    let task = task.filter(|name| Task::open(project, name).is_ok());
    let layers = config::load(project, task, |name| env::var_os(name))?;
    let layers = approval::settle_settings(project, layers, UntrustedPolicy::Ignore)?;
    secrets::of_config_and(&ResolvedConfig::new(layers), known)
}
