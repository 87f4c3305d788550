//! The settings of package managers without their logins.

use std::borrow::Cow;

/// Parts of a key that name a credential.
const SECRET_KEYS: &[&str] = &[
    "token",
    "password",
    "passwd",
    "secret",
    "_auth",
    "authident",
    "credential",
    "username",
    "apikey",
    "api-key",
    "api_key",
    "keyfile",
    "private-key",
];

/// Elements of Maven's settings that contain credentials.
const SECRET_ELEMENTS: &[&str] = &["servers", "username", "password", "passphrase", "privateKey"];

/// Returns the text of a settings file without the lines and elements that contain a login.
pub fn without_logins(name: &str, text: &str) -> String {
    if std::path::Path::new(name).extension().is_some_and(|extension| extension == "xml") {
        let mut text = text.to_owned();
        for element in SECRET_ELEMENTS {
            text = without_element(&text, element);
        }
        return without_users(&text).into_owned();
    }
    let mut kept = String::new();
    for line in text.lines() {
        if !is_secret(line) {
            kept.push_str(&without_users(line));
            kept.push('\n');
        }
    }
    kept
}

/// Whether the key of a line names a credential.
fn is_secret(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with(['#', ';']) {
        // A comment may contain an earlier login.
        return SECRET_KEYS.iter().any(|part| line.to_ascii_lowercase().contains(part));
    }
    // A key may contain colons, such as `//registry.npmjs.org/:_authToken`.
    let key = line.split_once('=').or_else(|| line.split_once(": ")).map_or(line, |(key, _)| key);
    let inline = line.contains('{').then_some(line);
    let names = |text: &str| {
        let text = text.to_ascii_lowercase();
        SECRET_KEYS.iter().any(|part| text.contains(part))
    };
    names(key) || inline.is_some_and(names)
}

/// Removes `user:password@` from the addresses in a text.
fn without_users(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        kept.push_str(before);
        let end = after.find(|c: char| c == '/' || c == '"' || c == '\'' || c.is_whitespace());
        let host = &after[..end.unwrap_or(after.len())];
        rest = match host.rfind('@') {
            Some(sign) => &after[sign + 1..],
            None => after,
        };
    }
    if kept.is_empty() {
        return text.into();
    }
    kept.push_str(rest);
    kept.into()
}

/// Removes every element with this name. An element without an end is removed to the end.
fn without_element(text: &str, name: &str) -> String {
    let (start, end) = (format!("<{name}"), format!("</{name}>"));
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = find_element(rest, &start) {
        kept.push_str(&rest[..at]);
        rest = rest[at..].find(&end).map_or("", |over| &rest[at + over + end.len()..]);
    }
    kept.push_str(rest);
    kept
}

fn find_element(text: &str, start: &str) -> Option<usize> {
    let is_whole =
        |at: &usize| text[at + start.len()..].starts_with(|c: char| c == '>' || c.is_whitespace());
    text.match_indices(start).map(|(at, _)| at).find(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_of_package_managers_are_removed_and_other_settings_stay() {
        let cases = [
            (
                ".npmrc",
                "registry=https://npm.corp/\n//npm.corp/:_authToken=abc\n_auth = xyz\nfund=false\n\
                 ; _authToken=old\n",
                "registry=https://npm.corp/\nfund=false\n",
            ),
            (
                ".config/pip/pip.conf",
                "[global]\nindex-url = https://me:pw@pypi.corp/simple\ntimeout = 60\n",
                "[global]\nindex-url = https://pypi.corp/simple\ntimeout = 60\n",
            ),
            (
                ".cargo/config.toml",
                "[registries.corp]\nindex = \"sparse+https://c/i/\"\ntoken = \"abc\"\n\
                 [registries]\nx = { index = \"i\", token = \"t\" }\n[net]\noffline = true\n",
                "[registries.corp]\nindex = \"sparse+https://c/i/\"\n[registries]\n[net]\noffline = true\n",
            ),
            (
                ".yarnrc.yml",
                "npmRegistryServer: \"https://npm.corp\"\nnpmAuthToken: \"abc\"\n",
                "npmRegistryServer: \"https://npm.corp\"\n",
            ),
            (
                ".m2/settings.xml",
                "<settings><mirrors><url>https://m</url></mirrors><servers><server><id>x</id>\
                 <password>p</password></server></servers><proxy><password>q</password></proxy>\
                 </settings>",
                "<settings><mirrors><url>https://m</url></mirrors><proxy></proxy></settings>",
            ),
        ];
        for (name, text, expected) in cases {
            assert_eq!(without_logins(name, text), expected, "{name}");
        }
        assert_eq!(without_logins("x.xml", "<a><servers><password>p"), "<a>");
    }
}
