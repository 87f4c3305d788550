//! Messages of the operator to the agent: an observer of the inputs keeps the unmasked text if the
//! journal masks it.

use std::path::Path;

use nightwright_core::event::{Event, FeedbackSource, NoteEvent};
use nightwright_core::input::{Control, Input};
use nightwright_core::redact::{Secrets, has_masks};

use crate::error::Failure;
use crate::runtime::supervisor::{InputObserver, SideInputs};
use crate::secrets::save_operator_message;

/// Returns a function that receives each message before it is decided on, and so before it is
/// recorded.
pub(super) fn unmasked_recorder(
    run_folder: &Path,
    secrets: &Secrets,
    notes: SideInputs,
) -> InputObserver {
    let (folder, secrets) = (run_folder.to_owned(), secrets.clone());
    Box::new(move |input| {
        let Input::Control(Control::Tell { text }) = input else { return };
        let (source, words) = (FeedbackSource::Human, text.clone());
        let masked =
            secrets.mask_event(&Event::Note(NoteEvent::FeedbackAdded { source, text: words }));
        // Literal asterisks in a message must not be taken for a mask later.
        if masked.is_none() && !has_masks(text) {
            return;
        }
        if let Err(error) = save_operator_message(&folder, text) {
            let why = Failure::because(&error).message;
            notes.warn(format!(
                "cannot save a message that contains a secret: {why}. If you resume the run before \
                 the agent receives the message, nightwright masks the secret in it"
            ));
        }
    })
}
