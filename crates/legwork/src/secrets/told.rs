//! What a run was told, as it was: its journal has masks in its place.
//!
//! Only a run that was told a secret has this file. It is for going on with the run, which needs
//! the true words, and only its owner can read it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use legwork_core::redact::{agrees, has_masks};
use legwork_core::settings::Settings;

use crate::journal::create_file;

/// The name of the file in the folder of the run.
const FILE: &str = "told.json";

/// What there is of the true words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The journal has them: nothing was masked.
    InJournal,
    /// These.
    Apart(Box<Settings>),
    /// None, though something was masked; why.
    Lost(String),
}

/// Keeps what a run is told, and waits until it is on the disk.
pub fn keep_told(run_folder: &Path, settings: &Settings) -> io::Result<()> {
    let mut file = create_file(&run_folder.join(FILE))?;
    file.write_all(&serde_json::to_vec_pretty(settings).map_err(io::Error::other)?)?;
    file.sync_all()?;
    fs::File::open(run_folder)?.sync_all()
}

/// What a run was told, given what its journal says.
pub fn told(run_folder: &Path, masked: &Settings) -> Kept {
    let path = run_folder.join(FILE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(_) if !has_masks(masked) => return Kept::InJournal,
        Err(error) => return Kept::Lost(format!("can't read `{}`: {error}", path.display())),
    };
    match serde_json::from_slice::<Settings>(&bytes) {
        Ok(settings) if agrees(masked, &settings) => Kept::Apart(Box::new(settings)),
        Ok(_) => Kept::Lost(format!("`{}` is not what the journal says", path.display())),
        Err(error) => Kept::Lost(format!("`{}` can't be read: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(goal: &str) -> Settings {
        Settings { goal: goal.to_owned(), ..Settings::default() }
    }

    #[test]
    fn what_was_told_comes_back_if_it_agrees_with_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(told(folder.path(), &settings("plain")), Kept::InJournal);
        let Kept::Lost(why) = told(folder.path(), &settings("use ********** now")) else {
            panic!("nothing is there")
        };
        assert!(why.contains("told.json"), "{why}");
        keep_told(folder.path(), &settings("use 0123456789 now")).unwrap();
        let kept = told(folder.path(), &settings("use ********** now"));
        assert_eq!(kept, Kept::Apart(Box::new(settings("use 0123456789 now"))));
        assert!(matches!(told(folder.path(), &settings("use ********** then")), Kept::Lost(_)));
    }
}
