//! Outline of the tests in a file: their positions, their assertions and whether they run.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use super::mask::{MaskedSource, mask};
use super::patterns::{Body, FileRole, Language, LazyRegex};
use super::shape::{BlockStructure, elements};

/// The maximum length of an assertion that is compared.
const MAX_ASSERTION: usize = 200;

/// The maximum length of a test that is compared with others, to detect a new name.
const MAX_BODY: usize = 4 << 10;

/// The maximum length of the beginning of a test, after its name.
const MAX_BEGIN: usize = 400;

/// The maximum number of lines above a test that can belong to it.
const MAX_ABOVE: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) tests: Vec<Test>,
    /// Assertions of test code outside of tests.
    pub(super) loose: Vec<String>,
    /// The number of rows in its table tests.
    pub(super) rows: usize,
    /// The names of the files that it includes.
    pub(super) parts: Vec<String>,
    /// The code that restricts the run to some tests.
    pub(super) only: Option<String>,
    /// The code that disables a linter for the file.
    pub(super) lint_off: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Test {
    pub(super) name: String,
    /// Whether the test is disabled.
    pub(super) off: bool,
    /// The assertions of the test, without whitespace.
    pub(super) assertions: Vec<String>,
    /// Assertions that cannot fail.
    pub(super) trivial: Vec<String>,
    /// The hashes of its words, sorted.
    words: Vec<u64>,
}

impl Test {
    /// The common share of two tests, in percent of the larger one.
    pub(super) fn likeness(&self, other: &Self) -> usize {
        let (mut a, mut b, mut both) = (0, 0, 0);
        while let (Some(one), Some(two)) = (self.words.get(a), other.words.get(b)) {
            both += usize::from(one == two);
            (a, b) = (a + usize::from(one <= two), b + usize::from(two <= one));
        }
        100 * both / self.words.len().max(other.words.len()).max(1)
    }
}

/// The position of a test.
pub(super) struct TestSpan {
    /// The whole test, with the lines above it.
    whole: Range<usize>,
    /// The position of the name.
    name: Range<usize>,
    /// The end of its beginning.
    begun: usize,
}

/// A file in all forms that are searched.
struct SourceView<'a> {
    text: &'a str,
    masked: &'a MaskedSource,
    language: &'a Language,
    shape: &'a BlockStructure<'a>,
    places: &'a [TestSpan],
}

/// Creates the outline of a file.
pub(super) fn outline(text: &str, language: &Language, role: FileRole) -> Outline {
    let masked = mask(text, language);
    let lint_off = begun_in(&language.lint_off, text, &masked.without_strings);
    let lint_off = lint_off.iter().map(|at| one_line(slice(text, at))).collect();
    let mut outline = Outline { lint_off, ..Outline::default() };
    if role == FileRole::Code {
        return outline;
    }
    let shape = BlockStructure::of(&masked.code);
    let places = places(&masked.code, language, &shape);
    let view = SourceView { text, masked: &masked, language, shape: &shape, places: &places };
    outline.tests = places.iter().map(|place| test(text, place)).collect();
    outline.parts = parts(&view);
    outline.only = only(&view);
    switched_off(&mut outline, &view);
    assertions(&mut outline, &view, role);
    outline.rows = rows(&outline, &view);
    outline
}

fn test(text: &str, place: &TestSpan) -> Test {
    let body = slice(text, &(place.begun..place.whole.end.min(place.begun + MAX_BODY)));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words: Vec<u64> = body
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .map(|word| {
            let mut hasher = DefaultHasher::new();
            word.hash(&mut hasher);
            hasher.finish()
        })
        .collect();
    words.sort_unstable();
    Test { name: one_line(slice(text, &place.name)), words, ..Test::default() }
}

/// The matches of the patterns, in order.
fn found(patterns: &[LazyRegex], text: &str) -> Vec<Range<usize>> {
    let mut all: Vec<_> =
        patterns.iter().flat_map(|one| one.find_iter(text)).map(|found| found.range()).collect();
    all.sort_unstable_by_key(|range| (range.start, range.end));
    all
}

/// The matches in a text that begin where the masked text is not blank.
pub(super) fn begun_in(patterns: &[LazyRegex], text: &str, masked: &str) -> Vec<Range<usize>> {
    let mut all = found(patterns, text);
    all.retain(|range| {
        let begin = text[range.clone()].find(|c: char| !c.is_whitespace()).unwrap_or_default();
        masked.as_bytes().get(range.start + begin) == text.as_bytes().get(range.start + begin)
    });
    all
}

/// The names of the files that this one includes.
fn parts(view: &SourceView<'_>) -> Vec<String> {
    let captures = view.language.part.iter().flat_map(|part| part.captures_iter(&view.masked.code));
    captures.filter_map(|part| Some(part.name("name")?.as_str().to_owned())).collect()
}

/// The tests of a string, in order.
pub(super) fn places(code: &str, language: &Language, shape: &BlockStructure<'_>) -> Vec<TestSpan> {
    let mut begun: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for case in &language.case {
        for captures in case.captures_iter(code) {
            let name = captures.iter().skip(1).flatten().next().map(|name| name.range());
            if let (Some(whole), Some(name)) = (captures.get(0), name) {
                begun.push((whole.range(), name));
            }
        }
    }
    for behind in &language.case_behind {
        for call in behind.call.find_iter(code) {
            let Some(rows) = shape.call_at(call.end().saturating_sub(1)) else { continue };
            let rest = beginning(code, rows.end);
            let Some(captures) = behind.name.captures(rest) else { continue };
            let name = captures.iter().skip(1).flatten().next().map(|name| name.range());
            if let (Some(whole), Some(name)) = (captures.get(0), name) {
                let (start, end) = (rows.end + name.start, rows.end + name.end);
                begun.push((call.start()..rows.end + whole.end(), start..end));
            }
        }
    }
    begun.sort_unstable_by_key(|(_, name)| name.start);
    begun.dedup_by_key(|(_, name)| name.start);
    let mut places: Vec<TestSpan> = Vec::with_capacity(begun.len());
    for (index, (head, name)) in begun.iter().enumerate() {
        let next = begun.get(index + 1).map_or(code.len(), |(head, _)| head.start);
        let end = match language.body {
            Body::Braces => shape.braces(head.end, next),
            Body::Call => shape.call_around(name.start, next),
            Body::Indent => shape.indented(shape.line_of(name.start)),
        };
        let floor = places.last().map_or(0, |last| last.begun);
        let start = shape.above(head.start, floor, &language.above, MAX_ABOVE);
        let end = end.max(head.end);
        places.push(TestSpan { whole: start..end, name: name.clone(), begun: head.end });
    }
    places
}

/// The test that contains a position.
fn test_at(places: &[TestSpan], at: usize) -> Option<usize> {
    let index = places.partition_point(|place| place.whole.start <= at).checked_sub(1)?;
    places[index].whole.contains(&at).then_some(index)
}

/// The text from this position, up to the examined length.
fn beginning(code: &str, from: usize) -> &str {
    let rest = code.get(from..).unwrap_or_default();
    &rest[..rest.floor_char_boundary(MAX_BEGIN)]
}

/// The beginning of a test, after its name.
pub(super) fn begin<'a>(code: &'a str, place: &TestSpan) -> &'a str {
    let begin = &code[place.begun..place.whole.end.max(place.begun)];
    &begin[..begin.floor_char_boundary(MAX_BEGIN)]
}

/// The calls chained to the call that defines a test.
pub(super) fn chained<'a>(code: &'a str, shape: &BlockStructure<'_>, place: &TestSpan) -> &'a str {
    shape.call_of(place.name.start).map_or("", |end| beginning(code, end))
}

/// The code that restricts the run to some tests.
fn only(view: &SourceView<'_>) -> Option<String> {
    let (code, language) = (&view.masked.code, view.language);
    if let Some(at) = found(&language.only, code).first() {
        return Some(one_line(slice(view.text, at)));
    }
    let is_only = |place: &&TestSpan| {
        language.only_begin.iter().any(|one| one.is_match(begin(code, place)))
            || language.only_end.iter().any(|one| one.is_match(chained(code, view.shape, place)))
    };
    view.places.iter().find(is_only).map(|place| one_line(slice(view.text, &place.name)))
}

fn switched_off(outline: &mut Outline, view: &SourceView<'_>) {
    let SourceView { text, masked, language, shape, places } = *view;
    if language.off_file.iter().any(|one| one.is_match(&masked.code))
        || language.off_noted.iter().any(|one| one.is_match(&masked.without_strings))
    {
        outline.tests.iter_mut().for_each(|test| test.off = true);
        return;
    }
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut last_line = None;
    let mut marks = found(&language.off, &masked.code);
    marks.extend(begun_in(&language.off_said, text, &masked.code));
    for found in marks {
        let at = found.end.saturating_sub(1).max(found.start);
        if let Some(index) = test_at(places, at) {
            outline.tests[index].off = true;
            continue;
        }
        let block = match language.body {
            Body::Braces => shape.next_braces(at),
            // At most one character precedes the called name.
            Body::Call => shape.next_call(found.start + 1),
            Body::Indent => {
                let line = shape.next_head(shape.line_of(at));
                // Several marks on one line refer to the same block.
                (last_line.replace(line) != Some(line)).then(|| shape.block(line))
            }
        };
        blocks.extend(block);
    }
    blocks.sort_unstable_by_key(|block| block.start);
    let (mut next, mut end) = (blocks.iter().peekable(), 0);
    for (test, place) in outline.tests.iter_mut().zip(places) {
        while let Some(block) = next.next_if(|block| block.start <= place.name.start) {
            end = end.max(block.end);
        }
        let (begin, chained) = (begin(&masked.code, place), chained(&masked.code, shape, place));
        test.off |= place.name.start < end
            || language.off_begin.iter().any(|one| one.is_match(begin))
            || language.off_end.iter().any(|one| one.is_match(chained));
    }
}

/// The number of rows in table tests that check something.
fn rows(outline: &Outline, view: &SourceView<'_>) -> usize {
    let code = &view.masked.code;
    let counts = |at: usize| match test_at(view.places, at) {
        Some(index) => !outline.tests[index].off && !outline.tests[index].assertions.is_empty(),
        None => true,
    };
    let single = found(&view.language.row, code).iter().filter(|row| counts(row.start)).count();
    let (mut listed, mut behind) = (0, 0);
    for list in found(&view.language.rows, code) {
        let open = list.end.saturating_sub(1);
        if open >= behind {
            let (count, end) = elements(code, open);
            behind = end;
            listed += if counts(open) { count } else { 0 };
        }
    }
    single + listed
}

/// Whether a position is in test code, for positions in order.
fn in_tests<'a>(view: &SourceView<'a>, role: FileRole) -> impl FnMut(usize) -> bool + use<'a> {
    let mut blocks: Vec<Range<usize>> = match role {
        FileRole::Mixed => found(&view.language.tests_in, &view.masked.code)
            .iter()
            .filter_map(|begin| view.shape.next_braces(begin.end.saturating_sub(1)))
            .collect(),
        FileRole::Tests | FileRole::Code => std::iter::once(0..usize::MAX).collect(),
    };
    blocks.sort_unstable_by_key(|block| block.start);
    let (mut next, mut end) = (blocks.into_iter().peekable(), 0);
    move |at| {
        while let Some(block) = next.next_if(|block| block.start <= at) {
            end = end.max(block.end);
        }
        at < end
    }
}

fn assertions(outline: &mut Outline, view: &SourceView<'_>, role: FileRole) {
    let SourceView { text, masked, language, places, .. } = *view;
    let mut is_test_code = in_tests(view, role);
    let trivial = trivial(&language.trivial, &masked.code);
    for found in &trivial {
        if let Some(index) = test_at(places, found.start) {
            outline.tests[index].trivial.push(one_line(slice(text, found)));
        }
    }
    let mut trivial = trivial.iter().peekable();
    let mut behind = 0;
    for found in found(&language.assertion, &masked.code) {
        while trivial.next_if(|trivial| trivial.end <= found.start).is_some() {}
        let can_t_fail = trivial.peek().is_some_and(|trivial| trivial.start < found.end);
        if found.start < behind || can_t_fail {
            continue;
        }
        behind = found.end;
        let rest = slice(text, &(found.start..found.end.max(found.start + MAX_ASSERTION)));
        // A line may begin before the match in it.
        let line = rest.trim_start().lines().next().unwrap_or_default();
        let statement: String = line.split_whitespace().collect();
        match test_at(places, behind.saturating_sub(1)) {
            Some(index) => outline.tests[index].assertions.push(statement),
            None if is_test_code(found.start) => outline.loose.push(statement),
            None => {}
        }
    }
}

/// Assertions that cannot fail, in order, without nested ones.
fn trivial(patterns: &[LazyRegex], code: &str) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for pattern in patterns {
        for captures in pattern.captures_iter(code) {
            let side = |name| captures.name(name).map(|side| side.as_str());
            if side("a") == side("b") {
                all.extend(captures.get(0).map(|found| found.range()));
            }
        }
    }
    all.sort_unstable_by_key(|range| (range.start, range.end));
    let mut behind = 0;
    all.retain(|range| {
        let keeps = range.start >= behind;
        behind = behind.max(range.end);
        keeps
    });
    all
}

/// A part of a string. A match in a masked text may begin within a character.
fn slice<'a>(text: &'a str, range: &Range<usize>) -> &'a str {
    let start = text.floor_char_boundary(range.start);
    &text[start..text.floor_char_boundary(range.end).max(start)]
}

/// The first words of a string, on one line.
pub(super) fn one_line(text: &str) -> String {
    let start = &text[..text.floor_char_boundary(MAX_ASSERTION)];
    let words: Vec<_> = start.split_whitespace().collect();
    words.join(" ").chars().take(80).collect()
}
