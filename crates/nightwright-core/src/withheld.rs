//! Environment variables: which ones checks and hooks get, and which ones a project needs.
//!
//! Checks run the agent's code, so they get everything but secrets. The agent itself gets the
//! variables that its dialect lists. If the project's files mention a variable that the agent does
//! not get, the agent's own test runs may fail even though the checks pass. Such variables are
//! reported.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path};

/// Variables set by an agent or by a run for the programs it starts.
const SESSION: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_CODE_*",
    "CODEX_SANDBOX*",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "NIGHTWRIGHT_ATTEMPT",
    "NIGHTWRIGHT_CALL",
    "NIGHTWRIGHT_ITERATION",
    "NIGHTWRIGHT_MARK",
    "NIGHTWRIGHT_PURPOSE",
    "NIGHTWRIGHT_RUN_ID",
    "NIGHTWRIGHT_TASK",
    "NIGHTWRIGHT_TURN",
];
const LOGIN: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLAUDE_CODE_OAUTH_TOKEN",
];
/// Also the agent's login, if it is configured for that cloud.
const CLOUDS: &[(&str, &str)] = &[
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_ACCESS_KEY_ID"),
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_SECRET_ACCESS_KEY"),
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_SESSION_TOKEN"),
    ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_APPLICATION_CREDENTIALS"),
    ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_API_KEY"),
    ("CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_API_KEY"),
];
/// Patterns for the names of credentials, in capital letters.
const CREDENTIALS: &[&str] = &["*_TOKEN", "*_SECRET*", "*_KEY", "*_PASSWORD", "*_APIKEY", "*_PAT"];
/// Names and patterns for the credentials of package registries, in capital letters, and words that
/// are a credential alone.
const REGISTRIES: &[&str] = &[
    "APIKEY",
    "COMPOSER_AUTH",
    "DOCKER_AUTH_CONFIG",
    "GOAUTH",
    "NPM_CONFIG__AUTH",
    "NUGETPACKAGESOURCECREDENTIALS_*",
    "PASSWORD",
    "POETRY_PYPI_TOKEN_*",
    "SECRET",
    "TOKEN",
    "VSS_NUGET_EXTERNAL_FEED_ENDPOINTS",
    "*:_AUTH",
    "*_AUTHTOKEN",
];
/// The variable with the folders in which programs look for libraries.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// Variables that make every program load a library, or report what it loads.
const LOADER: &str = "LD_*";
/// The number of names that are listed; the rest is counted.
const NAMED: usize = 6;
/// Shorter words in capital letters are seldom variables.
const MIN_VARIABLE_LEN: usize = 3;

/// The reason why checks and hooks do not get a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// The variable belongs to an enclosing agent session or run.
    Session,
    /// The variable is the agent's login.
    Login,
    /// The variable has the name of a credential.
    Credential,
    /// The variable changes how programs load libraries, which the agent could have written.
    Loader,
}

/// The reason why checks and hooks do not get a variable, if any. `pass` are the exceptions of
/// `verify.pass_env`; a login is an exception only by its full name. `is_set` tells which other
/// variables are set.
pub fn withheld(name: &str, pass: &[String], is_set: impl Fn(&str) -> bool) -> Option<Withheld> {
    let is_cloud = |(cloud, login): &(&str, &str)| *login == name && is_set(cloud);
    if is_login(name) || CLOUDS.iter().any(is_cloud) {
        let is_named = pass.iter().any(|pattern| pattern == name);
        return (!is_named).then_some(Withheld::Login);
    }
    if pass.iter().any(|pattern| fits(pattern, name)) {
        return None;
    }
    if fits(LOADER, name) && name != LIBRARY_PATH {
        return Some(Withheld::Loader);
    }
    if SESSION.iter().any(|pattern| fits(pattern, name)) {
        return Some(Withheld::Session);
    }
    is_credential(name).then_some(Withheld::Credential)
}

/// Whether a variable is the agent's login, whatever the agent is configured for.
pub fn is_login(name: &str) -> bool {
    LOGIN.contains(&name)
}

/// The folders of a library path outside the project. Empty and relative ones mean the current
/// folder, in which the agent can put a library. `None` if no folder is left.
pub fn library_path(value: &str, is_inside: impl Fn(&Path) -> bool) -> Option<String> {
    let is_outside = |folder: &&str| {
        let folder = Path::new(folder);
        let climbs = folder.components().any(|part| part == Component::ParentDir);
        folder.is_absolute() && !climbs && !is_inside(folder)
    };
    let folders: Vec<_> = value.split(':').filter(is_outside).collect();
    (!folders.is_empty()).then(|| folders.join(":"))
}

/// The patterns of the variables that checks and hooks do not get, by reason, for the documentation.
pub fn withheld_patterns() -> [(&'static str, Vec<&'static str>); 5] {
    let credentials = CREDENTIALS.iter().chain(REGISTRIES).copied();
    let of_clouds = CLOUDS.iter().map(|(_, login)| *login).collect();
    [
        ("an enclosing agent session or run", SESSION.to_vec()),
        ("the login of the agent", LOGIN.to_vec()),
        ("its login for a cloud, if it uses the cloud", of_clouds),
        ("credentials, in upper or lower case", credentials.chain(["BUNDLE_*__*"]).collect()),
        ("loading of libraries, except `LD_LIBRARY_PATH`", vec![LOADER]),
    ]
}

/// Whether a variable has the name of a credential.
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let fits_inside = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.contains(start.trim_start_matches('*')),
        None => fits(pattern, &name),
    };
    // Bundler: `BUNDLE_GEMS__EXAMPLE__COM` has the login to gems.example.com.
    let is_host = name.strip_prefix("BUNDLE_").is_some_and(|host| host.contains("__"));
    let is_registry = || REGISTRIES.iter().any(|pattern| fits(pattern, &name));
    is_host || CREDENTIALS.iter().any(fits_inside) || is_registry()
}

/// Whether a name matches a pattern, in which one `*` stands for any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        }
    }
}

/// Whether a file of the project, by its relative path, names variables that the project needs.
pub fn names_variables(path: &str) -> bool {
    Mention::of(path).is_some()
}

/// How a file names variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mention {
    /// As lines of the form `NAME=value`.
    Lines,
    /// As `$NAME`, as `secrets.NAME`, or as a key.
    Yaml,
}

impl Mention {
    fn of(path: &str) -> Option<Self> {
        let extension = Path::new(path).extension().and_then(OsStr::to_str);
        let is_yaml = matches!(extension, Some("yml" | "yaml"));
        let is_ci = path.starts_with(".github/workflows/")
            || path.starts_with(".circleci/")
            || ["azure-pipelines", "bitbucket-pipelines", ".travis", ".gitlab-ci"]
                .iter()
                .any(|name| path.starts_with(name));
        let is_compose = path.starts_with("docker-compose") || path.starts_with("compose.");
        match path {
            ".env.example" | ".env.sample" | ".env.template" | ".env.dist" | ".env.test"
            | "example.env" => Some(Self::Lines),
            _ if is_yaml && (is_ci || is_compose) => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// The variables that a file names.
pub fn mentioned(path: &str, text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut names = BTreeSet::new();
    match Mention::of(path) {
        None => {}
        Some(Mention::Lines) => {
            for line in lines {
                let line = line.strip_prefix("export ").unwrap_or(line);
                if let Some((name, _)) = line.split_once('=') {
                    names.extend(variable(name.trim()));
                }
            }
        }
        Some(Mention::Yaml) => {
            for line in lines {
                collect(line, &mut names);
            }
        }
    }
    names
}

fn variable(word: &str) -> Option<String> {
    let is_name = word.len() >= MIN_VARIABLE_LEN
        && word.starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '_')
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| word.to_owned())
}

/// Adds the variables that one line of YAML names.
fn collect(line: &str, names: &mut BTreeSet<String>) {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut at = 0;
    while let Some(start) = line[at..].find(is_part).map(|found| at + found) {
        let end = line[start..].find(|letter| !is_part(letter)).map_or(line.len(), |n| start + n);
        let (before, word, after) = (&line[..start], &line[start..end], &line[end..]);
        let is_reference =
            ["$", "${", "secrets.", "vars.", "env."].iter().any(|prefix| before.ends_with(prefix));
        let is_key = matches!(before, "" | "- ")
            && (after.starts_with(':') || after.starts_with('='))
            && word.bytes().all(|byte| !byte.is_ascii_lowercase());
        if is_reference || is_key {
            names.extend(variable(word));
        }
        at = end;
    }
}

/// A message about variables that the project's files mention and that the agent does not get.
/// `names` are those that are set; `pass` is the current `agent.pass_env`.
pub fn lacking_line(names: &[String], pass: &[String]) -> Option<String> {
    let (list, it) = listed(names)?;
    let setting = setting("agent.pass_env", pass, names);
    Some(format!(
        "This project's files mention {list}, which the agent does not get. To pass {it} on: {setting}"
    ))
}

/// A message about variables that a failing check did not get. `pass` is the current
/// `verify.pass_env`. The suggested setting has only variables that the project's files mention,
/// and never a login.
pub fn withheld_line(
    names: &[String],
    mentioned: &BTreeSet<String>,
    pass: &[String],
) -> Option<String> {
    // No check needs the login of the agent that is being checked.
    let names: Vec<_> = names.iter().filter(|name| !is_login(name)).cloned().collect();
    let (list, it) = listed(&names)?;
    let is_likely = |name: &&String| mentioned.contains(*name);
    let likely: Vec<_> = names.iter().filter(is_likely).cloned().collect();
    let advice = match listed(&likely) {
        Some((likely_list, _)) => {
            let setting = setting("verify.pass_env", pass, &likely);
            format!("This project's files mention {likely_list}. To pass them on: {setting}")
        }
        None => format!("If the failing check needs {it}, add the name to verify.pass_env."),
    };
    Some(format!("checks run without {list}. {advice}"))
}

fn listed(names: &[String]) -> Option<(String, &'static str)> {
    let shown = &names[..names.len().min(NAMED)];
    let more = names.len() - shown.len();
    let (last, first) = shown.split_last()?;
    let list = match (first, more) {
        ([], 0) => last.clone(),
        (first, 0) => format!("{} and {last}", first.join(", ")),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    };
    Some((list, if names.len() == 1 { "it" } else { "them" }))
}

/// A setting that can be copied into the configuration.
fn setting(key: &str, pass: &[String], names: &[String]) -> String {
    let all = pass.iter().chain(names.iter().take(NAMED));
    let all: Vec<_> = all.map(|name| format!("\"{name}\"")).collect();
    format!("{key} = [{}]", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[track_caller]
    fn is_withheld(name: &str, wanted: Option<Withheld>) {
        assert_eq!(withheld(name, &[], |_| false), wanted, "{name}");
    }

    #[test]
    fn checks_get_everything_but_sessions_logins_and_credentials() {
        for name in [
            "PATH",
            "DATABASE_URL",
            "RUSTFLAGS",
            "CARGO_HOME",
            "KEYBOARD",
            "TOKENIZERS_PARALLELISM",
            "NIGHTWRIGHT_STATE_DIR",
            "AWS_REGION",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SSH_AUTH_SOCK",
        ] {
            is_withheld(name, None);
        }
        for name in
            ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "NIGHTWRIGHT_MARK"]
        {
            is_withheld(name, Some(Withheld::Session));
        }
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
            is_withheld(name, Some(Withheld::Login));
        }
        for name in [
            "GITHUB_TOKEN",
            "npm_config_token",
            "CARGO_REGISTRY_TOKEN",
            "CLIENT_SECRET",
            "AWS_SECRET_ACCESS_KEY",
            "MY_SECRET_THING",
            "STRIPE_API_KEY",
            "PGPASSWORD_PASSWORD",
            "npm_config_//registry.example/:_authToken",
            "npm_config__auth",
            "NODE_AUTH_TOKEN",
            "TWINE_PASSWORD",
            "POETRY_PYPI_TOKEN_PRIVATE",
            "BUNDLE_GEMS__EXAMPLE__COM",
            "NuGetPackageSourceCredentials_feed",
            "COMPOSER_AUTH",
            "DOCKER_AUTH_CONFIG",
            "CARGO_REGISTRIES_MINE_TOKEN",
            "GITHUB_PAT",
            "TOKEN",
        ] {
            is_withheld(name, Some(Withheld::Credential));
        }
    }

    #[test]
    fn the_login_to_a_cloud_is_the_agent_s_if_the_agent_uses_it() {
        let vertex = |name: &str| name == "CLAUDE_CODE_USE_VERTEX";
        let name = "GOOGLE_APPLICATION_CREDENTIALS";
        assert_eq!(withheld(name, &[], vertex), Some(Withheld::Login));
    }

    #[test]
    fn the_loader_takes_nothing_from_the_project() {
        for name in ["LD_PRELOAD", "LD_AUDIT", "LD_BIND_NOW"] {
            is_withheld(name, Some(Withheld::Loader));
        }
        is_withheld(LIBRARY_PATH, None);
        let path = |value: &str| library_path(value, |path| path.starts_with("/srv/project"));
        assert_eq!(path("/opt/lib:/usr/lib").as_deref(), Some("/opt/lib:/usr/lib"));
        assert_eq!(path("lib::/srv/project/lib:/opt/lib:.").as_deref(), Some("/opt/lib"));
        assert_eq!(path("/opt/../srv/project"), None);
    }

    #[test]
    fn a_pattern_never_covers_the_login_and_its_name_does() {
        let withheld = |pass: &[&str]| withheld("ANTHROPIC_API_KEY", &names(pass), |_| false);
        assert_eq!(withheld(&["*", "ANTHROPIC_*"]), Some(Withheld::Login));
        assert_eq!(withheld(&["ANTHROPIC_API_KEY"]), None);
    }

    #[test]
    fn the_login_for_a_cloud_is_a_login_only_if_the_agent_uses_the_cloud() {
        let pass = names(&["AWS_*"]);
        let withheld =
            |switch| withheld("AWS_SECRET_ACCESS_KEY", &pass, |other| Some(other) == switch);
        assert_eq!(withheld(Some("CLAUDE_CODE_USE_BEDROCK")), Some(Withheld::Login));
        assert_eq!(withheld(Some("CLAUDE_CODE_USE_VERTEX")), None);
        assert_eq!(withheld(None), None);
    }

    #[test]
    fn a_name_or_a_pattern_is_an_exception() {
        let pass = names(&["NPM_TOKEN", "STRIPE_*"]);
        for name in ["NPM_TOKEN", "STRIPE_API_KEY"] {
            assert_eq!(withheld(name, &pass, |_| false), None, "{name}");
        }
        assert_eq!(withheld("GITHUB_TOKEN", &pass, |_| false), Some(Withheld::Credential));
        assert_eq!(withheld("GITHUB_TOKEN", &names(&["*"]), |_| false), None);
    }

    #[test]
    fn an_example_of_an_environment_names_its_variables() {
        let text = "# DATABASE_NAME=x\nDATABASE_URL=postgres://localhost/x\nexport REDIS_URL=\n\
                    lower=1\nNOT A NAME=1\n";
        let found = mentioned(".env.example", text);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["DATABASE_URL", "REDIS_URL"]);
        assert!(mentioned("notes.txt", text).is_empty());
    }

    #[test]
    fn workflows_and_compose_files_name_variables_by_reference_and_as_keys() {
        let workflow = "env:\n  NODE_ENV: test\n  TOKEN_OF: ${{ secrets.NPM_TOKEN }}\n# $COMMENTED\n\
                        run: echo $HOME_PAGE ${CACHE_DIR:-x}\nname: Build\n";
        let found = mentioned(".github/workflows/ci.yml", workflow);
        let wanted = ["CACHE_DIR", "HOME_PAGE", "NODE_ENV", "NPM_TOKEN", "TOKEN_OF"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), wanted);
        let compose = "services:\n  db:\n    environment:\n      - POSTGRES_USER=x\n      \
                       POSTGRES_DB: ${DB_NAME}\n";
        let found = mentioned("docker-compose.test.yml", compose);
        let wanted = ["DB_NAME", "POSTGRES_DB", "POSTGRES_USER"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), wanted);
        for path in [".gitlab-ci.yml", "compose.yaml", ".circleci/config.yml"] {
            assert!(names_variables(path), "{path}");
        }
        for path in ["mkdocs.yml", ".env", "src/compose.rs", ".github/dependabot.yml"] {
            assert!(!names_variables(path), "{path}");
        }
    }

    #[test]
    fn a_line_has_the_setting_that_keeps_what_was_set_before() {
        assert_eq!(lacking_line(&[], &[]), None);
        assert_eq!(
            lacking_line(&names(&["DATABASE_URL"]), &names(&["GITHUB_*"])).unwrap(),
            "This project's files mention DATABASE_URL, which the agent does not get. To pass it \
             on: agent.pass_env = [\"GITHUB_*\", \"DATABASE_URL\"]"
        );
        let many: Vec<_> = (1..=8).map(|number| format!("V{number}_KEY")).collect();
        let line = withheld_line(&many, &BTreeSet::new(), &[]).unwrap();
        let advice =
            "V6_KEY and 2 more. If the failing check needs them, add the name to verify.pass_env.";
        assert!(line.contains(advice) && !line.contains("V7_KEY"), "{line}");
    }

    #[test]
    fn only_what_the_project_mentions_is_offered_and_never_a_login() {
        let withheld = names(&["ANTHROPIC_API_KEY", "DB_PASSWORD", "GITHUB_TOKEN"]);
        let mentioned = names(&["ANTHROPIC_API_KEY", "DB_PASSWORD"]).into_iter().collect();
        assert_eq!(
            withheld_line(&withheld, &mentioned, &[]).unwrap(),
            "checks run without DB_PASSWORD and GITHUB_TOKEN. This project's \
             files mention DB_PASSWORD. To pass them on: verify.pass_env = [\"DB_PASSWORD\"]"
        );
    }
}
