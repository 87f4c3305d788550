//! Arguments and environment for starting Claude Code.

use serde_json::json;

use crate::permissions::Permissions;
use crate::stream::dialect::{AgentOptions, Extensions, InputShape, ToolAccess};

/// Variables that override the user's environment. Nightwright alone handles waits and retries, and
/// a background command would keep the process alive for minutes after its result.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
];

/// The variable that limits the tokens of one answer.
pub const OUTPUT_TOKENS: &str = "CLAUDE_CODE_MAX_OUTPUT_TOKENS";

/// Variables set unless the user set them. Without background commands the program kills every
/// command after two minutes, which is too short for a large build.
pub const ENVIRONMENT_DEFAULTS: &[(&str, &str)] =
    &[("BASH_DEFAULT_TIMEOUT_MS", "1200000"), ("BASH_MAX_TIMEOUT_MS", "1740000")];

/// The variables for its temporary files and sockets.
pub const TEMP_VARIABLES: &[&str] = &["TMPDIR", "CLAUDE_CODE_TMPDIR"];

/// The maximum length of standard input in bytes.
pub const MAX_PROMPT: usize = 10_000_000;

/// The variables passed on besides those for any program. Variables that an outer session of the
/// program sets for its children are excluded.
pub const PASSED_ON: &[&str] = &[
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_*",
    "CLAUDE_CODE_SKIP_*_AUTH",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "BASH_*_TIMEOUT_MS",
    "DISABLE_TELEMETRY",
];

/// The arguments for an attempt or call. The prompt always goes over standard input.
pub fn arguments(options: &AgentOptions<'_>) -> Vec<String> {
    let mut arguments = ArgumentList(vec!["--print".to_owned()]);
    // Options with several values take everything up to the next option, so they come first.
    match options.permissions {
        Permissions::None => arguments.allow(options.allowed_tools),
        Permissions::Edits | Permissions::Usual => {
            arguments.allow(options.allowed_tools);
            arguments.with("--permission-mode", Some("acceptEdits"));
        }
        Permissions::Bypass => arguments.option("--dangerously-skip-permissions"),
    }
    arguments.several("--disallowedTools", options.disallowed_tools);
    match options.tools {
        ToolAccess::Usual => {}
        ToolAccess::ReadOnly => arguments.with("--tools", Some("Read,Grep,Glob")),
        ToolAccess::None => arguments.with("--tools", Some("")),
    }
    // The user's MCP servers would add their own tools to restricted ones.
    if options.extensions == Extensions::None || options.tools != ToolAccess::Usual {
        arguments.option("--strict-mcp-config");
    }
    if options.extensions == Extensions::None {
        arguments.option("--disable-slash-commands");
    }
    arguments.with("--output-format", Some("stream-json"));
    arguments.option("--verbose");
    arguments.option("--include-partial-messages");
    arguments.option("--no-session-persistence");
    match options.input {
        InputShape::Prompt => {}
        InputShape::Messages => {
            arguments.with("--input-format", Some("stream-json"));
            // This is the only way to see whether a message was taken up or still waits.
            arguments.option("--replay-user-messages");
        }
    }
    arguments.with("--model", options.model);
    arguments.with("--fallback-model", options.fallback_model);
    arguments.with("--max-turns", options.max_turns.map(|turns| turns.to_string()).as_deref());
    let cap = options.cap.map(|cap| cap.dollars().to_string());
    arguments.with("--max-budget-usd", cap.as_deref());
    arguments.with("--system-prompt", options.system_prompt);
    arguments.with("--append-system-prompt-file", options.system_prompt_file);
    if !options.setting_sources.is_empty() {
        arguments.with("--setting-sources", Some(&options.setting_sources.join(",")));
    }
    arguments.with("--json-schema", options.json_schema);
    arguments.0.extend_from_slice(options.extra);
    arguments.0
}

/// The arguments for an interactive session at a terminal, which begins with `opening`.
pub fn conversation_arguments(options: &AgentOptions<'_>, opening: &str) -> Vec<String> {
    let mut arguments = ArgumentList(Vec::new());
    arguments.with("--permission-mode", Some("acceptEdits"));
    arguments.with("--model", options.model);
    arguments.with("--append-system-prompt-file", options.system_prompt_file);
    if !options.setting_sources.is_empty() {
        arguments.with("--setting-sources", Some(&options.setting_sources.join(",")));
    }
    // The opening is never parsed as an option.
    arguments.with("--", Some(opening));
    arguments.0
}

struct ArgumentList(Vec<String>);

impl ArgumentList {
    fn option(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    fn with(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.0.extend([name.to_owned(), value.to_owned()]);
        }
    }

    /// Adds rules to the command line, except those that the program would split there.
    fn allow(&mut self, rules: &[String]) {
        let (split, whole): (Vec<_>, Vec<_>) =
            rules.iter().cloned().partition(|rule| is_split(rule));
        self.several("--allowedTools", &whole);
        if !split.is_empty() {
            let settings = json!({ "permissions": { "allow": split } });
            self.with("--settings", Some(&settings.to_string()));
        }
    }

    fn several(&mut self, name: &str, values: &[String]) {
        if !values.is_empty() {
            self.option(name);
            self.0.extend_from_slice(values);
        }
    }
}

/// Whether the program would split a rule of `--allowedTools`: it splits at spaces and commas after
/// any closing parenthesis, nested or not.
fn is_split(rule: &str) -> bool {
    let mut inside = false;
    rule.chars().any(|c| {
        match c {
            '(' => inside = true,
            ')' => inside = false,
            _ => {}
        }
        !inside && matches!(c, ' ' | ',')
    })
}

/// The prompt for standard input.
pub fn prompt_text(text: &str) -> String {
    guarded("This is your task:", text)
}

/// A further message for a session, as a line with its line ending.
pub fn message_line(text: &str) -> String {
    let content = json!([{ "type": "text", "text": guarded("A message for you:", text) }]);
    let line = json!({ "type": "user", "message": { "role": "user", "content": content } });
    format!("{line}\n")
}

/// Adds an opening line to a text that begins with a slash. The program would take it for a
/// slash command, and the model would never see it. Leading white space is no reliable
/// protection.
fn guarded(opening: &str, text: &str) -> String {
    if text.trim_start().starts_with('/') { format!("{opening}\n{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Usd;

    fn words(options: &AgentOptions<'_>) -> String {
        arguments(options).join(" ")
    }

    #[test]
    fn the_stream_is_asked_for_always() {
        let options = AgentOptions { permissions: Permissions::None, ..AgentOptions::default() };
        assert_eq!(
            words(&options),
            "--print --output-format stream-json --verbose --include-partial-messages \
             --no-session-persistence"
        );
    }

    #[test]
    fn everything_asked_for_is_an_argument_and_the_users_come_last() {
        let tools = ["Bash(cargo test:*)".to_owned(), "Read".to_owned()];
        let extra = ["--effort".to_owned(), "high".to_owned()];
        let sources = ["user".to_owned(), "project".to_owned()];
        let options = AgentOptions {
            model: Some("haiku"),
            max_turns: Some(7),
            cap: Some(Usd::from_micros(250_100)),
            system_prompt_file: Some("system.md"),
            allowed_tools: &tools,
            setting_sources: &sources,
            input: InputShape::Messages,
            extra: &extra,
            ..AgentOptions::default()
        };
        assert_eq!(
            words(&options),
            "--print --allowedTools Bash(cargo test:*) Read --permission-mode acceptEdits \
             --output-format stream-json --verbose --include-partial-messages \
             --no-session-persistence --input-format stream-json --replay-user-messages \
             --model haiku --max-turns 7 --max-budget-usd 0.2501 \
             --append-system-prompt-file system.md --setting-sources user,project --effort high"
        );
    }

    #[test]
    fn a_question_can_do_without_tools_and_without_the_words_about_them() {
        let options = AgentOptions {
            model: Some("haiku"),
            max_turns: Some(3),
            permissions: Permissions::None,
            tools: ToolAccess::None,
            system_prompt: Some("You judge."),
            json_schema: Some("{}"),
            ..AgentOptions::default()
        };
        let arguments = arguments(&options);
        let value = |name: &str| {
            let at = arguments.iter().position(|argument| argument == name).unwrap();
            arguments[at + 1].as_str()
        };
        assert_eq!(value("--tools"), "");
        assert_eq!(value("--system-prompt"), "You judge.");
        assert_eq!(value("--json-schema"), "{}");
        assert_eq!((value("--max-turns"), value("--model")), ("3", "haiku"));
        let reads = words(&AgentOptions { tools: ToolAccess::ReadOnly, ..AgentOptions::default() });
        assert!(reads.contains("--tools Read,Grep,Glob --strict-mcp-config --output"), "{reads}");
        let extensions = Extensions::None;
        let judges = words(&AgentOptions { extensions, ..AgentOptions::default() });
        assert!(judges.contains("--strict-mcp-config --disable-slash-commands"), "{judges}");
    }

    #[test]
    fn a_rule_that_the_command_line_would_split_goes_into_settings() {
        let rules = ["Bash(echo (a), b)", "Bash(A=$(date) b)", "Bash(b 'c(d)')", "Bash(a, b)"];
        let rules = rules.map(str::to_owned);
        let options = AgentOptions { allowed_tools: &rules, ..AgentOptions::default() };
        let expected = "--print --allowedTools Bash(b 'c(d)') Bash(a, b) --settings \
            {\"permissions\":{\"allow\":[\"Bash(echo (a), b)\",\"Bash(A=$(date) b)\"]}} --permission-mode";
        assert!(words(&options).starts_with(expected), "{}", words(&options));
    }

    #[test]
    fn each_permission_has_its_own_flags() {
        let tools = ["Bash".to_owned()];
        let flags = |permissions| {
            words(&AgentOptions { permissions, allowed_tools: &tools, ..AgentOptions::default() })
                .split(" --output-format")
                .next()
                .map(str::to_owned)
                .unwrap()
        };
        assert_eq!(flags(Permissions::None), "--print --allowedTools Bash");
        for level in [Permissions::Edits, Permissions::Usual] {
            assert_eq!(flags(level), "--print --allowedTools Bash --permission-mode acceptEdits");
        }
        assert_eq!(flags(Permissions::Bypass), "--print --dangerously-skip-permissions");
    }

    #[test]
    fn neither_a_prompt_nor_a_message_begins_with_a_slash() {
        let line = message_line("/usage\nnow");
        assert!(line.contains(r#""text":"A message for you:\n/usage\nnow""#), "{line}");
        assert_eq!(line.matches('\n').count(), 1);
        assert!(message_line("go on").contains(r#""text":"go on""#));
        assert_eq!(prompt_text("/usage"), "This is your task:\n/usage");
        assert_eq!(prompt_text(" \n/usage"), "This is your task:\n \n/usage");
        assert_eq!(prompt_text("Look at /usage\n"), "Look at /usage\n");
    }
}
