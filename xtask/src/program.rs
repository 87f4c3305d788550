//! Runs other programs and reports how they failed.

use std::env;
use std::ffi::OsStr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

/// Returns a command for the cargo that runs xtask, in the root of the repository.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    // `CARGO` is the program of the toolchain in use; the one on `PATH` may differ.
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root);
    for (name, _) in env::vars_os().filter(|(name, _)| is_package_variable(name)) {
        command.env_remove(name);
    }
    command
}

/// Whether cargo sets the variable for the package `xtask`. Some build scripts, such as that of
/// `ring`, depend on such variables and would be compiled again whenever xtask and a direct cargo command alternate.
fn is_package_variable(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Runs a program until it exits, with the output of xtask.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status =
        command.status().map_err(|error| format!("cannot start `{}`: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", shown(command))) }
}

/// Runs a program until it exits and returns its stdout. It has no terminal.
pub(crate) fn stdout(command: &mut Command) -> Result<String, String> {
    let Output { status, stdout, stderr } =
        command.output().map_err(|error| format!("cannot start `{}`: {error}", shown(command)))?;
    if !status.success() {
        let text = String::from_utf8_lossy(&stderr);
        return Err(format!("`{}` failed: {status}\n{}", shown(command), text.trim_end()));
    }
    String::from_utf8(stdout)
        .map_err(|_| format!("`{}` printed something that is not UTF-8", shown(command)))
}

/// Returns nextest's option for the number of parallel tests. Most tests wait for processes, disks
/// and deadlines, so two per core finish sooner than one.
pub(crate) fn parallel_tests() -> [String; 2] {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    ["--test-threads".to_owned(), (2 * cores).to_string()]
}

/// Whether the program starts and succeeds; its output is discarded.
pub(crate) fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns the command as a user would type it, with the name of the program instead of its path.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the path of the product that cargo built in this profile.
pub(crate) fn built(root: &Path, profile: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    target.join(profile).join("nightwright")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_what_it_said() {
        let failure = stdout(Command::new("sh").args(["-c", "echo no such luck >&2; exit 3"]));
        let failure = failure.unwrap_err();
        assert!(failure.starts_with("`sh -c "), "{failure}");
        assert!(failure.contains("exit status: 3"), "{failure}");
        assert!(failure.ends_with("no such luck"), "{failure}");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_failure_and_not_a_panic() {
        let mut command = Command::new("no-such-program-anywhere");
        assert!(!works(&mut command));
        assert!(run(&mut command).unwrap_err().contains("cannot start `no-such-program-anywhere`"));
    }
}
