//! Search for secrets in bytes: values, formats and the user's patterns.

use std::ops::Range;
use std::sync::Arc;

use regex::bytes::Regex;
use serde::de::IgnoredAny;

use super::entries::EntryName;
use super::escapes::keep_whole;
use super::json::{JsonText, TextKind};
use super::needles::Needles;
use super::normalize::{has_written_escape, normalized_lines};
use super::patterns::MatchRule;
use super::token_formats::{TokenMatch, find_tokens};
use super::user_patterns::LEVELS;

/// All values and patterns to search for.
pub(super) struct Finder {
    needles: Arc<Needles>,
    extra: Vec<Regex>,
    forms: FormMatching,
}

/// Whether strings in the format of a secret are masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormMatching {
    Count,
    DoNot,
}

/// A secret that was found.
#[derive(Clone, Debug)]
pub(super) struct SecretMatch {
    /// The whole match with its context, which must not be split.
    pub(super) whole: Range<usize>,
    /// The part of the match that is secret.
    pub(super) span: Range<usize>,
    pub(super) by: MatchSource,
}

/// The source of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchSource {
    /// A known value, or a common format.
    Us,
    /// A pattern of the user, which may match anything.
    User,
}

/// The matches in a range of bytes.
#[derive(Debug, Default)]
pub(super) struct SecretMatches {
    /// All matches in order; they may overlap.
    pub(super) hits: Vec<SecretMatch>,
    /// The first lines of private key blocks; a block starts after each.
    pub(super) key_blocks: Vec<Range<usize>>,
    /// The names at the ends of lines whose values may follow in the next line.
    pub(super) entries: Vec<(Range<usize>, EntryName)>,
}

impl SecretMatches {
    pub(super) fn is_empty(&self) -> bool {
        self.hits.is_empty() && self.key_blocks.is_empty() && self.entries.is_empty()
    }

    /// The matches that start in this range.
    pub(super) fn within(&self, range: &Range<usize>) -> Self {
        let first = self.hits.partition_point(|hit| hit.span.start < range.start);
        let hits = self.hits[first..].iter().take_while(|hit| hit.span.start < range.end);
        let first = self.key_blocks.partition_point(|block| block.start < range.start);
        let blocks = self.key_blocks[first..].iter().take_while(|block| block.start < range.end);
        let first = self.entries.partition_point(|(name, _)| name.start < range.start);
        let entries = self.entries[first..].iter().take_while(|(name, _)| name.start < range.end);
        Self {
            hits: hits.cloned().collect(),
            key_blocks: blocks.cloned().collect(),
            entries: entries.cloned().collect(),
        }
    }
}

impl Finder {
    pub(super) fn new(needles: Needles, extra: Vec<Regex>) -> Self {
        Self { needles: Arc::new(needles), extra, forms: FormMatching::Count }
    }

    pub(super) fn without_forms(&self) -> Self {
        let Self { needles, extra, forms: _ } = self;
        Self { needles: Arc::clone(needles), extra: extra.clone(), forms: FormMatching::DoNot }
    }

    /// Whether the user has configured patterns.
    pub(super) fn has_extra(&self) -> bool {
        !self.extra.is_empty()
    }

    /// Searches from `from` on; the bytes before it only help to recognize escapes.
    pub(super) fn find(&self, bytes: &[u8], from: usize) -> SecretMatches {
        let mut found = SecretMatches::default();
        let has_escape = self.search(bytes, from, |_| false, &mut found);
        normalized_lines(bytes, from, has_escape, |normalized| {
            let mut hidden = SecretMatches::default();
            self.search(&normalized.bytes, 0, |at| normalized.is_seam(at), &mut hidden);
            found.hits.extend(hidden.hits.iter().map(|hit| normalized.original(hit)));
            found.key_blocks.extend(hidden.key_blocks.iter().map(|whole| normalized.origin(whole)));
            let names = hidden.entries.iter();
            found.entries.extend(names.map(|(name, entry)| (normalized.origin(name), *entry)));
        });
        for hit in &mut found.hits {
            hit.span = keep_whole(bytes, hit.span.clone());
        }
        found.hits.retain(|hit| !hit.span.is_empty());
        found.hits.sort_by_key(|hit| hit.span.start);
        found.key_blocks.sort_by_key(|whole| whole.end);
        found.entries.sort_by_key(|(name, _)| name.start);
        found
    }

    /// Adds all matches. Returns whether the bytes contain a written escape character.
    fn search(
        &self,
        bytes: &[u8],
        from: usize,
        seam: impl Fn(usize) -> bool,
        found: &mut SecretMatches,
    ) -> bool {
        let SecretMatches { hits, key_blocks, entries } = found;
        self.needles.find(bytes, from, |span| {
            hits.push(SecretMatch { whole: span.clone(), span, by: MatchSource::Us });
        });
        let has_escape = if self.forms == FormMatching::Count {
            let entry = |name, entry| entries.push((name, entry));
            let each = |form: TokenMatch| match form.proof {
                MatchRule::KeyBlock => key_blocks.push(form.whole),
                MatchRule::Form
                | MatchRule::MadeUp
                | MatchRule::Digit
                | MatchRule::Scheme
                | MatchRule::Random
                | MatchRule::Address => {
                    hits.push(SecretMatch {
                        whole: form.whole,
                        span: form.span,
                        by: MatchSource::Us,
                    });
                }
            };
            find_tokens(bytes, from, seam, each, entry)
        } else {
            has_written_escape(&bytes[from..])
        };
        if self.has_extra() {
            self.wanted_in_lines(bytes, from, hits);
        }
        has_escape
    }

    /// Adds the matches of the user's patterns in a line.
    pub(super) fn wanted(&self, bytes: &[u8], range: Range<usize>, hits: &mut Vec<SecretMatch>) {
        let text = &bytes[range.clone()];
        let moved = |place: Range<usize>| place.start + range.start..place.end + range.start;
        for regex in &self.extra {
            // Capturing groups is slow, and most patterns have none.
            if regex.captures_len() == 1 || !regex.is_match(text) {
                let each = regex.find_iter(text).map(|found| moved(found.range()));
                hits.extend(each.map(|span| SecretMatch {
                    whole: span.clone(),
                    span,
                    by: MatchSource::User,
                }));
                continue;
            }
            for captures in regex.captures_iter(text) {
                let whole = captures.get(0).map_or(0..0, |whole| whole.range());
                let group = (1..captures.len()).find_map(|number| captures.get(number));
                let span = group.map_or(whole.clone(), |group| group.range());
                hits.push(SecretMatch {
                    whole: moved(whole),
                    span: moved(span),
                    by: MatchSource::User,
                });
            }
        }
    }

    /// The spans to mask in plain text.
    pub(super) fn in_plain(
        &self,
        bytes: &[u8],
        line: &Range<usize>,
        hits: &[SecretMatch],
    ) -> Vec<Range<usize>> {
        let mut room = line.clone();
        // The line may be a single JSON text: its quotes stay.
        let text = bytes[line.clone()].trim_ascii_end();
        if text.len() > 1 && text.starts_with(b"\"") && text.ends_with(b"\"") {
            room = line.start + 1..line.start + text.len() - 1;
            if self.has_extra() && serde_json::from_slice::<IgnoredAny>(text).is_ok() {
                let text = JsonText { at: room, kind: TextKind::Free };
                let inside = self.in_texts(bytes, hits, &[text]);
                return inside.into_iter().map(|hit| hit.span).collect();
            }
        }
        hits.iter().filter_map(|hit| common_part(&hit.span, &room)).collect()
    }

    /// The spans to mask in a line of JSON, all inside these strings. The user's patterns match the
    /// decoded strings, not their JSON encoding, and not the words of the program.
    pub(super) fn in_texts(
        &self,
        bytes: &[u8],
        hits: &[SecretMatch],
        texts: &[JsonText],
    ) -> Vec<SecretMatch> {
        let mut inside = Vec::new();
        for hit in hits.iter().filter(|hit| hit.by == MatchSource::Us) {
            let first = texts.partition_point(|text| text.at.end <= hit.span.start);
            for text in texts[first..].iter().take_while(|text| text.at.start < hit.span.end) {
                let span = common_part(&hit.span, &text.at);
                inside.extend(span.map(|span| SecretMatch { span, ..hit.clone() }));
            }
        }
        if self.has_extra() {
            for text in texts.iter().filter(|text| text.kind == TextKind::Free) {
                inside.extend(self.wanted_in_text(bytes, text.at.clone(), LEVELS));
            }
        }
        inside
    }
}

fn common_part(a: &Range<usize>, b: &Range<usize>) -> Option<Range<usize>> {
    let part = a.start.max(b.start)..a.end.min(b.end);
    (!part.is_empty()).then_some(part)
}
