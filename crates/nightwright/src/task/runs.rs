//! The runs of a project from the perspective of its tasks: which are active, and their results.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nightwright_core::run_view::RunView;
use nightwright_core::units::RunId;

use crate::error::Failure;
use crate::name::TaskName;
use crate::store::journal::{self, JournalError};
use crate::store::lock::{self, LockOwner};
use crate::store::run_dir::{self, RunDir};

/// The runs of a project, oldest first. Each journal is read at most once, on demand. The task of a
/// run is in the first line, and only that line is read for it.
#[derive(Debug)]
pub struct ProjectRuns {
    home: PathBuf,
    known: Vec<CachedRun>,
    /// The index of each run in the list.
    places: HashMap<RunId, usize>,
}

#[derive(Debug)]
struct CachedRun {
    id: RunId,
    /// The process that executes the run, if it is active.
    owner: Option<LockOwner>,
    /// The settings of the run; `None` if they cannot be read, or are not recorded yet.
    first_view: OnceCell<Option<RunView>>,
    view: OnceCell<Result<RunSummary, String>>,
}

/// The result of a run, as far as its journal can be read.
#[derive(Debug)]
struct RunSummary {
    view: RunView,
    /// Why the journal cannot be read to its end.
    damage: Option<String>,
}

impl ProjectRuns {
    /// Returns the runs of a project, according to the environment.
    pub fn of(project: &Path) -> Result<Self, Failure> {
        Self::kept_in(run_dir::state_of(project)?)
    }

    /// Returns the runs in this state folder of a project.
    pub fn kept_in(home: PathBuf) -> Result<Self, Failure> {
        let ids = RunDir::list(&home).map_err(|error| Failure::because(&error))?;
        let known = |id: RunId| {
            let folder = RunDir::open(&home, &id).ok()?;
            let owner = lock::peek(&folder.lock());
            Some(CachedRun { id, owner, first_view: OnceCell::new(), view: OnceCell::new() })
        };
        let runs: Vec<_> = ids.into_iter().filter_map(known).collect();
        let place = |(place, known): (usize, &CachedRun)| (known.id.clone(), place);
        let places = runs.iter().enumerate().map(place).collect();
        Ok(Self { home, known: runs, places })
    }

    /// Returns the newest run, whatever its task.
    pub fn newest(&self) -> Option<&RunId> {
        self.known.last().map(|known| &known.id)
    }

    /// Returns the runs after a certain one; all, if there is none.
    pub fn after(&self, id: Option<&RunId>) -> impl Iterator<Item = &RunId> {
        self.known
            .iter()
            .map(|known| &known.id)
            .filter(move |run| id.is_none_or(|id| self.is_later(run, id)))
    }

    /// Whether one run started after another. Runs that no longer exist are compared by name.
    pub fn is_later(&self, run: &RunId, other: &RunId) -> bool {
        match (self.places.get(run), self.places.get(other)) {
            (Some(run), Some(other)) => run > other,
            (Some(_) | None, None) | (None, Some(_)) => run > other,
        }
    }

    /// Returns the result of a run so far; `None` if there is no such run, or its journal cannot be
    /// read to its end.
    pub fn view(&self, id: &RunId) -> Option<&RunView> {
        let seen = self.find(id)?.seen(&self.home).as_ref().ok()?;
        seen.damage.is_none().then_some(&seen.view)
    }

    /// Returns the result of a run as far as its journal can be read, and the reason why it cannot
    /// be read further.
    pub fn partial_view(&self, id: &RunId) -> Option<(&RunView, Option<&str>)> {
        let seen = self.find(id)?.seen(&self.home).as_ref().ok()?;
        Some((&seen.view, seen.damage.as_deref()))
    }

    /// Returns why the journal of a run cannot be read to its end, if so.
    pub fn damage(&self, id: &RunId) -> Option<&str> {
        self.partial_view(id)?.1
    }

    /// Whether a run worked on this task.
    pub fn is_of(&self, id: &RunId, name: &TaskName) -> bool {
        let view = self.find(id).and_then(|known| known.first_view(&self.home));
        view.and_then(task_of).is_some_and(|task| task == name.as_str())
    }

    fn find(&self, id: &RunId) -> Option<&CachedRun> {
        self.places.get(id).and_then(|place| self.known.get(*place))
    }

    /// Returns the active run of a task.
    pub fn live(&self, name: &TaskName) -> Option<&LockOwner> {
        let mut owners = self.known.iter().filter_map(|known| known.owner.as_ref());
        owners.find(|owner| self.is_of(&owner.run, name))
    }

    /// Opens the folder of a run.
    pub fn folder(&self, id: &RunId) -> Option<RunDir> {
        RunDir::open(&self.home, id).ok()
    }

    /// Fails if an active run works on this task, or may do so: a run that has just started has not
    /// recorded its task yet.
    pub fn require_idle(&self, name: &TaskName) -> Result<(), Failure> {
        for known in &self.known {
            let Some(owner) = &known.owner else { continue };
            let what = match known.seen(&self.home) {
                Ok(RunSummary { view, .. }) if view.facts.is_some() => match task_of(view) {
                    Some(task) if task == name.as_str() => "works on it",
                    Some(_) | None => continue,
                },
                Ok(_) | Err(_) => "is active, and may work on it",
            };
            let LockOwner { run, pid, .. } = owner;
            return Err(Failure::trouble(format!(
                "the task `{name}` is in use: run {run} (pid {pid}) {what}"
            ))
            .hint(format!("wait for it to end, or run `nightwright stop {run}`")));
        }
        Ok(())
    }
}

impl CachedRun {
    /// Returns the view of the first event, which contains the settings.
    fn first_view(&self, home: &Path) -> Option<&RunView> {
        if let Some(Ok(seen)) = self.view.get() {
            return Some(&seen.view);
        }
        let read = || {
            let folder = RunDir::open(home, &self.id).ok()?;
            let first = journal::first(&folder.journal()).ok()??;
            Some(RunView::of([&first]))
        };
        self.first_view.get_or_init(read).as_ref()
    }

    fn seen(&self, home: &Path) -> &Result<RunSummary, String> {
        self.view.get_or_init(|| {
            let folder = RunDir::open(home, &self.id).map_err(|error| error.to_string())?;
            let mut view = RunView::default();
            let walked = journal::walk(&folder.journal(), |record| view.record(&record));
            let damage = match walked {
                Ok(_) => None,
                Err(JournalError::File(error)) if error.source.kind() == ErrorKind::NotFound => {
                    return Err(error.to_string());
                }
                Err(error) => Some(error.reason()),
            };
            Ok(RunSummary { view, damage })
        })
    }
}

fn task_of(view: &RunView) -> Option<&str> {
    view.facts.as_ref()?.task.as_deref()
}
