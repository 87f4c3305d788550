//! The tests that use the real agent program, and the program itself: installed once, in the
//! version that they are about, and never in the tree.
//!
//! Where it can't be had the step says so and passes, so that nobody needs it to work on nightwright.
//! In CI it has to be there: the tests leave a file each when they are done, and these are counted,
//! because a suite that skips itself looks just like one that passes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{self, cargo};
use crate::tools::{self, Tool};

/// The file that names the version; the tests read it too.
const VERSION: &str = include_str!("../../crates/nightwright/tests/it/real/version");
const PACKAGE: &str = "@anthropic-ai/claude-code";

/// Says where the program is or should be, in place of the cache folder.
const FOLDER_VARIABLE: &str = "NIGHTWRIGHT_TEST_CLAUDE_DIR";
/// Tells the tests where to leave a file each.
const TALLY_VARIABLE: &str = "NIGHTWRIGHT_TEST_TALLY";

/// In CI at least so many of the tests have to be really made.
const LEAST: usize = 18;

/// The tests, in the words of nextest and of libtest.
pub(crate) const FILTER: &str = "package(nightwright) and test(/^real::/)";
pub(crate) const PREFIX: &str = "real::";

const INSTALLERS: [Tool; 2] = [
    Tool { program: "node", package: "nodejs", why: "npm runs on it" },
    Tool { program: "npm", package: "npm", why: "the real agent program comes from its registry" },
];

const ISOLATORS: [Tool; 2] = [
    Tool { program: "unshare", package: "util-linux", why: "it makes a network namespace" },
    Tool { program: "ip", package: "iproute2", why: "it brings up loopback in that" },
];

/// A network namespace as root, and as anybody else.
const NAMESPACES: [&[&str]; 2] = [&["--net"], &["--map-current-user", "--keep-caps", "--net"]];
const LOOPBACK: &str = "ip link set lo up && exec \"$@\"";

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let is_ci = std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1"));
    let made = match folder(|name| std::env::var_os(name)).and_then(|folder| {
        ensure(&folder)?;
        Ok(folder)
    }) {
        Ok(folder) => make(root, &folder)?,
        Err(why) => {
            eprintln!("skipped: real CLI tests: {why}");
            0
        }
    };
    enough(made, is_ci)
}

fn enough(made: usize, is_ci: bool) -> Result<(), String> {
    eprintln!("real CLI tests: {made} made");
    if is_ci && made < LEAST {
        return Err(format!(
            "only {made} tests with the real agent program were made; in CI it has to be {LEAST}"
        ));
    }
    Ok(())
}

/// Makes the tests; says how many really were.
fn make(root: &Path, folder: &Path) -> Result<usize, String> {
    let tally = std::env::temp_dir().join(format!("nightwright-tally-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("can't use `{}`: {error}", tally.display());
    fs::create_dir(&tally).map_err(failed)?;
    let result =
        program::run(alone(&suite(root)).env(FOLDER_VARIABLE, folder).env(TALLY_VARIABLE, &tally));
    let made = fs::read_dir(&tally).map_err(failed)?.count();
    fs::remove_dir_all(&tally).map_err(failed)?;
    result.map(|()| made)
}

fn suite(root: &Path) -> Command {
    if program::works(&mut cargo(root, &["nextest", "--version"])) {
        let run = ["nextest", "run", "--workspace", "--test", "it", "--no-fail-fast"];
        let mut command = cargo(root, &run);
        command.args(["--filterset", FILTER]);
        command
    } else {
        cargo(root, &["test", "--workspace", "--test", "it", PREFIX])
    }
}

/// The same command in a network where nobody else is. Without one only a proxy that does not
/// exist keeps the program from asking other machines for whatever it likes to know.
fn alone(command: &Command) -> Command {
    let within = |arguments: &[&str]| {
        let mut outer = Command::new("unshare");
        outer.args(arguments).args(["--", "sh", "-c", LOOPBACK, "sh"]);
        outer
    };
    let wanted = tools::ensure(&ISOLATORS);
    let found = NAMESPACES.iter().find(|way| program::works(within(way).arg("true")));
    let mut outer = if let (Ok(()), Some(way)) = (wanted, found) {
        let mut outer = within(way);
        outer.arg(command.get_program());
        outer
    } else {
        eprintln!("the real agent program gets no network namespace here, only a dead proxy");
        Command::new(command.get_program())
    };
    outer.args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    outer
}

/// Where the program is or should be.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    if let Some(folder) = variable(FOLDER_VARIABLE) {
        return Ok(folder.into());
    }
    let cache = variable("XDG_CACHE_HOME").filter(|cache| !cache.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
    let cache = cache.ok_or("there is no home folder, and so no cache folder")?;
    Ok(cache.join(format!("nightwright-tests/claude-code-{}", VERSION.trim())))
}

/// Looks first, and installs only if it is not there.
fn ensure(folder: &Path) -> Result<(), String> {
    if check(folder).is_ok() {
        return Ok(());
    }
    tools::ensure(&INSTALLERS)?;
    let cannot = |what: &Path, error| format!("can't use `{}`: {error}", what.display());
    let parent = folder.parent().ok_or("the folder for it has no name")?;
    fs::create_dir_all(parent).map_err(|error| cannot(parent, error))?;
    // Another test command on this machine may be about to do the same.
    let lock = parent.join(".lock");
    let guard = File::create(&lock).map_err(|error| cannot(&lock, error))?;
    guard.lock().map_err(|error| cannot(&lock, error))?;
    if check(folder).is_ok() {
        return Ok(());
    }
    let mut name = folder.file_name().ok_or("the folder for it has no name")?.to_owned();
    name.push(".installing");
    let aside = parent.join(name);
    remove(&aside)?;
    install(&aside)?;
    check(&aside)?;
    remove(folder)?;
    fs::rename(&aside, folder).map_err(|error| cannot(folder, error))
}

/// Into a folder beside the one that counts: whatever interrupts it leaves nothing half done there.
fn install(folder: &Path) -> Result<(), String> {
    let version = VERSION.trim();
    eprintln!("installing {PACKAGE} {version}, some 400 MB, once");
    fs::create_dir_all(folder)
        .map_err(|error| format!("can't make `{}`: {error}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"])
        // It puts the program into its place by a script, and takes it from an optional package.
        .args(["--ignore-scripts=false", "--include=optional"])
        .args(["--fetch-timeout=60000", "--fetch-retries=2"])
        .arg("--prefix")
        .arg(folder)
        // Without a version an older Node silently gets an older program.
        .arg(format!("{PACKAGE}@{version}"))
        .current_dir(folder);
    program::run(&mut npm)
}

/// Whether the program is there, whole, and the one that is wanted.
fn check(folder: &Path) -> Result<(), String> {
    let program = folder.join("node_modules/.bin/claude");
    let said = program::stdout(Command::new(program).arg("--version"))?;
    let version = VERSION.trim();
    if said.split_whitespace().next() == Some(version) {
        Ok(())
    } else {
        Err(format!("it says that it is {}, not {version}", said.trim()))
    }
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("can't remove `{}`: {error}", folder.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(set: &[(&str, &str)]) -> Result<PathBuf, String> {
        folder(|name| set.iter().find(|(there, _)| *there == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_version_is_a_plain_number() {
        let parts: Vec<_> = VERSION.trim().split('.').map(str::parse::<u32>).collect();
        assert!(parts.len() == 3 && parts.iter().all(Result::is_ok), "{VERSION:?}");
    }

    #[test]
    fn the_folder_is_the_one_named_or_in_the_cache() {
        let name = format!("nightwright-tests/claude-code-{}", VERSION.trim());
        let home = ("HOME", "/h");
        assert_eq!(found(&[home]), Ok(Path::new("/h/.cache").join(&name)));
        assert_eq!(found(&[home, ("XDG_CACHE_HOME", "")]), Ok(Path::new("/h/.cache").join(&name)));
        assert_eq!(found(&[home, ("XDG_CACHE_HOME", "/c")]), Ok(Path::new("/c").join(&name)));
        assert_eq!(found(&[home, (FOLDER_VARIABLE, "/own")]), Ok(PathBuf::from("/own")));
        assert!(found(&[]).is_err());
    }

    #[test]
    fn in_ci_too_few_tests_are_a_failure_and_elsewhere_they_are_not() {
        assert!(enough(LEAST - 1, true).unwrap_err().contains("only 17"));
        assert_eq!(enough(LEAST, true), Ok(()));
        assert_eq!(enough(0, false), Ok(()));
    }

    #[test]
    fn a_program_of_another_version_or_none_is_not_the_one() {
        let folder = std::env::temp_dir().join(format!("nightwright-check-{}", std::process::id()));
        assert!(check(&folder).unwrap_err().contains("can't start"));
        let program = folder.join("node_modules/.bin/claude");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let says = |text: &str| {
            fs::write(&program, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
            program::run(Command::new("chmod").arg("+x").arg(&program)).unwrap();
            check(&folder)
        };
        let older = says("2.1.197 (Claude Code)");
        let right = says(&format!("{} (Claude Code)", VERSION.trim()));
        remove(&folder).unwrap();
        assert!(older.unwrap_err().contains("2.1.197"));
        assert_eq!(right, Ok(()));
    }
}
