//! The toolchains of the projects, as they are found on this machine.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::TestEnv;

/// The pinned versions, which identify an installation.
const VITEST_PACKAGE: &str = include_str!("vitest/package.json");
const VITEST_LOCK: &str = include_str!("vitest/package-lock.json");
const PYTEST_REQUIREMENTS: &str = include_str!("pytest/requirements.txt");

/// The programs that a project needs in its environment.
#[derive(Debug, Default)]
pub(crate) struct Toolchain {
    /// Folders of programs that come before all others.
    folders: Vec<PathBuf>,
    variables: Vec<(&'static str, OsString)>,
}

/// Why a toolchain cannot be used.
#[derive(Debug)]
pub(crate) struct MissingToolchain(pub(crate) String);

type FoundToolchain = Result<Toolchain, MissingToolchain>;

impl Toolchain {
    /// The programs of the machine, found after those of the toolchain and of the hermit.
    pub(crate) fn add_to(&self, command: &mut Command) {
        let own = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
        let own = own.map(OsString::from).unwrap_or_default();
        let machine = env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<_> = env::split_paths(&own).collect();
        folders.splice(1..1, self.folders.iter().cloned());
        folders.extend(env::split_paths(&machine));
        command.env("PATH", env::join_paths(folders).unwrap());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    fn runs(self, program: &str, arguments: &[&str]) -> FoundToolchain {
        let mut command = Command::new("env");
        command.env("PATH", "");
        self.add_to(&mut command);
        let done = command.arg(program).args(arguments).output();
        match done {
            Ok(done) if done.status.success() => Ok(self),
            Ok(done) => {
                let why = String::from_utf8_lossy(&done.stderr);
                Err(MissingToolchain(format!("`{program}` does not work: {}", why.trim())))
            }
            Err(error) => Err(MissingToolchain(format!("`{program}`: {error}"))),
        }
    }
}

/// The project needs no toolchain at all.
#[expect(clippy::unnecessary_wraps, reason = "one of several ways to find a toolchain")]
pub(crate) fn none(_: &TestEnv) -> FoundToolchain {
    Ok(Toolchain::default())
}

/// The toolchain that built these tests. A program of rustup would look for it in the home folder,
/// which is not the user's.
pub(crate) fn cargo(_: &TestEnv) -> FoundToolchain {
    let cargo = env::var_os("CARGO").map_or_else(|| PathBuf::from(env!("CARGO")), PathBuf::from);
    let folder = cargo.parent().expect("a program is in a folder").to_owned();
    Toolchain { folders: vec![folder], ..Toolchain::default() }.runs("rustc", &["--version"])
}

pub(crate) fn node(_: &TestEnv) -> FoundToolchain {
    Toolchain::default().runs("node", &["--version"])?.runs("npm", &["--version"])
}

/// Links the packages into the project. The folder itself is the project's own, because vitest
/// writes into it.
pub(crate) fn vitest(env: &TestEnv) -> FoundToolchain {
    let found = node(env)?;
    let packages = installed("vitest", VITEST_LOCK)?.join("node_modules");
    let folder = env.project().join("node_modules");
    fs::create_dir(&folder).unwrap();
    for entry in fs::read_dir(packages).unwrap() {
        let path = entry.unwrap().path();
        symlink(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    env.file("package.json", VITEST_PACKAGE).file("package-lock.json", VITEST_LOCK);
    Ok(found)
}

pub(crate) fn python(_: &TestEnv) -> FoundToolchain {
    Toolchain::default().runs("python3", &["--version"])
}

/// Copies the environment into the project, as `python3 -m venv .venv` would have made it there.
pub(crate) fn pytest(env: &TestEnv) -> FoundToolchain {
    let environment = installed("pytest", PYTEST_REQUIREMENTS)?;
    let own = env.project().join(".venv");
    let copied = Command::new("cp").arg("-R").arg(&environment).arg(&own).status().unwrap();
    assert!(copied.success(), "`{}` cannot be copied", environment.display());
    let python = own.join("bin/python");
    Toolchain::default().runs(&python.display().to_string(), &["-m", "pytest", "--version"])
}

pub(crate) fn go(env: &TestEnv) -> FoundToolchain {
    // The compiled standard library takes half a minute to make, so it is kept.
    let cache = folder().map(|folder| folder.join("go-build"));
    let cache = cache.ok().filter(|cache| is_writable(cache));
    let cache = cache.unwrap_or_else(|| env.path("go-build"));
    let variables = vec![("GOCACHE", cache.into_os_string()), ("GOTOOLCHAIN", "local".into())];
    Toolchain { variables, ..Toolchain::default() }.runs("go", &["version"])
}

pub(crate) fn c(_: &TestEnv) -> FoundToolchain {
    Toolchain::default().runs("make", &["--version"])?.runs("cc", &["--version"])
}

/// The folder of an installation by `cargo xtask test`.
fn installed(name: &str, pins: &str) -> Result<PathBuf, MissingToolchain> {
    let folder = folder()?.join(name);
    let stamp = folder.join("installed");
    match fs::read_to_string(&stamp) {
        Ok(text) if text == pins => Ok(folder),
        Ok(_) => Err(MissingToolchain(format!("`{}` holds other versions", folder.display()))),
        Err(error) => {
            let shown = stamp.display();
            Err(MissingToolchain(format!("`{shown}`: {error}; `cargo xtask test` installs it")))
        }
    }
}

fn folder() -> Result<PathBuf, MissingToolchain> {
    if let Some(folder) = env::var_os("NIGHTWRIGHT_TEST_TOOLCHAINS_DIR") {
        return Ok(folder.into());
    }
    let cache = env::var_os("XDG_CACHE_HOME").filter(|cache| !cache.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let cache = cache.ok_or_else(|| MissingToolchain("there is no home folder".to_owned()))?;
    Ok(cache.join("nightwright-tests"))
}

fn is_writable(folder: &Path) -> bool {
    fs::create_dir_all(folder).is_ok() && tempfile::tempfile_in(folder).is_ok()
}

#[expect(clippy::print_stderr, reason = "a test that tests nothing has to say so")]
pub(crate) fn skipped(name: &str, why: &str) {
    eprintln!("skipped: the project `{name}`: {why}");
}

/// Records that a test really ran.
pub(crate) fn count(name: &str) {
    if let Some(folder) = env::var_os("NIGHTWRIGHT_TEST_TALLY") {
        fs::write(Path::new(&folder).join(name), "").unwrap();
    }
}
