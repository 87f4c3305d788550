//! The stop file: creating it stops a run, from scripts or by hand.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use tokio::sync::mpsc;

/// The interval at which the file is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Removes a file from before the run, which was meant for another run.
pub fn clear(path: &std::path::Path) -> io::Result<()> {
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
