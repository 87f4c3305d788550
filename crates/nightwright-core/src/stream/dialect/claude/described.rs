//! Describes the agent settings and MCP servers of a project, for the approval of the user.

use serde_json::{Map, Value};

/// The settings whose values are commands.
const COMMANDS: [&str; 10] = [
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "fileSuggestion",
    "gcpAuthRefresh",
    "otelHeadersHelper",
    "policyHelper",
    "processWrapper",
    "proxyAuthHelper",
    "subagentStatusLine",
];

/// The members of a hook or a server that say how its command runs, and not which.
const HARMLESS: [&str; 7] = ["type", "command", "args", "url", "timeout", "env", "headers"];

/// Maximum number of lines besides those of commands.
const MAX_LINES: usize = 60;

/// The text in place of a secret.
const HIDDEN: &str = "***";

/// Describes settings or a list of MCP servers, one line for each command, variable, address and
/// permission. `hides` tells whether the value of a variable with this name is a secret.
pub fn describe(text: &str, hides: impl Fn(&str) -> bool) -> Vec<String> {
    let settings = match serde_json::from_str(text) {
        Ok(Value::Object(settings)) => settings,
        Ok(_) => return vec!["not a JSON object".to_owned()],
        Err(_) => return vec!["not valid JSON".to_owned()],
    };
    let mut lines = Vec::new();
    // All commands are shown, and come first.
    for (name, value) in &settings {
        match (name.as_str(), value) {
            ("hooks", Value::Object(events)) => hooks(events, &mut lines),
            ("mcpServers", Value::Object(servers)) => mcp_servers(servers, &hides, &mut lines),
            ("statusLine", value) => lines.push(format!("statusLine: {}", command(value))),
            (name, value) if COMMANDS.contains(&name) => {
                lines.push(format!("{name}: {}", command(value)));
            }
            _ => {}
        }
    }
    let commands = lines.len();
    for (name, value) in &settings {
        match (name.as_str(), value) {
            ("hooks" | "mcpServers", Value::Object(_)) | ("statusLine", _) => {}
            (name, _) if COMMANDS.contains(&name) => {}
            ("env", Value::Object(variables)) => {
                lines.extend(variables.iter().map(|(name, value)| {
                    let value = if hides(name) { HIDDEN.to_owned() } else { plain(value) };
                    format!("env: {name}={value}")
                }));
            }
            ("permissions", Value::Object(rules)) => {
                lines.extend(
                    rules
                        .iter()
                        .map(|(kind, value)| format!("permissions.{kind}: {}", plain(value))),
                );
            }
            (name, value) => lines.push(format!("{name}: {}", plain(value))),
        }
    }
    let more = lines.len().saturating_sub(commands + MAX_LINES);
    if more > 0 {
        lines.truncate(commands + MAX_LINES);
        lines.push(format!("... {more} more lines"));
    }
    lines
}

/// Describes hooks. Each event has groups with a matcher, and each group has several hooks.
fn hooks(events: &Map<String, Value>, lines: &mut Vec<String>) {
    for (event, groups) in events {
        let list = groups.as_array().filter(|list| list.iter().all(|one| one["hooks"].is_array()));
        let Some(list) = list else {
            lines.push(format!("hook {event}: {}", plain(groups)));
            continue;
        };
        for group in list {
            let matcher = match group.get("matcher").and_then(Value::as_str) {
                None | Some("" | "*") => String::new(),
                Some(matcher) => format!("[{matcher}]"),
            };
            let all = group.get("hooks").and_then(Value::as_array);
            for hook in all.into_iter().flatten() {
                lines.push(format!("hook {event}{matcher}: {}", command(hook)));
            }
        }
    }
}

fn mcp_servers(
    servers: &Map<String, Value>,
    hides: &impl Fn(&str) -> bool,
    lines: &mut Vec<String>,
) {
    for (name, server) in servers {
        let parts = ["env", "headers"].into_iter().flat_map(|part| {
            let named = server.get(part).and_then(Value::as_object);
            named.into_iter().flatten().map(move |(name, value)| (part, name, value))
        });
        let parts = parts.map(|(part, name, value)| {
            // A header authenticates more often than not.
            let is_hidden = part == "headers" || hides(name);
            let value = if is_hidden { HIDDEN.to_owned() } else { plain(value) };
            format!(" ({part} {name}={value})")
        });
        let server = format!("MCP server {name}: {}", command(server));
        lines.push(std::iter::once(server).chain(parts).collect());
    }
}

/// Returns the command and its arguments, or the address, and every member that may be another
/// command; or the whole value.
fn command(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let Some(program) = text("command").or_else(|| text("url")) else { return plain(value) };
    let arguments = value.get("args").and_then(Value::as_array);
    let words = arguments.into_iter().flatten().map(plain);
    let others = value.as_object().into_iter().flatten();
    let others = others
        .filter(|(name, _)| !HARMLESS.contains(&name.as_str()))
        .map(|(name, value)| format!("({name}: {})", plain(value)));
    std::iter::once(program.to_owned()).chain(words).chain(others).collect::<Vec<_>>().join(" ")
}

/// Returns a value on one line: texts without quotes, and lists of texts with commas.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> String {
        describe(text, |name| name.ends_with("_TOKEN")).join("\n")
    }

    #[test]
    fn everything_that_would_run_is_described_before_the_rest() {
        let settings = r#"{
            "env": {"GIT_ASKPASS": "/evil", "A_TOKEN": "secret"},
            "permissions": {"allow": ["Bash(curl:*)", "Read"], "defaultMode": "acceptEdits"},
            "model": "opus",
            "hooks": {
                "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./a.sh"}]}],
                "Stop": [{"hooks": [{"type": "prompt", "prompt": "p"}, {"command": "b"}]}]
            },
            "apiKeyHelper": "./key.sh",
            "statusLine": {"type": "command", "command": "./line.sh"},
            "enabledPlugins": {"x@y": true}
        }"#;
        assert_eq!(
            described(settings),
            "apiKeyHelper: ./key.sh\n\
             hook PreToolUse[Bash]: ./a.sh\n\
             hook Stop: {\"prompt\":\"p\",\"type\":\"prompt\"}\n\
             hook Stop: b\n\
             statusLine: ./line.sh\n\
             enabledPlugins: {\"x@y\":true}\n\
             env: A_TOKEN=***\n\
             env: GIT_ASKPASS=/evil\n\
             model: opus\n\
             permissions.allow: Bash(curl:*), Read\n\
             permissions.defaultMode: acceptEdits"
        );
    }

    #[test]
    fn mcp_servers_are_described_by_their_commands_and_addresses() {
        let servers = r#"{"mcpServers": {
            "one": {"command": "npx", "args": ["-y", "evil"], "env": {"X": "1", "B_TOKEN": "s"}},
            "two": {"type": "http", "url": "https://evil.example", "headers": {"Authorization": "s"}}
        }}"#;
        assert_eq!(
            described(servers),
            "MCP server one: npx -y evil (env B_TOKEN=***) (env X=1)\n\
             MCP server two: https://evil.example (headers Authorization=***)"
        );
    }

    #[test]
    fn unusual_settings_are_shown_as_they_are() {
        assert_eq!(described("{"), "not valid JSON");
        assert_eq!(described("[]"), "not a JSON object");
        assert_eq!(described("{}"), "");
        assert_eq!(described(r#"{"hooks": 1, "env": []}"#), "env: \nhooks: 1");
        assert_eq!(
            described(r#"{"hooks": {"Stop": [{"command": "x"}]}}"#),
            "hook Stop: [{\"command\":\"x\"}]"
        );
        let helper =
            r#"{"mcpServers": {"d": {"url": "https://d.example", "headersHelper": "./h"}}}"#;
        assert_eq!(described(helper), "MCP server d: https://d.example (headersHelper: ./h)");
        let hook = r#"{"hooks": [{"command": "a"}]}"#;
        let hooks = format!(
            r#"{{"hooks": {{"PreToolUse": [{}], "Stop": [{hook}]}}}}"#,
            [hook; 70].join(", ")
        );
        assert!(
            described(&hooks).ends_with("hook PreToolUse: a\nhook Stop: a"),
            "none is left out"
        );
        let many: Map<_, _> = (0..99).map(|n| (format!("k{n:02}"), Value::from(n))).collect();
        assert!(
            described(&Value::Object(many).to_string()).ends_with("k59: 59\n... 39 more lines")
        );
    }
}
