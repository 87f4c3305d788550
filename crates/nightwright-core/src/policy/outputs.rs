//! Check outputs: which files a check wrote as output, and which are work that it only touched.
//!
//! A coverage report or a build folder changes with every test run, so it says nothing about
//! progress. Source code that a formatter rewrote is still the agent's work. If it did not count, a
//! run that only edits it would end for lack of progress.

use std::collections::BTreeMap;

use crate::tamper;

/// The maximum number of names that are remembered. Further files count as work.
const MAX_OUTPUTS: usize = 200;

/// The number of files above which a new folder counts as a whole, including files added later.
const FOLDER_THRESHOLD: usize = 3;

/// Extensions of text that people write and formatters rewrite, besides source code.
const WRITTEN_BY_HAND: [&str; 8] = ["md", "rst", "css", "scss", "less", "toml", "yaml", "yml"];

/// A file that differs from its state before the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedFile {
    /// The path relative to the project, with `/`.
    pub path: String,
    pub how: TouchKind,
}

/// The effect of the checks on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchKind {
    /// The file did not exist before.
    Created,
    /// The file had other contents.
    Changed,
    /// The file no longer exists.
    Removed,
}

/// The effect of the checks on the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedFiles {
    /// Files that are not work, and folders with a trailing `/`.
    pub outputs: Vec<String>,
    /// The outputs that existed before, and changed.
    pub rewritten: Vec<String>,
    /// Files that still count as work.
    pub changed: Vec<String>,
}

/// Whether an output of a check may be code that later runs. Such a file counts as a change, even
/// though a check wrote it. `commands` are the checks.
pub fn may_be_executed(path: &str, commands: &[String]) -> bool {
    tamper::is_source(path) || tamper::is_protected(path, commands)
}

/// Separates output from work. `files_in` counts the current files in a folder, up to the given
/// number.
pub fn sort(touched: &[TouchedFile], files_in: impl Fn(&str, usize) -> usize) -> TouchedFiles {
    let mut touches = TouchedFiles::default();
    let mut created = Vec::new();
    for TouchedFile { path, how } in touched {
        match how {
            TouchKind::Created => created.push(path.as_str()),
            TouchKind::Changed if !is_written_by_hand(path) => touches.rewritten.push(path.clone()),
            TouchKind::Changed | TouchKind::Removed => touches.changed.push(path.clone()),
        }
    }
    created.sort_unstable();
    touches.outputs.clone_from(&touches.rewritten);
    fold("", &created, &files_in, &mut touches.outputs);
    touches.outputs.sort_unstable();
    touches.outputs.truncate(MAX_OUTPUTS);
    touches
}

/// Whether a file is one of these outputs, or lies in one.
pub fn covers<'a>(outputs: impl IntoIterator<Item = &'a str>, path: &str) -> bool {
    outputs.into_iter().any(|output| match output.strip_suffix('/') {
        Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
        None => output == path,
    })
}

/// Adds the new files below a folder, whose name ends with `/` unless it is the project itself.
fn fold(
    folder: &str,
    created: &[&str],
    files_in: &impl Fn(&str, usize) -> usize,
    outputs: &mut Vec<String>,
) {
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in created {
        match path[folder.len()..].find('/') {
            None => outputs.push((*path).to_owned()),
            Some(end) => folders.entry(&path[..=folder.len() + end]).or_default().push(path),
        }
    }
    for (inner, created) in folders {
        // Nothing in the folder existed before the checks.
        let is_new = files_in(inner, created.len() + 1) == created.len();
        if is_new && created.len() > FOLDER_THRESHOLD {
            outputs.push(inner.to_owned());
        } else {
            fold(inner, &created, files_in, outputs);
        }
    }
}

fn is_written_by_hand(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let is_text = extension.is_some_and(|it| WRITTEN_BY_HAND.contains(&it.as_str()));
    is_text || tamper::is_source(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(paths: &[(&str, TouchKind)]) -> Vec<TouchedFile> {
        paths
            .iter()
            .map(|(path, how)| TouchedFile { path: (*path).to_owned(), how: *how })
            .collect()
    }

    #[test]
    fn files_that_checks_create_or_rewrite_are_output_but_formatted_files_are_work() {
        let touched = touched(&[
            ("coverage.xml", TouchKind::Created),
            ("results.json", TouchKind::Changed),
            ("src/lib.rs", TouchKind::Changed),
            ("README.md", TouchKind::Changed),
            ("src/generated.rs", TouchKind::Created),
            ("old.txt", TouchKind::Removed),
        ]);
        let touches = sort(&touched, |_, _| 9);
        assert_eq!(touches.outputs, ["coverage.xml", "results.json", "src/generated.rs"]);
        assert_eq!(touches.rewritten, ["results.json"]);
        assert_eq!(touches.changed, ["src/lib.rs", "README.md", "old.txt"]);
    }

    #[test]
    fn a_new_folder_with_many_files_is_one_output_and_a_file_in_an_old_one_is_a_file() {
        let paths: Vec<_> = (0..500).map(|n| format!("target/debug/deps/{n}.o")).collect();
        let all: Vec<_> = paths.iter().map(|path| (path.as_str(), TouchKind::Created)).collect();
        let mut all = touched(&all);
        all.extend(touched(&[
            ("out/a.txt", TouchKind::Created),
            ("new/one.txt", TouchKind::Created),
        ]));
        let files_in = |folder: &str, most: usize| match folder {
            "out/" => 2.min(most),
            "new/" => 1,
            _ => 500.min(most),
        };
        let outputs = sort(&all, files_in).outputs;
        assert_eq!(outputs, ["new/one.txt", "out/a.txt", "target/"]);
        let covers = |path| covers(outputs.iter().map(String::as_str), path);
        assert!(covers("target/debug/new.o") && covers("out/a.txt"));
        assert!(!covers("target") && !covers("targets/x") && !covers("out/a.txt.md"));
        assert!(!covers("new/two.txt"), "the agent may work in a folder that a check began");
    }
}
