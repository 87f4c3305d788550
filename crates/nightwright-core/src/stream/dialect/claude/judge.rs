//! The configuration of a judge: of the user's own configuration, only the login and what forbids.

use serde_json::{Map, Value};

use crate::stream::dialect::passed_on::matches;

/// The variables that keep texts which an agent can write out of a judge's context: memory files
/// such as `CLAUDE.md`, and the latest commits of the repository.
pub const JUDGE_ENVIRONMENT: &[(&str, &str)] = &[
    ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "1"),
];

/// The variable that names the folder of the configuration.
pub const CONFIG_VARIABLE: &str = "CLAUDE_CONFIG_DIR";

/// The variable that names the folder of the login. The program replaces the file with the login
/// when it renews the login, so a copy of the file, or a link to it, would log the user out.
pub const LOGIN_VARIABLE: &str = "CLAUDE_SECURESTORAGE_CONFIG_DIR";

/// The folder of the configuration in the user's home, if no variable names another one.
pub const CONFIG_FOLDER: &str = ".claude";
/// The user's settings, in the folder of the configuration.
pub const SETTINGS_FILE: &str = "settings.json";
/// The program's state, in the folder that the variable names, or else in the user's home.
pub const STATE_FILE: &str = ".claude.json";

/// The settings that a judge keeps: the login, the model of the account, and what restricts tools.
const KEPT: &[&str] = &[
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "gcpAuthRefresh",
    "proxyAuthHelper",
    "forceLoginMethod",
    "forceLoginOrgUUID",
    "model",
    "modelOverrides",
    "availableModels",
    "sandbox",
];

/// The permission rules that a judge keeps. The folders of `additionalDirectories` could contain
/// further memory files.
const KEPT_PERMISSIONS: &[&str] = &["allow", "ask", "deny"];

/// The variables that a judge keeps. A star stands for any text.
const KEPT_VARIABLES: &[&str] = &[
    "ANTHROPIC_*",
    "AWS_*",
    "GOOGLE_*",
    "CLOUD_ML_REGION",
    "VERTEX_REGION_*",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
    "CLAUDE_CODE_CLIENT_*",
    "CLAUDE_CODE_USE_*",
    "CLAUDE_CODE_SKIP_*_AUTH",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "*_PROXY",
    "*_proxy",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
];

/// The parts of the state that are the login: the key of an account that is billed by usage.
const KEPT_STATE: &[&str] = &["primaryApiKey", "oauthAccount"];

/// The other parts of the state that an agent in a sandbox gets: what the user set up.
const KEPT_IN_SANDBOX: &[&str] = &["mcpServers", "hasCompletedOnboarding", "userID"];

/// Returns the judge's settings, from the user's. Settings that are not valid JSON have no effect.
pub fn judge_settings(user: &str) -> String {
    let mut user = object(user);
    let mut settings = pick(&mut user, |name| KEPT.contains(&name));
    if let Some(Value::Object(mut rules)) = user.remove("permissions") {
        let rules = pick(&mut rules, |name| KEPT_PERMISSIONS.contains(&name));
        settings.insert("permissions".to_owned(), rules.into());
    }
    if let Some(Value::Object(mut variables)) = user.remove("env") {
        let is_kept = |name: &str| KEPT_VARIABLES.iter().any(|pattern| matches(pattern, name));
        settings.insert("env".to_owned(), pick(&mut variables, is_kept).into());
    }
    Value::Object(settings).to_string()
}

/// Returns the judge's state, from the user's.
pub fn judge_state(user: &str) -> String {
    Value::Object(pick(&mut object(user), |name| KEPT_STATE.contains(&name))).to_string()
}

/// Returns the state of an agent in a sandbox: its own, with the user's login and MCP servers.
pub fn sandbox_state(user: &str, own: &str) -> String {
    let mut state = object(own);
    let is_kept = |name: &str| KEPT_STATE.contains(&name) || KEPT_IN_SANDBOX.contains(&name);
    state.append(&mut pick(&mut object(user), is_kept));
    Value::Object(state).to_string()
}

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn pick(from: &mut Map<String, Value>, is_kept: impl Fn(&str) -> bool) -> Map<String, Value> {
    std::mem::take(from)
        .into_iter()
        .filter_map(|(name, value)| {
            if is_kept(&name) {
                return Some((name, value));
            }
            from.insert(name, value);
            None
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_keeps_the_login_and_what_forbids() {
        let user = r#"{
            "apiKeyHelper": "~/key.sh", "model": "opus", "sandbox": {"enabled": true},
            "env": {"ANTHROPIC_BASE_URL": "u", "HTTPS_PROXY": "p", "CLAUDE_CODE_USE_BEDROCK": "1",
                "AWS_PROFILE": "a", "CLAUDE_CONFIG_DIR": "/x", "BASH_ENV": "/x", "NODE_OPTIONS": "-r x"},
            "permissions": {"allow": ["A"], "deny": ["B"], "ask": ["C"],
                "defaultMode": "bypassPermissions", "additionalDirectories": ["/x"]},
            "hooks": {"Stop": []}, "outputStyle": "x", "statusLine": {}, "enabledPlugins": {"x": true},
            "language": "x", "enableAllProjectMcpServers": true
        }"#;
        assert_eq!(
            judge_settings(user),
            r#"{"apiKeyHelper":"~/key.sh","env":{"ANTHROPIC_BASE_URL":"u","AWS_PROFILE":"a","#
                .to_owned()
                + r#""CLAUDE_CODE_USE_BEDROCK":"1","HTTPS_PROXY":"p"},"model":"opus","#
                + r#""permissions":{"allow":["A"],"ask":["C"],"deny":["B"]},"sandbox":{"enabled":true}}"#
        );
    }

    #[test]
    fn a_configuration_that_is_not_valid_gives_a_judge_nothing() {
        for user in ["", "{", "[]", "null", "{\"env\": 1, \"permissions\": []}"] {
            assert_eq!((judge_settings(user), judge_state(user)), ("{}".into(), "{}".into()));
        }
    }

    #[test]
    fn the_state_of_an_agent_in_a_sandbox_is_its_own_with_the_users_login() {
        let user = r#"{"primaryApiKey": "new", "mcpServers": {"x": {}}, "projects": {"/p": {}}}"#;
        let own = r#"{"primaryApiKey": "old", "numStartups": 2}"#;
        assert_eq!(
            sandbox_state(user, own),
            r#"{"mcpServers":{"x":{}},"numStartups":2,"primaryApiKey":"new"}"#
        );
        assert_eq!(sandbox_state("", ""), "{}");
    }

    #[test]
    fn of_the_state_a_judge_gets_the_account_alone() {
        let user = r#"{"primaryApiKey": "k", "mcpServers": {"x": {}}, "projects": {"/p": {}}}"#;
        assert_eq!(judge_state(user), r#"{"primaryApiKey":"k"}"#);
    }
}
