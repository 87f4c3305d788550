//! Comparison of the tests before and after: which are deleted, disabled, or check less.
//!
//! A test is the same if it has the same name in the same file, or else in another file. Otherwise it
//! is the same as a new test that shares most of its words. An assertion is the same if its text is
//! the same, wherever it is.

use std::collections::HashMap;

use super::outline::{Outline, Test};
use super::patterns::FileRole;
use crate::input::TamperFinding;

/// The common share, in percent, from which a new test in the file is the old one renamed.
const SAME_FILE: usize = 60;

/// Like [`SAME_FILE`], for a new test in another file.
const OTHER_FILE: usize = 90;

/// The maximum number of tests that are compared with each other.
const MAX_COMPARED: usize = 100;

/// The number of names that are listed.
const MAX_NAMED: usize = 3;

/// A file with the outlines of both its sides. The outline of a missing side is empty.
#[derive(Debug)]
pub(super) struct ComparedFile<'a> {
    pub(super) path: &'a str,
    pub(super) role: FileRole,
    /// Whether the file did not exist before.
    pub(super) is_new: bool,
    pub(super) before: Outline,
    pub(super) after: Outline,
    pub(super) now: FileState,
}

/// The current state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// The file has content.
    There,
    /// The file contains no word.
    Empty,
    /// The file does not exist.
    Gone,
}

/// The index of a file, and of a test in it.
type TestIndex = (usize, usize);

/// The tests that match, and those that are left over.
#[derive(Default)]
struct Pairing {
    pairs: Vec<(TestIndex, TestIndex)>,
    lost: Vec<TestIndex>,
    gained: Vec<TestIndex>,
}

/// The findings in one file.
#[derive(Default)]
struct FileFindings {
    deleted: Vec<String>,
    off: Vec<String>,
    emptied: Vec<String>,
    trivial: Vec<String>,
    /// The number of missing assertions, and the tests they were in.
    removed: usize,
    removed_in: Vec<String>,
}

/// The changes that weaken the tests.
pub(super) fn findings(files: &[ComparedFile<'_>]) -> Vec<TamperFinding> {
    let pairing = pair(files);
    let mut pool = AssertionPool::of(files);
    let mut notes: Vec<FileFindings> = files.iter().map(|_| FileFindings::default()).collect();
    for (before, after) in &pairing.pairs {
        let (was, is) = (&files[before.0].before.tests[before.1], test(files, *after));
        compare(was, is, &mut pool, after.0, &mut notes[after.0]);
    }
    for lost in &pairing.lost {
        let test = &files[lost.0].before.tests[lost.1];
        let is_gone = test.assertions.is_empty() || pool.misses_in_tests(&test.assertions) > 0;
        if is_gone && pool.without_rows(lost.0, 1) > 0 {
            notes[lost.0].deleted.push(test.name.clone());
        }
    }
    for (file, notes) in files.iter().zip(&mut notes) {
        loose(file, &mut pool, notes);
    }
    files.iter().zip(notes).flat_map(|(file, notes)| findings_of(file, &notes)).collect()
}

fn test<'a>(files: &'a [ComparedFile<'_>], at: TestIndex) -> &'a Test {
    &files[at.0].after.tests[at.1]
}

fn compare(was: &Test, is: &Test, pool: &mut AssertionPool, file: usize, notes: &mut FileFindings) {
    if is.off && !was.off {
        notes.off.push(is.name.clone());
    }
    let fewer = was.assertions.len().saturating_sub(is.assertions.len());
    let missing = match fewer {
        0 => 0,
        _ => pool.misses(&difference(&was.assertions, &is.assertions)).min(fewer),
    };
    let missing = pool.without_helpers(missing);
    // A test without any assertion has no rows that are checked.
    let missing = if is.assertions.is_empty() { missing } else { pool.without_rows(file, missing) };
    if is.trivial.len() > was.trivial.len() {
        notes.trivial.extend(is.trivial.iter().take(is.trivial.len() - was.trivial.len()).cloned());
    } else if missing > 0 && is.assertions.is_empty() {
        notes.emptied.push(is.name.clone());
    } else if missing > 0 {
        notes.removed += missing;
        notes.removed_in.push(is.name.clone());
    }
}

/// Compares assertions outside of tests, in code that tests share.
fn loose(file: &ComparedFile<'_>, pool: &mut AssertionPool, notes: &mut FileFindings) {
    let (before, after) = (&file.before, &file.after);
    let all = |outline: &Outline| -> usize {
        outline.tests.iter().map(|test| test.assertions.len()).sum::<usize>() + outline.loose.len()
    };
    let is_less = all(after) < all(before) && after.loose.len() < before.loose.len();
    let is_test_code = match (file.role, file.now) {
        (FileRole::Tests, _) | (FileRole::Mixed, FileState::There) => true,
        (FileRole::Mixed, FileState::Empty | FileState::Gone) | (FileRole::Code, _) => false,
    };
    if !is_test_code || !is_less {
        return;
    }
    let fewer = before.loose.len() - after.loose.len();
    notes.removed += pool.misses(&difference(&before.loose, &after.loose)).min(fewer);
}

fn findings_of(file: &ComparedFile<'_>, notes: &FileFindings) -> Vec<TamperFinding> {
    let mut all = Vec::new();
    let mut say = |what: String| all.push(TamperFinding { path: file.path.to_owned(), what });
    let tests = |names: &[String]| count(names.len(), "test", "tests");
    let deleted = &notes.deleted;
    let had = match deleted.len() {
        0 => count(notes.removed, "assertion", "assertions"),
        _ => format!("{}: {}", tests(deleted), list(deleted)),
    };
    match file.now {
        FileState::Gone | FileState::Empty if deleted.is_empty() && notes.removed == 0 => {}
        FileState::Gone => say(format!("test file deleted, with {had}")),
        FileState::Empty => say(format!("test file emptied; it had {had}")),
        FileState::There if deleted.is_empty() => {}
        FileState::There => {
            say(format!("{} deleted: {}", tests(deleted), list(deleted)));
        }
    }
    if !notes.off.is_empty() {
        let off = &notes.off;
        say(format!("{} disabled: {}", tests(off), list(off)));
    }
    if let (Some(only), None, false) =
        (&file.after.only, &file.before.only, file.before.tests.is_empty())
    {
        say(format!("only some of its tests run now: {only}"));
    }
    if !notes.emptied.is_empty() {
        let (empty, verb) = (&notes.emptied, if notes.emptied.len() == 1 { "s" } else { "" });
        say(format!("{} no longer assert{verb} anything: {}", tests(empty), list(empty)));
    }
    if !notes.trivial.is_empty() {
        let number = count(notes.trivial.len(), "assertion", "assertions");
        say(format!("{number} made to pass always: {}", list(&notes.trivial)));
    }
    if notes.removed > 0 && file.now == FileState::There {
        let number = count(notes.removed, "assertion", "assertions");
        let place = match &notes.removed_in[..] {
            [] => String::new(),
            names => format!(" from {}", list(names)),
        };
        say(format!("{number} removed{place}"));
    }
    let lint = &file.after.lint_off;
    // A new file is often generated, and was never linted.
    if !file.is_new && lint.len() > file.before.lint_off.len() {
        let marks = difference(lint, &file.before.lint_off);
        say(format!("a linter disabled for the whole file: {}", list(&marks)));
    }
    all
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn list(names: &[String]) -> String {
    let listed = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// The entries of `these` that `those` lacks, counting duplicates.
fn difference(these: &[String], those: &[String]) -> Vec<String> {
    let mut rest: HashMap<String, usize> = HashMap::new();
    for one in those {
        *rest.entry(one.clone()).or_default() += 1;
    }
    these.iter().filter(|one| !take(&mut rest, one)).cloned().collect()
}

/// Assertions that are new at their position, including moved ones.
#[derive(Default)]
struct AssertionPool {
    in_tests: HashMap<String, usize>,
    /// Assertions outside of tests, which may never run.
    loose: HashMap<String, usize>,
    /// The increase of assertions outside of tests.
    helpers: usize,
    /// The increase of rows in the tests of each file.
    rows: Vec<usize>,
}

impl AssertionPool {
    fn of(files: &[ComparedFile<'_>]) -> Self {
        let mut pool = Self::default();
        for file in files {
            pool.add(file);
        }
        let before: usize = files.iter().map(|file| file.before.loose.len()).sum();
        let after: usize = files.iter().map(|file| file.after.loose.len()).sum();
        pool.helpers = after.saturating_sub(before);
        let gained = |file: &ComparedFile<'_>| file.after.rows.saturating_sub(file.before.rows);
        pool.rows = files.iter().map(gained).collect();
        pool
    }

    fn add(&mut self, file: &ComparedFile<'_>) {
        let mut old: HashMap<&str, &Test> = HashMap::new();
        for test in file.before.tests.iter().rev() {
            old.insert(&test.name, test);
        }
        for test in &file.after.tests {
            let before = old.get(test.name.as_str()).map_or(&[][..], |test| &test.assertions);
            for one in difference(&test.assertions, before) {
                *self.in_tests.entry(one).or_default() += 1;
            }
        }
        for one in difference(&file.after.loose, &file.before.loose) {
            *self.loose.entry(one).or_default() += 1;
        }
    }

    /// The number of these assertions that are missing everywhere.
    fn misses(&mut self, assertions: &[String]) -> usize {
        let mut found = |one: &&String| take(&mut self.in_tests, one) || take(&mut self.loose, one);
        assertions.len() - assertions.iter().filter(|one| found(one)).count()
    }

    /// The number of these assertions that are missing in all tests.
    fn misses_in_tests(&mut self, assertions: &[String]) -> usize {
        let mut found = |one: &&String| take(&mut self.in_tests, one);
        assertions.len() - assertions.iter().filter(|one| found(one)).count()
    }

    /// The missing assertions that no additional assertion in a helper replaces.
    fn without_helpers(&mut self, missing: usize) -> usize {
        let absorbed = missing.min(self.helpers);
        self.helpers -= absorbed;
        missing - absorbed
    }

    /// The missing tests or assertions that no additional row replaces: each row stands for one.
    fn without_rows(&mut self, file: usize, missing: usize) -> usize {
        let absorbed = missing.min(self.rows[file]);
        self.rows[file] -= absorbed;
        missing - absorbed
    }
}

/// Takes one occurrence, if any.
fn take(counts: &mut HashMap<String, usize>, one: &str) -> bool {
    match counts.get_mut(one) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

/// Finds the current test for each earlier one.
fn pair(files: &[ComparedFile<'_>]) -> Pairing {
    let mut pairing = Pairing::default();
    for (index, file) in files.iter().enumerate() {
        by_name_in_file(index, file, &mut pairing);
    }
    by_name_elsewhere(files, &mut pairing);
    by_likeness(files, &mut pairing, SAME_FILE, |one, two| one == two);
    by_likeness(files, &mut pairing, OTHER_FILE, |_, _| true);
    pairing
}

fn by_name_in_file(index: usize, file: &ComparedFile<'_>, pairing: &mut Pairing) {
    let mut now: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, test) in file.after.tests.iter().enumerate().rev() {
        now.entry(&test.name).or_default().push(place);
    }
    let mut is_taken = vec![false; file.after.tests.len()];
    for (place, test) in file.before.tests.iter().enumerate() {
        match now.get_mut(test.name.as_str()).and_then(Vec::pop) {
            Some(same) => {
                is_taken[same] = true;
                pairing.pairs.push(((index, place), (index, same)));
            }
            None => pairing.lost.push((index, place)),
        }
    }
    let free = is_taken.iter().enumerate().filter(|(_, taken)| !**taken);
    pairing.gained.extend(free.map(|(place, _)| (index, place)));
}

fn by_name_elsewhere(files: &[ComparedFile<'_>], pairing: &mut Pairing) {
    let mut gained: HashMap<&str, Vec<TestIndex>> = HashMap::new();
    for at in pairing.gained.iter().rev() {
        gained.entry(&test(files, *at).name).or_default().push(*at);
    }
    let pairs = &mut pairing.pairs;
    pairing.lost.retain(|lost| {
        let name = files[lost.0].before.tests[lost.1].name.as_str();
        match gained.get_mut(name).and_then(Vec::pop) {
            Some(same) => {
                pairs.push((*lost, same));
                false
            }
            None => true,
        }
    });
    pairing.gained = gained.into_values().flatten().collect();
    pairing.gained.sort_unstable();
}

fn by_likeness(
    files: &[ComparedFile<'_>],
    pairing: &mut Pairing,
    enough: usize,
    may: impl Fn(usize, usize) -> bool,
) {
    let mut compared: HashMap<usize, usize> = HashMap::new();
    let (pairs, gained) = (&mut pairing.pairs, &mut pairing.gained);
    pairing.lost.retain(|lost| {
        let tries = compared.entry(lost.0).or_default();
        *tries += 1;
        if *tries > MAX_COMPARED {
            return true;
        }
        let was = &files[lost.0].before.tests[lost.1];
        let from = gained.partition_point(|at| !may(lost.0, at.0) && at.0 < lost.0);
        let best = gained[from..]
            .iter()
            .enumerate()
            .take_while(|(_, at)| may(lost.0, at.0))
            .take(MAX_COMPARED)
            .map(|(place, at)| (was.likeness(test(files, *at)), std::cmp::Reverse(place)))
            .max();
        match best {
            Some((likeness, place)) if likeness >= enough => {
                pairs.push((*lost, gained.remove(from + place.0)));
                false
            }
            _ => true,
        }
    });
}
