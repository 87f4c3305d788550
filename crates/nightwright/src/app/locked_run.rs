//! The folder of a run, and the locks that keep other processes out while it is executed.

use std::env;
use std::path::{Path, PathBuf};

use std::time::{Duration, Instant};

use nightwright_core::units::RunId;

use crate::error::Failure;
use crate::process::{self, Containment, KilledProcess, tree_lock};
use crate::sandbox::remove_leftovers;
use crate::store::folder_lock::{FolderHeld, FolderLock};
use crate::store::lock::{Lock, LockError, LockOwner};
use crate::store::run_dir::RunDir;
use crate::store::temp_folder::{self, TempFolder};
use crate::store::{lock, run_dir};

/// The name of the commands `nightwright sandbox` in the lock of a project.
pub(crate) const SANDBOX_OWNER: &str = "sandbox";
/// How long the guards of an earlier run may take to kill their processes.
const GUARDS_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of killed processes that are named individually.
const MAX_NAMED_PROCESSES: usize = 8;

/// The folder of a run, locked for this process.
#[derive(Debug)]
pub(crate) struct LockedRun {
    pub(crate) folder: RunDir,
    /// The state folder of the project.
    pub(super) home: PathBuf,
    /// Processes that earlier runs left behind and that were killed.
    pub(super) killed: Vec<KilledProcess>,
    /// The folder for temporary files of the run's programs.
    pub(super) temp: TempFolder,
    /// Ensures that only one run at a time works in a project.
    _project: Lock,
    _folder: FolderLock,
    _run: Lock,
}

impl LockedRun {
    /// Locks the project for a new run in this folder, unless another run is active in it.
    pub(super) fn take(project: &Path, folder: &RunDir) -> Result<Self, Failure> {
        let taken = Self::lock(project, &run_dir::state_of(project)?, folder.clone());
        taken.inspect_err(|_| folder.forget())
    }

    /// Takes over the folder of a crashed run.
    pub(crate) fn take_over(project: &Path, folder: RunDir) -> Result<Self, Failure> {
        Self::lock(project, &run_dir::state_of(project)?, folder)
    }

    fn lock(project: &Path, home: &Path, folder: RunDir) -> Result<Self, Failure> {
        let owner = LockOwner::current(folder.id().clone(), jiff::Timestamp::now());
        let lock =
            Lock::take(&home.join("project.lock"), &owner).map_err(|error| held(project, error))?;
        let project_folder = take_folder(project)?;
        let run = Lock::take(&folder.lock(), &owner).map_err(|error| held(project, error))?;
        let killed = clear(home, &folder)?;
        // Before anything looks at the project, and also without a sandbox.
        remove_leftovers(home, project);
        let temp = temp_folder(Some(project))?;
        Ok(Self {
            folder,
            home: home.to_owned(),
            killed,
            temp,
            _project: lock,
            _folder: project_folder,
            _run: run,
        })
    }

    /// Returns the containment of the run's processes. A process that loses its guard is reparented
    /// to this process.
    pub(super) fn contain(&self) -> Containment {
        process::become_subreaper();
        let state = self.home.parent().unwrap_or(&self.home);
        Containment::of_run(self.folder.tree_lock(), state, self.folder.id())
    }
}

/// Locks the folder of the project, whatever its path and the state folder are.
pub(crate) fn take_folder(project: &Path) -> Result<FolderLock, Failure> {
    let folder = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    FolderLock::take(&folder).map_err(|FolderHeld { folder: held, process }| {
        let place = match (folder == held, process) {
            (true, Some(pid)) => {
                format!("another run (pid {pid}), possibly with a different state folder")
            }
            (true, None) => "a run in a folder inside it".to_owned(),
            (false, _) => format!("a run in `{}`", held.display()),
        };
        Failure::trouble(format!("the project `{}` is in use by {place}", project.display()))
            .hint("wait for it to end")
    })
}

/// Creates a folder for temporary files, and removes those that crashed processes left.
pub(crate) fn temp_folder(project: Option<&Path>) -> Result<TempFolder, Failure> {
    let state = state_root()?;
    temp_folder::sweep(&state);
    let places = temp_folder::places(env::var_os("TMPDIR"), project);
    Ok(TempFolder::create(&state, &places)?)
}

/// Creates the folder of a new run.
pub(super) fn new_folder(project: &Path) -> Result<RunDir, Failure> {
    RunDir::create(&run_dir::state_of(project)?, jiff::Timestamp::now())
        .map_err(|error| Failure::because(&error))
}

/// Ensures that no process of an earlier run is alive. Waits for guards, and kills processes that
/// carry the mark of a run that is no longer active.
fn clear(home: &Path, folder: &RunDir) -> Result<Vec<KilledProcess>, Failure> {
    let runs = RunDir::list_all(home).map_err(|error| Failure::because(&error))?;
    let begin = Instant::now();
    // The newest run first: the guards of the others have had enough time.
    for run in runs.iter().rev().filter_map(|run| RunDir::open(home, run).ok()) {
        let path = run.tree_lock();
        let free = tree_lock::is_free(&path, GUARDS_TIMEOUT.saturating_sub(begin.elapsed()));
        match free {
            Ok(true) => {}
            Ok(false) => {
                return Err(Failure::trouble(format!(
                    "processes of run {} survived SIGKILL",
                    run.id()
                ))
                .hint("find them with `ps`"));
            }
            Err(error) => {
                let path = path.display();
                return Err(Failure::trouble(format!("cannot lock `{path}`: {error}")).hint(
                    "change its owner to your user, or remove it if no process of that run is \
                         alive",
                ));
            }
        }
    }
    let is_left_over = |run: &RunId| {
        // This run has not started, so a process with its mark is left over.
        run == folder.id() || RunDir::open(home, run).is_ok_and(|run| lock::is_free(&run.lock()))
    };
    let mut killed = process::sweep(is_left_over);
    killed.extend(process::kill_stale_cgroups(&state_root()?));
    Ok(killed)
}

/// Returns the folder for the state of all projects.
fn state_root() -> Result<PathBuf, Failure> {
    run_dir::state_root(env::var_os).map_err(|error| Failure::because(&error))
}

pub(crate) fn held(project: &Path, error: LockError) -> Failure {
    match error {
        LockError::Held(held) => {
            let project = project.display();
            let (who, hint) = match held.owner {
                Some(LockOwner { run, pid, .. }) if run.0 == SANDBOX_OWNER => (
                    format!("a shell in the sandbox (pid {pid})"),
                    "exit that shell, or wait for the command to end".to_owned(),
                ),
                Some(LockOwner { run, pid, since, .. }) => (
                    format!("run {run} (pid {pid}, since {since:.0})"),
                    format!("wait for it to end, or run `nightwright stop {run}`"),
                ),
                None => ("another run".to_owned(), "wait for it to end".to_owned()),
            };
            Failure::trouble(format!("the project `{project}` is in use by {who}")).hint(hint)
        }
        LockError::File(error) => Failure::because(&error),
    }
}

/// Describes the killed processes that earlier runs had left behind.
pub(super) fn killed_line(killed: &[KilledProcess]) -> Option<String> {
    let (first, rest) = killed.split_first()?;
    let who = match rest.len() {
        0 => "1 process left over from an earlier run".to_owned(),
        more => format!("{} processes left over from earlier runs", more + 1),
    };
    let named: Vec<_> =
        rest.iter().take(MAX_NAMED_PROCESSES - 1).map(ToString::to_string).collect();
    let named = [vec![first.to_string()], named].concat();
    let more = match killed.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("killed {who}: {}{more}", named.join(", ")))
}
