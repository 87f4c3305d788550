//! Search for many short texts at once.
//!
//! A vector search is fast for about thirty texts, and slow for more. So the texts are divided into
//! groups, which are searched one after the other. The search looks at the halves of the first
//! bytes, of one text out of several at once. It is fast if those share most of their halves.

use std::cmp::Reverse;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};

/// The maximum number of texts in a group.
const GROUP: usize = 32;
/// The maximum number of bytes that the vector search looks at.
const LOOK: usize = 4;
/// The number of buckets into which the vector search divides a group, by the index of each text.
const BUCKETS: usize = 8;

/// A text and its index.
type Start = (usize, &'static str);

/// The texts, prepared for the search.
pub(super) struct StartSearch {
    groups: Vec<StartGroup>,
}

struct StartGroup {
    search: AhoCorasick,
    /// The index of each text.
    indexes: Vec<usize>,
}

impl StartSearch {
    pub(super) fn new(starts: impl IntoIterator<Item = &'static str>) -> Self {
        let mut starts: Vec<Start> = starts.into_iter().enumerate().collect();
        starts.sort_by_key(|(_, start)| (halves(start), Reverse(start.len())));
        // A group looks at as many bytes as its shortest text has.
        let (short, long): (Vec<_>, Vec<_>) =
            starts.into_iter().partition(|(_, start)| start.len() < LOOK);
        let groups = short.chunks(GROUP).chain(long.chunks(GROUP)).map(StartGroup::new);
        Self { groups: groups.collect() }
    }

    /// Calls `each` with the index and position of each text from `from` on, group by group. It
    /// returns the position at which the search of this group continues.
    pub(super) fn find(
        &self,
        bytes: &[u8],
        from: usize,
        mut each: impl FnMut(usize, Range<usize>) -> usize,
    ) {
        for StartGroup { search, indexes } in &self.groups {
            let mut at = from;
            while let Some(found) = search.find(Input::new(bytes).span(at..bytes.len())) {
                let next = each(indexes[found.pattern().as_usize()], found.range());
                at = next.max(found.start() + 1);
            }
        }
    }
}

impl StartGroup {
    fn new(starts: &[Start]) -> Self {
        let starts = in_buckets(starts);
        Self {
            search: AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostFirst)
                .build(starts.iter().map(|(_, start)| start))
                .expect("the texts are few and short"),
            indexes: starts.iter().map(|(index, _)| *index).collect(),
        }
    }
}

/// The halves of the first bytes in a bucket, one bit for each value: the lower and the upper half.
type Halves = [[u16; 2]; LOOK];

/// Orders the texts so that similar ones are in the same bucket. This affects only the speed.
fn in_buckets(starts: &[Start]) -> Vec<Start> {
    let mut buckets: [(Halves, Vec<Start>); BUCKETS] = Default::default();
    for start in starts {
        let with = |halves: &Halves| {
            let mut with = *halves;
            for (halves, byte) in with.iter_mut().zip(start.1.bytes()) {
                halves[0] |= 1 << (byte & 15);
                halves[1] |= 1 << (byte >> 4);
            }
            with
        };
        // The number of combinations that the bucket would match by mistake.
        let growth = |halves: &Halves| combinations(&with(halves)) - combinations(halves);
        let is_open = |index: usize, bucket: &[Start]| bucket.len() < share(starts.len(), index);
        let open = buckets.iter_mut().enumerate().filter(|(index, (_, all))| is_open(*index, all));
        if let Some((_, (halves, bucket))) = open.min_by_key(|(_, (halves, _))| growth(halves)) {
            *halves = with(halves);
            bucket.push(*start);
        }
    }
    let rounds = starts.len().div_ceil(BUCKETS);
    let at = |round: usize| buckets.iter().filter_map(move |(_, bucket)| bucket.get(round));
    (0..rounds).flat_map(at).copied().collect()
}

/// The number of texts in a bucket.
fn share(count: usize, bucket: usize) -> usize {
    count / BUCKETS + usize::from(bucket < count % BUCKETS)
}

fn combinations(halves: &Halves) -> u64 {
    let each = halves.iter().map(|[low, high]| u64::from(low.count_ones() * high.count_ones()));
    each.filter(|count| *count > 0).product()
}

fn halves(start: &str) -> Vec<u8> {
    start.bytes().take(LOOK).map(|byte| byte & 15).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_found_whatever_its_group() {
        let texts: Vec<&'static str> =
            (0..100).map(|number| &*format!("k{number}-x").leak()).collect();
        let search = StartSearch::new(texts.iter().copied());
        assert_eq!(search.groups.len(), 4);
        let mut indexes: Vec<_> = search.groups.iter().flat_map(|group| &group.indexes).collect();
        indexes.sort_unstable();
        assert_eq!(indexes, (0..100).collect::<Vec<_>>().iter().collect::<Vec<_>>());
        for (index, text) in texts.iter().enumerate() {
            let mut found = Vec::new();
            search.find(format!("a {text} b").as_bytes(), 0, |index, place| {
                found.push((index, place));
                0
            });
            assert_eq!(found, [(index, 2..2 + text.len())]);
        }
    }
}
