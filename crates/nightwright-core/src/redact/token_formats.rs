//! What has the form of a secret, found in time that only its length counts for.

use std::ops::Range;

use super::escapes::{end_of_escape_around, ends_escape};
use super::patterns::{ALL, EACH, LeftBoundary, MatchRule, PATTERNS, TokenTail};

/// Something that was found.
pub(super) struct TokenMatch {
    /// All of it, with what it is known by.
    pub(super) whole: Range<usize>,
    /// What is secret of it.
    pub(super) span: Range<usize>,
    pub(super) proof: MatchRule,
}

/// A run of characters that a secret can be made of: many may begin in it that are none, and it is
/// gone through once for all of them.
#[derive(Clone, Copy)]
struct CharRun {
    start: usize,
    end: usize,
    last_digit: Option<usize>,
    /// Where what has to follow ends, if it does follow.
    behind: Option<usize>,
}

/// What stands behind the `@` of an image that is named by what is in it.
const DIGESTS: [&[u8]; 2] = [b"sha256:", b"sha512:"];
/// What names the sort of token behind it.
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
/// Nobody writes a name that is longer than this.
const NAME_MAX: usize = 256;
/// A longer part of a name is no word.
const WORD_MAX: usize = 16;
/// A longer number is no version and no chapter.
const NUMBER_MAX: usize = 5;
/// So much further on a password may go that has an `@` in it.
const PASSWORD_MAX: usize = 128;

/// Looks from `from` on. `seam` says where something was taken out in front of a byte.
pub(super) fn find_tokens(
    bytes: &[u8],
    from: usize,
    seam: impl Fn(usize) -> bool,
    mut each: impl FnMut(TokenMatch),
) {
    let mut runs: Vec<Option<CharRun>> = Vec::new();
    let mut at = from;
    while let Some(found) = ALL.find_at(bytes, at) {
        let (start, end) = (found.start(), found.end());
        at = start + 1;
        let is_free = is_free(bytes, start) || seam(start);
        if !is_free && !may_follow_anything(&bytes[start..end]) {
            continue;
        }
        let Some((number, group)) = which(&bytes[start..end]) else { continue };
        let pattern = &PATTERNS[number];
        if pattern.front == LeftBoundary::NoWord && !is_free {
            continue;
        }
        let first = start + group.start;
        let known_end = start + group.end;
        let (mut last, mut has_digit) = (known_end, false);
        if !matches!(pattern.rest, TokenTail::Nothing) {
            runs.resize(PATTERNS.len(), None);
            let run = match runs[number] {
                Some(run) if run.start <= known_end && known_end <= run.end => run,
                Some(_) | None => CharRun::at(bytes, known_end, pattern.rest),
            };
            runs[number] = Some(run);
            let Some(behind) = run.behind else { continue };
            last = behind;
            has_digit = run.last_digit.is_some_and(|digit| digit >= known_end);
        }
        has_digit |= bytes[first..known_end].iter().any(u8::is_ascii_digit);
        let is_proven = match pattern.proof {
            MatchRule::Form | MatchRule::KeyBlock => true,
            MatchRule::MadeUp => has_digit && is_made_up(&bytes[first..last]),
            MatchRule::Digit => has_digit,
            MatchRule::Scheme => {
                has_digit && (names_scheme(&bytes[start..first]) || is_made_up(&bytes[first..last]))
            }
            MatchRule::Address => {
                last = last_at(bytes, last);
                !DIGESTS.iter().any(|digest| bytes[last + 1..].starts_with(digest))
            }
        };
        if is_proven {
            at = last.max(end);
            each(TokenMatch { whole: start..at, span: first..last, proof: pattern.proof });
        }
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

/// Whether no person made it up: `section-4.2` and `sk-circle-fade-2` are words and small numbers.
/// There is a digit in it.
fn is_made_up(token: &[u8]) -> bool {
    let is_odd = |part: &[u8]| {
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        let is_mixed = digits > 0 && digits < part.len();
        is_mixed || digits > NUMBER_MAX || part.len() > WORD_MAX
    };
    token.len() > NAME_MAX || token.split(|byte| !byte.is_ascii_alphanumeric()).any(is_odd)
}

/// Whether behind the name of a header a sort of token is named, or nothing stands.
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

/// The last `@` in front of the host: a password may have some as well. There is one at `at`.
fn last_at(bytes: &[u8], at: usize) -> usize {
    let near = &bytes[at..bytes.len().min(at + PASSWORD_MAX)];
    let is_password = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~%+!$&*=^#-@".contains(byte);
    let length = near.iter().take_while(|byte| is_password(byte)).count();
    near[..length].iter().rposition(|byte| *byte == b'@').map_or(at, |last| at + last)
}

/// Which pattern it is, and where its group.
fn which(found: &[u8]) -> Option<(usize, Range<usize>)> {
    EACH.iter().enumerate().find_map(|(number, regex)| {
        // Asked with groups only where it is: that is slow.
        regex.find(found)?;
        let group = regex.captures(found)?.get(1)?.range();
        Some((number, group))
    })
}

/// Whether it is the beginning of what needs nothing special in front of it.
fn may_follow_anything(found: &[u8]) -> bool {
    [&b"hooks"[..], b"discord", b"://", b"-----"].iter().any(|begin| found.starts_with(begin))
}

/// Whether a word could begin here.
fn is_free(bytes: &[u8], at: usize) -> bool {
    at == 0
        || !bytes[at - 1].is_ascii_alphanumeric()
        || ends_escape(bytes, at)
        || end_of_escape_around(bytes, at).is_some()
}
