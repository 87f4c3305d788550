//! Templates: reusable instructions, with their checklist (all boxes open) and settings.
//!
//! A project has its templates in `.nightwright/templates`. The user's templates for all projects
//! are next to the user's configuration. A project's template has priority.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{INSTRUCTIONS, MAX_TEXT_BYTES, SETTINGS, TODO, Task, uncheck_all};
use crate::config;
use crate::config::nearest::known_names;
use crate::error::Failure;
use crate::files::{self, FileError, Removed, Staging};
use crate::name::TaskName;

/// The files that make up a template.
const FILES: [&str; 3] = [INSTRUCTIONS, TODO, SETTINGS];

/// A folder of templates, of the project or of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateStore {
    owner: TemplateScope,
    /// Files outside this folder are neither read nor written.
    root: PathBuf,
    /// The folder of templates, relative to `root`.
    folder: &'static str,
}

/// The owner of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateScope {
    /// Only for this project.
    Project,
    /// For all projects of the user.
    User,
}

/// A template that exists on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub name: TaskName,
    /// Whether the template belongs to the project or the user.
    pub owner: TemplateScope,
    store: TemplateStore,
}

impl TemplateScope {
    /// Returns the name as shown to the user.
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

impl TemplateStore {
    /// Returns the templates of a project.
    pub fn of_project(project: &Path) -> Self {
        let root = project.to_owned();
        Self { owner: TemplateScope::Project, root, folder: ".nightwright/templates" }
    }

    /// Returns the user's templates, located by the environment.
    pub fn of_user() -> Result<Self, Failure> {
        let root = user_folder()?;
        Ok(Self { owner: TemplateScope::User, root, folder: "templates" })
    }

    /// Returns all stores in order of priority. Without a home folder, there are no templates of
    /// the user.
    fn all(project: &Path) -> Vec<Self> {
        let mut all = vec![Self::of_project(project)];
        all.extend(Self::of_user().ok());
        all
    }

    fn relative(&self, name: &TaskName) -> PathBuf {
        Path::new(self.folder).join(name.as_str())
    }

    fn get(&self, name: &TaskName) -> Result<Option<Template>, Failure> {
        if !self.root.is_dir() {
            return Ok(None);
        }
        let there = files::folder_inside(&self.root, &self.relative(name))
            .map_err(|error| Failure::because(&error))?;
        let template = || Template { name: name.clone(), owner: self.owner, store: self.clone() };
        Ok(there.then(template))
    }

    fn list(&self) -> Result<Vec<Template>, Failure> {
        let folder = self.root.join(self.folder);
        let cant = |source| Failure::because(&FileError::Read { path: folder.clone(), source });
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cant(error)),
        };
        files::check_inside(&self.root, &folder).map_err(|error| Failure::because(&error))?;
        let mut all = Vec::new();
        for entry in entries {
            let name = entry.map_err(cant)?.file_name();
            let name = name.to_str().and_then(|name| TaskName::of("template", name).ok());
            let Some(name) = name else { continue };
            // An unusable template is not listed. Requested by name, it reports the reason.
            all.extend(self.get(&name).ok().flatten());
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Saves the instructions of a task as a template.
    pub fn save(
        &self,
        task: &Task,
        name: &TaskName,
        replaced: Option<&Template>,
    ) -> Result<(Template, Option<Removed>), Failure> {
        let mut contents = Vec::new();
        for file in FILES {
            contents.extend(task.text(file)?.map(|text| (file, text)));
        }
        if task.instructions()?.is_none() {
            let name = task.name();
            return Err(Failure::usage(format!("the task `{name}` has no instructions to keep"))
                .hint(format!("run `nightwright task setup {name}` first")));
        }
        if replaced.is_none() && self.get(name)?.is_some() {
            return Err(already_there(name));
        }
        let place = self.root.join(self.relative(name));
        let mut removed = None;
        let mut make = || {
            if self.owner == TemplateScope::User {
                let path = place.clone();
                fs::create_dir_all(&self.root)
                    .map_err(|source| FileError::Write { path, source })?;
            }
            files::check_inside(&self.root, &place)?;
            let staging = Staging::new(&place)?;
            for (file, text) in &contents {
                let text = if *file == TODO { uncheck_all(text) } else { text.clone() };
                files::replace(&staging.folder().join(file), text.as_bytes())?;
            }
            // The new template is on disk before the old one goes.
            if let Some(old) = replaced {
                removed = Some(files::remove_folder(&old.folder())?);
            }
            staging.commit()
        };
        make().map_err(|error| {
            if error.is_taken() { already_there(name) } else { Failure::because(&error) }
        })?;
        Ok((Template { name: name.clone(), owner: self.owner, store: self.clone() }, removed))
    }
}

impl Template {
    /// Returns the path of its folder.
    pub fn folder(&self) -> PathBuf {
        self.store.root.join(self.store.relative(&self.name))
    }

    /// Returns its files with their contents, by name.
    pub fn contents(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let mut contents = Vec::new();
        for file in FILES {
            let relative = self.store.relative(&self.name).join(file);
            let bytes = files::read_inside(&self.store.root, &relative, MAX_TEXT_BYTES)
                .map_err(|error| Failure::because(&error))?;
            let Some(bytes) = bytes else { continue };
            let text = String::from_utf8(bytes).map_err(|_| {
                let path = self.folder().join(file);
                Failure::trouble(format!("`{}` is not UTF-8 text", path.display()))
            })?;
            contents.push((file, text));
        }
        Ok(contents)
    }

    /// Creates a task from the template, optionally with another mode.
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

    /// Returns the template's settings with another mode.
    fn settings_with(&self, old: Option<Vec<u8>>, mode: &str) -> Result<Vec<u8>, Failure> {
        let Some(old) = old else { return Ok(super::settings(mode).into_bytes()) };
        let text = String::from_utf8_lossy(&old);
        let mut settings: toml_edit::DocumentMut = text.parse().map_err(|error| {
            let path = self.folder().join(SETTINGS);
            Failure::trouble(format!("cannot read `{}`: {error}", path.display()))
        })?;
        match settings.get_mut("mode").and_then(toml_edit::Item::as_value_mut) {
            Some(value) => {
                // Keeps a comment that follows the value.
                let around = value.decor().clone();
                *value = mode.into();
                *value.decor_mut() = around;
            }
            None => settings["mode"] = toml_edit::value(mode),
        }
        Ok(settings.to_string().into_bytes())
    }

    /// Removes the template's folder.
    pub fn delete(self) -> Result<Removed, Failure> {
        files::remove_folder(&self.folder()).map_err(|error| Failure::because(&error))
    }
}

/// Parses the name of a template.
pub fn name(text: &str) -> Result<TaskName, Failure> {
    TaskName::of("template", text)
}

/// Returns all templates by name; of two with the same name, the project's comes first.
pub fn list(project: &Path) -> Result<Vec<Template>, Failure> {
    let mut all = Vec::new();
    for store in TemplateStore::all(project) {
        all.extend(store.list()?);
    }
    // A stable sort keeps the one with priority first.
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// Finds a template by name: the project's, else the user's.
pub fn find(project: &Path, name: &TaskName) -> Result<Template, Failure> {
    find_on(&TemplateStore::all(project), name)
}

/// Finds a template by name in the first of these stores that has it.
pub fn find_on(stores: &[TemplateStore], name: &TaskName) -> Result<Template, Failure> {
    let mut there = Vec::new();
    for store in stores {
        if let Some(template) = store.get(name)? {
            return Ok(template);
        }
        there.extend(store.list().unwrap_or_default());
    }
    let failure = Failure::usage(format!("there is no template `{name}`"));
    let names: Vec<_> = there.iter().map(|template| template.name.as_str()).collect();
    Err(failure.hint(if names.is_empty() {
        "run `nightwright task template save TASK` to save the instructions of a task".to_owned()
    } else {
        known_names(name.as_str(), &names)
    }))
}

fn already_there(name: &TaskName) -> Failure {
    Failure::usage(format!("the template `{name}` already exists"))
        .hint("choose another name, or replace it with --yes")
}

/// Returns the folder of the user's configuration.
fn user_folder() -> Result<PathBuf, Failure> {
    let file = config::user_file(|name| env::var_os(name));
    let folder = file.as_deref().and_then(Path::parent).map(Path::to_owned);
    folder.ok_or_else(|| {
        Failure::trouble("neither `XDG_CONFIG_HOME` nor `HOME` is an absolute path")
            .hint("set one of them to use templates for all projects")
    })
}
