//! Masking of a stream that arrives in chunks of any size.
//!
//! Matches never span lines, except key blocks and entries. Whole lines are passed on at once, and the last, incomplete line is
//! held back. A line that is too long to hold back is passed on in segments, cut between matches.
//! The cuts depend on the line only, not on the chunks.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem, memrchr};

use super::entries::EntryName;
use super::escapes::{end_of_escape_around, is_inside_character, is_sign};
use super::find::{MatchSource, SecretMatch, SecretMatches};
use super::json::{JsonText, JsonWalker, NamePolicy, TextKind, is_json};
use super::key_block::KeyBlock;
use super::{Secrets, cover};

/// The maximum number of bytes held back of a line, and the length of a segment of a longer one.
pub(super) const HOLD: usize = 256 << 10;
/// The part of a long line that shows whether it is JSON. Invalid JSON after it counts as text.
const JSON_LOOK: usize = 16 << 10;
/// The part of a segment that is processed again with the next one. It is longer than any match.
const KEEP: usize = 8 << 10;
/// The number of bytes kept before the current position, to recognize escapes. It is even, so that
/// pairs in a long run of backslashes stay pairs.
const CONTEXT: usize = 256;

/// The JSON encoding of a line ending in a string.
const NEWLINE: &[u8] = br"\n";

/// Masks the secrets in a stream.
#[derive(Debug)]
pub struct StreamMasker {
    secrets: Secrets,
    names: NamePolicy,
    /// The incomplete last line, after some bytes that were already passed on.
    held: Vec<u8>,
    /// The number of those bytes.
    context: usize,
    block: KeyBlock,
    /// The name of an entry at the end of the previous line.
    entry: Option<EntryName>,
    /// The state of a line that is passed on in segments.
    long: Option<LongLine>,
}

/// A line that is passed on in segments.
#[derive(Debug)]
struct LongLine {
    /// The position in the line, if it is JSON.
    json: Option<JsonWalker>,
    /// Whether an overlong match was cut: the following bytes belong to it.
    continues: Option<MatchSource>,
}

impl StreamMasker {
    /// Creates a masker for a stream of text. In lines of JSON, names and strings are masked.
    pub fn new(secrets: Secrets) -> Self {
        Self::with(secrets, NamePolicy::Masked)
    }

    /// Creates a masker for a program's stream of JSON lines. Names stay, because readers depend on
    /// them; names in the arguments of tools are masked.
    pub fn of_json(secrets: Secrets) -> Self {
        Self::with(secrets, NamePolicy::Spared)
    }

    fn with(secrets: Secrets, names: NamePolicy) -> Self {
        let block = KeyBlock::default();
        Self { secrets, names, held: Vec::new(), context: 0, block, entry: None, long: None }
    }

    /// Processes a chunk and passes on everything that is certain. Parts without secrets are not
    /// copied.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8])) {
        let mut chunk = chunk;
        if !self.held.is_empty() {
            let newline = memchr(b'\n', chunk);
            let end = newline.map_or(chunk.len(), |at| at + 1);
            self.held.extend_from_slice(&chunk[..end]);
            chunk = &chunk[end..];
            self.held(newline.is_some(), &mut each);
        }
        let line = memrchr(b'\n', chunk).map_or(0, |at| at + 1);
        if line > 0 {
            self.lines(&chunk[..line], &mut each);
        }
        if line < chunk.len() {
            self.held.extend_from_slice(&chunk[line..]);
            self.held(false, &mut each);
        }
    }

    /// Whether nothing is held back or continues: the next byte starts a line, which is masked on
    /// its own.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.long.is_none() && !self.continues()
    }

    /// Whether the previous line affects the next one.
    fn continues(&self) -> bool {
        self.block.is_open() || self.entry.is_some()
    }

    /// The number of bytes held back.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        let json = self.long.as_ref().and_then(|long| long.json.as_ref());
        self.held.capacity() + json.map_or(0, JsonWalker::memory)
    }

    /// Passes on the rest at the end of the stream.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.held.is_empty() {
            self.held(true, &mut each);
        }
    }

    /// Passes on the part of the last line that is certain.
    fn held(&mut self, has_ended: bool, each: &mut impl FnMut(&[u8])) {
        let is_long = self.held.len() - self.context > HOLD;
        if !has_ended && !is_long {
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        if is_long || self.long.is_some() {
            let gone = self.long(&held, self.context, has_ended, each);
            let begin = gone.saturating_sub(CONTEXT);
            held.drain(..begin);
            self.context = gone - begin;
        } else {
            self.lines(&held, each);
        }
        if has_ended {
            held.clear();
            self.context = 0;
        }
        // Reuse the buffer.
        self.held = held;
    }

    /// Masks and passes on whole lines.
    fn lines(&mut self, window: &[u8], each: &mut impl FnMut(&[u8])) {
        let found = self.secrets.finder.find(window, 0);
        // The user's patterns may match decoded strings that the raw line does not show.
        let is_asked = self.secrets.finder.has_extra();
        if found.is_empty() && !self.continues() && !is_asked {
            return each(window);
        }
        let mut spans = Vec::new();
        let (mut start, mut gone) = (0, 0);
        let ends = memchr_iter(b'\n', window).map(|at| at + 1).chain([window.len()]);
        for end in ends {
            let line = start..end;
            start = end;
            let part = found.within(&line);
            if line.is_empty() || (part.is_empty() && !self.continues() && !is_asked) {
                continue;
            }
            if line.len() > HOLD {
                emit(window, gone..line.start, std::mem::take(&mut spans), each);
                self.long(&window[line], 0, true, each);
                gone = end;
            } else {
                self.line(window, line, &part, &mut spans);
            }
        }
        emit(window, gone..window.len(), spans, each);
    }

    /// The spans to mask in one line.
    fn line(
        &mut self,
        window: &[u8],
        line: Range<usize>,
        found: &SecretMatches,
        spans: &mut Vec<Range<usize>>,
    ) {
        let entry = self.entry.take();
        if !is_json(&window[line.clone()]) {
            self.entry = found.entries.last().map(|(_, entry)| *entry);
            spans.extend(entry.and_then(|entry| entry.value_in(window, line.clone())));
            spans.extend(self.secrets.finder.in_plain(window, &line, &found.hits));
            return self.block.spans(window, line, &found.key_blocks, spans);
        }
        self.block.close();
        let texts = texts(&mut JsonWalker::new(self.names), window, line, true);
        let hits = self.secrets.finder.in_texts(window, &found.hits, &texts);
        spans.extend(hits.into_iter().map(|hit| hit.span));
        for text in texts {
            self.block.spans(window, text.at, &found.key_blocks, spans);
            self.block.close();
        }
    }

    /// Passes on a long line from `from` on, as far as it is certain; returns the end of that part.
    fn long(
        &mut self,
        line: &[u8],
        from: usize,
        has_ended: bool,
        each: &mut impl FnMut(&[u8]),
    ) -> usize {
        self.entry = None;
        let mut from = from;
        while line.len() - from > HOLD {
            let begin = from.saturating_sub(CONTEXT);
            from = begin + self.segment(&line[begin..from + HOLD], from - begin, false, each);
        }
        if has_ended {
            let begin = from.saturating_sub(CONTEXT);
            self.segment(&line[begin..], from - begin, true, each);
            self.long = None;
            from = line.len();
        }
        from
    }

    /// Passes on a segment from `from` on; returns its end.
    fn segment(
        &mut self,
        window: &[u8],
        from: usize,
        is_last: bool,
        each: &mut impl FnMut(&[u8]),
    ) -> usize {
        let finder = &self.secrets.finder;
        let SecretMatches { mut hits, key_blocks, entries: _ } = finder.find(window, from);
        let mut long = self.long.take().unwrap_or_else(|| {
            let start = &window[from..window.len().min(from + JSON_LOOK)];
            let json = is_json(start).then(|| JsonWalker::new(self.names));
            if json.is_some() {
                self.block.close();
            }
            LongLine { json, continues: None }
        });
        let all = from..window.len();
        // One text to search, or many.
        let mut parts = vec![JsonText { at: all.clone(), kind: TextKind::Free }];
        let is_clean = hits.is_empty() && key_blocks.is_empty() && !finder.has_extra();
        if let Some(walker) = &long.json
            && (!is_clean || long.continues.is_some() || self.block.is_open())
        {
            parts = texts(&mut walker.clone(), window, all, is_last);
            hits = finder.in_texts(window, &hits, &parts);
        }
        hits.extend(long.rest(window, from, parts.first().map(|part| &part.at)));
        let mut to = window.len();
        long.continues = None;
        if !is_last {
            let mut latest = window.len() - KEEP;
            if long.json.is_some() && finder.has_extra() {
                latest = end_of_line(window, from + (window.len() - from) / 2..latest);
            }
            (to, long.continues) = cut(window, from, latest, &hits, &key_blocks);
        }
        let mut spans: Vec<_> = hits.into_iter().map(|hit| hit.span).collect();
        let begins: Vec<_> = key_blocks.into_iter().filter(|first| first.end <= to).collect();
        for part in parts.into_iter().map(|part| part.at).filter(|part| part.start < to) {
            let end = part.end.min(to);
            if long.json.is_some() && part.start > from {
                self.block.close();
            }
            self.block.spans(window, part.start..end, &begins, &mut spans);
            if long.json.is_some() && part.end < to {
                self.block.close();
            }
        }
        if let Some(walker) = &mut long.json {
            walker.walk(window, from..to, |_| {});
        }
        self.long = Some(long);
        emit(window, from..to, spans, each);
        to
    }
}

impl LongLine {
    /// The rest of a match that was cut, in the first part of this segment.
    fn rest(&self, window: &[u8], from: usize, part: Option<&Range<usize>>) -> Option<SecretMatch> {
        let part = part.filter(|part| part.start == from)?;
        let by = self.continues?;
        let span = match by {
            MatchSource::User if self.json.is_some() => from..first_line(window, part).end,
            MatchSource::User => part.clone(),
            MatchSource::Us => {
                let tokens = window[part.clone()].iter().take_while(|byte| is_token(**byte));
                from..from + tokens.count()
            }
        };
        Some(SecretMatch { whole: span.clone(), span, by })
    }
}

/// The strings of a line of JSON that may be masked. An unfinished name may be one.
fn texts(
    walker: &mut JsonWalker,
    window: &[u8],
    line: Range<usize>,
    is_last: bool,
) -> Vec<JsonText> {
    let mut texts = Vec::new();
    walker.walk(window, line.clone(), |text| texts.push(text));
    if is_last && walker.is_in_name() {
        let quote = memrchr(b'"', &window[line.clone()]);
        let at = quote.map_or(line.start, |at| line.start + at + 1)..line.end;
        texts.push(JsonText { at, kind: TextKind::Free });
    }
    texts
}

/// The end of the last complete line in this part of a JSON text, or of the part itself. A cut
/// there does not split matches of the user's patterns.
fn end_of_line(window: &[u8], part: Range<usize>) -> usize {
    let mut end = part.end;
    while let Some(at) = memmem::rfind(&window[part.start..end], NEWLINE) {
        end = part.start + at;
        if is_sign(window, end) {
            return end;
        }
    }
    part.end
}

/// The first line of a JSON text.
fn first_line(window: &[u8], text: &Range<usize>) -> Range<usize> {
    let mut ends = memmem::find_iter(&window[text.clone()], NEWLINE).map(|at| text.start + at);
    text.start..ends.find(|at| is_sign(window, *at)).unwrap_or(text.end)
}

/// The position at which a segment is cut: before its last bytes (`latest`), and between matches.
/// Also returns the source of an overlong match that is cut nevertheless.
fn cut(
    window: &[u8],
    from: usize,
    latest: usize,
    hits: &[SecretMatch],
    key_blocks: &[Range<usize>],
) -> (usize, Option<MatchSource>) {
    let wholes = hits.iter().flat_map(|hit| [hit.whole.clone(), hit.span.clone()]);
    let solid = merged(wholes.chain(key_blocks.iter().cloned()).collect());
    let oldest = from + (window.len() - from) / 2;
    let mut cut = latest;
    while cut > oldest {
        let before = cut;
        let next = solid.partition_point(|whole| whole.end <= cut);
        if let Some(whole) = solid.get(next)
            && whole.start < cut
        {
            cut = whole.start;
        }
        let ahead = &window[cut.saturating_sub(6)..cut];
        if let Some(at) = ahead.iter().position(|byte| matches!(byte, b'\\' | b'-' | b'%')) {
            cut = cut - ahead.len() + at;
        }
        while cut > oldest && is_inside_character(window[cut]) {
            cut -= 1;
        }
        if cut == before {
            return (cut, None);
        }
    }
    cut = end_of_escape_around(window, latest).unwrap_or(latest);
    while cut < window.len() && is_inside_character(window[cut]) {
        cut += 1;
    }
    let over =
        hits.iter().filter(|hit| hit.whole.start < cut && cut < hit.whole.end.max(hit.span.end));
    let by = over.map(|hit| hit.by).max_by_key(|by| *by == MatchSource::User);
    // A run of token characters that is no match yet may become one with the next bytes.
    (cut, by)
}

/// Sorts the spans and merges those that overlap.
fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

fn emit(
    window: &[u8],
    range: Range<usize>,
    mut spans: Vec<Range<usize>>,
    each: &mut impl FnMut(&[u8]),
) {
    if range.is_empty() {
        return;
    }
    let out = &window[range.clone()];
    spans.retain(|span| span.start < range.end && span.end > range.start);
    if spans.is_empty() {
        return each(out);
    }
    let mut masked = out.to_vec();
    for span in merged(spans) {
        let start = span.start.max(range.start) - range.start;
        cover(&mut masked, start..span.end.min(range.end) - range.start);
    }
    each(&masked);
}

/// Whether tokens may contain this byte.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~+/=%".contains(&byte)
}
