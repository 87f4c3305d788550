//! Where a run is kept, and the locks that keep others out while it is made.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Failure;
use crate::journal::{Lock, LockError, Owner, RunDir, run_dir};

/// The place of a run.
#[derive(Debug)]
pub(in crate::cli) struct Place {
    pub(in crate::cli) folder: RunDir,
    owner: Owner,
    /// One run at a time works in a project.
    _project: Lock,
    run: Lock,
}

impl Place {
    /// Makes the folder of a new run in this project, unless another run is at work in it.
    pub(super) fn take(project: &Path) -> Result<Self, Failure> {
        let home = home(project)?;
        let folder = RunDir::create(&home, jiff::Timestamp::now())
            .map_err(|error| Failure::because(&error))?;
        Self::lock(project, &home, folder.clone()).inspect_err(|_| {
            // A folder of a run that never was helps nobody; one that stays does no harm.
            let _ = fs::remove_dir_all(folder.path());
        })
    }

    /// Takes over the folder of a run whose process is gone.
    pub(in crate::cli) fn take_over(project: &Path, folder: RunDir) -> Result<Self, Failure> {
        Self::lock(project, &home(project)?, folder)
    }

    fn lock(project: &Path, home: &Path, folder: RunDir) -> Result<Self, Failure> {
        let owner = Owner::current(folder.id().clone(), jiff::Timestamp::now());
        let lock =
            Lock::take(&home.join("project.lock"), &owner).map_err(|error| held(project, error))?;
        let run = Lock::take(&folder.lock(), &owner).map_err(|error| held(project, error))?;
        Ok(Self { folder, owner, _project: lock, run })
    }

    /// Lets others know where the run can be spoken to.
    pub(super) fn announce(&self, socket: &Path) -> std::io::Result<()> {
        self.run.describe(&Owner { socket: Some(socket.to_owned()), ..self.owner.clone() })
    }
}

/// The folder for the state of a project.
pub(in crate::cli) fn home(project: &Path) -> Result<PathBuf, Failure> {
    let root = run_dir::state_root(env::var_os).map_err(|error| Failure::because(&error))?;
    run_dir::project_folder(&root, project).map_err(|error| Failure::because(&error))
}

fn held(project: &Path, error: LockError) -> Failure {
    match error {
        LockError::Held(held) => {
            let project = project.display();
            let (who, hint) = match held.owner {
                Some(Owner { run, pid, since, .. }) => (
                    format!("run {run} (pid {pid}, since {since:.0})"),
                    format!("wait for it to end, or stop it: legwork stop {run}"),
                ),
                None => ("another run".to_owned(), "wait for it to end".to_owned()),
            };
            Failure::trouble(format!("the project `{project}` is in use by {who}")).hint(hint)
        }
        LockError::File(error) => Failure::because(&error),
    }
}
