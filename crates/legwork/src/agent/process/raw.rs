//! The raw output of an attempt, byte for byte, for whoever wants to know later.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;

/// Keeps bytes in a file as long as that works. It never stops a run.
#[derive(Debug)]
pub(super) struct Raw {
    path: PathBuf,
    file: Option<File>,
    trouble: Option<io::Error>,
    /// Shared by all attempts of a run: one word about it is enough.
    told: Arc<AtomicBool>,
}

impl Raw {
    pub(super) fn open(path: &Path, told: Arc<AtomicBool>) -> Self {
        let (file, trouble) = match create(path) {
            Ok(file) => (Some(file), None),
            Err(error) => (None, Some(error)),
        };
        Self { path: path.to_owned(), file, trouble, told }
    }

    /// Appends, in one write.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(bytes) {
            self.trouble = Some(error);
            self.file = None;
        }
    }

    /// What to tell people, if anything and if nobody has yet.
    pub(super) fn complaint(&mut self) -> Option<String> {
        let error = self.trouble.take()?;
        let first = !self.told.swap(true, Ordering::Relaxed);
        first.then(|| {
            format!(
                "the agent's raw output is not kept: can't write `{}`: {error}",
                self.path.display()
            )
        })
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // Not blocking: a pipe that somebody put in its place would be waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(flags);
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    Ok(file)
}
