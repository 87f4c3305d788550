//! Restores the unmasked strings of a run whose journal contains masks.

use nightwright_core::event::{
    AttemptEvent, Event, FeedbackSource, NoteEvent, OperatorEvent, Record, RunEvent,
};
use nightwright_core::machine::ledger::State;
use nightwright_core::redact::{agrees, has_masks, masked_in};

use crate::console::eprint_safe;
use crate::secrets::{self, UnmaskedSettings};
use crate::store::run_dir::RunDir;

/// The result of replacing masks with the original strings.
#[derive(Debug, Default)]
pub(super) struct UnmaskedRecords {
    /// The masked values. They are still secret, even if no variable contains them any more.
    pub(super) secret: Vec<String>,
    /// Messages of the operator whose original text is lost.
    lost: Vec<String>,
}

impl UnmaskedRecords {
    /// Warns if the agent will receive masks.
    pub(super) fn warn(&self, state: &State) {
        if state.inbox.iter().any(|entry| self.lost.contains(&entry.text)) {
            eprint_safe(
                "warning: the agent receives an earlier message with its secrets masked, because \
                 nightwright did not save the original; send it again with `nightwright tell`",
            );
        }
    }
}

/// Replaces the settings and messages in the records, which may be masked, with the original ones.
pub(super) fn restore_unmasked(records: &mut [Record], folder: &RunDir) -> UnmaskedRecords {
    let mut recalled = UnmaskedRecords::default();
    let Some((Event::Run(RunEvent::Started(started)), later)) =
        records.split_first_mut().map(|(first, later)| (&mut first.event, later))
    else {
        return recalled;
    };
    match secrets::unmasked_settings(folder.path(), &started.settings) {
        UnmaskedSettings::InJournal => {}
        UnmaskedSettings::Apart(settings) => {
            recalled.secret = masked_in(&started.settings, &settings);
            started.settings = *settings;
        }
        UnmaskedSettings::Lost(why) => eprint_safe(&format!(
            "warning: the agent receives the settings of this run with their secrets masked: {why}"
        )),
    }
    recall_changes(later, folder, &mut recalled);
    let mut messages = secrets::operator_messages(folder.path());
    for text in later.iter_mut().filter_map(|record| operator_message(&mut record.event)) {
        let same = |kept: &String| agrees(text, kept);
        let found = messages.iter().position(|kept| kept.len() == text.len() && same(kept));
        match found.or_else(|| messages.iter().position(same)) {
            Some(at) => {
                let original = messages.remove(at);
                recalled.secret.extend(masked_in(text, &original));
                *text = original;
            }
            None if has_masks(text) => recalled.lost.push(text.clone()),
            None => {}
        }
    }
    recalled
}

/// Replaces the settings that the operator changed with the original ones.
fn recall_changes(records: &mut [Record], folder: &RunDir, recalled: &mut UnmaskedRecords) {
    let mut kept = secrets::changed(folder.path());
    for record in records {
        let Event::Operator(OperatorEvent::SettingsChanged { change, .. }) = &mut record.event
        else {
            continue;
        };
        if let Some(at) = kept.iter().position(|kept| agrees(change, kept)) {
            let original = kept.remove(at);
            recalled.secret.extend(masked_in(change, &original));
            *change = original;
        } else if has_masks(change) {
            eprint_safe(&format!(
                "warning: nightwright masks the secret in `{}`, because it did not save the \
                 original; set it again with an option of `nightwright resume`",
                change.key()
            ));
        }
    }
}

/// Returns the message of the operator in an event, if any.
fn operator_message(event: &mut Event) -> Option<&mut String> {
    if let Event::Note(NoteEvent::FeedbackAdded { source: FeedbackSource::Human, text })
    | Event::Attempt(AttemptEvent::MessageSent { answers: None, text, .. }) = event
    {
        Some(text)
    } else {
        None
    }
}
