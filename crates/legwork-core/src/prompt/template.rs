//! Templates of modes: strict about names, and with an end to every loop. Texts of users are
//! inserted, never evaluated.

use std::collections::BTreeMap;

use minijinja::{Environment, UndefinedBehavior};

use crate::settings::Settings;
use crate::units::Iteration;

/// The file with a mode's part of the system prompt.
pub(super) const SYSTEM_FILE: &str = "system.md";
/// The file that opens a mode's prompt.
pub(super) const PROMPT_FILE: &str = "prompt.md";

/// Steps that a template may take. The longest of ours takes a few hundred.
const FUEL: u64 = 100_000;

/// A template can't be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the template `{file}` can't be used: line {line}: {what}")]
pub struct TemplateError {
    /// Which file of the mode.
    pub file: String,
    /// Where in it.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// What a template can speak of: each name, and what stands for it. What there is none of is an
/// empty text.
pub const TOKENS: [(&str, &str); 12] = [
    ("project_root", "the project folder"),
    ("task_path", "the folder of the task, relative to the project"),
    ("status_file", "the status file of the task, relative to the project"),
    ("notes_file", "the notes file, relative to the project"),
    ("plan_file", "the to-do list or plan of the mode, relative to the project"),
    ("iteration", "the number of the iteration"),
    ("max_iterations", "the limit of iterations"),
    ("test_command", "`commands.test`"),
    ("build_command", "`commands.build`"),
    ("lint_command", "`commands.lint`"),
    ("branch", "the branch that was checked out when the run began"),
    ("base_branch", "the main branch of the repository"),
];

/// The values of [`TOKENS`].
#[derive(Clone, Debug)]
pub(super) struct Tokens(Vec<(&'static str, String)>);

impl Tokens {
    pub(super) fn new(settings: &Settings, iteration: Iteration) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let Settings { files, commands, surroundings, limits, .. } = settings;
        let value = |token: &str| match token {
            "project_root" => surroundings.project_root.clone(),
            "task_path" => text(&files.task),
            "status_file" => text(&files.status),
            "notes_file" => text(&settings.notes_file),
            "plan_file" => text(&files.list),
            "iteration" => iteration.to_string(),
            "max_iterations" => limits.max_iterations.map(|n| n.to_string()).unwrap_or_default(),
            "test_command" => text(&commands.test),
            "build_command" => text(&commands.build),
            "lint_command" => text(&commands.lint),
            "branch" => text(&surroundings.branch),
            "base_branch" => text(&surroundings.base_branch),
            other => unreachable!("`{other}` is no token"),
        };
        Self(TOKENS.iter().map(|(name, _)| (*name, value(name))).collect())
    }

    pub(super) fn render(&self, file: &str, template: &str) -> Result<String, TemplateError> {
        render(file, template, &self.0)
    }
}

/// Fills a template in. It ends with a line's end.
pub fn render(
    file: &str,
    template: &str,
    values: &[(&'static str, String)],
) -> Result<String, TemplateError> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(true);
    let given: BTreeMap<_, _> = values.iter().map(|(name, value)| (*name, value.clone())).collect();
    let filled = environment.render_named_str(file, template, given);
    filled.map(|text| format!("{}\n", text.trim_end())).map_err(|error| TemplateError {
        file: file.to_owned(),
        line: error.line().unwrap_or(1),
        what: said(&error, template, values),
    })
}

fn said(error: &minijinja::Error, template: &str, values: &[(&'static str, String)]) -> String {
    if error.kind() != minijinja::ErrorKind::UndefinedError {
        return error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    }
    let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
    let unknown = error.range().and_then(|range| template.get(range)).unwrap_or_default().trim();
    format!("there is no `{unknown}`; there are {}", names.join(", "))
}

/// Whether a mode's templates can be filled in at all, asked before a run begins.
pub fn check(settings: &Settings) -> Result<(), TemplateError> {
    let tokens = Tokens::new(settings, Iteration(1));
    tokens.render(SYSTEM_FILE, &settings.texts.system)?;
    tokens.render(PROMPT_FILE, &settings.texts.prompt)?;
    Ok(())
}
