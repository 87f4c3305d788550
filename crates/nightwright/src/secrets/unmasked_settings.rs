//! What a run was told, as it was: its journal has masks in its place.
//!
//! Only a run that was told a secret has this file: in its goal, say, or by somebody who spoke to
//! its agent. It is for going on with the run, which needs the true words, and only its owner can
//! read it. What is in it stays there for as long as the run: it also says what was secret, to
//! whoever goes on with the run and has no longer the variable that did.

use std::fs;
use std::io;
use std::path::Path;

use nightwright_core::redact::{agrees, masked_in};
use nightwright_core::settings::{SettingChange, Settings};
use serde::{Deserialize, Serialize};

use crate::files::{FileError, replace_private};

/// The name of the file in the folder of the run.
const FILE: &str = "told.json";

/// What is in the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UnmaskedRecord {
    /// What the run was told when it began.
    settings: Option<Box<Settings>>,
    /// What people said to its agent, in that order.
    operator_messages: Vec<String>,
    /// Settings that the operator changed later, in that order.
    changed: Vec<SettingChange>,
}

/// What there is of the true words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnmaskedSettings {
    /// The journal has them: nothing was masked.
    InJournal,
    /// These.
    Apart(Box<Settings>),
    /// None, though something was masked; why.
    Lost(String),
}

/// Keeps what a run is told when it begins, and waits until it is on the disk.
pub fn save_settings(run_folder: &Path, settings: &Settings) -> Result<(), FileError> {
    write(
        run_folder,
        &UnmaskedRecord { settings: Some(Box::new(settings.clone())), ..UnmaskedRecord::default() },
    )
}

/// Keeps what somebody says to the agent of a run, and waits until it is on the disk.
pub fn save_operator_message(run_folder: &Path, text: &str) -> Result<(), FileError> {
    add(run_folder, |told| told.operator_messages.push(text.to_owned()))
}

/// Keeps settings that the operator changes, and waits until they are on the disk.
pub fn save_change(run_folder: &Path, changes: &[SettingChange]) -> Result<(), FileError> {
    add(run_folder, |told| told.changed.extend_from_slice(changes))
}

fn add(run_folder: &Path, put: impl FnOnce(&mut UnmaskedRecord)) -> Result<(), FileError> {
    let mut told = match read(run_folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => UnmaskedRecord::default(),
        Err(source) => return Err(FileError::Read { path: run_folder.join(FILE), source }),
        Ok(told) => told,
    };
    put(&mut told);
    write(run_folder, &told)
}

/// What a run was told when it began, given what its journal says.
pub fn unmasked_settings(run_folder: &Path, masked: &Settings) -> UnmaskedSettings {
    let path = run_folder.join(FILE);
    let lost = |why: &str| {
        if masked.masked {
            UnmaskedSettings::Lost(format!("`{}` {why}", path.display()))
        } else {
            UnmaskedSettings::InJournal
        }
    };
    match read(run_folder) {
        Ok(UnmaskedRecord { settings: Some(settings), .. }) if agrees(masked, &settings) => {
            UnmaskedSettings::Apart(settings)
        }
        Ok(UnmaskedRecord { settings: Some(_), .. }) => {
            UnmaskedSettings::Lost(format!("`{}` is not what the journal says", path.display()))
        }
        Ok(UnmaskedRecord { settings: None, .. }) => lost("has nothing of it"),
        Err(error) => lost(&format!("can't be read: {error}")),
    }
}

/// What people said to the agent of a run, as far as it was kept.
pub fn operator_messages(run_folder: &Path) -> Vec<String> {
    // What is missing is told by what the journal has masks for.
    read(run_folder).unwrap_or_default().operator_messages
}

/// The settings that the operator changed later, as far as they were kept.
pub fn changed(run_folder: &Path) -> Vec<SettingChange> {
    // What is missing is told by what the journal has masks for.
    read(run_folder).unwrap_or_default().changed
}

/// Whether a run was told a secret.
pub fn has_unmasked(run_folder: &Path) -> bool {
    run_folder.join(FILE).exists()
}

/// What the masks stand for in what the journal of a run says that it was told, when it began and
/// by people on the way, as far as it was kept.
pub fn masked_values(
    run_folder: &Path,
    settings: Option<&Settings>,
    texts: &[String],
    changes: &[SettingChange],
) -> Vec<String> {
    // What is missing can't be looked for.
    let kept = read(run_folder).unwrap_or_default();
    let mut found = match (settings, &kept.settings) {
        (Some(masked), Some(told)) if agrees(masked, told) => masked_in(masked, told),
        (Some(_) | None, _) => Vec::new(),
    };
    for text in texts {
        let same = kept.operator_messages.iter().filter(|said| agrees(text, said));
        found.extend(same.flat_map(|said| masked_in(text, said)));
    }
    for change in changes {
        let same = kept.changed.iter().filter(|kept| agrees(change, kept));
        found.extend(same.flat_map(|kept| masked_in(change, kept)));
    }
    found
}

fn read(run_folder: &Path) -> io::Result<UnmaskedRecord> {
    let bytes = fs::read(run_folder.join(FILE))?;
    // Before anything else was kept, the settings were all that was in it.
    serde_json::from_slice(&bytes).or_else(|error| match serde_json::from_slice(&bytes) {
        Ok(settings) => {
            Ok(UnmaskedRecord { settings: Some(settings), ..UnmaskedRecord::default() })
        }
        Err(_) => Err(error.into()),
    })
}

fn write(run_folder: &Path, told: &UnmaskedRecord) -> Result<(), FileError> {
    let path = run_folder.join(FILE);
    let bytes = serde_json::to_vec_pretty(told);
    let fail = |error| FileError::Write { path: path.clone(), source: io::Error::other(error) };
    replace_private(&path, &bytes.map_err(fail)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn settings(goal: &str) -> Settings {
        Settings { goal: goal.to_owned(), masked: true, ..Settings::default() }
    }

    #[test]
    fn what_was_told_comes_back_if_it_agrees_with_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let UnmaskedSettings::Lost(why) =
            unmasked_settings(folder.path(), &settings("use ********** now"))
        else {
            panic!("nothing is there")
        };
        assert!(why.contains("told.json"), "{why}");
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
    fn what_people_say_is_kept_beside_what_the_run_was_told_and_nobody_else_can_read_it() {
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
        let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_with_nothing_but_settings_is_read_and_one_that_is_damaged_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
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
