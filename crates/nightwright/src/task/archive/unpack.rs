//! An archive into a folder, by rules that no archive can bend.
//!
//! The whole archive is read first and a plan made of it; nothing is written before all of it is
//! known to be good. Everything has to be in one folder whose name is one for a task; there are
//! files, folders and links and nothing else; no name comes twice, none goes up, and nothing is
//! below something that is not a folder. So no file can be written through a link, and links are
//! made last all the same. What an archive unpacks to is bounded.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::read::GzDecoder;
use tar::{Archive, Entry, EntryType};

use super::{MAX_BYTES, MAX_ENTRIES, stays_inside};
use crate::task::name::TaskName;

/// What of an archive is not the content of files: headers, names, padding.
const MAX_OVERHEAD: u64 = MAX_ENTRIES as u64 * 4096;

/// What an archive unpacks to.
#[derive(Debug)]
pub(super) struct UnpackPlan {
    /// The task.
    pub(super) name: TaskName,
    /// Everything in it, as the archive has it.
    pub(super) items: Vec<UnpackItem>,
}

/// A file, folder or link to be made.
#[derive(Debug)]
pub(super) struct UnpackItem {
    /// Where, as seen from the task's folder; empty for that folder itself.
    path: PathBuf,
    kind: UnpackItemKind,
    mode: u32,
    modified: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum UnpackItemKind {
    Folder,
    File { size: u64 },
    Link { target: PathBuf },
}

type ArchiveReader<'a> = Archive<io::Take<GzDecoder<BufReader<&'a mut File>>>>;

/// Reads all of an archive and says what it would unpack to, or what is wrong with it.
pub(super) fn plan(file: &mut File) -> Result<UnpackPlan, String> {
    let mut archive = source(file).map_err(|error| error.to_string())?;
    let mut name = None;
    let mut items: Vec<UnpackItem> = Vec::new();
    let mut kinds: HashMap<PathBuf, UnpackItemKind> = HashMap::new();
    let mut bytes = 0_u64;
    for entry in archive.entries().map_err(|error| not_an_archive(&error))? {
        let mut entry = entry.map_err(|error| not_an_archive(&error))?;
        let (task, item) = item(&entry)?;
        let name = name.get_or_insert_with(|| task.clone());
        if *name != task {
            return Err(format!("it has more than one folder: `{name}` and `{task}`"));
        }
        if let UnpackItemKind::File { size } = item.kind {
            bytes = bytes.saturating_add(size);
        }
        if bytes > MAX_BYTES || items.len() == MAX_ENTRIES {
            return Err(format!(
                "it is larger than any task: {MAX_ENTRIES} files and {} MiB at most",
                MAX_BYTES >> 20
            ));
        }
        place(&item, &mut kinds)?;
        io::copy(&mut entry, &mut io::sink()).map_err(|error| not_an_archive(&error))?;
        items.push(item);
    }
    // The checksum comes last of all.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(|error| not_an_archive(&error))?;
    let name = name.ok_or_else(|| "there is nothing in it".to_owned())?;
    Ok(UnpackPlan { name, items })
}

/// Unpacks what was planned into a folder that is there and empty.
pub(super) fn unpack(file: &mut File, plan: &UnpackPlan, folder: &Path) -> Result<(), String> {
    let mut archive = source(file).map_err(|error| error.to_string())?;
    let entries = archive.entries().map_err(|error| not_an_archive(&error))?;
    let mut links = Vec::new();
    let mut folders = Vec::new();
    for (entry, item) in entries.zip(&plan.items) {
        let mut entry = entry.map_err(|error| not_an_archive(&error))?;
        let path = folder.join(&item.path);
        let fail = |error: io::Error| format!("`{}`: {error}", item.path.display());
        if let Some(above) = path.parent().filter(|_| !item.path.as_os_str().is_empty()) {
            fs::create_dir_all(above).map_err(fail)?;
        }
        match &item.kind {
            UnpackItemKind::Folder => {
                fs::create_dir_all(&path).map_err(fail)?;
                folders.push((path, item));
            }
            UnpackItemKind::File { .. } => write_file(&path, item, &mut entry).map_err(fail)?,
            UnpackItemKind::Link { target } => links.push((path, item, target)),
        }
    }
    for (path, item, target) in links {
        std::os::unix::fs::symlink(target, &path)
            .map_err(|error| format!("`{}`: {error}", item.path.display()))?;
    }
    // The innermost first: what is in a folder that can't be written is there before its rights.
    for (path, item) in folders.into_iter().rev() {
        let fail = |error: io::Error| format!("`{}`: {error}", item.path.display());
        File::open(&path).and_then(|folder| folder.sync_all()).map_err(fail)?;
        // Ours has to stay one that we can move into its place.
        let mode = if item.path.as_os_str().is_empty() { item.mode | 0o700 } else { item.mode };
        fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(fail)?;
    }
    Ok(())
}

fn source(file: &mut File) -> io::Result<ArchiveReader<'_>> {
    file.seek(SeekFrom::Start(0))?;
    let unpacked = GzDecoder::new(BufReader::new(file));
    Ok(Archive::new(unpacked.take(MAX_BYTES + MAX_OVERHEAD)))
}

fn write_file(path: &Path, item: &UnpackItem, content: &mut impl Read) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    io::copy(content, &mut file)?;
    file.set_permissions(Permissions::from_mode(item.mode))?;
    if let Some(modified) = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(item.modified)) {
        file.set_modified(modified)?;
    }
    file.sync_all()
}

/// What an entry is, and which task's.
fn item(entry: &Entry<'_, impl Read>) -> Result<(TaskName, UnpackItem), String> {
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
    let header = entry.header();
    let kind = match header.entry_type() {
        EntryType::Directory => UnpackItemKind::Folder,
        EntryType::Regular => UnpackItemKind::File { size: entry.size() },
        EntryType::Symlink => UnpackItemKind::Link { target: target(entry, &path)? },
        _ => return Err(format!("`{shown}` is neither a file nor a folder nor a link")),
    };
    let mode = header.mode().map_err(|error| not_an_archive(&error))? & 0o777;
    let modified = header.mtime().map_err(|error| not_an_archive(&error))?;
    let path = path.iter().skip(1).collect();
    Ok((name, UnpackItem { path, kind, mode, modified }))
}

fn target(entry: &Entry<'_, impl Read>, path: &Path) -> Result<PathBuf, String> {
    let bytes = entry.link_name_bytes().unwrap_or_default();
    let target = Path::new(OsStr::from_bytes(&bytes)).to_owned();
    if stays_inside(path, &target) {
        return Ok(target);
    }
    let (link, target) = (path.display(), target.display());
    Err(format!("`{link}` is a link that leads out of the task, to `{target}`"))
}

/// Takes a name in the plan, unless it is taken or below something that is not a folder.
fn place(item: &UnpackItem, kinds: &mut HashMap<PathBuf, UnpackItemKind>) -> Result<(), String> {
    let shown = item.path.display();
    if item.path.as_os_str().is_empty() && item.kind != UnpackItemKind::Folder {
        return Err("the task itself is not a folder".to_owned());
    }
    for above in item.path.ancestors().skip(1) {
        let kind = kinds.entry(above.to_owned()).or_insert(UnpackItemKind::Folder);
        if *kind != UnpackItemKind::Folder {
            return Err(format!("`{shown}` is below `{}`, which is no folder", above.display()));
        }
    }
    match kinds.insert(item.path.clone(), item.kind.clone()) {
        // A folder may come after what is in it.
        Some(UnpackItemKind::Folder) if item.kind == UnpackItemKind::Folder => Ok(()),
        Some(_) => Err(format!("`{shown}` comes twice")),
        None => Ok(()),
    }
}

fn not_an_archive(error: &io::Error) -> String {
    format!("it can't be read as a `.tar.gz` file: {error}")
}
