//! The files of the configuration: where they are, reading and writing them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::amounts::is_name;
use super::layer::ConfigLayer;
use super::origin::ValueOrigin;
use crate::error::Failure;
use crate::files::{self, FileError};

/// No configuration is larger.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The user's own file, by the environment. A folder that is not absolute is ignored, as the rules
/// for `XDG_CONFIG_HOME` want it.
pub fn user_file(get_env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name| get_env(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let configs = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    Some(configs?.join("nightwright").join("config.toml"))
}

/// The project's file.
pub fn project_file(project: &Path) -> PathBuf {
    project.join(PROJECT_FILE)
}

/// The task's file.
pub fn task_file(project: &Path, task: &str) -> PathBuf {
    project.join(relative_task_file(task))
}

const PROJECT_FILE: &str = ".nightwright/config.toml";

fn relative_task_file(task: &str) -> PathBuf {
    Path::new(".nightwright/tasks").join(task).join("task.toml")
}

/// A file of the configuration, there or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    origin: ValueOrigin,
    path: PathBuf,
    /// The project, out of which no link may lead, and the path in it.
    inside: Option<(PathBuf, PathBuf)>,
}

impl ConfigFile {
    /// The user's own, if there is a place for it.
    pub fn user(get_env: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let path = user_file(get_env)?;
        Some(Self { origin: ValueOrigin::User(path.clone()), path, inside: None })
    }

    /// The project's.
    pub fn project(project: &Path) -> Self {
        let path = project_file(project);
        let inside = Some((project.to_owned(), PathBuf::from(PROJECT_FILE)));
        Self { origin: ValueOrigin::Project(path.clone()), path, inside }
    }

    /// A task's.
    pub fn task(project: &Path, task: &str) -> Result<Self, Failure> {
        if !is_name(task) {
            return Err(Failure::usage(format!("`{task}` cannot be the name of a task"))
                .hint("names have letters, digits, `-` and `_`"));
        }
        let path = task_file(project, task);
        let inside = Some((project.to_owned(), relative_task_file(task)));
        Ok(Self { origin: ValueOrigin::Task(path.clone()), path, inside })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The layer it is.
    pub fn origin(&self) -> &ValueOrigin {
        &self.origin
    }

    /// What it says; nothing if it is not there.
    pub fn layer(&self) -> Result<ConfigLayer, Failure> {
        match self.read()? {
            Some(text) => Ok(ConfigLayer::parse(self.origin.clone(), &self.path, &text)?),
            None => Ok(ConfigLayer::empty(self.origin.clone())),
        }
    }

    /// Its text; `None` if it is not there.
    pub fn read(&self) -> Result<Option<String>, Failure> {
        match &self.inside {
            Some((project, relative)) => read_inside(project, relative, MAX_FILE_BYTES),
            None => read_anywhere(&self.path),
        }
    }

    /// Replaces it, or makes it, folders and all.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        if let Some((project, _)) = &self.inside {
            files::check_inside(project, &self.path).map_err(|error| unusable(&error))?;
        }
        // People keep their own files elsewhere and have links to them.
        let target = match self.path.canonicalize() {
            Ok(target) => target,
            Err(_) => self.path.clone(),
        };
        // Replacing a file needs no right to write it, but somebody took it away for a reason.
        if fs::metadata(&target).is_ok_and(|metadata| metadata.permissions().readonly()) {
            return Err(Failure::trouble(format!("`{}` is read-only", self.path.display()))
                .hint(format!("make it writable: chmod u+w '{}'", self.path.display())));
        }
        // There may be a token in what is the user's own: a new one is nobody else's business.
        let write = match &self.origin {
            ValueOrigin::User(_) if !target.exists() => files::replace_private,
            ValueOrigin::User(_)
            | ValueOrigin::BuiltIn
            | ValueOrigin::Mode(_)
            | ValueOrigin::Project(_)
            | ValueOrigin::Task(_)
            | ValueOrigin::Environment(_)
            | ValueOrigin::Flag(_) => files::replace,
        };
        write(&target, text.as_bytes()).map_err(|error| Failure::because(&error))
    }
}

/// The text of a file in the project; `None` if it is not there.
pub(crate) fn read_inside(
    project: &Path,
    relative: &Path,
    most: u64,
) -> Result<Option<String>, Failure> {
    let bytes = files::read_inside(project, relative, most).map_err(|error| unusable(&error))?;
    bytes.map(|bytes| text(&project.join(relative), bytes)).transpose()
}

/// The text of a file anywhere; `None` if it is not there.
pub(crate) fn read_anywhere(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = bytes_anywhere(path).map_err(|error| unusable(&error))?;
    bytes.map(|bytes| text(path, bytes)).transpose()
}

/// The text of a file, which has to be one.
pub(super) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        Failure::usage(format!("`{}` is not UTF-8 text: see line {line}", path.display()))
            .hint("save it as UTF-8")
    })
}

/// A file of the configuration that cannot be used is a mistake in the configuration.
pub(super) fn unusable(error: &FileError) -> Failure {
    let failure = Failure::because(error);
    let failure = Failure::usage(failure.message);
    match error {
        FileError::Elsewhere { .. } => {
            failure.hint("files of a project have to be in it: replace the link by a file")
        }
        FileError::Link { .. }
        | FileError::Read { .. }
        | FileError::Write { .. }
        | FileError::TooLarge { .. } => failure,
    }
}

fn bytes_anywhere(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let fail = |source| FileError::Read { path: path.to_owned(), source };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        // A pipe would be waited for.
        Ok(_) => return Err(fail(io::Error::other("it is not a plain file"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(fail)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(FileError::TooLarge { path: path.to_owned(), most: MAX_FILE_BYTES });
    }
    Ok(Some(bytes))
}
