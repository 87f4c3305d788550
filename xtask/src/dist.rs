//! `cargo xtask dist`: a release archive, and the proof that it installs.
//!
//! The archive has one folder with the program, its manual pages, its completions and `install.sh`.
//! Before it is announced, it is unpacked, installed into an empty home, and the demo is run there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{self, cargo};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Completion scripts: the shell, and the file in which that shell looks for it.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "bash/nightwright"), ("zsh", "zsh/_nightwright"), ("fish", "fish/nightwright.fish")];

/// Files of the repository that go into the archive as they are.
const FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds the static release binary and its archive in `target/dist`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut build = cargo(root, &["build", "--release", "--bin", "nightwright"]);
    // Without `--target` the flag would apply to build scripts and macros, too.
    build.args(["--target", &target]).env("RUSTFLAGS", "-C target-feature=+crt-static");
    program::run(&mut build)?;
    let binary = program::built(root, &format!("{target}/release"));
    is_static(&binary)?;
    let archive = pack(root, &binary, &dist_folder(root))?;
    try_out(&archive)?;
    println!("{}", archive.display());
    Ok(())
}

/// The same archive around the binary that the tests use, which takes seconds.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let folder = dist_folder(root).join("check");
    let archive = pack(root, &program::built(root, "debug"), &folder)?;
    try_out(&archive)?;
    remove(&folder)
}

fn dist_folder(root: &Path) -> PathBuf {
    let target = program::built(root, "dist");
    target.parent().map_or(target.clone(), Path::to_path_buf)
}

/// A static binary asks for no interpreter: it runs on any Linux of its architecture.
fn is_static(binary: &Path) -> Result<(), String> {
    let headers =
        program::stdout(Command::new("readelf").args(["--program-headers", "--wide"]).arg(binary))?;
    if headers.contains("INTERP") {
        return Err(format!("`{}` is not a static binary", binary.display()));
    }
    Ok(())
}

/// Makes `nightwright-VERSION-linux-x86_64.tar.gz` and its checksum in this folder.
fn pack(root: &Path, binary: &Path, folder: &Path) -> Result<PathBuf, String> {
    let name = format!("nightwright-{VERSION}-linux-{}", std::env::consts::ARCH);
    let content = folder.join(&name);
    remove(&content)?;
    for inner in ["man", "completions/bash", "completions/zsh", "completions/fish"] {
        let path = content.join(inner);
        fs::create_dir_all(&path).map_err(|error| cannot("create", &path, &error))?;
    }
    copy(binary, &content.join("nightwright"))?;
    copy(&root.join("xtask/dist/install.sh"), &content.join("install.sh"))?;
    for file in FILES {
        copy(&root.join(file), &content.join(file))?;
    }
    let program = content.join("nightwright");
    program::stdout(Command::new(&program).arg("man").arg("--dir").arg(content.join("man")))?;
    for (shell, file) in COMPLETIONS {
        let script = program::stdout(Command::new(&program).args(["completions", shell]))?;
        let path = content.join("completions").join(file);
        fs::write(&path, script).map_err(|error| cannot("write", &path, &error))?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    // The same contents make the same bytes, on every machine and at any time.
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
    program::run(tar.arg("-C").arg(folder).arg("-czf").arg(&archive).arg(&name))?;
    remove(&content)?;
    checksum(&archive)?;
    Ok(archive)
}

/// Writes `ARCHIVE.sha256`, in the form that `sha256sum --check` reads.
fn checksum(archive: &Path) -> Result<(), String> {
    let (Some(folder), Some(name)) = (archive.parent(), archive.file_name()) else {
        return Err(format!("`{}` is no file", archive.display()));
    };
    let line = program::stdout(Command::new("sha256sum").arg(name).current_dir(folder))?;
    let path = archive.with_added_extension("sha256");
    fs::write(&path, line).map_err(|error| cannot("write", &path, &error))
}

/// Checks the sum, installs the archive into an empty home, and runs the demo there.
fn try_out(archive: &Path) -> Result<(), String> {
    let folder = archive.with_extension("try");
    remove(&folder)?;
    let home = folder.join("home");
    fs::create_dir_all(&home).map_err(|error| cannot("create", &home, &error))?;
    let sum = archive.with_added_extension("sha256");
    let beside = archive.parent().unwrap_or(archive);
    program::stdout(Command::new("sha256sum").arg("--check").arg(&sum).current_dir(beside))?;
    program::run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&folder))?;
    let unpacked = archive.file_name().map(|name| name.to_string_lossy().replace(".tar.gz", ""));
    let unpacked = folder.join(unpacked.unwrap_or_default());
    let clean = |program: PathBuf| {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", &home).env("PATH", "/usr/bin:/bin").current_dir(&home);
        command
    };
    program::stdout(&mut clean(unpacked.join("install.sh")))?;
    remove(&unpacked)?;
    let share = home.join(".local/share");
    for file in [
        "man/man1/nightwright.1",
        "man/man1/nightwright-run.1",
        "bash-completion/completions/nightwright",
        "zsh/site-functions/_nightwright",
        "fish/vendor_completions.d/nightwright.fish",
    ] {
        if !share.join(file).is_file() {
            return Err(format!("install.sh did not install `share/{file}`"));
        }
    }
    program::stdout(clean(home.join(".local/bin/nightwright")).arg("demo"))
        .map_err(|failure| format!("the demo of the installed program failed: {failure}"))?;
    remove(&folder)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| cannot("copy", from, &error))
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot("remove", folder, &error))
        }
        _ => Ok(()),
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} `{}`: {error}", path.display())
}
