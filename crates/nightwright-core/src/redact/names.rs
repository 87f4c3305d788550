//! Names that mark the value after them as secret: `DB_PASSWORD=`, `"apiKey":`, `--token`.

/// How likely a name marks a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameStrength {
    /// The name has other meanings as well: `token`, `cache_key`.
    Weak,
    Strong,
    /// The secret was chosen by a person, and may consist of words.
    Password,
}

/// Words for a secret that is typed by people.
const PASSWORDS: [&str; 4] = ["PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE"];
/// Words that end in `PASS` and name no password.
const NO_PASSWORDS: [&str; 2] = ["BYPASS", "COMPASS"];
/// Last words of a name that mark its value as secret.
const LAST: [&str; 15] = [
    "SECRET",
    "SECRETS",
    "APIKEY",
    "SECRETKEY",
    "PAT",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "TOKEN",
    "AUTHTOKEN",
    "AUTHKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
    "SIG",
    "SIGNATURE",
];
/// Ends of a last word that mark the value as secret: `accountkey`, `authtoken`.
const LAST_PARTS: [&str; 7] =
    ["SECRET", "TOKEN", "APIKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHKEY", "ACCOUNTKEY"];
/// Single words that mark the value as secret without a second one.
const ALONE: [&str; 4] = ["APIKEY", "SECRET", "AUTHTOKEN", "SECRETKEY"];
/// Words before `KEY` and similar words that mark the value as secret.
const BEFORE_KEY: [&str; 24] = [
    "API",
    "ACCESS",
    "PRIVATE",
    "SECRET",
    "ACCOUNT",
    "SIGNING",
    "ENCRYPTION",
    "MASTER",
    "SERVICE",
    "SUBSCRIPTION",
    "AUTH",
    "SHARED",
    "STORAGE",
    "SSH",
    "DEPLOY",
    "LICENSE",
    "HMAC",
    "JWT",
    "APP",
    "STRIPE",
    "TOKEN",
    "CLIENT",
    "PASSWORD",
    "WEBHOOK",
];
/// Last words that may follow one of `BEFORE_KEY`.
const KEYS: [&str; 4] = ["KEY", "DATA", "BASE", "PEM"];
/// Last words of a name whose value is no secret.
const ELSEWHERE: [&str; 73] = [
    "FILE",
    "PATH",
    "DIR",
    "ID",
    "IDS",
    "SOCK",
    "SOCKET",
    "NAME",
    "NAMES",
    "URL",
    "URI",
    "URIS",
    "HOST",
    "PORT",
    "TYPE",
    "METHOD",
    "TTL",
    "TIMEOUT",
    "LIMIT",
    "MODE",
    "COUNT",
    "LENGTH",
    "LEN",
    "SIZE",
    "FIELD",
    "LABEL",
    "HASH",
    "HINT",
    "REF",
    "REGEX",
    "PATTERN",
    "RE",
    "PROVIDER",
    "SERVICE",
    "SERVER",
    "CLIENT",
    "ALGORITHM",
    "ALG",
    "HEADER",
    "VERSION",
    "EXPIRY",
    "EXPIRES",
    "AT",
    "IN",
    "ENABLED",
    "REQUIRED",
    "MIN",
    "MAX",
    "INDEX",
    "PROCESS",
    "PROMPT",
    "POLICY",
    "SCOPE",
    "SCOPES",
    "STORE",
    "STORAGE",
    "MANAGER",
    "HANDLER",
    "HELPER",
    "ENDPOINT",
    "DOMAIN",
    "USER",
    "USERNAME",
    "USED",
    "LEFT",
    "TOKENIZER",
    "COLOR",
    "ENV",
    "VAR",
    "SOURCE",
    "STATUS",
    "FORMAT",
    "USAGE",
];
/// Words of names that are public wherever they are.
const PUBLIC: [&str; 6] = ["PUBLIC", "PUB", "HASHED", "PRIMARY", "FOREIGN", "NO"];
/// Names that look secret and are not.
const INNOCENT: [&str; 5] = ["PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY", "MAX_THINKING_TOKENS"];

/// How likely the name marks the value after it as secret; `None` if it does not.
pub(super) fn strength(name: &str) -> Option<NameStrength> {
    use NameStrength::{Password, Strong, Weak};
    if INNOCENT.contains(&name) {
        return None;
    }
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (last, before) = words.split_last()?;
    if ELSEWHERE.contains(last) || words.iter().any(|word| PUBLIC.contains(word)) {
        return None;
    }
    let is_password =
        |word: &&str| PASSWORDS.iter().any(|password| word.ends_with(password)) || *word == "PWD";
    let ends_in_pass = last.ends_with("PASS") && !NO_PASSWORDS.contains(last);
    if words.iter().any(is_password) || ends_in_pass || matches!(*last, "PW" | "PSK") {
        return Some(Password);
    }
    if LAST.contains(last) || LAST_PARTS.iter().any(|part| last.ends_with(part)) {
        let is_clear = !before.is_empty() || ALONE.contains(last);
        return Some(if is_clear { Strong } else { Weak });
    }
    let is_before_key = |word: &&str| BEFORE_KEY.contains(word);
    if KEYS.contains(last) && before.iter().any(is_before_key) {
        return Some(Strong);
    }
    let is_connection = words.windows(2).any(|pair| pair == ["CONNECTION", "STRING"]);
    if is_connection {
        return Some(Strong);
    }
    (*last == "AUTH" || (*last == "KEY" && !before.is_empty())).then_some(Weak)
}

/// The words of a name in capital letters, without numbers at their ends.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = '_';
    let letters: Vec<char> = name.chars().collect();
    for (index, c) in letters.iter().copied().enumerate() {
        let is_next_lower = letters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        let is_start = c.is_ascii_uppercase()
            && (last.is_ascii_lowercase() || last.is_ascii_digit() || is_next_lower)
            && last.is_ascii_alphanumeric();
        if is_start || matches!(c, '_' | '-' | '.') {
            words.push(String::new());
        }
        if !matches!(c, '_' | '-' | '.')
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_uppercase());
        }
        last = c;
    }
    for word in &mut words {
        word.truncate(word.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_signs_and_at_capital_letters() {
        assert_eq!(words("dbPassword"), ["DB", "PASSWORD"]);
        assert_eq!(words("AWSSecretAccessKey2"), ["AWS", "SECRET", "ACCESS", "KEY"]);
        assert_eq!(words("spring.datasource.pass-word"), ["SPRING", "DATASOURCE", "PASS", "WORD"]);
        assert_eq!(words("_authToken"), ["AUTH", "TOKEN"]);
    }

    #[test]
    fn a_name_marks_a_secret_clearly_weakly_or_not_at_all() {
        use NameStrength::{Password, Strong, Weak};
        for name in ["DB_PASSWORD", "MYSQL_PWD", "DB_PASS", "Pwd", "requirepass", "psk", "BIND_PW"]
        {
            assert_eq!(strength(name), Some(Password), "{name}");
        }
        let clear = "apiKey client_secret AWS_SECRET_ACCESS_KEY _authToken AccountKey secret \
                     SharedAccessKey X-Auth-Token SECRET_KEY_BASE GITHUB_PAT X-Amz-Signature \
                     client-key-data x-api-key";
        for name in clear.split_whitespace() {
            assert_eq!(strength(name), Some(Strong), "{name}");
        }
        for name in ["token", "auth", "cache_key", "sig"] {
            assert_eq!(strength(name), Some(Weak), "{name}");
        }
        let none = "key PWD KEY_PATH token_type secretRef password_hash max_tokens tokenizer \
                    apiKeySource public_key primary_key input_tokens API_KEY_ID author monkey bypass";
        for name in none.split_whitespace() {
            assert_eq!(strength(name), None, "{name}");
        }
    }
}
