//! Archives tasks, one file each: `.nightwright/archive/NAME-YYYYMMDDTHHMMSS.mmmZ.tar.gz`.
//!
//! Neither direction can lose data. An archive is written to a temporary file, synced, checked with
//! the same rules as for a restore, and then renamed. Only then is the task's folder removed. A
//! restored task is unpacked next to its final path and moved there atomically.
//!
//! An archive may come from an untrusted source; see `archive/unpack.rs` for the checks.

mod pack;
mod unpack;

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::DateTime;
use nightwright_core::display::one_line;
use rustix::fs::{Mode, OFlags};

use super::{ProjectRuns, Task, TaskLock, TaskState, already_there};
use crate::config::nearest::known_names;
use crate::error::{Failure, chain};
use crate::files::{self, FileError, Removed, Staging};
use crate::name::TaskName;

/// The folder of archives, relative to the project.
pub const FOLDER: &str = ".nightwright/archive";

/// The file extension of archives.
const EXTENSION: &str = ".tar.gz";

/// The time in the name of an archive, in a sortable format; the fraction may be missing.
const TIME_WRITTEN: &str = "%Y%m%dT%H%M%S%.3fZ";
const TIME_READ: &str = "%Y%m%dT%H%M%S%.fZ";

/// Maximum total size of a task's files, and maximum number of files, folders and links.
const MAX_BYTES: u64 = 1 << 30;
const MAX_ENTRIES: usize = 100_000;

/// An archive in the project's folder of archives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskArchive {
    /// The task's name, taken from the file name.
    pub name: TaskName,
    /// The time of archiving, in a sortable format.
    pub at: String,
    /// The file name, without a folder.
    pub file: String,
}

/// The size of a task: the bytes of its files, and the number of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TaskSize {
    entries: usize,
    bytes: u64,
}

impl TaskSize {
    /// Counts a file of this size, a folder or a link.
    fn add(&mut self, bytes: u64) {
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn is_too_large(self) -> bool {
        self.entries > MAX_ENTRIES || self.bytes > MAX_BYTES
    }
}

/// A task that was just archived.
#[derive(Clone, Debug)]
pub struct ArchivedTask {
    /// The path of the archive, relative to the project.
    pub archive: PathBuf,
    /// Whether the folder was removed completely.
    pub folder: Removed,
}

/// A task that was restored from an archive.
#[derive(Clone, Debug)]
pub struct RestoredTask {
    pub task: Task,
    /// A warning for the user, if any.
    pub warning: Option<String>,
}

/// Archives a task and removes its folder. The caller must hold the task's lock.
pub fn archive_task(task: &Task, now: Timestamp) -> Result<ArchivedTask, Failure> {
    let archive = store(task, now)?;
    let folder = files::remove_folder(&task.folder()).map_err(|error| {
        Failure::because(&error).hint(format!("find a copy of the task in `{}`", archive.display()))
    })?;
    Ok(ArchivedTask { archive, folder })
}

/// Archives a task; returns the path of the archive relative to the project.
fn store(task: &Task, now: Timestamp) -> Result<PathBuf, Failure> {
    let project = task.project();
    let relative = Path::new(FOLDER);
    files::folder_inside(project, relative).map_err(|error| Failure::because(&error))?;
    let folder = project.join(relative);
    let cant = |source: io::Error| {
        Failure::because(&FileError::Write { path: folder.clone(), source })
            .and("the task is unchanged")
    };
    fs::create_dir_all(&folder).map_err(cant)?;
    let refused = |why: String| {
        let task = task.relative("");
        Failure::trouble(format!("cannot archive `{}`: {why}", task.display()))
            .and("the task is unchanged")
    };
    let size = pack::measure(task).map_err(|error| refused(error.to_string()))?;
    if size.is_too_large() {
        let most = MAX_BYTES >> 20;
        return Err(refused(format!("it has more than {MAX_ENTRIES} files or {most} MiB"))
            .hint(format!("move large files out of `{}`", task.relative("").display())));
    }
    let mut file = tempfile::Builder::new()
        .prefix(".nightwright-")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(&folder)
        .map_err(cant)?;
    pack::write(task, file.as_file_mut()).map_err(|error| refused(error.to_string()))?;
    file.as_file().sync_all().map_err(cant)?;
    let written = unpack::inspect(file.as_file_mut()).map_err(refused)?;
    if written != (task.name().clone(), size) {
        return Err(refused("it changed while nightwright archived it".to_owned()));
    }
    let name = file_name(task.name(), now);
    file.persist_noclobber(folder.join(&name)).map_err(|error| cant(error.error))?;
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(cant)?;
    Ok(relative.join(name))
}

/// Restores a task from an archive, which is kept.
pub fn restore(project: &Path, archive: &Path) -> Result<RestoredTask, Failure> {
    let refused = |why: String| {
        Failure::trouble(format!("cannot restore the archive `{}`: {why}", archive.display()))
            .and("nightwright wrote nothing")
    };
    let mut file = open(archive)?;
    let (name, _) = unpack::inspect(&mut file).map_err(refused)?;
    let task = Task::planned(project, &name);
    task.must_be_new()?;
    let _ours = TaskLock::take(project, &name)?;
    let cant = |error: FileError| {
        if error.is_taken() {
            already_there(task.name())
        } else {
            Failure::because(&error).and("nightwright restored nothing")
        }
    };
    let staging = Staging::new(&task.folder()).map_err(cant)?;
    unpack::unpack(&mut file, &staging.folder()).map_err(|error| {
        Failure::trouble(format!("cannot unpack `{}`: {}", archive.display(), chain(&error)))
            .and("nightwright restored nothing")
    })?;
    staging.commit().map_err(cant)?;
    // The task is restored even if this cannot be recorded.
    let noted = ProjectRuns::of(project).and_then(|runs| TaskState::set_apart(&task, &runs));
    let warning = noted.unwrap_or_else(|error| {
        Some(format!("cannot record the state of the task: {}", error.message))
    });
    Ok(RestoredTask { task, warning })
}

/// Finds an archive: the newest of a task, a file in the folder of archives, or any file.
pub fn find(project: &Path, reference: &str) -> Result<PathBuf, Failure> {
    let all = list(project)?;
    let folder = project.join(FOLDER);
    let named = |archived: &&TaskArchive| {
        archived.file == reference || archived.file.strip_suffix(EXTENSION) == Some(reference)
    };
    let of_task = |archived: &&TaskArchive| archived.name.as_str() == reference;
    if let Some(found) = all.iter().find(named).or(all.iter().rfind(of_task)) {
        return Ok(folder.join(&found.file));
    }
    if reference.ends_with(EXTENSION) {
        let plain = Path::new(reference).components().collect::<Vec<_>>();
        // The folder of archives has priority; otherwise the reference is a path.
        if let [Component::Normal(name)] = plain[..]
            && folder.join(name).is_file()
        {
            return Ok(folder.join(name));
        }
        if Path::new(reference).exists() {
            return Ok(PathBuf::from(reference));
        }
    }
    let shown = one_line(reference, 200);
    let mut names: Vec<_> = all.iter().map(|archived| archived.name.as_str()).collect();
    names.dedup();
    let failure = Failure::usage(format!("there is no archive of `{shown}`"));
    Err(if names.is_empty() {
        failure.and(&format!("`{FOLDER}` has no archives"))
    } else {
        failure.hint(known_names(reference, &names))
    })
}

/// Returns all archives of a project, sorted by task and age.
pub fn list(project: &Path) -> Result<Vec<TaskArchive>, Failure> {
    let relative = Path::new(FOLDER);
    if !files::folder_inside(project, relative).map_err(|error| Failure::because(&error))? {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(project.join(relative))
        .map_err(|error| Failure::trouble(format!("cannot read `{FOLDER}`: {error}")))?;
    let mut all: Vec<_> = entries.flatten().filter_map(|entry| parse(&entry.file_name())).collect();
    all.sort_by(|one, other| (&one.name, &one.at).cmp(&(&other.name, &other.at)));
    Ok(all)
}

fn file_name(name: &TaskName, now: Timestamp) -> String {
    format!("{name}-{}{EXTENSION}", now.strftime(TIME_WRITTEN))
}

/// Parses a file name from its end, because a task's name may contain anything.
fn parse(file: &OsStr) -> Option<TaskArchive> {
    let file = file.to_str()?;
    let (name, at) = file.strip_suffix(EXTENSION)?.rsplit_once('-')?;
    DateTime::strptime(TIME_READ, at).ok()?;
    let name = TaskName::parse(name).ok()?;
    Some(TaskArchive { name, at: at.to_owned(), file: file.to_owned() })
}

/// Opens an archive. A named pipe does not block.
fn open(archive: &Path) -> Result<File, Failure> {
    let fail = |source| Failure::because(&FileError::Read { path: archive.to_owned(), source });
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(archive, flags, Mode::empty());
    let file = File::from(opened.map_err(|error| fail(error.into()))?);
    if file.metadata().map_err(fail)?.is_file() {
        return Ok(file);
    }
    Err(fail(io::Error::other("it is not a regular file")))
}

/// Whether a link's target stays inside the task. The target may start with `..`, but not leave the
/// task's folder. After that it may only descend, possibly through another link that stays inside.
/// `..` after a name is refused, because its meaning depends on other links. `path` starts with the
/// task's folder.
fn stays_inside(path: &Path, target: &Path) -> bool {
    // The task's folder is the root: the depth is one less than the number of components above the
    // link.
    let mut depth = path.components().count().saturating_sub(2);
    let mut down = false;
    for component in target.components() {
        match component {
            Component::Normal(_) => down = true,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 && !down => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    !target.as_os_str().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_archive_says_what_it_is_of_and_when() {
        let now: Timestamp = "2026-11-16T07:05:09.9Z".parse().unwrap();
        for task in ["a", "migrate-api", "x-20250101T000000Z", "9", "a-2"] {
            let name = TaskName::parse(task).unwrap();
            let file = file_name(&name, now);
            let archived = parse(OsStr::new(&file)).unwrap();
            assert_eq!(archived.name, name, "{file}");
            assert_eq!(archived.at, "20261116T070509.900Z");
        }
        for other in
            ["a.tar.gz", "a-2.tar.gz", "a-20261116T070509Z.zip", "-20261116T070509Z.tar.gz"]
        {
            assert_eq!(parse(OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_link_may_lead_anywhere_in_its_task_and_nowhere_else() {
        for (link, target, inside) in [
            ("t/link", "file", true),
            ("t/a/link", "../file", true),
            ("t/a/link", "../b/./c", true),
            ("t/link", "../file", false),
            ("t/a/link", "../../file", false),
            ("t/a/link", "..", true),
            ("t/a/link", "x/../file", false),
            ("t/a/link", "x/../../../t/file", false),
            ("t/link", "/etc/passwd", false),
            ("t/link", "", false),
        ] {
            assert_eq!(stays_inside(Path::new(link), Path::new(target)), inside, "{link} {target}");
        }
    }
}
