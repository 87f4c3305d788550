//! Resets a task: removes the files that its runs left, and keeps those that the user wrote.

use std::fs;
use std::io;

use super::state::{BROKEN, TaskState};
use super::{
    FEEDBACK, NOTES, ProjectRuns, REPORTS, STATE, STATUS, STOP, TODO, Task, checked_count,
    uncheck_all,
};
use crate::error::Failure;
use crate::files::{self, FileError};

/// The files that are removed, in addition to the counters.
const REMOVED_FILES: [&str; 6] = [NOTES, FEEDBACK, REPORTS, STATUS, STOP, BROKEN];

/// Whether the boxes of the checklist are reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecklistReset {
    /// The boxes stay as they are.
    Keep,
    /// All boxes are open again.
    Open,
}

/// Returns the existing files that a reset would remove.
pub fn removed_by_reset(task: &Task) -> Vec<&'static str> {
    REMOVED_FILES.into_iter().filter(|file| fs::symlink_metadata(task.path(file)).is_ok()).collect()
}

/// Returns the number of boxes that a reset would open.
pub fn items_to_uncheck(task: &Task, checklist: ChecklistReset) -> Result<usize, Failure> {
    match checklist {
        ChecklistReset::Keep => Ok(0),
        ChecklistReset::Open => Ok(task.text(TODO)?.map_or(0, |text| checked_count(&text))),
    }
}

/// Resets a task. No run may be working on it.
pub fn reset(task: &Task, runs: &ProjectRuns, checklist: ChecklistReset) -> Result<(), Failure> {
    match checklist {
        ChecklistReset::Keep => {}
        ChecklistReset::Open => {
            if let Some(text) = task.text(TODO)? {
                task.write(TODO, uncheck_all(&text).as_bytes())?;
            }
        }
    }
    for file in removed_by_reset(task) {
        let path = task.path(file);
        // A link itself is removed, never its target.
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        let removed = if is_folder {
            files::remove_folder(&path).map(|_| ())
        } else {
            match fs::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done.map_err(|source| FileError::Write { path, source }),
            }
        };
        removed.map_err(|error| Failure::because(&error))?;
    }
    // Last: a partly reset task still knows its runs.
    task.write(STATE, &TaskState::beginning(runs).to_bytes())
}
