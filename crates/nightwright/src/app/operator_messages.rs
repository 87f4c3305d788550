//! What people say to the agent of a run: kept as it was where the journal will have a mask.

use std::path::Path;

use nightwright_core::event::{Event, FeedbackSource, NoteEvent};
use nightwright_core::input::{Control, Input};
use nightwright_core::redact::{Secrets, has_masks};

use crate::error::Failure;
use crate::runtime::supervisor::{InputObserver, WarningSender};
use crate::secrets::save_operator_message;

/// Hears what people say before it is decided upon, and so before the journal has it.
pub(super) fn unmasked_recorder(
    run_folder: &Path,
    secrets: &Secrets,
    notes: WarningSender,
) -> InputObserver {
    let (folder, secrets) = (run_folder.to_owned(), secrets.clone());
    Box::new(move |input| {
        let Input::Control(Control::Tell { text }) = input else { return };
        let (source, words) = (FeedbackSource::Human, text.clone());
        let masked =
            secrets.mask_event(&Event::Note(NoteEvent::FeedbackAdded { source, text: words }));
        // Stars of their own must not be taken for a mask later.
        if masked.is_none() && !has_masks(text) {
            return;
        }
        if let Err(error) = save_operator_message(&folder, text) {
            let why = Failure::because(&error).message;
            notes.warn(format!(
                "what was just said has a secret in it and cannot be kept: {why}; should the run be \
                 resumed before the agent was told, it gets a mask"
            ));
        }
    })
}
