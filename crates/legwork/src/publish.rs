//! How what shows gets its events, without being able to hold up the loop or to change it.
//!
//! ```text
//!   supervisor ── append ──▶ journal.jsonl ── tail ──▶ ┌─────────┐
//!        └──────── wake (one place, never waits) ────▶ │ display │ ──▶ reporter ──▶ terminal
//!   agent's words ── sink (bounded, drops, counts) ──▶ └─────────┘
//! ```
//!
//! The display is a thread that follows the journal as a stranger would. All that the loop ever
//! does for it is to leave a note that there is something new. A terminal that nobody reads blocks
//! that thread and nothing else; a closed one ends it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use legwork_core::agent::message::AgentMessage;
use legwork_core::event::Event;
use legwork_core::journal::Line;

use crate::journal::{JournalError, Tail};
use crate::report::{Reporter, Shown};

/// How many messages wait to be shown. Beyond it they are dropped, counted, and told as such.
const MOST_MESSAGES: usize = 1_000;

/// How much memory they take together at most.
const MOST_BYTES: usize = 8 << 20;

/// How long the journal is left alone when nobody says that there is something new: long enough
/// to cost nothing, short enough to be of use if a note gets lost.
const IDLE: Duration = Duration::from_millis(500);

/// A run on somebody's screen.
#[derive(Debug)]
pub struct Display {
    shared: Arc<Shared>,
    messages: MessageSink,
    /// Closed when the thread has ended.
    over: Receiver<()>,
}

/// Where the agent's words go. Cheap to copy, and never waits.
#[derive(Clone, Debug)]
pub struct MessageSink {
    shared: Arc<Shared>,
    queue: SyncSender<Shown>,
}

/// What both sides know.
#[derive(Debug)]
struct Shared {
    /// A place for one note: there is something new.
    bell: SyncSender<()>,
    /// Nothing more will come.
    closing: AtomicBool,
    /// Messages dropped and not told yet.
    dropped: AtomicU64,
    /// Memory of the messages in the queue.
    queued_bytes: AtomicUsize,
    /// Whether messages are wanted.
    wants_messages: bool,
}

impl Shared {
    fn ring(&self) {
        // Full means that a note lies there already, closed that nobody looks any more.
        let _ = self.bell.try_send(());
    }
}

impl Display {
    /// Shows a journal from its beginning. It need not exist yet.
    pub fn start(journal: PathBuf, reporter: Box<dyn Reporter + Send>) -> Self {
        Self::start_after(journal, 0, reporter)
    }

    /// Shows what comes after the line with this number: for a run that an earlier process has
    /// begun. The reporter gets to know of the lines before, and shows nothing of them.
    pub fn start_after(journal: PathBuf, seq: u64, reporter: Box<dyn Reporter + Send>) -> Self {
        let (bell, bell_heard) = sync_channel(1);
        let (queue, messages) = sync_channel(MOST_MESSAGES);
        let (alive, over) = sync_channel(1);
        let shared = Arc::new(Shared {
            bell,
            closing: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            queued_bytes: AtomicUsize::new(0),
            wants_messages: reporter.wants_messages(),
        });
        let screen = Screen {
            shared: Arc::clone(&shared),
            bell: bell_heard,
            messages,
            journal,
            tail: None,
            after: seq,
            reporter,
        };
        let thread = thread::Builder::new().name("display".to_owned());
        // Without a thread nothing is shown, and the run goes on: everything is in the journal.
        let _ = thread.spawn(move || {
            screen.run();
            drop(alive);
        });
        let messages = MessageSink { shared: Arc::clone(&shared), queue };
        Self { shared, messages, over }
    }

    /// There is something new in the journal. Never waits.
    pub fn wake(&self) {
        self.shared.ring();
    }

    /// The same as [`Display::wake`], to be given away.
    pub fn waker(&self) -> impl Fn() + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.ring()
    }

    /// Where the agent's words go.
    pub fn messages(&self) -> MessageSink {
        self.messages.clone()
    }

    /// Shows what is left, and waits for that at most so long: a terminal that nobody reads must
    /// not keep us. Says whether all of it was shown in time, or nobody looks any more.
    pub fn finish(self, patience: Duration) -> Finished {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.ring();
        match self.over.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) => Finished::Abandoned,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Finished::InTime,
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.ring();
    }
}

/// Whether the display came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It did.
    InTime,
    /// It still tries to write, and ends with the process.
    Abandoned,
}

impl MessageSink {
    /// Whether anybody wants messages: preparing them costs something.
    pub fn is_wanted(&self) -> bool {
        self.shared.wants_messages
    }

    /// Shows what there is to show of a message. Never waits.
    pub fn message(&self, message: &AgentMessage<'_>) {
        if self.is_wanted()
            && let Some(shown) = Shown::from_message(message)
        {
            self.send(shown);
        }
    }

    /// Shows something. Never waits: what does not fit is dropped and counted.
    pub fn send(&self, shown: Shown) {
        let size = shown.size();
        let queued = self.shared.queued_bytes.fetch_add(size, Ordering::AcqRel);
        if queued.saturating_add(size) > MOST_BYTES || self.queue.try_send(shown).is_err() {
            self.shared.queued_bytes.fetch_sub(size, Ordering::AcqRel);
            self.shared.dropped.fetch_add(1, Ordering::AcqRel);
        }
        self.shared.ring();
    }
}

/// The side of the thread.
struct Screen {
    shared: Arc<Shared>,
    bell: Receiver<()>,
    messages: Receiver<Shown>,
    journal: PathBuf,
    tail: Option<Tail>,
    after: u64,
    reporter: Box<dyn Reporter + Send>,
}

/// Why nothing more is shown.
enum Dark {
    /// Nobody looks any more.
    Unwatched,
    /// The journal can't be read.
    Unreadable(JournalError),
}

impl From<io::Error> for Dark {
    /// A closed pipe, a terminal that hung up, a full disk: whatever it is, it is not the run's
    /// business.
    fn from(_: io::Error) -> Self {
        Self::Unwatched
    }
}

impl Screen {
    fn run(mut self) {
        match self.follow() {
            Ok(()) | Err(Dark::Unwatched) => {}
            Err(Dark::Unreadable(error)) => {
                let text = format!("nothing more is shown: {error}");
                // If that can't be shown either, there is nobody to tell.
                let _ = self.reporter.note(&text).and_then(|()| self.reporter.flush());
            }
        }
    }

    fn follow(&mut self) -> Result<(), Dark> {
        loop {
            // Looked at first: what was there when it was set is shown below.
            let closing = self.shared.closing.load(Ordering::Acquire);
            self.show_events()?;
            self.show_messages()?;
            self.reporter.flush()?;
            if closing {
                return Ok(());
            }
            match self.bell.recv_timeout(IDLE) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                // We hold one end ourselves.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn show_events(&mut self) -> Result<(), Dark> {
        let Some(mut tail) = self.tail.take().or_else(|| Tail::open(&self.journal).ok()) else {
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
        read.map_err(Dark::Unreadable)?;
        self.tail = Some(tail);
        Ok(())
    }

    fn show_event(&mut self, line: &Line, raw: &[u8]) -> io::Result<()> {
        if line.seq <= self.after {
            self.reporter.past(line);
            return Ok(());
        }
        if ends_talk(&line.record.event) {
            // All its words were said before its end was recorded, so they are here by now.
            self.show_messages()?;
        }
        self.reporter.event(line, raw)
    }

    fn show_messages(&mut self) -> io::Result<()> {
        // No more than can wait: an agent that talks faster than we write can't keep us here.
        for shown in self.messages.try_iter().take(MOST_MESSAGES) {
            self.shared.queued_bytes.fetch_sub(shown.size(), Ordering::AcqRel);
            self.reporter.message(&shown)?;
        }
        match self.shared.dropped.swap(0, Ordering::AcqRel) {
            0 => Ok(()),
            dropped => self.reporter.note(&format!("… {dropped} messages not shown")),
        }
    }
}

/// Whether nothing is said any more by whoever was talking.
fn ends_talk(event: &Event) -> bool {
    matches!(event, Event::AttemptFinished { .. } | Event::CallFinished { .. })
}
