//! The words that people are told beside what shows a run: how it ended, and what went wrong when
//! nothing is shown any more.
//!
//! A terminal that nobody reads takes no word. Whoever wrote to it from the thread of the loop would
//! stop everything that this thread drives, so the words are written by a thread of their own, in
//! order, and waited for once and only so long.

use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use nightwright_core::display::display_safe;

use crate::output::follow::FollowerFinish;

/// How long the last words may take to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// So many words wait to be written; more are not said. A run has a handful of them.
const WAITING: usize = 64;

/// Says something to people, and never waits for them before the end.
pub(crate) struct StderrWriter {
    /// Where words go on their way to standard error, once there were any.
    sender: OnceLock<SyncSender<QueuedText>>,
    /// Nobody reads what we write.
    closed: AtomicBool,
}

enum QueuedText {
    Text(String),
    /// Everything before it was written.
    Last(SyncSender<()>),
}

impl StderrWriter {
    pub(super) fn new() -> Self {
        Self { sender: OnceLock::new(), closed: AtomicBool::new(false) }
    }

    /// Says something. Whatever of it came from an agent or a file is made safe here.
    pub(crate) fn write_line(&self, text: &str) {
        self.show(&display_safe(text));
    }

    /// Shows something that is safe already.
    pub(super) fn show(&self, text: &str) {
        if self.is_open() {
            // A queue that is full is one that nobody reads.
            let _ = self.sender().try_send(QueuedText::Text(format!("{text}\n")));
        }
    }

    /// Whether anybody reads what is said.
    pub(super) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire)
    }

    /// Takes note of how the display ended: where it could not be written to its end, not a word
    /// more can be.
    pub(super) fn after(&self, shown: FollowerFinish) {
        match shown {
            FollowerFinish::InTime => {}
            FollowerFinish::Abandoned => self.closed.store(true, Ordering::Release),
        }
    }

    /// Waits until everything was said, but not for ever.
    pub(super) fn finish(&self) {
        let (true, Some(words)) = (self.is_open(), self.sender.get()) else { return };
        let (said, is_said) = sync_channel(1);
        if words.try_send(QueuedText::Last(said)).is_ok() {
            // Whether somebody has seen it changes nothing.
            let _ = is_said.recv_timeout(FLUSH_TIMEOUT);
        }
    }

    fn sender(&self) -> &SyncSender<QueuedText> {
        self.sender.get_or_init(|| {
            let (words, to_say) = sync_channel(WAITING);
            let thread = thread::Builder::new().name("voice".to_owned());
            // Without a thread nothing is said, and the exit code says enough.
            let _ = thread.spawn(move || write(&to_say));
            words
        })
    }
}

fn write(words: &Receiver<QueuedText>) {
    for word in words {
        match word {
            // Nobody to tell when standard error is closed; the exit code says enough.
            QueuedText::Text(text) => drop(io::stderr().write_all(text.as_bytes())),
            // Whoever waited for it has left.
            QueuedText::Last(said) => drop(said.send(())),
        }
    }
}

impl fmt::Debug for StderrWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrWriter").field("closed", &self.closed).finish_non_exhaustive()
    }
}
