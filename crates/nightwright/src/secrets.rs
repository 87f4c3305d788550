//! The secrets of a run: collected from variables and the configuration, and masked in all records.
//!
//! The agent receives everything unmasked, because a masked argument or goal would break the work.
//! Everything that is stored or shown is masked; see [`Secrets`].

mod addresses;
mod unmasked_settings;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use nightwright_core::redact::{PatternError, Secrets, is_secret_name, looks_random};

use crate::config::{self, ConfigFile, ConfigValue, ResolvedConfig};
use crate::error::Failure;

pub use unmasked_settings::{
    UnmaskedSettings, changed, has_unmasked, masked_values, operator_messages, save_change,
    save_operator_message, save_settings, unmasked_settings,
};

/// The key with names of variables.
const VARIABLES: &str = "redact.variables";
/// The key with the patterns.
pub(crate) const PATTERNS: &str = "redact.patterns";

/// The secrets that the configuration adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretSettings {
    /// Names of variables; each may contain one `*` that matches any text.
    pub variables: Vec<String>,
    /// Regular expressions that match secrets.
    pub patterns: Vec<String>,
    /// Secret values, independent of any variable.
    pub values: Vec<String>,
}

impl SecretSettings {
    /// Returns the settings from the configuration. All layers count: a project can add secrets,
    /// but not remove the user's. Its patterns need an approval first.
    pub fn of(resolved: &ResolvedConfig) -> Self {
        let all = |key| {
            let lists = resolved.all(key).into_iter().filter_map(|(_, value)| match value {
                ConfigValue::List(items) => Some(items.clone()),
                _ => None,
            });
            let all: BTreeSet<String> = lists.flatten().collect();
            all.into_iter().collect()
        };
        let values = addresses::secrets(resolved, |name| env::var_os(name));
        Self { variables: all(VARIABLES), patterns: all(PATTERNS), values }
    }

    fn name(&self, name: &str) -> bool {
        self.variables.iter().any(|pattern| match pattern.split_once('*') {
            None => pattern == name,
            Some((before, after)) => {
                name.len() >= before.len() + after.len()
                    && name.starts_with(before)
                    && name.ends_with(after)
            }
        })
    }
}

/// Returns the secrets in the environment of this process and in the configuration.
pub fn of_config(resolved: &ResolvedConfig) -> Result<Secrets, Failure> {
    of_config_and(resolved, &[])
}

/// Like [`of_config`], plus known secrets from other sources.
pub fn of_config_and(resolved: &ResolvedConfig, known: &[String]) -> Result<Secrets, Failure> {
    let settings = SecretSettings::of(resolved);
    let own = resolved.environment_of_agent();
    let mut values = values(env::vars_os(), &own, &settings);
    values.extend(known.iter().map(|value| value.clone().into_bytes()));
    Secrets::new(values, &settings.patterns).map_err(|bad| unusable(&bad, &settings))
}

/// Returns the secrets to mask when the configuration is shown. If a pattern is invalid, it is
/// ignored and the rest is still masked, so that the user can see and fix it.
pub fn to_show(resolved: &ResolvedConfig) -> Secrets {
    of_config(resolved).unwrap_or_else(|_| {
        let settings = SecretSettings { patterns: Vec::new(), ..SecretSettings::of(resolved) };
        let own = resolved.environment_of_agent();
        collect(env::vars_os(), &own, &settings).unwrap_or_default()
    })
}

/// Returns the secrets to mask in the items that the user approves: those in the user's environment
/// and configuration. Nothing in the project adds a mask, because it could hide commands that way.
pub fn of_user() -> Secrets {
    let file = ConfigFile::user(|name| env::var_os(name)).and_then(|file| file.layer().ok());
    let environment = config::environment(|name| env::var_os(name)).ok();
    let resolved = ResolvedConfig::new(file.into_iter().chain(environment));
    to_show(&resolved).without_forms()
}

/// Returns the secrets in the environment of this process and in the variables given to a program.
pub fn of_environment(given: &[(OsString, OsString)]) -> Result<Secrets, Failure> {
    let ours: BTreeMap<OsString, OsString> = env::vars_os().collect();
    let other = given.iter().filter(|(name, value)| ours.get(name) != Some(value));
    let own = other
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect();
    let settings = SecretSettings::default();
    collect(ours, &own, &settings).map_err(|bad| unusable(&bad, &settings))
}

/// If secrets cannot be masked, nothing starts: partial masks would suggest that there are no
/// others.
fn unusable(bad: &PatternError, settings: &SecretSettings) -> Failure {
    let pattern = settings.patterns.get(bad.index).map_or("", String::as_str);
    Failure::usage(format!("`{PATTERNS}` has an invalid pattern: `{pattern}`: {}", bad.why))
        .hint("use a regular expression that matches at least one character")
}

/// Collects the secrets: variables of `ours` with a secret name, and the agent's variables (`own`),
/// which may be secret under any name.
pub fn collect(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    own: &BTreeMap<String, String>,
    settings: &SecretSettings,
) -> Result<Secrets, PatternError> {
    Secrets::new(values(ours, own, settings), &settings.patterns)
}

fn values(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    own: &BTreeMap<String, String>,
    settings: &SecretSettings,
) -> Vec<Vec<u8>> {
    let is_secret = |name: &str| is_secret_name(name) || settings.name(name);
    let mut values: Vec<_> =
        settings.values.iter().map(|value| value.clone().into_bytes()).collect();
    for (name, value) in ours {
        if is_secret(&name.to_string_lossy()) {
            // Bytes, because a value need not be valid UTF-8.
            values.push(value.into_vec());
        }
    }
    for (name, value) in own {
        if is_secret(name) || looks_random(value) {
            values.push(value.clone().into_bytes());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Vec<(OsString, OsString)> {
        [("API_TOKEN", "first-value-1"), ("EDITOR", "second-value"), ("MY_PLACE", "third-value")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec()
    }

    fn masked(own: &[(&str, &str)], settings: &SecretSettings, text: &str) -> String {
        let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        collect(ours(), &own.collect(), settings).unwrap().mask(text).into_owned()
    }

    #[test]
    fn names_say_what_is_secret() {
        let text = "first-value-1 second-value third-value";
        assert_eq!(
            masked(&[], &SecretSettings::default(), text),
            "************* second-value third-value"
        );
        let settings =
            SecretSettings { variables: vec!["MY_*".to_owned()], ..SecretSettings::default() };
        assert_eq!(masked(&[], &settings, text), "************* second-value ***********");
    }

    #[test]
    fn an_unreadable_source_of_secrets_is_an_error_that_shows_none() {
        let settings = SecretSettings {
            patterns: vec!["fine".to_owned(), "(".to_owned()],
            ..SecretSettings::default()
        };
        let bad = collect(ours(), &BTreeMap::new(), &settings).unwrap_err();
        let failure = unusable(&bad, &settings);
        assert!(failure.message.contains("an invalid pattern: `(`: unclosed group"), "{failure:?}");
    }

    #[test]
    fn random_looking_values_for_the_agent_are_secret() {
        let own =
            [("ANY", "x7f3k9q2m4p8z6w5"), ("COLOR", "light green"), ("A_SECRET", "plain words")];
        assert_eq!(
            masked(&own, &SecretSettings::default(), "x7f3k9q2m4p8z6w5, light green, plain words"),
            "****************, light green, ***********"
        );
    }
}
