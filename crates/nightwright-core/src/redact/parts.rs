//! The secret parts of a value that is a URL, a header, a list of settings or JSON. Programs may
//! print these parts without the rest.

use serde_json::Value;

use super::values::{is_secret_name, looks_random};

/// Placeholder passwords of examples and local setups, and words that describe a method. They are
/// common and not secret.
const EXAMPLES: [&str; 18] = [
    "anonymous",
    "automatic",
    "change-me",
    "change_me",
    "changeme",
    "disabled",
    "external",
    "internal",
    "localhost",
    "optional",
    "passw0rd",
    "password",
    "placeholder",
    "postgres",
    "required",
    "undefined",
    "unlimited",
    "username",
];

/// Whether the value is one of these words.
pub(super) fn is_example(value: &str) -> bool {
    EXAMPLES.iter().any(|example| value.eq_ignore_ascii_case(example))
}

/// Whether the password of an address is one of these words, or one that stands for a password.
pub(super) fn is_example_password(value: &str) -> bool {
    const STANDINS: [&str; 8] =
        ["user", "pass", "guest", "secret", "example", "root", "test", "pwd"];
    is_example(value) || STANDINS.contains(&value)
}

/// The parts of a value's line that are secret on their own.
pub(super) fn secret_parts(line: &str) -> Vec<String> {
    let line = line.trim();
    let mut parts = Vec::new();
    if let Some(part) = of_address(line) {
        let decoded = decoded(part);
        if decoded != part {
            parts.push(decoded);
        }
        parts.push(part.to_owned());
    } else if let Some(part) = of_header(line) {
        // The part after the word that names the kind of secret.
        if let Some((_, bare)) = part.split_once(' ').filter(|(_, bare)| !bare.contains(' ')) {
            parts.push(bare.to_owned());
        }
        parts.push(part.to_owned());
    } else {
        parts.extend(of_settings(line).map(str::to_owned));
    }
    parts
}

/// The strings in a JSON value whose names mark them as secret.
pub(super) fn secrets_of_json(value: &str) -> Vec<String> {
    fn gather(value: Value, is_secret: bool, secrets: &mut Vec<String>) {
        match value {
            Value::String(text) if is_secret => secrets.push(text),
            Value::Array(items) => {
                for item in items {
                    gather(item, is_secret, secrets);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    gather(member, is_secret_key(&name), secrets);
                }
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut secrets = Vec::new();
    if value.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str(value)
    {
        gather(value, false, &mut secrets);
    }
    secrets
}

/// The secrets in `Name=value;Name=value`, in the same with spaces, and in the query of a URL.
fn of_settings(line: &str) -> impl Iterator<Item = &str> {
    let separator = |c: char| match (line.contains(';'), line.contains("://")) {
        (true, _) => c == ';',
        (false, true) => matches!(c, '?' | '&'),
        (false, false) => c.is_whitespace(),
    };
    line.split(separator).filter_map(|setting| {
        let (name, value) = setting.split_once('=')?;
        is_secret_key(name.trim()).then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// Whether a name in a list of settings or in JSON marks its value as secret: `AccountKey`.
fn is_secret_key(name: &str) -> bool {
    let mut words = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && words.ends_with(|last: char| last.is_ascii_lowercase()) {
            words.push('_');
        }
        words.push(if matches!(c, '-' | ' ' | '.') { '_' } else { c });
    }
    words.eq_ignore_ascii_case("pwd") || words == "sig" || is_secret_name(&words)
}

/// The password of `scheme://user:password@host`, or a token in its place.
fn of_address(line: &str) -> Option<&str> {
    let (scheme, rest) = line.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    // A password may contain an unencoded slash.
    let (who, _) = authority.rsplit_once('@').or_else(|| rest.rsplit_once('@'))?;
    match who.split_once(':') {
        Some((user, password)) => {
            let is_known = password == user || password == scheme || is_example(password);
            (!is_known && !user.contains('/')).then_some(password)
        }
        None => looks_random(who).then_some(who),
    }
}

/// The value after `Name: `. Media types and lists of words are not secret.
fn of_header(line: &str) -> Option<&str> {
    let (name, value) = line.split_once(": ")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let value = value.trim();
    let is_made_up = !is_kind(value) && value.contains(|c: char| c.is_ascii_digit());
    (is_made_up || is_secret_name(&name.replace('-', "_"))).then_some(value)
}

/// Whether the value is a media type: `application/json`.
fn is_kind(value: &str) -> bool {
    ["application/", "text/", "image/", "multipart/"].iter().any(|kind| value.starts_with(kind))
}

/// Decodes percent-encoded characters such as `%40`.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        let number = after.get(..2).filter(|_| *first == b'%').and_then(number);
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| part.to_owned())
}

/// The byte that these hexadecimal digits stand for.
fn number(digits: &[u8]) -> Option<u8> {
    let text = str::from_utf8(digits).ok()?;
    u8::from_str_radix(text, 16).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_the_password_is_the_secret() {
        assert_eq!(secret_parts("postgres://me:zebra77zebra@db/x"), ["zebra77zebra"]);
        assert_eq!(secret_parts("postgres://me:ze%40ra77@db:1/x"), ["ze@ra77", "ze%40ra77"]);
        assert_eq!(secret_parts("postgres://me:ab/cd12345@db/x"), ["ab/cd12345"]);
        assert_eq!(secret_parts("redis://:zebra77zebra@db"), ["zebra77zebra"]);
        assert_eq!(secret_parts("https://0a1b2c3d4e5f6a7b@host/1"), ["0a1b2c3d4e5f6a7b"]);
        for innocent in [
            "postgres://postgres:postgres@db",
            "postgres://me:password@db",
            "postgres://postgres@db/x",
            "https://host.example/a:bcdefghi@1",
            "https://host.example:8080/x",
        ] {
            assert!(secret_parts(innocent).is_empty(), "{innocent}");
        }
    }

    #[test]
    fn of_a_list_of_settings_what_a_name_says_is_the_secret() {
        for (line, secret) in [
            ("AccountName=me;AccountKey=zebra77zebra==;EndpointSuffix=x", "zebra77zebra=="),
            ("Server=db;User Id=me;Password=zebra77zebra", "zebra77zebra"),
            ("Server=db;Pwd='zebra77zebra'", "zebra77zebra"),
            ("host=db user=me password=zebra77zebra", "zebra77zebra"),
            ("https://host.example/x?sv=1&sig=zebra77zebra", "zebra77zebra"),
        ] {
            assert_eq!(secret_parts(line), [secret], "{line}");
        }
        for innocent in ["zebra77zebra==", "a=b;c=d", "SharedAccessKeyName=giraffe77giraffe"] {
            assert!(secret_parts(innocent).is_empty(), "{innocent}");
        }
    }

    #[test]
    fn of_a_header_what_follows_its_name_is_the_secret() {
        assert_eq!(secret_parts("X-Gate: zebra77zebra"), ["zebra77zebra"]);
        assert_eq!(
            secret_parts("Authorization: Bearer zebrazebra"),
            ["zebrazebra", "Bearer zebrazebra"]
        );
        for innocent in ["Accept: application/vnd.v2+json", "X-Team: platform-people", "a b: c1"] {
            assert!(secret_parts(innocent).is_empty(), "{innocent}");
        }
    }
}
