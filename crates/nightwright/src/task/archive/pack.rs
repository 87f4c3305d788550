//! Packs a task's folder into an archive. Links are stored as links and never followed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::Builder;

use super::{Task, TaskSize};
use crate::files;

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
    let mut left = vec![(task.folder(), PathBuf::from(task.name().as_str()))];
    while let Some((path, name)) = left.pop() {
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_file() {
            // By now the path may lead to a link or a pipe, which must not be followed or waited for.
            let mut file = files::open_regular(&path)?;
            archive.append_file(&name, &mut file)?;
        } else {
            archive.append_path_with_name(&path, &name)?;
        }
        if metadata.is_dir() {
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                left.push((entry.path(), name.join(entry.file_name())));
            }
        }
    }
    archive.into_inner()?.finish()?.flush()
}
