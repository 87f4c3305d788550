//! Search for strings in the format of a secret, in linear time.

use std::ops::Range;

use super::assignments::{NamedSecret, named_secret};
use super::commands::find_command_secrets;
use super::entries::EntryName;
use super::escapes::{end_of_escape_around, ends_escape};
use super::parts::is_example_password;
use super::patterns::{EACH, LeftBoundary, MatchRule, PATTERNS, STARTS, StartUse, TokenTail, USES};
use super::values::looks_random;
use super::vendors::vendor_token;
use super::written_value::is_placeholder;

/// A token that was found.
pub(super) struct TokenMatch {
    /// The whole match with its context.
    pub(super) whole: Range<usize>,
    /// The part of the match that is secret.
    pub(super) span: Range<usize>,
    pub(super) proof: MatchRule,
}

/// The beginning of a token.
struct Beginning {
    /// The index of its format.
    number: usize,
    /// The end of the match of its pattern.
    end: usize,
    /// The part of the match that is secret.
    secret: Range<usize>,
}

/// A run of token characters. Many beginnings may match inside it, so it is scanned once for all of
/// them.
#[derive(Clone, Copy)]
struct CharRun {
    start: usize,
    end: usize,
    last_digit: Option<usize>,
    /// The end of the required following part, if present.
    behind: Option<usize>,
}

/// The prefixes of image digests after `@`.
const DIGESTS: [&[u8]; 2] = [b"sha256:", b"sha512:"];
/// Words that name the kind of the token after them.
const SCHEMES: [&[u8]; 10] = [
    b"bearer",
    b"basic",
    b"token",
    b"apikey",
    b"api-key",
    b"key",
    b"bot",
    b"digest",
    b"negotiate",
    b"ntlm",
];
/// The maximum length of a readable name.
const MAX_NAME: usize = 256;
/// The maximum length of a word in a name.
const MAX_WORD: usize = 16;
/// The maximum length of a number in a name, such as a version or a chapter.
const MAX_NUMBER: usize = 5;
/// The maximum distance to a later `@` that still belongs to the password.
const MAX_PASSWORD: usize = 128;

/// Searches from `from` on. `seam` returns whether something was removed before a byte. `entry`
/// receives the names whose values may follow in the next line. Returns whether the bytes contain a
/// written escape character.
pub(super) fn find_tokens(
    bytes: &[u8],
    from: usize,
    seam: impl Fn(usize) -> bool,
    mut each: impl FnMut(TokenMatch),
    mut entry: impl FnMut(Range<usize>, EntryName),
) -> bool {
    let mut has_escape = false;
    let is_free = |at: usize| is_free(bytes, at) || seam(at);
    let mut runs: Vec<Option<CharRun>> = Vec::new();
    STARTS.find(bytes, from, |index, found| {
        let start = found.start;
        let known = |(whole, span)| TokenMatch { whole, span, proof: MatchRule::Form };
        let token = match &USES[index] {
            StartUse::Formats(formats) => {
                token_at(bytes, start, is_free(start), formats, &mut runs)
            }
            StartUse::Name => match named_secret(bytes, start) {
                Some(NamedSecret::Value(whole, value)) => Some(known((whole, value))),
                Some(NamedSecret::Entry(name, found)) => {
                    entry(name, found);
                    None
                }
                None => None,
            },
            StartUse::Vendor(vendor) => vendor_token(bytes, vendor, &found, is_free).map(known),
            StartUse::Command(kind) => {
                let mut next = start;
                find_command_secrets(bytes, *kind, found, |span| {
                    next = span.end;
                    each(known((start.min(span.start)..span.end, span)));
                });
                return next;
            }
            StartUse::Escape => {
                has_escape = true;
                None
            }
        };
        let next = token.as_ref().map_or(start, |token| token.whole.end);
        if let Some(token) = token {
            each(token);
        }
        next
    });
    has_escape
}

/// The token of one of these formats that begins at this position.
fn token_at(
    bytes: &[u8],
    start: usize,
    is_free: bool,
    formats: &[usize],
    runs: &mut Vec<Option<CharRun>>,
) -> Option<TokenMatch> {
    let Beginning { number, end, secret } = beginning(&bytes[start..], is_free, formats)?;
    let pattern = &PATTERNS[number];
    let end = start + end;
    let first = start + secret.start;
    let known_end = start + secret.end;
    let (mut last, mut has_digit) = (known_end, false);
    if !matches!(pattern.rest, TokenTail::Nothing) {
        runs.resize(PATTERNS.len(), None);
        let run = match runs[number] {
            Some(run) if run.start <= known_end && known_end <= run.end => run,
            Some(_) | None => CharRun::at(bytes, known_end, pattern.rest),
        };
        runs[number] = Some(run);
        last = run.behind?;
        has_digit = run.last_digit.is_some_and(|digit| digit >= known_end);
    }
    let token = &bytes[first..last];
    has_digit |= bytes[first..known_end].iter().any(u8::is_ascii_digit);
    let is_proven = match pattern.proof {
        MatchRule::Form | MatchRule::KeyBlock => true,
        MatchRule::MadeUp => has_digit && is_made_up(token) && !is_placeholder(token),
        MatchRule::Digit => has_digit && !is_placeholder(token),
        MatchRule::Scheme => {
            let names_scheme = names_scheme(&bytes[start..first]);
            has_digit && (names_scheme || is_made_up(token)) && !is_placeholder(token)
        }
        MatchRule::Random => str::from_utf8(token).is_ok_and(looks_random),
        MatchRule::Address => {
            last = last_at(bytes, last);
            is_password(&bytes[first..last]) && !is_version(&bytes[last + 1..])
        }
    };
    let whole = start..last.max(end);
    is_proven.then_some(TokenMatch { whole, span: first..last, proof: pattern.proof })
}

/// Whether the text between a colon and `@` may be a password, and no word of an example.
fn is_password(text: &[u8]) -> bool {
    !str::from_utf8(text).is_ok_and(is_example_password) && text[0] != b'$' && text[0] != b'%'
}

/// Whether a digest, a version or the scale of an image follows `@`: this is no address.
fn is_version(bytes: &[u8]) -> bool {
    if DIGESTS.iter().any(|digest| bytes.starts_with(digest)) {
        return true;
    }
    let length = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'.');
    let mut parts = bytes[..length.count()].split(|byte| *byte == b'.');
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        // `1.2.3`; an address of a host has four numbers.
        (Some(one), Some(two), Some(three), None) => [one, two, three].into_iter().all(is_number),
        (Some([b'1'..=b'4', b'x']), Some(_), None, None) => true,
        _ => false,
    }
}

impl CharRun {
    fn at(bytes: &[u8], start: usize, rest: TokenTail) -> Self {
        let (signs, parts, least) = match rest {
            TokenTail::Nothing => (&b""[..], 0, 0),
            TokenTail::Run(signs) => (signs, 0, 0),
            TokenTail::Dotted(signs, parts, least) => (signs, parts, least),
        };
        let is_one = |byte: &u8| byte.is_ascii_alphanumeric() || signs.contains(byte);
        let length = |from: usize| bytes[from..].iter().take_while(|byte| is_one(byte)).count();
        let end = start + length(start);
        let last_digit = bytes[start..end].iter().rposition(u8::is_ascii_digit);
        let mut behind = Some(end);
        for _ in 0..parts {
            behind = behind.filter(|behind| bytes.get(*behind) == Some(&b'.')).and_then(|behind| {
                let length = length(behind + 1);
                (length >= least).then_some(behind + 1 + length)
            });
        }
        Self { start, end, last_digit: last_digit.map(|digit| start + digit), behind }
    }
}

/// Whether the token looks random: `section-4.2` and `sk-circle-fade-2` consist of words and small
/// numbers. The token contains a digit.
fn is_made_up(token: &[u8]) -> bool {
    let is_odd = |part: &[u8]| {
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        let is_mixed = digits > 0 && digits < part.len();
        is_mixed || digits > MAX_NUMBER || part.len() > MAX_WORD
    };
    token.len() > MAX_NAME || token.split(|byte| !byte.is_ascii_alphanumeric()).any(is_odd)
}

/// Whether the header's name is followed by nothing, or by a word for the kind of token.
fn names_scheme(header: &[u8]) -> bool {
    let colon = header.iter().position(|byte| matches!(byte, b':' | b'=')).unwrap_or(0);
    let mut words = header[colon..]
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')
        // A tab may be written as `\t`.
        .filter(|word| !word.is_empty() && *word != b"t");
    match words.next() {
        Some(word) => SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme)),
        None => true,
    }
}

/// The last `@` before the host, because a password may contain `@`. There is one at `at`.
fn last_at(bytes: &[u8], at: usize) -> usize {
    let near = &bytes[at..bytes.len().min(at + MAX_PASSWORD)];
    let is_password = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~%+!$&*=^#-@".contains(byte);
    let length = near.iter().take_while(|byte| is_password(byte)).count();
    near[..length].iter().rposition(|byte| *byte == b'@').map_or(at, |last| at + last)
}

/// The beginning of the first of these formats that matches at the start of these bytes.
fn beginning(bytes: &[u8], is_free: bool, formats: &[usize]) -> Option<Beginning> {
    let may_be = |number: &usize| is_free || PATTERNS[*number].front == LeftBoundary::Any;
    formats.iter().copied().filter(may_be).find_map(|number| {
        // Groups are slow, so they are captured only after a match.
        let end = EACH[number].find(bytes)?.end();
        let group = EACH[number].captures(&bytes[..end])?.get(1).map(|group| group.range());
        Some(Beginning { number, end, secret: group.unwrap_or(0..end) })
    })
}

/// Whether a word could start here.
fn is_free(bytes: &[u8], at: usize) -> bool {
    at == 0
        || !bytes[at - 1].is_ascii_alphanumeric()
        || ends_escape(bytes, at)
        || end_of_escape_around(bytes, at).is_some()
}
