//! Notifications: what people who are elsewhere are told while a run goes on, and how it gets to
//! them.
//!
//! ```text
//!   journal.jsonl ── follower ──▶ notices ──┬─▶ queue ─▶ thread ─▶ https://ntfy.sh/...
//!                                           └─▶ queue ─▶ thread ─▶ https://hooks.slack.com/...
//! ```
//!
//! It follows the journal like a screen does, so all that the loop does for it is to ring a bell.
//! Every address has a queue with an end and a thread of its own: one that is dead delays no other,
//! and none delays the run. At the end what is still waiting gets [`FINAL_TIMEOUT`] in all.

mod address;
mod client;
mod payload;
mod secret;
mod sender;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nightwright_core::event::{Event, NoteEvent};
use nightwright_core::journal::JournalLine;
use nightwright_core::notification::{Notification, NotificationFold};
use nightwright_core::redact::Secrets;
use nightwright_core::run_view::FinalOutcome;
use nightwright_core::stream::message::AgentMessage;
use nightwright_core::units::RunId;

pub(crate) use address::is_key;
pub use address::{Address, NotifyService};
pub(crate) use secret::secrets;
pub use sender::TestDelivery;

use self::payload::NotifyRequest;
use self::sender::NotificationSender;
use crate::output::follow::{FollowTarget, FollowerHandle};
use crate::output::{Reporter, ReporterInput, Speaker};

#[cfg(test)]
pub(crate) use address::drafts;

/// How long what is still waiting may take when a run is over, all addresses together.
pub const FINAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Where it is said that something does not arrive.
pub type NotifyWarnFn = Arc<dyn Fn(String) + Send + Sync>;

/// Tells people of a run.
#[derive(Debug)]
pub struct Notifier {
    display: FollowerHandle,
    desk: Arc<Mutex<NotifierState>>,
}

impl Notifier {
    /// Tells these addresses what comes after what is known already; `None` if there are none.
    pub fn start(
        addresses: &[Address],
        followed: FollowTarget,
        secrets: &Secrets,
        complain: &NotifyWarnFn,
    ) -> Option<Self> {
        if addresses.is_empty() {
            return None;
        }
        let start = |address: &Address| {
            NotificationSender::start(address.clone(), secrets.clone(), complain)
        };
        let senders = addresses.iter().map(start).collect();
        let (notices, secrets) = (NotificationFold::default(), secrets.clone());
        let state = NotifierState { notices, secrets, senders, warned: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let display = FollowerHandle::start(
            followed,
            Box::new(NotificationReporter { desk: Arc::clone(&state) }),
        );
        Some(Self { display, desk: state })
    }

    /// Says that there is something new in the journal. Never waits.
    pub fn waker(&self) -> impl Fn() + use<> {
        self.display.waker()
    }

    /// Nothing is recorded any more: what does not arrive from now on is said by [`PendingNotifications::wait`].
    pub fn stop_warnings(&self) {
        for sender in &lock(&self.desk).senders {
            sender.stop_warnings();
        }
    }

    /// The run is over like this: reads the rest, and lets what is waiting go out from now on until
    /// [`PendingNotifications::wait`] gives up.
    pub fn close(self, ending: FinalOutcome) -> PendingNotifications {
        self.stop_warnings();
        let until = Instant::now() + FINAL_TIMEOUT;
        // However far it came: the ending is told below if it was not.
        let _ = self.display.finish(FINAL_TIMEOUT);
        let mut state = lock(&self.desk);
        if let Some(notification) = state.notices.ending(ending, Timestamp::now()) {
            state.send(notification, None);
        }
        let (senders, warned) =
            (std::mem::take(&mut state.senders), std::mem::take(&mut state.warned));
        for sender in &senders {
            sender.close(until);
        }
        PendingNotifications { senders, warned }
    }
}

/// What is still on its way when a run is over.
#[derive(Debug)]
pub struct PendingNotifications {
    senders: Vec<NotificationSender>,
    /// The warnings of the journal.
    warned: Vec<String>,
}

impl PendingNotifications {
    /// Waits for it as long as there is time; says what did not arrive, unless the journal does: a
    /// warning in the last moment of a run may not have got there.
    pub fn wait(&self) -> Vec<String> {
        let complaints = self.senders.iter().filter_map(NotificationSender::finish);
        complaints.filter(|complaint| !self.warned.contains(complaint)).collect()
    }

    /// There is less time than was thought.
    pub fn shorten_deadline(&self, until: Instant) {
        for sender in &self.senders {
            sender.shorten_deadline(until);
        }
    }
}

/// Sends one notice that tells of nothing to each of these addresses, all at the same time, and
/// says what came of it.
pub fn test(addresses: &[Address], run: RunId, secrets: &Secrets) -> Vec<TestDelivery> {
    let notification = Notification::test(run, Timestamp::now());
    std::thread::scope(|scope| {
        let tries: Vec<_> = addresses
            .iter()
            .map(|address| {
                let request = NotifyRequest::of(address, &notification, None);
                scope.spawn(move || sender::try_out(address, secrets, &request))
            })
            .collect();
        // A thread that panics has a defect, and so have we.
        tries.into_iter().filter_map(|tried| tried.join().ok()).collect()
    })
}

/// What the follower and whoever closes both know.
struct NotifierState {
    notices: NotificationFold,
    secrets: Secrets,
    senders: Vec<NotificationSender>,
    /// What the journal has of our warnings.
    warned: Vec<String>,
}

impl NotifierState {
    fn send(&self, notification: Notification, raw: Option<&[u8]>) {
        let mask = |text: &str| self.secrets.mask(text).into_owned();
        let (title, text) = (mask(&notification.title), mask(&notification.text));
        let notification = Notification { title, text, ..notification };
        for sender in &self.senders {
            if sender.address().wants(notification.kind) {
                sender.push(NotifyRequest::of(sender.address(), &notification, raw));
            }
        }
    }
}

impl std::fmt::Debug for NotifierState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("senders", &self.senders).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What a thread that panicked has left is whole: nothing is changed in two steps.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the journal for the desk.
struct NotificationReporter {
    desk: Arc<Mutex<NotifierState>>,
}

impl Reporter for NotificationReporter {
    fn past(&mut self, line: &JournalLine) {
        lock(&self.desk).notices.past(line);
    }

    fn event(&mut self, line: &JournalLine, raw: &[u8]) -> io::Result<()> {
        let mut state = lock(&self.desk);
        if let Event::Note(NoteEvent::Warning { text }) = &line.record.event
            && sender::is_ours(text)
        {
            state.warned.push(text.clone());
        }
        for notification in state.notices.of(line) {
            state.send(notification, Some(raw));
        }
        Ok(())
    }

    fn message(&mut self, _: Speaker, _: &AgentMessage<'_>) -> io::Result<()> {
        Ok(())
    }

    fn note(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wants(&self) -> ReporterInput {
        ReporterInput::Events
    }
}
