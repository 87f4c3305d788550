//! Values after names that mark them as secret: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`.
//!
//! The search stops at a piece of such a name. From there, the whole name, the sign after it and
//! the value are read. Quotes may have any number of backslashes, because texts are nested.
//! Names are common in source code, so the value must look like a secret, too.

use std::ops::Range;

use super::entries::{EntryName, EntryValue, entry_value};
use super::escapes::is_sign;
use super::names::{NameStrength, strength};
use super::values::looks_random;
use super::written_value::{ValueStyle, is_phrase, looks_secret, may_be_secret};

/// Pieces of names. Each is as long as it can be, so that few other words contain it.
#[rustfmt::skip]
pub(super) const STEMS: &[&str] = &[
    "oken=", "oken:", "oken\"", "oken'", "oken\\", "oken ", "oken>", "OKEN", "ecret", "ECRET", "assw", "ASSW",
    "assphr", "ASSPHR", "_pass", "_PASS", "pass\"", "pass\\", "pass ", "psk=", "_PW", "_PAT", "_key", "_KEY", "-key", "-KEY",
    "Key=", "Key:", "Key\"", "Key'", "Key\\", "Key ", "pikey", "APIKEY", "wd=", "pwd\"", "pwd\\", "Pwd", "PWD=", "redent", "REDENT",
    "auth\"", "auth\\", "auth=", "Auth(", "r_auth(", "_auth", "sig=", "nature=",
];

/// The maximum length of a name.
const MAX_NAME: usize = 64;
/// The number of bytes that show whether a value is a secret.
pub(super) const MAX_LOOK: usize = 160;
/// The number of bytes before a name that show its command.
const MAX_LINE: usize = 200;
/// The maximum number of spaces around a sign, and of backslashes before a quote.
pub(super) const MAX_SPACES: usize = 16;

/// The maximum length of the type of a variable, and of the name of an anchor.
const MAX_TYPE: usize = 24;
/// The minimum length of a random word after the name of a variable and a space.
const MIN_RANDOM: usize = 20;
/// The texts between a name and a value that is neither after a sign nor directly after the name.
const DEFAULT: &[u8] = b"{ default = ";
const BY: &[u8] = b"BY ";
const FROM: &[u8] = b"String::from(";
/// Words before the password in a line of `.netrc`.
const NETRC: [&[u8]; 2] = [b"machine ", b"login "];
/// Ends of commands that take a name and a value.
const SETTERS: [&[u8]; 7] =
    [b"configure set", b"config set", b"setenv", b"set -x", b"set -gx", b"set -Ux", b"ENV"];

/// A quote with the number of backslashes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    sign: u8,
    backslashes: usize,
}

/// The end of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueEnd {
    Quote(Quote),
    /// A value without quotes ends at white space, and at one of these bytes.
    Signs(&'static [u8]),
}

/// A name that marks a value as secret.
pub(super) enum NamedSecret {
    /// The whole match, and the value.
    Value(Range<usize>, Range<usize>),
    /// The name, whose value may follow in the next line.
    Entry(Range<usize>, EntryName),
}

/// The secret value of the name that contains this piece.
pub(super) fn named_secret(bytes: &[u8], stem: usize) -> Option<NamedSecret> {
    let name_end =
        stem + bytes[stem..].iter().take(MAX_NAME).take_while(|byte| is_of_name(**byte)).count();
    let closed = closed(bytes, name_end);
    let after = closed.map_or(name_end, |(after, _)| after);
    // Most names are followed by something else; their starts are not needed.
    let (may_be_entry, may_be_assigned) = match bytes.get(after)? {
        b' ' | b'\t' | b',' => (true, true),
        b'\n' | b'\r' | b'\\' => (true, false),
        b'=' | b':' | b'>' | b'(' => (false, true),
        _ => return None,
    };
    if may_be_entry && let Some((whole, value)) = entry_value(bytes, stem, name_end, after) {
        return Some(match value {
            EntryValue::Secret(value) => NamedSecret::Value(whole, value),
            EntryValue::InNextLine(entry) => NamedSecret::Entry(whole, entry),
        });
    }
    if !may_be_assigned {
        return None;
    }
    let (whole, value) = assigned(bytes, stem, name_end, closed?)?;
    Some(NamedSecret::Value(whole, value))
}

/// The whole match, and the value after the name and a sign. `closed` is the position after the
/// quote that closes the name, and whether there is one.
fn assigned(
    bytes: &[u8],
    stem: usize,
    name_end: usize,
    closed: (usize, bool),
) -> Option<(Range<usize>, Range<usize>)> {
    let (mut at, closing) = closed;
    let name = name_start(bytes, stem)?..name_end;
    let text = str::from_utf8(&bytes[name.clone()]).ok()?.trim_matches(['-', '.']);
    at = sign_after(bytes, &name, at, closing)?;
    let (mut start, quote) = opened(bytes, at)?;
    let is_reference = name.start > 0 && bytes[name.start - 1] == b'$' && quote.is_none();
    if is_reference {
        return None;
    }
    start = after_scheme(bytes, start);
    let value_end = match quote {
        Some(quote) => ValueEnd::Quote(quote),
        None => ValueEnd::Signs(match name.start.checked_sub(1).map(|before| bytes[before]) {
            // The name is the user in an address.
            Some(b'/') => b"\"'`\\@;,<>",
            Some(b'?' | b'&' | b'#') => b"\"'`\\&#;,<>",
            Some(_) | None => b"\"'`\\;,<>",
        }),
    };
    let end = start + value_length(bytes.get(start..)?, value_end, MAX_LOOK);
    let value = &bytes[start..end];
    let is_set = bytes[name_end..start].contains(&b'=');
    let is_element = bytes.get(name_end) == Some(&b'>');
    let is_variable = is_set && is_variable(text);
    // Most values are ruled out by their characters, which is faster than by the name.
    if !is_element && !is_variable && !may_be_secret(value) {
        return None;
    }
    let strength = strength(text)?;
    let style = match quote {
        _ if is_variable || (is_element && strength == NameStrength::Password) => {
            ValueStyle::Variable
        }
        Some(_) => ValueStyle::Quoted,
        None => ValueStyle::Plain,
    };
    if value.contains(&b' ') {
        let is_secret = strength == NameStrength::Password && is_phrase(value, style);
        return is_secret.then_some((name.start..end, start..end));
    }
    // A quoted value is no source code, whatever its name.
    let style = if quote.is_some() { ValueStyle::Quoted } else { style };
    if !looks_secret(value, strength, style) {
        return None;
    }
    let end = start + value_length(&bytes[start..], value_end, usize::MAX);
    (start < end).then_some((name.start..end, start..end))
}

pub(super) fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Whether the name is that of an environment variable.
pub(super) fn is_variable(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The start of the name, after a letter that belongs to an escape: `\nTOKEN=…`.
pub(super) fn name_start(bytes: &[u8], stem: usize) -> Option<usize> {
    let length =
        bytes[..stem].iter().rev().take(MAX_NAME + 1).take_while(|byte| is_of_name(**byte)).count();
    let start = stem - length;
    let is_escape = start > 0 && bytes[start - 1] == b'\\' && is_sign(bytes, start - 1);
    (length <= MAX_NAME).then_some(start + usize::from(is_escape && length > 0))
}

/// The position after the quote or bracket that closes a name, and whether there is one.
pub(super) fn closed(bytes: &[u8], end: usize) -> Option<(usize, bool)> {
    let (mut at, quote) = opened(bytes, end)?;
    if bytes.get(at) == Some(&b']') {
        at += 1;
    }
    Some((at, quote.is_some()))
}

/// The position after a quote, if there is one, and the quote. `None` after other escapes.
pub(super) fn opened(bytes: &[u8], at: usize) -> Option<(usize, Option<Quote>)> {
    let backslashes =
        bytes[at..].iter().take(MAX_SPACES).take_while(|byte| **byte == b'\\').count();
    match bytes.get(at + backslashes) {
        Some(sign @ (b'"' | b'\'' | b'`')) => {
            Some((at + backslashes + 1, Some(Quote { sign: *sign, backslashes })))
        }
        Some(_) | None => (backslashes == 0).then_some((at, None)),
    }
}

/// The length of the spaces and tabs at the start of these bytes. A tab may be written as `\t`.
pub(super) fn spaces(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < MAX_SPACES {
        let backslashes =
            bytes[at..].iter().take(MAX_SPACES).take_while(|byte| **byte == b'\\').count();
        match bytes.get(at + backslashes) {
            Some(b' ' | b'\t') if backslashes == 0 => at += 1,
            Some(b't') if backslashes > 0 => at += backslashes + 1,
            Some(_) | None => break,
        }
    }
    at
}

/// The position of the value after the sign between name and value.
fn sign_after(bytes: &[u8], name: &Range<usize>, at: usize, is_closed: bool) -> Option<usize> {
    let gap = spaces(&bytes[at..]);
    let sign = at + gap;
    let rest = bytes.get(sign..)?;
    let length = match rest {
        [b'=', b'=' | b'~', ..] | [b':', b':', ..] => return None,
        [b':', b'=', ..] | [b'=', b'>', ..] => 2,
        [b'=', b'(', ..] => return second_argument(bytes, sign + 2),
        [b':', ..] => after_type(bytes, sign + 1).map_or(1, |end| end - sign),
        [b'=', ..] => 1,
        [b'>', ..] if name.start > 0 && bytes[name.start - 1] == b'<' => 1,
        [b',', ..] if is_closed => return argument_after(bytes, sign + 1),
        [b'v', ..] if is_closed && gap > 0 => return value_of_member(bytes, sign),
        [b'{', ..] if is_closed => rest.starts_with(DEFAULT).then_some(DEFAULT.len())?,
        [b'(', ..] if !is_closed => return called(bytes, name, sign + 1),
        _ if gap > 0 && !is_closed => match after_type(bytes, sign) {
            Some(end) => end - sign,
            None if rest.starts_with(BY) => BY.len(),
            None if takes_words(bytes, name) => 0,
            None => return None,
        },
        _ => return None,
    };
    let at = sign + length;
    Some(after_wrapper(bytes, at + spaces(&bytes[at..])))
}

/// The position after the type of a variable and `=`: `let key: &str = "…"`. A quoted value follows.
fn after_type(bytes: &[u8], at: usize) -> Option<usize> {
    let is_of_type = |byte: &&u8| byte.is_ascii_alphabetic() || b" &'<>[]_".contains(byte);
    let length = bytes[at..].iter().take(MAX_TYPE).take_while(is_of_type).count();
    let end = at + length;
    let value = end + 1 + spaces(bytes.get(end + 1..)?);
    let is_quoted = matches!(bytes.get(after_wrapper(bytes, value))?, b'"' | b'\'' | b'`' | b'\\');
    let has_type = bytes[at..end].iter().any(u8::is_ascii_alphabetic);
    (bytes[end] == b'=' && has_type && is_quoted).then_some(end + 1)
}

/// The position after what may precede a quote or a value: `String::from("…")`, `b"…"`, `&anchor …`.
fn after_wrapper(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if let [b'b' | b'r' | b'f' | b'u' | b'N', b'"' | b'\'' | b'\\', ..] = rest {
        return at + 1;
    }
    if rest.starts_with(FROM) {
        return at + FROM.len();
    }
    let anchor = match rest {
        [b'&', rest @ ..] => {
            rest.iter().take(MAX_TYPE).take_while(|byte| is_of_name(**byte)).count()
        }
        _ => 0,
    };
    let is_anchor = anchor > 0 && rest.get(1 + anchor) == Some(&b' ');
    if is_anchor { at + 1 + anchor + 1 } else { at }
}

/// The position of the quoted argument of a function that takes a secret: `setPassword("…")`.
fn called(bytes: &[u8], name: &Range<usize>, at: usize) -> Option<usize> {
    let text = bytes[name.clone()].to_ascii_lowercase();
    let last = text.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    if last.ends_with(b"basicauth") || last.ends_with(b"credential") {
        return second_argument(bytes, at);
    }
    let takes = last.starts_with(b"set") || last.starts_with(b"with") || last == b"bearer_auth";
    let (_, quote) = opened(bytes, at)?;
    (takes && quote.is_some()).then_some(at)
}

/// The position of the second argument, if both are quoted: `("me", "…")`.
fn second_argument(bytes: &[u8], at: usize) -> Option<usize> {
    let (first, quote) = opened(bytes, at)?;
    let end = first + value_length(&bytes[first..], ValueEnd::Quote(quote?), MAX_LOOK);
    let (after, _) = closed(bytes, end)?;
    let comma = bytes.get(after)?;
    let second = after + 1 + spaces(bytes.get(after + 1..)?);
    let (_, quote) = opened(bytes, second)?;
    (*comma == b',' && quote.is_some()).then_some(second)
}

/// The position of the quoted value after a comma: `("TOKEN", "…")`, `"name": "TOKEN", "value": "…"`.
fn argument_after(bytes: &[u8], at: usize) -> Option<usize> {
    let at = at + spaces(&bytes[at..]);
    let (inside, quote) = opened(bytes, at)?;
    quote?;
    if bytes[inside..].starts_with(b"value") { value_of_member(bytes, inside) } else { Some(at) }
}

/// The position of the value after `value`, `value:` or `value=`, which is at this position.
fn value_of_member(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes[at..].strip_prefix(b"value")?;
    let (after, _) = closed(bytes, bytes.len() - rest.len())?;
    let after = after + spaces(&bytes[after..]);
    let is_sign = matches!(bytes.get(after), Some(b':' | b'='));
    is_sign.then(|| after + 1 + spaces(&bytes[after + 1..]))
}

/// Whether the value follows the name after a space: options, `.netrc`, `aws configure set`.
fn takes_words(bytes: &[u8], name: &Range<usize>) -> bool {
    let (before, text) =
        (&bytes[name.start.saturating_sub(MAX_LINE)..name.start], &bytes[name.clone()]);
    if text.starts_with(b"-") {
        return before.last().is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'\''));
    }
    let line =
        before.iter().rposition(|byte| *byte == b'\n').map_or(before, |at| &before[at + 1..]);
    let line = line.trim_ascii_end();
    if text == b"PASSWORD" && matches!(bytes.get(name.end + 1), Some(b'\'')) {
        return true;
    }
    let takes = text.ends_with(b"requirepass")
        || text == b"add-authtoken"
        || (text == b"_authToken" && line.ends_with(b":"))
        || SETTERS.iter().any(|setter| line.ends_with(setter));
    if takes || (is_constant(text) && is_followed_by_random(bytes, name.end)) {
        return true;
    }
    if text != b"password" {
        return false;
    }
    // `login NAME password VALUE`, or the word alone at the start of a line.
    let is_start = line.is_empty() || line.ends_with(b"\\n") || line.ends_with(b"\"");
    is_start || NETRC.iter().any(|word| memchr::memmem::find(line, word).is_some())
}

/// Whether the text is the name of an environment variable of several words.
fn is_constant(name: &[u8]) -> bool {
    name.contains(&b'_') && str::from_utf8(name).is_ok_and(is_variable)
}

/// Whether a random word follows after a space: `API_TOKEN 0a1b2c…`.
fn is_followed_by_random(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[(at + 1).min(bytes.len())..];
    let length = rest.iter().take(MAX_LOOK).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    length >= MIN_RANDOM && str::from_utf8(&rest[..length]).is_ok_and(looks_random)
}

/// The position after a word for the kind of the value: `token: Bearer …`.
fn after_scheme(bytes: &[u8], at: usize) -> usize {
    let words: [&[u8]; 6] = [b"Bearer ", b"bearer ", b"Basic ", b"basic ", b"Token ", b"token "];
    let scheme = words.iter().find(|word| bytes[at..].starts_with(word));
    at + scheme.map_or(0, |word| word.len())
}

/// The length of the value at the start of these bytes, up to a limit. A quoted value may contain
/// spaces, but no other white space.
pub(super) fn value_length(bytes: &[u8], end: ValueEnd, limit: usize) -> usize {
    let mut backslashes = 0;
    for (index, byte) in bytes.iter().enumerate().take(limit) {
        match end {
            ValueEnd::Signs(signs) => {
                if byte.is_ascii_whitespace() || signs.contains(byte) {
                    return index;
                }
            }
            ValueEnd::Quote(quote) => {
                if byte.is_ascii_whitespace() && *byte != b' ' {
                    return 0;
                }
                if *byte == quote.sign && backslashes <= quote.backslashes {
                    return index - backslashes;
                }
                backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
            }
        }
    }
    bytes.len().min(limit)
}
