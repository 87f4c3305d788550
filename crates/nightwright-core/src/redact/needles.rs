//! Search for hundreds of byte strings at once, nearly as fast as for one.
//!
//! The search looks at four bytes of the text at every fifth position. A needle has at least eight
//! bytes. So wherever it is, the eight bytes in its middle contain one of these windows. A filter
//! rules out nearly all windows that no needle has there. The others are looked up, and their
//! needles compared. If all needles are long, as generated keys are, the windows are further apart.
//!
//! ```text
//!   text       |...x|...x|...x|...x|...x    a window of four bytes, one byte between two windows
//!   needle         ???........???           its middle contains the third window
//! ```

use std::ops::Range;

use super::values::MIN_SECRET_LEN;

/// The length of a window.
const WINDOW: usize = 4;
/// The distance between two windows in the text, for needles of any length.
const STRIDE: usize = MIN_SECRET_LEN + 1 - WINDOW;
/// The distance between two windows if all needles are long.
const LONG_STRIDE: usize = LONG + 1 - WINDOW;
/// The minimum length of a long needle.
const LONG: usize = 16;
/// The maximum number of needles for that distance.
const MAX_LONG: usize = 512;
/// The number of windows that are checked without a branch.
const GROUP: usize = 8;

/// A Bloom filter: each window sets two bits of one word. It fits into the fastest cache.
type Filter = [u64; 1 << FILTER_BITS];
const FILTER_BITS: u32 = 12;

/// Byte strings, prepared for the search.
pub(super) struct Needles {
    all: Vec<Vec<u8>>,
    filter: Box<Filter>,
    /// The windows in the middle of each needle, in order.
    anchors: Vec<Anchor>,
    /// The distance between two windows in the text.
    stride: usize,
}

/// A window in the middle of a needle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Anchor {
    window: u32,
    /// The index of the needle.
    needle: usize,
    /// The position of the window in the needle.
    offset: usize,
}

impl Needles {
    /// Prepares these needles; each has at least `MIN_SECRET_LEN` bytes.
    pub(super) fn new(needles: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let all: Vec<_> = needles.into_iter().collect();
        let mut filter: Box<Filter> =
            vec![0; 1 << FILTER_BITS].try_into().expect("it has this length");
        // Each needle has more windows then; the filter has room for a few hundred needles.
        let are_long = all.len() <= MAX_LONG && all.iter().all(|needle| needle.len() >= LONG);
        let stride = if are_long { LONG_STRIDE } else { STRIDE };
        let mut anchors = Vec::with_capacity(all.len() * stride);
        for (needle, bytes) in all.iter().enumerate() {
            // Common strings are more frequent at the ends: `https://`, `token`, `.com`.
            let middle = (bytes.len() + 1 - WINDOW - stride) / 2;
            for offset in middle..middle + stride {
                let window = window(&bytes[offset..]);
                let (word, bits) = place(window);
                filter[word] |= (1 << bits[0]) | (1 << bits[1]);
                anchors.push(Anchor { window, needle, offset });
            }
        }
        anchors.sort_unstable();
        Self { all, filter, anchors, stride }
    }

    /// Reports all occurrences of the needles from `from` on, in no particular order. They may
    /// overlap.
    pub(super) fn find(&self, bytes: &[u8], from: usize, each: impl FnMut(Range<usize>)) {
        if self.all.is_empty() {
            return;
        }
        if self.stride == LONG_STRIDE {
            self.find_in_blocks::<LONG_STRIDE, { GROUP * LONG_STRIDE }>(bytes, from, each);
        } else {
            self.find_in_blocks::<STRIDE, { GROUP * STRIDE }>(bytes, from, each);
        }
    }

    /// Looks at every `STRIDE`th window; `BLOCK` is the length of the text for a group of them.
    fn find_in_blocks<const STRIDE: usize, const BLOCK: usize>(
        &self,
        bytes: &[u8],
        from: usize,
        mut each: impl FnMut(Range<usize>),
    ) {
        let (blocks, _) = bytes[from..].as_chunks::<BLOCK>();
        let mut at = from;
        for block in blocks {
            let mut hits = 0;
            for index in 0..GROUP {
                hits |= self.may_contain(window(&block[index * STRIDE..])) << index;
            }
            while hits != 0 {
                let index = hits.trailing_zeros() as usize;
                self.compare(bytes, from, at + index * STRIDE, &mut each);
                hits &= hits - 1;
            }
            at += BLOCK;
        }
        while at + WINDOW <= bytes.len() {
            self.compare(bytes, from, at, &mut each);
            at += STRIDE;
        }
    }

    /// Reports the needles that contain the window at this position.
    fn compare(&self, bytes: &[u8], from: usize, at: usize, each: &mut impl FnMut(Range<usize>)) {
        let window = window(&bytes[at..]);
        let first = self.anchors.partition_point(|anchor| anchor.window < window);
        let anchors = self.anchors[first..].iter().take_while(|anchor| anchor.window == window);
        for anchor in anchors.filter(|anchor| from + anchor.offset <= at) {
            let (start, needle) = (at - anchor.offset, &self.all[anchor.needle]);
            if bytes[start..].starts_with(needle) {
                each(start..start + needle.len());
            }
        }
    }

    /// 1 if a needle may have this window in its middle, else 0.
    fn may_contain(&self, window: u32) -> u64 {
        let (word, bits) = place(window);
        let word = self.filter[word];
        (word >> bits[0]) & (word >> bits[1]) & 1
    }
}

/// The window at the start of these bytes.
fn window(bytes: &[u8]) -> u32 {
    let window = bytes.first_chunk::<WINDOW>().expect("callers pass at least a window");
    u32::from_le_bytes(*window)
}

/// The bits of a window in the filter: the index of the word, and the bits in it.
fn place(window: u32) -> (usize, [u32; 2]) {
    // The highest bits of the product depend on all bits of the window.
    let hash = u64::from(window).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (hash >> (u64::BITS - FILTER_BITS)) as usize;
    (word, [(hash >> 46) as u32 % u64::BITS, (hash >> 40) as u32 % u64::BITS])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: usize = GROUP * LONG_STRIDE;

    fn found(needles: &[Vec<u8>], text: &[u8], from: usize) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        Needles::new(needles.to_vec()).find(text, from, |span| found.push(span));
        found.sort_by_key(|span| (span.start, span.end));
        found
    }

    fn expected(needles: &[Vec<u8>], text: &[u8], from: usize) -> Vec<Range<usize>> {
        let mut expected = Vec::new();
        for start in from..text.len() {
            let here = needles.iter().filter(|needle| text[start..].starts_with(needle));
            expected.extend(here.map(|needle| start..start + needle.len()));
        }
        expected.sort_by_key(|span| (span.start, span.end));
        expected
    }

    /// Bytes of a small alphabet, so that needles overlap, repeat and contain each other.
    fn bytes(least: usize, most: usize) -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(prop::sample::select(&b"ab\xc3"[..]), least..most),
            prop::collection::vec(any::<u8>(), least..most),
        ]
    }

    #[test]
    fn a_needle_is_found_at_every_position_and_in_front_of_any_end() {
        for length in MIN_SECRET_LEN..3 * LONG {
            let needle: Vec<u8> =
                (0..length).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
            let needles = Needles::new([needle.clone()]);
            for start in 0..BLOCK + LONG_STRIDE {
                for end in 0..LONG_STRIDE {
                    let text = [&vec![b'.'; start][..], &needle, &vec![b'.'; end]].concat();
                    let mut hits = Vec::new();
                    needles.find(&text, 0, |span| hits.push(span));
                    assert!(hits.len() == 1 && hits[0] == (start..start + length), "{hits:?}");
                }
            }
        }
    }

    #[test]
    fn without_needles_nothing_is_found() {
        assert!(found(&[], &[0; 3 * BLOCK], 0).is_empty());
    }

    proptest! {
        #[test]
        fn exactly_the_occurrences_are_found(
            needles in prop_oneof![
                prop::collection::btree_set(bytes(MIN_SECRET_LEN, 20), 0..40),
                prop::collection::btree_set(bytes(LONG, 3 * LONG), 0..40),
            ],
            pieces in prop::collection::vec((bytes(0, 60), any::<prop::sample::Index>()), 0..12),
            from in 0_usize..30,
        ) {
            let needles: Vec<_> = needles.into_iter().collect();
            let mut text = Vec::new();
            for (between, index) in pieces {
                text.extend(between);
                if !needles.is_empty() {
                    text.extend(&needles[index.index(needles.len())]);
                }
            }
            let from = from.min(text.len());
            prop_assert_eq!(found(&needles, &text, from), expected(&needles, &text, from));
        }
    }
}
