//! Unpacks an archive into a folder, after strict checks.
//!
//! The whole archive is inspected before anything is written. All entries must be in one folder
//! with a valid task name. Only files, folders and links are allowed. Names must be unique and must
//! not contain `..`, and every parent must be a folder. So no file can be written through a link.
//! The unpacked size is limited. As a second protection, `tar` itself refuses to write outside its
//! target.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive, Entry, EntryType};

use super::{MAX_BYTES, MAX_ENTRIES, TaskSize, stays_inside};
use crate::name::TaskName;

/// Maximum bytes of an archive besides file contents: headers, names and padding.
const MAX_OVERHEAD: u64 = MAX_ENTRIES as u64 * 4096;

/// A file, folder or link in an archive.
#[derive(Debug)]
struct ArchiveItem {
    /// The path relative to the task's folder; empty for that folder itself.
    path: PathBuf,
    kind: ArchiveItemKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArchiveItemKind {
    Folder,
    File,
    Link,
}

type ArchiveReader<'a> = Archive<io::Take<GzDecoder<BufReader<&'a mut File>>>>;

/// Reads a whole archive and returns the name and the size of its task. Fails with a description of
/// the problem.
pub(super) fn inspect(file: &mut File) -> Result<(TaskName, TaskSize), String> {
    let mut archive = source(file).map_err(|error| error.to_string())?;
    let mut name = None;
    let mut size = TaskSize::default();
    let mut kinds = HashMap::new();
    for entry in archive.entries().map_err(|error| not_an_archive(&error))? {
        let mut entry = entry.map_err(|error| not_an_archive(&error))?;
        let (task, item) = item(&entry)?;
        let name = name.get_or_insert_with(|| task.clone());
        if *name != task {
            return Err(format!("it has more than one folder: `{name}` and `{task}`"));
        }
        size.add(entry.size());
        if size.is_too_large() {
            return Err(format!(
                "it is larger than any task: {MAX_ENTRIES} files and {} MiB at most",
                MAX_BYTES >> 20
            ));
        }
        place(&item, &mut kinds)?;
        io::copy(&mut entry, &mut io::sink()).map_err(|error| not_an_archive(&error))?;
    }
    // The checksum is at the very end of the file.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(|error| not_an_archive(&error))?;
    let name = name.ok_or_else(|| "it is empty".to_owned())?;
    Ok((name, size))
}

/// Unpacks an inspected archive. `folder` must exist, be empty, and have the task's name.
pub(super) fn unpack(file: &mut File, folder: &Path) -> io::Result<()> {
    let mut archive = source(file)?;
    archive.set_overwrite(false);
    archive.unpack(folder.parent().unwrap_or(folder))?;
    // The folder must stay writable, so that it can be moved to its final path.
    let mode = fs::metadata(folder)?.permissions().mode() | 0o700;
    fs::set_permissions(folder, Permissions::from_mode(mode))?;
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

fn source(file: &mut File) -> io::Result<ArchiveReader<'_>> {
    file.seek(SeekFrom::Start(0))?;
    let unpacked = GzDecoder::new(BufReader::new(file));
    Ok(Archive::new(unpacked.take(MAX_BYTES + MAX_OVERHEAD)))
}

/// Returns the entry and the name of its task.
fn item(entry: &Entry<'_, impl Read>) -> Result<(TaskName, ArchiveItem), String> {
    let bytes = entry.path_bytes();
    let whole = Path::new(OsStr::from_bytes(&bytes));
    let shown = whole.display();
    let mut path = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::RootDir | Component::Prefix(_) => {
                return Err(format!("`{shown}` is an absolute path"));
            }
            Component::ParentDir => return Err(format!("`{shown}` leads out of the task")),
            Component::CurDir => {
                return Err(format!("`{shown}` does not begin with a task's name"));
            }
        }
    }
    let root = path.iter().next().and_then(OsStr::to_str);
    let name = root
        .and_then(|root| TaskName::parse(root).ok())
        .ok_or_else(|| format!("`{shown}` does not begin with a task's name"))?;
    let kind = match entry.header().entry_type() {
        EntryType::Directory => ArchiveItemKind::Folder,
        EntryType::Regular => ArchiveItemKind::File,
        EntryType::Symlink => {
            check_link(entry, &path)?;
            ArchiveItemKind::Link
        }
        _ => return Err(format!("`{shown}` is neither a file nor a folder nor a link")),
    };
    let path = path.iter().skip(1).collect();
    Ok((name, ArchiveItem { path, kind }))
}

fn check_link(entry: &Entry<'_, impl Read>, path: &Path) -> Result<(), String> {
    let bytes = entry.link_name_bytes().unwrap_or_default();
    let target = Path::new(OsStr::from_bytes(&bytes));
    if stays_inside(path, target) {
        return Ok(());
    }
    let (link, target) = (path.display(), target.display());
    Err(format!("`{link}` is a link that leads out of the task, to `{target}`"))
}

/// Records an entry. Fails if its name is taken, or a parent is not a folder.
fn place(item: &ArchiveItem, kinds: &mut HashMap<PathBuf, ArchiveItemKind>) -> Result<(), String> {
    let shown = item.path.display();
    if item.path.as_os_str().is_empty() && item.kind != ArchiveItemKind::Folder {
        return Err("the entry of the task is not a folder".to_owned());
    }
    for above in item.path.ancestors().skip(1) {
        let kind = kinds.entry(above.to_owned()).or_insert(ArchiveItemKind::Folder);
        if *kind != ArchiveItemKind::Folder {
            return Err(format!("`{shown}` is below `{}`, which is not a folder", above.display()));
        }
    }
    match kinds.insert(item.path.clone(), item.kind) {
        // A folder may come after its contents.
        Some(ArchiveItemKind::Folder) if item.kind == ArchiveItemKind::Folder => Ok(()),
        Some(_) => Err(format!("duplicate entry `{shown}`")),
        None => Ok(()),
    }
}

fn not_an_archive(error: &io::Error) -> String {
    format!("it is not a readable `.tar.gz` file: {error}")
}
