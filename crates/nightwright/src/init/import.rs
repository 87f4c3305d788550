//! Imports instructions, plans and limits from other tools.
//!
//! An import is a value that is shown before the user is asked. It never changes its source. A
//! source that cannot be parsed is skipped with a note.

mod fresher;
mod principles;
mod ralph;
mod shell;
mod stories;
#[cfg(test)]
mod tests;
mod workspaces;

use std::collections::BTreeSet;

use nightwright_core::display::one_line;
use nightwright_core::settings::Commands;

use super::project_files::{EntryContent, ProjectFiles, TASKS, inside};
use super::text::quoted;
use crate::task::INSTRUCTIONS;

/// The file with the instructions that every run receives.
pub const AGENTS: &str = ".nightwright/AGENTS.md";

/// Maximum length of a task name; a longer one is truncated.
const NAME_LENGTH: usize = 60;

/// The files of one tool, and the files and settings that an import would create from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The source of the import, as shown to the user.
    pub source: String,
    /// The files that the import would write.
    pub files: Vec<ImportedFile>,
    /// The settings for the whole project.
    pub taken: ImportedSettings,
    /// The parts that are left out, with the reasons.
    pub notes: Vec<String>,
}

/// A file that an import would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFile {
    /// The path of the source, relative to the project.
    pub from: String,
    /// The path of the new file, relative to the project.
    pub to: String,
    /// The contents of the new file.
    pub text: String,
}

/// Settings of the whole project that an import brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedSettings {
    /// The value for `limits.max_iterations`.
    pub max_iterations: Option<u32>,
    /// The value for `agent.max_turns`.
    pub max_turns: Option<u32>,
    /// The value for `model.name`.
    pub model: Option<String>,
    /// Commands that are offered to the user, and used only if the user accepts them.
    pub commands: Commands,
}

/// All possible imports, and the recognised parts that are not imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imports {
    /// One import per source.
    pub imports: Vec<Import>,
    /// The parts that are not imported, with the reasons.
    pub notes: Vec<String>,
}

/// Returns everything that can be imported.
pub fn imports(view: &ProjectFiles) -> Imports {
    let mut names = UsedNames::of(view);
    let mut found = Imports::default();
    let sources = [
        fresher::fresher,
        workspaces::workspaces,
        ralph::folder,
        ralph::root,
        stories::stories,
        principles::principles,
    ];
    for source in sources {
        let Some(mut import) = source(view, &mut names) else { continue };
        import.leave_out_known(view);
        if import.is_empty() {
            found.notes.push(format!("{}: there is nothing to import", import.source));
            found.notes.extend(import.notes);
        } else {
            found.imports.push(import);
        }
    }
    found
}

impl Import {
    fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.taken == ImportedSettings::default()
    }

    /// Removes tasks that were imported before, which have identical instructions.
    fn leave_out_known(&mut self, view: &ProjectFiles) {
        for (name, text) in self.instructions() {
            let same = |known: &&str| {
                let path = format!("{TASKS}/{known}/{INSTRUCTIONS}");
                view.text(&path) == Some(text.as_str())
            };
            let Some(known) = view.names_in(TASKS).find(same) else { continue };
            let folder = format!("{TASKS}/{name}/");
            self.files.retain(|file| !file.to.starts_with(&folder));
            self.notes.push(format!("the task `{known}` is there already"));
        }
    }

    /// Returns the names of the new tasks that can be run.
    pub fn tasks(&self) -> Vec<String> {
        self.instructions().into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the instructions to write, by the name of their task.
    fn instructions(&self) -> Vec<(String, String)> {
        let of_task = |file: &ImportedFile| {
            let name = file.to.strip_prefix(TASKS)?.strip_prefix('/')?;
            let name = name.strip_suffix(INSTRUCTIONS)?.strip_suffix('/')?;
            Some((name.to_owned(), file.text.clone()))
        };
        self.files.iter().filter_map(of_task).collect()
    }

    /// Describes the import, one line per file or setting.
    pub fn plan(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.files.iter().map(|file| format!("{} -> {}", file.from, file.to)).collect();
        let ImportedSettings { max_iterations, max_turns, model, commands } = &self.taken;
        let Commands { test, build, lint } = commands;
        let mut set = |key: &str, value: Option<String>| {
            lines.extend(value.map(|value| format!("{key} = {value}")));
        };
        set("limits.max_iterations", max_iterations.map(|number| number.to_string()));
        set("agent.max_turns", max_turns.map(|number| number.to_string()));
        set("model.name", model.as_deref().map(quoted));
        set("commands.test", test.as_deref().map(quoted));
        set("commands.build", build.as_deref().map(quoted));
        set("commands.lint", lint.as_deref().map(quoted));
        lines
    }

    /// Copies a file unchanged. Returns whether that was possible.
    fn copy(&mut self, view: &ProjectFiles, from: &str, to: &str) -> bool {
        self.notes.extend(unusable(view, from));
        match view.text(from).filter(|text| !text.trim().is_empty()) {
            Some(text) => {
                self.write(from, to, text.to_owned());
                true
            }
            None => false,
        }
    }

    /// Copies the first of these files that can be copied.
    fn copy_first(&mut self, view: &ProjectFiles, folder: &str, names: &[&str], to: &str) -> bool {
        names.iter().any(|name| self.copy(view, &inside(folder, name), to))
    }

    /// Copies the instructions for every run, unless the project has some already.
    fn copy_agents(&mut self, view: &ProjectFiles, folder: &str, names: &[&str]) {
        let there = |name: &&&str| view.has_file(&inside(folder, name));
        let Some(name) = names.iter().find(there) else { return };
        if view.get(AGENTS).is_some() {
            let from = inside(folder, name);
            self.notes.push(format!("skipped `{from}`: `{AGENTS}` already exists"));
        } else {
            self.copy_first(view, folder, names, AGENTS);
        }
    }

    fn write(&mut self, from: &str, to: &str, text: String) {
        self.files.push(ImportedFile { from: from.to_owned(), to: to.to_owned(), text });
    }

    fn read<'a>(&mut self, view: &'a ProjectFiles, path: &str) -> Option<&'a str> {
        if let Some(why) = view.broken(path) {
            self.notes.push(why.to_owned());
        }
        view.text(path)
    }
}

/// Returns why an existing path cannot be imported.
fn unusable(view: &ProjectFiles, path: &str) -> Option<String> {
    match view.get(path)? {
        EntryContent::Text(text) => text.trim().is_empty().then(|| format!("`{path}` is empty")),
        EntryContent::Broken(why) => Some(why.clone()),
        EntryContent::Folder => Some(format!("`{path}` is a folder")),
        EntryContent::Unread => None,
    }
}

/// The task names that are in use.
struct UsedNames {
    used: BTreeSet<String>,
}

impl UsedNames {
    fn of(view: &ProjectFiles) -> Self {
        Self { used: view.names_in(TASKS).map(str::to_lowercase).collect() }
    }

    /// Returns the folder of a new task whose name is as close to `wanted` as possible.
    fn folder(&mut self, wanted: &str) -> String {
        let valid = valid_name(wanted);
        let mut name = valid.clone();
        let mut number = 2;
        // Some file systems ignore case, so names must differ in more than case.
        while !self.used.insert(name.to_lowercase()) {
            name = format!("{valid}-{number}");
            number += 1;
        }
        format!("{TASKS}/{name}")
    }
}

/// Derives a valid task name from a name in another tool.
fn valid_name(wanted: &str) -> String {
    let mut name = String::new();
    for c in wanted.chars() {
        let c = if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        if c != '-' || !(name.is_empty() || name.ends_with('-')) {
            name.push(c);
        }
        if name.len() == NAME_LENGTH {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "imported".to_owned() } else { name.to_owned() }
}

/// The settings in which a task differs from the project.
#[derive(Default)]
struct TaskSettings {
    mode: Option<&'static str>,
    delay_seconds: Option<u32>,
    max_iterations: Option<u32>,
    stagnation: Option<u32>,
    attempt_minutes: Option<u32>,
}

impl TaskSettings {
    fn text(&self, from: &str) -> String {
        let Self { mode, delay_seconds, max_iterations, stagnation, attempt_minutes } = self;
        let mut lines = vec![format!("# Imported from `{}`.", one_line(from, usize::MAX))];
        lines.extend(mode.map(|mode| format!("mode = {}", quoted(mode))));
        lines.extend(delay_seconds.map(|seconds| format!("delay = \"{seconds}s\"")));
        let mut section = |name: &str, line: Option<String>| {
            lines.extend(line.map(|line| format!("\n[{name}]\n{line}")));
        };
        section("limits", max_iterations.map(|number| format!("max_iterations = {number}")));
        section("stagnation", stagnation.map(|number| format!("threshold = {number}")));
        section("deadlines", attempt_minutes.map(|minutes| format!("attempt = \"{minutes}m\"")));
        lines.join("\n") + "\n"
    }
}
