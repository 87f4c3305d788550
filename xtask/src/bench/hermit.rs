//! A folder in which nightwright finds a project, a home and an agent, and nothing of the machine's.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Made at the start of a benchmark, gone at its end.
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
                .map_err(|error| format!("can't make {}: {error}", path.display()))?;
        }
        Ok(env)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Puts an agent in place that does this, once it is asked for more than its version.
    pub(super) fn agent(&self, does: &str) -> Result<(), String> {
        let path = self.path("bin/claude");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '2.1.325 (Claude Code)'; exit; }}\n{does}\n"
        );
        fs::write(&path, script)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|error| format!("can't write {}: {error}", path.display()))
    }

    /// A program in this folder: it sees nothing of our environment, and nobody sees its output.
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

    /// Takes away what a run has left, so that the next one finds the same disk.
    pub(super) fn tidy(&self) -> Result<(), String> {
        for name in ["state", "tmp"] {
            let path = self.path(name);
            fs::remove_dir_all(&path)
                .and_then(|()| fs::create_dir(&path))
                .map_err(|error| format!("can't clear {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// The bytes that runs have kept of the agent's output.
    pub(super) fn keep(&self) -> u64 {
        files(&self.path("state"), "ndjson").unwrap_or(0)
    }
}

impl Drop for BenchEnv {
    fn drop(&mut self) {
        // What can't be removed is in the folder for such things, and somebody else's business.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The size of all files with this ending together.
fn files(folder: &Path, ending: &str) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sum += files(&path, ending)?;
        } else if path.extension().is_some_and(|extension| extension == ending) {
            sum += path.metadata()?.len();
        }
    }
    Ok(sum)
}
