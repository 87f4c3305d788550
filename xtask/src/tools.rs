//! Installs the programs that the tests need besides Rust, if they are missing.
//!
//! A new Debian machine with Rust is enough to run the test command. On other systems the programs
//! have to be installed already, and the error names the missing ones. The real agent program is
//! optional (see `claude`).

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::program;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    /// The name of the Debian package.
    pub(crate) package: &'static str,
    pub(crate) why: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { program: "git", package: "git", why: "nightwright uses it on real repositories" },
    Tool { program: "tmux", package: "tmux", why: "the terminal tests run in it" },
    Tool { program: "bwrap", package: "bubblewrap", why: "the sandbox tests run programs in it" },
    Tool { program: "chromium", package: "chromium", why: "the report tests open pages in it" },
    Tool {
        program: "systemd-analyze",
        package: "systemd",
        why: "the service tests validate units with it",
    },
];

/// Installs the programs that every test command needs.
pub(crate) fn ensure_tools() -> Result<(), String> {
    ensure(TOOLS)
}

/// Installs only missing programs, so that repeated calls are fast.
pub(crate) fn ensure(tools: &[Tool]) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = missing(tools, &path);
    if missing.is_empty() {
        return Ok(());
    }
    for tool in &missing {
        eprintln!("`{}` is missing: {}", tool.program, tool.why);
    }
    install(&missing, &path)
        .map_err(|failure| format!("{failure}\nhint: install by hand: {}", names(&missing)))
}

fn install(tools: &[Tool], path: &OsStr) -> Result<(), String> {
    let packages: Vec<_> = tools.iter().map(|tool| tool.package).collect();
    install_packages(&packages, path)?;
    let absent = missing(tools, path);
    if absent.is_empty() {
        Ok(())
    } else {
        Err(format!("installed, but not on PATH: {}", names(&absent)))
    }
}

/// Installs a package that contains no program to detect it by.
pub(crate) fn install_package(package: &str) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    install_packages(&[package], &path)
        .map_err(|failure| format!("{failure}\nhint: install it yourself: {package}"))
}

fn install_packages(packages: &[&str], path: &OsStr) -> Result<(), String> {
    if !is_on("apt-get", path) {
        return Err("cannot install packages: `apt-get` not found".to_owned());
    }
    program::run(apt_get(path).arg("update"))?;
    program::run(apt_get(path).args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// Runs as root, or with `sudo` if it needs no password, because the command may run unattended.
fn apt_get(path: &OsStr) -> Command {
    let is_root = program::stdout(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let mut command = if is_root || !is_on("sudo", path) {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["--non-interactive", "--preserve-env=DEBIAN_FRONTEND", "apt-get"]);
        sudo
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn missing(tools: &[Tool], path: &OsStr) -> Vec<Tool> {
    tools.iter().filter(|tool| !is_on(tool.program, path)).copied().collect()
}

fn names(tools: &[Tool]) -> String {
    tools.iter().map(|tool| tool.program).collect::<Vec<_>>().join(", ")
}

fn is_on(program: &str, path: &OsStr) -> bool {
    std::env::split_paths(path).any(|folder| is_program(&folder.join(program)))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_nowhere_on_the_path_is_missing() {
        let tools = [
            Tool { program: "sh", package: "dash", why: "it is on every machine" },
            Tool { program: "no-such-program-anywhere", package: "none", why: "it is on none" },
        ];
        let path = std::env::var_os("PATH").unwrap();
        assert_eq!(names(&missing(&tools, &path)), "no-such-program-anywhere");
    }

    #[test]
    fn without_a_package_manager_the_failure_says_so() {
        let tool = Tool { program: "git", package: "git", why: "" };
        let failure = install(&[tool], OsStr::new("")).unwrap_err();
        assert!(failure.contains("`apt-get` not found"), "{failure}");
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(!is_program(&manifest));
    }
}
