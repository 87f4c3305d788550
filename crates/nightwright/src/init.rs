//! Setting a project up: what it is, what it brings from other tools, and what is written.
//!
//! `view` reads what is there; `detect` and `import` say what follows from it, without a disk;
//! `ask` lets somebody change it; `text` makes the files of it; `place` writes them, all or none.

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

/// What is known of a project before anybody is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectScan {
    /// What it is.
    pub detected: DetectedProjects,
    /// What other tools left.
    pub imports: Imports,
}

/// What is to be set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitPlan {
    /// What the configuration will say.
    pub choices: ConfigChoices,
    /// The imports that are wanted.
    pub imports: Vec<Import>,
    /// What is left out because nobody was asked.
    pub notes: Vec<String>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitResult {
    /// Paths relative to the project.
    pub files: Vec<String>,
    /// What was left as it is, and why.
    pub notes: Vec<String>,
}

impl ProjectScan {
    /// Looks at a project. `principles` is where the user says that principles go; empty = nowhere.
    pub fn at(project: &Path, principles: &str) -> Self {
        let view = ProjectFiles::of(project).with_principles(project, principles);
        Self { detected: detect(&view), imports: imports(&view) }
    }

    /// What was found, one line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![found_line("Project type", &self.detected.main)];
        lines.extend(self.detected.others.iter().map(|found| found_line("Also there", found)));
        lines.extend(self.detected.notes.iter().map(|note| format!("note: {note}")));
        lines
    }

    /// What is set up when nobody is asked. Commands that only another tool's files name are not
    /// taken then: they would be run without anybody having seen them.
    pub fn defaults(self) -> InitPlan {
        let mut setup = InitPlan { imports: self.imports.imports, ..InitPlan::default() };
        setup.take_settings();
        for import in &setup.imports {
            if import.taken.commands != Commands::default() {
                setup.notes.push(format!(
                    "the commands of {} are left out, as nobody was asked",
                    import.source
                ));
            }
        }
        setup.choices.commands = self.detected.main.commands;
        setup
    }

    /// Asks what is to be set up.
    pub fn ask(self, person: &mut dyn Prompter) -> Result<InitPlan, NoAnswer> {
        let mut setup = InitPlan::default();
        for import in self.imports.imports {
            if ask::import(person, &import)? {
                setup.imports.push(import);
            }
        }
        setup.take_settings();
        let taken = setup.choices.taken.commands.clone();
        let found = self.detected.main.commands;
        let offered = Commands {
            test: taken.test.or(found.test),
            build: taken.build.or(found.build),
            lint: taken.lint.or(found.lint),
        };
        setup.choices.commands = ask::commands(person, offered)?;
        setup.choices.permissions = ask::permissions(person)?;
        Ok(setup)
    }
}

impl InitPlan {
    /// What the imports set for the whole project; the first that sets something wins.
    fn take_settings(&mut self) {
        let all = &mut self.choices.taken;
        for import in &self.imports {
            let taken = import.taken.clone();
            all.max_iterations = all.max_iterations.or(taken.max_iterations);
            all.max_turns = all.max_turns.or(taken.max_turns);
            all.model = all.model.take().or(taken.model);
            let commands = &mut all.commands;
            commands.test = commands.test.take().or(taken.commands.test);
            commands.build = commands.build.take().or(taken.commands.build);
            commands.lint = commands.lint.take().or(taken.commands.lint);
        }
    }

    /// Writes everything. `show` is told what was written before `approve` records that the
    /// project's commands are the user's own choice.
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
        for copied in self.imports.iter().flat_map(|import| &import.files) {
            if !placing.add(&copied.to, &copied.text) {
                let (from, to) = (&copied.from, &copied.to);
                notes.push(format!("`{from}` is left out: something else became `{to}`"));
            }
        }
        placing.write(project)?;
        notes.extend(placing.notes);
        let files = placing.files.into_iter().map(|(path, _)| path).collect();
        let shown = show(&InitResult { files, notes });
        // What is written is approved, whether or not it could be shown.
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
    let named = if named.is_empty() { "no command found".to_owned() } else { named.join(", ") };
    format!("{start}: {}{by}; {named}", found.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_approved_even_if_nobody_can_be_told() {
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
