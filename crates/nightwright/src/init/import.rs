//! Imports instructions, plans and settings from other tools.
//!
//! An import is a value that is shown before the user is asked. It never changes its source.
//! Everything of a tool is either imported or named in a note, with the reason. `tools.toml` lists
//! the files and settings of each tool; user stories and principles are converted by code.

mod foreign_settings;
mod plan;
mod principles;
mod read;
mod shell;
mod stories;
pub(super) mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use nightwright_core::display::one_line;
use nightwright_core::settings::Commands;

use super::file_plan::CONFIG;
use super::project_files::{EntryContent, ProjectFiles, TASKS};
use crate::config::edit;
use crate::config::{self, ConfigValue};
use crate::task::{INSTRUCTIONS, SETTINGS};

/// The folder below which everything is imported.
const HOME: &str = ".nightwright";

/// Maximum length of a task name; a longer one is truncated.
const NAME_LENGTH: usize = 60;

/// The files of one tool, and the files and settings that an import would create from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The source of the import, as shown to the user.
    pub source: String,
    /// The files that the import would write.
    pub files: Vec<ImportedFile>,
    /// The tasks and templates with their settings.
    pub units: Vec<ImportedUnit>,
    /// The settings for the whole project.
    pub settings: ImportedSettings,
    /// The files that these come from.
    pub settings_from: Vec<String>,
    /// Commands that are offered to the user, and used only if the user accepts them.
    pub commands: Commands,
    /// The parts that are left out, with the reasons.
    pub notes: Vec<String>,
}

/// A file that an import would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFile {
    /// The path of the source, relative to the project; several paths if files are joined.
    pub from: String,
    /// The path of the new file, relative to the project.
    pub to: String,
    /// The contents of the new file.
    pub text: String,
}

/// A task or a template that an import would create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedUnit {
    /// The new folder, relative to the project.
    pub folder: String,
    /// The path of its first source.
    pub origin: String,
    pub settings: ImportedSettings,
    /// The files that these come from.
    pub settings_from: Vec<String>,
}

/// Settings that differ from the defaults, by the names of their keys.
pub type ImportedSettings = Vec<(&'static str, ConfigValue)>;

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
    let tools = table::tools().iter().filter_map(|tool| read::import(tool, view, &mut names));
    let mut all: Vec<Import> = tools.collect();
    all.extend(stories::stories(view, &mut names));
    let mut found = Imports::default();
    for mut import in all {
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
        let Self { files, units, settings, commands, .. } = self;
        files.is_empty()
            && units.is_empty()
            && settings.is_empty()
            && *commands == Commands::default()
    }

    /// Removes tasks that were imported before: their settings name the same source, or their
    /// instructions are identical.
    fn leave_out_known(&mut self, view: &ProjectFiles) {
        let mut known = Vec::new();
        self.units.retain(|unit| {
            let instructions = format!("{}/{INSTRUCTIONS}", unit.folder);
            let own = self.files.iter().find(|file| file.to == instructions);
            let is_same = |name: &&str| {
                let text = |file| view.text(&format!("{TASKS}/{name}/{file}"));
                let has_origin = |text: &str| text.lines().next() == Some(&unit.mark());
                text(SETTINGS).is_some_and(has_origin)
                    || own.is_some_and(|own| text(INSTRUCTIONS) == Some(own.text.as_str()))
            };
            let same = unit.task().and_then(|_| view.names_in(TASKS).find(is_same));
            known.extend(same.map(|name| (unit.folder.clone(), name.to_owned())));
            same.is_none()
        });
        for (folder, name) in known {
            let folder = format!("{folder}/");
            self.files.retain(|file| !file.to.starts_with(&folder));
            self.notes.push(format!("the task `{name}` already exists"));
        }
    }

    /// Returns the names of the new tasks that can be run.
    pub fn tasks(&self) -> Vec<String> {
        let can_run = |unit: &&ImportedUnit| {
            let path = format!("{}/{INSTRUCTIONS}", unit.folder);
            self.files.iter().any(|file| file.to == path)
        };
        let names = self.units.iter().filter(can_run).filter_map(ImportedUnit::task);
        names.map(str::to_owned).collect()
    }

    /// Returns all files to write, including the settings of the tasks.
    pub fn all_files(&self) -> Vec<ImportedFile> {
        let settings = self.units.iter().map(|unit| ImportedFile {
            from: unit.origin.clone(),
            to: format!("{}/{SETTINGS}", unit.folder),
            text: unit.text(),
        });
        self.files.iter().cloned().chain(settings).collect()
    }

    /// Drops the settings that need the user's approval, because the user was not asked. Returns
    /// notes about them.
    pub fn drop_unapproved(&mut self) -> Vec<String> {
        let Self { units, settings, commands, source, .. } = self;
        let mut notes = Vec::new();
        let mut drop = |settings: &mut ImportedSettings, task: Option<&str>| {
            settings.retain(|(name, value)| {
                let is_gated = config::find(name).is_some_and(|key| key.gated);
                if is_gated {
                    let flag = task.map(|task| format!(" --task {task}")).unwrap_or_default();
                    let value = value.without_secrets();
                    notes.push(format!(
                        "skipped `{name} = {value}` of {source}, because nightwright could not ask \
                         you; to set it, run `nightwright config set{flag} {name} VALUE`"
                    ));
                }
                !is_gated
            });
        };
        drop(settings, None);
        for unit in units.iter_mut() {
            let task = unit.task().map(str::to_owned);
            drop(&mut unit.settings, task.as_deref());
        }
        if *commands != Commands::default() {
            notes.push(format!(
                "skipped the commands of {source}, because nightwright could not ask you"
            ));
        }
        notes
    }

    /// Describes the import, one line per file or setting.
    pub fn plan(&self) -> Vec<String> {
        let line = |file: &ImportedFile| format!("{} -> {}", file.from, file.to);
        let mut lines: Vec<String> = self.files.iter().map(line).collect();
        for unit in &self.units {
            let from = if unit.settings_from.is_empty() {
                &unit.origin
            } else {
                &unit.settings_from.join(" + ")
            };
            lines.push(format!("{from} -> {}/{SETTINGS}{}", unit.folder, shown(&unit.settings)));
        }
        if !self.settings.is_empty() {
            let from = self.settings_from.join(" + ");
            lines.push(format!("{from} -> {CONFIG}{}", shown(&self.settings)));
        }
        let Commands { test, build, lint } = &self.commands;
        for (name, command) in [("test", test), ("build", build), ("lint", lint)] {
            let command = command.as_deref().map(super::text::quoted);
            lines.extend(command.map(|command| format!("commands.{name} = {command}")));
        }
        lines
    }
}

/// Returns the settings as the rest of a line.
fn shown(settings: &ImportedSettings) -> String {
    let one = |(name, value): &(&str, ConfigValue)| format!("{name} = {}", value.without_secrets());
    let all = settings.iter().map(one).collect::<Vec<_>>().join(", ");
    if all.is_empty() { all } else { format!(": {all}") }
}

impl ImportedUnit {
    /// Returns the name of the task, unless it is a template.
    pub fn task(&self) -> Option<&str> {
        self.folder.strip_prefix(TASKS)?.strip_prefix('/')
    }

    /// Returns the first line of its settings, by which a later import knows it.
    fn mark(&self) -> String {
        format!("# Imported from `{}`.", one_line(&self.origin, usize::MAX))
    }

    /// Returns the text of its settings.
    fn text(&self) -> String {
        let set = |text: String, (name, value): &(&'static str, ConfigValue)| {
            let key = config::find(name).expect("a test finds every key of the table");
            edit::set(&text, key, value).unwrap_or(text)
        };
        self.settings.iter().fold(self.mark() + "\n", set)
    }
}

/// Returns why an existing path cannot be imported.
fn unusable(view: &ProjectFiles, path: &str) -> Option<String> {
    match view.get(path)? {
        EntryContent::Text(text) => text.trim().is_empty().then(|| format!("`{path}` is empty")),
        EntryContent::Broken(why) => Some(format!("skipped `{path}`: {why}")),
        EntryContent::Folder => Some(format!("`{path}` is a folder")),
        EntryContent::Unread => None,
    }
}

/// The names of tasks and templates that are in use.
struct UsedNames {
    used: BTreeSet<String>,
}

impl UsedNames {
    fn of(view: &ProjectFiles) -> Self {
        Self {
            used: view
                .names_in(TASKS)
                .map(|name| format!("{TASKS}/{}", name.to_lowercase()))
                .collect(),
        }
    }

    /// Returns the folder of a new task whose name is as close to `wanted` as possible.
    fn task(&mut self, wanted: &str) -> String {
        let valid = valid_name(wanted);
        let mut name = valid.clone();
        let mut number = 2;
        // Some file systems ignore case, so names must differ in more than case.
        while !self.used.insert(format!("{TASKS}/{}", name.to_lowercase())) {
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
