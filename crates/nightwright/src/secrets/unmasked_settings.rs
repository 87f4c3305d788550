//! The original settings and messages of a run whose journal contains masks in their place.
//!
//! Only a run that received a secret has this file, for example in its goal or in a message to its
//! agent. Resuming the run needs the original text. Only the owner can read the file.
//!
//! The file is kept as long as the run. It also identifies the secrets when the run is resumed
//! without the variables that contained them.

use std::io;
use std::path::Path;

use nightwright_core::redact::{agrees, masked_in};
use nightwright_core::settings::{SettingChange, Settings};
use serde::{Deserialize, Serialize};

use crate::files::{FileError, read_regular, replace_private};
use crate::store::run_dir::UNMASKED;

/// The contents of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UnmaskedRecord {
    /// The settings at the start of the run.
    settings: Option<Box<Settings>>,
    /// The operator's messages to the agent, in order.
    operator_messages: Vec<String>,
    /// Settings that the operator changed later, in order.
    changed: Vec<SettingChange>,
}

/// The place of the original settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnmaskedSettings {
    /// In the journal: nothing was masked.
    InJournal,
    /// In the separate file.
    Apart(Box<Settings>),
    /// Missing although something was masked, with the reason.
    Lost(String),
}

/// Saves the settings of a run at its start, and syncs them to the disk.
pub fn save_settings(run_folder: &Path, settings: &Settings) -> Result<(), FileError> {
    write(
        run_folder,
        &UnmaskedRecord { settings: Some(Box::new(settings.clone())), ..UnmaskedRecord::default() },
    )
}

/// Saves a message of the operator to the agent, and syncs it to the disk.
pub fn save_operator_message(run_folder: &Path, text: &str) -> Result<(), FileError> {
    add(run_folder, |record| record.operator_messages.push(text.to_owned()))
}

/// Saves settings that the operator changes, and syncs them to the disk.
pub fn save_change(run_folder: &Path, changes: &[SettingChange]) -> Result<(), FileError> {
    add(run_folder, |record| record.changed.extend_from_slice(changes))
}

fn add(run_folder: &Path, put: impl FnOnce(&mut UnmaskedRecord)) -> Result<(), FileError> {
    let mut record = match read(run_folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => UnmaskedRecord::default(),
        Err(source) => return Err(FileError::Read { path: run_folder.join(UNMASKED), source }),
        Ok(record) => record,
    };
    put(&mut record);
    write(run_folder, &record)
}

/// Returns the original settings of a run, given those in its journal.
pub fn unmasked_settings(run_folder: &Path, masked: &Settings) -> UnmaskedSettings {
    let path = run_folder.join(UNMASKED);
    let lost = |why: String| {
        if masked.masked { UnmaskedSettings::Lost(why) } else { UnmaskedSettings::InJournal }
    };
    match read(run_folder) {
        Ok(UnmaskedRecord { settings: Some(settings), .. }) if agrees(masked, &settings) => {
            UnmaskedSettings::Apart(settings)
        }
        Ok(UnmaskedRecord { settings: Some(_), .. }) => {
            UnmaskedSettings::Lost(format!("`{}` does not match the journal", path.display()))
        }
        Ok(UnmaskedRecord { settings: None, .. }) => {
            lost(format!("`{}` does not contain them", path.display()))
        }
        Err(error) => lost(format!("cannot read `{}`: {error}", path.display())),
    }
}

/// Returns the operator's messages to the agent, as far as they were saved.
pub fn operator_messages(run_folder: &Path) -> Vec<String> {
    // Missing messages are detected by their masks in the journal.
    read(run_folder).unwrap_or_default().operator_messages
}

/// Returns the settings that the operator changed later, as far as they were saved.
pub fn changed(run_folder: &Path) -> Vec<SettingChange> {
    // Missing changes are detected by their masks in the journal.
    read(run_folder).unwrap_or_default().changed
}

/// Whether a run received a secret.
pub fn has_unmasked(run_folder: &Path) -> bool {
    run_folder.join(UNMASKED).exists()
}

/// Returns the values behind the masks in the journal: in the settings, the operator's messages and
/// the changed settings. Values that were not saved are missing.
pub fn masked_values(
    run_folder: &Path,
    settings: Option<&Settings>,
    texts: &[String],
    changes: &[SettingChange],
) -> Vec<String> {
    // Values that are missing cannot be masked.
    let kept = read(run_folder).unwrap_or_default();
    let mut found = match (settings, &kept.settings) {
        (Some(masked), Some(record)) if agrees(masked, record) => masked_in(masked, record),
        (Some(_) | None, _) => Vec::new(),
    };
    for text in texts {
        let same = kept.operator_messages.iter().filter(|message| agrees(text, message));
        found.extend(same.flat_map(|message| masked_in(text, message)));
    }
    for change in changes {
        let same = kept.changed.iter().filter(|kept| agrees(change, kept));
        found.extend(same.flat_map(|kept| masked_in(change, kept)));
    }
    found
}

fn read(run_folder: &Path) -> io::Result<UnmaskedRecord> {
    let bytes = read_regular(&run_folder.join(UNMASKED))?;
    // An older format of the file contains only the settings.
    serde_json::from_slice(&bytes).or_else(|error| match serde_json::from_slice(&bytes) {
        Ok(settings) => {
            Ok(UnmaskedRecord { settings: Some(settings), ..UnmaskedRecord::default() })
        }
        Err(_) => Err(error.into()),
    })
}

fn write(run_folder: &Path, record: &UnmaskedRecord) -> Result<(), FileError> {
    let path = run_folder.join(UNMASKED);
    let bytes = serde_json::to_vec_pretty(record);
    let fail = |error| FileError::Write { path: path.clone(), source: io::Error::other(error) };
    replace_private(&path, &bytes.map_err(fail)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn settings(goal: &str) -> Settings {
        Settings { goal: goal.to_owned(), masked: true, ..Settings::default() }
    }

    #[test]
    fn unmasked_settings_are_used_only_if_they_match_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let UnmaskedSettings::Lost(why) =
            unmasked_settings(folder.path(), &settings("use ********** now"))
        else {
            panic!("nothing is there")
        };
        assert!(why.contains("unmasked.json"), "{why}");
        save_settings(folder.path(), &settings("use 0123456789 now")).unwrap();
        let kept = unmasked_settings(folder.path(), &settings("use ********** now"));
        assert_eq!(kept, UnmaskedSettings::Apart(Box::new(settings("use 0123456789 now"))));
        assert!(matches!(
            unmasked_settings(folder.path(), &settings("use ********** then")),
            UnmaskedSettings::Lost(_)
        ));
    }

    #[test]
    fn stars_are_no_mask_when_nothing_was_masked() {
        let folder = tempfile::tempdir().unwrap();
        let goal = "Show passwords as ********** in the form";
        let plain = Settings { masked: false, ..settings(goal) };
        assert_eq!(unmasked_settings(folder.path(), &plain), UnmaskedSettings::InJournal);
        assert!(matches!(
            unmasked_settings(folder.path(), &settings("clone https://me:***@host")),
            UnmaskedSettings::Lost(_)
        ));
    }

    #[test]
    fn messages_are_kept_next_to_the_settings_and_only_their_owner_can_read_them() {
        let folder = tempfile::tempdir().unwrap();
        save_operator_message(folder.path(), "one").unwrap();
        let plain = Settings { masked: false, ..settings("plain") };
        assert_eq!(unmasked_settings(folder.path(), &plain), UnmaskedSettings::InJournal);
        assert!(matches!(
            unmasked_settings(folder.path(), &settings("use ********** now")),
            UnmaskedSettings::Lost(_)
        ));
        save_settings(folder.path(), &settings("use 0123456789 now")).unwrap();
        save_operator_message(folder.path(), "two").unwrap();
        save_operator_message(folder.path(), "three").unwrap();
        assert_eq!(operator_messages(folder.path()), ["two", "three"]);
        assert!(matches!(
            unmasked_settings(folder.path(), &settings("use ********** now")),
            UnmaskedSettings::Apart(_)
        ));
        let mode = fs::metadata(folder.path().join(UNMASKED)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_with_nothing_but_settings_is_read_and_one_that_is_damaged_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(UNMASKED);
        let told_first = settings("use 0123456789 now");
        fs::write(&file, serde_json::to_vec(&told_first).unwrap()).unwrap();
        save_operator_message(folder.path(), "one").unwrap();
        let kept = unmasked_settings(folder.path(), &settings("use ********** now"));
        assert_eq!(kept, UnmaskedSettings::Apart(Box::new(told_first)));
        fs::write(&file, "{ half").unwrap();
        assert!(save_operator_message(folder.path(), "two").is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "{ half");
    }
}
