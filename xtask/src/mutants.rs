//! `cargo xtask mutants`: bugs planted on purpose, each of which the tests must find.
//!
//! A mutant is a patch in `xtask/mutants` whose first line describes the bug. The tree is copied
//! next to its own build folder, so that only the changes of a patch are compiled. Then the tests
//! run that should find the bug: first those of the machine, then those of the supervisor and the
//! simulated runs. The first test that fails ends the hunt.
//!
//! The prefix of a name selects other tests: `selftest-` runs `nightwright selftest`, `report-` the
//! tests of reports, `attacks-` those of attacks, and `projects-` those with real projects. All
//! mutants together take many minutes, so they are not part of the test command, which only checks
//! that every patch still applies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{self, cargo};
use crate::tidy;

/// The folder with the mutants.
const FOLDER: &str = "xtask/mutants";
/// The number of simulated runs per mutant.
const SEEDS: &str = "600";
/// The exit code of nextest if tests failed.
const TESTS_FAILED: i32 = 100;

/// A bug to plant, read from a patch file.
#[derive(Debug)]
struct Mutant {
    name: String,
    /// The description in the first line of the patch.
    what: String,
    patch: PathBuf,
}

pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<(), String> {
    let mut mutants = all(root)?;
    mutants.retain(|mutant| only.is_none_or(|name| mutant.name == name));
    if mutants.is_empty() {
        return Err(format!("no such mutant in {FOLDER}"));
    }
    let place = root.join("target/mutants");
    let copy = Copy { root, tree: place.join("tree"), build: place.join("build") };
    let mut table = Vec::new();
    for Mutant { name, what, patch } in &mutants {
        eprintln!("==> {name}: {what}");
        let result = copy.restore().and_then(|()| copy.apply(patch)).and_then(|()| copy.hunt(name));
        if let Err(why) = &result {
            eprintln!("{why}");
        }
        table.push((name, result));
    }
    copy.restore()?;

    println!("| mutant | killed by |\n| --- | --- |");
    for (name, result) in &table {
        let by = result.as_ref().map_or("**nothing**".to_owned(), |test| format!("`{test}`"));
        println!("| {name} | {by} |");
    }
    match table.iter().filter(|(_, result)| result.is_err()).count() {
        0 => Ok(()),
        alive => Err(format!("{alive} of {} mutants survived", table.len())),
    }
}

/// Returns all mutants, sorted by name.
fn all(root: &Path) -> Result<Vec<Mutant>, String> {
    let folder = root.join(FOLDER);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("cannot read {FOLDER}: {error}"))?;
    let mut mutants = Vec::new();
    for entry in entries {
        let patch = entry.map_err(|error| format!("cannot read {FOLDER}: {error}"))?.path();
        let text = read(&patch)?;
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let what = text.lines().next().unwrap_or_default().to_owned();
        mutants.push(Mutant { name, what, patch });
    }
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(mutants)
}

/// A copy of the tree in which bugs are planted.
struct Copy<'a> {
    root: &'a Path,
    tree: PathBuf,
    build: PathBuf,
}

impl Copy<'_> {
    /// Synchronizes the copy with the tree. Equal files are not written, because cargo treats a new
    /// modification time as a change.
    fn restore(&self) -> Result<(), String> {
        for path in tidy::paths(self.root)? {
            let (from, to) = (self.root.join(&path), self.tree.join(&path));
            // Git knows the file, but it was deleted.
            let Ok(bytes) = fs::read(&from) else { continue };
            if fs::read(&to).is_ok_and(|there| there == bytes) {
                continue;
            }
            let folder = to.parent().unwrap_or(&self.tree);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&to, bytes))
                .map_err(|error| format!("cannot write {}: {error}", to.display()))?;
        }
        Ok(())
    }

    fn apply(&self, patch: &Path) -> Result<(), String> {
        let mut command = Command::new("git");
        command.arg("apply").arg(patch).current_dir(&self.tree);
        // Inside another repository, Git would look for the files there.
        command.env("GIT_CEILING_DIRECTORIES", self.root.join("target"));
        program::run(command.env_remove("GIT_DIR"))
    }

    /// Returns the first test that finds the bug; an error if none does or the tests cannot run.
    fn hunt(&self, name: &str) -> Result<String, String> {
        for (package, filter) in hunters(name) {
            let mut command = cargo(&self.tree, &["nextest", "run", "--fail-fast", "--package"]);
            command.args([package, "--filterset", filter, "--status-level", "fail"]);
            command.env("CARGO_TARGET_DIR", &self.build).env("NIGHTWRIGHT_SEEDS", SEEDS);
            command.env("RUST_BACKTRACE", "0").env_remove("NIGHTWRIGHT_SEED");
            let output = command
                .output()
                .map_err(|error| format!("cannot start `{}`: {error}", program::shown(&command)))?;
            if output.status.success() {
                continue;
            }
            let said = String::from_utf8_lossy(&output.stderr);
            if output.status.code() == Some(TESTS_FAILED) {
                let test = first_failure(&said).unwrap_or("the end of the whole test program");
                return Ok(test.to_owned());
            }
            return Err(format!("it does not build:\n{}", said.trim_end()));
        }
        Err("no test finds it".to_owned())
    }
}

/// The packages and filters of the tests that should find a bug, in this order.
fn hunters(name: &str) -> Vec<(&'static str, &'static str)> {
    let it = "nightwright";
    match name.split_once('-') {
        Some(("selftest", _)) => vec![(it, "test(/^selftest::every_row/)")],
        Some(("attacks", _)) => vec![(it, "test(/^attacks::/)")],
        Some(("report", _)) => vec![("nightwright-core", "test(/^run_report/)")],
        Some(("hooks", _)) => vec![(it, "test(/^hooks::/)")],
        Some(("projects", _)) => vec![(it, "test(/^projects::/)")],
        Some(_) | None => vec![
            ("nightwright-core", "test(/^machine/)"),
            (it, "test(/^supervisor::/) or test(/^simulation::/)"),
        ],
    }
}

/// Returns the name in the first line such as `FAIL [   0.010s] (1/9) nightwright::it a::b`.
fn first_failure(said: &str) -> Option<&str> {
    let failed =
        |line: &&str| ["FAIL [", "TIMEOUT [", "SIGABRT ["].iter().any(|word| line.contains(word));
    said.lines().find(failed)?.split(' ').next_back()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn every_mutant_still_applies_and_says_what_it_plants() {
        let root = root();
        let mutants = all(&root).unwrap();
        assert!(mutants.len() >= 10, "only {}", mutants.len());
        for Mutant { name, what, patch } in mutants {
            assert!(what.starts_with("Plants: "), "{name}: {what}");
            let mut check = Command::new("git");
            check.args(["apply", "--check"]).arg(patch).current_dir(&root);
            check.env("GIT_CONFIG_GLOBAL", "/dev/null");
            program::stdout(&mut check).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }

    #[test]
    fn the_first_test_that_fails_is_named() {
        let said =
            "  Starting 3 tests\n  FAIL [   0.010s] (2/3) nightwright::it a::c\n  FAIL [ 1s] d\n";
        assert_eq!(first_failure(said), Some("a::c"));
        assert_eq!(first_failure("error: no test ran\n"), None);
    }
}
