//! Whether a value that is written after the name of a secret is one, or a placeholder, a
//! reference, source code or prose.

use super::names::NameStrength;
use super::parts::is_example;
use super::values::{is_path, looks_random};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueStyle {
    Quoted,
    /// Without quotes: it may be source code.
    Plain,
    /// Without quotes, after the name of an environment variable and `=`.
    Variable,
}

/// The minimum length of a value after a clear name, and after one with other meanings.
const MIN_LENGTHS: [usize; 2] = [6, 8];
/// The length from which digits among letters suffice.
const MIN_LONG: usize = 20;
/// The maximum length of a value that is searched for words of placeholders.
const MAX_PLACEHOLDER: usize = 96;
/// The length of a run of one character that only placeholders have.
const MIN_SAME: usize = 6;

/// Words that only placeholders contain.
const PLACEHOLDER_WORDS: [&[u8]; 8] = [
    b"example",
    b"your",
    b"placeholder",
    b"changeme",
    b"replace",
    b"goes-here",
    b"dummy",
    b"insert",
];
/// Starts of values that refer to a secret elsewhere.
#[rustfmt::skip]
const REFERENCES: [&str; 34] = [
    "$", "%", "<", "{", "~/", "./", "../", "...", "process.env", "os.", "env.", "ENV[", "getenv", "config.",
    "settings.", "secrets.", "vault:", "op://", "arn:", "projects/", "file:", "http:", "https:", "ref+",
    "sha256:", "sha256-", "sha512:", "sha512-", "test-", "test_", "some-", "some_", "my-", "my_",
];
/// Words that are no secrets after a clear name.
const WORDS: [&str; 26] = [
    "secret",
    "example",
    "testing",
    "wordpress",
    "mysecretpassword",
    "string",
    "boolean",
    "number",
    "guest",
    "false",
    "redacted",
    "hidden",
    "masked",
    "bearer",
    "include",
    "inherit",
    "enabled",
    "expired",
    "invalid",
    "missing",
    "default",
    "unknown",
    "production",
    "development",
    "staging",
    "username",
];

/// Words in the names of secrets and of their users.
#[rustfmt::skip]
const NAMES: [&str; 28] = [
    "secret", "secrets", "password", "passwd", "passphrase", "pass", "pwd", "token", "tokens", "key", "keys", "cred",
    "creds", "credential", "credentials", "config", "settings", "prod", "dev", "staging", "test", "service", "release",
    "field", "input", "form", "min", "max",
];
/// Words that only sentences contain, not passwords.
#[rustfmt::skip]
const PROSE: [&str; 30] = [
    "a", "an", "and", "are", "at", "be", "by", "can", "cannot", "characters", "digits", "enter", "for", "from", "has", "in",
    "is", "least", "must", "needs", "no", "not", "of", "or", "password", "please", "should", "to", "with", "your",
];
/// The maximum number of words of a password.
const MAX_PHRASE: usize = 8;

/// Whether the value is a secret.
pub(super) fn looks_secret(value: &[u8], strength: NameStrength, style: ValueStyle) -> bool {
    let Ok(text) = str::from_utf8(value) else { return false };
    let least = MIN_LENGTHS[usize::from(strength == NameStrength::Weak)];
    // Most values are ruled out by the kinds of their characters.
    if text.len() < least || !has_kinds(text, strength, style) {
        return false;
    }
    let is_reference = REFERENCES.iter().any(|start| text.starts_with(start));
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b".,+-:".contains(&byte));
    let is_source = is_path(text) || (style != ValueStyle::Quoted && is_code(text));
    !is_reference && !is_known_word(text) && !is_placeholder(value) && !is_number && !is_source
}

/// Whether the value has a digit, a space or an odd sign. Without them, it is a secret only after
/// the name of a variable.
pub(super) fn may_be_secret(value: &[u8]) -> bool {
    value.iter().any(|byte| byte.is_ascii_digit() || *byte == b' ' || is_odd_sign(*byte))
}

/// Whether words and paths rarely contain this sign.
fn is_odd_sign(byte: u8) -> bool {
    byte.is_ascii_punctuation() && !b"-_./:*".contains(&byte)
}

/// Whether the value has the kinds of characters of a secret after such a name.
fn has_kinds(text: &str, strength: NameStrength, style: ValueStyle) -> bool {
    let has = |is_one: fn(&u8) -> bool| text.as_bytes().iter().any(is_one);
    let (digit, lower) = (has(u8::is_ascii_digit), has(u8::is_ascii_lowercase));
    let upper = has(u8::is_ascii_uppercase);
    let is_mixed = digit && (lower || upper);
    match strength {
        NameStrength::Weak => (is_mixed && lower && upper) || looks_random(text),
        NameStrength::Strong if is_mixed => text.len() >= MIN_LONG || !is_numbered(text),
        NameStrength::Password if is_mixed => !is_numbered(text) || !names_secret(text),
        NameStrength::Strong | NameStrength::Password => {
            let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let is_typed = style == ValueStyle::Variable && lower && is_word && text.len() >= 8;
            (has(u8::is_ascii_alphabetic) && text.bytes().any(is_odd_sign)) || is_typed
        }
    }
}

/// Whether words in quotes are a password: there are few of them, and they are no sentence.
pub(super) fn is_phrase(value: &[u8], style: ValueStyle) -> bool {
    let Ok(text) = str::from_utf8(value) else { return false };
    let words: Vec<_> = text.split(' ').collect();
    let is_prose =
        words.iter().any(|word| PROSE.iter().any(|other| word.eq_ignore_ascii_case(other)));
    let is_known = style == ValueStyle::Variable && !is_prose;
    (2..=MAX_PHRASE).contains(&words.len())
        && !text.contains(['\\', '{', '$', '<', '%', '(', '=', ':'])
        && !is_placeholder(value)
        && !is_prose
        && (is_known || text.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Whether words and numbers name a secret instead of being one: `db-secret-2`.
fn names_secret(text: &str) -> bool {
    let is_name = |part: &str| {
        let is_version = part.strip_prefix('v').is_some_and(|rest| rest.parse::<u16>().is_ok());
        is_version || NAMES.iter().any(|name| part.eq_ignore_ascii_case(name))
    };
    text.split(['-', '_', '.', '/']).any(is_name)
}

/// Whether the text is a placeholder: it says so, or repeats one character.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let look = &value[..value.len().min(MAX_PLACEHOLDER)];
    let lower = look.to_ascii_lowercase();
    let has_word =
        PLACEHOLDER_WORDS.iter().any(|word| memchr::memmem::find(&lower, word).is_some());
    let is_same = |run: &[u8]| {
        run.iter().all(|byte| *byte == run[0]) && matches!(run[0], b'x' | b'0' | b'*' | b'.' | b'#')
    };
    has_word || lower.windows(MIN_SAME).any(is_same)
}

fn is_known_word(text: &str) -> bool {
    is_example(text) || WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether the value is a call, a path of names or another piece of source code.
fn is_code(text: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    // `ApiKeyHeader1` is a type, not a password.
    let word = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_camel = text.len() == word.len() + 1
        && word.bytes().all(|byte| byte.is_ascii_alphabetic())
        && word.contains(|c: char| c.is_ascii_lowercase())
        && word.contains(|c: char| c.is_ascii_uppercase());
    let is_names = text.contains('.') && text.len() < 40 && text.split('.').all(is_name);
    is_camel || is_names || text.contains(['(', ')', '[', ']', '{', '}']) || text.contains("->")
}

/// Whether the value consists of words with small numbers: `db-secret-v2`.
fn is_numbered(text: &str) -> bool {
    let is_part = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - word.len();
        let is_version = matches!(word, "" | "v") && digits <= 5;
        is_version || (digits == 0 && word.bytes().all(|byte| byte.is_ascii_alphabetic()))
    };
    text.contains(['-', '_', '.', '/']) && text.split(['-', '_', '.', '/']).all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_from_words_references_and_code() {
        use NameStrength::{Password, Strong, Weak};
        use ValueStyle::{Plain, Quoted, Variable};
        for (value, strength, style) in [
            ("hunter22", Strong, Plain),
            ("correcthorse", Strong, Variable),
            ("Tr0ub4dor&3", Strong, Quoted),
            ("pa$$word!", Strong, Quoted),
            ("zebra-crossing-41", Password, Plain),
            ("a1B2c3D4e5", Weak, Plain),
            ("0a1b2c3d4e5f6a7b8c9d", Weak, Quoted),
        ] {
            assert!(looks_secret(value.as_bytes(), strength, style), "{value}");
        }
        for (value, strength, style) in [
            ("short", Strong, Quoted),
            ("required", Strong, Plain),
            ("correcthorse", Strong, Plain),
            ("${TOKEN}", Strong, Plain),
            ("db-secret-v2", Strong, Plain),
            ("db-password-2", Password, Plain),
            ("zebra-crossing-41", Strong, Plain),
            ("os.environ1", Strong, Plain),
            ("request.form1.password2", Strong, Plain),
            ("getToken2()", Strong, Plain),
            ("12345678", Strong, Quoted),
            ("********", Strong, Quoted),
            ("YOUR_API_KEY_1", Strong, Quoted),
            ("cl100k_base", Weak, Quoted),
        ] {
            assert!(!looks_secret(value.as_bytes(), strength, style), "{value}");
        }
    }
}
