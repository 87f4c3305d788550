//! The true words of a run whose journal has masks in their place.

use nightwright_core::event::{
    AttemptEvent, Event, FeedbackSource, NoteEvent, OperatorEvent, Record, RunEvent,
};
use nightwright_core::machine::ledger::State;
use nightwright_core::redact::{agrees, has_masks, masked_in};

use crate::commands::context::eprint_safe;
use crate::secrets::{self, UnmaskedSettings};
use crate::store::journal::RunDir;

/// What came of putting the true words in the place of masks.
#[derive(Debug, Default)]
pub(super) struct UnmaskedRecords {
    /// What the masks stood for. It is secret still, though nobody may know it from elsewhere now.
    pub(super) secret: Vec<String>,
    /// What somebody said of which only the masks are left.
    lost: Vec<String>,
}

impl UnmaskedRecords {
    /// Says that the agent will be told masks, if it will.
    pub(super) fn warn(&self, state: &State) {
        if state.inbox.iter().any(|entry| self.lost.contains(&entry.text)) {
            eprint_safe(
                "warning: a message to the agent contained secrets, and only their masks \
                 are left; the agent gets those: say it again with `nightwright tell`",
            );
        }
    }
}

/// Puts what the run was told in the place of what the journal has of it, which may have masks.
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
            "warning: the settings of this run contained secrets, and only their masks are left; \
             the agent gets those: {why}"
        )),
    }
    recall_changes(later, folder, &mut recalled);
    let mut said = secrets::operator_messages(folder.path());
    for text in later.iter_mut().filter_map(|record| operator_message(&mut record.event)) {
        let same = |kept: &String| agrees(text, kept);
        let found = said.iter().position(|kept| kept.len() == text.len() && same(kept));
        match found.or_else(|| said.iter().position(same)) {
            Some(at) => {
                let spec = said.remove(at);
                recalled.secret.extend(masked_in(text, &spec));
                *text = spec;
            }
            None if has_masks(text) => recalled.lost.push(text.clone()),
            None => {}
        }
    }
    recalled
}

/// Puts the settings that the operator changed in the place of what the journal has of them.
fn recall_changes(records: &mut [Record], folder: &RunDir, recalled: &mut UnmaskedRecords) {
    let mut kept = secrets::changed(folder.path());
    for record in records {
        let Event::Operator(OperatorEvent::SettingsChanged { change, .. }) = &mut record.event
        else {
            continue;
        };
        if let Some(at) = kept.iter().position(|kept| agrees(change, kept)) {
            let spec = kept.remove(at);
            recalled.secret.extend(masked_in(change, &spec));
            *change = spec;
        } else if has_masks(change) {
            eprint_safe(&format!(
                "warning: `{}` had a secret in it, and only its mask is left; set it again with \
                 an option of `nightwright resume`",
                change.key()
            ));
        }
    }
}

/// What somebody said to the agent, if that is what happened.
fn operator_message(event: &mut Event) -> Option<&mut String> {
    if let Event::Note(NoteEvent::FeedbackAdded { source: FeedbackSource::Human, text })
    | Event::Attempt(AttemptEvent::NudgeSent { answers: None, text, .. }) = event
    {
        Some(text)
    } else {
        None
    }
}
