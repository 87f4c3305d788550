//! The tamper guard: what in the changes since a run began makes passing checks worth less.
//!
//! Every file is outlined by the patterns of its language (`tamper/languages.toml`): its tests, what
//! each asserts, whether it is run. The outlines before and now are compared over all changes, so
//! that what was moved, renamed, reformatted or made a row of a table is nothing. Beside that, files
//! that decide what the checks do (`tamper/checks.toml`) are compared part by part.
//!
//! It reads, it does not understand. Not seen are: an assertion that expects something else now, or
//! whose helper does less; a test whose condition never holds; tests that a macro or a loop makes;
//! what a script does that a check calls; anything in a file whose text is not known, or that is
//! longer than 4 MiB. Comments and strings are left out by what opens and closes them: what
//! only looks like the beginning of a string that may go over lines hides the text up to its next
//! end, or to that of the file.

use std::collections::{HashMap, HashSet};

use crate::input::TamperFinding;

mod checks;
mod compare;
mod invoked_scripts;
mod mask;
mod modules;
mod outline;
mod patterns;
mod shape;

use compare::{ComparedFile, FileState};
use outline::{Outline, outline};
use patterns::{FileRole, PATTERNS};

/// Longer texts are not looked into.
const TEXT_MAX: usize = 4 << 20;

/// More findings say nothing more.
const FINDINGS_MAX: usize = 100;

/// A file before the run and now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// Where, relative to the project, with `/`.
    pub path: String,
    /// At the start of the run.
    pub before: FileSide,
    /// Now.
    pub after: FileSide,
}

/// One side of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSide {
    /// There was no such file.
    Absent,
    /// Its text.
    Text(String),
    /// There was a file, but its text is not known: too large, no text, or no copy was kept.
    Opaque,
}

/// What makes passing checks worth less, in the order of the changes, at most a hundred findings.
/// `commands` are the checks: what they name may decide what they say.
pub fn inspect(changes: &[FileDiff], commands: &[String]) -> Vec<TamperFinding> {
    // Of what is not known on both sides only the change is.
    let is_changed =
        |change: &&FileDiff| change.before != change.after || change.before == FileSide::Opaque;
    let changed = || changes.iter().filter(is_changed);
    let files: Vec<ComparedFile<'_>> = changed().filter_map(file).collect();
    let mut findings = compare::findings(&files);
    findings.extend(modules::findings(&files, changes));
    let appeared: HashSet<&str> = changed()
        .filter(|change| change.before == FileSide::Absent)
        .map(|change| name(&change.path))
        .collect();
    let scripts = invoked_scripts::scripts(commands);
    for change in changed() {
        findings.extend(deleted_unseen(change, &appeared));
        findings.extend(checks::findings(change));
        let Some(finding) = invoked_scripts::finding(change, &scripts) else { continue };
        // Tests that a check runs are compared test by test.
        let has_tests =
            files.iter().any(|file| file.path == change.path && !file.before.tests.is_empty());
        let is_known = findings.iter().any(|finding| finding.path == change.path);
        if !has_tests && !is_known {
            findings.push(finding);
        }
    }
    let order: HashMap<&str, usize> =
        changes.iter().enumerate().map(|(index, change)| (change.path.as_str(), index)).collect();
    findings.sort_by_key(|finding| order.get(finding.path.as_str()).copied());
    findings.truncate(FINDINGS_MAX);
    findings
}

/// Whether a file is source code, by its name.
pub fn is_source(path: &str) -> bool {
    PATTERNS.language(path).is_some()
}

/// Whether a file can decide what the checks say: a test, a definition of checks or CI, or a script
/// that one of these commands runs.
pub fn is_protected(path: &str, commands: &[String]) -> bool {
    PATTERNS.language(path).is_some_and(|(_, role)| role == FileRole::Tests)
        || PATTERNS.checks.iter().any(|check| check.files.is_match(path))
        || invoked_scripts::scripts(commands).contains(path)
}

/// What a file of a known language has of tests, if both its sides are known.
fn file(change: &FileDiff) -> Option<ComparedFile<'_>> {
    let (language, role) = PATTERNS.language(&change.path)?;
    let side = |side: &FileSide| match side {
        FileSide::Absent => Some(Outline::default()),
        FileSide::Text(text) if text.len() <= TEXT_MAX => Some(outline(text, language, role)),
        FileSide::Text(_) | FileSide::Opaque => None,
    };
    let now = match &change.after {
        FileSide::Absent => FileState::Gone,
        FileSide::Text(text) if text.trim().is_empty() => FileState::Empty,
        FileSide::Text(_) | FileSide::Opaque => FileState::There,
    };
    let (before, after) = (side(&change.before)?, side(&change.after)?);
    let is_new = change.before == FileSide::Absent;
    Some(ComparedFile { path: &change.path, role, is_new, before, after, now })
}

/// A test file that is gone, of which only the name is known, and that did not appear elsewhere.
fn deleted_unseen(change: &FileDiff, appeared: &HashSet<&str>) -> Option<TamperFinding> {
    let is_unseen = match &change.before {
        FileSide::Opaque => true,
        FileSide::Text(text) => text.len() > TEXT_MAX,
        FileSide::Absent => false,
    };
    if !is_unseen || change.after != FileSide::Absent || appeared.contains(name(&change.path)) {
        return None;
    }
    let (_, role) = PATTERNS.language(&change.path)?;
    (role == FileRole::Tests).then(|| TamperFinding {
        path: change.path.clone(),
        what: "the test file was deleted".to_owned(),
    })
}

/// The name of a file without its folders.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
