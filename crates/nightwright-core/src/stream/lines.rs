//! Line splitting: from chunks of bytes to lines.
//!
//! A line within one chunk is passed on without a copy. Only a line that spans chunks is assembled,
//! in a reused buffer. Lines of ten megabytes occur, so the buffer may grow up to a limit; it
//! releases its memory after a huge line. Long strings in a line of JSON are truncated to their
//! ends, or on request to their beginnings.

mod truncate;

use memchr::memchr;

use truncate::{KeptEnd, StringTruncator};
pub use truncate::{StringLimits, is_cut};

/// The maximum length of a line in bytes. A longer line is dropped as a whole.
pub const MAX_LINE: usize = 24 << 20;

/// The capacity that the buffer keeps from one line to the next, and starts with. The system maps
/// blocks of this size separately, so they grow and shrink without a copy or fragmentation.
const KEPT_CAPACITY: usize = 256 << 10;

/// One line without its line ending, or the length of a dropped one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamLine<'a> {
    /// The content of the line.
    Whole(&'a [u8]),
    /// The line exceeded the limit and was dropped.
    TooLong {
        /// The length of the line.
        bytes: u64,
    },
}

/// Assembles lines from chunks of any size. Blank lines are skipped.
#[derive(Debug)]
pub struct LineSplitter {
    /// The stored part of the current line.
    buffer: Vec<u8>,
    /// Space for the start of a line that turns out to be long.
    beginning: Vec<u8>,
    state: LineState,
    limit: usize,
    /// The maximum stored length of a line after its strings are cut.
    held: usize,
    /// The limits for strings; `None` to keep them whole.
    strings: Option<StringLimits>,
    side: KeptEnd,
    blank: BlankLines,
}

/// The treatment of blank lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlankLines {
    Dropped,
    /// Blank lines separate the paragraphs of a string.
    HandedOut,
}

/// The treatment of the current line.
#[derive(Debug)]
enum LineState {
    /// The line is stored unchanged.
    Collecting,
    /// The line is stored with long strings cut. `bytes` of it have arrived.
    Cutting { strings: StringTruncator, bytes: usize },
    /// The line exceeds the limit: its bytes are only counted.
    Dropping { bytes: u64 },
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::with_limit(MAX_LINE)
    }
}

impl LineSplitter {
    /// Splits lines of at most this many bytes.
    pub fn with_limit(limit: usize) -> Self {
        let buffer = Vec::with_capacity(KEPT_CAPACITY.min(limit));
        Self {
            buffer,
            beginning: Vec::new(),
            state: LineState::Collecting,
            limit,
            held: limit,
            strings: None,
            side: KeptEnd::End,
            blank: BlankLines::Dropped,
        }
    }

    /// For lines of plain text, in which blank lines are significant.
    #[must_use]
    pub fn of_text(self) -> Self {
        Self { blank: BlankLines::HandedOut, ..self }
    }

    /// For lines of JSON, whose long strings are truncated to their ends.
    #[must_use]
    pub fn of_json(self, strings: StringLimits) -> Self {
        Self { strings: Some(strings), side: KeptEnd::End, ..self }
    }

    /// For lines of JSON, whose long strings are truncated to their beginnings. A line that is
    /// still longer than `held` is dropped.
    #[must_use]
    pub fn of_json_beginnings(self, strings: StringLimits, held: usize) -> Self {
        Self { strings: Some(strings), side: KeptEnd::Beginning, held, ..self }
    }

    /// Takes a chunk, and passes on every line that it completes.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(StreamLine<'_>)) {
        let mut rest = chunk;
        while let Some(end) = memchr(b'\n', rest) {
            self.complete(&rest[..end], &mut each);
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    /// Passes on a last line without a line ending.
    pub fn finish(&mut self, mut each: impl FnMut(StreamLine<'_>)) {
        if !self.is_new() {
            self.complete(&[], &mut each);
        }
    }

    /// Whether nothing of the current line has arrived.
    fn is_new(&self) -> bool {
        matches!(self.state, LineState::Collecting) && self.buffer.is_empty()
    }

    /// Ends the current line with `tail`.
    fn complete(&mut self, tail: &[u8], each: &mut impl FnMut(StreamLine<'_>)) {
        if self.is_new() && tail.len() <= self.limit && self.cut_of(tail.len()).is_none() {
            self.hand_out(tail, each);
            return;
        }
        self.keep(tail);
        match self.state {
            LineState::Collecting | LineState::Cutting { .. } => self.hand_out(&self.buffer, each),
            LineState::Dropping { bytes } => each(StreamLine::TooLong { bytes }),
        }
        self.state = LineState::Collecting;
        self.reset();
    }

    /// Stores more of the current line.
    fn keep(&mut self, more: &[u8]) {
        let bytes = match &mut self.state {
            LineState::Collecting => self.buffer.len() + more.len(),
            LineState::Cutting { bytes, .. } => *bytes + more.len(),
            LineState::Dropping { bytes } => {
                *bytes += more.len() as u64;
                return;
            }
        };
        if bytes > self.limit {
            self.state = LineState::Dropping { bytes: bytes as u64 };
            self.reset();
            return;
        }
        if let (LineState::Collecting, Some(kept)) = (&self.state, self.cut_of(bytes)) {
            self.begin_to_cut(kept);
        }
        grow(&mut self.buffer, more.len(), self.limit);
        match &mut self.state {
            LineState::Cutting { strings, bytes: so_far } => {
                strings.push(&mut self.buffer, more);
                *so_far = bytes;
            }
            LineState::Collecting | LineState::Dropping { .. } => {
                self.buffer.extend_from_slice(more);
            }
        }
        if self.buffer.len() > self.held {
            self.state = LineState::Dropping { bytes: bytes as u64 };
            self.reset();
        }
    }

    /// The string limits for a line of this length, if it is to be cut.
    fn cut_of(&self, bytes: usize) -> Option<StringLimits> {
        self.strings.filter(|kept| bytes > kept.others)
    }

    /// Starts to cut the current line, which turned out to be long, including the part already
    /// stored.
    fn begin_to_cut(&mut self, kept: StringLimits) {
        let mut strings = StringTruncator::new(kept, self.side);
        self.beginning.extend_from_slice(&self.buffer);
        self.buffer.clear();
        strings.push(&mut self.buffer, &self.beginning);
        let bytes = self.beginning.len();
        self.beginning.clear();
        self.state = LineState::Cutting { strings, bytes };
    }

    fn hand_out(&self, line: &[u8], each: &mut impl FnMut(StreamLine<'_>)) {
        if self.blank == BlankLines::HandedOut || !line.trim_ascii().is_empty() {
            each(StreamLine::Whole(line));
        }
    }

    /// Forgets the current line, and releases the memory that only it needed.
    fn reset(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_CAPACITY);
    }
}

/// Reserves space by doubling, like a vector, but never beyond the limit.
fn grow(buffer: &mut Vec<u8>, more: usize, limit: usize) {
    let wanted = buffer.len() + more;
    if wanted > buffer.capacity() {
        let room = wanted.max(buffer.capacity() * 2).min(limit);
        buffer.reserve_exact(room - buffer.len());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Owned {
        Whole(Vec<u8>),
        TooLong(u64),
    }

    fn read<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
        let mut lines = LineSplitter::with_limit(limit);
        let mut found = Vec::new();
        let mut each = |line: StreamLine<'_>| {
            found.push(match line {
                StreamLine::Whole(line) => Owned::Whole(line.to_vec()),
                StreamLine::TooLong { bytes } => Owned::TooLong(bytes),
            });
        };
        for chunk in chunks {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);
        found
    }

    /// The expected lines, computed in the simplest way.
    fn expected(limit: usize, text: &[u8]) -> Vec<Owned> {
        text.split(|&byte| byte == b'\n')
            .filter(|line| line.len() > limit || !line.trim_ascii().is_empty())
            .map(|line| match line.len() {
                bytes if bytes > limit => Owned::TooLong(bytes as u64),
                _ => Owned::Whole(line.to_vec()),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            text in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b' '), Just(b'\r'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0_usize..200, 0..20),
            limit in 1_usize..40,
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().filter(|&cut| cut < text.len()).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]);
            prop_assert_eq!(read(limit, chunks), expected(limit, &text));
        }
    }

    #[test]
    fn any_chunking_cuts_the_same_strings() {
        let strings = StringLimits { named: &[("b", 40)], others: 16 };
        let text = format!(
            "{{\"a\":\"{0}\",\"b\":\"{0}\"}}\n{{}}\n[\"{0}\",1]\n[\"short\"]\n",
            "0123456789".repeat(3)
        );
        let cut_by = |chunk: usize| {
            let mut lines = LineSplitter::with_limit(1000).of_json(strings);
            let mut found = Vec::new();
            for chunk in text.as_bytes().chunks(chunk) {
                lines.push(chunk, |line| match line {
                    StreamLine::Whole(line) => {
                        found.push(String::from_utf8(line.to_vec()).unwrap());
                    }
                    StreamLine::TooLong { bytes } => panic!("{bytes}"),
                });
            }
            found
        };
        let whole = "0123456789".repeat(3);
        let end = &whole[whole.len() - 16..];
        let expected = [
            format!("{{\"a\":\"{end}\",\"b\":\"{whole}\"}}"),
            "{}".to_owned(),
            format!("[\"{end}\",1]"),
            "[\"short\"]".to_owned(),
        ];
        for chunk in 1..=text.len() {
            assert_eq!(cut_by(chunk), expected, "chunks of {chunk}");
        }
    }

    #[test]
    fn blank_lines_of_a_text_are_lines_and_what_follows_the_last_end_is_none() {
        for text in [&b"one\n\n \ntwo\n"[..], b"one\n\n \ntwo"] {
            for chunk in 1..=text.len() {
                let mut lines = LineSplitter::default().of_text();
                let mut found = Vec::new();
                let mut each = |line: StreamLine<'_>| found.push(format!("{line:?}"));
                text.chunks(chunk).for_each(|chunk| lines.push(chunk, &mut each));
                lines.finish(&mut each);
                let wanted = [&b"one"[..], b"", b" ", b"two"];
                assert_eq!(found, wanted.map(|line| format!("{:?}", StreamLine::Whole(line))));
            }
        }
    }

    #[test]
    fn a_line_within_a_chunk_is_not_copied() {
        let chunk = b"one\ntwo\nth".as_slice();
        let inside = chunk.as_ptr_range();
        let mut lines = LineSplitter::default();
        let mut seen = 0;
        lines.push(chunk, |line| {
            let StreamLine::Whole(line) = line else { panic!("{line:?}") };
            assert!(inside.contains(&line.as_ptr()));
            seen += 1;
        });
        assert_eq!(seen, 2);
    }

    #[test]
    fn the_buffer_never_outgrows_the_cap_and_is_given_back() {
        let mut lines = LineSplitter::with_limit(1 << 20);
        for _ in 0..1000 {
            lines.push(&[b'x'; 1000], |_| panic!("no line is complete"));
            assert!(lines.buffer.capacity() <= 1 << 20);
        }
        lines.push(b"\n", |line| {
            assert!(matches!(line, StreamLine::Whole(line) if line.len() == 1_000_000));
        });
        assert!(lines.buffer.capacity() <= KEPT_CAPACITY);
        for _ in 0..2000 {
            lines.push(&[b'x'; 1000], |_| panic!("no line is complete"));
        }
        assert!(lines.buffer.capacity() <= KEPT_CAPACITY, "a dropped line is not held");
    }

    const STRINGS: StringLimits = StringLimits { named: &[("text", 1 << 20)], others: 8 << 10 };

    #[test]
    fn the_end_of_a_very_long_string_is_read_with_little_memory() {
        let mut lines = LineSplitter::default().of_json(STRINGS);
        let mut seen = 0;
        for (name, most) in [("text", 1 << 20), ("long", 8 << 10), ("text", 1 << 20)] {
            let head = format!("{{\"type\":\"user\",\"{name}\":\"");
            lines.push(head.as_bytes(), |_| panic!("no line is complete"));
            for _ in 0..20 {
                lines.push(&vec![b'x'; 1_000_000], |_| panic!("no line is complete"));
                assert!(lines.buffer.len() <= 3 * most, "{}", lines.buffer.len());
            }
            lines.push(b"end\"}\n{\"type\":\"next\"}\n", |line| {
                let StreamLine::Whole(line) = line else { panic!("{line:?}") };
                assert!(line.len() < most + 100, "{}", line.len());
                assert!(line.starts_with(b"{\"type\":\"") && line.ends_with(b"\"}"));
                seen += 1;
            });
        }
        assert_eq!(seen, 6);
    }

    #[test]
    fn a_line_over_the_cap_is_dropped_even_if_little_of_it_is_held() {
        let mut lines = LineSplitter::default().of_json(STRINGS);
        lines.push(b"[\"", |_| panic!("no line is complete"));
        for _ in 0..=MAX_LINE / 1_000_000 {
            lines.push(&vec![b'x'; 1_000_000], |_| panic!("no line is complete"));
        }
        lines
            .push(b"\"]\n", |line| assert!(matches!(line, StreamLine::TooLong { .. }), "{line:?}"));
    }

    #[test]
    fn a_line_that_is_long_without_long_strings_is_dropped_when_it_gets_too_long() {
        let mut lines = LineSplitter::default().of_json_beginnings(STRINGS, 100_000);
        let mut found = Vec::new();
        let mut each = |line: StreamLine<'_>| match line {
            StreamLine::Whole(line) => found.push(line.len() as u64),
            StreamLine::TooLong { bytes } => found.push(bytes),
        };
        lines.push(format!("[{}0]\n", "0,".repeat(1_000_000)).as_bytes(), &mut each);
        lines.push(format!("[\"{}\"]\n", "x".repeat(1_000_000)).as_bytes(), &mut each);
        lines.push(b"[]\n", &mut each);
        assert_eq!(found, [2_000_003, (8 << 10) + 7, 2]);
    }

    #[test]
    fn a_line_over_the_cap_costs_only_itself() {
        let text = [b"{}\n".as_slice(), &[b'x'; 50], b"\n{}\n"].concat();
        let whole = Owned::Whole(b"{}".to_vec());
        assert_eq!(read(10, [&text[..]]), [whole.clone(), Owned::TooLong(50), whole]);
    }

    #[test]
    fn a_last_line_without_an_end_is_a_line() {
        assert_eq!(
            read(10, [&b"a\n\n \r\nb"[..]]),
            [Owned::Whole(b"a".to_vec()), Owned::Whole(b"b".to_vec())]
        );
    }
}
