//! A folder into an archive: every file, folder and link in it, in the order of their names.
//! Links are kept as links; nothing behind them is looked at.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{Mode, OFlags};
use tar::{Builder, EntryType, Header};

use super::{MAX_BYTES, MAX_ENTRIES, Task, stays_inside};
use crate::error::Failure;
use crate::files::FileError;

/// Something to be archived.
#[derive(Debug)]
pub(super) struct PackItem {
    /// Where it is.
    path: PathBuf,
    /// Its name in the archive, which begins with the task's.
    name: PathBuf,
    kind: PackItemKind,
    mode: u32,
    modified: u64,
}

#[derive(Debug)]
enum PackItemKind {
    Folder,
    File { size: u64 },
    Link { target: PathBuf },
}

/// Everything in a task's folder: folders before what is in them, else by name.
pub(super) fn walk(task: &Task) -> Result<Vec<PackItem>, Failure> {
    let root = item(task.folder(), PathBuf::from(task.name().as_str()))?;
    let mut items = Vec::new();
    let mut bytes = 0_u64;
    let mut left = vec![root];
    while let Some(next) = left.pop() {
        match &next.kind {
            PackItemKind::Folder => {
                let mut inside = children(&next)?;
                // Taken from the end: the first by name has to be the last.
                inside.sort_by(|one, other| other.name.cmp(&one.name));
                left.extend(inside);
            }
            PackItemKind::File { size } => bytes = bytes.saturating_add(*size),
            PackItemKind::Link { .. } => {}
        }
        items.push(next);
        if items.len() + left.len() > MAX_ENTRIES || bytes > MAX_BYTES {
            return Err(Failure::trouble(format!(
                "the task `{}` is too large for an archive: it may have {MAX_ENTRIES} files and \
                 {} MiB",
                task.name(),
                MAX_BYTES >> 20
            ))
            .hint(format!("move what is large out of `{}`", task.relative("").display())));
        }
    }
    Ok(items)
}

/// Writes the archive, which begins where the file is now.
pub(super) fn write(items: &[PackItem], file: &mut File) -> Result<(), Failure> {
    let cant = |error: io::Error| Failure::trouble(format!("can't write the archive: {error}"));
    let mut archive = Builder::new(GzEncoder::new(BufWriter::new(file), Compression::default()));
    for item in items {
        let mut header = Header::new_gnu();
        header.set_mode(item.mode);
        header.set_mtime(item.modified);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        match &item.kind {
            PackItemKind::Folder => {
                header.set_entry_type(EntryType::Directory);
                archive.append_data(&mut header, &item.name, io::empty()).map_err(cant)?;
            }
            PackItemKind::Link { target } => {
                header.set_entry_type(EntryType::Symlink);
                archive.append_link(&mut header, &item.name, target).map_err(cant)?;
            }
            PackItemKind::File { size } => {
                header.set_entry_type(EntryType::Regular);
                header.set_size(*size);
                let mut content = SizedFile { file: open(&item.path)?, left: *size };
                archive.append_data(&mut header, &item.name, &mut content).map_err(cant)?;
                if content.left > 0 || content.has_more().map_err(cant)? {
                    let path = item.path.display();
                    return Err(Failure::trouble(format!(
                        "`{path}` changed while it was archived"
                    )));
                }
            }
        }
    }
    let compressed = archive.into_inner().map_err(cant)?;
    let written = compressed.finish().map_err(cant)?;
    written.into_inner().map_err(|error| cant(error.into_error()))?;
    Ok(())
}

/// A file, up to the size that the archive says it has.
struct SizedFile {
    file: File,
    left: u64,
}

impl SizedFile {
    fn has_more(&mut self) -> io::Result<bool> {
        Ok(self.file.read(&mut [0])? > 0)
    }
}

impl Read for SizedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (&mut self.file).take(self.left).read(buffer)?;
        self.left -= count as u64;
        Ok(count)
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    // What was a plain file a moment ago may be a link or a pipe by now.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|error| cant_read(path, error.into()))
}

fn children(folder: &PackItem) -> Result<Vec<PackItem>, Failure> {
    let mut inside = Vec::new();
    for entry in fs::read_dir(&folder.path).map_err(|error| cant_read(&folder.path, error))? {
        let entry = entry.map_err(|error| cant_read(&folder.path, error))?;
        inside.push(item(entry.path(), folder.name.join(entry.file_name()))?);
        if inside.len() > MAX_ENTRIES {
            break;
        }
    }
    Ok(inside)
}

fn item(path: PathBuf, name: PathBuf) -> Result<PackItem, Failure> {
    let metadata = fs::symlink_metadata(&path).map_err(|error| cant_read(&path, error))?;
    let kind = metadata.file_type();
    let kind = if kind.is_dir() {
        PackItemKind::Folder
    } else if kind.is_file() {
        PackItemKind::File { size: metadata.len() }
    } else if kind.is_symlink() {
        let target = fs::read_link(&path).map_err(|error| cant_read(&path, error))?;
        if !stays_inside(&name, &target) {
            return Err(Failure::trouble(format!(
                "`{}` is a link that leads out of the task, to `{}`: it could not be restored",
                path.display(),
                target.display()
            ))
            .hint("the task is untouched; remove the link, or put what it leads to in its place"));
        }
        PackItemKind::Link { target }
    } else {
        return Err(Failure::trouble(format!(
            "`{}` is neither a file nor a folder nor a link, and can't be archived",
            path.display()
        ))
        .hint("the task is untouched; remove it and try again"));
    };
    let mode = metadata.mode() & 0o777;
    let modified = u64::try_from(metadata.mtime()).unwrap_or(0);
    Ok(PackItem { path, name, kind, mode, modified })
}

fn cant_read(path: &Path, source: io::Error) -> Failure {
    Failure::because(&FileError::Read { path: path.to_owned(), source })
        .hint("the task is untouched")
}
