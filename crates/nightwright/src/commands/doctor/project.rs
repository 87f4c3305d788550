//! Checks the project, and the folder in which its runs are stored.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::input::Disk;
use nightwright_core::root::RootSource;
use serde_json::json;

use super::configured;
use super::finding::DoctorFinding;
use crate::agent::program::locate;
use crate::commands::cli::context;
use crate::process::{
    CommandEnd, Containment, FinishedCommand, Launch, SigtermScope, StopHandle, run_to_end,
};
use crate::store::lock::{self, LockOwner};
use crate::store::run_dir;
use crate::workspace::{Repository, has_uncommitted, space};

/// The timeout of a git command.
const GIT_TIME: Duration = Duration::from_secs(10);
/// Maximum bytes of git's output that are kept; its end is enough.
const GIT_OUTPUT: usize = 4 << 10;

/// Reports whether the project is in a repository, and its state.
pub(super) async fn git(project: &Path, environment: &[(OsString, OsString)]) -> DoctorFinding {
    // Located explicitly: by its name alone, the project could substitute its own program.
    let Ok(git) = locate("git", env::var_os("PATH").as_deref()) else {
        return DoctorFinding::warning("git", "git is not installed; runs work without it")
            .hint("install git to see and undo the agent's changes");
    };
    let version = version_of(&git, environment).await;
    let version = match version.ended {
        CommandEnd::Exited(exit) if exit.is_success() => {
            let line = version.output.lines().next().unwrap_or_default().trim().to_owned();
            line.strip_prefix("git version ").map_or(line.clone(), str::to_owned)
        }
        CommandEnd::Exited(_)
        | CommandEnd::TimedOut
        | CommandEnd::Stopped
        | CommandEnd::NotStarted { .. } => {
            return DoctorFinding::warning("git", format!("`{}` does not work", git.display()))
                .hint("reinstall git to see and undo the agent's changes");
        }
    };
    let Some(repository) = Repository::around(project) else {
        let text = format!("git {version}; the project is not a repository");
        return DoctorFinding::warning("git", text)
            .hint("run `git init` to see and undo the agent's changes")
            .fact("state", "none")
            .fact("version", version);
    };
    let looked = tokio::task::spawn_blocking(move || has_uncommitted(&repository)).await;
    let (finding, state) = match looked.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(false) => {
            let text = format!("git {version}; everything in the project is committed");
            (DoctorFinding::ok("git", text), "clean")
        }
        Ok(true) => {
            let text = format!("git {version}; some changes in the project are not committed");
            let hint = "commit them first, to tell the agent's changes from yours";
            (DoctorFinding::warning("git", text).hint(hint), "dirty")
        }
        Err(why) => (DoctorFinding::warning("git", format!("git {version}; {why}")), "unknown"),
    };
    finding.fact("state", state).fact("version", version)
}

/// Asks git for its version.
async fn version_of(git: &Path, environment: &[(OsString, OsString)]) -> FinishedCommand {
    let launch = Launch {
        program: git.to_owned(),
        arguments: vec!["--version".into()],
        environment: environment.to_vec(),
        // Git reads no configuration of the project here.
        directory: PathBuf::from("/"),
        containment: Containment::choose(None),
        sigterm_scope: SigtermScope::All,
    };
    run_to_end(&launch, GIT_TIME, GIT_OUTPUT, &StopHandle::default()).await
}

/// Reports whether a run would refuse this folder: it needs confirmation, or is not writable.
pub(super) fn is_refused(project: &Path, found: RootSource) -> Option<DoctorFinding> {
    let failure = match found {
        RootSource::TooWide => Some(context::too_wide(project)),
        RootSource::Named
        | RootSource::Configured
        | RootSource::Repository
        | RootSource::Current => context::check_writable(project).err(),
    };
    failure.map(|failure| configured::problem("project", &failure))
}

/// Reports another active run in the project; only one can be active.
pub(super) fn in_use(project: &Path) -> Option<DoctorFinding> {
    let owner = lock::peek(&run_dir::state_of(project).ok()?.join("project.lock"))?;
    let LockOwner { run, pid, .. } = owner;
    let text = format!("run {run} (pid {pid}) is active in this project");
    Some(
        DoctorFinding::problem("project", text)
            .hint(format!("wait for it to end, or run `nightwright stop {run}`")),
    )
}

/// Reports whether the project's runs can be stored, and the free disk space.
pub(super) fn state(project: &Path) -> Vec<DoctorFinding> {
    let folder = match run_dir::state_of(project) {
        Ok(folder) => folder,
        Err(failure) => {
            let hint = "set NIGHTWRIGHT_STATE_DIR to an absolute path, or leave it unset";
            return vec![DoctorFinding::problem("state", failure.message).hint(hint)];
        }
    };
    let there = nearest(&folder);
    vec![writable(&folder, &there), disk(project, &there)]
}

/// Returns the folder itself, or its nearest existing parent.
fn nearest(folder: &Path) -> PathBuf {
    folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/")).to_owned()
}

/// Writes a test file, because permissions do not reveal read-only or full disks.
fn writable(folder: &Path, there: &Path) -> DoctorFinding {
    let finding = match tempfile::tempfile_in(there) {
        Ok(_) => DoctorFinding::ok("state", format!("`{}` is writable", folder.display())),
        Err(error) => DoctorFinding::problem(
            "state",
            format!("cannot write in `{}`: {error}", there.display()),
        )
        .hint("make it writable, or set NIGHTWRIGHT_STATE_DIR to another folder"),
    };
    finding.fact("folder", folder.display().to_string())
}

fn disk(project: &Path, state: &Path) -> DoctorFinding {
    let disks = [("project", project), ("state", state)].map(|(name, path)| (name, space([path])));
    let enough = |disk: &Disk| disk.free >= disk.floor;
    let same = device(project) == device(state);
    let shown = if same { &disks[..1] } else { &disks[..] };
    let text: Vec<_> =
        shown.iter().map(|(name, disk)| describe_disk(name, disk.as_ref())).collect();
    let mut finding = if disks.iter().filter_map(|(_, disk)| disk.as_ref()).all(enough) {
        DoctorFinding::ok("disk", text.join("; "))
    } else {
        DoctorFinding::problem("disk", text.join("; "))
            .hint("free some disk space: nightwright does not start an attempt below this limit")
    };
    for (name, disk) in disks {
        let facts = disk.map(|Disk { free, floor }| json!({ "free": free, "floor": floor }));
        finding = finding.fact(name, facts);
    }
    finding
}

fn device(path: &Path) -> Option<u64> {
    path.metadata().map(|facts| facts.dev()).ok()
}

fn describe_disk(name: &str, disk: Option<&Disk>) -> String {
    match disk {
        Some(Disk { free, floor }) => {
            format!("{name}: {} free, {} required", size(*free), size(*floor))
        }
        None => format!("{name}: free space unknown"),
    }
}

/// Formats a number of bytes for display.
fn size(bytes: u64) -> String {
    if bytes < 1 << 30 {
        return format!("{} MiB", bytes >> 20);
    }
    let tenths = bytes / ((1 << 30) / 10);
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}
