//! The environment variables that any agent program receives: user and locale, network, account and
//! the tools of the project. All others are dropped unless a dialect or the user adds them.

use crate::withheld::{is_credential, is_login};

/// The variables passed to every program. A star stands for any text.
const PASSED_ON: &[&str] = &[
    // User, locale and paths.
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
    // For programs that are only asked for their version and have no temporary folder.
    "TMPDIR",
    // Network access.
    "SSH_AUTH_SOCK",
    "*_PROXY",
    "*_proxy",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
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

/// The account of the agent. Of the credentials, only the login is passed on.
const ACCOUNT: &str = "ANTHROPIC_*";

/// The accounts of clouds, and the variable that configures the agent for the cloud.
const CLOUDS: &[(&str, &str)] = &[
    ("AWS_*", "CLAUDE_CODE_USE_BEDROCK"),
    ("GOOGLE_*", "CLAUDE_CODE_USE_VERTEX"),
    ("CLOUD_ML_REGION", "CLAUDE_CODE_USE_VERTEX"),
    ("ANTHROPIC_FOUNDRY_*", "CLAUDE_CODE_USE_FOUNDRY"),
];

/// Whether a variable of nightwright's environment is passed on; `also` holds the additions of the
/// dialect, and `is_on` tells which switches are set. A pattern for tools passes on no credential:
/// `CARGO_*` does not include the token of a registry.
pub(super) fn allows(name: &str, also: &[&str], is_on: &dyn Fn(&str) -> bool) -> bool {
    if let Some((_, switch)) = CLOUDS.iter().find(|(pattern, _)| matches(pattern, name)) {
        return is_on(switch);
    }
    let fits = |pattern: &&str| matches(pattern, name);
    let is_account = matches(ACCOUNT, name);
    let is_usual = is_account || PASSED_ON.iter().any(fits);
    also.iter().any(fits) || (is_account && is_login(name)) || (is_usual && !is_credential(name))
}

/// The patterns of the variables that are passed on, with the switch that some of them need, for
/// the documentation.
pub(super) fn listed(also: &'static [&'static str]) -> Vec<(&'static str, Option<&'static str>)> {
    let always = PASSED_ON.iter().chain([&ACCOUNT]).chain(also).map(|pattern| (*pattern, None));
    let clouds = CLOUDS.iter().map(|(pattern, switch)| (*pattern, Some(*switch)));
    always.chain(clouds).collect()
}

/// Matches a pattern with at most one star, which stands for at least one character.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
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
    use crate::stream::dialect::Dialect;

    #[test]
    fn the_environment_passes_what_is_listed_and_nothing_of_an_outer_session() {
        for name in
            ["PATH", "LC_ALL", "https_proxy", "ANTHROPIC_API_KEY", "JAVA_HOME", "CARGO_HOME"]
        {
            assert!(Dialect::Claude.environment_allows(name, &|_| false), "{name}");
            assert!(Dialect::Command.environment_allows(name, &|_| false), "{name}");
        }
        for name in [
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_SKIP_VERTEX_AUTH",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "BASH_MAX_TIMEOUT_MS",
        ] {
            assert!(Dialect::Claude.environment_allows(name, &|_| false), "{name}");
            assert!(!Dialect::Command.environment_allows(name, &|_| false), "{name}");
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
            "CARGO_REGISTRY_TOKEN",
            "ANTHROPIC_ADMIN_KEY",
            "AWS_PROFILE",
            "AWS_SECRET_ACCESS_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "ANTHROPIC_FOUNDRY_API_KEY",
            "",
        ] {
            assert!(!Dialect::Claude.environment_allows(name, &|_| false), "{name}");
            assert!(!Dialect::Command.environment_allows(name, &|_| false), "{name}");
        }
    }

    #[test]
    fn the_account_of_a_cloud_is_passed_on_only_if_the_agent_uses_it() {
        for (switch, names) in [
            ("CLAUDE_CODE_USE_BEDROCK", &["AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"][..]),
            ("CLAUDE_CODE_USE_VERTEX", &["GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_REGION"]),
            ("CLAUDE_CODE_USE_FOUNDRY", &["ANTHROPIC_FOUNDRY_API_KEY"]),
        ] {
            for name in names {
                let is_on = |other: &str| other == switch;
                assert!(Dialect::Claude.environment_allows(name, &is_on), "{name}");
                assert!(
                    !Dialect::Claude.environment_allows(name, &|other| !is_on(other)),
                    "{name}"
                );
            }
        }
    }
}
