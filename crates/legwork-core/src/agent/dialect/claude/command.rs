//! How the program is started: arguments and environment.

use serde_json::json;

use crate::agent::dialect::{Ask, InputShape, Permissions};

/// Set whatever the user's environment says: waiting and retrying have one owner, us, and a
/// command in the background would hold the process for minutes after its result.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
];

/// Set unless the user did: without commands in the background the program ends every command
/// after two minutes, which no build of any size survives.
pub const ENVIRONMENT_DEFAULTS: &[(&str, &str)] =
    &[("BASH_DEFAULT_TIMEOUT_MS", "1200000"), ("BASH_MAX_TIMEOUT_MS", "1740000")];

/// The variables that are passed on. A star stands for any text. What an outer session of the
/// program sets for its own children is not among them.
const PASSED_ON: &[&str] = &[
    // Who and where we are.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "XDG_*",
    // The network.
    "SSH_AUTH_SOCK",
    "*_PROXY",
    "*_proxy",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
    // The account.
    "ANTHROPIC_*",
    "AWS_*",
    "GOOGLE_*",
    "CLOUD_ML_REGION",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_*",
    "CLAUDE_CODE_SKIP_*_AUTH",
    // The user's choices for the program.
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "BASH_*_TIMEOUT_MS",
    "DISABLE_TELEMETRY",
    // Tools of the project.
    "*_HOME",
    "GOPATH",
    "GOFLAGS",
    "VIRTUAL_ENV",
    "CONDA_*",
    "NVM_DIR",
    "PYENV_*",
    "RUSTUP_*",
    "CARGO_*",
    "RUSTFLAGS",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "CC",
    "CXX",
    "CI",
];

/// The arguments for an attempt or call. The prompt goes over standard input, always.
pub fn arguments(ask: &Ask<'_>) -> Vec<String> {
    let mut arguments = Arguments(vec!["--print".to_owned()]);
    // Options with several values take everything up to the next option, so they come first.
    match ask.permissions {
        Permissions::AskNothing => {}
        Permissions::Edits => {
            arguments.several("--allowedTools", ask.allowed_tools);
            arguments.with("--permission-mode", Some("acceptEdits"));
        }
        Permissions::Listed => arguments.several("--allowedTools", ask.allowed_tools),
        Permissions::Skip => arguments.option("--dangerously-skip-permissions"),
    }
    arguments.several("--disallowedTools", ask.disallowed_tools);
    arguments.several("--mcp-config", ask.mcp_config);
    arguments.with("--output-format", Some("stream-json"));
    arguments.option("--verbose");
    arguments.option("--include-partial-messages");
    arguments.option("--no-session-persistence");
    match ask.input {
        InputShape::Prompt => {}
        InputShape::Messages => arguments.with("--input-format", Some("stream-json")),
    }
    arguments.with("--model", ask.model);
    arguments.with("--fallback-model", ask.fallback_model);
    arguments.with("--max-turns", ask.max_turns.map(|turns| turns.to_string()).as_deref());
    let cap = ask.cap.map(|cap| cap.dollars().to_string());
    arguments.with("--max-budget-usd", cap.as_deref());
    arguments.with("--append-system-prompt-file", ask.system_prompt_file);
    if !ask.setting_sources.is_empty() {
        arguments.with("--setting-sources", Some(&ask.setting_sources.join(",")));
    }
    arguments.with("--settings", ask.settings);
    arguments.with("--json-schema", ask.json_schema);
    arguments.0.extend_from_slice(ask.extra);
    arguments.0
}

struct Arguments(Vec<String>);

impl Arguments {
    fn option(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    fn with(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.0.extend([name.to_owned(), value.to_owned()]);
        }
    }

    fn several(&mut self, name: &str, values: &[String]) {
        if !values.is_empty() {
            self.option(name);
            self.0.extend_from_slice(values);
        }
    }
}

/// A further message into a session, as a line with its end.
///
/// A text that begins with a slash would be taken for a command and never reach the model.
pub fn message_line(text: &str) -> String {
    let guarded = if text.trim_start().starts_with('/') {
        format!("A message for you:\n{text}")
    } else {
        text.to_owned()
    };
    let content = json!([{ "type": "text", "text": guarded }]);
    let line = json!({ "type": "user", "message": { "role": "user", "content": content } });
    format!("{line}\n")
}

/// Whether a variable of our own environment is passed on.
pub fn environment_allows(name: &str) -> bool {
    PASSED_ON.iter().any(|pattern| matches(pattern, name))
}

/// At most one star, and it stands for something.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.len() > before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Usd;

    fn words(ask: &Ask<'_>) -> String {
        arguments(ask).join(" ")
    }

    #[test]
    fn the_stream_is_asked_for_always() {
        let ask = Ask { permissions: Permissions::AskNothing, ..Ask::default() };
        assert_eq!(
            words(&ask),
            "--print --output-format stream-json --verbose --include-partial-messages \
             --no-session-persistence"
        );
    }

    #[test]
    fn everything_asked_for_is_an_argument_and_the_users_come_last() {
        let tools = ["Bash(cargo test:*)".to_owned(), "Read".to_owned()];
        let extra = ["--effort".to_owned(), "high".to_owned()];
        let sources = ["user".to_owned(), "project".to_owned()];
        let ask = Ask {
            model: Some("haiku"),
            max_turns: Some(7),
            cap: Some(Usd::from_micros(250_100)),
            system_prompt_file: Some("system.md"),
            allowed_tools: &tools,
            setting_sources: &sources,
            input: InputShape::Messages,
            extra: &extra,
            ..Ask::default()
        };
        assert_eq!(
            words(&ask),
            "--print --allowedTools Bash(cargo test:*) Read --permission-mode acceptEdits \
             --output-format stream-json --verbose --include-partial-messages \
             --no-session-persistence --input-format stream-json --model haiku --max-turns 7 \
             --max-budget-usd 0.2501 --append-system-prompt-file system.md \
             --setting-sources user,project --effort high"
        );
    }

    #[test]
    fn each_permission_has_its_own_flags() {
        let tools = ["Bash".to_owned()];
        let flags = |permissions| {
            words(&Ask { permissions, allowed_tools: &tools, ..Ask::default() })
                .split(" --output-format")
                .next()
                .map(str::to_owned)
                .unwrap()
        };
        assert_eq!(flags(Permissions::AskNothing), "--print");
        assert_eq!(
            flags(Permissions::Edits),
            "--print --allowedTools Bash --permission-mode acceptEdits"
        );
        assert_eq!(flags(Permissions::Listed), "--print --allowedTools Bash");
        assert_eq!(flags(Permissions::Skip), "--print --dangerously-skip-permissions");
    }

    #[test]
    fn a_message_never_begins_with_a_slash() {
        let line = message_line("/usage\nnow");
        assert!(line.contains(r#""text":"A message for you:\n/usage\nnow""#), "{line}");
        assert_eq!(line.matches('\n').count(), 1);
        assert!(message_line("go on").contains(r#""text":"go on""#));
    }

    #[test]
    fn the_environment_passes_what_is_listed_and_nothing_of_an_outer_session() {
        for name in [
            "PATH",
            "LC_ALL",
            "https_proxy",
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_SKIP_VERTEX_AUTH",
            "BASH_MAX_TIMEOUT_MS",
            "JAVA_HOME",
            "CARGO_HOME",
        ] {
            assert!(environment_allows(name), "{name}");
        }
        for name in [
            "CLAUDECODE",
            "CLAUDE_PID",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_SSE_PORT",
            "PATHS",
            "LC_",
            "_HOME",
            "GITHUB_TOKEN",
            "",
        ] {
            assert!(!environment_allows(name), "{name}");
        }
    }
}
