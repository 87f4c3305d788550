//! What has the form of a secret, whoever made it. Each pattern has one group: what is masked.
//!
//! A pattern is only as long as it must be to know a secret by its beginning; where that ends is
//! looked at afterwards, and so is whether it begins where it should. So no byte is looked at more
//! than a few times, whatever the text is. And no pattern begins with anything but letters or
//! signs as they are: that is what makes a gigabyte go by quickly.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::SIZE;

/// Something that has the form of a secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenFormat {
    /// What it is called.
    pub(super) name: &'static str,
    /// How it begins, with one group.
    pub(super) form: &'static str,
    /// How it goes on.
    pub(super) rest: TokenTail,
    /// What may stand in front of it.
    pub(super) front: LeftBoundary,
    /// What has to be in it besides.
    pub(super) proof: MatchRule,
}

/// How a secret goes on behind its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) enum TokenTail {
    /// Not at all.
    Nothing,
    /// As long as there are letters, digits and these signs.
    Run(&'static [u8]),
    /// The same, and behind it so many further parts of at least so many characters, each after a
    /// dot.
    Dotted(&'static [u8], usize, usize),
}

/// What may stand in front of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftBoundary {
    /// Anything.
    Any,
    /// No letter and no digit: `task-…` is no `sk-…`.
    NoWord,
}

/// What has to be in a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchRule {
    /// Its form is enough.
    Form,
    /// It was made up by a machine: `sk-` can be the beginning of words, too.
    MadeUp,
    /// There is a digit in it: a token may be made of words as well.
    Digit,
    /// There is a digit in it, and in front of it stands nothing or what says which sort of token
    /// follows. Behind other words it was made up by a machine.
    Scheme,
    /// What follows is a host: `docker://image:1.2@sha256:…` is none, and has no password.
    Address,
    /// It begins the block of a private key, and is not masked itself.
    KeyBlock,
}

const fn token(name: &'static str, form: &'static str, rest: TokenTail) -> TokenFormat {
    TokenFormat { name, form, rest, front: LeftBoundary::NoWord, proof: MatchRule::Form }
}

const fn weak(name: &'static str, form: &'static str, rest: TokenTail) -> TokenFormat {
    TokenFormat { name, form, rest, front: LeftBoundary::NoWord, proof: MatchRule::MadeUp }
}

const fn header(name: &'static str, form: &'static str, proof: MatchRule) -> TokenFormat {
    TokenFormat { name, form, rest: HEADER, front: LeftBoundary::NoWord, proof }
}

const fn place(name: &'static str, form: &'static str, rest: TokenTail) -> TokenFormat {
    TokenFormat { name, form, rest, front: LeftBoundary::Any, proof: MatchRule::Form }
}

const PLAIN: TokenTail = TokenTail::Run(b"");
const WORD: TokenTail = TokenTail::Run(b"_-");
const HEADER: TokenTail = TokenTail::Run(b"._~+/=-");

/// All of them. Of two that begin at the same place the first one counts. Every further way to begin
/// makes all the rest slower, and some make it twice as slow: measure before adding one.
#[rustfmt::skip]
pub(super) static PATTERNS: &[TokenFormat] = &[
    token("Anthropic key", r"(sk-ant-[A-Za-z0-9_-]{16})", WORD),
    weak("OpenAI key", r"(sk-[A-Za-z0-9_-]{20})", WORD),
    token("Stripe key", r"([rs]k_live_[A-Za-z0-9]{16})", PLAIN),
    token("GitHub token", r"(gh[pousr]_[A-Za-z0-9]{30})", PLAIN),
    token("GitHub token of one's own", r"(github_pat_[A-Za-z0-9_]{30})", WORD),
    token("GitLab token", r"(glpat-[A-Za-z0-9_-]{16})", WORD),
    token("Slack token", r"(xox[abeprs]-[A-Za-z0-9-]{10})", WORD),
    place("Slack webhook", r"hooks\.slack\.com/services/([A-Za-z0-9_/-]{20,64})", WORD),
    place("Discord webhook", r"discord(?:app)?\.com/api/webhooks/([0-9]{1,32}/[A-Za-z0-9_-]{20})", WORD),
    token("AWS key", r"(A[KS]IA[A-Z0-9]{16})", TokenTail::Nothing),
    token("Google key", r"(AIza[A-Za-z0-9_-]{35})", TokenTail::Nothing),
    token("JSON web token", r"(eyJ[A-Za-z0-9_-]{8})", TokenTail::Dotted(b"_-", 2, 8)),
    token("npm token", r"(npm_[A-Za-z0-9]{30})", PLAIN),
    token("PyPI token", r"(pypi-[A-Za-z0-9_-]{32})", WORD),
    token("Hugging Face token", r"(hf_[A-Za-z0-9]{30})", PLAIN),
    token("SendGrid key", r"(SG\.[A-Za-z0-9_-]{16})", TokenTail::Dotted(b"_-", 1, 16)),
    token("DigitalOcean token", r"(do[opr]_v1_[a-f0-9]{32})", PLAIN),
    token("age key", r"(AGE-SECRET-KEY-1[A-Z0-9]{40})", PLAIN),
    header("authorization header", r#"(?:Authorization|authorization|AUTHORIZATION)[\\"']{0,16}[ \t]{0,8}[:=](?:[ \t]|\\{1,8}t){0,8}[\\"']{0,16}(?:[A-Za-z][A-Za-z-]{0,23}(?:[ \t]|\\{1,8}t|%20){1,8})?([A-Za-z0-9._~+/=-]{8})"#, MatchRule::Scheme),
    header("bearer token", r"(?:Bearer|bearer|BEARER)(?:[ \t]|\\{1,8}t|%20){1,8}([A-Za-z0-9._~+/=-]{16})", MatchRule::Digit),
    header("key in a header", r#"(?:x-api-key|X-api-key|X-Api-Key|X-API-Key|X-API-KEY)[\\"']{0,16}[ \t]{0,8}[:=](?:[ \t]|\\{1,8}t){0,8}[\\"']{0,16}([A-Za-z0-9._~+/=-]{8})"#, MatchRule::Digit),
    TokenFormat { name: "password in an address", form: r"://[A-Za-z0-9._~%+-]{0,64}:([A-Za-z0-9._~%+!$&'()*,;=^#-]{3,128})@", rest: TokenTail::Nothing, front: LeftBoundary::Any, proof: MatchRule::Address },
    TokenFormat { name: "private key", form: r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)", rest: TokenTail::Nothing, front: LeftBoundary::Any, proof: MatchRule::KeyBlock },
];

/// All of them in one.
pub(super) static ALL: LazyLock<Regex> = LazyLock::new(|| {
    let forms: Vec<_> = PATTERNS.iter().map(|pattern| pattern.form).collect();
    build(&forms.join("|"))
});

/// Each of them, at the beginning of a text.
pub(super) static EACH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    PATTERNS.iter().map(|pattern| build(&format!(r"\A{}", pattern.form))).collect()
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

    /// What each pattern finds, and what looks alike and is left alone. Put together from pieces,
    /// or whoever looks for secrets in sources would find these.
    fn examples() -> Vec<(&'static str, String, &'static str)> {
        let a = |count: usize| "a1B2".repeat(count);
        vec![
            ("Anthropic key", format!("sk-ant-{}", a(6)), "sk-ant-short"),
            ("OpenAI key", format!("sk-proj-{}", a(6)), "task-12-of-a-long-list-of-tasks"),
            ("Stripe key", format!("sk_live_{}", a(5)), "sk_live_mode"),
            ("GitHub token", format!("ghp_{}", a(9)), "ghp_short1"),
            ("GitHub token of one's own", format!("github_pat_{}", a(9)), "github_pattern"),
            ("GitLab token", format!("glpat-{}", a(5)), "glpat-none"),
            ("Slack token", format!("xoxb-{}", a(5)), "xoxb-1"),
            ("Slack webhook", format!("hooks.slack.com/services/{}", a(6)), "hooks.slack.com/docs"),
            (
                "Discord webhook",
                format!("discord.com/api/webhooks/123/{}", a(6)),
                "discord.com/api/webhooks/",
            ),
            ("AWS key", format!("AKIA{}", "A1B2".repeat(4)), "AKIAlower1B2A1B2A1B2"),
            ("Google key", format!("AIza{}abc", a(8)), "AIza-too-short"),
            ("JSON web token", format!("eyJ{0}.eyJ{0}.{0}", a(3)), "eyJhbGciOi.none"),
            ("npm token", format!("npm_{}", a(9)), "npm_config_registry"),
            ("PyPI token", format!("pypi-{}", a(9)), "pypi-server"),
            ("Hugging Face token", format!("hf_{}", a(9)), "hf_hub_download"),
            ("SendGrid key", format!("SG.{0}.{0}", a(5)), "SG.short.short"),
            ("DigitalOcean token", format!("dop_v1_{}", "a1b2".repeat(16)), "dop_v1_none"),
            ("age key", format!("AGE-SECRET-KEY-1{}", "A1B2".repeat(14)), "AGE-SECRET-KEY-1X"),
            (
                "authorization header",
                format!("Authorization: Basic {}", a(3)),
                "Authorization: required for all",
            ),
            ("bearer token", format!("Bearer {}", a(5)), "Bearer authentication is required"),
            ("key in a header", format!("x-api-key: {}", a(3)), "x-api-key: required"),
            ("password in an address", "postgres://me:hunter2@db".to_owned(), "http://host:80/a@b"),
            (
                "private key",
                format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", a(8)),
                "-----BEGIN PUBLIC KEY-----\nabc1\n-----END PUBLIC KEY-----",
            ),
        ]
    }

    #[test]
    fn every_pattern_has_one_group() {
        for pattern in PATTERNS {
            let regex = Regex::new(pattern.form).unwrap();
            assert_eq!(regex.captures_len(), 2, "{}", pattern.name);
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
