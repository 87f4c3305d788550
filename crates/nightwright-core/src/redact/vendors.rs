//! The tokens of known services: a fixed start, and a run of characters.
//!
//! The table is data, and a row needs no code. Few starts have less than four bytes, because the
//! search for shorter ones is slow.

use std::ops::Range;

use super::written_value::is_placeholder;

/// The tokens of a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct VendorToken {
    pub(super) name: &'static str,
    /// The texts that it may start with.
    pub(super) starts: &'static [&'static str],
    chars: TokenChars,
    /// The minimum number of characters after the start.
    least: usize,
    /// The maximum number of characters after the start, if the length is fixed.
    most: Option<usize>,
    part: MaskedPart,
}

/// The characters of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenChars {
    Alphanumeric,
    /// Letters and digits, and the signs `_` and `-`.
    Word,
    /// Letters, digits, and the signs of both variants of base64.
    Base64,
    /// Like `Word`, with dots.
    Dotted,
    /// Like `Word`, with slashes, dots and `@`: the path of a webhook.
    Path,
    Hex,
    Upper,
}

/// The part of a token that is masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MaskedPart {
    All,
    /// The start is an address, which is not secret.
    AfterStart,
}

const fn token(
    name: &'static str,
    starts: &'static [&'static str],
    chars: TokenChars,
    least: usize,
) -> VendorToken {
    VendorToken { name, starts, chars, least, most: None, part: MaskedPart::All }
}

const fn hook(name: &'static str, starts: &'static [&'static str], least: usize) -> VendorToken {
    let (chars, part) = (TokenChars::Path, MaskedPart::AfterStart);
    VendorToken { name, starts, chars, least, most: None, part }
}

const fn exactly(length: usize, token: VendorToken) -> VendorToken {
    VendorToken { most: Some(length), ..token }
}

use TokenChars::{Alphanumeric, Base64, Dotted, Hex, Upper, Word};

/// The rows of the table, one for each kind of token.
#[rustfmt::skip]
pub(super) static VENDORS: &[VendorToken] = &[
    token("1Password token", &["ops_eyJ"], Base64, 90),
    token("1Password secret key", &["A3-"], Word, 32),
    token("Bitbucket password", &["ATBB"], Alphanumeric, 28),
    token("Buildkite token", &["bkua_"], Hex, 40),
    exactly(32, token("Cargo token", &["cio"], Alphanumeric, 32)),
    token("CircleCI token", &["CCIPAT_"], Word, 40),
    token("Contentful token", &["CFPAT-"], Word, 40),
    token("Dynatrace token", &["dt0c01.", "dt0s01."], Dotted, 60),
    token("Firebase key", &["APA91b"], Word, 90),
    token("Fly.io token", &["fm2_", "fo1_"], Base64, 40),
    token("Google refresh token", &["1//0"], Word, 40),
    token("Hugging Face token", &["hf_"], Alphanumeric, 30),
    token("LangSmith key", &["lsv2_"], Word, 40),
    exactly(32, token("Mailgun key", &["key-"], Hex, 32)),
    exactly(43, token("NuGet key", &["oy2"], Alphanumeric, 43)),
    token("Plaid token", &["access-"], Word, 43),
    token("Postman key", &["PMAK-"], Word, 50),
    exactly(37, token("Replicate token", &["r8_"], Alphanumeric, 37)),
    token("Resend key", &["re_"], Word, 24),
    token("SonarQube token", &["sqp_", "squ_"], Hex, 40),
    token("Sourcegraph token", &["sgp_"], Word, 40),
    token("Square token", &["EAAA"], Alphanumeric, 56),
    token("Square secret", &["sq0csp-", "sq0atp-"], Word, 20),
    token("Tavily key", &["tvly-"], Word, 24),
    token("Shopify token", &["shpat_", "shpss_"], Hex, 32),
    token("Atlassian token", &["ATATT3x", "ATCTT3x"], Base64, 24),
    exactly(16, token("AWS key", &["AKIA", "ASIA"], Upper, 16)),
    token("AWS Bedrock key", &["ABSK"], Base64, 60),
    token("Brevo key", &["xkeysib-"], Word, 40),
    token("age key", &["AGE-SECRET-KEY-1"], Upper, 40),
    exactly(32, token("Databricks token", &["dapi"], Hex, 32)),
    token("DigitalOcean token", &["doo_v1_", "dop_v1_", "dor_v1_"], Hex, 32),
    hook("Discord webhook", &["/webhooks/"], 30),
    token("Docker token", &["dckr_pat_", "dckr_oat_"], Word, 20),
    token("Doppler token", &["dp.pt.", "dp.st."], Dotted, 30),
    token("Figma token", &["figd_"], Word, 30),
    token("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Alphanumeric, 30),
    token("GitHub fine-grained token", &["github_pat_"], Word, 30),
    token("GitLab token", &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "GR1348941"], Dotted, 16),
    token("Google key", &["AIza"], Word, 35),
    token("Google token", &["ya29.", "GOCSPX-"], Word, 20),
    token("Grafana token", &["glsa_", "glc_"], Base64, 30),
    token("Groq key", &["gsk_"], Alphanumeric, 30),
    token("Heroku key", &["HRKU-"], Word, 32),
    token("Linear key", &["lin_api_"], Alphanumeric, 32),
    token("Netlify token", &["nfp_"], Alphanumeric, 30),
    token("New Relic key", &["NRAK-"], Alphanumeric, 19),
    token("Notion token", &["ntn_", "secret_"], Alphanumeric, 40),
    token("npm token", &["npm_"], Alphanumeric, 30),
    token("NVIDIA key", &["nvapi-"], Word, 30),
    token("Perplexity key", &["pplx-"], Alphanumeric, 30),
    token("Pinecone key", &["pcsk_"], Word, 30),
    token("PlanetScale token", &["pscale_"], Dotted, 24),
    token("PostHog key", &["phx_"], Alphanumeric, 32),
    token("Pulumi token", &["pul-"], Hex, 40),
    token("PyPI token", &["pypi-"], Word, 32),
    token("Render key", &["rnd_"], Alphanumeric, 24),
    token("RubyGems key", &["rubygems_"], Hex, 40),
    token("Sentry token", &["sntrys_", "sntryu_"], Base64, 40),
    hook("Slack webhook", &["hooks.slack.com/"], 28),
    token("Slack app token", &["xapp-"], Word, 20),
    token("Stripe key", &["k_live_", "k_test_", "whsec_"], Base64, 16),
    token("Supabase key", &["sbp_", "sb_secret_"], Word, 24),
    token("Tailscale key", &["tskey-"], Word, 20),
    token("Terraform token", &[".atlasv1."], Word, 40),
    token("Vault token", &["hvs.", "hvb."], Word, 24),
    token("xAI key", &["xai-"], Alphanumeric, 40),
];

/// The number of characters that show whether a run of them is a token.
const MAX_LOOK: usize = 96;
/// The minimum length of letters and digits that are no word with a number.
const MIN_ODD: usize = 6;
/// The maximum length of a word.
const MAX_WORD: usize = 16;
/// The minimum number of changes between upper and lower case in a token without digits.
const MIN_CASE_CHANGES: usize = 8;

/// The token with this start: the whole match, and the part that is masked. `is_free` returns whether
/// a word could start at a position.
pub(super) fn vendor_token(
    bytes: &[u8],
    vendor: &VendorToken,
    found: &Range<usize>,
    is_free: impl Fn(usize) -> bool,
) -> Option<(Range<usize>, Range<usize>)> {
    let start = vendor.start(bytes, found.start, &is_free)?;
    let end = vendor.end(bytes, found.end)?;
    let first = match vendor.part {
        MaskedPart::All => start,
        MaskedPart::AfterStart => found.end,
    };
    Some((start..end, first..end))
}

impl VendorToken {
    /// The start of the token, given where its row's start was found.
    fn start(&self, bytes: &[u8], found: usize, is_free: &impl Fn(usize) -> bool) -> Option<usize> {
        if self.part == MaskedPart::AfterStart {
            return Some(found);
        }
        if is_free(found) {
            return Some(found);
        }
        // `sk_live_` and `rk_live_` share a start; `.atlasv1.` follows an identifier.
        let before = found.checked_sub(1)?;
        let is_stripe = self.starts.contains(&"k_live_") && matches!(bytes[before], b's' | b'r');
        let is_inside = self.starts[0].starts_with('.');
        if is_stripe && is_free(before) {
            Some(before)
        } else {
            is_inside.then(|| found - alphanumeric_before(&bytes[..found]))
        }
    }

    /// Whether a token that may contain signs consists of words and small numbers.
    fn is_words(&self, token: &[u8]) -> bool {
        let is_odd = |part: &[u8]| {
            let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
            part.len() >= MIN_ODD && digits > 0 && digits < part.len() || part.len() > MAX_WORD
        };
        let may_be = matches!(self.chars, Word | Dotted);
        may_be && !token.split(|byte| !byte.is_ascii_alphanumeric()).any(is_odd)
    }

    /// The end of the token after its start, if this is a token.
    fn end(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let rest = &bytes[from..];
        let look = &rest[..rest.len().min(MAX_LOOK)];
        let run = look.iter().take_while(|byte| self.chars.contain(**byte)).count();
        let token = &look[..run];
        if run < self.least || !is_random(token) || is_placeholder(token) || self.is_words(token) {
            return None;
        }
        if let Some(most) = self.most {
            let is_word = rest.get(most).is_some_and(u8::is_ascii_alphanumeric);
            return (run >= most && !is_word).then_some(from + most);
        }
        let length = run + rest[run..].iter().take_while(|byte| self.chars.contain(**byte)).count();
        // A dot at the end belongs to the sentence.
        let dots = rest[..length].iter().rev().take_while(|byte| matches!(byte, b'.' | b'/'));
        Some(from + length - dots.count())
    }
}

impl TokenChars {
    fn contain(self, byte: u8) -> bool {
        match self {
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Base64 => byte.is_ascii_alphanumeric() || b"_-+/=".contains(&byte),
            Self::Dotted => byte.is_ascii_alphanumeric() || b"_-.=".contains(&byte),
            Self::Path => byte.is_ascii_alphanumeric() || b"_-./@".contains(&byte),
        }
    }
}

/// The number of letters and digits at the end of these bytes, up to a limit.
fn alphanumeric_before(bytes: &[u8]) -> usize {
    bytes.iter().rev().take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// Whether a program made these characters up. Words have no digits, and few changes of case.
fn is_random(token: &[u8]) -> bool {
    let changes = token.windows(2).filter(|pair| {
        let [one, other] = [pair[0], pair[1]];
        one.is_ascii_alphabetic()
            && other.is_ascii_alphabetic()
            && one.is_ascii_uppercase() != other.is_ascii_uppercase()
    });
    token.iter().any(u8::is_ascii_digit) || changes.count() >= MIN_CASE_CHANGES
}

#[cfg(test)]
mod tests {
    use crate::redact::Secrets;

    use super::*;

    #[test]
    fn every_row_masks_its_token_and_no_words() {
        let secrets = Secrets::default();
        for vendor in VENDORS {
            for start in vendor.starts {
                let length = vendor.most.unwrap_or(vendor.least + 7);
                let piece = if vendor.chars == Upper { "A1B2" } else { "a1c2" };
                let token = format!("{start}{}", &piece.repeat(40)[..length]);
                let masked = secrets.mask(&token).into_owned();
                assert!(masked.ends_with("********"), "{}: {masked}", vendor.name);
                assert_eq!(masked.len(), token.len());
                for text in [format!("{start}a-few-words"), format!("{start}{}", "x".repeat(48))] {
                    assert_eq!(secrets.mask(&text), text, "{}", vendor.name);
                }
            }
        }
    }

    #[test]
    fn few_starts_are_short() {
        let starts = VENDORS.iter().flat_map(|vendor| vendor.starts);
        let short: Vec<_> = starts.filter(|start| start.len() < 4).collect();
        assert!(short.len() <= 6 && short.iter().all(|start| start.len() == 3), "{short:?}");
    }
}
