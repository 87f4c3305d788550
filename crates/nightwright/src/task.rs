//! A task: a named folder that says what to do and keeps the memory between iterations.
//!
//! ```text
//! .nightwright/tasks/NAME/
//!   task.toml          only what differs from the project's configuration
//!   INSTRUCTIONS.md    what to do: written by people, or by them and the agent
//!   TODO.md            the list that is worked off, in modes that have one
//!   NOTES.md           what one iteration leaves for the next
//!   feedback.md        what the next iteration is told, for people to read
//!   reports/           what the agent writes for people
//!   .status.json       the agent's word on how far it is
//!   .state.json        ours: how the runs so far ended, and how many iterations they had
//! ```
//!
//! The agent writes here as well as we do, so nothing is believed to be what it should be: a link
//! that leads out of the project is refused, a file that can't be read costs this task and no
//! other, and everything of ours is replaced in one stroke.

pub mod archive;
mod checklist;
mod lock;
mod name;
pub mod overview;
pub mod reset;
pub mod runs;
pub mod state;
pub mod template;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::config::nearest::nearest;
use crate::error::Failure;
use crate::files::{self, FileError, Staging};

pub use self::checklist::{checked_count, uncheck_all};
pub use self::lock::TaskLock;
pub use self::name::TaskName;
pub use self::overview::TaskOverview;
pub use self::runs::ProjectRuns;
pub use self::state::{TaskState, TaskStatus};

/// Where the tasks of a project are.
pub const FOLDER: &str = ".nightwright/tasks";
/// What differs for a task from the configuration of its project.
pub const SETTINGS: &str = "task.toml";
/// What is to be done.
pub const INSTRUCTIONS: &str = "INSTRUCTIONS.md";
/// The list that is worked off.
pub const TODO: &str = "TODO.md";
/// What one iteration leaves for the next.
pub const NOTES: &str = "NOTES.md";
/// What the next iteration is told.
pub const FEEDBACK: &str = "feedback.md";
/// The agent's word on how far it is.
pub const STATUS: &str = ".status.json";
/// How the runs so far ended.
pub const STATE: &str = ".state.json";
/// What the agent is told about its status file, in place of our own words.
pub const STATUS_INSTRUCTIONS: &str = ".status-instructions.md";
/// Stops the run of the task after its iteration.
pub const STOP: &str = ".stop";
/// What the agent writes for people.
pub const REPORTS: &str = "reports";

/// The most of a text for the agent that is read: it has to fit into a message.
pub const MAX_TEXT_BYTES: u64 = 9_000_000;
/// The most of a file of settings that is read.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// How many names a message lists.
const MAX_NAMES: usize = 20;

/// A task that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    project: PathBuf,
    name: TaskName,
}

/// A folder among the tasks: a task, or why it can't be one.
#[derive(Clone, Debug)]
pub struct ListedTask {
    /// What the folder is called.
    pub name: String,
    /// The task, or what is wrong.
    pub task: Result<Task, Failure>,
}

impl Task {
    /// A task that has to be there.
    pub fn open(project: &Path, name: &str) -> Result<Self, Failure> {
        let task = Self { project: project.to_owned(), name: TaskName::parse(name)? };
        match files::folder_inside(project, &task.relative("")) {
            Ok(true) => Ok(task),
            Ok(false) => Err(not_found(project, &task.name)),
            Err(error) => Err(Failure::because(&error)),
        }
    }

    /// Makes a task, all of it or nothing.
    pub fn create(
        project: &Path,
        name: &TaskName,
        mode: Option<&str>,
        instructions: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut contents = Vec::new();
        contents.extend(mode.map(|mode| (SETTINGS, settings(mode).into_bytes())));
        contents.extend(instructions.map(|text| (INSTRUCTIONS, text.as_bytes().to_vec())));
        Self::create_with(project, name, &contents)
    }

    /// Makes a task of these files.
    pub(crate) fn create_with(
        project: &Path,
        name: &TaskName,
        contents: &[(&str, Vec<u8>)],
    ) -> Result<Self, Failure> {
        let task = Self { project: project.to_owned(), name: name.clone() };
        task.must_be_new()?;
        let state = TaskState::beginning(&ProjectRuns::of(project)?).to_bytes();
        let make = || {
            let staging = Staging::new(&task.folder())?;
            files::replace(&staging.folder().join(STATE), &state)?;
            for (file, bytes) in contents {
                files::replace(&staging.folder().join(file), bytes)?;
            }
            staging.commit()
        };
        make().map_err(|error| cant_make(name, &error))?;
        Ok(task)
    }

    /// Fails if there is something where the task would be, or if that is not in the project.
    pub(crate) fn must_be_new(&self) -> Result<(), Failure> {
        match files::folder_inside(&self.project, &self.relative("")) {
            Ok(false) => Ok(()),
            Ok(true) => Err(already_there(&self.name)),
            Err(error) => Err(Failure::because(&error)),
        }
    }

    /// A task that need not be there.
    pub(crate) fn planned(project: &Path, name: &TaskName) -> Self {
        Self { project: project.to_owned(), name: name.clone() }
    }

    /// What it is called.
    pub fn name(&self) -> &TaskName {
        &self.name
    }

    /// The project it belongs to.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Its folder.
    pub fn folder(&self) -> PathBuf {
        self.path("")
    }

    /// A file of it.
    pub fn path(&self, file: &str) -> PathBuf {
        self.project.join(self.relative(file))
    }

    /// A file of it, as seen from the project.
    pub fn relative(&self, file: &str) -> PathBuf {
        let folder = Path::new(FOLDER).join(self.name.as_str());
        if file.is_empty() { folder } else { folder.join(file) }
    }

    /// What is to be done; `None` if nobody has said so yet.
    pub fn instructions(&self) -> Result<Option<String>, Failure> {
        let text = self.text(INSTRUCTIONS)?;
        Ok(text.filter(|text| !text.trim().is_empty()))
    }

    /// The mode that `task.toml` asks for. Only that key is looked at: whether the rest is right
    /// is the configuration's business.
    pub fn mode(&self) -> Result<Option<String>, Failure> {
        let Some(bytes) = self.bytes(SETTINGS, MAX_SETTINGS_BYTES)? else { return Ok(None) };
        let shown = self.relative(SETTINGS);
        let shown = shown.display();
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::trouble(format!("`{shown}` is not text in UTF-8")))?;
        let table: toml::Table = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(&text, span.start));
            Failure::trouble(format!("`{shown}`, line {line}: {}", error.message()))
        })?;
        match table.get("mode") {
            None => Ok(None),
            Some(toml::Value::String(mode)) => Ok(Some(mode.clone())),
            Some(other) => Err(Failure::trouble(format!(
                "`{shown}`: `mode` has to be the name of a mode, a string, and is of type {}",
                other.type_str()
            ))),
        }
    }

    /// How large a file of the task is; `None` if it is not there.
    pub fn size(&self, file: &str) -> Result<Option<u64>, Failure> {
        let opened = files::open_inside(&self.project, &self.relative(file))
            .map_err(|error| Failure::because(&error))?;
        match opened.map(|file| file.metadata()).transpose() {
            Ok(metadata) => Ok(metadata.map(|metadata| metadata.len())),
            Err(source) => {
                Err(Failure::because(&FileError::Read { path: self.path(file), source }))
            }
        }
    }

    /// A file of the task as text; `None` if it is not there.
    pub fn text(&self, file: &str) -> Result<Option<String>, Failure> {
        let bytes = self.bytes(file, MAX_TEXT_BYTES)?;
        bytes.map(String::from_utf8).transpose().map_err(|_| {
            let shown = self.relative(file);
            Failure::trouble(format!("`{}` is not text in UTF-8", shown.display()))
        })
    }

    pub(crate) fn bytes(&self, file: &str, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        files::read_inside(&self.project, &self.relative(file), most)
            .map_err(|error| Failure::because(&error))
    }

    /// Replaces a file of the task in one stroke. A task that was removed meanwhile does not come
    /// back by it.
    pub fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path(file);
        let write = || {
            if !files::folder_inside(&self.project, &self.relative(""))? {
                let source = io::Error::other("the folder of the task is gone");
                return Err(FileError::Write { path: path.clone(), source });
            }
            files::check_inside(&self.project, &path)?;
            files::replace(&path, bytes)
        };
        write().map_err(|error| Failure::because(&error))
    }
}

/// All tasks of a project by name. One that is broken is listed with what is wrong with it.
pub fn list(project: &Path) -> Result<Vec<ListedTask>, Failure> {
    let folder = Path::new(FOLDER);
    if !files::folder_inside(project, folder).map_err(|error| Failure::because(&error))? {
        return Ok(Vec::new());
    }
    let cant = |error: io::Error| Failure::trouble(format!("can't read `{FOLDER}`: {error}"));
    let mut all = Vec::new();
    for entry in fs::read_dir(project.join(folder)).map_err(cant)? {
        let entry = entry.map_err(cant)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Hidden ones are what somebody is just making, or removing.
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !name.starts_with('.') && !is_file {
            let task = Task::open(project, &name);
            all.push(ListedTask { name, task });
        }
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

pub(crate) fn already_there(name: &TaskName) -> Failure {
    Failure::usage(format!("Task already exists: {name}")).hint(format!(
        "show it with `nightwright task show {name}`, reset it with `nightwright task reset {name}`, or \
         archive it with `nightwright task archive {name}`"
    ))
}

fn cant_make(name: &TaskName, error: &FileError) -> Failure {
    // Somebody made it while we did.
    if error.is_taken() { already_there(name) } else { Failure::because(error) }
}

fn not_found(project: &Path, name: &TaskName) -> Failure {
    let failure = Failure::usage(format!("Task not found: {name}"));
    // What can't be listed can't be suggested; the message stands without it.
    let listed = list(project).unwrap_or_default();
    let names: Vec<_> = listed.iter().map(|listed| listed.name.as_str()).collect();
    let archived = archive::list(project).unwrap_or_default();
    if archived.iter().any(|archived| archived.name == *name) {
        return failure
            .hint(format!("it was archived; restore it: nightwright task restore {name}"));
    }
    if names.is_empty() {
        return failure.hint(format!("there are no tasks yet; make it: nightwright new {name}"));
    }
    let meant = match nearest(name.as_str(), names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more (`nightwright list`)"),
    };
    let shown = names[..names.len().min(MAX_NAMES)].join(", ");
    failure.hint(format!("{meant}the tasks are: {shown}{more}"))
}

/// The settings of a new task.
fn settings(mode: &str) -> String {
    let mode = toml_edit::value(mode);
    format!(
        "# What differs for this task from the project's configuration. Every key of\n\
         # `.nightwright/config.toml` can stand here and wins over it.\n\
         \n\
         # How an iteration works and what says that the work is complete.\n\
         mode = {}\n",
        mode.to_string().trim()
    )
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
