//! Secrets in command lines and cookies: `curl -u me:…`, `mysql -p…`, `Cookie: session=…`.

use std::ops::Range;

use memchr::memmem;

use super::names::NameStrength;
use super::written_value::{ValueStyle, is_phrase, looks_secret};

/// The starts of an option or a text with a secret, and what follows them.
#[rustfmt::skip]
pub(super) const COMMANDS: &[(&str, CommandSecret)] = &[
    (" -u", CommandSecret::UserAndPassword),
    ("--user", CommandSecret::UserAndPassword),
    (" -p", CommandSecret::Password),
    (" -a ", CommandSecret::Password),
    (" -w ", CommandSecret::Password),
    (" -k ", CommandSecret::Password),
    (" -P ", CommandSecret::Password),
    (" /p:", CommandSecret::Password),
    ("@tcp(", CommandSecret::DatabaseLogin),
    ("IED BY ", CommandSecret::NextWord),
    ("eString ", CommandSecret::NextWord),
    ("go login ", CommandSecret::NextWord),
    ("pass:", CommandSecret::Passphrase),
    ("ookie", CommandSecret::Cookies),
    (":AA", CommandSecret::TelegramToken),
    ("7Q~", CommandSecret::AzureSecret),
    ("8Q~", CommandSecret::AzureSecret),
    (":oracle:thin:", CommandSecret::OracleLogin),
];

/// The kind of secret in a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandSecret {
    /// `NAME:PASSWORD` for `curl` and similar programs.
    UserAndPassword,
    /// A password for one of a few programs.
    Password,
    /// A passphrase after `pass:`, as openssl takes it.
    Passphrase,
    /// Pairs of names and values.
    Cookies,
    /// A number, a colon and a key.
    TelegramToken,
    /// A client secret, which has these signs in its middle.
    AzureSecret,
    /// A login for Oracle: `NAME/PASSWORD@…`.
    OracleLogin,
    /// A login for a Go program: `NAME:PASSWORD@tcp(…)`.
    DatabaseLogin,
    /// The word after a command that takes a password or a token.
    NextWord,
}

/// The letters of options that take a password as the next argument, and their programs.
const WITH_PASSWORD: [(u8, &[&[u8]]); 5] = [
    (
        b'p',
        &[
            b"sshpass",
            b"docker login",
            b"podman login",
            b"az login",
            b"registry login",
            b"mongosh",
            b"mongo ",
        ],
    ),
    (b'a', &[b"redis-cli"]),
    (b'w', &[b"ldap"]),
    (b'k', &[b"openssl enc"]),
    (b'P', &[b"zip"]),
];
/// Programs whose option `-p` takes a password without a space.
const WITH_ATTACHED_PASSWORD: [&[u8]; 4] = [b"mysql", b"mariadb", b"sshpass", b"7z "];
/// Programs for the remote control of computers.
const WITH_REMOTE_PASSWORD: [&[u8]; 2] = [b"freerdp", b"rdesktop"];
/// Programs that take a name and a password.
const WITH_USER: [&[u8]; 3] = [b"curl", b"http", b"wget"];
/// The number of bytes before an option in which the program's name is searched for.
const MAX_COMMAND: usize = 200;
/// The maximum number of spaces, quotes and backslashes before a value.
const MAX_BETWEEN: usize = 20;
/// The maximum length of a secret in a command line.
const MAX_SECRET: usize = 160;
/// The minimum length of the value of a cookie that is masked.
const MIN_COOKIE: usize = 16;
/// The maximum length of the value of a cookie.
const MAX_COOKIE: usize = 4096;
/// The maximum number of cookies in a line.
const MAX_COOKIES: usize = 32;

/// Reports the secrets after this start of an option or text, which is in this range.
pub(super) fn find_command_secrets(
    bytes: &[u8],
    kind: CommandSecret,
    start: Range<usize>,
    mut each: impl FnMut(Range<usize>),
) {
    let found = match kind {
        CommandSecret::Cookies => return cookies(bytes, start.end, each),
        CommandSecret::UserAndPassword => user_and_password(bytes, &start),
        CommandSecret::Password => password(bytes, &start),
        CommandSecret::Passphrase => passphrase(bytes, &start),
        CommandSecret::TelegramToken => telegram_token(bytes, &start),
        CommandSecret::AzureSecret => azure_secret(bytes, &start),
        CommandSecret::OracleLogin => oracle_login(bytes, start.end),
        CommandSecret::DatabaseLogin => database_login(bytes, start.start),
        CommandSecret::NextWord => {
            let span = word(bytes, value_start(bytes, start.end - 1));
            is_secret(&bytes[span.clone()]).then_some(span)
        }
    };
    if let Some(span) = found {
        each(span);
    }
}

fn user_and_password(bytes: &[u8], start: &Range<usize>) -> Option<Range<usize>> {
    let first = value_start(bytes, start.end);
    let user = length(&bytes[first..], |byte| byte != b':' && is_word(byte));
    let colon = first + user;
    if user == 0 || bytes.get(colon) != Some(&b':') {
        return None;
    }
    let span = quoted_or_word(bytes, first, colon + 1);
    (is_secret(&bytes[span.clone()]) && follows(bytes, start.start, &WITH_USER)).then_some(span)
}

fn password(bytes: &[u8], start: &Range<usize>) -> Option<Range<usize>> {
    let option = bytes[start.start + 2];
    if option == b'a' && follows(bytes, start.start, &WITH_USER) {
        return user_and_password(bytes, start);
    }
    let first = value_start(bytes, start.end);
    let is_next = bytes[start.start + 1..first].contains(&b' ');
    let with_option = WITH_PASSWORD.iter().find(|(letter, _)| *letter == option);
    let programs: &[&[u8]] = match with_option {
        _ if bytes[start.start + 1] == b'/' => &WITH_REMOTE_PASSWORD,
        Some((_, programs)) if is_next => programs,
        Some(_) => &WITH_ATTACHED_PASSWORD,
        None => return None,
    };
    let span = quoted_or_word(bytes, first, first);
    (is_secret(&bytes[span.clone()]) && follows(bytes, start.start, programs)).then_some(span)
}

fn passphrase(bytes: &[u8], start: &Range<usize>) -> Option<Range<usize>> {
    let before = start.start.checked_sub(1).map(|at| bytes[at]);
    let is_free = before.is_none_or(|byte| b" \t=\"':".contains(&byte));
    let span = word(bytes, start.end);
    (is_free && is_secret(&bytes[span.clone()])).then_some(span)
}

fn telegram_token(bytes: &[u8], start: &Range<usize>) -> Option<Range<usize>> {
    let digits = bytes[..start.start].iter().rev().take(12);
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let key = length(&bytes[start.end..], |byte| is_of_key(byte) && byte != b'~');
    ((8..=10).contains(&digits) && key >= 32).then_some(start.start - digits..start.end + key)
}

fn azure_secret(bytes: &[u8], start: &Range<usize>) -> Option<Range<usize>> {
    let before = bytes[..start.start].iter().rev().take(4);
    let before = before.take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let key = length(&bytes[start.end..], is_of_key);
    (before == 3 && (30..=40).contains(&key)).then_some(start.start - before..start.end + key)
}

fn oracle_login(bytes: &[u8], end: usize) -> Option<Range<usize>> {
    let user = length(&bytes[end..], |byte| byte != b'/' && is_word(byte));
    let span = word(bytes, (end + user + 1).min(bytes.len()));
    let password = bytes[span.clone()].iter().position(|byte| *byte == b'@')?;
    (password > 2).then_some(span.start..span.start + password)
}

fn database_login(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let before = &bytes[at.saturating_sub(MAX_SECRET)..at];
    let login = before.iter().rev().take_while(|byte| is_word(**byte) && **byte != b':').count();
    let start = at - login;
    let is_login = start > 0 && bytes[start - 1] == b':';
    (is_login && is_secret(&bytes[start..at])).then_some(start..at)
}

/// The value from `start` on, up to the quote before the argument, or up to the end of the word.
fn quoted_or_word(bytes: &[u8], argument: usize, start: usize) -> Range<usize> {
    let quote = argument.checked_sub(1).map(|before| bytes[before]);
    let near = &bytes[start..bytes.len().min(start + MAX_SECRET)];
    let end = match quote {
        Some(quote @ (b'"' | b'\'')) => {
            near.iter().position(|byte| *byte == quote || *byte == b'\\')
        }
        Some(_) | None => None,
    };
    end.map_or_else(|| word(bytes, start), |end| start..start + end)
}

fn length(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(MAX_SECRET).take_while(|byte| is_part(**byte)).count()
}

fn is_word(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'|' | b'<')
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'~' | b'.')
}

fn word(bytes: &[u8], start: usize) -> Range<usize> {
    start..start + length(&bytes[start..], is_word)
}

/// The start of an option's value, after `=`, spaces and a quote.
fn value_start(bytes: &[u8], at: usize) -> usize {
    let is_between = |byte: u8| matches!(byte, b' ' | b'=' | b'"' | b'\'' | b'\\');
    at + bytes[at..].iter().take(MAX_BETWEEN).take_while(|byte| is_between(**byte)).count()
}

fn is_secret(value: &[u8]) -> bool {
    if value.contains(&b' ') {
        return is_phrase(value, ValueStyle::Quoted);
    }
    looks_secret(value, NameStrength::Password, ValueStyle::Quoted)
}

/// Whether one of these programs is named before this position in the same line.
fn follows(bytes: &[u8], at: usize, programs: &[&[u8]]) -> bool {
    let before = &bytes[at.saturating_sub(MAX_COMMAND)..at];
    let line = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    programs.iter().any(|program| memmem::find(&before[line..], program).is_some())
}

/// Reports the long values of a cookie header.
fn cookies(bytes: &[u8], end: usize, mut each: impl FnMut(Range<usize>)) {
    let rest = &bytes[end..];
    let quotes = rest.iter().take(8).take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let colon = end + quotes.count();
    if bytes.get(colon) != Some(&b':') {
        return;
    }
    let mut at = value_start(bytes, colon + 1);
    for _ in 0..MAX_COOKIES {
        let name = length(&bytes[at..], |byte| byte != b'=' && byte != b';' && is_word(byte));
        let value = at + name;
        if bytes.get(value) != Some(&b'=') {
            return;
        }
        let text = bytes[value + 1..].iter().take(MAX_COOKIE);
        let text = text.take_while(|byte| **byte != b';' && is_word(**byte));
        let span = value + 1..value + 1 + text.count();
        let text = &bytes[span.clone()];
        if text.len() >= MIN_COOKIE && text.iter().any(u8::is_ascii_digit) {
            each(span.clone());
        }
        at = span.end;
        if bytes.get(at) != Some(&b';') {
            return;
        }
        at += 1 + bytes[at + 1..].iter().take(4).take_while(|byte| **byte == b' ').count();
    }
}
