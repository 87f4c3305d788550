//! An isolated folder with a project, a home and an agent, independent of the machine's settings.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder; it is created at the start of a benchmark and removed at its end.
#[derive(Debug)]
pub(super) struct BenchEnv {
    folder: PathBuf,
}

impl BenchEnv {
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let folder =
            std::env::temp_dir().join(format!("nightwright-{name}-{}", std::process::id()));
        let env = Self { folder };
        for name in ["project", "state", "home", "tmp", "bin"] {
            let path = env.path(name);
            fs::create_dir_all(&path)
                .map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        }
        Ok(env)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Installs an agent that runs this script unless it is asked for its version.
    pub(super) fn agent(&self, does: &str) -> Result<(), String> {
        let path = self.path("bin/claude");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '2.1.325 (Claude Code)'; exit; }}\n{does}\n"
        );
        fs::write(&path, script)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// Returns a command that runs in this folder with a clean environment and without output.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("GIT_CEILING_DIRECTORIES", &self.folder)
            .env("NIGHTWRIGHT_STATE_DIR", self.path("state"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    /// Removes the files of a run, so that the next one starts with the same disk.
    pub(super) fn tidy(&self) -> Result<(), String> {
        for name in ["state", "tmp"] {
            let path = self.path(name);
            fs::remove_dir_all(&path)
                .and_then(|()| fs::create_dir(&path))
                .map_err(|error| format!("cannot clear {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Returns the number of bytes of agent output that the runs have stored.
    pub(super) fn keep(&self) -> u64 {
        files(&self.path("state"), "ndjson").unwrap_or(0)
    }
}

impl Drop for BenchEnv {
    fn drop(&mut self) {
        // A failure is ignored because the folder is in the system's temporary directory.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the total size of all files with this extension.
fn files(folder: &Path, extension: &str) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sum += files(&path, extension)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            sum += path.metadata()?.len();
        }
    }
    Ok(sum)
}
