//! Selection of secret values: which variables are secret, and which values are searched for.

use std::collections::BTreeSet;

use super::parts::{is_example, secret_parts, secrets_of_json};

/// The minimum length of a secret. Shorter values occur in too many ordinary words.
pub(super) const MIN_SECRET_LEN: usize = 8;

/// The minimum length of a line that is masked on its own, if the value has long lines.
const LINE: usize = 16;

/// The minimum length of a random value. Shorter ones may be ordinary names.
const MIN_RANDOM_LEN: usize = 16;

/// Variables that are always secret.
const KNOWN: [&str; 16] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
    "DATABASE_URL",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "HTTPS_PROXY_AUTH",
    "KUBECONFIG_DATA",
    "MYSQL_PWD",
    "PGPASSWORD",
    "SENTRY_DSN",
    "SLACK_WEBHOOK_URL",
    "SSHPASS",
];

/// Parts of a name, between underscores, that mark the value as secret.
const PARTS: [&str; 17] = [
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PAT",
    "CREDS",
    "APIKEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "AUTHORIZATION",
    "COOKIE",
    "SECRETKEY",
];

/// Suffixes of such a part that mark the value as secret: `MYSQLPASSWORD`.
const SUFFIXES: [&str; 5] = ["PASSWORD", "SECRET", "TOKEN", "SECRETKEY", "APIKEY"];

/// Suffixes of such a name if the value is not the secret itself.
const ELSEWHERE: [&str; 17] = [
    "FILE", "PATH", "DIR", "ID", "SOCK", "SOCKET", "NAME", "URL", "URI", "HOST", "PORT", "TYPE",
    "METHOD", "TTL", "TIMEOUT", "LIMIT", "MODE",
];

/// Names that look secret and are not.
const INNOCENT: [&str; 5] = ["PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY", "MAX_THINKING_TOKENS"];

/// Words of the agent's stream and of nightwright's own files. Masking them would change keys.
const RESERVED: [&str; 44] = [
    "api_retry",
    "apiKeySource",
    "assistant",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "completed",
    "compact_boundary",
    "completion",
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "control_request",
    "control_response",
    "description",
    "duration_api_ms",
    "duration_ms",
    "end_turn",
    "input_json_delta",
    "input_tokens",
    "is_error",
    "lastUpdated",
    "max_tokens",
    "mcp_servers",
    "message_delta",
    "message_start",
    "message_stop",
    "num_turns",
    "output_tokens",
    "parent_tool_use_id",
    "permission_denials",
    "permissionMode",
    "progress",
    "session_id",
    "slash_commands",
    "stop_reason",
    "stop_sequence",
    "stream_event",
    "structured_output",
    "text_delta",
    "thinking_delta",
    "tool_result",
    "tool_use_id",
    "total_cost_usd",
    "tool_use_result",
];

/// Whether the name of a variable marks its value as secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let name = name.as_str();
    if KNOWN.contains(&name) {
        return true;
    }
    // `TOKEN1` and `CLIENT_SECRET_1` count as well.
    let parts: Vec<&str> = name
        .split('_')
        .map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()))
        .filter(|part| !part.is_empty())
        .collect();
    let last = parts.last().copied().unwrap_or_default();
    if INNOCENT.contains(&name) || ELSEWHERE.contains(&last) {
        return false;
    }
    let is_key = parts.len() > 1 && matches!(last, "KEY" | "KEYS");
    let is_pair = parts.windows(2).any(|pair| {
        matches!(pair, ["API" | "ACCESS" | "PRIVATE", "KEY"] | ["CONNECTION", "STRING"])
    });
    let is_part =
        |part: &&str| PARTS.contains(part) || SUFFIXES.iter().any(|suffix| part.ends_with(suffix));
    is_key || is_pair || parts.iter().any(is_part)
}

/// Whether a value looks random, unlike the name of a file or a color.
pub fn looks_random(value: &str) -> bool {
    value.chars().count() >= MIN_RANDOM_LEN
        && value.chars().any(char::is_alphabetic)
        && value.chars().filter(char::is_ascii_digit).count() > 1
        && !value.contains(|c: char| c.is_whitespace() || c == '/')
        && !is_model(value)
}

/// Whether the value is the name of a model, with or without the prefix of a provider.
fn is_model(value: &str) -> bool {
    value.starts_with("claude-") || value.contains("anthropic.claude-")
}

/// Whether the value is a path. Paths are common and not secret. A base64 key may contain slashes,
/// too, but the parts between them do not look like folder names.
pub(super) fn is_path(value: &str) -> bool {
    let looks_made_up = |part: &str| part.len() >= MIN_SECRET_LEN && looks_mixed(part.as_bytes());
    value.strip_prefix('/').is_some_and(|rest| rest.contains('/'))
        && !value.contains('\n')
        && !value.split('/').any(looks_made_up)
}

/// Whether the text contains digits, upper and lower case letters.
fn looks_mixed(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
        && text.iter().any(u8::is_ascii_uppercase)
        && text.iter().any(u8::is_ascii_lowercase)
}

/// The strings to search for: each value, its lines, and the secret parts of a URL, a header, a
/// list of settings or JSON.
pub(super) fn usable<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Vec<Vec<u8>> {
    let mut usable = BTreeSet::new();
    for value in values {
        let value = value.as_ref().trim_ascii();
        add(value, &mut usable);
        for inner in str::from_utf8(value).into_iter().flat_map(secrets_of_json) {
            add(inner.trim().as_bytes(), &mut usable);
        }
    }
    usable.into_iter().collect()
}

/// Adds the searchable strings of one value.
fn add(value: &[u8], usable: &mut BTreeSet<Vec<u8>>) {
    if let Ok(text) = str::from_utf8(value) {
        let parts = text.lines().flat_map(secret_parts).map(String::into_bytes);
        usable.extend(parts.filter(|part| is_usable(part)));
    }
    let lines: Vec<&[u8]> = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
    if lines.len() > 1 {
        let any_long = lines.iter().any(|line| length(line) >= LINE);
        // A short line among long ones may be any word, unless it mixes digits and both cases.
        let counts = |line: &[u8]| !any_long || length(line) >= LINE || looks_mixed(line);
        let lines = lines.iter().filter(|line| counts(line) && is_usable(line));
        usable.extend(lines.map(|line| line.to_vec()));
    }
    if is_usable(value) {
        usable.insert(value.to_vec());
    }
}

fn length(value: &[u8]) -> usize {
    String::from_utf8_lossy(value).chars().count()
}

fn is_usable(value: &[u8]) -> bool {
    let value = &*String::from_utf8_lossy(value);
    value.chars().count() >= MIN_SECRET_LEN
        // A masked number is invalid JSON, because numbers have no quotes.
        && !value.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))
        && value.chars().any(char::is_alphanumeric)
        // The delimiter line of a key is not secret; the lines inside are masked anyway.
        && !value.starts_with("-----")
        && !RESERVED.contains(&value)
        && !is_example(value)
        && !is_path(value)
        && !is_model(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whether_its_value_is_secret() {
        let secret = [
            "GITHUB_TOKEN",
            "MY_SECRET",
            "DB_PASSWORD",
            "OPENAI_API_KEY",
            "STRIPE_KEY",
            "APIKEY",
            "AWS_SECRET_ACCESS_KEY",
            "npm_config_auth",
            "GOOGLE_CREDENTIALS",
            "PGPASSWORD",
            "ANTHROPIC_AUTH_TOKEN",
            "SECRET_KEY_BASE",
            "PRIVATE_KEY_PEM",
            "DB_PASS",
            "GITHUB_PAT",
            "AWS_CREDS",
            "MYSQLPASSWORD",
            "TOKEN1",
            "CLIENT_SECRET_1",
            "SECRETKEY",
            "MYSQL_PWD",
            "SSHPASS",
        ];
        for name in secret {
            assert!(is_secret_name(name), "{name}");
        }
        let innocent = [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "BUILD_PWD",
            "COMPASS",
            "SSH_AUTH_SOCK",
            "AWS_ACCESS_KEY_ID",
            "KEY",
            "GOOGLE_APPLICATION_CREDENTIALS_FILE",
            "TOKEN_PATH",
            "MONKEY",
            "KEYBOARD_LAYOUT",
            "MAX_THINKING_TOKENS",
            "AUTHOR",
            "TOKENIZER",
            "CLIENT_ID",
        ];
        for name in innocent {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn values_that_would_hit_innocent_text_are_left_out() {
        let values = ["short", "1234567890", "session_id", "-------------", "correct-horse"];
        assert_eq!(usable(values), [b"correct-horse"]);
        assert!(usable(["/srv/me/project", "claude-opus-4-5"]).is_empty());
        assert_eq!(usable(["/G/C3qN8pGV8hqxCFGFCxqh8VGp8Nq3C"]).len(), 1);
    }

    #[test]
    fn a_value_of_several_lines_counts_line_by_line_as_well() {
        let value = "first line that is long\nshort\nsecond line that is long\n";
        let whole = value.trim();
        let expected = ["first line that is long", whole, "second line that is long"];
        assert_eq!(usable([value]), expected.map(str::as_bytes));
        assert_eq!(usable(["ten chars1\nten chars2"]).len(), 3);
    }

    #[test]
    fn words_that_stand_for_a_secret_or_for_none_are_no_secret() {
        assert!(usable(["postgres", "password", "disabled", "Required", "changeme"]).is_empty());
        assert_eq!(usable(["password-7"]).len(), 1);
    }

    #[test]
    fn a_short_line_of_a_longer_value_counts_if_it_is_no_word() {
        let key = "MIIEvQIBADANBgkqhkiG9w0BAQ\naB3dEfg9==\nlast words";
        let expected = [key, "MIIEvQIBADANBgkqhkiG9w0BAQ", "aB3dEfg9=="].map(str::as_bytes);
        let mut found = usable([key]);
        found.sort_by_key(|value| std::cmp::Reverse(value.len()));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_json_calls_secret_is_secret_alone() {
        let value = r#"{"auths":{"host.example":{"auth":"zebra77zebra","email":"me@host.example"}},
            "clientSecret":"giraffe77giraffe","client_id":"hippo77hippo77"}"#;
        let found = usable([value]);
        let has = |text: &str| found.iter().any(|value| value == text.as_bytes());
        assert!(has("zebra77zebra") && has("giraffe77giraffe"));
        assert!(!has("me@host.example") && !has("hippo77hippo77"));
    }

    #[test]
    fn what_a_machine_made_up_looks_random() {
        assert!(looks_random("a1b2c3d4e5f6a7b8"));
        for value in [
            "/usr/lib/x86_64",
            "just words here 1",
            "abcdefghijkl",
            "a1b2c3d4e5f6",
            "claude-opus-4-5-20251101",
            "only-one-digit-in-it-1",
        ] {
            assert!(!looks_random(value), "{value}");
        }
    }
}
