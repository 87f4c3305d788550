//! The environment variables that any agent program receives: user and locale, network, account and
//! the tools of the project. All others are dropped unless a dialect or the user adds them.

use crate::withheld::is_credential;

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

/// The account of the agent.
const ACCOUNT: &[&str] = &["ANTHROPIC_*", "AWS_*", "GOOGLE_*", "CLOUD_ML_REGION"];

/// Whether a variable of nightwright's environment is passed on; `also` holds the additions of the
/// dialect. A pattern for tools passes on no credential: `CARGO_*` does not include the token of a
/// registry.
pub(super) fn allows(name: &str, also: &[&str]) -> bool {
    let fits = |pattern: &&str| matches(pattern, name);
    ACCOUNT.iter().chain(also).any(fits) || (PASSED_ON.iter().any(fits) && !is_credential(name))
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
            assert!(Dialect::Claude.environment_allows(name), "{name}");
            assert!(Dialect::Command.environment_allows(name), "{name}");
        }
        for name in [
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_SKIP_VERTEX_AUTH",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "BASH_MAX_TIMEOUT_MS",
        ] {
            assert!(Dialect::Claude.environment_allows(name), "{name}");
            assert!(!Dialect::Command.environment_allows(name), "{name}");
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
            "",
        ] {
            assert!(!Dialect::Claude.environment_allows(name), "{name}");
            assert!(!Dialect::Command.environment_allows(name), "{name}");
        }
    }
}
