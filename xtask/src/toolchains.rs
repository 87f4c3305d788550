//! The tests with real projects (`it::projects`), and the toolchains of these projects.
//!
//! The packages of the npm and Python projects are installed once, in the versions that the files
//! of the tests pin, so that the tests themselves need no network. A toolchain that cannot be
//! installed here is named, and its projects are skipped; in CI only Go may be missing. A program
//! that is too old fails the test command.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cache;
use crate::program;
use crate::tally::{Needed, Suite};
use crate::tools::{self, Tool};

/// The environment variable for the folder of the toolchains, instead of the cache folder. The
/// tests read it too.
const FOLDER_VARIABLE: &str = "NIGHTWRIGHT_TEST_TOOLCHAINS_DIR";

pub(crate) const SUITE: Suite = Suite { name: "tests with real projects", prefix: "projects::" };

/// The folder with a text file for each project. A test that ran reports the name of that file.
const PROJECTS: &str = "crates/nightwright/tests/it/projects";

/// The project that may be skipped in CI.
const OPTIONAL: &str = "go";

/// The file in a cache folder that names the installed version.
const STAMP: &str = "installed";

const NODE: [Tool; 2] = [
    Tool { program: "node", package: "nodejs", why: "two of the projects are written for it" },
    Tool { program: "npm", package: "npm", why: "it runs their tests" },
];
const PYTHON: [Tool; 1] =
    [Tool { program: "python3", package: "python3", why: "two of the projects are written in it" }];
const C: [Tool; 2] = [
    Tool { program: "make", package: "make", why: "one of the projects is built by it" },
    Tool { program: "cc", package: "gcc", why: "one of the projects is written in C" },
];
const GO: [Tool; 1] =
    [Tool { program: "go", package: "golang-go", why: "one of the projects is written in it" }];

/// The oldest version of a program that the projects work with.
struct Minimum {
    program: &'static str,
    arguments: &'static [&'static str],
    least: Version,
}

/// A major and a minor version number.
type Version = (u32, u32);

const MINIMUMS: [Minimum; 5] = [
    // Required by vite 6 and vitest 3.
    Minimum { program: "node", arguments: &["--version"], least: (18, 0) },
    // Required for version 3 of `package-lock.json`.
    Minimum { program: "npm", arguments: &["--version"], least: (7, 0) },
    // Required by pytest 8.4.
    Minimum { program: "python3", arguments: &["--version"], least: (3, 9) },
    Minimum { program: "cc", arguments: &["-dumpversion"], least: (5, 0) },
    // The version in `go.mod`.
    Minimum { program: "go", arguments: &["version"], least: (1, 18) },
];

const VITEST_PACKAGE: &str =
    include_str!("../../crates/nightwright/tests/it/projects/vitest/package.json");
const VITEST_LOCK: &str =
    include_str!("../../crates/nightwright/tests/it/projects/vitest/package-lock.json");
const PYTEST_REQUIREMENTS: &str =
    include_str!("../../crates/nightwright/tests/it/projects/pytest/requirements.txt");

type Toolchain = (&'static str, fn(&Path) -> Result<(), String>);

const TOOLCHAINS: [Toolchain; 4] = [
    ("C", |_| tools::ensure(&C)),
    ("npm and vitest", |cache| {
        tools::ensure(&NODE)?;
        cache::ensure(&cache.join("vitest"), vitest_works, install_vitest)
    }),
    ("Python and pytest", |cache| {
        tools::ensure(&PYTHON)?;
        cache::ensure(&cache.join("pytest"), pytest_works, install_pytest)
    }),
    ("Go", |_| tools::ensure(&GO)),
];

/// Installs the toolchains and runs the tests.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let cache = match std::env::var_os(FOLDER_VARIABLE) {
        Some(folder) => folder.into(),
        None => cache::folder(|name| std::env::var_os(name))?,
    };
    for (name, ensure) in TOOLCHAINS {
        if let Err(why) = ensure(&cache) {
            eprintln!("skipped: projects with {name}: {why}");
        }
    }
    // The missing programs were reported before.
    for minimum in &MINIMUMS {
        if let Ok(output) = program::stdout(Command::new(minimum.program).args(minimum.arguments)) {
            minimum.accepts(&output)?;
        }
    }
    let needed = Needed::Each(needed_projects(&root.join(PROJECTS))?);
    let ran = Suite::run(SUITE.command(root).env(FOLDER_VARIABLE, &cache))?;
    SUITE.judge(&ran, &needed)
}

/// Returns the projects that have to be tested in CI.
fn needed_projects(folder: &Path) -> Result<BTreeSet<String>, String> {
    let cannot = |error| format!("cannot read `{}`: {error}", folder.display());
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        let project = name.to_str().and_then(|name| name.strip_suffix(".txt"));
        names.extend(project.filter(|name| *name != OPTIONAL).map(str::to_owned));
    }
    Ok(names)
}

impl Minimum {
    /// Checks that the printed version is new enough.
    fn accepts(&self, output: &str) -> Result<(), String> {
        let Self { program, least: (major, minor), .. } = self;
        let output = output.lines().next().unwrap_or_default();
        let (found, needed) = (version(output), format!("{major}.{minor} or newer is needed"));
        match found {
            Some(found) if found >= self.least => Ok(()),
            Some((major, minor)) => Err(format!("`{program}` is {major}.{minor}; {needed}")),
            None => {
                Err(format!("cannot find the version of `{program}` in \"{output}\"; {needed}"))
            }
        }
    }
}

/// Returns the first version number in a string.
fn version(text: &str) -> Option<Version> {
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let mut numbers = text[begin..].split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

fn vitest_works(folder: &Path) -> Result<(), String> {
    stamp_is(folder, VITEST_LOCK)?;
    works(Command::new("node").arg(folder.join("node_modules/vitest/vitest.mjs")).arg("--version"))
}

fn install_vitest(folder: &Path) -> Result<(), String> {
    eprintln!("installing vitest, about 30 MB, once");
    write(&folder.join("package.json"), VITEST_PACKAGE)?;
    write(&folder.join("package-lock.json"), VITEST_LOCK)?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error", "--include=dev"])
        .args(["--include=optional", "--fetch-timeout=60000", "--fetch-retries=2"])
        .current_dir(folder);
    program::run(&mut npm)?;
    write(&folder.join(STAMP), VITEST_LOCK)
}

fn pytest_works(folder: &Path) -> Result<(), String> {
    stamp_is(folder, PYTEST_REQUIREMENTS)?;
    works(Command::new(folder.join("bin/python")).args(["-m", "pytest", "--version"]))
}

fn install_pytest(folder: &Path) -> Result<(), String> {
    eprintln!("installing pytest, about 40 MB, once");
    // Debian has the part of Python that creates virtual environments in a separate package.
    if !program::works(Command::new("python3").args(["-c", "import ensurepip, venv"])) {
        tools::install_package("python3-venv")?;
    }
    program::run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let requirements = folder.join("requirements.txt");
    write(&requirements, PYTEST_REQUIREMENTS)?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements);
    program::run(&mut pip)?;
    write(&folder.join(STAMP), PYTEST_REQUIREMENTS)
}

/// Checks that exactly this version was installed.
fn stamp_is(folder: &Path, wanted: &str) -> Result<(), String> {
    let file = folder.join(STAMP);
    match fs::read_to_string(&file) {
        Ok(text) if text == wanted => Ok(()),
        Ok(_) => Err(format!("`{}` contains other versions", folder.display())),
        Err(error) => Err(format!("cannot read `{}`: {error}", file.display())),
    }
}

fn works(command: &mut Command) -> Result<(), String> {
    program::stdout(command).map(|_| ())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("cannot write `{}`: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_pinned() {
        for line in PYTEST_REQUIREMENTS.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.contains("=="), "{line}");
        }
        let wanted = VITEST_PACKAGE.split_once("\"vitest\": \"").unwrap().1;
        let wanted = wanted.split('"').next().unwrap();
        assert!(wanted.split('.').all(|part| part.parse::<u32>().is_ok()), "{wanted}");
        assert!(VITEST_LOCK.contains(&format!("\"vitest\": \"{wanted}\"")), "{wanted}");
    }

    #[test]
    fn a_program_that_is_too_old_is_named_with_what_was_found_and_what_is_needed() {
        let of = |program| MINIMUMS.iter().find(|minimum| minimum.program == program).unwrap();
        for (program, output) in [
            ("node", "v20.20.2\n"),
            ("npm", "11.19.1"),
            ("python3", "Python 3.11.7"),
            ("cc", "12"),
            ("go", "go version go1.19.8 linux/amd64"),
        ] {
            assert_eq!(of(program).accepts(output), Ok(()), "{program}");
        }
        let old = of("python3").accepts("Python 3.8.20").unwrap_err();
        assert_eq!(old, "`python3` is 3.8; 3.9 or newer is needed");
        let unknown = of("node").accepts("no idea").unwrap_err();
        assert!(unknown.contains("cannot find the version"), "{unknown}");
    }

    #[test]
    fn every_project_but_the_one_for_go_has_to_run_in_ci() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let needed = needed_projects(&root.join(PROJECTS)).unwrap();
        assert!(needed.contains("rust_library") && needed.contains("make_c"), "{needed:?}");
        assert!(!needed.contains(OPTIONAL));
    }

    #[test]
    fn other_versions_are_not_taken_for_the_right_ones() {
        let folder = tempfile::tempdir().unwrap();
        let missing = stamp_is(folder.path(), "1").unwrap_err();
        write(&folder.path().join(STAMP), "1").unwrap();
        let other = stamp_is(folder.path(), "2").unwrap_err();
        assert_eq!(stamp_is(folder.path(), "1"), Ok(()));
        assert!(missing.contains("cannot read") && other.contains("other versions"));
    }
}
