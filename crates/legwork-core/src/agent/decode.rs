//! Bytes to lines.
//!
//! A line that lies whole within a chunk is handed out where it is, without a copy; only a line
//! split over chunks is put together, in one buffer that is used again. Lines of ten megabytes are
//! real, so the buffer may grow; it has a cap, and gives its memory back after a huge line.

use memchr::memchr;

/// A longer line is dropped whole.
pub const MAX_LINE: usize = 24 << 20;

/// What the buffer keeps of its memory from one line to the next.
const KEPT_CAPACITY: usize = 256 << 10;

/// One line without its end, or what is left of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line.
    Whole(&'a [u8]),
    /// It was over the cap, and its text is gone.
    TooLong {
        /// How long it was.
        bytes: u64,
    },
}

/// Puts lines together from chunks of any size. Blank lines are left out.
#[derive(Debug)]
pub struct Lines {
    state: State,
    limit: usize,
}

#[derive(Debug)]
enum State {
    /// What is there of the current line.
    Collecting(Vec<u8>),
    /// The current line is over the cap: its bytes are only counted.
    Dropping { bytes: u64 },
}

impl Default for Lines {
    fn default() -> Self {
        Self::with_limit(MAX_LINE)
    }
}

impl Lines {
    /// Lines of at most this many bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { state: State::Collecting(Vec::new()), limit }
    }

    /// Takes a chunk and hands out every line that it completes.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = chunk;
        while let Some(end) = memchr(b'\n', rest) {
            self.complete(&rest[..end], &mut each);
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    /// Hands out a last line that has no end.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        self.complete(&[], &mut each);
    }

    /// The current line ends with `tail`.
    fn complete(&mut self, tail: &[u8], each: &mut impl FnMut(Line<'_>)) {
        match &self.state {
            State::Collecting(buffer) if buffer.is_empty() && tail.len() <= self.limit => {
                hand_out(tail, each);
                return;
            }
            State::Collecting(_) | State::Dropping { .. } => self.keep(tail),
        }
        match &mut self.state {
            State::Collecting(buffer) => {
                hand_out(buffer, each);
                buffer.clear();
                buffer.shrink_to(KEPT_CAPACITY);
            }
            State::Dropping { bytes } => {
                each(Line::TooLong { bytes: *bytes });
                self.state = State::Collecting(Vec::new());
            }
        }
    }

    /// More of the current line.
    fn keep(&mut self, more: &[u8]) {
        match &mut self.state {
            State::Collecting(buffer) => {
                let wanted = buffer.len() + more.len();
                if wanted > self.limit {
                    self.state = State::Dropping { bytes: wanted as u64 };
                } else {
                    grow(buffer, wanted, self.limit);
                    buffer.extend_from_slice(more);
                }
            }
            State::Dropping { bytes } => *bytes += more.len() as u64,
        }
    }
}

/// Makes room by doubling, as a vector would do by itself, but never beyond the cap.
fn grow(buffer: &mut Vec<u8>, wanted: usize, limit: usize) {
    if wanted > buffer.capacity() {
        let room = wanted.max(buffer.capacity() * 2).min(limit);
        buffer.reserve_exact(room - buffer.len());
    }
}

fn hand_out(line: &[u8], each: &mut impl FnMut(Line<'_>)) {
    if !line.trim_ascii().is_empty() {
        each(Line::Whole(line));
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
        let mut lines = Lines::with_limit(limit);
        let mut found = Vec::new();
        let mut each = |line: Line<'_>| {
            found.push(match line {
                Line::Whole(line) => Owned::Whole(line.to_vec()),
                Line::TooLong { bytes } => Owned::TooLong(bytes),
            });
        };
        for chunk in chunks {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);
        found
    }

    /// What the lines are by the plainest means.
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
    fn a_line_within_a_chunk_is_not_copied() {
        let chunk = b"one\ntwo\nth".as_slice();
        let inside = chunk.as_ptr_range();
        let mut lines = Lines::default();
        let mut seen = 0;
        lines.push(chunk, |line| {
            let Line::Whole(line) = line else { panic!("{line:?}") };
            assert!(inside.contains(&line.as_ptr()));
            seen += 1;
        });
        assert_eq!(seen, 2);
    }

    #[test]
    fn the_buffer_never_outgrows_the_cap_and_is_given_back() {
        let mut lines = Lines::with_limit(1 << 20);
        let capacity = |lines: &Lines| match &lines.state {
            State::Collecting(buffer) => buffer.capacity(),
            State::Dropping { .. } => 0,
        };
        for _ in 0..1000 {
            lines.push(&[b'x'; 1000], |_| panic!("no line is complete"));
            assert!(capacity(&lines) <= 1 << 20);
        }
        lines.push(b"\n", |line| {
            assert!(matches!(line, Line::Whole(line) if line.len() == 1_000_000));
        });
        assert!(capacity(&lines) <= KEPT_CAPACITY);
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
