//! Reads the files of one tool by its table: each is copied, converted, or left with a reason.

use std::collections::BTreeMap;

use nightwright_core::settings::Commands;

use super::table::{FileRule, KeyRule, Tool};
use super::{
    HOME, Import, ImportedFile, ImportedSettings, ImportedUnit, UsedNames, foreign_settings, plan,
    principles, unusable, valid_name,
};
use crate::config::{self, ConfigValue};
use crate::init::project_files::ProjectFiles;
use crate::task::{INSTRUCTIONS, TODO};

/// Maximum number of paths that a note lists. More are named by their pattern.
const MAX_LISTED: usize = 3;

/// The reason for files that no rule names.
const NO_USE: &str = "nightwright does not use it";

/// The import of one tool in progress.
struct Reader<'a> {
    tool: &'static Tool,
    view: &'a ProjectFiles,
    names: &'a mut UsedNames,
    import: Import,
    /// The tasks and templates, by the names that they have in the table.
    units: BTreeMap<String, Unit>,
    /// The settings with a note, by their files and notes.
    noted: BTreeMap<(String, String), Vec<String>>,
    /// The files that are left, by their patterns and reasons.
    left: BTreeMap<(String, String), Vec<String>>,
}

struct Unit {
    unit: ImportedUnit,
    /// The instructions, unless a file has them.
    instructions: Option<&'static str>,
}

/// Returns the import of a tool; `None` if the tool left no mark.
pub(super) fn import(
    tool: &'static Tool,
    view: &ProjectFiles,
    names: &mut UsedNames,
) -> Option<Import> {
    let found = tool.found(|path| view.get(path).is_some());
    if found.is_empty() {
        return None;
    }
    let import = Import::new(format!("{} ({})", tool.name, found.join(", ")));
    let (units, noted, left) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut reader = Reader { tool, view, names, import, units, noted, left };
    reader.read();
    Some(reader.finish())
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut open: Vec<String> = self.paths();
        for rule in &self.tool.files {
            let (now, later) = open.into_iter().partition(|path| {
                self.tool.rule(path).is_some_and(|(first, _)| std::ptr::eq(first, rule))
            });
            open = later;
            let now: Vec<String> = now;
            for path in now {
                let part = self.tool.rule(&path).map(|(_, part)| part.to_owned());
                self.apply(rule, &path, &part.unwrap_or_default());
            }
        }
        for path in open {
            let folder = path.rsplit_once('/').map(|(folder, _)| format!("{folder}/*"));
            self.leave(folder.unwrap_or_else(|| path.clone()), NO_USE, path);
        }
    }

    /// Returns all paths of the tool. Folders that have one rule end with `/`.
    fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for path in self.view.paths() {
            let in_folder = |folder: &String| {
                path == folder
                    || path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            let is_own = self.tool.folders.iter().any(in_folder);
            let folder = format!("{path}/");
            if self.view.has_folder(path) {
                let has_rule = self.tool.rule(&folder).is_some();
                paths.extend(has_rule.then_some(folder));
            } else if is_own || self.tool.rule(path).is_some() {
                paths.push(path.to_owned());
            }
        }
        paths
    }

    fn apply(&mut self, rule: &'static FileRule, path: &str, part: &str) {
        if let Some(why) = &rule.left {
            return self.leave(rule.path.clone(), why, path.to_owned());
        }
        if let Some(other) = rule.unless.as_ref().filter(|other| self.view.has_file(other)) {
            let why = format!("replaced by `{other}`");
            return self.leave(rule.path.clone(), &why, path.to_owned());
        }
        if let Some(why) = unusable(self.view, path) {
            return self.import.notes.push(why);
        }
        let text = self.view.text(path).unwrap_or_default().to_owned();
        let with = |target: &String| target.replacen('*', part, 1);
        if let Some(target) = rule.settings.as_ref().map(with) {
            return self.settings(rule, &target, path, &text);
        }
        if let Some(target) = rule.plan.as_ref().map(with) {
            let (instructions, todo) = plan::split(&text);
            self.copy(rule, &format!("{target}/{INSTRUCTIONS}"), path, instructions);
            if let Some(todo) = todo {
                self.copy(rule, &format!("{target}/{TODO}"), path, todo);
            }
        } else if let Some(target) = rule.to.as_ref().map(with) {
            self.copy(rule, &target, path, text);
        }
        self.import.notes.extend(rule.note.as_ref().map(|note| format!("`{path}`: {note}")));
    }

    /// Adds a file. Files with the same target are joined; a target that exists is not replaced.
    fn copy(&mut self, rule: &'static FileRule, target: &str, path: &str, text: String) {
        if target == "principles.toml" {
            return match principles::convert(self.view, path, &text) {
                Ok((to, text)) => self.push(path, to, text),
                Err(why) => self.import.notes.push(why),
            };
        }
        let to = match self.unit(rule, target, path) {
            Some((folder, file)) => format!("{folder}/{file}"),
            None => format!("{HOME}/{target}"),
        };
        if self.view.get(&to).is_some() {
            return self.import.notes.push(format!("skipped `{path}`: `{to}` already exists"));
        }
        self.push(path, to, text);
    }

    fn push(&mut self, path: &str, to: String, text: String) {
        match self.import.files.iter_mut().find(|file| file.to == to) {
            Some(file) => {
                file.from = format!("{} + {path}", file.from);
                file.text = format!("{}\n\n{text}", file.text.trim_end());
            }
            None => self.import.files.push(ImportedFile { from: path.to_owned(), to, text }),
        }
    }

    /// Returns the folder of the task or template of a target, and the file in it. It is created if
    /// this is its first file.
    fn unit(
        &mut self,
        rule: &'static FileRule,
        target: &str,
        path: &str,
    ) -> Option<(String, String)> {
        let mut parts = target.splitn(3, '/');
        let (kind, name) = (parts.next()?, parts.next()?);
        let file = parts.next().unwrap_or_default().to_owned();
        if !["tasks", "templates"].contains(&kind) {
            return None;
        }
        let names = &mut *self.names;
        let entry = self.units.entry(format!("{kind}/{name}")).or_insert_with(|| {
            let folder = match kind {
                "tasks" => names.task(name),
                _ => format!("{HOME}/templates/{}", valid_name(name)),
            };
            let origin = path.to_owned();
            let (settings, settings_from) = (ImportedSettings::new(), Vec::new());
            let unit = ImportedUnit { folder, origin, settings, settings_from };
            Unit { unit, instructions: None }
        });
        if let Some(mode) = &rule.mode
            && entry.unit.settings.iter().all(|(name, _)| *name != "mode")
        {
            entry.unit.settings.insert(0, ("mode", ConfigValue::from(mode.as_str())));
        }
        entry.instructions = entry.instructions.or(rule.instructions.as_deref());
        Some((entry.unit.folder.clone(), file))
    }

    /// Takes over the settings of a file.
    fn settings(&mut self, rule: &'static FileRule, target: &str, path: &str, text: &str) {
        let found = match foreign_settings::read(path, text) {
            Ok(found) => found,
            Err(why) => return self.import.notes.push(why),
        };
        // A file with settings alone makes no task.
        let from = match self.units.get_mut(target) {
            Some(unit) => Some(&mut unit.unit.settings_from),
            None => target.is_empty().then_some(&mut self.import.settings_from),
        };
        let Some(from) = from else {
            return self.leave(rule.path.clone(), "there is no task for it", path.to_owned());
        };
        from.push(path.to_owned());
        for (name, value) in found {
            let value = match value {
                Ok(value) => value,
                Err(why) => {
                    self.import.notes.push(format!("{why} (in `{path}`)"));
                    continue;
                }
            };
            let mut rules = self.tool.keys.iter();
            let Some(key) = rules.find(|key| key.is_about(&name, &value)) else {
                self.note("not imported: unknown setting", &name, path);
                continue;
            };
            if !key.is_default(&value) {
                self.set(key, rule, target, &name, value, path);
            }
        }
    }

    fn set(
        &mut self,
        key: &'static KeyRule,
        rule: &'static FileRule,
        target: &str,
        name: &str,
        mut value: Vec<String>,
        path: &str,
    ) {
        let before = value.len();
        value.retain(|part| Some(part) != key.without.as_ref());
        if let Some(note) = &key.note
            && (key.without.is_none() || value.len() < before)
        {
            self.note(note, name, path);
        }
        let Some(to) = &key.to else { return };
        if value.len() < before && value.is_empty() {
            return;
        }
        for part in &mut value {
            part.push_str(&key.suffix);
        }
        let known = config::find(to).expect("a test finds every key of the table");
        let parsed = match parse(key, known, &value) {
            Ok(parsed) => parsed,
            Err(allowed) => {
                let value = value.join(" ");
                let note = format!("skipped `{name} = {value}` of `{path}`: it must be {allowed}");
                return self.import.notes.push(note);
            }
        };
        let Commands { test, build, lint } = &mut self.import.commands;
        let command = match known.name {
            "commands.test" => Some(test),
            "commands.build" => Some(build),
            "commands.lint" => Some(lint),
            _ => None,
        };
        if let Some(command) = command {
            command.get_or_insert_with(|| value.join(" "));
            return;
        }
        let settings = match self.unit(rule, target, path) {
            Some(_) => match self.units.get_mut(target) {
                Some(unit) => &mut unit.unit.settings,
                None => return,
            },
            None => &mut self.import.settings,
        };
        match settings.iter_mut().find(|(name, _)| *name == known.name) {
            // The mode of the rule is only the usual one.
            Some((name, old)) if *name == "mode" => *old = parsed,
            Some(_) => {}
            None => settings.push((known.name, parsed)),
        }
    }

    fn note(&mut self, note: &str, name: &str, path: &str) {
        let names = self.noted.entry((path.to_owned(), note.to_owned())).or_default();
        names.push(format!("`{name}`"));
    }

    fn leave(&mut self, pattern: String, why: &str, path: String) {
        self.left.entry((pattern, why.to_owned())).or_default().push(path);
    }

    fn finish(mut self) -> Import {
        if self.import.settings.is_empty() && self.import.commands == Commands::default() {
            for path in std::mem::take(&mut self.import.settings_from) {
                self.leave(path.clone(), "it contains no settings that nightwright imports", path);
            }
        }
        for folder in &self.tool.folders {
            let why = self.view.broken(folder).map(str::to_owned);
            self.import.notes.extend(why);
        }
        for Unit { unit, instructions } in self.units.into_values() {
            let path = format!("{}/{INSTRUCTIONS}", unit.folder);
            let has_instructions = self.import.files.iter().any(|file| file.to == path);
            match instructions {
                _ if has_instructions => {}
                Some(text) => {
                    let (from, text) = (unit.origin.clone(), format!("{text}\n"));
                    self.import.files.push(ImportedFile { from, to: path, text });
                }
                None => {
                    let origin = &unit.origin;
                    self.import.notes.push(format!("there are no instructions for `{origin}` yet"));
                }
            }
            self.import.units.push(unit);
        }
        for ((path, note), names) in self.noted {
            self.import.notes.push(format!("{} of `{path}`: {note}", names.join(", ")));
        }
        for ((pattern, why), paths) in self.left {
            let named = if paths.len() > MAX_LISTED {
                format!("{} files `{pattern}`", paths.len())
            } else {
                paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
            };
            self.import.notes.push(format!("not imported: {named} ({why})"));
        }
        self.import
    }
}

/// Parses a value of another program as one of the configuration key `known`. The error names the
/// allowed values.
fn parse(key: &KeyRule, known: &config::Key, value: &[String]) -> Result<ConfigValue, String> {
    match &key.only {
        Some(only) if !only.contains(&value.join(" ")) => {
            Err(format!("one of {}", only.join(", ")))
        }
        Some(_) | None => {
            let pieces: Vec<&str> = value.iter().map(String::as_str).collect();
            known.kind.parse(&pieces)
        }
    }
}
