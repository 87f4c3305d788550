//! Packs a task's folder into an archive. Links are stored as links and never followed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::Builder;

use super::{Task, TaskSize};

/// Returns the size of a task's folder; stops counting once it is too large.
pub(super) fn measure(task: &Task) -> io::Result<TaskSize> {
    let mut size = TaskSize::default();
    let mut left = vec![task.folder()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path)?;
        size.add(if metadata.is_file() { metadata.len() } else { 0 });
        if size.is_too_large() {
            break;
        }
        if metadata.is_dir() {
            let inside: io::Result<Vec<_>> =
                fs::read_dir(&path)?.take(super::MAX_ENTRIES).collect();
            left.extend(inside?.iter().map(fs::DirEntry::path));
        }
    }
    Ok(size)
}

/// Writes the archive at the file's current position.
pub(super) fn write(task: &Task, file: &mut File) -> io::Result<()> {
    let mut archive = Builder::new(GzEncoder::new(BufWriter::new(file), Compression::default()));
    archive.follow_symlinks(false);
    archive.sparse(false);
    archive.append_dir_all(task.name().as_str(), task.folder())?;
    archive.into_inner()?.finish()?.flush()
}
