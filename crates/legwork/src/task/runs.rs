//! The runs of a project, as its tasks see them: which are going on, and what each came to.

use std::cell::OnceCell;
use std::env;
use std::path::{Path, PathBuf};

use legwork_core::units::RunId;
use legwork_core::view::RunView;

use super::name::Name;
use crate::error::Failure;
use crate::journal::lock::{self, Owner};
use crate::journal::{self, RunDir, run_dir};

/// The runs of a project, the oldest first. A journal is read when it is asked for, and once.
#[derive(Debug)]
pub struct Runs {
    home: PathBuf,
    runs: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    id: RunId,
    /// Who conducts it, if it is going on.
    owner: Option<Owner>,
    view: OnceCell<Result<RunView, String>>,
}

impl Runs {
    /// The runs of a project, by the environment.
    pub fn of(project: &Path) -> Result<Self, Failure> {
        let root = run_dir::state_root(env::var_os).map_err(|error| Failure::because(&error))?;
        let home = run_dir::project_folder(&root, project);
        Self::kept_in(home.map_err(|error| Failure::because(&error))?)
    }

    /// The runs whose state is in this folder, the state folder of a project.
    pub fn kept_in(home: PathBuf) -> Result<Self, Failure> {
        let ids = RunDir::list(&home).map_err(|error| Failure::because(&error))?;
        let known = |id: RunId| {
            let folder = RunDir::open(&home, &id).ok()?;
            Some(Known { id, owner: lock::peek(&folder.lock()), view: OnceCell::new() })
        };
        let runs = ids.into_iter().filter_map(known).collect();
        Ok(Self { home, runs })
    }

    /// The newest, whatever it was for.
    pub fn newest(&self) -> Option<&RunId> {
        self.runs.last().map(|known| &known.id)
    }

    /// Those after a certain one; all, if there is none.
    pub fn after(&self, id: Option<&RunId>) -> impl Iterator<Item = &RunId> {
        self.runs.iter().map(|known| &known.id).filter(move |run| id.is_none_or(|id| *run > id))
    }

    /// What a run came to so far; `None` if there is no such run, or its journal can't be read.
    pub fn view(&self, id: &RunId) -> Option<&RunView> {
        self.runs.iter().find(|known| known.id == *id)?.view(&self.home).as_ref().ok()
    }

    /// Whether a run was for this task.
    pub fn is_of(&self, id: &RunId, name: &Name) -> bool {
        self.view(id).and_then(task_of).is_some_and(|task| task == name.as_str())
    }

    /// The run of a task that is going on.
    pub fn live(&self, name: &Name) -> Option<&Owner> {
        let mut owners = self.runs.iter().filter_map(|known| known.owner.as_ref());
        owners.find(|owner| self.is_of(&owner.run, name))
    }

    /// The folder of a run.
    pub fn folder(&self, id: &RunId) -> Option<RunDir> {
        RunDir::open(&self.home, id).ok()
    }

    /// Fails if a run is going on that works on this task, or may: one that has only just begun
    /// has not said yet what it is for.
    pub fn must_rest(&self, name: &Name) -> Result<(), Failure> {
        for known in &self.runs {
            let Some(owner) = &known.owner else { continue };
            let what = match known.view(&self.home) {
                Ok(view) if view.facts.is_some() => match task_of(view) {
                    Some(task) if task == name.as_str() => "works on it",
                    Some(_) | None => continue,
                },
                Ok(_) | Err(_) => "is going on, and may work on it",
            };
            let Owner { run, pid, .. } = owner;
            return Err(Failure::trouble(format!(
                "the task `{name}` is in use: run {run} (pid {pid}) {what}"
            ))
            .hint(format!("wait for it to end, or stop it: legwork stop {run}")));
        }
        Ok(())
    }
}

impl Known {
    fn view(&self, home: &Path) -> &Result<RunView, String> {
        self.view.get_or_init(|| {
            let folder = RunDir::open(home, &self.id).map_err(|error| error.to_string())?;
            let journal = journal::read(&folder.journal()).map_err(|error| error.to_string())?;
            Ok(RunView::of(&journal.records))
        })
    }
}

fn task_of(view: &RunView) -> Option<&str> {
    view.facts.as_ref()?.task.as_deref()
}
