//! A task that no run and no other command works on while it is reset, archived or deleted.

use std::path::Path;

use jiff::Timestamp;

use crate::commands::cli::context::ProjectArgs;
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::files::Removed;
use crate::task::archive::{self, ArchivedTask};
use crate::task::{ProjectRuns, Task, TaskLock, TaskState};

pub(super) struct LockedTask {
    pub(super) task: Task,
    pub(super) runs: ProjectRuns,
    _lock: TaskLock,
}

impl LockedTask {
    pub(super) fn find(project: &ProjectArgs, name: &str) -> Result<Self, Failure> {
        Self::open(&project.find()?, name)
    }

    pub(super) fn open(project: &Path, name: &str) -> Result<Self, Failure> {
        let task = Task::open(project, name)?;
        // Before the lock, because this error can name the run.
        ProjectRuns::of(project)?.require_idle(task.name())?;
        let lock = TaskLock::take(project, task.name())?;
        // The previous owner of the lock may have changed everything.
        let task = Task::open(project, name)?;
        let runs = ProjectRuns::of(project)?;
        runs.require_idle(task.name())?;
        Ok(Self { task, runs, _lock: lock })
    }

    /// Archives the task and removes its folder; returns the path of the archive in the project.
    pub(super) fn archive(&self) -> Result<String, Failure> {
        // A state that cannot be recorded is archived as it is.
        match TaskState::settle(&self.task, &self.runs) {
            Ok(None) => {}
            Ok(Some(warning)) => eprint_safe(&format!("warning: {warning}")),
            Err(error) => {
                let why = error.message;
                eprint_safe(&format!("warning: cannot record the state of the task: {why}"));
            }
        }
        let ArchivedTask { archive, folder } = archive::archive_task(&self.task, Timestamp::now())?;
        warn_about_leftovers(&folder);
        Ok(archive.display().to_string())
    }
}

/// Warns about the rest of a folder that could not be removed completely.
pub(super) fn warn_about_leftovers(folder: &Removed) {
    match folder {
        Removed::Wholly => {}
        Removed::Leaving(rest) => eprint_safe(&format!(
            "warning: could not remove all of the folder; the rest is now in `{}`",
            rest.display()
        )),
    }
}
