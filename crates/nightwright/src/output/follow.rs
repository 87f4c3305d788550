//! Followers: threads that read the journal and the agent's output, and pass them to a reporter.
//!
//! ```text
//!   supervisor ── append ──▶ journal.jsonl ───── tail ──▶ ┌──────────┐
//!        └────── wake (one place, never waits) ─────────▶ │ follower │ ──▶ reporter
//!   agent ── raw output ──▶ output/003-1.ndjson ─ tail ─▶ └──────────┘
//! ```
//!
//! There is one follower for the screen, the log, the notifications and the decisions each. A
//! follower reads the files on disk, independently of the loop. The loop only wakes it when there
//! is something new. A blocked terminal blocks this thread and nothing else. Nothing is lost: the
//! follower reads the missed output later. A closed terminal ends the thread.

mod stream;

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::journal::JournalLine;

use self::stream::OutputStreams;
pub(crate) use self::stream::show;
use crate::output::{Reporter, ReporterInput};
use crate::store::journal::{JournalError, JournalTail, WrittenLength};

/// The poll interval of the journal without a wake-up. It is long enough to cost nothing and short
/// enough to make up for a lost wake-up.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);

/// The poll interval of a working agent's output, for which there are no wake-ups.
const ACTIVE_INTERVAL: Duration = Duration::from_millis(100);

/// The maximum number of notes waiting for a busy reporter. Further notes are dropped.
const NOTES: usize = 16;

/// The files to follow.
#[derive(Clone, Debug)]
pub struct FollowTarget {
    /// The path of the journal, which may not exist yet.
    pub journal: PathBuf,
    /// The directory with the raw outputs.
    pub output: PathBuf,
    /// The number of the last line from an earlier process. The reporter takes lines up to this one
    /// as past events and does not show them.
    pub after: u64,
    /// The end of what the writer wrote; `None` if the writer is another process.
    pub written: Option<WrittenLength>,
}

/// A running follower, and the means to wake and to end it.
#[derive(Debug)]
pub struct FollowerHandle {
    shared: Arc<FollowerShared>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

/// The state shared between the handle and the thread.
#[derive(Debug)]
struct FollowerShared {
    /// Has room for one wake-up.
    wake_sender: SyncSender<()>,
    /// Set when nothing more will be recorded.
    closing: AtomicBool,
    /// Messages that are not in the journal. Locked only to add or take a message.
    notes: Mutex<VecDeque<String>>,
}

impl FollowerShared {
    fn notes(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // A full channel already holds a wake-up. A closed one has no receiver.
        let _ = self.wake_sender.try_send(());
    }
}

impl FollowerHandle {
    /// Starts to show a run.
    pub fn start(followed: FollowTarget, reporter: Box<dyn Reporter + Send>) -> Self {
        Self::start_with(followed, reporter, |_| {})
    }

    /// Starts to show a run, and calls `on_write_error` when the output can no longer be written.
    pub fn start_with(
        followed: FollowTarget,
        reporter: Box<dyn Reporter + Send>,
        on_write_error: impl FnOnce(&io::Error) + Send + 'static,
    ) -> Self {
        let (wake_sender, wake_receiver) = sync_channel(1);
        let (alive, ended) = sync_channel(1);
        let shared = Arc::new(FollowerShared {
            wake_sender,
            closing: AtomicBool::new(false),
            notes: Mutex::default(),
        });
        let follower = Follower {
            shared: Arc::clone(&shared),
            wake_receiver,
            streams: OutputStreams::new(followed.output.clone()),
            followed,
            tail: None,
            reporter,
        };
        let thread = thread::Builder::new().name("follow".to_owned());
        // Without a thread nothing is shown, but the run continues: the journal has everything.
        let _ = thread.spawn(move || {
            follower.run(on_write_error);
            drop(alive);
        });
        Self { shared, ended }
    }

    /// Announces new lines in the journal. Never blocks.
    pub fn wake(&self) {
        self.shared.wake();
    }

    /// Like [`FollowerHandle::wake`], as a function that can be passed on.
    pub fn waker(&self) -> impl Fn() + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.wake()
    }

    /// Returns a function that shows messages which are not in the journal. Never blocks: messages
    /// that exceed the limit are dropped.
    pub fn note_sender(&self) -> impl Fn(String) + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move |text| {
            let mut notes = shared.notes();
            if notes.len() < NOTES {
                notes.push_back(text);
            }
            drop(notes);
            shared.wake();
        }
    }

    /// Shows the remaining output and waits up to `patience` for it, because a terminal may be
    /// blocked. Returns whether the follower ended in time.
    pub fn finish(self, patience: Duration) -> FollowerFinish {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.wake();
        match self.ended.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) => FollowerFinish::Abandoned,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => FollowerFinish::InTime,
        }
    }
}

impl Drop for FollowerHandle {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.wake();
    }
}

/// Whether the follower ended in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowerFinish {
    /// Everything was shown, or the output is closed.
    InTime,
    /// The thread is still writing, and ends with the process.
    Abandoned,
}

/// The state of the follower thread.
struct Follower {
    shared: Arc<FollowerShared>,
    wake_receiver: Receiver<()>,
    followed: FollowTarget,
    streams: OutputStreams,
    tail: Option<JournalTail>,
    reporter: Box<dyn Reporter + Send>,
}

/// Why a follower ended early.
enum Ended {
    /// The output cannot be written: a closed pipe, a terminal that hung up, a full disk. This does
    /// not affect the run.
    Unwatched(io::Error),
    /// The journal cannot be read.
    Unreadable(JournalError),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Unwatched(error)
    }
}

impl Follower {
    fn run(mut self, on_write_error: impl FnOnce(&io::Error)) {
        match self.follow() {
            Ok(()) => {}
            Err(Ended::Unwatched(error)) => on_write_error(&error),
            Err(Ended::Unreadable(error)) => {
                let text = format!("cannot update the display: {error}");
                // If writing this fails too, there is no other output left.
                let _ = self.reporter.note(&text).and_then(|()| self.reporter.flush());
            }
        }
    }

    fn follow(&mut self) -> Result<(), Ended> {
        loop {
            // Read the flag first, so that everything recorded before it was set is shown below.
            let closing = self.shared.closing.load(Ordering::Acquire);
            self.show_events()?;
            self.streams.poll(self.reporter.as_mut())?;
            self.show_notes()?;
            self.reporter.tick(Timestamp::now())?;
            self.reporter.flush()?;
            if closing {
                return Ok(self.reporter.close()?);
            }
            match self.wake_receiver.recv_timeout(self.poll_interval()) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                // Unreachable: the thread holds a sender too.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn show_notes(&mut self) -> io::Result<()> {
        let notes = std::mem::take(&mut *self.shared.notes());
        notes.iter().try_for_each(|note| self.reporter.note(note))
    }

    /// How long to wait for a wake-up.
    fn poll_interval(&self) -> Duration {
        let listen = match self.reporter.wants() {
            ReporterInput::Events => IDLE_INTERVAL,
            ReporterInput::Messages | ReporterInput::Everything if self.streams.is_open() => {
                ACTIVE_INTERVAL
            }
            ReporterInput::Messages | ReporterInput::Everything => IDLE_INTERVAL,
        };
        self.reporter.pace().map_or(listen, |pace| pace.min(listen))
    }

    fn show_events(&mut self) -> Result<(), Ended> {
        let FollowTarget { journal, written, .. } = &self.followed;
        let open = || JournalTail::open_written(journal, written.clone()).ok();
        let tail = self.tail.take().or_else(open);
        let Some(mut tail) = tail else {
            // The journal does not exist yet. A later round will find it.
            return Ok(());
        };
        let mut shown = Ok(());
        let read = tail.poll_raw(|line, raw| {
            if shown.is_ok() {
                shown = self.show_event(&line, raw);
            }
        });
        shown?;
        read.map_err(Ended::Unreadable)?;
        self.tail = Some(tail);
        Ok(())
    }

    fn show_event(&mut self, line: &JournalLine, raw: &[u8]) -> io::Result<()> {
        if line.seq <= self.followed.after {
            self.streams.past(&line.record);
            self.reporter.past(line);
            return Ok(());
        }
        // The output that led to this event was printed before the event was recorded, so it is on
        // disk.
        self.streams.before(&line.record.event, self.reporter.as_mut())?;
        self.reporter.event(line, raw)?;
        self.streams.after(&line.record);
        Ok(())
    }
}
