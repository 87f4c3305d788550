//! Where a run is kept, and the locks that keep others out while it is made.

use std::env;
use std::path::{Path, PathBuf};

use std::time::{Duration, Instant};

use nightwright_core::units::RunId;

use crate::error::Failure;
use crate::process::{self, Containment, KilledProcess, tree_lock};
use crate::store::journal::{Lock, LockError, LockOwner, RunDir};
use crate::store::temp_folder::{self, TempFolder};
use crate::store::{lock, run_dir};

/// How long the guards of an earlier run may take to end what is below them.
const GUARDS_TIMEOUT: Duration = Duration::from_secs(10);
/// Killed processes that are named one by one.
const KILLED: usize = 8;

/// The place of a run.
#[derive(Debug)]
pub(crate) struct LockedRun {
    pub(crate) folder: RunDir,
    /// The folder for the state of the project.
    pub(super) home: PathBuf,
    /// Processes that earlier runs had left and that were killed.
    pub(super) killed: Vec<KilledProcess>,
    /// Where the programs of the run put their temporary files.
    pub(super) temp: TempFolder,
    owner: LockOwner,
    /// One run at a time works in a project.
    _project: Lock,
    run: Lock,
}

impl LockedRun {
    /// Takes the folder of a new run in this project, unless another run is at work in it.
    pub(super) fn take(project: &Path, folder: &RunDir) -> Result<Self, Failure> {
        let taken = Self::lock(project, &home(project)?, folder.clone());
        taken.inspect_err(|_| folder.forget())
    }

    /// Takes over the folder of a run whose process is gone.
    pub(crate) fn take_over(project: &Path, folder: RunDir) -> Result<Self, Failure> {
        Self::lock(project, &home(project)?, folder)
    }

    fn lock(project: &Path, home: &Path, folder: RunDir) -> Result<Self, Failure> {
        let owner = LockOwner::current(folder.id().clone(), jiff::Timestamp::now());
        let lock =
            Lock::take(&home.join("project.lock"), &owner).map_err(|error| held(project, error))?;
        let run = Lock::take(&folder.lock(), &owner).map_err(|error| held(project, error))?;
        let killed = clear(home, &folder)?;
        let temp = temp_folder(Some(project))?;
        Ok(Self { folder, home: home.to_owned(), owner, killed, temp, _project: lock, run })
    }

    /// What keeps the processes of the run. Whoever loses its guard comes to us.
    pub(super) fn contain(&self) -> Containment {
        process::become_subreaper();
        let state = self.home.parent().unwrap_or(&self.home);
        Containment::of_run(self.folder.tree_lock(), state, self.folder.id())
    }

    /// Lets others know where the run can be spoken to.
    pub(super) fn announce(&self, socket: &Path) -> std::io::Result<()> {
        self.run.describe(&LockOwner { socket: Some(socket.to_owned()), ..self.owner.clone() })
    }
}

/// Creates a folder for temporary files, and removes those that crashed processes left.
pub(crate) fn temp_folder(project: Option<&Path>) -> Result<TempFolder, Failure> {
    let state = state_root()?;
    temp_folder::sweep(&state);
    let places = temp_folder::places(env::var_os("TMPDIR"), project);
    Ok(TempFolder::create(&state, &places)?)
}

/// Makes the folder of a new run.
pub(super) fn new_folder(project: &Path) -> Result<RunDir, Failure> {
    RunDir::create(&home(project)?, jiff::Timestamp::now())
        .map_err(|error| Failure::because(&error))
}

/// Sees to it that nothing of an earlier run is alive: guards are waited for, and what carries the
/// mark of a run that nobody runs is ended.
fn clear(home: &Path, folder: &RunDir) -> Result<Vec<KilledProcess>, Failure> {
    let runs = RunDir::list_all(home).map_err(|error| Failure::because(&error))?;
    let begin = Instant::now();
    // The newest first: the others have had their time long ago.
    for run in runs.iter().rev().filter_map(|run| RunDir::open(home, run).ok()) {
        let path = run.tree_lock();
        let free = tree_lock::is_free(&path, GUARDS_TIMEOUT.saturating_sub(begin.elapsed()));
        match free {
            Ok(true) => {}
            Ok(false) => {
                return Err(Failure::trouble(format!("processes of run {} don't end", run.id()))
                    .hint("look for them with `ps`; they were sent SIGKILL"));
            }
            Err(error) => {
                let path = path.display();
                return Err(Failure::trouble(format!("cannot lock `{path}`: {error}"))
                    .hint("make it yours, or remove it if nothing of that run is alive"));
            }
        }
    }
    let is_left_over = |run: &RunId| {
        // Nothing of our own run can be alive: it has not begun.
        run == folder.id() || RunDir::open(home, run).is_ok_and(|run| lock::is_free(&run.lock()))
    };
    let mut killed = process::sweep(is_left_over);
    killed.extend(process::kill_stale_cgroups(&state_root()?));
    Ok(killed)
}

/// The folder for the state of a project.
pub(crate) fn home(project: &Path) -> Result<PathBuf, Failure> {
    run_dir::project_folder(&state_root()?, project).map_err(|error| Failure::because(&error))
}

/// The state folder.
fn state_root() -> Result<PathBuf, Failure> {
    run_dir::state_root(env::var_os).map_err(|error| Failure::because(&error))
}

fn held(project: &Path, error: LockError) -> Failure {
    match error {
        LockError::Held(held) => {
            let project = project.display();
            let (who, hint) = match held.owner {
                Some(LockOwner { run, pid, since, .. }) => (
                    format!("run {run} (pid {pid}, since {since:.0})"),
                    format!("wait for it to end, or stop it: nightwright stop {run}"),
                ),
                None => ("another run".to_owned(), "wait for it to end".to_owned()),
            };
            Failure::trouble(format!("the project `{project}` is in use by {who}")).hint(hint)
        }
        LockError::File(error) => Failure::because(&error),
    }
}

/// Who was killed because an earlier run had left it.
pub(super) fn killed_line(killed: &[KilledProcess]) -> Option<String> {
    let (first, rest) = killed.split_first()?;
    let who = match rest.len() {
        0 => "1 process left over from an earlier run".to_owned(),
        more => format!("{} processes left over from earlier runs", more + 1),
    };
    let named: Vec<_> = rest.iter().take(KILLED - 1).map(ToString::to_string).collect();
    let named = [vec![first.to_string()], named].concat();
    let more = match killed.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("killed {who}: {}{more}", named.join(", ")))
}
