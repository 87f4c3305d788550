//! The file that stops a run: the simplest way to speak to one, for scripts and for hands.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use tokio::sync::mpsc;

/// How often it is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Removes a file left from before the run: it was meant for another one.
pub fn clear(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Watches for the file for as long as somebody decides upon it. It is removed when it is seen.
pub async fn watch(path: PathBuf, operator: mpsc::Sender<Control>) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if fs::symlink_metadata(&path).is_ok() {
            // One that can't be removed stops the run all the same.
            let _ = fs::remove_file(&path);
            let stop = Control::Stop { when: StopWhen::AfterIteration, by: StopSource::StopFile };
            if operator.send(stop).await.is_err() {
                return;
            }
        }
    }
}
