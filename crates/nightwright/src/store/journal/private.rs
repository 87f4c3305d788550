//! Files and folders that only their owner can read, and that survive a crash.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::error::StoreFileError;

/// Creates a new file for its owner only; fails if it exists.
pub fn create_file(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Returns the options for all files of a run.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Creates a folder and all missing parents.
pub(crate) fn create_folders(path: &Path) -> Result<(), StoreFileError> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_folders(parent)?;
    }
    match create_folder(path) {
        // Another process created it first.
        Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            Ok(())
        }
        result => result,
    }
}

/// Creates one folder; fails if it exists.
pub(crate) fn create_folder(path: &Path) -> Result<(), StoreFileError> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(StoreFileError::on("create the folder", path))?;
    sync_parent(path)
}

/// Flushes the name of a new file or folder to the disk. Without this, a synced file may be missing
/// after a crash.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreFileError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    let synced = File::open(parent).and_then(|folder| folder.sync_all());
    synced.map_err(StoreFileError::on("sync the folder", parent))
}
