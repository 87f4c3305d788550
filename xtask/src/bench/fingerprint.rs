//! `bench fingerprint`: surveys a large repository, compared with `git status`.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::bench_env::BenchEnv;
use crate::program::{self, cargo};

/// The number of files per folder.
const FOLDER: u64 = 100;

/// Runs an example of the shell crate that measures both; xtask does not link that crate.
pub(crate) fn run(root: &Path, files: u64) -> Result<(), String> {
    let env = BenchEnv::new("bench-fingerprint")?;
    let project = env.path("project");
    println!("creating a repository with {files} files");
    for number in 0..files {
        let folder = project.join(format!("{:04}", number / FOLDER));
        let written = if number % FOLDER == 0 { fs::create_dir_all(&folder) } else { Ok(()) };
        written
            .and_then(|()| {
                fs::write(folder.join(format!("{number}.txt")), format!("file {number}\n"))
            })
            .map_err(|error| format!("cannot write into {}: {error}", folder.display()))?;
    }
    for words in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["-c", "user.name=bench", "-c", "user.email=bench", "commit", "--quiet", "-m", "all"],
    ] {
        program::run(Command::new("git").args(words).current_dir(&project))?;
    }
    // Some files have uncommitted changes.
    for number in (0..files).step_by(10_000) {
        let path = project.join(format!("{:04}/{number}.txt", number / FOLDER));
        fs::write(&path, "changed\n")
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let arguments =
        ["run", "--release", "--package", "nightwright", "--example", "fingerprint_speed", "--"];
    program::run(cargo(root, &arguments).arg(&project))
}
