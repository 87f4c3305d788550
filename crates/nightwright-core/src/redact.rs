//! Redaction: masks secrets before anything is stored or shown.
//!
//! A secret is a known value, such as an environment variable, or a string in the format of a
//! secret. Secrets are searched for in raw bytes: in plain text, and in JSON, where a value has
//! many encodings and strings may contain JSON again. Every byte of a secret becomes a `*`, so that
//! positions stay the same: valid JSON stays valid, and a file keeps its length.
//!
//! ```text
//!   values   ──▶ encodings ──▶ needles ─┐  normalize: the same without colors
//!   patterns ──▶ token_formats ─────────┤
//!   vendors ────────────────────────────┼─▶ find: where in these bytes ─▶ stream: line by line
//!   names    ──▶ assignments, entries ──┤                                   │
//!   config   ──▶ read ──────────────────┘                                   │
//!                                      json: only in its strings, key_block: over many lines
//! ```
//!
//! In a line of JSON only strings are masked, never numbers or punctuation. In a program's own
//! lines member names stay as well, because readers depend on them.
//!
//! Matches never span lines, except private keys and the entries of lists of variables, which need
//! state.

mod assignments;
mod commands;
mod encodings;
mod entries;
mod escapes;
mod find;
mod json;
mod key_block;
mod names;
mod needles;
mod normalize;
mod parts;
mod patterns;
mod record;
mod starts;
mod stream;
#[cfg(test)]
mod tests;
mod token_formats;
mod user_patterns;
mod values;
mod vendors;
mod written_value;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

pub use record::{agrees, has_masks, masked_in};
pub use stream::StreamMasker;
pub(crate) use user_patterns::text_of;
pub use values::{is_secret_name, looks_random};

use encodings::encodings;
use find::Finder;
use needles::Needles;

/// The maximum size of a compiled pattern, in bytes.
const SIZE: usize = 64 << 20;

/// The secrets to mask: known values, and strings in the format of a secret. Cheap to clone.
///
/// The default knows the common formats and no values.
#[derive(Clone)]
pub struct Secrets {
    finder: Arc<Finder>,
}

impl Default for Secrets {
    fn default() -> Self {
        Self { finder: Arc::new(Finder::new(Needles::new([]), Vec::new())) }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Debug output must not contain the secrets.
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// A pattern that is invalid or too large. Nothing may be shown then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use pattern {}: {why}", index + 1)]
pub struct PatternError {
    /// The index of the pattern, from 0.
    pub index: usize,
    pub why: String,
}

impl Secrets {
    /// Masks these values, the common formats, and matches of the patterns. Values that would do
    /// more harm than good are ignored: short ones, numbers, and words of the agent's own stream.
    ///
    /// If a pattern has a group, only the match of the first group is masked.
    pub fn new<V: AsRef<[u8]>, P: AsRef<str>>(
        values: impl IntoIterator<Item = V>,
        patterns: impl IntoIterator<Item = P>,
    ) -> Result<Self, PatternError> {
        let extra = patterns
            .into_iter()
            .enumerate()
            .map(|(index, text)| pattern(text.as_ref()).map_err(|why| PatternError { index, why }))
            .collect::<Result<Vec<_>, _>>()?;
        let needles = Needles::new(encodings(&values::usable(values)));
        Ok(Self { finder: Arc::new(Finder::new(needles, extra)) })
    }

    /// Returns the known values and patterns without the common formats. A text is then masked only
    /// if its author knows a secret.
    #[must_use]
    pub fn without_forms(&self) -> Self {
        Self { finder: Arc::new(self.finder.without_forms()) }
    }

    /// Returns the text with every secret replaced by `*` of the same length. Borrowed if there is
    /// none.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.mask_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Only whole characters are masked; any invalid sequence left is replaced.
            Cow::Owned(masked) => Cow::Owned(match String::from_utf8(masked) {
                Ok(masked) => masked,
                Err(odd) => String::from_utf8_lossy(odd.as_bytes()).into_owned(),
            }),
        }
    }

    /// Returns the bytes with every secret replaced by `*` of the same length. Borrowed if there is
    /// none.
    pub fn mask_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.mask_by(StreamMasker::new, bytes)
    }

    /// Like `mask_bytes`, for lines of JSON from a program: member names stay.
    pub fn mask_lines_of_json<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.mask_by(StreamMasker::of_json, bytes)
    }

    fn mask_by<'a>(&self, masking: fn(Self) -> StreamMasker, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.are_in(bytes) {
            return Cow::Borrowed(bytes);
        }
        let mut masked = Vec::with_capacity(bytes.len());
        let mut masking = masking(self.clone());
        masking.push(bytes, |piece| masked.extend_from_slice(piece));
        masking.finish(|piece| masked.extend_from_slice(piece));
        if masked == bytes { Cow::Borrowed(bytes) } else { Cow::Owned(masked) }
    }

    /// Masks every secret in the strings of a JSON file, whatever its layout. Borrowed if there is
    /// none. Invalid JSON is masked as plain text.
    pub fn mask_json<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(bytes) else {
            return self.mask_bytes(bytes);
        };
        if !self.mask_value(&mut value) {
            return Cow::Borrowed(bytes);
        }
        // Serializing a parsed value cannot fail.
        serde_json::to_vec_pretty(&value).map_or_else(|_| self.mask_bytes(bytes), Cow::Owned)
    }

    /// Whether masking would change this text. A search for it in masked output would find nothing.
    pub fn hides(&self, text: &str) -> bool {
        matches!(self.mask(text), Cow::Owned(_))
    }

    /// The names of the common formats.
    pub fn forms() -> impl Iterator<Item = &'static str> {
        let contextual = patterns::PATTERNS.iter().map(|pattern| pattern.name);
        contextual.chain(vendors::VENDORS.iter().map(|vendor| vendor.name))
    }

    /// Whether these lines may contain something to mask.
    pub(crate) fn are_in(&self, lines: &[u8]) -> bool {
        // The user's patterns match decoded strings, so the raw lines are not enough.
        self.finder.has_extra() || !self.finder.find(lines, 0).is_empty()
    }
}

fn cover(bytes: &mut [u8], span: Range<usize>) {
    bytes[span].fill(b'*');
}

/// Compiles a pattern of the user.
fn pattern(text: &str) -> Result<Regex, String> {
    let regex = RegexBuilder::new(text).size_limit(SIZE).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The last line describes the mistake; the others show its position.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            last.trim_start_matches("error: ").to_owned()
        }
    })?;
    if regex.is_match(b"") {
        return Err("it matches the empty string".to_owned());
    }
    Ok(regex)
}
