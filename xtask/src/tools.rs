//! The programs that the tests need beside Rust, installed if they are missing.
//!
//! A fresh Debian machine with Rust on it is enough to run the test command. Elsewhere the
//! programs have to be there already, and the failure says which. The real agent program is not
//! one of them: nobody has to have it (see `claude`).

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::program;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    /// The name of Debian's package.
    pub(crate) package: &'static str,
    pub(crate) why: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { program: "git", package: "git", why: "the product drives it, on real repositories" },
    Tool { program: "tmux", package: "tmux", why: "what a terminal shows is tested in one" },
    Tool { program: "chromium", package: "chromium", why: "what a browser makes of a report" },
    Tool { program: "systemd-analyze", package: "systemd", why: "what systemd makes of a service" },
];

/// What every test command needs.
pub(crate) fn ensure_tools() -> Result<(), String> {
    ensure(TOOLS)
}

/// Looks first and installs only what is not there, so that it costs nothing the second time.
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
        Err(format!("installed, but still not on PATH: {}", names(&absent)))
    }
}

/// Installs a package that brings no program by which it could be found.
pub(crate) fn install_package(package: &str) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    install_packages(&[package], &path)
        .map_err(|failure| format!("{failure}\nhint: install it yourself: {package}"))
}

fn install_packages(packages: &[&str], path: &OsStr) -> Result<(), String> {
    if !is_on("apt-get", path) {
        return Err("can't install anything here: there is no `apt-get`".to_owned());
    }
    program::run(apt_get(path).arg("update"))?;
    program::run(apt_get(path).args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// As root, or through `sudo` where that needs no password: nobody may be there to type one.
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
        assert!(failure.contains("there is no `apt-get`"), "{failure}");
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(!is_program(&manifest));
    }
}
