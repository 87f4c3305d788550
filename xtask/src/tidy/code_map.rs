//! Checks that the paths in the code map of `ARCHITECTURE.md` exist, and that the map names every
//! module of the crates.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::File;

const PAGE: &str = "ARCHITECTURE.md";

/// The folders that a path of the page may be relative to.
const ROOTS: [&str; 4] = [
    "",
    "crates/nightwright-core/src/",
    "crates/nightwright-process/src/",
    "crates/nightwright/src/",
];

/// Checks every path that the page has in backticks or in a folder tree.
pub(super) fn wrong_paths(page: Option<&str>, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let Some(text) = page else {
        let why = "newcomers start there";
        return vec![Finding::new(PAGE, 1, format!("{PAGE} is missing"), why)];
    };
    let named = named_paths(text);
    if named.is_empty() {
        let why = "a code map has paths such as `crates/nightwright/src` in backticks";
        return vec![Finding::new(PAGE, 1, "the page names no path", why)];
    }
    named
        .into_iter()
        .filter(|(_, path)| {
            let found =
                |root| exists(&format!("{root}{path}")) || exists(&format!("{root}{path}.rs"));
            !ROOTS.into_iter().any(found)
        })
        .map(|(line, path)| {
            let why = "fix or remove the path";
            Finding::new(PAGE, line, format!("`{path}` does not exist"), why)
        })
        .collect()
}

/// Checks that the page names every module at the top of a crate that it maps.
pub(super) fn missing_modules(page: Option<&str>, files: &[File]) -> Vec<Finding> {
    let named: BTreeSet<String> =
        named_paths(page.unwrap_or_default()).into_iter().map(|(_, path)| path).collect();
    let crates: BTreeSet<_> = named.iter().filter(|path| path.ends_with("/src")).collect();
    let modules: BTreeSet<_> = files.iter().filter_map(|file| module(&file.path)).collect();
    modules
        .into_iter()
        .filter(|(source, name)| {
            crates.iter().any(|known| *known == source) && !named.contains(name)
        })
        .map(|(_, path)| {
            let why = "add it to the code map";
            Finding::new(PAGE, 1, format!("the page does not name `{path}`"), why)
        })
        .collect()
}

/// Returns the source folder of a crate, and the module at its top that contains the file.
fn module(path: &str) -> Option<(String, String)> {
    let (folder, rest) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let name = rest.split('/').next()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    let source = format!("crates/{folder}/src");
    let module = format!("{source}/{name}");
    (!["lib", "main"].contains(&name)).then_some((source, module))
}

/// Returns the paths in backticks and the entries of folder trees.
fn named_paths(text: &str) -> Vec<(usize, String)> {
    let begins_tree = |path: &str| path.starts_with("crates/") || path.starts_with("xtask");
    let mut named = Vec::new();
    let mut in_block = false;
    let mut folder = None;
    for (text, line) in text.lines().zip(1..) {
        if text.starts_with("```") {
            in_block = !in_block;
            folder = None;
        } else if !in_block {
            // Every second piece is between backticks.
            let quoted = text.split('`').skip(1).step_by(2);
            named.extend(quoted.filter(|path| is_path(path)).map(|path| (line, path.to_owned())));
        } else if let Some(path) = text.split(' ').next().filter(|path| begins_tree(path)) {
            named.push((line, path.to_owned()));
            folder = Some(path);
        } else if let (Some(folder), Some(entry)) = (folder, text.strip_prefix("  ")) {
            let names = entry.split("  ").next().unwrap_or_default().split(' ');
            named.extend(names.map(|name| (line, format!("{folder}/{name}"))));
        }
    }
    named
}

/// Whether a text in backticks is a path of the repository, such as `output/follow`.
fn is_path(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    text.contains('/') && !text.starts_with(['/', '.']) && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_is_found_with_its_line() {
        let page =
            "# Map\n`crates/a` and `crates/gone/`\n\n`xtask/src/gone.rs`, `a / b`, crates/y\n";
        let findings = wrong_paths(Some(page), |path| path == "crates/a");
        let found: Vec<_> =
            findings.iter().map(|finding| (finding.line, finding.rule.as_str())).collect();
        assert_eq!(
            found,
            [(2, "`crates/gone/` does not exist"), (4, "`xtask/src/gone.rs` does not exist")]
        );
    }

    #[test]
    fn a_module_that_the_tree_does_not_name_is_found() {
        let page = "```text\ncrates/a/src   all\n  here  what it is\n```\n";
        let files =
            ["a/src/lib.rs", "a/src/here/b.rs", "a/src/lost.rs", "b/src/c.rs", "a/tests/d.rs"];
        let files = files.map(|path| File::new(&format!("crates/{path}"), ""));
        let findings = missing_modules(Some(page), &files);
        let found: Vec<_> = findings.iter().map(|found| found.rule.as_str()).collect();
        assert_eq!(found, ["the page does not name `crates/a/src/lost`"]);
    }

    #[test]
    fn a_path_may_be_relative_to_any_crate() {
        let page = "`output/follow` and `output/gone`, `/tmp/x`\n";
        let exists = |path: &str| path == "crates/nightwright/src/output/follow.rs";
        let findings = wrong_paths(Some(page), exists);
        let found: Vec<_> = findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(found, ["`output/gone` does not exist"]);
    }

    #[test]
    fn a_missing_page_is_found() {
        assert_eq!(wrong_paths(None, |_| true)[0].rule, "ARCHITECTURE.md is missing");
    }

    #[test]
    fn a_page_without_any_path_is_found() {
        assert_eq!(wrong_paths(Some("# Map\n"), |_| true)[0].rule, "the page names no path");
    }

    #[test]
    fn the_entries_of_a_tree_are_files_or_folders() {
        let page = "```text\ncrates/a/src   all\n  here gone  what they are\n```\n  none here\n";
        let exists = |path: &str| ["crates/a/src", "crates/a/src/here.rs"].contains(&path);
        let findings = wrong_paths(Some(page), exists);
        let found: Vec<_> =
            findings.iter().map(|found| (found.line, found.rule.as_str())).collect();
        assert_eq!(found, [(3, "`crates/a/src/gone` does not exist")]);
    }
}
