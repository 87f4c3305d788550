//! The stop file: creating it stops a run, from scripts or by hand.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use tokio::sync::mpsc;

use crate::task;

/// The interval at which the file is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Returns the path of the file for a run on this task, or on a goal.
pub fn path(project: &Path, task: Option<&str>) -> PathBuf {
    match task {
        Some(task) => project.join(task::FOLDER).join(task).join(task::STOP),
        None => project.join(".nightwright").join(task::STOP),
    }
}

/// Removes a file from before the run, which was meant for another run.
pub fn clear(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Watches for the file until the receiver is closed. A file that is found is removed.
pub async fn watch(path: PathBuf, operator: mpsc::Sender<Control>) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if fs::symlink_metadata(&path).is_ok() {
            // The run stops even if the file cannot be removed.
            let _ = fs::remove_file(&path);
            let stop = Control::Stop { when: StopWhen::AfterIteration, by: StopSource::StopFile };
            if operator.send(stop).await.is_err() {
                return;
            }
        }
    }
}
