//! A task: a named folder with instructions, and with the files that iterations share.
//!
//! ```text
//! .nightwright/tasks/NAME/
//!   task.toml          only what differs from the project's configuration
//!   INSTRUCTIONS.md    what to do: written by the user, perhaps with the agent
//!   TODO.md            the checklist, in modes that have one
//!   NOTES.md           notes of one iteration for the next
//!   feedback.md        a copy of the feedback for the next iteration
//!   reports/           reports of the agent for the user
//!   .status.json       the progress that the agent reports
//!   .state.json        written by nightwright: the outcomes and iterations of the runs
//! ```
//!
//! Both the agent and nightwright write here, so nothing is trusted. A link out of the project is
//! refused, and an unreadable file affects only its task. nightwright replaces files atomically.

pub mod archive;
mod checklist;
mod lock;
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
use nightwright_core::phrases::familiar;

pub use self::checklist::{checked_count, uncheck_all};
pub use self::lock::TaskLock;
pub use self::overview::TaskOverview;
pub use self::runs::ProjectRuns;
pub use self::state::{TaskState, TaskStatus};
pub use crate::name::TaskName;

/// The folder of a project's tasks.
pub const FOLDER: &str = ".nightwright/tasks";
/// The settings of a task that differ from the project's configuration.
pub const SETTINGS: &str = "task.toml";
/// The instructions of a task.
pub const INSTRUCTIONS: &str = "INSTRUCTIONS.md";
/// The checklist of a task.
pub const TODO: &str = "TODO.md";
/// The notes of one iteration for the next.
pub const NOTES: &str = "NOTES.md";
/// The feedback for the next iteration.
pub const FEEDBACK: &str = "feedback.md";
/// The progress that the agent reports.
pub const STATUS: &str = ".status.json";
/// The outcomes of the runs so far.
pub const STATE: &str = ".state.json";
/// Instructions about the status file that replace the default ones.
pub const STATUS_INSTRUCTIONS: &str = ".status-instructions.md";
/// The file that stops the run of the task after its iteration.
pub const STOP: &str = ".stop";
/// The folder for the agent's reports to the user.
pub const REPORTS: &str = "reports";

/// Maximum size of a string for the agent: it must fit into a message.
pub const MAX_TEXT_BYTES: u64 = 9_000_000;
/// Maximum size of a settings file.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 20;

/// A task whose folder exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    project: PathBuf,
    name: TaskName,
}

/// A folder among the tasks: a task, or the reason why it is invalid.
#[derive(Clone, Debug)]
pub struct ListedTask {
    /// The name of the folder.
    pub name: String,
    /// The task, or the error.
    pub task: Result<Task, Failure>,
}

impl Task {
    /// Opens a task; fails if it does not exist.
    pub fn open(project: &Path, name: &str) -> Result<Self, Failure> {
        let task = Self { project: project.to_owned(), name: TaskName::parse(name)? };
        match files::folder_inside(project, &task.relative("")) {
            Ok(true) => Ok(task),
            Ok(false) => Err(not_found(project, &task.name)),
            Err(error) => Err(Failure::because(&error)),
        }
    }

    /// Creates a task, completely or not at all.
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

    /// Creates a task with these files.
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

    /// Fails if the task's path exists or is outside the project.
    pub(crate) fn must_be_new(&self) -> Result<(), Failure> {
        match files::folder_inside(&self.project, &self.relative("")) {
            Ok(false) => Ok(()),
            Ok(true) => Err(already_there(&self.name)),
            Err(error) => Err(Failure::because(&error)),
        }
    }

    /// Returns a task that need not exist.
    pub(crate) fn planned(project: &Path, name: &TaskName) -> Self {
        Self { project: project.to_owned(), name: name.clone() }
    }

    pub fn name(&self) -> &TaskName {
        &self.name
    }

    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The folder of the task.
    pub fn folder(&self) -> PathBuf {
        self.path("")
    }

    /// Returns the path of a file of the task.
    pub fn path(&self, file: &str) -> PathBuf {
        self.project.join(self.relative(file))
    }

    /// Returns the path of a file of the task, relative to the project.
    pub fn relative(&self, file: &str) -> PathBuf {
        let folder = Path::new(FOLDER).join(self.name.as_str());
        if file.is_empty() { folder } else { folder.join(file) }
    }

    /// Returns the instructions; `None` if they are missing or empty.
    pub fn instructions(&self) -> Result<Option<String>, Failure> {
        let text = self.text(INSTRUCTIONS)?;
        Ok(text.filter(|text| !text.trim().is_empty()))
    }

    /// Returns the mode in `task.toml`. Only this key is read; the configuration validates the
    /// rest.
    pub fn mode(&self) -> Result<Option<String>, Failure> {
        let Some(bytes) = self.bytes(SETTINGS, MAX_SETTINGS_BYTES)? else { return Ok(None) };
        let shown = self.relative(SETTINGS);
        let shown = shown.display();
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::trouble(format!("`{shown}` is not UTF-8 text")))?;
        let table: toml::Table = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(&text, span.start));
            Failure::trouble(format!("`{shown}`, line {line}: {}", error.message()))
        })?;
        match table.get("mode") {
            None => Ok(None),
            Some(toml::Value::String(mode)) => Ok(Some(mode.clone())),
            Some(other) => Err(Failure::trouble(format!(
                "`{shown}`: `mode` must be a string, the name of a mode, but is of type {}",
                other.type_str()
            ))),
        }
    }

    /// Returns the size of a file of the task; `None` if it does not exist.
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

    /// Returns a file of the task as text; `None` if it does not exist.
    pub fn text(&self, file: &str) -> Result<Option<String>, Failure> {
        let bytes = self.bytes(file, MAX_TEXT_BYTES)?;
        bytes.map(String::from_utf8).transpose().map_err(|_| {
            let shown = self.relative(file);
            Failure::trouble(format!("`{}` is not UTF-8 text", shown.display()))
        })
    }

    pub(crate) fn bytes(&self, file: &str, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        files::read_inside(&self.project, &self.relative(file), most)
            .map_err(|error| Failure::because(&error))
    }

    /// Replaces a file of the task atomically. It does not recreate a task that was removed
    /// meanwhile.
    pub fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path(file);
        let write = || {
            if !files::folder_inside(&self.project, &self.relative(""))? {
                let source = io::Error::other("the task folder does not exist");
                return Err(FileError::Write { path: path.clone(), source });
            }
            files::check_inside(&self.project, &path)?;
            files::replace(&path, bytes)
        };
        write().map_err(|error| Failure::because(&error))
    }
}

/// Lists all tasks of a project by name. An invalid task is listed with its error.
pub fn list(project: &Path) -> Result<Vec<ListedTask>, Failure> {
    let folder = Path::new(FOLDER);
    if !files::folder_inside(project, folder).map_err(|error| Failure::because(&error))? {
        return Ok(Vec::new());
    }
    let cant = |error: io::Error| Failure::trouble(format!("cannot read `{FOLDER}`: {error}"));
    let mut all = Vec::new();
    for entry in fs::read_dir(project.join(folder)).map_err(cant)? {
        let entry = entry.map_err(cant)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Hidden folders are being created or removed by another process.
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
    Failure::usage(familiar::task_exists(name.as_str())).hint(format!(
        "show it with `nightwright task show {name}`, reset it with `nightwright task reset {name}`, or \
         archive it with `nightwright task archive {name}`"
    ))
}

fn cant_make(name: &TaskName, error: &FileError) -> Failure {
    // Another process created it meanwhile.
    if error.is_taken() { already_there(name) } else { Failure::because(error) }
}

fn not_found(project: &Path, name: &TaskName) -> Failure {
    let failure = Failure::usage(familiar::task_not_found(name.as_str()));
    // If the tasks cannot be listed, the message has no suggestions.
    let listed = list(project).unwrap_or_default();
    let names: Vec<_> = listed.iter().map(|listed| listed.name.as_str()).collect();
    let archived = archive::list(project).unwrap_or_default();
    if archived.iter().any(|archived| archived.name == *name) {
        return failure
            .hint(format!("run `nightwright task restore {name}` to restore it from the archive"));
    }
    if names.is_empty() {
        return failure.hint(format!("run `nightwright new {name}` to create it"));
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
    failure.hint(format!("{meant}choose one of {shown}{more}"))
}

/// Returns the settings of a new task.
fn settings(mode: &str) -> String {
    let mode = toml_edit::value(mode);
    format!(
        "# Settings of this task. They override `.nightwright/config.toml`, and can be any of its\n\
         # keys.\n\
         \n\
         # The mode: the work of one iteration, and the claims of completion that count.\n\
         mode = {}\n",
        mode.to_string().trim()
    )
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
