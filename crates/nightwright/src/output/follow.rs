//! How what shows gets its events and the agent's words, without being able to hold up the loop or
//! to change it.
//!
//! ```text
//!   supervisor ── append ──▶ journal.jsonl ───── tail ──▶ ┌──────────┐
//!        └────── wake (one place, never waits) ─────────▶ │ follower │ ──▶ reporter ──▶ terminal, log
//!   agent ── raw output ──▶ output/003-1.ndjson ─ tail ─▶ └──────────┘
//! ```
//!
//! A follower is a thread that reads what is on disk as a stranger would. All that the loop ever
//! does for it is to leave a note that there is something new. A terminal that nobody reads blocks
//! that thread and nothing else, and misses nothing: what was said meanwhile is read later. A closed
//! one ends it.

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
use crate::store::journal::{JournalError, JournalTail};

/// How long the journal is left alone when nobody says that there is something new: long enough
/// to cost nothing, short enough to be of use if a note gets lost.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);

/// How long the output of an agent at work is left alone: nobody leaves a note for it.
const ACTIVE_INTERVAL: Duration = Duration::from_millis(100);

/// So many notes wait for a display that is busy; more are not told.
const NOTES: usize = 16;

/// What is followed.
#[derive(Clone, Debug)]
pub struct FollowTarget {
    /// The journal. It need not exist yet.
    pub journal: PathBuf,
    /// The folder with the raw outputs.
    pub output: PathBuf,
    /// What comes up to the line with this number is known already: an earlier process has shown
    /// it. The reporter gets to know of it, and shows nothing.
    pub after: u64,
}

/// A run on somebody's screen, or in a log.
#[derive(Debug)]
pub struct FollowerHandle {
    shared: Arc<FollowerShared>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

/// What both sides know.
#[derive(Debug)]
struct FollowerShared {
    /// A place for one note: there is something new.
    wake_sender: SyncSender<()>,
    /// Nothing more will come.
    closing: AtomicBool,
    /// What is to be told beside what is recorded. Held only to put something in or take it out.
    notes: Mutex<VecDeque<String>>,
}

impl FollowerShared {
    /// What is to be told and has not been.
    fn notes(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // Full means that a note lies there already, closed that nobody looks any more.
        let _ = self.wake_sender.try_send(());
    }
}

impl FollowerHandle {
    /// Shows a run.
    pub fn start(followed: FollowTarget, reporter: Box<dyn Reporter + Send>) -> Self {
        Self::start_with(followed, reporter, |_| {})
    }

    /// The same, and `dark` is told when nothing can be written any more.
    pub fn start_with(
        followed: FollowTarget,
        reporter: Box<dyn Reporter + Send>,
        dark: impl FnOnce(&io::Error) + Send + 'static,
    ) -> Self {
        let (wake_sender, bell_heard) = sync_channel(1);
        let (alive, ended) = sync_channel(1);
        let shared = Arc::new(FollowerShared {
            wake_sender,
            closing: AtomicBool::new(false),
            notes: Mutex::default(),
        });
        let screen = Follower {
            shared: Arc::clone(&shared),
            wake_receiver: bell_heard,
            streams: OutputStreams::new(followed.output.clone()),
            followed,
            tail: None,
            reporter,
        };
        let thread = thread::Builder::new().name("display".to_owned());
        // Without a thread nothing is shown, and the run goes on: everything is in the journal.
        let _ = thread.spawn(move || {
            screen.run(dark);
            drop(alive);
        });
        Self { shared, ended }
    }

    /// There is something new in the journal. Never waits.
    pub fn wake(&self) {
        self.shared.wake();
    }

    /// The same as [`FollowerHandle::wake`], to be given away.
    pub fn waker(&self) -> impl Fn() + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.wake()
    }

    /// Has something told that is not recorded, below what was shown so far. Never waits: what
    /// nobody reads is not told.
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

    /// Shows what is left, and waits for that at most so long: a terminal that nobody reads must
    /// not keep us. Says whether all of it was shown in time, or nobody looks any more.
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

/// Whether the display came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowerFinish {
    /// It did.
    InTime,
    /// It still tries to write, and ends with the process.
    Abandoned,
}

/// The side of the thread.
struct Follower {
    shared: Arc<FollowerShared>,
    wake_receiver: Receiver<()>,
    followed: FollowTarget,
    streams: OutputStreams,
    tail: Option<JournalTail>,
    reporter: Box<dyn Reporter + Send>,
}

/// Why nothing more is shown.
enum Ended {
    /// Nothing can be written any more: a closed pipe, a terminal that hung up, a full disk.
    /// Whatever it is, it is not the run's business.
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
    fn run(mut self, dark: impl FnOnce(&io::Error)) {
        match self.follow() {
            Ok(()) => {}
            Err(Ended::Unwatched(error)) => dark(&error),
            Err(Ended::Unreadable(error)) => {
                let text = format!("nothing more is shown: {error}");
                // If that cannot be shown either, there is nobody to tell.
                let _ = self.reporter.note(&text).and_then(|()| self.reporter.flush());
            }
        }
    }

    fn follow(&mut self) -> Result<(), Ended> {
        loop {
            // Looked at first: what was there when it was set is shown below.
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
                // We hold one end ourselves.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn show_notes(&mut self) -> io::Result<()> {
        let notes = std::mem::take(&mut *self.shared.notes());
        notes.iter().try_for_each(|note| self.reporter.note(note))
    }

    /// How long nothing is looked at unless somebody rings.
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
        let tail = self.tail.take().or_else(|| JournalTail::open(&self.followed.journal).ok());
        let Some(mut tail) = tail else {
            // Not there yet; the next note or the next round finds it.
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
            self.streams.past(&line.record.event);
            self.reporter.past(line);
            return Ok(());
        }
        // Whatever it follows from was printed before it was recorded, so that is on disk by now.
        self.streams.before(&line.record.event, self.reporter.as_mut())?;
        self.reporter.event(line, raw)?;
        self.streams.after(&line.record.event);
        Ok(())
    }
}
