//! The raw output of an attempt, stored byte for byte for later inspection.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::journal::create_file;

/// Larger pieces are written at once; smaller ones are buffered until the next flush.
const FLUSH_BYTES: usize = 64 << 10;

/// Writes bytes to a file until a write fails. A failure never stops a run.
#[derive(Debug)]
pub(super) struct RawOutput {
    path: PathBuf,
    file: Option<File>,
    /// Bytes that are not written yet.
    gathered: Vec<u8>,
    trouble: Option<io::Error>,
    /// Shared by all attempts of a run: one warning per run is enough.
    warned: Arc<AtomicBool>,
}

impl RawOutput {
    pub(super) fn open(path: &Path, warned: Arc<AtomicBool>) -> Self {
        let (file, trouble) = match create(path) {
            Ok(file) => (Some(file), None),
            Err(error) => (None, Some(error)),
        };
        Self { path: path.to_owned(), file, gathered: Vec::new(), trouble, warned }
    }

    /// Appends bytes; short pieces are buffered until [`RawOutput::flush`].
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if self.gathered.len() + bytes.len() > FLUSH_BYTES {
            self.flush();
        }
        if bytes.len() > FLUSH_BYTES {
            self.write(bytes);
        } else {
            self.gathered.extend_from_slice(bytes);
        }
    }

    /// Writes the buffered bytes.
    pub(super) fn flush(&mut self) {
        let mut gathered = std::mem::take(&mut self.gathered);
        if !gathered.is_empty() {
            self.write(&gathered);
        }
        // The buffer keeps its allocation.
        gathered.clear();
        self.gathered = gathered;
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(bytes) {
            self.trouble = Some(error);
            self.file = None;
        }
    }

    /// Returns the warning to show, unless it was already shown.
    pub(super) fn complaint(&mut self) -> Option<String> {
        let error = self.trouble.take()?;
        let first = !self.warned.swap(true, Ordering::Relaxed);
        first.then(|| {
            format!("cannot write the agent's raw output to `{}`: {error}", self.path.display())
        })
    }
}

/// Creates a new file. It never writes to an existing file, pipe or link at this path, and never
/// follows a link in place of the folder.
fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if !folder.symlink_metadata()?.is_dir() {
            return Err(io::Error::other("its folder is a link"));
        }
    }
    create_file(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn kept(path: &Path) -> Option<String> {
        let mut raw = RawOutput::open(path, Arc::default());
        raw.append(b"what the agent said");
        raw.flush();
        raw.complaint()
    }

    #[test]
    fn an_existing_file_in_its_place_is_not_written_to() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("target");
        let output = place.path().join("output");
        fs::create_dir(&output).unwrap();
        fs::write(&target, "before").unwrap();
        symlink(&target, output.join("link.ndjson")).unwrap();
        symlink(place.path().join("new"), output.join("dangling.ndjson")).unwrap();
        fs::hard_link(&target, output.join("same.ndjson")).unwrap();
        for name in ["link", "dangling", "same"] {
            let error = kept(&output.join(format!("{name}.ndjson"))).unwrap();
            assert!(error.contains("File exists"), "{name}: {error}");
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "before");
        assert!(!place.path().join("new").exists());
        assert_eq!(kept(&output.join("free.ndjson")), None);
        assert_eq!(fs::read_to_string(output.join("free.ndjson")).unwrap(), "what the agent said");
    }

    #[test]
    fn a_link_that_stands_for_its_folder_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, place.path().join("output")).unwrap();
        let error = kept(&place.path().join("output/001-1.ndjson")).unwrap();
        assert!(error.ends_with("its folder is a link"), "{error}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
