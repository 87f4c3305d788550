//! Search for many short texts at once. Its time does not depend on their number.
//!
//! The search looks at pairs of bytes: at the two pairs of each block of four bytes, and the pair
//! after it. Wherever a text is, at least three of its bytes are at known places of one block.
//! Three tables contain the texts that allow a pair at each place, as one bit for each group of
//! texts. Blocks with a common bit in all three tables are looked up, and their texts compared.
//!
//! ```text
//!   bytes  ..to|ken=|"x..    a block of four bytes, and the pair after it
//!   pairs       11 22 33
//!   text   "oken=": `ke` in the first table, `n=` in the second one, anything in the third one
//! ```

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

/// The length of a block.
const BLOCK: usize = 4;
/// The number of pairs that affect whether a block is looked up.
const PAIRS: usize = 3;
/// The number of bytes of these pairs.
const LOOK: usize = 2 * PAIRS;
/// The number of blocks that are checked without a branch.
const BLOCKS: usize = 8;
/// The number of words for their hits.
const HALVES: usize = BLOCKS * GROUPS / u64::BITS as usize;
/// The length of the text for these blocks.
const STEP: usize = BLOCKS * BLOCK;
/// The length of the text that affects them.
const WINDOW: usize = STEP + LOOK - BLOCK;
/// The pair that is looked up, for each group of texts. Most texts are known by the second one.
const KEYS: [usize; GROUPS] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 2, 2, 2];
/// The number of groups of texts.
const GROUPS: usize = u16::BITS as usize;
/// The number of lists of places for each group.
const LISTS: usize = 1 << LIST_BITS;
const LIST_BITS: u32 = 7;
/// The frequency of a pair of any bytes, in a million pairs.
const ALWAYS: u64 = 1_000_000;

/// The groups that allow each pair of bytes, as bits.
type PairTable = [u16; 1 << u16::BITS];

/// The texts, prepared for the search.
pub(super) struct StartSearch {
    texts: Vec<&'static str>,
    tables: [Box<PairTable>; PAIRS],
    /// The places of each group by a hash of their keys.
    lists: Vec<Vec<Place>>,
}

/// A place of a text relative to a block.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The bytes of the text from the block on, as a little-endian number, and the bits that count.
    value: u64,
    mask: u64,
    /// The index of the text.
    index: usize,
    /// The start of the text is this far after a block.
    after: usize,
    /// The length of the blocks from that block to the one that is looked up.
    before: usize,
}

/// A pair of bytes that affects whether a block is looked up; `None` for any byte.
type Pair = [Option<u8>; 2];

impl StartSearch {
    pub(super) fn new(texts: impl IntoIterator<Item = &'static str>) -> Self {
        let texts: Vec<_> = texts.into_iter().collect();
        let is_first = |index: &usize| !texts[..*index].contains(&texts[*index]);
        let mut places = Vec::new();
        for index in (0..texts.len()).filter(is_first) {
            places.extend((0..BLOCK).map(|after| Place::of(texts[index], index, after)));
        }
        let table = || vec![0; 1 << u16::BITS].try_into().expect("it has this length");
        let mut tables: [Box<PairTable>; PAIRS] = std::array::from_fn(|_| table());
        let mut lists = vec![Vec::new(); LISTS * GROUPS];
        for (group, places) in grouped(&places).into_iter().enumerate() {
            for place in places {
                for (table, pair) in tables.iter_mut().zip(place.pairs()) {
                    for key in keys(pair) {
                        table[usize::from(key)] |= 1 << group;
                    }
                }
                lists[list(place.value, group)].push(place);
            }
        }
        Self { texts, tables, lists }
    }

    /// Calls `each` with the index and position of each text from `from` on, in no particular order.
    /// It returns the position up to which the same text is skipped.
    pub(super) fn find(
        &self,
        bytes: &[u8],
        from: usize,
        mut each: impl FnMut(usize, Range<usize>) -> usize,
    ) {
        let mut skipped: Vec<Range<usize>> = Vec::new();
        let mut found = |index: usize, place: Range<usize>| {
            if skipped.get(index).is_some_and(|skipped| skipped.contains(&place.start)) {
                return;
            }
            let start = place.start;
            let next = each(index, place);
            if next > start + 1 {
                skipped.resize(self.texts.len(), 0..0);
                skipped[index] = start..next;
            }
        };
        let mut at = from;
        while let Some(window) = bytes[at..].first_chunk() {
            let hits = self.hits(window);
            if hits != [0; HALVES] {
                self.look_up(bytes, from, at, hits, &mut found);
            }
            at += STEP;
        }
        while at < bytes.len() {
            let mut window = [0; WINDOW];
            let rest = &bytes[at..bytes.len().min(at + WINDOW)];
            window[..rest.len()].copy_from_slice(rest);
            self.look_up(bytes, from, at, self.hits(&window), &mut found);
            at += STEP;
        }
    }

    /// The groups that may have a text at each block, for one half of the blocks after the other.
    #[inline]
    fn hits(&self, window: &[u8; WINDOW]) -> [u64; HALVES] {
        let [first, second, third] = &self.tables;
        let mut hits = [0; HALVES];
        let mut one = pair(window, 0);
        for block in 0..BLOCKS {
            let other = pair(window, block * BLOCK + 2);
            let next = pair(window, block * BLOCK + 4);
            let groups = first[one] & second[other] & third[next];
            let half = BLOCKS / HALVES;
            hits[block / half] |= u64::from(groups) << (block % half * GROUPS);
            one = next;
        }
        hits
    }

    /// Reports the texts at the blocks that have hits. The first block is at this position.
    fn look_up(
        &self,
        bytes: &[u8],
        from: usize,
        at: usize,
        hits: [u64; HALVES],
        found: &mut impl FnMut(usize, Range<usize>),
    ) {
        for (half, mut hits) in hits.into_iter().enumerate() {
            while hits != 0 {
                let hit = hits.trailing_zeros() as usize;
                hits &= hits - 1;
                let block = at + (half * (BLOCKS / HALVES) + hit / GROUPS) * BLOCK;
                self.compare(bytes, from, block, hit % GROUPS, found);
            }
        }
    }

    /// Reports the texts of this group at this block.
    #[inline]
    fn compare(
        &self,
        bytes: &[u8],
        from: usize,
        block: usize,
        group: usize,
        found: &mut impl FnMut(usize, Range<usize>),
    ) {
        let word = word(&bytes[block.min(bytes.len())..]);
        for place in &self.lists[list(word, group)] {
            let start = block + place.after;
            if word & place.mask != place.value || start < from + place.before {
                continue;
            }
            let start = start - place.before;
            let text = self.texts[place.index].as_bytes();
            if bytes[start..].starts_with(text) {
                found(place.index, start..start + text.len());
            }
        }
    }
}

impl Place {
    /// The place with the rarest bytes, for a text that starts this far after a block.
    fn of(text: &str, index: usize, after: usize) -> Self {
        let at = |before: usize| {
            let (mut value, mut mask) = (0, 0);
            for offset in 0..size_of::<u64>() {
                let byte =
                    (before + offset).checked_sub(after).and_then(|at| text.as_bytes().get(at));
                if let Some(byte) = byte {
                    value |= u64::from(*byte) << (offset * 8);
                    mask |= 0xff << (offset * 8);
                }
            }
            Self { value, mask, index, after, before }
        };
        (0..=text.len())
            .step_by(BLOCK)
            .map(at)
            .filter(|place| place.key().is_some())
            .min_by_key(Self::frequency)
            .expect("a string of three bytes contains a pair, wherever it starts")
    }

    fn pairs(&self) -> [Pair; PAIRS] {
        let byte = |offset: usize| {
            let [value, mask] = [self.value, self.mask].map(|bytes| bytes.to_le_bytes()[offset]);
            (mask != 0).then_some(value)
        };
        std::array::from_fn(|pair| [byte(2 * pair), byte(2 * pair + 1)])
    }

    /// The pair that is looked up.
    fn key(&self) -> Option<usize> {
        let pairs = self.pairs();
        [1, 2, 0].into_iter().find(|pair| pairs[*pair].iter().all(Option::is_some))
    }

    /// An estimate of how often these bytes occur.
    fn frequency(&self) -> u64 {
        self.pairs().map(frequency).iter().product()
    }
}

/// The estimated number of occurrences in a million pairs.
fn frequency(pair: Pair) -> u64 {
    let each = pair.map(|byte| match byte {
        None => 1000,
        Some(b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b'"') => 50,
        Some(b'a'..=b'z') => 25,
        Some(b' ' | b',' | b':' | b'_') => 20,
        Some(b'0'..=b'9' | b'-' | b'.' | b'/' | b'\\') => 10,
        Some(_) => 3,
    });
    each.iter().product()
}

/// Divides the places into groups, so that the tables allow few other texts. This affects only the
/// speed.
fn grouped(places: &[Place]) -> [Vec<Place>; GROUPS] {
    let mut places = places.to_vec();
    places.sort_by_key(|place| Reverse(place.frequency()));
    let mut groups: [Group; GROUPS] = Default::default();
    for place in places {
        let growth = |group: &Group| group.with(&place).iter().product::<u64>() - group.chance();
        let open = groups.iter_mut().zip(KEYS).filter(|(_, key)| place.key() == Some(*key));
        if let Some(group) = open.map(|(group, _)| group).min_by_key(|group| growth(group)) {
            group.sums = group.with(&place);
            for (pairs, pair) in group.pairs.iter_mut().zip(place.pairs()) {
                pairs.insert(pair);
            }
            group.places.push(place);
        }
    }
    groups.map(|group| group.places)
}

/// Places that share a bit in the tables.
#[derive(Default)]
struct Group {
    places: Vec<Place>,
    /// The pairs in each table.
    pairs: [BTreeSet<Pair>; PAIRS],
    /// The estimated frequency of these pairs.
    sums: [u64; PAIRS],
}

impl Group {
    /// The estimated frequencies of the pairs in each table, with this place.
    fn with(&self, place: &Place) -> [u64; PAIRS] {
        let pairs = place.pairs();
        std::array::from_fn(|table| {
            let is_new = !self.pairs[table].contains(&pairs[table]);
            let more = if is_new { frequency(pairs[table]) } else { 0 };
            (self.sums[table] + more).min(ALWAYS)
        })
    }

    fn chance(&self) -> u64 {
        self.sums.iter().product()
    }
}

/// All pairs of bytes that match.
fn keys([one, other]: Pair) -> impl Iterator<Item = u16> {
    let range = |byte: Option<u8>| byte.map_or(0..=u8::MAX, |byte| byte..=byte);
    range(one).flat_map(move |one| range(other).map(move |other| u16::from_le_bytes([one, other])))
}

/// The pair of bytes at this position.
fn pair(window: &[u8; WINDOW], at: usize) -> usize {
    let pair = window[at..].first_chunk().expect("callers pass positions in the window");
    usize::from(u16::from_le_bytes(*pair))
}

/// The first bytes, as a little-endian number.
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// The list of the places in this group that may be in these bytes.
fn list(bytes: u64, group: usize) -> usize {
    let [one, other] = [0, 1].map(|byte| bytes.to_le_bytes()[2 * KEYS[group] + byte]);
    // The highest bits of the product depend on all bits of the key.
    let hash = u16::from_le_bytes([one, other]).wrapping_mul(0x9e37) >> (u16::BITS - LIST_BITS);
    group * LISTS + usize::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts in this text, in order.
    fn found(texts: &[&'static str], text: &[u8], from: usize) -> Vec<(usize, Range<usize>)> {
        let search = StartSearch::new(texts.iter().copied());
        let mut found = Vec::new();
        search.find(text, from, |index, place| {
            found.push((index, place));
            0
        });
        found.sort_by_key(|(index, place)| (place.start, *index));
        found
    }

    #[test]
    fn every_text_is_found_at_every_position_and_in_front_of_any_end() {
        let texts: Vec<&'static str> = (0..100)
            .map(|number| &*format!("k{number}-{}", "abcdefghijklm".split_at(number % 13).0).leak())
            .collect();
        let search = StartSearch::new(texts.iter().copied());
        for (index, text) in texts.iter().enumerate() {
            for start in 0..STEP + BLOCK {
                for end in 0..STEP + BLOCK {
                    let bytes =
                        [&vec![b'.'; start][..], text.as_bytes(), &vec![b'-'; end]].concat();
                    let mut found = Vec::new();
                    search.find(&bytes, 0, |index, place| {
                        found.push((index, place));
                        0
                    });
                    assert!(
                        found.contains(&(index, start..start + text.len())),
                        "{text}: {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn texts_before_the_first_position_are_not_found() {
        let texts = ["abc", "abcdefgh", "c--"];
        for from in 0..9 {
            let expected = [(0, 0..3), (1, 0..8), (0, 8..11), (1, 8..16), (0, 17..20), (2, 19..22)];
            let expected = expected.iter().filter(|(_, place)| place.start >= from);
            let found = found(&texts, b"abcdefghabcdefgh-abc--", from);
            assert_eq!(found, expected.cloned().collect::<Vec<_>>());
        }
    }

    #[test]
    fn only_the_same_text_is_skipped() {
        let search = StartSearch::new(["abc", "bcd"]);
        let mut found = Vec::new();
        search.find(b"abcd abcd abcd abcd", 0, |index, place| {
            found.push((index, place.start));
            if index == 0 { place.start + 10 } else { 0 }
        });
        found.sort_unstable();
        assert_eq!(found, [(0, 0), (0, 10), (1, 1), (1, 6), (1, 11), (1, 16)]);
    }
}
