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
/// The maximum length of a template. The longest built-in one has a few thousand bytes.
const MAX_TEMPLATE_BYTES: usize = 128 << 10;
/// The maximum length of a value that is inserted.
const MAX_VALUE_BYTES: usize = 64 << 10;
/// The maximum length of the result if every part is chosen.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// The maximum number of tags and inserted names.
const MAX_TAGS: usize = 1000;
/// The maximum number of words in a tag: the parser of the templates calls itself for some words.
const MAX_TAG_WORDS: usize = 32;
/// The maximum depth of `if` inside `if`.
const MAX_NESTING: usize = 16;

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
    ("branch", "the current branch when the run began"),
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
    let fail = |line, what| TemplateError { file: file.to_owned(), line, what };
    if template.len() > MAX_TEMPLATE_BYTES {
        return Err(fail(1, format!("it is longer than {MAX_TEMPLATE_BYTES} bytes")));
    }
    let mut tags = TemplateTags::default();
    is_plain(template, &mut tags).map_err(|(line, what)| fail(line, what))?;
    tags.are_bounded(template, values).map_err(|what| fail(1, what))?;
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

/// The tags of a template.
#[derive(Debug, Default)]
struct TemplateTags<'t> {
    names: Vec<&'t str>,
    /// The number of tags and names.
    count: usize,
    /// The number of `if` that are open.
    nesting: usize,
}

impl<'t> TemplateTags<'t> {
    fn count(&mut self) -> Result<(), String> {
        self.count += 1;
        let most = format!("a template can have at most {MAX_TAGS} tags");
        if self.count > MAX_TAGS { Err(most) } else { Ok(()) }
    }

    fn insert(&mut self, name: &'t str) -> Result<(), String> {
        if !is_name(name) {
            return Err(format!("`{name}` is not a name; a tag can insert only names"));
        }
        self.names.push(name);
        self.count()
    }

    fn choose(&mut self, tag: &str) -> Result<(), String> {
        can_choose(tag)?;
        match tag.split_whitespace().next() {
            Some("if") => self.nesting += 1,
            Some("endif") => self.nesting = self.nesting.saturating_sub(1),
            Some(_) | None => {}
        }
        if self.nesting > MAX_NESTING {
            return Err(format!("`if` can nest at most {MAX_NESTING} deep"));
        }
        self.count()
    }

    /// Whether the values and the result are short enough, whatever parts are chosen.
    fn are_bounded(&self, template: &str, values: &[(&'static str, String)]) -> Result<(), String> {
        let mut length = template.len();
        for name in &self.names {
            let Some((_, value)) = values.iter().find(|(known, _)| known == name) else { continue };
            if value.len() > MAX_VALUE_BYTES {
                return Err(format!(
                    "the value of `{name}` is longer than {MAX_VALUE_BYTES} bytes"
                ));
            }
            length += value.len();
        }
        let most = format!("the text could be longer than {MAX_OUTPUT_BYTES} bytes");
        if length > MAX_OUTPUT_BYTES { Err(most) } else { Ok(()) }
    }
}

/// Collects the tags of a template. Returns the line of the first unsupported construct.
fn is_plain<'t>(template: &'t str, tags: &mut TemplateTags<'t>) -> Result<(), (usize, String)> {
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
                tags.insert(inside).map_err(|what| (line, what))?;
                after
            }
            Some(b'%') => {
                let (inside, after) = closed("%}")?;
                tags.choose(inside).map_err(|what| (line, what))?;
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
    if tag.split_whitespace().count() > MAX_TAG_WORDS {
        return Err(format!("a tag can have at most {MAX_TAG_WORDS} words"));
    }
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

    #[test]
    fn a_template_can_be_neither_long_nor_deep_and_neither_can_its_result() {
        let long = "x".repeat(MAX_VALUE_BYTES + 1);
        let values = [("name", "x".repeat(40_000)), ("long", long)];
        for (template, wanted) in [
            (
                format!("{{% if {}name %}}x{{% endif %}}", "not ".repeat(50_000)),
                "longer than 131072",
            ),
            (format!("{{% if {}name %}}x{{% endif %}}", "not ".repeat(50)), "at most 32 words"),
            ("{% if name %}".repeat(20) + &"{% endif %}".repeat(20), "at most 16 deep"),
            ("{{ name }}".repeat(1001), "at most 1000 tags"),
            ("{{ name }}".repeat(30), "could be longer than 1048576"),
            ("{{ long }}".to_owned(), "the value of `long`"),
        ] {
            let error = render("prompt.md", &template, &values).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(render("prompt.md", &"{{ name }}".repeat(20), &values).is_ok());
        assert!(render("prompt.md", "a", &values).is_ok());
    }
}
