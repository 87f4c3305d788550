//! Detects a second Ctrl-C, which skips the wait for the end of a run.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::signals::Signals;

/// Counts the signals that ask nightwright to exit.
#[derive(Debug)]
pub(super) struct ForceQuit {
    signals: watch::Receiver<u32>,
    /// The number of signals when the run ended.
    before: u32,
    task: JoinHandle<()>,
}

impl ForceQuit {
    /// Counts these signals from now on.
    pub(super) fn watch(mut caught: Signals) -> Self {
        let (count, signals) = watch::channel(0);
        let task = tokio::spawn(async move {
            loop {
                caught.next().await;
                count.send_modify(|count| *count += 1);
            }
        });
        Self { signals, before: 0, task }
    }

    /// Behaves as after two signals.
    #[cfg(test)]
    pub(super) fn at_once() -> Self {
        let (_, signals) = watch::channel(2);
        Self { signals, before: 2, task: tokio::spawn(async {}) }
    }

    /// Marks the end of the run: any later signal means that the user does not want to wait.
    pub(super) fn run_ended(&mut self) {
        self.before = *self.signals.borrow();
    }

    /// Waits until the user wants to exit at once: a second signal, or any signal after the end.
    pub(super) async fn requested(&self) {
        if self.before < 2 {
            let before = self.before;
            let mut signals = self.signals.clone();
            // Without the counting task there are no further signals.
            if signals.wait_for(|count| *count > before).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits for the same, and then for this duration.
    pub(super) async fn requested_after(&self, time: Duration) {
        self.requested().await;
        sleep(time).await;
    }
}

impl Drop for ForceQuit {
    fn drop(&mut self) {
        self.task.abort();
    }
}
