//! Secrets, masked before anything is kept or shown.
//!
//! A secret is a value that is known (a variable of the environment, say) or something that has the
//! form of one. It is looked for in bytes as they come: in plain text, and in JSON, where the same
//! value may be written in many ways and may be text inside of text. Every byte of it becomes a
//! `*`, so that nothing moves: what was valid JSON still is, and a file keeps its length.
//!
//! ```text
//!   values ──▶ literal ─┐  normalize: the same without colours
//!   table  ──▶ tokens  ─┼─▶ find: where in these bytes ─▶ stream: line by line
//!   config ──▶ read    ─┘                                   │
//!                                    json: only in its texts, key_block: over many lines
//! ```
//!
//! In a line of JSON only texts are masked: never a number or a sign. Where the line is that of a
//! program its names stay as well, for whoever reads the line goes by them.
//!
//! Nothing that is looked for goes over the end of a line, but for a private key, which is a state.

mod escapes;
mod find;
mod json;
mod key_block;
mod literal;
mod normalize;
mod parts;
mod patterns;
mod read;
mod record;
mod stream;
#[cfg(test)]
mod tests;
mod token_formats;
mod values;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

pub(crate) use read::text_of;
pub use record::{agrees, has_masks, masked_in};
pub use stream::StreamMasker;
pub use values::{is_secret_name, looks_random};

use find::Finder;
use literal::Literals;

/// How large a compiled pattern may become.
const SIZE: usize = 64 << 20;

/// What is secret: values that are known, and what has the form of a secret. Cheap to copy.
///
/// The default knows the common forms and no values.
#[derive(Clone)]
pub struct Secrets {
    finder: Arc<Finder>,
}

impl Default for Secrets {
    fn default() -> Self {
        Self { finder: Arc::new(Finder::new(Literals::default(), Vec::new())) }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not what they are.
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// Why secrets cannot be looked for. Nothing may be shown then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedactionError {
    /// A pattern is wrong.
    #[error("pattern {} can't be used: {why}", index + 1)]
    Pattern {
        /// Which of those that were given, from 0.
        index: usize,
        /// What is wrong with it.
        why: String,
    },
    /// There are more values, or longer ones, than can be looked for.
    #[error("the values of secret variables cannot be looked for: {why}")]
    Values {
        /// What went wrong.
        why: String,
    },
}

impl Secrets {
    /// These values, the common forms, and what matches one of the patterns besides. Values that
    /// would do more harm than good are left out: short ones, numbers, and words that the agent's
    /// own stream is made of.
    ///
    /// Of a pattern with a group only what the first group matches is masked.
    pub fn new<V: AsRef<[u8]>, P: AsRef<str>>(
        values: impl IntoIterator<Item = V>,
        patterns: impl IntoIterator<Item = P>,
    ) -> Result<Self, RedactionError> {
        let extra = patterns
            .into_iter()
            .enumerate()
            .map(|(index, text)| {
                pattern(text.as_ref()).map_err(|why| RedactionError::Pattern { index, why })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let literals =
            Literals::new(&values::usable(values)).map_err(|why| RedactionError::Values { why })?;
        Ok(Self { finder: Arc::new(Finder::new(literals, extra)) })
    }

    /// The same values and patterns, and no forms: nobody who does not know a secret can write a
    /// text that is masked.
    #[must_use]
    pub fn without_forms(&self) -> Self {
        Self { finder: Arc::new(self.finder.without_forms()) }
    }

    /// The text with every secret masked by `*` of the same length. Borrowed when there is none.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.mask_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Only whole characters are masked; where that failed, what is odd is replaced.
            Cow::Owned(masked) => Cow::Owned(match String::from_utf8(masked) {
                Ok(masked) => masked,
                Err(odd) => String::from_utf8_lossy(odd.as_bytes()).into_owned(),
            }),
        }
    }

    /// The bytes with every secret masked by `*` of the same length. Borrowed when there is none.
    pub fn mask_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.mask_by(StreamMasker::new, bytes)
    }

    /// The same for lines of a program that are JSON: their names stay.
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

    /// A file of JSON, however it is laid out, with every secret masked in its texts. Borrowed when
    /// there is none. What is no JSON is masked as what it is.
    pub fn mask_json<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(bytes) else {
            return self.mask_bytes(bytes);
        };
        if !self.mask_value(&mut value) {
            return Cow::Borrowed(bytes);
        }
        // A value that was read can be written.
        serde_json::to_vec_pretty(&value).map_or_else(|_| self.mask_bytes(bytes), Cow::Owned)
    }

    /// Whether this text would not be the same after masking: then whoever waits for it in what
    /// is masked waits in vain.
    pub fn hides(&self, text: &str) -> bool {
        self.is_in(text)
    }

    /// What the common forms are called.
    pub fn forms() -> impl Iterator<Item = &'static str> {
        patterns::PATTERNS.iter().map(|pattern| pattern.name)
    }

    /// Whether there may be something to mask in these lines.
    pub(crate) fn are_in(&self, lines: &[u8]) -> bool {
        // What the user looks for is looked for in texts that have to be read first.
        self.finder.has_extra() || !self.finder.find(lines, 0).is_empty()
    }

    /// Whether there is a secret in it.
    pub fn is_in(&self, text: &str) -> bool {
        matches!(self.mask(text), Cow::Owned(_))
    }
}

fn cover(bytes: &mut [u8], span: Range<usize>) {
    bytes[span].fill(b'*');
}

/// Compiles a pattern of the user's.
fn pattern(text: &str) -> Result<Regex, String> {
    let regex = RegexBuilder::new(text).size_limit(SIZE).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The last line says what is wrong; the others draw where.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            last.trim_start_matches("error: ").to_owned()
        }
    })?;
    if regex.is_match(b"") {
        return Err("it matches where there is nothing".to_owned());
    }
    Ok(regex)
}
