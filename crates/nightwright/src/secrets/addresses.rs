//! The secret parts of notification addresses, which are masked in all output and files.

use std::ffi::OsString;

use crate::config::{ConfigValue, KEYS, ResolvedConfig, Url, is_notify_key};

/// Lowercase words shorter than this are ordinary words, not secrets.
const MAX_PLAIN_WORD: usize = 16;

/// Returns the secrets of all addresses, from all layers of the configuration.
pub(super) fn secrets(
    resolved: &ResolvedConfig,
    get_env: impl Fn(&str) -> Option<OsString>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |name: &str, value: &ConfigValue| {
        if let ConfigValue::Url(text) = value {
            let url = Url::parse(text);
            let url = url.as_ref();
            found.extend(url.and_then(Url::secret).map(str::to_owned));
            found.extend(url.into_iter().flat_map(parts).map(str::to_owned));
        }
        if let ConfigValue::Secret(text) = value {
            found.push(text.clone());
        }
        if let ConfigValue::Text(variable) = value
            && name.ends_with("_env")
        {
            found.extend(get_env(variable).and_then(|value| value.into_string().ok()));
        }
    };
    for key in KEYS.iter().filter(|key| is_notify_key(key.name)) {
        for (_, value) in resolved.all(key.name) {
            if let ConfigValue::Tables(tables) = value {
                tables.iter().flatten().for_each(|(name, value)| add(name, value));
            } else {
                add(key.name, value);
            }
        }
    }
    found
}

/// The parts of a URL that a server may repeat: the path with its query, and each component that is
/// not an ordinary word. The masking itself ignores short secrets.
fn parts(url: &Url) -> Vec<&str> {
    let path = url.path().unwrap_or_default();
    let inner = path.trim_matches('/');
    let pieces = path.split(['/', '?', '&', '=', ';']);
    // An ordinary word is masked only as part of the path, because it occurs everywhere.
    let is_word =
        |text: &&str| text.len() < MAX_PLAIN_WORD && text.chars().all(|c| c.is_ascii_lowercase());
    let parts = [inner].into_iter().chain(pieces).filter(|part| !is_word(part));
    let mut all: Vec<_> = Some(path).filter(|path| !path.is_empty()).into_iter().collect();
    for part in parts {
        if !all.contains(&part) {
            all.push(part);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::{ConfigLayer, ValueOrigin};

    #[test]
    fn all_that_is_secret_in_any_layer_is_known() {
        let mine = PathBuf::from("user.toml");
        let text = "[[notify]]\nurl = 'https://ntfy.sh/my-topic'\ntoken_env = 'MY_TOKEN'\n\
                    [[notify]]\nurl = 'https://example.org/'\nsecret = 'hush-hush'";
        let mine = ConfigLayer::parse(ValueOrigin::User(mine.clone()), &mine, text).unwrap();
        let theirs = PathBuf::from("project.toml");
        let text = "notify.url = 'https://c.org/c?d'";
        let theirs =
            ConfigLayer::parse(ValueOrigin::Project(theirs.clone()), &theirs, text).unwrap();
        let known = secrets(&ResolvedConfig::new([mine, theirs]), |_| Some("tk_1234".into()));
        let of_theirs = ["c.org/c?d", "/c?d", "c?d"];
        let of_mine = ["tk_1234", "ntfy.sh/my-topic", "/my-topic", "my-topic", "hush-hush"];
        assert_eq!(known, [&of_theirs[..], &of_mine].concat());
    }

    #[test]
    fn secret_parts_of_an_address_are_recognized_alone() {
        let parts = |text: &str| {
            let url = Url::parse(text).unwrap();
            parts(&url).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(parts("https://example.org/"), [""; 0]);
        // An ordinary word is masked only together with its slash.
        assert_eq!(parts("https://example.org/notifications"), ["/notifications"]);
        assert_eq!(
            parts("https://hooks.slack.com/services/T0/B0/abcdefgh12345678"),
            [
                "/services/T0/B0/abcdefgh12345678",
                "services/T0/B0/abcdefgh12345678",
                "T0",
                "B0",
                "abcdefgh12345678",
            ]
        );
        assert_eq!(
            parts("https://example.org?key=abcdefgh12345678"),
            ["?key=abcdefgh12345678", "abcdefgh12345678"]
        );
    }
}
