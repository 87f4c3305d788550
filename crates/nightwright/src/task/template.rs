//! Templates: instructions kept to be used again, with the list that belongs to them, its boxes
//! open, and the settings. A project has its own in `.nightwright/templates`, and a user some for all
//! projects beside the user's configuration; the project's win.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::name::TaskName;
use super::{INSTRUCTIONS, MAX_TEXT_BYTES, SETTINGS, TODO, Task, uncheck_all};
use crate::config::nearest::nearest;
use crate::error::Failure;
use crate::files::{self, FileError, Removed, Staging};

/// The files that make a template.
const FILES: [&str; 3] = [INSTRUCTIONS, TODO, SETTINGS];

/// Where templates are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateStore {
    owner: TemplateScope,
    /// Nothing outside of this is read or written.
    ground: PathBuf,
    /// The folder of templates in it.
    folder: &'static str,
}

/// Whose templates they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateScope {
    /// The project's.
    Project,
    /// The user's, for all projects.
    User,
}

/// A template that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// What it is called.
    pub name: TaskName,
    /// Whose it is.
    pub owner: TemplateScope,
    shelf: TemplateStore,
}

impl TemplateScope {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

impl TemplateStore {
    /// The project's.
    pub fn of_project(project: &Path) -> Self {
        let ground = project.to_owned();
        Self { owner: TemplateScope::Project, ground, folder: ".nightwright/templates" }
    }

    /// The user's, by the environment.
    pub fn of_user() -> Result<Self, Failure> {
        let ground = user_folder(env::var_os)?;
        Ok(Self { owner: TemplateScope::User, ground, folder: "templates" })
    }

    /// All shelves, the one that wins first. Without a home there are no templates of the user.
    fn all(project: &Path) -> Vec<Self> {
        let mut all = vec![Self::of_project(project)];
        all.extend(Self::of_user().ok());
        all
    }

    fn relative(&self, name: &TaskName) -> PathBuf {
        Path::new(self.folder).join(name.as_str())
    }

    fn get(&self, name: &TaskName) -> Result<Option<Template>, Failure> {
        if !self.ground.is_dir() {
            return Ok(None);
        }
        let there = files::folder_inside(&self.ground, &self.relative(name))
            .map_err(|error| Failure::because(&error))?;
        let template = || Template { name: name.clone(), owner: self.owner, shelf: self.clone() };
        Ok(there.then(template))
    }

    fn list(&self) -> Result<Vec<Template>, Failure> {
        let folder = self.ground.join(self.folder);
        let cant = |source| Failure::because(&FileError::Read { path: folder.clone(), source });
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cant(error)),
        };
        files::check_inside(&self.ground, &folder).map_err(|error| Failure::because(&error))?;
        let mut all = Vec::new();
        for entry in entries {
            let name = entry.map_err(cant)?.file_name();
            let name = name.to_str().and_then(|name| TaskName::of("template", name).ok());
            let Some(name) = name else { continue };
            // One that cannot be used is not on offer; asked for by name, it says why.
            all.extend(self.get(&name).ok().flatten());
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Keeps the instructions of a task as a template.
    pub fn save(&self, task: &Task, name: &TaskName) -> Result<Template, Failure> {
        let mut contents = Vec::new();
        for file in FILES {
            contents.extend(task.text(file)?.map(|text| (file, text)));
        }
        if task.instructions()?.is_none() {
            let name = task.name();
            return Err(Failure::usage(format!("the task `{name}` has no instructions to keep"))
                .hint(format!("write them first: nightwright task setup {name}")));
        }
        if self.get(name)?.is_some() {
            return Err(already_there(name));
        }
        let place = self.ground.join(self.relative(name));
        let make = || {
            if self.owner == TemplateScope::User {
                let path = place.clone();
                fs::create_dir_all(&self.ground)
                    .map_err(|source| FileError::Write { path, source })?;
            }
            files::check_inside(&self.ground, &place)?;
            let staging = Staging::new(&place)?;
            for (file, text) in &contents {
                let text = if *file == TODO { uncheck_all(text) } else { text.clone() };
                files::replace(&staging.folder().join(file), text.as_bytes())?;
            }
            staging.commit()
        };
        make().map_err(|error| {
            if error.is_taken() { already_there(name) } else { Failure::because(&error) }
        })?;
        Ok(Template { name: name.clone(), owner: self.owner, shelf: self.clone() })
    }
}

impl Template {
    /// Where it is.
    pub fn folder(&self) -> PathBuf {
        self.shelf.ground.join(self.shelf.relative(&self.name))
    }

    /// Its files, by name, with what is in them.
    pub fn contents(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let mut contents = Vec::new();
        for file in FILES {
            let relative = self.shelf.relative(&self.name).join(file);
            let bytes = files::read_inside(&self.shelf.ground, &relative, MAX_TEXT_BYTES)
                .map_err(|error| Failure::because(&error))?;
            let Some(bytes) = bytes else { continue };
            let text = String::from_utf8(bytes).map_err(|_| {
                let path = self.folder().join(file);
                Failure::trouble(format!("`{}` is not text in UTF-8", path.display()))
            })?;
            contents.push((file, text));
        }
        Ok(contents)
    }

    /// Makes a task of it; another mode than the template's can be asked for.
    pub fn use_for(
        &self,
        project: &Path,
        task: &TaskName,
        mode: Option<&str>,
    ) -> Result<Task, Failure> {
        let contents = self.contents()?;
        let mut files: Vec<_> =
            contents.into_iter().map(|(file, text)| (file, text.into_bytes())).collect();
        if let Some(mode) = mode {
            let place = files.iter().position(|(file, _)| *file == SETTINGS);
            let old = place.map(|place| files.remove(place).1);
            files.push((SETTINGS, self.settings_with(old, mode)?));
        }
        Task::create_with(project, task, &files)
    }

    /// The template's settings with another mode.
    fn settings_with(&self, old: Option<Vec<u8>>, mode: &str) -> Result<Vec<u8>, Failure> {
        let Some(old) = old else { return Ok(super::settings(mode).into_bytes()) };
        let text = String::from_utf8_lossy(&old);
        let mut settings: toml_edit::DocumentMut = text.parse().map_err(|error| {
            let path = self.folder().join(SETTINGS);
            Failure::trouble(format!("`{}` cannot be read: {error}", path.display()))
        })?;
        match settings.get_mut("mode").and_then(toml_edit::Item::as_value_mut) {
            Some(value) => {
                // A comment behind it stays.
                let around = value.decor().clone();
                *value = mode.into();
                *value.decor_mut() = around;
            }
            None => settings["mode"] = toml_edit::value(mode),
        }
        Ok(settings.to_string().into_bytes())
    }

    /// Removes it.
    pub fn delete(self) -> Result<Removed, Failure> {
        files::remove_folder(&self.folder()).map_err(|error| Failure::because(&error))
    }
}

/// The name of a template.
pub fn name(text: &str) -> Result<TaskName, Failure> {
    TaskName::of("template", text)
}

/// All templates by name, the project's before the user's of the same name.
pub fn list(project: &Path) -> Result<Vec<Template>, Failure> {
    let mut all = Vec::new();
    for shelf in TemplateStore::all(project) {
        all.extend(shelf.list()?);
    }
    // Stable, so the one that wins comes first.
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// A template by name: the project's, else the user's.
pub fn find(project: &Path, name: &TaskName) -> Result<Template, Failure> {
    find_on(&TemplateStore::all(project), name)
}

/// A template by name on some shelves, the first one that has it.
pub fn find_on(shelves: &[TemplateStore], name: &TaskName) -> Result<Template, Failure> {
    let mut there = Vec::new();
    for shelf in shelves {
        if let Some(template) = shelf.get(name)? {
            return Ok(template);
        }
        there.extend(shelf.list().unwrap_or_default());
    }
    let failure = Failure::usage(format!("there is no template `{name}`"));
    let names: Vec<_> = there.iter().map(|template| template.name.as_str()).collect();
    Err(match nearest(name.as_str(), names.iter().copied()) {
        _ if names.is_empty() => failure.hint(
            "there are none yet; keep a task's instructions: nightwright task template save TASK",
        ),
        Some(near) => {
            failure.hint(format!("did you mean `{near}`? the templates are: {}", names.join(", ")))
        }
        None => failure.hint(format!("the templates are: {}", names.join(", "))),
    })
}

fn already_there(name: &TaskName) -> Failure {
    Failure::usage(format!("there is a template `{name}` already"))
        .hint("give another name, or replace it with --yes")
}

/// The folder with what a user has for all projects.
fn user_folder(variable: impl Fn(&'static str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    for (name, below) in [("XDG_CONFIG_HOME", "nightwright"), ("HOME", ".config/nightwright")] {
        // Set to nothing is the same as not set, and a relative one is to be ignored.
        let value = variable(name).map(PathBuf::from).filter(|value| value.is_absolute());
        if let Some(value) = value {
            return Ok(value.join(below));
        }
    }
    Err(Failure::trouble("neither `XDG_CONFIG_HOME` nor `HOME` is set to an absolute path")
        .hint("without them there are no templates for all projects"))
}
