//! What is secret where something is looked at and not run: what git and the files of a task say has
//! not gone through the masks of a run.

use std::env;
use std::path::Path;

use nightwright_core::event::{
    AttemptEvent, Event, FeedbackSource, NoteEvent, OperatorEvent, RunEvent,
};
use nightwright_core::redact::{Secrets, has_masks};
use nightwright_core::settings::{SettingChange, Settings};

use crate::config::{self, ResolvedConfig};
use crate::error::Failure;
use crate::secrets;
use crate::store::journal::{self, RunDir};
use crate::task::Task;

/// What in a journal has masks in it: what these stand for is secret still, though no variable may
/// say so any more.
#[derive(Debug, Default)]
pub(super) struct MaskedJournalTexts {
    settings: Option<Box<Settings>>,
    operator_messages: Vec<String>,
    changed: Vec<SettingChange>,
}

impl MaskedJournalTexts {
    /// Takes an event into account.
    pub(super) fn record(&mut self, event: &Event) {
        if let Event::Run(RunEvent::Started(started)) = event
            && started.settings.masked
        {
            self.settings = Some(Box::new(started.settings.clone()));
        } else if let Event::Note(NoteEvent::FeedbackAdded { source: FeedbackSource::Human, text })
        | Event::Attempt(AttemptEvent::NudgeSent { answers: None, text, .. }) = event
            && has_masks(text)
        {
            self.operator_messages.push(text.clone());
        } else if let Event::Operator(OperatorEvent::SettingsChanged { change, .. }) = event
            && has_masks(change)
        {
            self.changed.push(change.clone());
        }
    }

    /// What the masks stand for, as far as it was kept.
    pub(super) fn secrets(&self, folder: &RunDir) -> Vec<String> {
        let settings = self.settings.as_deref();
        secrets::masked_values(folder.path(), settings, &self.operator_messages, &self.changed)
    }
}

/// What a run knew to be secret from what it was told. One that was told no secret is not read.
pub(super) fn known_to(folder: &RunDir) -> Vec<String> {
    if !secrets::has_unmasked(folder.path()) {
        return Vec::new();
    }
    let mut masked = MaskedJournalTexts::default();
    // What stands before damage is as secret as ever.
    match journal::walk(&folder.journal(), |record| masked.record(&record.event)) {
        Ok(_) | Err(_) => masked.secrets(folder),
    }
}

/// What is secret by our environment, by the configuration of a project and of a task in it, and by
/// what is known from elsewhere.
pub(super) fn secrets(
    project: &Path,
    task: Option<&str>,
    known: &[String],
) -> Result<Secrets, Failure> {
    // A journal may name a task that is not there any more, or never could be.
    let task = task.filter(|name| Task::open(project, name).is_ok());
    let layers = config::load(project, task, |name| env::var_os(name))?;
    secrets::of_config_and(&ResolvedConfig::new(layers), known)
}
