//! Truncates long strings while a line of JSON is assembled, at their beginning or at their end.
//!
//! A tool that writes a file of five megabytes produces a line of ten. Most of it is in a few
//! strings, of which only the end is used, or the beginning for display. The removed part is
//! scanned once, to find the end of the string, and is neither stored nor decoded.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

/// The length of `\u00e4`.
const MAX_ESCAPE: usize = 6;

/// The mark at the end of a string that was cut there.
const MARK: &[u8] = "…".as_bytes();

/// The number of bytes, as written, that are kept of the strings in a line of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringLimits {
    /// Limits for the values of fields with these names.
    pub named: &'static [(&'static str, usize)],
    /// The limit for all other strings. A line of at most this length is left unchanged.
    pub others: usize,
}

/// Whether a string was cut at its end because it was longer than `most`: it has the length of a
/// cut string, and the mark. `raw` is the string as written, without quotes.
pub fn is_cut(raw: &str, most: usize) -> bool {
    // A cut may remove half of a character that takes two escapes.
    let shortest = (most + MARK.len()).saturating_sub(2 * MAX_ESCAPE);
    raw.len() >= shortest && raw.as_bytes().ends_with(MARK)
}

/// The part of a long string that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptEnd {
    Beginning,
    End,
}

/// Truncates the strings of one line.
#[derive(Debug)]
pub(super) struct StringTruncator {
    kept: StringLimits,
    side: KeptEnd,
    place: ScanState,
    /// The position of the previous string, without its quotes.
    last: Range<usize>,
}

/// The position of the scan in the line.
#[derive(Clone, Copy, Debug)]
enum ScanState {
    Between,
    /// In a string that begins here, after its quote.
    Inside {
        begin: usize,
        most: usize,
        next: NextByte,
    },
}

/// The role of the next byte of a string.
#[derive(Clone, Copy, Debug)]
enum NextByte {
    Anything,
    /// The byte belongs to the backslash before it.
    Escaped,
}

impl NextByte {
    /// The start of a character, or the end of an escape.
    fn begin(self) -> usize {
        match self {
            Self::Anything => 0,
            Self::Escaped => 1,
        }
    }
}

impl StringTruncator {
    /// The state at the start of a line.
    pub(super) fn new(kept: StringLimits, side: KeptEnd) -> Self {
        Self { kept, side, place: ScanState::Between, last: 0..0 }
    }

    /// Appends the kept part of the next bytes to the line.
    pub(super) fn push(&mut self, line: &mut Vec<u8>, more: &[u8]) {
        let mut rest = more;
        while !rest.is_empty() {
            rest = match self.place {
                ScanState::Between => self.between(line, rest),
                ScanState::Inside { begin, most, next } => {
                    self.inside(line, rest, begin, most, next)
                }
            };
        }
    }

    /// Consumes everything up to the next quote, and returns the rest.
    fn between<'a>(&mut self, line: &mut Vec<u8>, more: &'a [u8]) -> &'a [u8] {
        let Some(quote) = memchr(b'"', more) else {
            line.extend_from_slice(more);
            return &[];
        };
        let (taken, rest) = more.split_at(quote + 1);
        line.extend_from_slice(taken);
        self.place = ScanState::Inside {
            begin: line.len(),
            most: self.most(line),
            next: NextByte::Anything,
        };
        rest
    }

    /// Consumes the string up to its end, and returns the rest.
    fn inside<'a>(
        &mut self,
        line: &mut Vec<u8>,
        more: &'a [u8],
        begin: usize,
        most: usize,
        next: NextByte,
    ) -> &'a [u8] {
        let Some(quote) = end(more, next) else {
            match self.side {
                // The buffer grows to twice the kept size before it is cut, so that each byte moves
                // once.
                KeptEnd::End => {
                    add(line, begin, more, next, StringLimit { most, longest: most * 2 });
                }
                KeptEnd::Beginning => add_while_room(line, begin, more, most),
            }
            self.place = ScanState::Inside { begin, most, next: after(more, next) };
            return &[];
        };
        match self.side {
            KeptEnd::End => {
                add(line, begin, &more[..quote], next, StringLimit { most, longest: most });
            }
            KeptEnd::Beginning => {
                add_while_room(line, begin, &more[..quote], most);
                cut_end(line, begin, most);
            }
        }
        self.last = begin..line.len();
        self.place = ScanState::Between;
        line.push(b'"');
        &more[quote + 1..]
    }

    /// The limit for the string whose opening quote is the last byte of the line.
    fn most(&self, line: &[u8]) -> usize {
        let between = line.get(self.last.end + 1..line.len() - 1).unwrap_or_default();
        if between.trim_ascii() != b":" {
            return self.kept.others;
        }
        let name = &line[self.last.clone()];
        let named = self.kept.named.iter().find(|(known, _)| known.as_bytes() == name);
        named.map_or(self.kept.others, |(_, most)| *most)
    }
}

/// Finds the quote that ends a string. Quotes are rare, and other escapes are frequent: only the
/// backslashes before a quote are examined.
fn end(more: &[u8], next: NextByte) -> Option<usize> {
    let begin = next.begin();
    memchr_iter(b'"', more).find(|quote| *quote >= begin && !is_escaped(more, begin, *quote))
}

/// The role of the byte after these bytes of a string.
fn after(more: &[u8], next: NextByte) -> NextByte {
    if more.len() >= next.begin() && is_escaped(more, next.begin(), more.len()) {
        NextByte::Escaped
    } else {
        NextByte::Anything
    }
}

/// The limit for one string.
#[derive(Clone, Copy, Debug)]
struct StringLimit {
    /// The number of bytes kept of a longer string.
    most: usize,
    longest: usize,
}

/// Appends to the string at the end of the line, and cuts its beginning if it gets too long.
fn add(line: &mut Vec<u8>, begin: usize, more: &[u8], next: NextByte, room: StringLimit) {
    let StringLimit { most, longest } = room;
    if more.len() > most + MAX_ESCAPE {
        // These bytes contain all that is kept, and any escape at its start.
        let from = boundary(more, next.begin(), more.len() - most);
        line.truncate(begin);
        line.extend_from_slice(&more[from..]);
        return;
    }
    line.extend_from_slice(more);
    if line.len() - begin > longest {
        let from = boundary(line, begin, line.len() - most);
        line.drain(begin..from);
    }
}

/// Appends as much as fits to the string at the end of the line, and a little more, to find a place
/// to cut.
fn add_while_room(line: &mut Vec<u8>, begin: usize, more: &[u8], most: usize) {
    let room = (most + MAX_ESCAPE).saturating_sub(line.len() - begin);
    line.extend_from_slice(&more[..more.len().min(room)]);
}

/// Cuts the end of a string that is too long.
fn cut_end(line: &mut Vec<u8>, begin: usize, most: usize) {
    if line.len() - begin <= most {
        return;
    }
    let mut at = begin + most;
    for _ in 0..3 {
        at -= usize::from(at > begin && is_continuation(line[at]));
    }
    if let Some(escape) = escape_around(line, begin, at) {
        at = escape.start;
    }
    // The first half of a character that takes two escapes is invalid without the second.
    let is_half = line.get(at..at + 4).is_some_and(is_second_half);
    if is_half && at >= begin + MAX_ESCAPE && is_first_half(&line[at - MAX_ESCAPE..at]) {
        at -= MAX_ESCAPE;
    }
    line.truncate(at);
    line.extend_from_slice(MARK);
}

/// The first position from `at` on where a character of the string begins.
fn boundary(line: &[u8], begin: usize, mut at: usize) -> usize {
    // A character has at most three continuation bytes; a longer sequence is not a character.
    for _ in 0..3 {
        at += usize::from(line.get(at).is_some_and(|byte| is_continuation(*byte)));
    }
    if let Some(escape) = escape_around(line, begin, at) {
        at = escape.end;
    }
    // The second half of a character that takes two escapes is invalid without the first.
    while line.get(at..at + 4).is_some_and(is_second_half) {
        at = (at + MAX_ESCAPE).min(line.len());
    }
    at
}

/// The escape that begins before `at` and ends after it, if any.
fn escape_around(line: &[u8], begin: usize, at: usize) -> Option<Range<usize>> {
    (begin.max(at.saturating_sub(MAX_ESCAPE - 1))..at)
        .filter(|start| line[*start] == b'\\' && !is_escaped(line, begin, *start))
        .map(|start| {
            let length = if line.get(start + 1) == Some(&b'u') { MAX_ESCAPE } else { 2 };
            start..(start + length).min(line.len())
        })
        .find(|escape| escape.end > at)
}

/// Whether the byte at `at` is escaped: an odd number of backslashes precedes it.
fn is_escaped(line: &[u8], begin: usize, at: usize) -> bool {
    let before = line[begin..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    !before.is_multiple_of(2)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Whether the escape is in `\ud800` to `\udbff`.
fn is_first_half(escape: &[u8]) -> bool {
    matches!(escape, [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..])
}

/// Whether the escape is in `\udc00` to `\udfff`.
fn is_second_half(escape: &[u8]) -> bool {
    matches!(escape, [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    const KEPT: StringLimits = StringLimits { named: &[("words", 30)], others: 12 };

    /// The line after it arrived in chunks of this size.
    fn cut(line: &[u8], chunk: usize) -> Vec<u8> {
        cut_to(KeptEnd::End, line, chunk)
    }

    fn cut_to(side: KeptEnd, line: &[u8], chunk: usize) -> Vec<u8> {
        let mut strings = StringTruncator::new(KEPT, side);
        let mut kept = Vec::new();
        for chunk in line.chunks(chunk) {
            strings.push(&mut kept, chunk);
        }
        kept
    }

    /// Whether both are equal except for the beginnings of long strings.
    fn is_cut_of(cut: &Value, whole: &Value) -> bool {
        are_alike(cut, whole, &|cut, whole| whole.ends_with(cut))
    }

    /// Whether both are equal except for the ends of long strings.
    fn is_beginning_of(cut: &Value, whole: &Value) -> bool {
        are_alike(cut, whole, &|cut, whole| {
            cut == whole || whole.starts_with(cut.strip_suffix('…').unwrap_or(cut))
        })
    }

    fn are_alike(cut: &Value, whole: &Value, texts: &impl Fn(&str, &str) -> bool) -> bool {
        match (cut, whole) {
            (Value::String(cut), Value::String(whole)) => texts(cut, whole),
            (Value::Array(cut), Value::Array(whole)) => {
                cut.len() == whole.len()
                    && cut.iter().zip(whole).all(|(cut, whole)| are_alike(cut, whole, texts))
            }
            (Value::Object(cut), Value::Object(whole)) => {
                cut.len() == whole.len()
                    && whole.iter().all(|(name, whole)| are_alike(&cut[name], whole, texts))
            }
            (_, _) => cut == whole,
        }
    }

    #[test]
    fn only_the_beginnings_of_long_strings_go() {
        let line = br#"{"type":"user","a":"0123456789abcdef","b":[1,"0123456789ab"],"c":"x"}"#;
        let kept = br#"{"type":"user","a":"456789abcdef","b":[1,"0123456789ab"],"c":"x"}"#;
        for chunk in [1, 2, 7, 100] {
            assert_eq!(cut(line, chunk), kept, "chunks of {chunk}");
        }
    }

    #[test]
    fn only_the_ends_of_long_strings_go_where_beginnings_are_wanted() {
        let line = br#"{"type":"user","a":"0123456789abcdef","b":[1,"0123456789ab"],"c":"x"}"#;
        let kept = r#"{"type":"user","a":"0123456789ab…","b":[1,"0123456789ab"],"c":"x"}"#;
        for chunk in [1, 2, 7, 100] {
            let cut = String::from_utf8(cut_to(KeptEnd::Beginning, line, chunk)).unwrap();
            assert_eq!(cut, kept, "chunks of {chunk}");
        }
    }

    #[test]
    fn truncated_texts_are_recognized() {
        let cut_at = |text: &str| {
            let line = format!(r#"{{"type":"user","words":"{text}"}}"#);
            let cut = String::from_utf8(cut_to(KeptEnd::Beginning, line.as_bytes(), 7)).unwrap();
            let raw = cut.strip_prefix(r#"{"type":"user","words":""#).unwrap();
            is_cut(raw.strip_suffix(r#""}"#).unwrap(), 30)
        };
        let whole = ["", "…", "short…", "012345678901234567890123456789", "ä…"];
        for text in whole {
            assert!(!cut_at(text), "{text}");
        }
        let long = [
            "x".repeat(31),
            "ä".repeat(16),
            r"\u00e4".repeat(6),
            format!("{}{}", "x".repeat(20), r"\ud83d\ude00".repeat(2)),
        ];
        for text in long {
            assert!(cut_at(&text), "{text}");
        }
    }

    #[test]
    fn more_is_kept_of_the_fields_that_were_named() {
        for (line, kept) in [
            (r#"{"words":"0123456789abcdef"}"#, r#"{"words":"0123456789abcdef"}"#),
            (r#"{"words" : "0123456789abcdef"}"#, r#"{"words" : "0123456789abcdef"}"#),
            (r#"["words","0123456789abcdef"]"#, r#"["words","456789abcdef"]"#),
            (r#"{"words":["0123456789abcdef"]}"#, r#"{"words":["456789abcdef"]}"#),
            (r#"{"swords":"0123456789abcdef"}"#, r#"{"swords":"456789abcdef"}"#),
        ] {
            for chunk in [1, 4, 100] {
                let cut = String::from_utf8(cut(line.as_bytes(), chunk)).unwrap();
                assert_eq!(cut, kept, "{line} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn nothing_is_cut_in_the_middle_of_a_character() {
        for text in [
            r"aaaaaaaaaa\n\n\n\n\n\n\n",
            r"aaaaaaaaa\u00e4\u00e4\u00e4",
            r"aaaaaaa\ud83d\ude00\ud83d\ude00",
            r"\\\\\\\\\\\\\\\\\\\\\\\\\u0041",
            r"aaaaaaaaaaaaäöüäöüäöü",
            "\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}",
        ] {
            for more in 0..12 {
                let line = format!("[\"{text}{}\"]", "z".repeat(more));
                let whole: Value = serde_json::from_str(&line).unwrap();
                let once = cut(line.as_bytes(), line.len());
                let read: Value = serde_json::from_slice(&once).unwrap();
                assert!(is_cut_of(&read, &whole), "{line} became {read}");
                let begins = cut_to(KeptEnd::Beginning, line.as_bytes(), line.len());
                let read: Value = serde_json::from_slice(&begins).unwrap();
                assert!(is_beginning_of(&read, &whole), "{line} became {read}");
                for chunk in [1, 2, 3, 5] {
                    assert_eq!(cut(line.as_bytes(), chunk), once, "{line} in chunks of {chunk}");
                    let other = cut_to(KeptEnd::Beginning, line.as_bytes(), chunk);
                    assert_eq!(other, begins, "{line} in chunks of {chunk}");
                }
            }
        }
    }

    #[test]
    fn truncated_text_is_not_kept_in_memory() {
        for side in [KeptEnd::Beginning, KeptEnd::End] {
            let mut strings = StringTruncator::new(KEPT, side);
            let mut line = Vec::new();
            strings.push(&mut line, b"[\"");
            for _ in 0..1000 {
                strings.push(&mut line, b"0123456789");
                assert!(line.len() <= 2 + 2 * KEPT.others, "{}", line.len());
            }
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let text = r#"([a-c"\\/\n\tä€]|\PC){0,40}"#;
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<u32>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            let name = prop_oneof![Just("words".to_owned()), "[a-z]{0,6}"];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::hash_map(name, inner, 0..6)
                    .prop_map(|members| members.into_iter().collect::<Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_line_is_the_same_but_for_what_was_cut(whole in any_json(), chunk in 1_usize..40) {
            let line = whole.to_string();
            let cut_line = cut(line.as_bytes(), chunk);
            prop_assert_eq!(&cut_line, &cut(line.as_bytes(), line.len()));
            let read: Value = serde_json::from_slice(&cut_line).unwrap();
            prop_assert!(is_cut_of(&read, &whole), "{} became {}", line, read);
            let begins = cut_to(KeptEnd::Beginning, line.as_bytes(), chunk);
            prop_assert_eq!(&begins, &cut_to(KeptEnd::Beginning, line.as_bytes(), line.len()));
            let read: Value = serde_json::from_slice(&begins).unwrap();
            prop_assert!(is_beginning_of(&read, &whole), "{} became {}", line, read);
        }

        #[test]
        fn invalid_json_does_no_harm(
            line in proptest::collection::vec(
                prop_oneof![Just(b'"'), Just(b'\\'), Just(b'u'), any::<u8>()], 0..200),
            chunk in 1_usize..40,
        ) {
            prop_assert!(cut(&line, chunk).len() <= line.len());
            cut_to(KeptEnd::Beginning, &line, chunk);
        }
    }
}
