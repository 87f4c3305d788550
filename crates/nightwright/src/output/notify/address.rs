//! Notification addresses, as configured under `notify`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use nightwright_core::notification::NotificationKind;

use super::client;
use crate::config::{ConfigValue, KEYS, ResolvedConfig, Url, ValueOrigin};
use crate::error::Failure;

/// The key of `[[notify]]`, and the prefix of the keys of `[notify]`.
const TABLE: &str = "notify";

/// The keys that hold credentials. They are sent only to the address that the same author
/// configured.
const CREDENTIALS: [&str; 4] = ["secret", "secret_env", "token", "token_env"];

/// The kind of service at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifyService {
    /// ntfy.sh or another ntfy server.
    Ntfy,
    /// An incoming webhook of Slack.
    Slack,
    /// A webhook of a Discord channel.
    Discord,
    /// Any server that accepts nightwright's JSON events.
    Webhook,
}

impl NotifyService {
    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ntfy => "ntfy",
            Self::Slack => "slack",
            Self::Discord => "discord",
            Self::Webhook => "webhook",
        }
    }

    fn by_name(name: &str, url: &Url) -> Self {
        let all = [Self::Ntfy, Self::Slack, Self::Discord, Self::Webhook];
        all.into_iter().find(|one| one.name() == name).unwrap_or_else(|| Self::by_host(url))
    }

    fn by_host(url: &Url) -> Self {
        let host = url.name();
        let is = |name: &str| host == name || host.ends_with(&format!(".{name}"));
        if host == "ntfy.sh" || host.starts_with("ntfy.") {
            Self::Ntfy
        } else if is("hooks.slack.com") || is("hooks.slack-gov.com") {
            Self::Slack
        } else if is("discord.com") || is("discordapp.com") {
            Self::Discord
        } else {
            Self::Webhook
        }
    }
}

/// A destination for notifications, with its credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    url: Url,
    service: NotifyService,
    events: Vec<NotificationKind>,
    secret: Option<String>,
    token: Option<String>,
}

impl Address {
    /// Returns all configured addresses without duplicates. Fails on an unusable one, before the
    /// run begins.
    pub fn all(
        resolved: &ResolvedConfig,
        get_env: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Vec<Self>, Failure> {
        let mut all: Vec<Self> = Vec::new();
        for draft in drafts(resolved) {
            if let Some(address) = draft.settle(&get_env)?
                && !all.contains(&address)
            {
                all.push(address);
            }
        }
        if !all.iter().all(|address| address.url.is_loopback()) {
            client::check_proxy(get_env)?;
        }
        Ok(all)
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn service(&self) -> NotifyService {
        self.service
    }

    /// Whether notifications of this kind are sent to the address.
    pub fn wants(&self, kind: NotificationKind) -> bool {
        self.events.contains(&kind)
    }

    /// The key for signing the requests.
    pub(super) fn secret(&self) -> Option<&str> {
        self.secret.as_deref()
    }

    /// The token for authorization.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }
}

impl fmt::Display for Address {
    /// Leaves out everything secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.service.name(), self.url.host())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The configured values of one address.
#[derive(Debug)]
pub(crate) struct AddressConfig {
    origin: ValueOrigin,
    values: BTreeMap<&'static str, ConfigValue>,
}

/// Returns the values of the address in `[notify]` and of those in `[[notify]]`.
pub(crate) fn drafts(resolved: &ResolvedConfig) -> Vec<AddressConfig> {
    let origin = resolved.origin("notify.url").clone();
    let mut values = BTreeMap::new();
    let mut usual = BTreeMap::new();
    for (key, name) in
        KEYS.iter().filter_map(|key| Some((key, key.name.strip_prefix(TABLE)?.strip_prefix('.')?)))
    {
        usual.extend(key.default_value().map(|value| (name, value)));
        // A project with its own address does not receive credentials that the user configured for
        // another.
        let foreign = CREDENTIALS.contains(&name)
            && origin.comes_with_project()
            && is_the_users(resolved.origin(key.name));
        if !foreign {
            values.extend(resolved.value(key.name).map(|value| (name, value.clone())));
        }
    }
    let mut drafts = vec![AddressConfig { origin, values }];
    if let Some(ConfigValue::Tables(tables)) = resolved.value(TABLE) {
        drafts.extend(tables.iter().map(|table| {
            let mut values = usual.clone();
            values.extend(table.clone());
            AddressConfig { origin: resolved.origin(TABLE).clone(), values }
        }));
    }
    drafts
}

/// Whether a value comes from the user and not from the project.
fn is_the_users(origin: &ValueOrigin) -> bool {
    match origin {
        ValueOrigin::User(_) | ValueOrigin::Environment(_) | ValueOrigin::Flag(_) => true,
        ValueOrigin::BuiltIn
        | ValueOrigin::Mode(_)
        | ValueOrigin::Project(_)
        | ValueOrigin::Task(_) => false,
    }
}

impl AddressConfig {
    /// The value of a string key, unless it is empty.
    fn text(&self, name: &str) -> Option<&str> {
        let (ConfigValue::Text(text) | ConfigValue::Url(text) | ConfigValue::Secret(text)) =
            self.values.get(name)?
        else {
            return None;
        };
        Some(text.as_str()).filter(|text| !text.is_empty())
    }

    /// Returns the address if the configuration contains a URL.
    fn settle(
        &self,
        get_env: &impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Address>, Failure> {
        let Some(url) = self.text("url").and_then(Url::parse) else { return Ok(None) };
        let service = NotifyService::by_name(self.text("kind").unwrap_or_default(), &url);
        let allowed = self.values.get("allow_http") == Some(&ConfigValue::Bool(true));
        if url.is_open() && !url.is_loopback() && !allowed {
            let message = format!(
                "`notify.url` of {} ({}) uses unencrypted http://",
                url.host(),
                self.origin
            );
            return Err(
                Failure::usage(message).hint("use https://, or set `notify.allow_http = true`")
            );
        }
        let events = match self.values.get("events") {
            Some(ConfigValue::List(names)) => {
                names.iter().filter_map(|name| NotificationKind::by_name(name)).collect()
            }
            Some(_) | None => {
                NotificationKind::ALL.into_iter().filter(|kind| kind.is_usual()).collect()
            }
        };
        let (secret, token) = (self.secret("secret", get_env)?, self.secret("token", get_env)?);
        let address = Address { url, service, events, secret, token };
        self.check(&address)?;
        Ok(Some(address))
    }

    /// Returns a secret from the configuration, or from the environment variable that it names.
    fn secret(
        &self,
        name: &str,
        get_env: &impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<String>, Failure> {
        if let Some(text) = self.text(name) {
            return Ok(Some(text.to_owned()));
        }
        let Some(variable) = self.text(&format!("{name}_env")) else { return Ok(None) };
        let found = get_env(variable).and_then(|value| value.into_string().ok());
        match found.filter(|value| !value.is_empty()) {
            Some(value) => Ok(Some(value)),
            None => Err(Failure::usage(format!(
                "`notify.{name}_env` ({}) names the variable `{variable}`, which is not set",
                self.origin
            ))
            .hint(format!("set it, or leave `notify.{name}_env` out"))),
        }
    }

    /// Rejects settings that would have no effect for the service.
    fn check(&self, address: &Address) -> Result<(), Failure> {
        let Address { service, secret, token, .. } = address;
        let useless = |key: &str, what: &str| {
            let message = format!("`notify.{key}` ({}) has no effect for {address}", self.origin);
            Failure::usage(message).hint(format!("omit it, or set `notify.kind`: only {what}"))
        };
        if secret.is_some() && *service != NotifyService::Webhook {
            return Err(useless("secret", "webhooks use a secret"));
        }
        if token.is_some() && !matches!(service, NotifyService::Webhook | NotifyService::Ntfy) {
            return Err(useless("token", "ntfy and webhooks use a token"));
        }
        if token.as_ref().is_some_and(|token| token.contains(|c: char| !c.is_ascii_graphic())) {
            let message = format!(
                "cannot send `notify.token` ({}): it contains a space or a character outside ASCII",
                self.origin
            );
            return Err(Failure::usage(message).hint("use a token without spaces"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::ConfigLayer;

    fn user(text: &str) -> ConfigLayer {
        let path = PathBuf::from("user.toml");
        ConfigLayer::parse(ValueOrigin::User(path.clone()), &path, text).unwrap()
    }

    fn project(text: &str) -> ConfigLayer {
        let path = PathBuf::from("project.toml");
        ConfigLayer::parse(ValueOrigin::Project(path.clone()), &path, text).unwrap()
    }

    fn all(layers: &[ConfigLayer]) -> Result<Vec<Address>, String> {
        let set = |name: &str| (name == "MY_TOKEN").then(|| OsString::from("tk_1234"));
        let resolved = ResolvedConfig::new(layers.iter().cloned());
        Address::all(&resolved, set).map_err(|failure| failure.to_string())
    }

    fn one(text: &str) -> Address {
        let all = all(&[user(text)]).unwrap();
        let [address] = all.as_slice() else { panic!("{all:?}") };
        address.clone()
    }

    #[test]
    fn the_host_determines_the_service() {
        for (host, service) in [
            ("ntfy.sh/topic", NotifyService::Ntfy),
            ("ntfy.example.org/topic", NotifyService::Ntfy),
            ("hooks.slack.com/services/T0/B0/x", NotifyService::Slack),
            ("discord.com/api/webhooks/1/x", NotifyService::Discord),
            ("canary.discordapp.com/api/webhooks/1/x", NotifyService::Discord),
            ("evildiscord.com/x", NotifyService::Webhook),
            ("example.org/ntfy.sh", NotifyService::Webhook),
        ] {
            assert_eq!(one(&format!("notify.url = 'https://{host}'")).service(), service, "{host}");
        }
        let configured = one("[notify]\nurl = 'https://example.org/topic'\nkind = 'ntfy'");
        assert_eq!(configured.service(), NotifyService::Ntfy);
    }

    #[test]
    fn all_kinds_but_iterations_are_enabled_by_default() {
        let wanted = |text: &str| {
            let address = one(text);
            NotificationKind::ALL
                .into_iter()
                .filter(|kind| address.wants(*kind))
                .collect::<Vec<_>>()
        };
        let usual: Vec<_> =
            NotificationKind::ALL.into_iter().filter(|kind| kind.is_usual()).collect();
        assert_eq!(wanted("notify.url = 'https://ntfy.sh/x'"), usual);
        assert_eq!(wanted("[[notify]]\nurl = 'https://ntfy.sh/x'"), usual);
        let some = "[notify]\nurl = 'https://ntfy.sh/x'\nevents = ['error', 'iteration']";
        assert_eq!(wanted(some), [NotificationKind::Iteration, NotificationKind::Error]);
        assert_eq!(wanted("[notify]\nurl = 'https://ntfy.sh/x'\nevents = []"), []);
    }

    #[test]
    fn addresses_of_all_layers_are_used_once_each() {
        let mine =
            user("[[notify]]\nurl = 'https://ntfy.sh/a'\n[[notify]]\nurl = 'https://b.org/b'");
        let theirs = project("notify.url = 'https://c.org/c'");
        let hosts = |layers: &[ConfigLayer]| {
            let all = all(layers).unwrap();
            all.iter().map(|address| address.url().host().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(hosts(&[mine.clone(), theirs]), ["c.org", "ntfy.sh", "b.org"]);
        assert_eq!(hosts(&[mine, project("notify.url = 'https://b.org/b'")]), ["b.org", "ntfy.sh"]);
        let taken_back = project("notify.url = ''");
        assert!(hosts(&[user("notify.url = 'https://b.org/b'"), taken_back]).is_empty());
        assert!(hosts(&[]).is_empty());
    }

    #[test]
    fn unencrypted_addresses_must_be_allowed() {
        let error = all(&[project("notify.url = 'http://10.0.0.1/topic-of-mine'")]).unwrap_err();
        assert!(error.contains("`notify.url` of 10.0.0.1 (project (project.toml))"), "{error}");
        assert!(error.contains("allow_http") && !error.contains("topic-of-mine"), "{error}");
        one("[notify]\nurl = 'http://10.0.0.1/x'\nallow_http = true");
        one("notify.url = 'http://localhost:80/x'");
        one("[[notify]]\nurl = 'http://[::1]/x'");
    }

    #[test]
    fn a_secret_may_stand_in_a_variable_which_has_to_be_set() {
        let with = "[notify]\nurl = 'https://ntfy.sh/x'\ntoken_env = ";
        assert_eq!(one(&format!("{with}'MY_TOKEN'")).token(), Some("tk_1234"));
        let error = all(&[user(&format!("{with}'YOUR_TOKEN'"))]).unwrap_err();
        assert!(
            error.contains("`notify.token_env` (user (user.toml)) names the variable `YOUR_TOKEN`")
        );
    }

    #[test]
    fn a_proxy_that_can_t_be_used_is_said_and_not_gone_around() {
        let with = |name: &'static str, value: &'static str, url: &str| {
            let resolved = ResolvedConfig::new([user(&format!("notify.url = '{url}'"))]);
            let get = move |asked: &str| (asked == name).then(|| OsString::from(value));
            Address::all(&resolved, get).map_err(|failure| failure.to_string())
        };
        for name in ["HTTPS_PROXY", "all_proxy"] {
            let error = with(name, "http://me:hush hush@proxy", "https://ntfy.sh/x").unwrap_err();
            assert!(error.contains(&format!("`{name}`")) && !error.contains("hush"), "{error}");
            with(name, "http://proxy:3128", "https://ntfy.sh/x").unwrap();
            with(name, "", "https://ntfy.sh/x").unwrap();
            // Requests to this machine do not use the proxy.
            with(name, "http://me:hush hush@proxy", "http://127.0.0.1/x").unwrap();
        }
    }

    #[test]
    fn keys_without_effect_are_an_error() {
        let slack = "[notify]\nurl = 'https://hooks.slack.com/services/x'\n";
        for (text, wanted) in [
            (
                "secret = 'x'",
                "`notify.secret` (user (user.toml)) has no effect for slack at hooks.",
            ),
            ("token = 'x'", "`notify.token` (user (user.toml)) has no effect for slack"),
            ("kind = 'ntfy'\ntoken = 'a b'", "cannot send"),
        ] {
            let error = all(&[user(&format!("{slack}{text}"))]).unwrap_err();
            assert!(error.contains(wanted) && !error.contains("services"), "{error}");
        }
    }

    #[test]
    fn a_project_does_not_get_what_the_user_has_for_another_address() {
        let mine = user("[notify]\nurl = 'https://mine.org/x'\ntoken = 'mine'\nsecret = 'mine'");
        let theirs = project("notify.url = 'https://theirs.org/x'");
        let all = all(&[mine.clone(), theirs]).unwrap();
        let [address] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!(
            (address.url().host(), address.token(), address.secret()),
            ("theirs.org", None, None)
        );
        let mut configured =
            ConfigLayer::empty(ValueOrigin::Environment("NIGHTWRIGHT_NOTIFY_TOKEN"));
        configured.set("notify.token", ConfigValue::Secret("mine".to_owned()));
        let theirs = project("notify.url = 'https://theirs.org/x'");
        let got = Address::all(&ResolvedConfig::new([theirs, configured]), |_| None).unwrap();
        assert_eq!(got[0].token(), None, "a variable is the user's own word, too");
        let mut environment = ConfigLayer::empty(ValueOrigin::Environment(""));
        environment.set("notify.url", ConfigValue::Url("https://other.org/x".to_owned()));
        let mine = Address::all(&ResolvedConfig::new([mine, environment]), |_| None).unwrap();
        assert_eq!(mine[0].token(), Some("mine"), "both are the user's own word");
    }

    #[test]
    fn nothing_that_is_secret_is_shown() {
        let text = "[[notify]]\nurl = 'https://ntfy.sh/my-topic'\ntoken_env = 'MY_TOKEN'\n\
                    [[notify]]\nurl = 'https://example.org/'\nsecret = 'hush-hush'";
        let addresses = all(&[user(text)]).unwrap();
        let shown = format!("{addresses:?} {} {}", addresses[0], addresses[1]);
        for secret in ["my-topic", "tk_1234", "hush-hush"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
