//! Templates of modes: names are inserted, and parts are chosen with `if`. A template may come from
//! an untrusted source, so it can neither loop nor grow. Texts of users are inserted, never
//! evaluated.

use std::collections::BTreeMap;

use minijinja::{Environment, UndefinedBehavior};

use crate::settings::Settings;
use crate::units::Iteration;

/// The file with a mode's part of the system prompt.
pub(super) const SYSTEM_FILE: &str = "system.md";
/// The file that opens a mode's prompt.
pub(super) const PROMPT_FILE: &str = "prompt.md";

/// The maximum number of steps of a template. The longest built-in one takes a few hundred.
const FUEL: u64 = 100_000;

/// An error in a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid template `{file}`, line {line}: {what}")]
pub struct TemplateError {
    /// The file of the mode.
    pub file: String,
    pub line: usize,
    pub what: String,
}

/// The names that a template can use, with their meaning. A missing value is an empty text.
pub const TOKENS: [(&str, &str); 12] = [
    ("project_root", "the project folder"),
    ("task_path", "the folder of the task, relative to the project"),
    ("status_file", "the status file of the task, relative to the project"),
    ("notes_file", "the notes file, relative to the project"),
    ("plan_file", "the checklist or plan of the mode, relative to the project"),
    ("iteration", "the number of the iteration"),
    ("max_iterations", "the iteration limit"),
    ("test_command", "`commands.test`"),
    ("build_command", "`commands.build`"),
    ("lint_command", "`commands.lint`"),
    ("branch", "the branch that was checked out when the run began"),
    ("base_branch", "the main branch of the repository"),
];

/// The values of [`TOKENS`].
#[derive(Clone, Debug)]
pub(super) struct TemplateValues(Vec<(&'static str, String)>);

impl TemplateValues {
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
            other => unreachable!("`{other}` is not a token"),
        };
        Self(TOKENS.iter().map(|(name, _)| (*name, value(name))).collect())
    }

    pub(super) fn render(&self, file: &str, template: &str) -> Result<String, TemplateError> {
        render(file, template, &self.0)
    }
}

/// Renders a template. The result ends with a newline.
pub fn render(
    file: &str,
    template: &str,
    values: &[(&'static str, String)],
) -> Result<String, TemplateError> {
    if let Err((line, what)) = is_plain(template) {
        return Err(TemplateError { file: file.to_owned(), line, what });
    }
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(true);
    let given: BTreeMap<_, _> = values.iter().map(|(name, value)| (*name, value.clone())).collect();
    let filled = environment.render_named_str(file, template, given);
    filled.map(|text| format!("{}\n", text.trim_end())).map_err(|error| TemplateError {
        file: file.to_owned(),
        line: error.line().unwrap_or(1),
        what: describe_error(&error, template, values),
    })
}

/// Returns the line of the first unsupported construct.
fn is_plain(template: &str) -> Result<(), (usize, String)> {
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let line = template[..template.len() - rest.len()].matches('\n').count() + 1;
        let closed = |end: &str| {
            let (inside, after) =
                rest[2..].split_once(end).ok_or((line, "unterminated tag".to_owned()))?;
            Ok((inside.trim_matches('-').trim(), after))
        };
        rest = match rest.as_bytes().get(1) {
            Some(b'{') => {
                let (inside, after) = closed("}}")?;
                if !is_name(inside) {
                    return Err((
                        line,
                        format!("`{inside}` is not a name; only names are inserted"),
                    ));
                }
                after
            }
            Some(b'%') => {
                let (inside, after) = closed("%}")?;
                can_choose(inside).map_err(|what| (line, what))?;
                after
            }
            Some(b'#') => closed("#}")?.1,
            Some(_) | None => &rest[1..],
        };
    }
    Ok(())
}

/// Whether the tag is an `if` on names alone.
fn can_choose(tag: &str) -> Result<(), String> {
    let mut words = tag.split_whitespace();
    let plain = match words.next() {
        Some("if" | "elif") => words.all(is_name),
        Some("else" | "endif") => words.next().is_none(),
        Some(_) | None => false,
    };
    let allowed = "only `if`, `elif`, `else` and `endif`, with names, `and`, `or` and `not`";
    if plain { Ok(()) } else { Err(format!("`{tag}` is not allowed here: {allowed}")) }
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn describe_error(
    error: &minijinja::Error,
    template: &str,
    values: &[(&'static str, String)],
) -> String {
    if error.kind() != minijinja::ErrorKind::UndefinedError {
        return error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    }
    let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
    let unknown = error.range().and_then(|range| template.get(range)).unwrap_or_default().trim();
    format!("unknown token `{unknown}`; expected one of {}", names.join(", "))
}

/// Checks a mode's templates before a run begins.
pub fn check(settings: &Settings) -> Result<(), TemplateError> {
    let tokens = TemplateValues::new(settings, Iteration(1));
    tokens.render(SYSTEM_FILE, &settings.texts.system)?;
    tokens.render(PROMPT_FILE, &settings.texts.prompt)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<String, String> {
        let values = [("name", "{{ name }} * 9".to_owned()), ("none", String::new())];
        render("prompt.md", template, &values).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_inserted_and_parts_are_chosen() {
        assert_eq!(filled("a {{ name }} b").as_deref(), Ok("a {{ name }} * 9 b\n"));
        let text = "{% if none %}x{% elif not none and name %}y{% else %}z{% endif %} { } {# no #}";
        assert_eq!(filled(text).as_deref(), Ok("y { }\n"));
    }

    #[test]
    fn nothing_else_can_be_done_and_the_line_is_named() {
        for template in [
            "{{ name * 999999999 }}",
            "{{ name ~ name }}",
            "{{ name|upper }}",
            "{{ 'x' }}",
            "{{ name",
            "{% set a = name %}",
            "{% for c in name %}x{% endfor %}",
            "{% if name == 'x' %}a{% endif %}",
            "{% include 'x' %}",
            "{% raw %}{{{% endraw %}",
        ] {
            let error = filled(&format!("one\ntwo\n{template}")).unwrap_err();
            assert!(error.contains("`prompt.md`") && error.contains("line 3"), "{error}");
        }
        let error = filled("{{ nope }}").unwrap_err();
        assert!(error.contains("unknown token `nope`; expected one of name, none"), "{error}");
    }
}
