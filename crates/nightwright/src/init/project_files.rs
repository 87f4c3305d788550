//! The files that `init` inspects: their names, and the text of those that describe a project or
//! come from another tool.
//!
//! Everything is read here, once. The functions that evaluate it do not access the disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::import::table;
use crate::config::principles;
use crate::error::Failure;
use crate::files::{check_inside, read_inside};

/// Maximum size of a file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Maximum number of entries per folder; further ones are ignored.
const MAX_ENTRIES: usize = 10_000;

/// Folders whose names are listed; the empty name is the project's folder.
const MAX_LISTED: &[&str] = &[
    "",
    "src",
    "test",
    "tests",
    "__tests__",
    ".venv/bin",
    "venv/bin",
    ".claude",
    "scripts/ralph",
    ".nightwright",
    ".nightwright/hooks",
    ".nightwright/templates",
    TASKS,
];

/// Files whose text is read wherever they are.
const READ: &[&str] = &[
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
    "pom.xml",
    "GNUmakefile",
    "makefile",
    "Makefile",
    "INSTRUCTIONS.md",
    "task.toml",
    "prd.json",
];

/// Maximum number of entries in the folders of other tools.
const MAX_FOREIGN_ENTRIES: usize = 20_000;

/// The folder of the project's tasks.
pub(super) const TASKS: &str = ".nightwright/tasks";

/// The content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryContent {
    /// A file, with its text.
    Text(String),
    /// A file whose text is not needed.
    Unread,
    Folder,
    /// An unusable path, with the reason.
    Broken(String),
}

/// The inspected paths, relative to the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    entries: BTreeMap<String, EntryContent>,
    /// The user's path for principles; empty for none.
    principles: Option<String>,
}

impl ProjectFiles {
    /// Reads a project. Errors are part of the result.
    pub fn of(project: &Path) -> Self {
        let mut view = Self::default();
        for folder in MAX_LISTED {
            view.list(project, folder);
        }
        for above in [TASKS, ".nightwright/templates"] {
            for folder in view.folders_in(above) {
                view.list(project, &folder);
            }
        }
        let exists = |path: &str| fs::symlink_metadata(project.join(path)).is_ok();
        let mut open: Vec<String> = table::folders(exists).into_iter().map(str::to_owned).collect();
        while let Some(folder) = open.pop() {
            view.list(project, &folder);
            if view.entries.len() < MAX_FOREIGN_ENTRIES {
                let inner = view.folders_in(&folder).into_iter();
                open.extend(inner.filter(|folder| !table::is_one(folder)));
            }
        }
        view
    }

    /// Returns the paths of the folders in a folder.
    fn folders_in(&self, folder: &str) -> Vec<String> {
        let paths = self.names_in(folder).map(|name| inside(folder, name));
        paths.filter(|path| self.has_folder(path)).collect()
    }

    /// Reads a package inside a project: only its own files.
    pub fn of_package(package: &Path) -> Self {
        let mut view = Self::default();
        for folder in ["", "src", "test", "tests", "__tests__"] {
            view.list(package, folder);
        }
        view
    }

    /// Adds one more path.
    #[must_use]
    pub fn with(mut self, path: &str, content: EntryContent) -> Self {
        self.entries.insert(path.to_owned(), content);
        self
    }

    /// Sets the user's path for principles (empty for none), and reads it.
    #[must_use]
    pub fn with_principles(mut self, project: &Path, file: &str) -> Self {
        self.principles = Some(file.to_owned());
        if !file.is_empty() && fs::symlink_metadata(project.join(file)).is_ok() {
            let content = look(project, file, file);
            self.entries.entry(file.to_owned()).or_insert(content);
        }
        self
    }

    /// Returns the path for principles; empty for none.
    pub fn principles_file(&self) -> &str {
        self.principles.as_deref().unwrap_or(principles::USUAL)
    }

    /// Returns the content of this path.
    pub fn get(&self, path: &str) -> Option<&EntryContent> {
        self.entries.get(path)
    }

    /// Returns the text of a file that could be read.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.get(path)? {
            EntryContent::Text(text) => Some(text),
            EntryContent::Unread | EntryContent::Folder | EntryContent::Broken(_) => None,
        }
    }

    /// Whether the file exists, readable or not.
    pub fn has_file(&self, path: &str) -> bool {
        match self.get(path) {
            Some(EntryContent::Text(_) | EntryContent::Unread | EntryContent::Broken(_)) => true,
            Some(EntryContent::Folder) | None => false,
        }
    }

    pub fn has_folder(&self, path: &str) -> bool {
        self.get(path) == Some(&EntryContent::Folder)
    }

    /// Returns why an existing path cannot be used.
    pub fn broken(&self, path: &str) -> Option<&str> {
        match self.get(path)? {
            EntryContent::Broken(why) => Some(why),
            EntryContent::Text(_) | EntryContent::Unread | EntryContent::Folder => None,
        }
    }

    /// Returns all inspected paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Returns the names of all entries of a folder; the empty name is the project's folder.
    pub fn names_in<'a>(&'a self, folder: &str) -> impl Iterator<Item = &'a str> {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        self.entries
            .keys()
            .filter_map(move |path| path.strip_prefix(&start))
            .filter(|name| !name.is_empty() && !name.contains('/'))
    }

    fn list(&mut self, project: &Path, folder: &str) {
        let path = project.join(folder);
        if !path.is_dir() {
            return;
        }
        if let Err(error) = check_inside(project, &path) {
            let why = Failure::because(&error).message;
            self.entries.insert(folder.to_owned(), EntryContent::Broken(why));
            return;
        }
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) => {
                let why = format!("cannot list `{}`: {error}", path.display());
                self.entries.insert(folder.to_owned(), EntryContent::Broken(why));
                return;
            }
        };
        // An entry that disappears during the listing is ignored.
        for entry in entries.take(MAX_ENTRIES).flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let name = inside(folder, &name.to_string_lossy());
                self.entries.insert(name, EntryContent::Broken("its name is not UTF-8".to_owned()));
                continue;
            };
            let relative = inside(folder, name);
            let content = look(project, &relative, name);
            self.entries.insert(relative, content);
        }
    }
}

/// Returns the path of a name in a folder of the project.
pub(super) fn inside(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn look(project: &Path, relative: &str, name: &str) -> EntryContent {
    if project.join(relative).is_dir() {
        return EntryContent::Folder;
    }
    if !READ.contains(&name) && !table::is_read(relative) {
        return EntryContent::Unread;
    }
    match read_inside(project, Path::new(relative), MAX_FILE_BYTES) {
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Ok(text) => EntryContent::Text(text.trim_start_matches('\u{feff}').to_owned()),
            Err(_) => EntryContent::Broken(format!("`{relative}` is not UTF-8")),
        },
        Ok(None) => EntryContent::Broken(format!("`{relative}` is a broken link")),
        Err(error) => EntryContent::Broken(Failure::because(&error).message),
    }
}

/// Whether a name has this extension.
pub(super) fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}
