//! Messages on standard error outside the display: the outcome, and errors after the display has
//! ended.
//!
//! A blocked terminal accepts no output. Writing from the thread of the loop would then stall the
//! run. A separate thread writes the messages in order, and the end of the run waits for it only
//! briefly.

use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use nightwright_core::display::display_safe;

use crate::output::follow::FollowerFinish;

/// How long to wait for the last messages.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of queued messages; further ones are dropped. A run has only a few.
const MAX_QUEUED_MESSAGES: usize = 64;

/// Writes messages to standard error, and blocks only at the end.
pub(crate) struct StderrWriter {
    /// The queue to the writing thread, created with the first message.
    sender: OnceLock<SyncSender<QueuedText>>,
    /// Set once standard error has no reader.
    closed: AtomicBool,
}

enum QueuedText {
    Text(String),
    /// Asks for a reply once all earlier messages are written.
    Last(SyncSender<()>),
}

impl StderrWriter {
    pub(super) fn new() -> Self {
        Self { sender: OnceLock::new(), closed: AtomicBool::new(false) }
    }

    /// Writes a line. Escapes text that may come from an agent or a file.
    pub(crate) fn write_line(&self, text: &str) {
        self.show(&display_safe(text));
    }

    /// Writes text that is already escaped.
    pub(super) fn show(&self, text: &str) {
        if self.is_open() {
            // A full queue means that the terminal is blocked.
            let _ = self.sender().try_send(QueuedText::Text(format!("{text}\n")));
        }
    }

    /// Whether standard error still has a reader.
    pub(super) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire)
    }

    /// Records how the display ended. If it could not write everything, later messages cannot be
    /// written either.
    pub(super) fn after(&self, shown: FollowerFinish) {
        match shown {
            FollowerFinish::InTime => {}
            FollowerFinish::Abandoned => self.closed.store(true, Ordering::Release),
        }
    }

    /// Waits until everything is written, with a timeout.
    pub(super) fn finish(&self) {
        let (true, Some(queue)) = (self.is_open(), self.sender.get()) else { return };
        let (done, is_written) = sync_channel(1);
        if queue.try_send(QueuedText::Last(done)).is_ok() {
            // A timeout changes nothing.
            let _ = is_written.recv_timeout(FLUSH_TIMEOUT);
        }
    }

    fn sender(&self) -> &SyncSender<QueuedText> {
        self.sender.get_or_init(|| {
            let (queue, queued) = sync_channel(MAX_QUEUED_MESSAGES);
            let thread = thread::Builder::new().name("stderr".to_owned());
            // Without a thread nothing is printed, and the exit code remains.
            let _ = thread.spawn(move || write(&queued));
            queue
        })
    }
}

fn write(queue: &Receiver<QueuedText>) {
    for message in queue {
        match message {
            // A closed standard error cannot be reported; the exit code remains.
            QueuedText::Text(text) => drop(io::stderr().write_all(text.as_bytes())),
            // The receiver may have given up waiting.
            QueuedText::Last(done) => drop(done.send(())),
        }
    }
}

impl fmt::Debug for StderrWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrWriter").field("closed", &self.closed).finish_non_exhaustive()
    }
}
