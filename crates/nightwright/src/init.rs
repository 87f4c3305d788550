//! Sets up a project: detects its kind, imports from other tools, and writes the files.
//!
//! - `project_files` reads the existing files.
//! - `detect` and `import` evaluate them without access to the disk.
//! - `ask` lets the user change the result.
//! - `text` generates the files, and `file_plan` writes them, all or none.

pub mod ask;
pub mod detect;
pub mod file_plan;
pub mod import;
pub mod project_files;
pub mod text;

use std::path::Path;

use nightwright_core::settings::Commands;

use self::ask::{NoAnswer, Prompter};
use self::detect::{DetectedProject, DetectedProjects, detect};
use self::file_plan::{ExistingConfig, FilePlan};
use self::import::{Import, Imports, imports};
use self::project_files::ProjectFiles;
use self::text::{ConfigChoices, config_text};
use crate::error::Failure;

/// The facts about a project before the user is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectScan {
    pub detected: DetectedProjects,
    /// The files of other tools.
    pub imports: Imports,
}

/// The files and settings to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitPlan {
    /// The values for the configuration.
    pub choices: ConfigChoices,
    /// The imports that the user wants.
    pub imports: Vec<Import>,
    /// Parts that are left out because the user was not asked.
    pub notes: Vec<String>,
}

/// The result of a setup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitResult {
    /// Paths relative to the project.
    pub files: Vec<String>,
    /// The parts that were left as they are, with the reasons.
    pub notes: Vec<String>,
}

impl ProjectScan {
    /// Scans a project. `principles` is the user's path for principles; empty for none.
    pub fn at(project: &Path, principles: &str) -> Self {
        let view = ProjectFiles::of(project).with_principles(project, principles);
        Self { detected: detect(&view), imports: imports(&view) }
    }

    /// Returns the findings, one line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![found_line("Project type", &self.detected.main)];
        lines.extend(self.detected.others.iter().map(|found| found_line("Also found", found)));
        lines.extend(self.detected.notes.iter().map(|note| format!("note: {note}")));
        lines
    }

    /// Returns the setup without questions. Commands that come only from another tool's files are
    /// left out, because the user has not seen them.
    pub fn defaults(self) -> InitPlan {
        let mut setup = InitPlan { imports: self.imports.imports, ..InitPlan::default() };
        for import in &mut setup.imports {
            setup.notes.extend(import.drop_unapproved());
        }
        setup.take_settings();
        setup.choices.commands = self.detected.main.commands;
        setup
    }

    /// Asks the user what to set up. `problem` says why a command cannot start.
    pub fn ask(
        self,
        person: &mut dyn Prompter,
        problem: &dyn Fn(&str) -> Option<String>,
    ) -> Result<InitPlan, NoAnswer> {
        let mut setup = InitPlan::default();
        for import in self.imports.imports {
            if ask::import(person, &import)? {
                setup.imports.push(import);
            }
        }
        setup.take_settings();
        let mut offered = Commands::default();
        let imported = setup.imports.iter().map(|import| import.commands.clone());
        for Commands { test, build, lint } in imported.chain([self.detected.main.commands]) {
            offered.test = offered.test.or(test);
            offered.build = offered.build.or(build);
            offered.lint = offered.lint.or(lint);
        }
        setup.choices.commands = ask::commands(person, offered, problem)?;
        setup.choices.permissions = ask::permissions(person)?;
        Ok(setup)
    }
}

impl InitPlan {
    /// Collects the project settings of the imports; the first import that sets a value wins.
    fn take_settings(&mut self) {
        let all = &mut self.choices.taken;
        for (name, value) in self.imports.iter().flat_map(|import| &import.settings) {
            if all.iter().all(|(known, _)| known != name) {
                all.push((name, value.clone()));
            }
        }
    }

    /// Writes everything. `show` receives the result before `approve` records that the user chose
    /// the project's commands.
    pub fn carry_out(
        &self,
        project: &Path,
        schema: &str,
        existing: ExistingConfig,
        show: impl FnOnce(&InitResult) -> Result<(), Failure>,
        approve: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let config = config_text(&self.choices);
        let mut placing = FilePlan::own(project, &config, schema, existing)?;
        let mut notes = self.notes.clone();
        for copied in self.imports.iter().flat_map(Import::all_files) {
            if !placing.add(&copied.to, &copied.text) {
                let (from, to) = (&copied.from, &copied.to);
                notes.push(format!("skipped `{from}`: `{to}` has another source"));
            }
        }
        placing.write(project)?;
        notes.extend(placing.notes);
        let files = placing.files.into_iter().map(|(path, _)| path).collect();
        let shown = show(&InitResult { files, notes });
        // The written files are approved, whether or not they could be shown.
        approve(project)?;
        shown
    }
}

fn found_line(start: &str, found: &DetectedProject) -> String {
    let by = if found.by.is_empty() { String::new() } else { format!(" (`{}`)", found.by) };
    let Commands { test, build, lint } = &found.commands;
    let all = [("test", test), ("build", build), ("lint", lint)];
    let named: Vec<String> = all
        .into_iter()
        .filter_map(|(name, command)| Some(format!("{name}: `{}`", command.as_ref()?)))
        .collect();
    let named = if named.is_empty() {
        "no test, build or lint command found".to_owned()
    } else {
        named.join(", ")
    };
    format!("{start}: {}{by}; {named}", found.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_are_approved_even_if_reporting_fails() {
        let project = tempfile::tempdir().unwrap();
        let mut approved = None;
        let done = InitPlan::default().carry_out(
            project.path(),
            "{}",
            ExistingConfig::Refused,
            |_| Err(Failure::trouble("no terminal")),
            |path| {
                assert!(path.join(file_plan::CONFIG).exists());
                approved = Some(path.to_owned());
                Ok(())
            },
        );
        assert_eq!(done, Err(Failure::trouble("no terminal")));
        assert_eq!(approved.as_deref(), Some(project.path()));
    }
}
