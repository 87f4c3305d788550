//! The rules of the source tree that the compiler does not check.
//!
//! Every rule is a function from text to findings, so that a test can make it fail. Only this file
//! and `tree` read from the disk. All rules run before the findings are printed, so that you see
//! the complete list at once.

mod boundaries;
mod ci;
mod code_map;
mod language;
mod layers;
mod leftovers;
mod length;
mod links;
mod modules;
mod source;
mod tree;

use std::fmt;
use std::path::Path;

use crate::program::{self, cargo};
use tree::File;
pub(crate) use tree::paths;

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let files = tree::read(root)?;
    let arguments =
        ["tree", "--package", "nightwright-core", "--edges", "normal", "--prefix", "none"];
    let core_tree = program::stdout(&mut cargo(root, &arguments));

    report(&findings(&files, &core_tree, |path| root.join(path).exists()))
}

fn report(findings: &[Finding]) -> Result<(), String> {
    for finding in findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err("tidy found 1 problem".to_owned()),
        count => Err(format!("tidy found {count} problems")),
    }
}

fn findings(
    files: &[File],
    core_tree: &Result<String, String>,
    exists: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let mut all = boundaries::core_dependencies(core_tree);
    all.extend(boundaries::core_source(files));
    all.extend(boundaries::run_does_not_print(files));
    all.extend(boundaries::spawning_has_one_home(files));
    all.extend(boundaries::unsafe_code_has_one_home(files));
    all.extend(layers::upward_imports(files));
    all.extend(modules::undeclared(files));
    all.extend(leftovers::unfinished(files));
    all.extend(leftovers::former_name(files));
    all.extend(leftovers::machine_paths(files));
    all.extend(length::too_long(files, &length::ALLOWED));
    all.extend(code_map::wrong_paths(text_of(files, "ARCHITECTURE.md"), &exists));
    all.extend(code_map::missing_modules(text_of(files, "ARCHITECTURE.md"), files));
    all.extend(links::leading_nowhere(files, &exists));
    all.extend(ci::check(text_of(files, ".ci/run")));
    all.extend(language::findings(files));
    all
}

fn text_of<'a>(files: &'a [File], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}

/// A violation of a rule: its place, the rule, and the reason for the rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    rule: String,
    why: String,
}

impl Finding {
    fn new(path: &str, line: usize, rule: impl Into<String>, why: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule: rule.into(), why: why.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, why } = self;
        write!(f, "{path}:{line}: {rule}: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of each rule show that it can fail; this test shows that each rule is called.
    #[test]
    fn every_rule_is_asked() {
        let files = [
            File::new("crates/nightwright-core/src/lib.rs", "use std::fs;"),
            File::new(
                "crates/nightwright/src/lib.rs",
                "mod output;\nmod files;\nmod hex;\nmod app;",
            ),
            File::new("crates/nightwright/src/output.rs", "use crate::runtime::supervisor;"),
            File::new("crates/nightwright/src/files.rs", "fn f() { Command::new(g); todo!() }"),
            File::new("crates/nightwright/src/app.rs", "mod execute;"),
            File::new("crates/nightwright/src/app/execute.rs", "console::eprint_raw(x)"),
            File::new("crates/nightwright/src/hex.rs", "fn f() { unsafe { g() } }"),
            File::new("crates/nightwright/tests/it/forgotten.rs", ""),
            File::new("xtask/src/main.rs", &"\n".repeat(700)),
            File::new("README.md", &format!("in /{}/ann/x", "home")),
            File::new("docs/page.md", "[to](#nothing)"),
            File::new("docs/words.md", "Nobody reads it."),
        ];
        let core_tree = Ok("nightwright-core v0.1.0\ntokio v1.54.0\n".to_owned());
        let mut places: Vec<_> = findings(&files, &core_tree, |_| true)
            .into_iter()
            // This small tree lacks the files that the real one exempts from a rule.
            .filter(|finding| finding.rule != "no exemption needed")
            .map(|finding| format!("{}:{}", finding.path, finding.line))
            .collect();
        places.sort();
        assert_eq!(
            places,
            [
                ".ci/run:1",
                "ARCHITECTURE.md:1",
                "README.md:1",
                "crates/nightwright-core/Cargo.toml:1",
                "crates/nightwright-core/src/lib.rs:1",
                "crates/nightwright/src/app/execute.rs:1",
                "crates/nightwright/src/files.rs:1",
                "crates/nightwright/src/files.rs:1",
                "crates/nightwright/src/hex.rs:1",
                "crates/nightwright/src/output.rs:1",
                "crates/nightwright/tests/it/forgotten.rs:1",
                "docs/page.md:1",
                "docs/words.md:1",
                "xtask/src/main.rs:601",
            ]
        );
    }

    #[test]
    fn a_finding_reads_like_a_compiler_error() {
        let finding = Finding::new("a/b.rs", 7, "no `x` here", "it would do harm");
        assert_eq!(finding.to_string(), "a/b.rs:7: no `x` here: it would do harm");
    }
}
