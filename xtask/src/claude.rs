//! The tests that use the real agent program, and the program itself. It is installed once, in the
//! version that the tests expect, and never in the tree.
//!
//! If it cannot be installed, the step reports that and passes, because contributors do not need
//! the program. In CI it is required, so the tests that ran are counted.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache;
use crate::program;
use crate::tally::{Needed, Suite};
use crate::tools::{self, Tool};

/// The expected version, from a file that the tests read too.
const VERSION: &str = include_str!("../../crates/nightwright/tests/it/real/version");
const PACKAGE: &str = "@anthropic-ai/claude-code";

/// The environment variable for the folder of the program, instead of the cache folder.
const FOLDER_VARIABLE: &str = "NIGHTWRIGHT_TEST_CLAUDE_DIR";

pub(crate) const SUITE: Suite =
    Suite { name: "tests with the real agent program", prefix: "real::" };

/// The minimum number of tests that have to run in CI.
const MIN_TESTS: usize = 20;

const INSTALLERS: [Tool; 2] = [
    Tool { program: "node", package: "nodejs", why: "npm runs on it" },
    Tool { program: "npm", package: "npm", why: "the real agent program is in its registry" },
];

const ISOLATORS: [Tool; 2] = [
    Tool { program: "unshare", package: "util-linux", why: "it creates a network namespace" },
    Tool { program: "ip", package: "iproute2", why: "it brings up loopback in the namespace" },
];

/// The arguments for a network namespace, as root and as another user.
const NAMESPACES: [&[&str]; 2] = [&["--net"], &["--map-current-user", "--keep-caps", "--net"]];
const LOOPBACK: &str = "ip link set lo up && exec \"$@\"";

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let installed = folder(|name| std::env::var_os(name)).and_then(|folder| {
        cache::ensure(&folder, check, install)?;
        Ok(folder)
    });
    let ran = match installed {
        Ok(folder) => {
            let mut command = alone(&SUITE.command(root));
            Suite::run(command.env(FOLDER_VARIABLE, folder))?
        }
        Err(why) => {
            eprintln!("skipped: real CLI tests: {why}");
            BTreeSet::new()
        }
    };
    SUITE.judge(&ran, &Needed::AtLeast(MIN_TESTS))
}

/// Returns the same command in an isolated network namespace. Without one, only a nonexistent proxy
/// prevents the program from contacting other machines.
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
        eprintln!(
            "cannot create a network namespace; the real agent program only gets a dead proxy"
        );
        Command::new(command.get_program())
    };
    outer.args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    outer
}

/// Returns the folder of the program, whether it is installed or not.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    if let Some(folder) = variable(FOLDER_VARIABLE) {
        return Ok(folder.into());
    }
    Ok(cache::folder(variable)?.join(format!("claude-code-{}", VERSION.trim())))
}

fn install(folder: &Path) -> Result<(), String> {
    tools::ensure(&INSTALLERS)?;
    let version = VERSION.trim();
    eprintln!("installing {PACKAGE} {version}, about 400 MB, once");
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"])
        // An install script of an optional package puts the program in place.
        .args(["--ignore-scripts=false", "--include=optional"])
        .args(["--fetch-timeout=60000", "--fetch-retries=2"])
        .arg("--prefix")
        .arg(folder)
        // Without a version, an older Node silently installs an older program.
        .arg(format!("{PACKAGE}@{version}"))
        .current_dir(folder);
    program::run(&mut npm)
}

/// Checks that the program is complete and has the expected version.
fn check(folder: &Path) -> Result<(), String> {
    let program = folder.join("node_modules/.bin/claude");
    let output = program::stdout(Command::new(program).arg("--version"))?;
    let version = VERSION.trim();
    if output.split_whitespace().next() == Some(version) {
        Ok(())
    } else {
        Err(format!("the installed version is {}, not {version}", output.trim()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        let home = ("HOME", "/h");
        let name = format!("/h/.cache/nightwright-tests/claude-code-{}", VERSION.trim());
        assert_eq!(found(&[home]), Ok(PathBuf::from(name)));
        assert_eq!(found(&[home, (FOLDER_VARIABLE, "/own")]), Ok(PathBuf::from("/own")));
        assert!(found(&[]).is_err());
    }

    #[test]
    fn a_program_of_another_version_or_none_is_not_the_one() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("claude");
        assert!(check(&folder).unwrap_err().contains("cannot start"));
        let program = folder.join("node_modules/.bin/claude");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let says = |text: &str| {
            fs::write(&program, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
            program::run(Command::new("chmod").arg("+x").arg(&program)).unwrap();
            check(&folder)
        };
        let older = says("2.1.197 (Claude Code)");
        let right = says(&format!("{} (Claude Code)", VERSION.trim()));
        assert!(older.unwrap_err().contains("2.1.197"));
        assert_eq!(right, Ok(()));
    }
}
