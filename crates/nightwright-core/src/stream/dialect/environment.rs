//! The variables that any agent program is given: who and where we are, the network, the account,
//! and the tools of the project. Everything else is dropped unless a dialect or the user adds it.

use crate::environment::is_credential;

/// What every program gets. A star stands for any text.
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
    // Programs that are only asked for their version have no folder of their own.
    "TMPDIR",
    // The network.
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

/// Whether a variable of our own environment is passed on; `also` is what the dialect adds. A pattern
/// for tools passes on no credential: the token of a registry is not what `CARGO_*` is for.
pub(super) fn allows(name: &str, also: &[&str]) -> bool {
    let fits = |pattern: &&str| matches(pattern, name);
    ACCOUNT.iter().chain(also).any(fits) || (PASSED_ON.iter().any(fits) && !is_credential(name))
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
