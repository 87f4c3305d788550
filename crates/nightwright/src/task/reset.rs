//! A task begun anew: what its runs left goes, what people wrote stays.

use std::fs;
use std::io;

use super::state::{BROKEN, TaskState};
use super::{
    FEEDBACK, NOTES, ProjectRuns, REPORTS, STATE, STATUS, STOP, TODO, Task, checked_count,
    uncheck_all,
};
use crate::error::Failure;
use crate::files::{self, FileError};

/// What goes, beside the counters.
const REMOVED_FILES: [&str; 6] = [NOTES, FEEDBACK, REPORTS, STATUS, STOP, BROKEN];

/// What becomes of the boxes of the task's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecklistReset {
    /// They stay as they are.
    Keep,
    /// They are open again.
    Open,
}

/// What there is that would go.
pub fn removed_by_reset(task: &Task) -> Vec<&'static str> {
    REMOVED_FILES.into_iter().filter(|file| fs::symlink_metadata(task.path(file)).is_ok()).collect()
}

/// How many boxes of the task's list would be opened.
pub fn items_to_uncheck(task: &Task, checklist: ChecklistReset) -> Result<usize, Failure> {
    match checklist {
        ChecklistReset::Keep => Ok(0),
        ChecklistReset::Open => Ok(task.text(TODO)?.map_or(0, |text| checked_count(&text))),
    }
}

/// Begins a task anew. No run may be working on it.
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
        // Of a link the link goes, never what it leads to.
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
    // Last: a task of which something is left still knows its runs.
    task.write(STATE, &TaskState::beginning(runs).to_bytes())
}
