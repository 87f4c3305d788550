//! What `init` looks at: names of files, and the text of those that say something about a project
//! or come from another tool. Everything is read here, once; what follows from it is decided by
//! functions that touch no disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::config::principles;
use crate::error::Failure;
use crate::files::{check_inside, read_inside};

/// No file that is looked at is as large as that.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Entries of one folder that are looked at; what comes after them is not seen.
const MAX_ENTRIES: usize = 10_000;

/// Folders whose names are listed; the project's own folder is the empty one.
const MAX_LISTED: &[&str] = &[
    "",
    "src",
    "test",
    "tests",
    "__tests__",
    ".venv/bin",
    "venv/bin",
    ".claude",
    ".fresher",
    ".ralph",
    "scripts/ralph",
    WORKSPACES,
    ".nightwright",
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
    "PROMPT.md",
    "fix_plan.md",
    "@fix_plan.md",
    "AGENT.md",
    "@AGENT.md",
    "AGENTS.md",
    "INSTRUCTIONS.md",
    "TODO.md",
    ".metadata.json",
    ".ralphrc",
    "prd.json",
    "principles.yaml",
    "config.sh",
    "config.toml",
];

/// Where claude-iterate keeps its tasks.
pub(super) const WORKSPACES: &str = "claude-iterate/workspaces";

/// Where the project's own tasks are.
pub(super) const TASKS: &str = ".nightwright/tasks";

/// What is there under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryContent {
    /// A file, with its text.
    Text(String),
    /// A file whose text says nothing to us.
    Unread,
    /// A folder.
    Folder,
    /// Something that can't be used, and why.
    Broken(String),
}

/// What is there, by path relative to the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    entries: BTreeMap<String, EntryContent>,
    /// Where principles go, if the user says so; empty = nowhere.
    principles: Option<String>,
}

impl ProjectFiles {
    /// Looks at a project. Whatever can't be read is part of the answer.
    pub fn of(project: &Path) -> Self {
        let mut view = Self::default();
        for folder in MAX_LISTED {
            view.list(project, folder);
        }
        for above in [WORKSPACES, TASKS] {
            let names: Vec<_> = view.names_in(above).map(str::to_owned).collect();
            for name in names {
                let folder = format!("{above}/{name}");
                if view.has_folder(&folder) {
                    view.list(project, &folder);
                }
            }
        }
        view
    }

    /// Looks at a package inside a project: at its own files alone.
    pub fn of_package(package: &Path) -> Self {
        let mut view = Self::default();
        for folder in ["", "src", "test", "tests", "__tests__"] {
            view.list(package, folder);
        }
        view
    }

    /// The view with one more thing in it.
    #[must_use]
    pub fn with(mut self, path: &str, content: EntryContent) -> Self {
        self.entries.insert(path.to_owned(), content);
        self
    }

    /// The view with what the user says of where principles go (empty = nowhere), and what is there.
    #[must_use]
    pub fn with_principles(mut self, project: &Path, file: &str) -> Self {
        self.principles = Some(file.to_owned());
        if !file.is_empty() && fs::symlink_metadata(project.join(file)).is_ok() {
            let content = look(project, file, file);
            self.entries.entry(file.to_owned()).or_insert(content);
        }
        self
    }

    /// Where principles go; empty = nowhere.
    pub fn principles_file(&self) -> &str {
        self.principles.as_deref().unwrap_or(principles::USUAL)
    }

    /// What is there under this path.
    pub fn get(&self, path: &str) -> Option<&EntryContent> {
        self.entries.get(path)
    }

    /// The text of a file that could be read.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.get(path)? {
            EntryContent::Text(text) => Some(text),
            EntryContent::Unread | EntryContent::Folder | EntryContent::Broken(_) => None,
        }
    }

    /// Whether there is a file, readable or not.
    pub fn has_file(&self, path: &str) -> bool {
        match self.get(path) {
            Some(EntryContent::Text(_) | EntryContent::Unread | EntryContent::Broken(_)) => true,
            Some(EntryContent::Folder) | None => false,
        }
    }

    /// Whether there is a folder.
    pub fn has_folder(&self, path: &str) -> bool {
        self.get(path) == Some(&EntryContent::Folder)
    }

    /// Why something that is there can't be used.
    pub fn broken(&self, path: &str) -> Option<&str> {
        match self.get(path)? {
            EntryContent::Broken(why) => Some(why),
            EntryContent::Text(_) | EntryContent::Unread | EntryContent::Folder => None,
        }
    }

    /// The names of everything right inside a folder; the project's own folder is the empty one.
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
                let why = format!("can't list `{}`: {error}", path.display());
                self.entries.insert(folder.to_owned(), EntryContent::Broken(why));
                return;
            }
        };
        // An entry that is gone while we look was not there.
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

/// The path of a name in a folder of the project.
pub(super) fn inside(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn look(project: &Path, relative: &str, name: &str) -> EntryContent {
    if project.join(relative).is_dir() {
        return EntryContent::Folder;
    }
    let prompt = name.starts_with("PROMPT.") && has_extension(name, "md");
    if !READ.contains(&name) && !prompt {
        return EntryContent::Unread;
    }
    match read_inside(project, Path::new(relative), MAX_FILE_BYTES) {
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Ok(text) => EntryContent::Text(text.trim_start_matches('\u{feff}').to_owned()),
            Err(_) => EntryContent::Broken(format!("`{relative}` is not UTF-8")),
        },
        Ok(None) => EntryContent::Broken(format!("`{relative}` is a link to nothing")),
        Err(error) => EntryContent::Broken(Failure::because(&error).message),
    }
}

/// Whether a name ends like this, after a dot.
pub(super) fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}
