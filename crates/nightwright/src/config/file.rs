//! Configuration files: their locations, and how they are read and written.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::amounts::is_name;
use super::edit;
use super::keys::Key;
use super::layer::ConfigLayer;
use super::origin::ValueOrigin;
use super::value::ConfigValue;
use crate::error::Failure;
use crate::files::{self, FileError};

/// The maximum size of a configuration file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The path of the user's file. A relative folder is ignored, as the specification of
/// `XDG_CONFIG_HOME` requires.
pub fn user_file(get_env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name| get_env(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let configs = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    Some(configs?.join("nightwright").join("config.toml"))
}

/// The path of the project's file.
pub fn project_file(project: &Path) -> PathBuf {
    project.join(PROJECT_FILE)
}

/// The path of the task's file.
pub fn task_file(project: &Path, task: &str) -> PathBuf {
    project.join(relative_task_file(task))
}

const PROJECT_FILE: &str = ".nightwright/config.toml";

fn relative_task_file(task: &str) -> PathBuf {
    Path::new(".nightwright/tasks").join(task).join("task.toml")
}

/// A configuration file, which may not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    origin: ValueOrigin,
    path: PathBuf,
    /// The project and the path inside it. Symbolic links must not lead out of the project.
    inside: Option<(PathBuf, PathBuf)>,
}

impl ConfigFile {
    /// The user's file; `None` if there is no configuration folder.
    pub fn user(get_env: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let path = user_file(get_env)?;
        Some(Self { origin: ValueOrigin::User(path.clone()), path, inside: None })
    }

    pub fn project(project: &Path) -> Self {
        let path = project_file(project);
        let inside = Some((project.to_owned(), PathBuf::from(PROJECT_FILE)));
        Self { origin: ValueOrigin::Project(path.clone()), path, inside }
    }

    /// The file of a task; fails if the name is invalid.
    pub fn task(project: &Path, task: &str) -> Result<Self, Failure> {
        if !is_name(task) {
            return Err(Failure::usage(format!("`{task}` cannot be the name of a task"))
                .hint("use letters, digits, `-` and `_`"));
        }
        let path = task_file(project, task);
        let inside = Some((project.to_owned(), relative_task_file(task)));
        Ok(Self { origin: ValueOrigin::Task(path.clone()), path, inside })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The layer that the file belongs to.
    pub fn origin(&self) -> &ValueOrigin {
        &self.origin
    }

    /// Reads the layer; a missing file is an empty layer.
    pub fn layer(&self) -> Result<ConfigLayer, Failure> {
        match self.read()? {
            Some(text) => Ok(ConfigLayer::parse(self.origin.clone(), &self.path, &text)?),
            None => Ok(ConfigLayer::empty(self.origin.clone())),
        }
    }

    /// Reads the text; `None` if the file does not exist.
    pub fn read(&self) -> Result<Option<String>, Failure> {
        match &self.inside {
            Some((project, relative)) => read_inside(project, relative, MAX_FILE_BYTES),
            None => read_anywhere(&self.path),
        }
    }

    /// Sets a key, and keeps everything else in the file.
    pub fn set(&self, key: &Key, value: &ConfigValue) -> Result<(), Failure> {
        let old = self.read()?.unwrap_or_default();
        // If the file is not valid TOML, `replace` shows the error.
        let new = edit::set(&old, key, value).unwrap_or_else(|_| old.clone());
        self.replace(&old, &new)?;
        if self.layer()?.get(key.name).is_some() {
            return Ok(());
        }
        let (table, path) = (key.name.split('.').next().unwrap_or_default(), self.path.display());
        Err(Failure::usage(format!(
            "cannot set `{}`: `{path}` has several `[[{table}]]` tables",
            key.name
        ))
        .hint("edit them in the file"))
    }

    /// Replaces the text, if the new one can be parsed.
    pub fn replace(&self, old: &str, new: &str) -> Result<(), Failure> {
        let read = |text| ConfigLayer::parse(self.origin.clone(), &self.path, text);
        if let Err(error) = read(new) {
            // An earlier error is shown at its position in the file.
            let error = read(old).err().unwrap_or(error);
            let failure = Failure::from(error);
            return Err(failure.and(&format!("`{}` is unchanged", self.path.display())));
        }
        self.write(new)
    }

    /// Writes the file and creates missing folders.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        if let Some((project, _)) = &self.inside {
            files::check_inside(project, &self.path).map_err(|error| unusable(&error))?;
        }
        // Users may keep their files elsewhere and link to them.
        let target = match self.path.canonicalize() {
            Ok(target) => target,
            Err(_) => self.path.clone(),
        };
        // Replacing a file needs no write permission for it, but a read-only file is read-only on
        // purpose.
        if fs::metadata(&target).is_ok_and(|metadata| metadata.permissions().readonly()) {
            return Err(Failure::trouble(format!("`{}` is read-only", self.path.display()))
                .hint(format!("run `chmod u+w '{}'`", self.path.display())));
        }
        // The user's file may contain a token, so a new one is only readable by the user.
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

/// Reads a text file inside the project; `None` if it does not exist.
pub(crate) fn read_inside(
    project: &Path,
    relative: &Path,
    most: u64,
) -> Result<Option<String>, Failure> {
    let bytes = files::read_inside(project, relative, most).map_err(|error| unusable(&error))?;
    bytes.map(|bytes| text(&project.join(relative), bytes)).transpose()
}

/// Reads a text file anywhere; `None` if it does not exist.
pub(crate) fn read_anywhere(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = bytes_anywhere(path).map_err(|error| unusable(&error))?;
    bytes.map(|bytes| text(path, bytes)).transpose()
}

/// Decodes the content of a file; fails if it is not text.
pub(super) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        Failure::usage(format!("`{}` is not UTF-8 text: see line {line}", path.display()))
            .hint("save it as UTF-8")
    })
}

/// Reports an unusable configuration file as a configuration error.
pub(super) fn unusable(error: &FileError) -> Failure {
    let failure = Failure::because(error);
    let failure = Failure::usage(failure.message);
    match error {
        FileError::Elsewhere { .. } => {
            failure.hint("replace the link with a file inside the project")
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
        // Opening a pipe would block.
        Ok(_) => return Err(fail(io::Error::other("it is not a regular file"))),
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
