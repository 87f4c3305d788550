//! Programs that the tests use in an exact version: installed once, outside of the tree, and kept.
//!
//! Each program has a folder in `nightwright-tests` in the user's cache folder. It is installed
//! into a temporary folder next to it first, so that an interrupted installation never looks
//! complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const FOLDER: &str = "nightwright-tests";

/// Returns the folder for all programs.
pub(crate) fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    let cache = variable("XDG_CACHE_HOME").filter(|cache| !cache.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
    let cache = cache.ok_or("there is no home folder, and so no cache folder")?;
    Ok(cache.join(FOLDER))
}

/// Installs into `folder` unless `check` accepts the present installation.
pub(crate) fn ensure(
    folder: &Path,
    check: impl Fn(&Path) -> Result<(), String>,
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    if check(folder).is_ok() {
        return Ok(());
    }
    let cannot = |what: &Path, error| format!("cannot use `{}`: {error}", what.display());
    let parent = folder.parent().ok_or("the folder to install into has no parent")?;
    fs::create_dir_all(parent).map_err(|error| cannot(parent, error))?;
    // Another test command on this machine may be installing the same program.
    let lock = parent.join(".lock");
    let guard = File::create(&lock).map_err(|error| cannot(&lock, error))?;
    guard.lock().map_err(|error| cannot(&lock, error))?;
    if check(folder).is_ok() {
        return Ok(());
    }
    let mut name = folder.file_name().ok_or("the folder to install into has no name")?.to_owned();
    name.push(".installing");
    let aside = parent.join(name);
    remove(&aside)?;
    fs::create_dir_all(&aside).map_err(|error| cannot(&aside, error))?;
    install(&aside)?;
    check(&aside)?;
    remove(folder)?;
    fs::rename(&aside, folder).map_err(|error| cannot(folder, error))
}

pub(crate) fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove `{}`: {error}", folder.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(set: &[(&str, &str)]) -> Result<PathBuf, String> {
        folder(|name| set.iter().find(|(there, _)| *there == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_folder_is_in_the_users_cache() {
        let home = ("HOME", "/h");
        let below_home = PathBuf::from("/h/.cache/nightwright-tests");
        assert_eq!(found(&[home]), Ok(below_home.clone()));
        assert_eq!(found(&[home, ("XDG_CACHE_HOME", "")]), Ok(below_home));
        let own = PathBuf::from("/c/nightwright-tests");
        assert_eq!(found(&[home, ("XDG_CACHE_HOME", "/c")]), Ok(own));
        assert!(found(&[]).is_err());
    }

    #[test]
    fn a_failed_installation_leaves_nothing_that_counts_and_a_good_one_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("tool-1");
        let check = |folder: &Path| {
            folder.join("whole").is_file().then_some(()).ok_or_else(|| "incomplete".to_owned())
        };
        let failed = ensure(&folder, check, |_| Err("no network".to_owned()));
        let half = ensure(&folder, check, |_| Ok(()));
        let exists = folder.exists();
        let write = |aside: &Path| fs::write(aside.join("whole"), "").map_err(|e| e.to_string());
        let good = ensure(&folder, check, write);
        let kept = ensure(&folder, check, |_| Err("installed twice".to_owned()));
        assert_eq!(failed, Err("no network".to_owned()));
        assert_eq!(half, Err("incomplete".to_owned()));
        assert!(!exists);
        assert_eq!((good, kept), (Ok(()), Ok(())));
    }
}
