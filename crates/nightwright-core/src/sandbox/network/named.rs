//! The hosts that the user's own settings name: registries, git remotes, proxies, and the provider
//! of the agent.

use super::HostPort;

/// The hosts that Claude Code needs by default: its provider, and where it renews its login.
const PROVIDER: &[&str] = &[
    "api.anthropic.com:443",
    "console.anthropic.com:443",
    "platform.claude.com:443",
    "claude.ai:443",
];
/// The variables with the address of another provider.
const PROVIDER_URLS: &[&str] = &[
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_FOUNDRY_BASE_URL",
];
/// The usual region of Amazon Bedrock.
const BEDROCK_REGION: &str = "us-east-1";

/// The ends of the names of variables that hold addresses of registries, mirrors, proxies and APIs.
const ADDRESS_VARIABLES: &[&str] = &[
    "_BASE_URL",
    "_INDEX_URL",
    "_INDEX",
    "_REGISTRY",
    "_REGISTRY_URL",
    "_REPOSITORY_URL",
    "_MIRROR",
    "_PROXY",
    "_DIST_SERVER",
    "_UPDATE_ROOT",
    "_ENDPOINT",
    "GOPROXY",
    "GOSUMDB",
    "UV_FIND_LINKS",
    "PIP_FIND_LINKS",
];

/// The characters that end an address in a text.
const ENDS: &[char] = &['"', '\'', '<', '>', '(', ')', ',', '|', ';', '\\', '`', '{', '}'];

/// Whether a variable of the user's environment holds addresses of hosts.
pub fn is_address_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ADDRESS_VARIABLES.iter().any(|end| name.ends_with(end))
}

/// The hosts of all addresses in a text, such as a settings file or the value of a variable.
pub fn hosts_in(text: &str) -> Vec<HostPort> {
    let mut found = Vec::new();
    for word in text.split(|letter: char| letter.is_whitespace() || ENDS.contains(&letter)) {
        // In `registry=https://example.com`, the address begins behind the equals sign.
        let Some((before, _)) = word.split_once("://") else { continue };
        let is_scheme = |letter: char| letter.is_ascii_alphanumeric() || letter == '+';
        let begin = before.rfind(|letter| !is_scheme(letter)).map_or(0, |place| place + 1);
        if let Some(host) = word.get(begin..).and_then(HostPort::of_url) {
            push(&mut found, host);
        }
    }
    found
}

/// The hosts of the remotes in the configuration of a repository.
pub fn git_remotes(config: &str) -> Vec<HostPort> {
    let mut found = Vec::new();
    for line in config.lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        if ["url", "pushurl"].contains(&name.trim().to_ascii_lowercase().as_str())
            && let Some(host) = HostPort::of_url(value.trim().trim_matches('"'))
        {
            push(&mut found, host);
        }
    }
    found
}

/// The hosts that the agent itself needs, by its environment.
pub fn provider(get: impl Fn(&str) -> Option<String>) -> Vec<HostPort> {
    let is_on = |name: &str| get(name).is_some_and(|value| !["", "0", "false"].contains(&&*value));
    let urls = PROVIDER_URLS.iter().filter_map(|name| get(name));
    let mut found: Vec<_> = urls.filter_map(|url| HostPort::of_url(url.trim())).collect();
    let mut names: Vec<String> = Vec::new();
    if is_on("CLAUDE_CODE_USE_BEDROCK") {
        let region = get("AWS_REGION").or_else(|| get("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| BEDROCK_REGION.to_owned());
        names.extend(
            ["bedrock-runtime", "bedrock", "sts"]
                .map(|service| format!("{service}.{region}.amazonaws.com:443")),
        );
    } else if is_on("CLAUDE_CODE_USE_VERTEX") {
        let region = get("CLOUD_ML_REGION").filter(|region| region != "global");
        let prefix = region.map(|region| format!("{region}-")).unwrap_or_default();
        names.push(format!("{prefix}aiplatform.googleapis.com:443"));
        names.push("oauth2.googleapis.com:443".to_owned());
    } else {
        names.extend(PROVIDER.iter().map(ToString::to_string));
    }
    for host in names.iter().filter_map(|name| name.parse().ok()) {
        push(&mut found, host);
    }
    found
}

fn push(found: &mut Vec<HostPort>, host: HostPort) {
    if !found.contains(&host) {
        found.push(host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hosts: &[HostPort]) -> Vec<String> {
        hosts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn settings_files_and_variables_name_hosts() {
        for (text, expected) in [
            ("registry=http://localhost:4873/\n//localhost:4873/:_authToken=x", "localhost:4873"),
            ("[global]\nindex-url = https://u:p@pypi.corp/simple\n", "pypi.corp:443"),
            ("index = \"sparse+https://10.0.0.7:8443/index/\"", "10.0.0.7:8443"),
            ("<url>http://maven.corp/repo</url>", "maven.corp:80"),
            ("https://a.corp,https://a.corp|direct", "a.corp:443"),
            ("git@github.com:a/b.git file:///srv http:///x ftp", ""),
        ] {
            assert_eq!(shown(&hosts_in(text)).join(" "), expected, "{text}");
        }
        for name in ["npm_config_registry", "UV_INDEX_URL", "HTTPS_PROXY", "RUSTUP_DIST_SERVER"] {
            assert!(is_address_variable(name), "{name}");
        }
        for name in ["DATABASE_URL", "HOME", "INDEX"] {
            assert!(!is_address_variable(name), "{name}");
        }
    }

    #[test]
    fn remotes_are_read_in_all_notations() {
        let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@git.corp:a/b.git\n\
                      \tfetch = +refs/heads/*:refs/remotes/origin/*\n[remote \"x\"]\n\
                      \tpushurl = \"https://10.1.2.3/x.git\"\n\turl = ../other\n";
        assert_eq!(shown(&git_remotes(config)), ["git.corp:22", "10.1.2.3:443"]);
    }

    #[test]
    fn the_provider_depends_on_the_environment() {
        let hosts = |pairs: &[(&str, &str)]| {
            let find = |name: &str| pairs.iter().find(|(known, _)| *known == name);
            shown(&provider(|name| find(name).map(|(_, value)| (*value).to_owned())))
        };
        assert_eq!(hosts(&[]), PROVIDER);
        let own = hosts(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9000")]);
        assert_eq!(own[0], "127.0.0.1:9000");
        let bedrock = hosts(&[("CLAUDE_CODE_USE_BEDROCK", "1"), ("AWS_REGION", "eu-west-1")]);
        assert_eq!(bedrock[0], "bedrock-runtime.eu-west-1.amazonaws.com:443");
        let vertex = hosts(&[("CLAUDE_CODE_USE_VERTEX", "1"), ("CLOUD_ML_REGION", "europe-west1")]);
        assert_eq!(vertex[0], "europe-west1-aiplatform.googleapis.com:443");
    }
}
