//! What of a secret value is the secret, when it is an address or a header: people and programs show
//! that alone, without what is around it.

use super::values::{is_secret_name, looks_random};

/// Words that stand where a password would in examples and on the developer's own machine. They are
/// everywhere, and no secret.
const EXAMPLES: [&str; 5] = ["password", "passw0rd", "changeme", "postgres", "username"];

/// The parts of a line of a value that are secret for themselves.
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
        // Behind the word that says what sort of secret it is.
        if let Some((_, bare)) = part.split_once(' ').filter(|(_, bare)| !bare.contains(' ')) {
            parts.push(bare.to_owned());
        }
        parts.push(part.to_owned());
    }
    parts
}

/// The password of `scheme://user:password@host`, or a token that stands in its place.
fn of_address(line: &str) -> Option<&str> {
    let (scheme, rest) = line.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    // Somebody may have written a password with a slash as it is.
    let (who, _) = authority.rsplit_once('@').or_else(|| rest.rsplit_once('@'))?;
    match who.split_once(':') {
        Some((user, password)) => {
            let is_known = password == user || password == scheme || EXAMPLES.contains(&password);
            (!is_known && !user.contains('/')).then_some(password)
        }
        None => looks_random(who).then_some(who),
    }
}

/// What follows `Name: `. A kind of file or a list of words is no secret.
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

/// Whether it is a kind of file: `application/json`.
fn is_kind(value: &str) -> bool {
    ["application/", "text/", "image/", "multipart/"].iter().any(|kind| value.starts_with(kind))
}

/// The same without the `%40` of an address.
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

/// What these digits stand for.
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
