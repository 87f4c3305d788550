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
//! and none delays the run. At the end what is still waiting gets [`AT_THE_END`] in all.

mod address;
mod client;
mod payload;
mod secret;
mod sender;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nightwright_core::agent::message::AgentMessage;
use nightwright_core::event::Event;
use nightwright_core::journal::Line;
use nightwright_core::notice::{Notice, Notices};
use nightwright_core::redact::Secrets;
use nightwright_core::units::RunId;
use nightwright_core::view::Ending;

pub(crate) use address::is_key;
pub use address::{Address, Service};
pub(crate) use secret::secrets;
pub use sender::Tried;

use self::payload::Request;
use self::sender::Sender;
use crate::publish::{Display, Followed};
use crate::report::{Reporter, Speaker, Wants};

#[cfg(test)]
pub(crate) use address::drafts;

/// How long what is still waiting may take when a run is over, all addresses together.
pub const AT_THE_END: Duration = Duration::from_secs(5);

/// Where it is said that something does not arrive.
pub type Complain = Arc<dyn Fn(String) + Send + Sync>;

/// Tells people of a run.
#[derive(Debug)]
pub struct Notifier {
    display: Display,
    desk: Arc<Mutex<Desk>>,
}

impl Notifier {
    /// Tells these addresses what comes after what is known already; `None` if there are none.
    pub fn start(
        addresses: &[Address],
        followed: Followed,
        secrets: &Secrets,
        complain: &Complain,
    ) -> Option<Self> {
        if addresses.is_empty() {
            return None;
        }
        let start = |address: &Address| Sender::start(address.clone(), secrets.clone(), complain);
        let senders = addresses.iter().map(start).collect();
        let (notices, secrets) = (Notices::default(), secrets.clone());
        let desk = Desk { notices, secrets, senders, warned: Vec::new() };
        let desk = Arc::new(Mutex::new(desk));
        let display = Display::start(followed, Box::new(Reader { desk: Arc::clone(&desk) }));
        Some(Self { display, desk })
    }

    /// Says that there is something new in the journal. Never waits.
    pub fn waker(&self) -> impl Fn() + use<> {
        self.display.waker()
    }

    /// Nothing is recorded any more: what does not arrive from now on is said by [`Closing::wait`].
    pub fn hush(&self) {
        for sender in &lock(&self.desk).senders {
            sender.hush();
        }
    }

    /// The run is over like this: reads the rest, and lets what is waiting go out from now on until
    /// [`Closing::wait`] gives up.
    pub fn close(self, ending: Ending) -> Closing {
        self.hush();
        let until = Instant::now() + AT_THE_END;
        // However far it came: the ending is told below if it was not.
        let _ = self.display.finish(AT_THE_END);
        let mut desk = lock(&self.desk);
        if let Some(notice) = desk.notices.ending(ending, Timestamp::now()) {
            desk.tell(notice, None);
        }
        let (senders, warned) =
            (std::mem::take(&mut desk.senders), std::mem::take(&mut desk.warned));
        for sender in &senders {
            sender.close(until);
        }
        Closing { senders, warned }
    }
}

/// What is still on its way when a run is over.
#[derive(Debug)]
pub struct Closing {
    senders: Vec<Sender>,
    /// The warnings of the journal.
    warned: Vec<String>,
}

impl Closing {
    /// Waits for it as long as there is time; says what did not arrive, unless the journal does: a
    /// warning in the last moment of a run may not have got there.
    pub fn wait(&self) -> Vec<String> {
        let complaints = self.senders.iter().filter_map(Sender::finish);
        complaints.filter(|complaint| !self.warned.contains(complaint)).collect()
    }

    /// There is less time than was thought.
    pub fn hurry(&self, until: Instant) {
        for sender in &self.senders {
            sender.hurry(until);
        }
    }
}

/// Sends one notice that tells of nothing to each of these addresses, all at the same time, and
/// says what came of it.
pub fn test(addresses: &[Address], run: RunId, secrets: &Secrets) -> Vec<Tried> {
    let notice = Notice::test(run, Timestamp::now());
    std::thread::scope(|scope| {
        let tries: Vec<_> = addresses
            .iter()
            .map(|address| {
                let request = Request::of(address, &notice, None);
                scope.spawn(move || sender::try_out(address, secrets, &request))
            })
            .collect();
        // A thread that panics has a defect, and so have we.
        tries.into_iter().filter_map(|tried| tried.join().ok()).collect()
    })
}

/// What the follower and whoever closes both know.
struct Desk {
    notices: Notices,
    secrets: Secrets,
    senders: Vec<Sender>,
    /// What the journal has of our warnings.
    warned: Vec<String>,
}

impl Desk {
    fn tell(&self, notice: Notice, raw: Option<&[u8]>) {
        let mask = |text: &str| self.secrets.mask(text).into_owned();
        let (title, text) = (mask(&notice.title), mask(&notice.text));
        let notice = Notice { title, text, ..notice };
        for sender in &self.senders {
            if sender.address().wants(notice.kind) {
                sender.push(Request::of(sender.address(), &notice, raw));
            }
        }
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("senders", &self.senders).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What a thread that panicked has left is whole: nothing is changed in two steps.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the journal for the desk.
struct Reader {
    desk: Arc<Mutex<Desk>>,
}

impl Reporter for Reader {
    fn past(&mut self, line: &Line) {
        lock(&self.desk).notices.past(line);
    }

    fn event(&mut self, line: &Line, raw: &[u8]) -> io::Result<()> {
        let mut desk = lock(&self.desk);
        if let Event::Warning { text } = &line.record.event
            && sender::is_ours(text)
        {
            desk.warned.push(text.clone());
        }
        for notice in desk.notices.of(line) {
            desk.tell(notice, Some(raw));
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

    fn wants(&self) -> Wants {
        Wants::Events
    }
}
