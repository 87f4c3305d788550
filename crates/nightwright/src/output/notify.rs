//! Notifications: which messages a run sends to services such as ntfy and Slack, and how.
//!
//! ```text
//!   journal.jsonl ── follower ──▶ notifications ──┬─▶ queue ─▶ thread ─▶ https://ntfy.sh/...
//!                                           └─▶ queue ─▶ thread ─▶ https://hooks.slack.com/...
//! ```
//!
//! The notifier follows the journal like any other reporter, so the loop only wakes it. Each
//! address has a bounded queue and its own thread. A dead address delays neither the other
//! addresses nor the run. At the end, all waiting messages together get [`FINAL_TIMEOUT`].

mod address;
mod client;
mod payload;
mod sender;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nightwright_core::event::{Event, NoteEvent, RunEvent};
use nightwright_core::journal::{self, JournalLine};
use nightwright_core::notification::{Notification, NotificationBuilder};
use nightwright_core::redact::Secrets;
use nightwright_core::run_view::FinalOutcome;
use nightwright_core::units::RunId;

pub use address::{Address, NotifyService};
pub use sender::TestDelivery;

use self::payload::NotifyRequest;
use self::sender::NotificationSender;
use crate::error::WarnFn;
use crate::output::Reporter;
use crate::output::follow::{FollowTarget, FollowerHandle};

#[cfg(test)]
pub(crate) use address::drafts;

/// The time for the remaining deliveries after the end of a run, for all addresses together.
pub const FINAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends notifications about a run.
#[derive(Debug)]
pub struct Notifier {
    follower: FollowerHandle,
    state: Arc<Mutex<NotifierState>>,
}

impl Notifier {
    /// Starts to notify these addresses of new events. Returns `None` without addresses.
    pub fn start(
        addresses: &[Address],
        followed: FollowTarget,
        secrets: &Secrets,
        complain: &WarnFn,
    ) -> Option<Self> {
        if addresses.is_empty() {
            return None;
        }
        let start = |address: &Address| {
            NotificationSender::start(address.clone(), secrets.clone(), complain)
        };
        let senders = addresses.iter().map(start).collect();
        let (notifications, secrets) = (NotificationBuilder::default(), secrets.clone());
        let state = NotifierState { notifications, secrets, senders, warned: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let follower = FollowerHandle::start(
            followed,
            Box::new(NotificationReporter { state: Arc::clone(&state) }),
        );
        Some(Self { follower, state })
    }

    /// Returns a function that announces new journal lines. Never blocks.
    pub fn waker(&self) -> impl Fn() + use<> {
        self.follower.waker()
    }

    /// Stops warnings at the end of the journal. [`PendingNotifications::wait`] returns later
    /// failures.
    pub fn stop_warnings(&self) {
        for sender in &lock(&self.state).senders {
            sender.stop_warnings();
        }
    }

    /// Reads the rest of the journal and starts the final deliveries, which last until
    /// [`PendingNotifications::wait`] gives up. `end` is the last line that the run recorded; without
    /// it, only the outcome is sent.
    pub fn close(self, finished: FinalOutcome, end: Option<JournalLine>) -> PendingNotifications {
        self.stop_warnings();
        let until = Instant::now() + FINAL_TIMEOUT;
        // If the follower did not get to the outcome in time, it is sent below.
        let _ = self.follower.finish(FINAL_TIMEOUT);
        let mut state = lock(&self.state);
        if let Some(end) = end {
            let mut line = Vec::new();
            journal::encode(&mut line, end.seq, &end.run, &end.record);
            state.send_all(&end, line.strip_suffix(b"\n").unwrap_or(&line));
        }
        if let Some(notification) = state.notifications.outcome(finished, Timestamp::now()) {
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

/// The deliveries that are pending after the end of a run.
#[derive(Debug)]
pub struct PendingNotifications {
    senders: Vec<NotificationSender>,
    /// The warnings that the journal contains.
    warned: Vec<String>,
}

impl PendingNotifications {
    /// Waits for the deliveries until the deadline. Returns the failures that are missing in the
    /// journal, because a late warning may not have been recorded.
    pub fn wait(&self) -> Vec<String> {
        let complaints = self.senders.iter().filter_map(NotificationSender::finish);
        complaints.filter(|complaint| !self.warned.contains(complaint)).collect()
    }

    /// Moves the deadline to an earlier time.
    pub fn shorten_deadline(&self, until: Instant) {
        for sender in &self.senders {
            sender.shorten_deadline(until);
        }
    }
}

/// Sends a test message to all addresses in parallel, and returns the results.
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
        // Leave out a thread that panicked.
        tries.into_iter().filter_map(|tried| tried.join().ok()).collect()
    })
}

/// The state shared between the follower and [`Notifier::close`].
struct NotifierState {
    notifications: NotificationBuilder,
    secrets: Secrets,
    senders: Vec<NotificationSender>,
    /// The notification warnings that the journal contains.
    warned: Vec<String>,
}

impl NotifierState {
    fn send_all(&mut self, line: &JournalLine, raw: &[u8]) {
        for notification in self.notifications.of(line) {
            self.send(notification, Some(raw));
        }
    }

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
        f.debug_struct("NotifierState").field("senders", &self.senders).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // The state stays consistent after a panic, because no change takes two steps.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes the events of the journal to the senders.
struct NotificationReporter {
    state: Arc<Mutex<NotifierState>>,
}

impl Reporter for NotificationReporter {
    fn past(&mut self, line: &JournalLine) {
        lock(&self.state).notifications.past(line);
    }

    fn event(&mut self, line: &JournalLine, raw: &[u8]) -> io::Result<()> {
        let mut state = lock(&self.state);
        if let Event::Note(NoteEvent::Warning { text }) = &line.record.event
            && sender::is_ours(text)
        {
            state.warned.push(text.clone());
        }
        // The outcome comes from the process that decided it, at the end, and not from a file.
        if !matches!(line.record.event, Event::Run(RunEvent::Finished { .. })) {
            state.send_all(line, raw);
        }
        Ok(())
    }
}
