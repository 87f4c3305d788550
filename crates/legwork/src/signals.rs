//! Signals, as wishes of the operator.

use std::io;

use legwork_core::event::{Origin, StopWhen};
use legwork_core::input::Control;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// The signals that mean "stop now".
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    quit: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From now on these signals don't end the process any more.
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            Some(()) = self.interrupt.recv() => {}
            Some(()) = self.quit.recv() => {}
            Some(()) = self.terminate.recv() => {}
            Some(()) = self.hang_up.recv() => {}
            else => std::future::pending().await,
        }
    }

    /// Hands signals on for as long as somebody listens.
    pub async fn forward(mut self, operator: mpsc::Sender<Control>) {
        loop {
            self.next().await;
            let stop = Control::Stop { when: StopWhen::Now, by: Origin::Signal };
            if operator.send(stop).await.is_err() {
                return;
            }
        }
    }
}
