//! The queue and the thread of one address.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use nightwright_core::redact::Secrets;

use super::address::Address;
use super::client::{DeliveryError, HttpClient, RetryAdvice};
use super::payload::NotifyRequest;
use super::{NotifyWarnFn, lock};

/// What may wait for an address that is slow or dead. When it is full the oldest goes that does not
/// tell of an ending.
const MAX_QUEUED: usize = 64;
/// How long one try may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often something is tried, and how long nothing is done before each further time.
const MAX_TRIES: usize = 3;
const DELAYS: [Duration; MAX_TRIES - 1] = [Duration::from_secs(1), Duration::from_secs(3)];

/// How long one that is on its way when a run ends may keep how it ended waiting.
const IN_FLIGHT_TIMEOUT: Duration = Duration::from_secs(1);

/// How a warning of ours begins.
const OURS: &str = "notifications to ";

/// Whether a warning is one of ours.
pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with(OURS)
}

/// One address, and what it is still to be sent.
pub(super) struct NotificationSender {
    address: Address,
    secrets: Secrets,
    queue: Arc<SendQueue>,
}

impl NotificationSender {
    /// Sends what is pushed from now on.
    pub(super) fn start(address: Address, secrets: Secrets, complain: &NotifyWarnFn) -> Self {
        let queue = Arc::new(SendQueue {
            state: Mutex::new(SendQueueState::default()),
            changed: Condvar::new(),
            complain: Arc::clone(complain),
        });
        let sender = Self { address, secrets, queue };
        let started = sender.spawn(|queue, address, secrets| {
            queue.serve(address, secrets);
            queue.change(|state| state.stopped = true);
        });
        if let Err(error) = started {
            sender.queue.change(|state| state.stopped = true);
            sender.queue.warn(&sender.address, &format!("no thread for it: {error}"));
        }
        sender
    }

    /// Does something in a thread of its own.
    fn spawn(
        &self,
        work: impl FnOnce(&SendQueue, &Address, &Secrets) + Send + 'static,
    ) -> io::Result<()> {
        let (address, secrets) = (self.address.clone(), self.secrets.clone());
        let queue = Arc::clone(&self.queue);
        let thread = thread::Builder::new().name("notify".to_owned());
        thread.spawn(move || work(&queue, &address, &secrets)).map(drop)
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Sends this as soon as all before it is done with.
    pub(super) fn push(&self, request: NotifyRequest) {
        let full = self.queue.change(|state| state.push(request));
        if full {
            self.queue.warn(&self.address, "it takes too long, and what is old is left out");
        }
    }

    /// What goes wrong from now on is kept for [`Self::finish`].
    pub(super) fn stop_warnings(&self) {
        self.queue.change(|state| state.silent = true);
    }

    /// Nothing more will come, and nobody waits longer than until then. How the run ended does not
    /// wait for something that is stuck on its way: it gets a way of its own.
    pub(super) fn close(&self, until: Instant) {
        let behind = self.queue.change(|state| {
            state.closing = Some(until);
            state.apart = state.busy && state.ending().is_some();
            state.apart
        });
        if behind && self.spawn(SendQueue::serve_ending).is_err() {
            // Without a thread it waits like all others.
            self.queue.change(|state| state.apart = false);
        }
    }

    /// Nobody waits longer than until then.
    pub(super) fn shorten_deadline(&self, until: Instant) {
        self.queue.change(|state| {
            state.closing = Some(state.closing.map_or(until, |before| before.min(until)));
        });
    }

    /// Waits until everything is done with, or there is no time left; says what is not, or what was
    /// said of it already.
    pub(super) fn finish(&self) -> Option<String> {
        let mut state = lock(&self.queue.state);
        while !state.stopped || state.apart {
            let left = state
                .closing
                .map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            state = wait(&self.queue.changed, state, left);
        }
        let left =
            state.waiting.len() + usize::from(state.busy) + usize::from(state.ending_on_its_way);
        let warned = state.warned.take();
        if warned.is_some() || left == 0 {
            return warned;
        }
        let what =
            if left == 1 { "a notification".to_owned() } else { format!("{left} notifications") };
        Some(format!("{what} to {} did not arrive before the end", self.address))
    }
}

impl std::fmt::Debug for NotificationSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sender({})", self.address)
    }
}

/// What both sides know.
struct SendQueue {
    state: Mutex<SendQueueState>,
    changed: Condvar,
    complain: NotifyWarnFn,
}

#[derive(Default)]
struct SendQueueState {
    waiting: VecDeque<NotifyRequest>,
    /// One is on its way.
    busy: bool,
    /// Somebody sees to it that the ending gets away.
    apart: bool,
    /// It is on a way of its own.
    ending_on_its_way: bool,
    /// Nothing more will come; until when there is time.
    closing: Option<Instant>,
    /// Nobody is told but by whoever waits for the end.
    silent: bool,
    /// What was said when something did not arrive: once is enough.
    warned: Option<String>,
    /// Nothing is sent any more.
    stopped: bool,
}

impl SendQueueState {
    /// Says whether something had to go.
    fn push(&mut self, request: NotifyRequest) -> bool {
        self.waiting.push_back(request);
        if self.waiting.len() <= MAX_QUEUED {
            return false;
        }
        let oldest = self.waiting.iter().position(|request| !request.kind.is_ending());
        self.waiting.remove(oldest.unwrap_or(0));
        true
    }

    /// The next one: at the end how it ended, and what was before that if there is time.
    fn next(&mut self) -> Option<NotifyRequest> {
        let first = if self.closing.is_some() { self.ending().unwrap_or(0) } else { 0 };
        self.waiting.remove(first)
    }

    /// Where among those that wait the one is that tells of the end.
    fn ending(&self) -> Option<usize> {
        self.waiting.iter().position(|request| request.kind.is_ending())
    }

    /// How long one try may take now; `None` if there is no time for one.
    fn time(&self) -> Option<Duration> {
        let Some(until) = self.closing else { return Some(REQUEST_TIMEOUT) };
        let left = until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| left.min(REQUEST_TIMEOUT))
    }
}

impl SendQueue {
    fn change<T>(&self, change: impl FnOnce(&mut SendQueueState) -> T) -> T {
        let changed = change(&mut lock(&self.state));
        self.changed.notify_all();
        changed
    }

    /// Sends what comes until nothing more will.
    fn serve(&self, address: &Address, secrets: &Secrets) {
        let client = HttpClient::new(address, secrets);
        while let Some(request) = self.next() {
            self.send(&client, address, &request);
        }
    }

    /// Sends how the run ended if what is on its way before it does not get out of the way.
    fn serve_ending(&self, address: &Address, secrets: &Secrets) {
        let due = Instant::now() + IN_FLIGHT_TIMEOUT;
        let mut state = lock(&self.state);
        let request = loop {
            let Some(ending) = state.ending() else { break None };
            let left = due.saturating_duration_since(Instant::now());
            // Nor for that moment when there is not so much time.
            if left.is_zero() || state.closing.is_some_and(|until| until < due) {
                break state.waiting.remove(ending);
            }
            state = wait(&self.changed, state, left);
        };
        state.ending_on_its_way = request.is_some();
        drop(state);
        if let Some(request) = request {
            self.send(&HttpClient::new(address, secrets), address, &request);
        }
        self.change(|state| (state.ending_on_its_way, state.apart) = (false, false));
    }

    fn send(
        &self,
        client: &Result<HttpClient, DeliveryError>,
        address: &Address,
        request: &NotifyRequest,
    ) {
        let sent = match client {
            Ok(client) => deliver(client, request, self),
            Err(error) => Err(error.clone()),
        };
        if let Err(error) = sent {
            self.warn(address, &error.why);
        }
    }

    /// Waits for the next one; `None` when there will be none.
    fn next(&self) -> Option<NotifyRequest> {
        let mut state = lock(&self.state);
        state.busy = false;
        loop {
            if let Some(request) = state.next() {
                state.busy = true;
                return Some(request);
            }
            if state.closing.is_some() {
                return None;
            }
            state = match self.changed.wait(state) {
                Ok(state) => state,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
    }

    /// Says once that something does not arrive.
    fn warn(&self, address: &Address, why: &str) {
        let text = format!("{OURS}{address} don't arrive: {why}");
        let first = self.change(|state| {
            let first = state.warned.is_none();
            state.warned.get_or_insert_with(|| text.clone());
            first && !state.silent
        });
        if first {
            (self.complain)(text);
        }
    }
}

/// How much time there is, and letting some of it go by.
trait RetryTimer {
    /// How long one try may take; `None` if there is no time for one.
    fn remaining(&self) -> Option<Duration>;

    /// Does nothing for so long; false if there is no time left after that.
    fn sleep(&self, delay: Duration) -> bool;
}

impl RetryTimer for SendQueue {
    fn remaining(&self) -> Option<Duration> {
        lock(&self.state).time()
    }

    fn sleep(&self, delay: Duration) -> bool {
        let due = Instant::now() + delay;
        let mut state = lock(&self.state);
        loop {
            if state.closing.is_some_and(|until| due >= until) {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = wait(&self.changed, state, left);
        }
    }
}

/// As long as it takes.
struct Unlimited;

impl RetryTimer for Unlimited {
    fn remaining(&self) -> Option<Duration> {
        Some(REQUEST_TIMEOUT)
    }

    fn sleep(&self, delay: Duration) -> bool {
        thread::sleep(delay);
        true
    }
}

fn wait<'a>(
    changed: &Condvar,
    state: MutexGuard<'a, SendQueueState>,
    most: Duration,
) -> MutexGuard<'a, SendQueueState> {
    match changed.wait_timeout(state, most) {
        Ok((state, _)) => state,
        Err(poisoned) => poisoned.into_inner().0,
    }
}

/// Tries until it arrives or it makes no sense any more. The status it was answered with.
fn deliver(
    client: &HttpClient,
    request: &NotifyRequest,
    patience: &impl RetryTimer,
) -> Result<u16, DeliveryError> {
    let mut last = None;
    for attempt in 0..MAX_TRIES {
        let Some(most) = patience.remaining() else { break };
        let error = match client.post(request, most) {
            Ok(status) => return Ok(status),
            Err(error) => error,
        };
        let usual = DELAYS.get(attempt).copied();
        let delay = match error.retry {
            RetryAdvice::Never => None,
            RetryAdvice::Usual => usual,
            RetryAdvice::After(pause) => usual.map(|usual| pause.max(usual)),
        };
        let again = delay.is_some_and(|delay| patience.sleep(delay));
        last = Some(error);
        if !again {
            break;
        }
    }
    Err(last.unwrap_or_else(|| DeliveryError {
        why: "there was no time left for it".to_owned(),
        status: None,
        retry: RetryAdvice::Never,
    }))
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestDelivery {
    /// Where, without what is secret.
    pub address: Address,
    /// What it was answered with, if it was.
    pub status: Option<u16>,
    /// What went wrong, if it did.
    pub why: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// Sends something as a run would, and waits for what comes of it.
pub(super) fn try_out(
    address: &Address,
    secrets: &Secrets,
    request: &NotifyRequest,
) -> TestDelivery {
    let begun = Instant::now();
    let client = HttpClient::new(address, secrets);
    let sent = client.and_then(|client| deliver(&client, request, &Unlimited));
    let (status, why) = match sent {
        Ok(status) => (Some(status), None),
        Err(error) => (error.status, Some(error.why)),
    };
    TestDelivery { address: address.clone(), status, why, took: begun.elapsed() }
}

#[cfg(test)]
mod tests {
    use nightwright_core::notification::NotificationKind;

    use super::*;

    fn request(kind: NotificationKind, number: usize) -> NotifyRequest {
        NotifyRequest { kind, headers: Vec::new(), body: number.to_string().into_bytes() }
    }

    fn bodies(state: &mut SendQueueState) -> Vec<String> {
        let next = || Some(String::from_utf8(state.next()?.body).unwrap());
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_full_queue_loses_the_oldest_that_tells_of_no_ending() {
        let mut state = SendQueueState::default();
        assert!(!state.push(request(NotificationKind::Stopped, 0)));
        for number in 1..MAX_QUEUED {
            assert!(!state.push(request(NotificationKind::Iteration, number)));
        }
        assert!(state.push(request(NotificationKind::Completion, MAX_QUEUED)));
        let left = bodies(&mut state);
        assert_eq!(left.len(), MAX_QUEUED);
        assert_eq!((left[0].as_str(), left[1].as_str()), ("0", "2"));
        assert_eq!(left.last().unwrap(), &MAX_QUEUED.to_string());
    }

    #[test]
    fn endings_alone_have_an_end_too() {
        let mut state = SendQueueState::default();
        for number in 0..=MAX_QUEUED {
            state.push(request(NotificationKind::Error, number));
        }
        assert_eq!(bodies(&mut state).len(), MAX_QUEUED);
    }

    #[test]
    fn at_the_end_how_it_ended_goes_first() {
        let mut state = SendQueueState::default();
        for (number, kind) in
            [NotificationKind::Iteration, NotificationKind::Blocked, NotificationKind::Error]
                .into_iter()
                .enumerate()
        {
            state.push(request(kind, number));
        }
        state.closing = Some(Instant::now());
        assert_eq!(bodies(&mut state), ["2", "0", "1"]);
    }

    #[test]
    fn no_try_takes_longer_than_there_is_time() {
        let mut state = SendQueueState::default();
        assert_eq!(state.time(), Some(REQUEST_TIMEOUT));
        state.closing = Some(Instant::now() + Duration::from_secs(5));
        assert!(state.time().is_some_and(|time| time <= Duration::from_secs(5)));
        state.closing = Some(Instant::now());
        assert_eq!(state.time(), None);
    }
}
