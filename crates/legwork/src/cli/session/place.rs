//! Where a run is kept, and the locks that keep others out while it is made.

use std::env;
use std::fs;
use std::path::Path;

use crate::error::Failure;
use crate::journal::{Lock, LockError, Owner, RunDir, run_dir};

/// The place of a run.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: RunDir,
    _project: Lock,
    _run: Lock,
}

impl Place {
    /// Makes the folder of a new run in this project, unless another run is at work in it.
    pub(super) fn take(project: &Path) -> Result<Self, Failure> {
        let root = run_dir::state_root(env::var_os).map_err(|error| Failure::because(&error))?;
        let home =
            run_dir::project_folder(&root, project).map_err(|error| Failure::because(&error))?;
        let now = jiff::Timestamp::now();
        let folder = RunDir::create(&home, now).map_err(|error| Failure::because(&error))?;
        let owner = Owner::current(folder.id().clone(), now);
        let lock = Lock::take(&home.join("project.lock"), &owner).map_err(|error| {
            // A folder of a run that never was helps nobody; one that stays does no harm.
            let _ = fs::remove_dir_all(folder.path());
            held(project, error)
        })?;
        let run = Lock::take(&folder.lock(), &owner).map_err(|error| held(project, error))?;
        Ok(Self { folder, _project: lock, _run: run })
    }
}

fn held(project: &Path, error: LockError) -> Failure {
    match error {
        LockError::Held(held) => {
            let project = project.display();
            let (who, hint) = match held.owner {
                Some(owner) => (
                    format!("run {} (pid {}, since {:.0})", owner.run, owner.pid, owner.since),
                    format!("wait for it to end, or stop it: kill {}", owner.pid),
                ),
                None => ("another run".to_owned(), "wait for it to end".to_owned()),
            };
            Failure::trouble(format!("the project `{project}` is in use by {who}")).hint(hint)
        }
        LockError::File(error) => Failure::because(&error),
    }
}
