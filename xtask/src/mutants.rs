//! `cargo xtask mutants-must-die`: errors planted on purpose, each of which the tests must find.
//!
//! A mutant is a patch in `xtask/mutants`, whose first line says what it plants. The tree is copied
//! beside its own build folder, so that only what a patch changes is built anew, and the tests that
//! should find the error are run: first the machine's own, then the supervisor's and the simulated
//! runs. One whose name begins with `selftest-` has to be found by `nightwright selftest`, one that begins
//! with `report-` by the tests of what tells of a run, one that begins with `projects-` by those
//! with real projects, and nothing else is asked. It takes minutes, and so it is no part of the test command; only that every patch
//! still applies is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{self, cargo};
use crate::tidy;

/// Where the mutants are.
const FOLDER: &str = "xtask/mutants";
/// Simulated runs for each.
const SEEDS: &str = "600";

/// An error to plant.
#[derive(Debug)]
struct Mutant {
    name: String,
    /// What it plants.
    what: String,
    patch: PathBuf,
}

pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<(), String> {
    let mut mutants = all(root)?;
    mutants.retain(|mutant| only.is_none_or(|name| mutant.name == name));
    if mutants.is_empty() {
        return Err(format!("there is no such mutant in {FOLDER}"));
    }
    let place = root.join("target/mutants");
    let copy = Copy { root, tree: place.join("tree"), build: place.join("build") };
    let mut table = Vec::new();
    for Mutant { name, what, patch } in &mutants {
        eprintln!("==> {name}: {what}");
        let fate = copy.restore().and_then(|()| copy.apply(patch)).and_then(|()| copy.hunt(name));
        if let Err(why) = &fate {
            eprintln!("{why}");
        }
        table.push((name, fate));
    }
    copy.restore()?;

    println!("| mutant | killed by |\n| --- | --- |");
    for (name, fate) in &table {
        let by = fate.as_ref().map_or("**nothing**".to_owned(), |test| format!("`{test}`"));
        println!("| {name} | {by} |");
    }
    match table.iter().filter(|(_, fate)| fate.is_err()).count() {
        0 => Ok(()),
        alive => Err(format!("{alive} of {} mutants live", table.len())),
    }
}

/// All mutants, by name.
fn all(root: &Path) -> Result<Vec<Mutant>, String> {
    let folder = root.join(FOLDER);
    let entries = fs::read_dir(&folder).map_err(|error| format!("can't read {FOLDER}: {error}"))?;
    let mut mutants = Vec::new();
    for entry in entries {
        let patch = entry.map_err(|error| format!("can't read {FOLDER}: {error}"))?.path();
        let text = read(&patch)?;
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let what = text.lines().next().unwrap_or_default().to_owned();
        mutants.push(Mutant { name, what, patch });
    }
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(mutants)
}

/// A copy of the tree in which errors can be planted.
struct Copy<'a> {
    root: &'a Path,
    tree: PathBuf,
    build: PathBuf,
}

impl Copy<'_> {
    /// Makes the copy what the tree is. Files that are the same are left alone: cargo would take a
    /// new time for a change.
    fn restore(&self) -> Result<(), String> {
        for path in tidy::paths(self.root)? {
            let (from, to) = (self.root.join(&path), self.tree.join(&path));
            // Known to git and deleted since.
            let Ok(bytes) = fs::read(&from) else { continue };
            if fs::read(&to).is_ok_and(|there| there == bytes) {
                continue;
            }
            let folder = to.parent().unwrap_or(&self.tree);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&to, bytes))
                .map_err(|error| format!("can't write {}: {error}", to.display()))?;
        }
        Ok(())
    }

    fn apply(&self, patch: &Path) -> Result<(), String> {
        let mut command = Command::new("git");
        command.arg("apply").arg(patch).current_dir(&self.tree);
        // Inside another repository git would look for the files there.
        command.env("GIT_CEILING_DIRECTORIES", self.root.join("target"));
        program::run(command.env_remove("GIT_DIR"))
    }

    /// The first test that finds the error; an error if none does, or none can be run.
    fn hunt(&self, name: &str) -> Result<String, String> {
        let core: &[&str] = &["test", "--package", "nightwright-core", "--lib", "machine"];
        let whole: &[&str] = &[
            "test",
            "--package",
            "nightwright",
            "--test",
            "it",
            "--",
            "supervisor::",
            "simulation::",
        ];
        let night: &[&str] =
            &["test", "--package", "nightwright", "--test", "it", "--", "selftest::every_row"];
        let hooks: &[&str] = &["test", "--package", "nightwright", "--test", "it", "--", "hooks::"];
        let projects: &[&str] =
            &["test", "--package", "nightwright", "--test", "it", "--", "projects::"];
        let pages: &[&str] = &["test", "--package", "nightwright-core", "--lib", "chronicle"];
        let hunters = match name.split_once('-') {
            Some(("selftest", _)) => vec![night],
            Some(("report", _)) => vec![pages],
            Some(("hooks", _)) => vec![hooks],
            Some(("projects", _)) => vec![projects],
            Some(_) | None => vec![core, whole],
        };
        for arguments in hunters {
            let mut command = cargo(&self.tree, arguments);
            command.env("CARGO_TARGET_DIR", &self.build).env("NIGHTWRIGHT_SEEDS", SEEDS);
            command.env("RUST_BACKTRACE", "0").env_remove("NIGHTWRIGHT_SEED");
            let output = command
                .output()
                .map_err(|error| format!("can't start `{}`: {error}", program::shown(&command)))?;
            if output.status.success() {
                continue;
            }
            let said = String::from_utf8_lossy(&output.stdout);
            if said.contains("running ") {
                let test = first_failure(&said).unwrap_or("the end of the whole test program");
                return Ok(test.to_owned());
            }
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("it does not build:\n{}", why.trim_end()));
        }
        Err("no test finds it".to_owned())
    }
}

/// The name in the first line such as `test a::b ... FAILED`.
fn first_failure(said: &str) -> Option<&str> {
    said.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("can't read {}: {error}", path.display()))
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
            program::stdout(&mut check).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }

    #[test]
    fn the_first_test_that_fails_is_named() {
        let said = "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest d ... FAILED\n";
        assert_eq!(first_failure(said), Some("a::c"));
        assert_eq!(first_failure("running 1 test\n"), None);
    }
}
