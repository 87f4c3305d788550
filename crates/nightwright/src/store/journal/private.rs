//! Files and folders that only their owner can read, and that are still there after a crash.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::error::StoreFileError;

/// Creates a new file for its owner only; an error if there is one.
pub fn create_file(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// How every file of a run is made.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Creates a folder and all that is missing above it.
pub(crate) fn create_folders(path: &Path) -> Result<(), StoreFileError> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_folders(parent)?;
    }
    match create_folder(path) {
        // Another process was faster.
        Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            Ok(())
        }
        result => result,
    }
}

/// Creates one folder; an error if there is one.
pub(crate) fn create_folder(path: &Path) -> Result<(), StoreFileError> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(StoreFileError::on("create the folder", path))?;
    sync_parent(path)
}

/// Gets the name of a new file or folder onto the disk: a file may be synced and still not be
/// found after a crash, because its name was not.
pub(super) fn sync_parent(path: &Path) -> Result<(), StoreFileError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    let synced = File::open(parent).and_then(|folder| folder.sync_all());
    synced.map_err(StoreFileError::on("sync the folder", parent))
}
