//! Tasks put away as one file each: `.nightwright/archive/NAME-YYYYMMDDTHHMMSS.mmmZ.tar.gz`.
//!
//! Nothing is lost on the way in either direction. An archive is written beside its place, synced,
//! read back by the very rules that a restoration follows, and only then named; the folder goes
//! after that. A restored task is unpacked beside its place and moved there in one stroke.
//!
//! An archive may come from anywhere, so it is believed nothing: see `archive/unpack.rs`.

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

use super::name::TaskName;
use super::{ProjectRuns, Task, TaskLock, TaskState, already_there};
use crate::config::nearest::nearest;
use crate::error::{Failure, chain};
use crate::files::{self, FileError, Removed, Staging};

/// Where archives are.
pub const FOLDER: &str = ".nightwright/archive";

/// How an archive's name ends.
const ENDING: &str = ".tar.gz";

/// The time in an archive's name, in a form that sorts; the fraction may be missing.
const TIME_WRITTEN: &str = "%Y%m%dT%H%M%S%.3fZ";
const TIME_READ: &str = "%Y%m%dT%H%M%S%.fZ";

/// The most bytes of all files of a task together, and the most files, folders and links.
const MAX_BYTES: u64 = 1 << 30;
const MAX_ENTRIES: usize = 100_000;

/// An archive that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskArchive {
    /// The task's name, by the file's.
    pub name: TaskName,
    /// When it was put away, in a form that sorts.
    pub at: String,
    /// The file's name.
    pub file: String,
}

/// How large a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TaskSize {
    entries: usize,
    bytes: u64,
}

impl TaskSize {
    /// Counts a file of so many bytes, a folder or a link.
    fn add(&mut self, bytes: u64) {
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn is_too_large(self) -> bool {
        self.entries > MAX_ENTRIES || self.bytes > MAX_BYTES
    }
}

/// A task that was put away.
#[derive(Clone, Debug)]
pub struct ArchivedTask {
    /// The archive, as seen from the project.
    pub archive: PathBuf,
    /// What became of the folder.
    pub folder: Removed,
}

/// A task that was brought back.
#[derive(Clone, Debug)]
pub struct RestoredTask {
    /// The task.
    pub task: Task,
    /// What people should know.
    pub warning: Option<String>,
}

/// Archives a task and removes its folder. Nobody else may be working on it.
pub fn archive_task(task: &Task, now: Timestamp) -> Result<ArchivedTask, Failure> {
    let archive = store(task, now)?;
    let folder = files::remove_folder(&task.folder()).map_err(|error| {
        Failure::because(&error)
            .hint(format!("the task is where it was; a copy of it is in `{}`", archive.display()))
    })?;
    Ok(ArchivedTask { archive, folder })
}

/// Archives a task; gives the archive as seen from the project.
fn store(task: &Task, now: Timestamp) -> Result<PathBuf, Failure> {
    let project = task.project();
    let relative = Path::new(FOLDER);
    files::folder_inside(project, relative).map_err(|error| Failure::because(&error))?;
    let folder = project.join(relative);
    let cant = |source: io::Error| {
        Failure::because(&FileError::Write { path: folder.clone(), source })
            .hint("the task is untouched")
    };
    fs::create_dir_all(&folder).map_err(cant)?;
    let refused = |why: String| {
        let task = task.relative("");
        Failure::trouble(format!("cannot archive `{}`: {why}", task.display()))
            .hint("the task is untouched")
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
        return Err(refused("it changed while it was archived".to_owned()));
    }
    let name = file_name(task.name(), now);
    file.persist_noclobber(folder.join(&name)).map_err(|error| cant(error.error))?;
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(cant)?;
    Ok(relative.join(name))
}

/// Brings a task back from an archive, which stays where it is.
pub fn restore(project: &Path, archive: &Path) -> Result<RestoredTask, Failure> {
    let refused = |why: String| {
        Failure::trouble(format!("the archive `{}` is refused: {why}", archive.display()))
            .hint("nothing was written")
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
            Failure::because(&error).hint("nothing was restored")
        }
    };
    let staging = Staging::new(&task.folder()).map_err(cant)?;
    unpack::unpack(&mut file, &staging.folder()).map_err(|error| {
        Failure::trouble(format!("cannot unpack `{}`: {}", archive.display(), chain(&error)))
            .hint("nothing was restored")
    })?;
    staging.commit().map_err(cant)?;
    // It is back, whether or not this can be noted.
    let noted = ProjectRuns::of(project).and_then(|runs| TaskState::set_apart(&task, &runs));
    let warning = noted.unwrap_or_else(|error| {
        Some(format!("the state of the task is not noted: {}", error.message))
    });
    Ok(RestoredTask { task, warning })
}

/// The archive that is meant: the newest of a task, a file in the folder of archives, or any file.
pub fn find(project: &Path, reference: &str) -> Result<PathBuf, Failure> {
    let all = list(project)?;
    let folder = project.join(FOLDER);
    let named = |archived: &&TaskArchive| {
        archived.file == reference || archived.file.strip_suffix(ENDING) == Some(reference)
    };
    let of_task = |archived: &&TaskArchive| archived.name.as_str() == reference;
    if let Some(found) = all.iter().find(named).or(all.iter().rfind(of_task)) {
        return Ok(folder.join(&found.file));
    }
    if reference.ends_with(ENDING) {
        let plain = Path::new(reference).components().collect::<Vec<_>>();
        // In the folder first, under whatever name; else where the path leads.
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
    let failure = Failure::usage(format!("there is no archive of `{shown}`"));
    let mut names: Vec<_> = all.iter().map(|archived| archived.name.as_str()).collect();
    names.dedup();
    Err(match nearest(reference, names.iter().copied()) {
        _ if names.is_empty() => failure.hint(format!("there are no archives in `{FOLDER}`")),
        Some(near) => {
            failure.hint(format!("did you mean `{near}`? archived: {}", names.join(", ")))
        }
        None => failure.hint(format!("archived: {}", names.join(", "))),
    })
}

/// All archives of a project, by task and age.
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
    format!("{name}-{}{ENDING}", now.strftime(TIME_WRITTEN))
}

/// What a file name says. Read from its end: a task's name may look like anything.
fn parse(file: &OsStr) -> Option<TaskArchive> {
    let file = file.to_str()?;
    let (name, at) = file.strip_suffix(ENDING)?.rsplit_once('-')?;
    DateTime::strptime(TIME_READ, at).ok()?;
    let name = TaskName::parse(name).ok()?;
    Some(TaskArchive { name, at: at.to_owned(), file: file.to_owned() })
}

/// Opens an archive; a pipe in its place is not waited for.
fn open(archive: &Path) -> Result<File, Failure> {
    let fail = |source| Failure::because(&FileError::Read { path: archive.to_owned(), source });
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(archive, flags, Mode::empty());
    let file = File::from(opened.map_err(|error| fail(error.into()))?);
    if file.metadata().map_err(fail)?.is_file() {
        return Ok(file);
    }
    Err(fail(io::Error::other("it is not a plain file")))
}

/// Whether a link stays in the task. It may go up first, over folders that are no links, and not
/// beyond the task's; after that only down, maybe over another link that stays in the task. Going
/// up behind a name is refused: where that leads depends on other links. `path` begins with the
/// task's folder.
fn stays_inside(path: &Path, target: &Path) -> bool {
    // The task's folder itself is the ground: one less than the components above the link.
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
