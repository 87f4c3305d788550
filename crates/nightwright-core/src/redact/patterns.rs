//! The formats of common secrets.
//!
//! Every format starts with a fixed text, which makes the search fast. Its pattern is only long
//! enough to recognize the beginning of a secret. The end and the boundary before it are checked
//! afterwards. Therefore no byte is visited more than a few times, whatever the text is.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::SIZE;
use super::assignments::STEMS;
use super::commands::{COMMANDS, CommandSecret};
use super::normalize::WRITTEN_ESCAPE;
use super::starts::StartSearch;
use super::vendors::{VENDORS, VendorToken};

/// The format of a kind of secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenFormat {
    pub(super) name: &'static str,
    /// The strings that it may start with.
    pub(super) starts: &'static [&'static str],
    /// The pattern of what follows. Its group is masked; without a group, everything is.
    form: &'static str,
    /// The characters that follow the beginning.
    pub(super) rest: TokenTail,
    /// The characters that may precede it.
    pub(super) front: LeftBoundary,
    /// A further condition for a match.
    pub(super) proof: MatchRule,
}

/// The continuation of a secret after its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) enum TokenTail {
    /// The pattern covers the whole secret.
    Nothing,
    /// Any number of letters, digits and these characters.
    Run(&'static [u8]),
    /// Like `Run`, followed by a number of further parts of a minimum length, each after a dot.
    Dotted(&'static [u8], usize, usize),
}

/// The characters that may precede a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftBoundary {
    /// Any character may precede it.
    Any,
    /// No letter or digit: `task-…` does not contain `sk-…`.
    NoWord,
}

/// A further condition for a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchRule {
    /// The format is sufficient.
    Form,
    /// The match looks random: `sk-` can also be the start of words.
    MadeUp,
    /// The match contains a digit: other text may have the same format.
    Digit,
    /// The match contains a digit, and follows a word for the kind of token, or nothing. After
    /// other words it must look random.
    Scheme,
    /// A host follows: `docker://image:1.2@sha256:…` has no host and no password.
    Address,
    /// The match looks random, and a host follows.
    Random,
    /// The match starts the block of a private key, and is not masked itself.
    KeyBlock,
}

/// The strings at the start of a format.
type Starts = &'static [&'static str];

const fn token(
    name: &'static str,
    starts: Starts,
    form: &'static str,
    rest: TokenTail,
) -> TokenFormat {
    let (front, proof) = (LeftBoundary::NoWord, MatchRule::Form);
    TokenFormat { name, starts, form, rest, front, proof }
}

const fn header(
    name: &'static str,
    starts: Starts,
    form: &'static str,
    proof: MatchRule,
) -> TokenFormat {
    TokenFormat { name, starts, form, rest: HEADER, front: LeftBoundary::NoWord, proof }
}

const fn place(
    name: &'static str,
    starts: Starts,
    form: &'static str,
    rest: TokenTail,
    proof: MatchRule,
) -> TokenFormat {
    TokenFormat { name, starts, form, rest, front: LeftBoundary::Any, proof }
}

const WORD: TokenTail = TokenTail::Run(b"_-");
const HEADER: TokenTail = TokenTail::Run(b"._~+/=-");

/// All formats. If two start at the same position, the first one wins. Rare starts of at least four
/// bytes are fast.
#[rustfmt::skip]
pub(super) static PATTERNS: &[TokenFormat] = &[
    token("Anthropic key", &["sk-ant-"], r"[A-Za-z0-9_-]{16}", WORD),
    TokenFormat { proof: MatchRule::MadeUp, ..token("OpenAI key", &["sk-"], r"[A-Za-z0-9_-]{20}", WORD) },
    TokenFormat { proof: MatchRule::Digit, ..token("Slack token", &["xox"], r"[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10}", WORD) },
    token("JSON web token", &["eyJ"], r"[A-Za-z0-9_-]{8}", TokenTail::Dotted(b"_-", 2, 8)),
    TokenFormat { proof: MatchRule::Digit, ..token("SendGrid key", &["SG."], r"[A-Za-z0-9_-]{16}", TokenTail::Dotted(b"_-", 1, 16)) },
    header("authorization header", &["Authorization", "authorization", "AUTHORIZATION"], r#"[\\"']{0,16}[ \t]{0,8}[:=](?:[ \t]|\\{1,8}t){0,8}[\\"']{0,16}(?:[A-Za-z][A-Za-z-]{0,23}(?:[ \t]|\\{1,8}t|%20){1,8})?([A-Za-z0-9._~+/=-]{8})"#, MatchRule::Scheme),
    header("bearer token", &["Bearer", "bearer", "BEARER"], r"(?:[ \t]|\\{1,8}t|%20){1,8}([A-Za-z0-9._~+/=-]{16})", MatchRule::Digit),
    place("password in an address", &["://"], r"[A-Za-z0-9._~%+=,-]{0,64}:([A-Za-z0-9._~%+!$&'()*,;=^#-]{3,128})@", TokenTail::Nothing, MatchRule::Address),
    place("token in an address", &["://"], r"([A-Za-z0-9._~%+-]{20,128})@", TokenTail::Nothing, MatchRule::Random),
    place("private key", &["-----BEGIN "], r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", TokenTail::Nothing, MatchRule::KeyBlock),
];

/// The use of a text at which the search stops.
#[derive(Clone, Debug)]
pub(super) enum StartUse {
    /// The formats that may begin here, by index.
    Formats(Vec<usize>),
    /// A piece of a name.
    Name,
    Command(CommandSecret),
    Vendor(&'static VendorToken),
    /// An escape character in JSON, which hides secrets.
    Escape,
}

/// The search for the starts of all formats, names, commands and vendors' tokens.
pub(super) static STARTS: LazyLock<StartSearch> = LazyLock::new(|| {
    let starts = PATTERNS.iter().flat_map(|pattern| pattern.starts).chain(STEMS);
    let starts = starts.chain(COMMANDS.iter().map(|(start, _)| start));
    let vendors = VENDORS.iter().flat_map(|vendor| vendor.starts);
    StartSearch::new(starts.chain(vendors).copied().chain([WRITTEN_ESCAPE]))
});

/// The use of each text in `STARTS`.
pub(super) static USES: LazyLock<Vec<StartUse>> = LazyLock::new(|| {
    let may_begin = |start: &str| {
        let formats = PATTERNS.iter().enumerate();
        let formats = formats
            .filter(|(_, pattern)| pattern.starts.iter().any(|other| start.starts_with(other)));
        formats.map(|(index, _)| index).collect()
    };
    let starts = PATTERNS.iter().flat_map(|pattern| pattern.starts);
    let mut uses: Vec<_> = starts.map(|start| StartUse::Formats(may_begin(start))).collect();
    uses.extend(STEMS.iter().map(|_| StartUse::Name));
    uses.extend(COMMANDS.iter().map(|(_, kind)| StartUse::Command(*kind)));
    let vendors = VENDORS.iter().flat_map(|vendor| vendor.starts.iter().map(move |_| vendor));
    uses.extend(vendors.map(StartUse::Vendor));
    uses.push(StartUse::Escape);
    uses
});

/// Each pattern with its starts, anchored at the start of a string.
pub(super) static EACH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let each = PATTERNS.iter().map(|TokenFormat { starts, form, .. }| {
        let starts: Vec<_> = starts.iter().map(|start| regex::escape(start)).collect();
        build(&format!(r"\A(?:{}){form}", starts.join("|")))
    });
    each.collect()
});

fn build(form: &str) -> Regex {
    RegexBuilder::new(form)
        .unicode(false)
        .size_limit(SIZE)
        .build()
        .expect("a test reads every pattern of the table")
}

#[cfg(test)]
mod tests {
    use crate::redact::Secrets;

    use super::*;

    /// A match for each pattern, and similar strings that must not match. They are assembled from
    /// pieces, so that secret scanners do not report this file.
    fn examples() -> Vec<(&'static str, String, &'static str)> {
        let a = |count: usize| "a1B2".repeat(count);
        vec![
            ("Anthropic key", format!("sk-ant-{}", a(6)), "sk-ant-short"),
            ("OpenAI key", format!("sk-proj-{}", a(6)), "task-12-of-a-long-list-of-tasks"),
            ("Slack token", format!("xoxb-{}", a(5)), "xoxb-1"),
            ("JSON web token", format!("eyJ{0}.eyJ{0}.{0}", a(3)), "eyJhbGciOi.none"),
            ("SendGrid key", format!("SG.{0}.{0}", a(5)), "SG.short.short"),
            (
                "authorization header",
                format!("Authorization: Basic {}", a(3)),
                "Authorization: required for all",
            ),
            ("bearer token", format!("Bearer {}", a(5)), "Bearer authentication is required"),
            ("password in an address", "postgres://me:hunter2@db".to_owned(), "http://host:80/a@b"),
            (
                "token in an address",
                format!("https://{}@host", a(6)),
                "https://a-long-name-of-a-user@host",
            ),
            (
                "private key",
                format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", a(8)),
                "-----BEGIN PUBLIC KEY-----\nabc1\n-----END PUBLIC KEY-----",
            ),
        ]
    }

    #[test]
    fn every_pattern_has_at_most_one_group() {
        for (pattern, regex) in PATTERNS.iter().zip(&*EACH) {
            assert!(regex.captures_len() <= 2, "{}", pattern.name);
        }
    }

    #[test]
    fn every_pattern_finds_its_secret_and_leaves_its_neighbour_alone() {
        let examples = examples();
        let names: Vec<_> = PATTERNS.iter().map(|pattern| pattern.name).collect();
        assert_eq!(examples.iter().map(|example| example.0).collect::<Vec<_>>(), names);
        let secrets = Secrets::default();
        for (name, secret, innocent) in examples {
            let text = format!("see {secret} there");
            let masked = secrets.mask(&text);
            assert_ne!(masked, text, "{name}");
            assert_eq!(masked.len(), text.len(), "{name}");
            assert!(masked.starts_with("see ") && masked.ends_with(" there"), "{name}: {masked}");
            assert_eq!(secrets.mask(innocent), innocent, "{name}");
        }
    }

    #[test]
    fn of_a_header_or_an_address_only_the_secret_is_masked() {
        let secrets = Secrets::default();
        assert_eq!(
            secrets.mask("git clone https://me:hunter2@host.example/x"),
            "git clone https://me:*******@host.example/x"
        );
        assert_eq!(secrets.mask("X-Api-Key: abcdef123456"), "X-Api-Key: ************");
    }
}
