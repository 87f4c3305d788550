//! Test files that are no longer included: they still exist, but do not run.

use std::collections::HashSet;

use super::compare::ComparedFile;
use super::patterns::{FileRole, PATTERNS};
use super::{FileDiff, FileSide, name};
use crate::input::TamperFinding;

/// Finds modules that are no longer included although their files still exist.
pub(super) fn findings(files: &[ComparedFile<'_>], changes: &[FileDiff]) -> Vec<TamperFinding> {
    let gone: HashSet<&str> = changes
        .iter()
        .filter(|change| change.after == FileSide::Absent)
        .filter_map(|change| module(&change.path))
        .collect();
    let gained: HashSet<&str> = files.iter().flat_map(|file| new(file)).collect();
    let finding = |file: &ComparedFile<'_>, part: &str| {
        let what = format!("no longer includes the tests in `{part}`");
        TamperFinding { path: file.path.to_owned(), what }
    };
    files
        .iter()
        .flat_map(|file| lost(file).map(move |part| (file, part)))
        .filter(|(_, part)| !gone.contains(part) && !gained.contains(part))
        .filter(|(file, part)| has_tests(file, part))
        .map(|(file, part)| finding(file, part))
        .collect()
}

/// The name by which another file includes this one.
fn module(path: &str) -> Option<&str> {
    let (stem, _) = name(path).rsplit_once('.')?;
    match stem {
        "mod" => path.rsplit('/').nth(1),
        stem => Some(stem),
    }
}

fn lost<'a>(file: &'a ComparedFile<'_>) -> impl Iterator<Item = &'a str> {
    without(&file.before.parts, &file.after.parts)
}

fn new<'a>(file: &'a ComparedFile<'_>) -> impl Iterator<Item = &'a str> {
    without(&file.after.parts, &file.before.parts)
}

fn without<'a>(these: &'a [String], those: &'a [String]) -> impl Iterator<Item = &'a str> {
    let those: HashSet<&str> = those.iter().map(String::as_str).collect();
    these.iter().map(String::as_str).filter(move |one| !those.contains(one))
}

/// Whether a module contains tests, by the including file or by its name.
fn has_tests(file: &ComparedFile<'_>, part: &str) -> bool {
    let Some((language, _)) = PATTERNS.language(file.path) else { return false };
    let is_root = file.role == FileRole::Tests && language.part_roots.is_match(file.path);
    is_root || language.part_tests.iter().any(|tests| tests.is_match(part))
}
