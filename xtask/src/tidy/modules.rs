//! Checks that every source file is reachable by `mod` from the root of its crate.
//!
//! The compiler ignores a file that no `mod` names. Such a file is not part of the program, and its
//! tests never run.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::source::{is_name, whole_words};
use super::tree::File;

/// The source folders of the crates, and their root files.
const CRATES: [(&str, &[&str]); 6] = [
    ("crates/nightwright-core/src", &["lib.rs"]),
    ("crates/nightwright-core/tests/recordings", &["main.rs"]),
    ("crates/nightwright-process/src", &["lib.rs"]),
    ("crates/nightwright/src", &["lib.rs", "main.rs"]),
    ("crates/nightwright/tests/it", &["main.rs"]),
    ("xtask/src", &["main.rs"]),
];

pub(super) fn undeclared(files: &[File]) -> Vec<Finding> {
    CRATES.iter().flat_map(|(folder, roots)| undeclared_in(files, folder, roots)).collect()
}

fn undeclared_in(files: &[File], folder: &str, roots: &[&str]) -> Vec<Finding> {
    let inside = format!("{folder}/");
    let sources: BTreeMap<&str, &File> = files
        .iter()
        .filter(|file| file.path.starts_with(&inside) && file.is_rust())
        .map(|file| (file.path.as_str(), file))
        .collect();

    let mut reached: BTreeSet<String> = BTreeSet::new();
    // Pairs of a file and the folder of its modules.
    let mut open: Vec<(String, String)> =
        roots.iter().map(|root| (format!("{inside}{root}"), folder.to_owned())).collect();
    while let Some((path, modules)) = open.pop() {
        let Some(file) = sources.get(path.as_str()) else {
            continue;
        };
        if !reached.insert(path) {
            continue;
        }
        for name in declared(&file.code) {
            let below = format!("{modules}/{name}");
            open.push((format!("{below}.rs"), below));
        }
    }

    let rule = format!("not reachable by `mod` from {inside}{}", roots.join(" or "));
    let why = "the file is not compiled, and its tests never run";
    sources
        .keys()
        .filter(|path| !reached.contains(**path))
        .map(|path| Finding::new(path, 1, rule.as_str(), why))
        .collect()
}

/// Returns the names of the modules that are declared here and have a separate file.
fn declared(code: &str) -> Vec<&str> {
    whole_words(code, "mod ")
        .filter_map(|at| {
            let rest = code[at + "mod ".len()..].trim_start();
            let end = rest.find(|c| !is_name(c))?;
            rest[end..].trim_start().starts_with(';').then_some(&rest[..end])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forgotten(sources: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = sources
            .iter()
            .map(|(path, text)| File::new(&format!("crates/nightwright/tests/it/{path}"), text))
            .collect();
        let folder = "crates/nightwright/tests/it/";
        let paths = undeclared(&files).into_iter().map(|finding| finding.path);
        paths.map(|path| path.strip_prefix(folder).unwrap().to_owned()).collect()
    }

    #[test]
    fn a_test_file_that_main_does_not_name_is_found() {
        let main = ("main.rs", "mod harness;\n// mod limits;\n");
        assert_eq!(forgotten(&[main, ("harness.rs", ""), ("limits.rs", "")]), ["limits.rs"]);
    }

    #[test]
    fn folders_are_followed() {
        let found = forgotten(&[
            ("main.rs", "mod harness;\npub(crate) mod new;"),
            ("harness.rs", ""),
            ("new.rs", "#[cfg(unix)] mod inner;"),
            ("new/inner.rs", "mod deep;"),
            ("new/inner/deep.rs", ""),
            ("new/lost.rs", ""),
            ("inner.rs", ""),
        ]);
        assert_eq!(found, ["inner.rs", "new/lost.rs"]);
    }

    #[test]
    fn a_module_written_in_place_declares_no_file() {
        assert_eq!(forgotten(&[("main.rs", "mod limits { }"), ("limits.rs", "")]), ["limits.rs"]);
    }

    #[test]
    fn without_a_root_every_file_is_forgotten() {
        assert_eq!(forgotten(&[("limits.rs", "")]), ["limits.rs"]);
    }
}
