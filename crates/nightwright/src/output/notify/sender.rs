//! Delivery to one address: its queue, its thread and its retries.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use nightwright_core::redact::Secrets;

use super::address::Address;
use super::client::{DeliveryError, HttpClient, RetryAdvice};
use super::lock;
use super::payload::NotifyRequest;
use crate::error::WarnFn;

/// The maximum length of the queue. When it is full, the oldest message is dropped, but not the one
/// about the outcome.
const MAX_QUEUED: usize = 64;
/// The timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of tries, and the delays between them.
const MAX_TRIES: usize = 3;
const DELAYS: [Duration; MAX_TRIES - 1] = [Duration::from_secs(1), Duration::from_secs(3)];

/// How long the outcome waits for an earlier request when the run ends.
const IN_FLIGHT_TIMEOUT: Duration = Duration::from_secs(1);

/// The beginning of every delivery warning.
const OURS: &str = "did not deliver ";

/// Whether a warning is about deliveries.
pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with(OURS)
}

/// The sender of one address, with its queue.
pub(super) struct NotificationSender {
    address: Address,
    secrets: Secrets,
    queue: Arc<SendQueue>,
}

impl NotificationSender {
    /// Starts the thread that sends the queued requests.
    pub(super) fn start(address: Address, secrets: Secrets, complain: &WarnFn) -> Self {
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
            sender.queue.warn(&sender.address, &format!("cannot start a thread: {error}"));
        }
        sender
    }

    /// Starts a thread for this address.
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

    /// Adds a request to the queue.
    pub(super) fn push(&self, request: NotifyRequest) {
        let full = self.queue.change(|state| state.push(request));
        if full {
            self.queue.warn(
                &self.address,
                "the queue is full; nightwright drops the oldest notifications",
            );
        }
    }

    /// Keeps later failures for [`Self::finish`] instead of reporting them.
    pub(super) fn stop_warnings(&self) {
        self.queue.change(|state| state.silent = true);
    }

    /// Sends the remaining requests until the deadline. If a request is in flight, another thread
    /// sends the outcome, so that it does not have to wait.
    pub(super) fn close(&self, until: Instant) {
        let behind = self.queue.change(|state| {
            state.closing = Some(until);
            state.apart = state.busy && state.outcome_index().is_some();
            state.apart
        });
        if behind && self.spawn(SendQueue::serve_outcome).is_err() {
            // Without a thread, the outcome stays in the queue.
            self.queue.change(|state| state.apart = false);
        }
    }

    /// Moves the deadline to an earlier time.
    pub(super) fn shorten_deadline(&self, until: Instant) {
        self.queue.change(|state| {
            state.closing = Some(state.closing.map_or(until, |before| before.min(until)));
        });
    }

    /// Waits until the queue is empty or the deadline has passed. Returns the first failure, or the
    /// number of undelivered requests.
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
            state.waiting.len() + usize::from(state.busy) + usize::from(state.sending_outcome);
        let warned = state.warned.take();
        if warned.is_some() || left == 0 {
            return warned;
        }
        let what =
            if left == 1 { "1 notification".to_owned() } else { format!("{left} notifications") };
        Some(format!("{OURS}{what} to {} before the run ended", self.address))
    }
}

impl std::fmt::Debug for NotificationSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sender({})", self.address)
    }
}

/// The queue, shared between the sender and its threads.
struct SendQueue {
    state: Mutex<SendQueueState>,
    changed: Condvar,
    complain: WarnFn,
}

#[derive(Default)]
struct SendQueueState {
    waiting: VecDeque<NotifyRequest>,
    /// A request is in flight.
    busy: bool,
    /// A separate thread is responsible for the outcome.
    apart: bool,
    /// The separate thread is sending the outcome.
    sending_outcome: bool,
    /// The deadline, set when no more requests will follow.
    closing: Option<Instant>,
    /// Failures are not reported, only kept for the end.
    silent: bool,
    /// The first failure, which is the only one reported.
    warned: Option<String>,
    /// The thread of the queue has ended.
    stopped: bool,
}

impl SendQueueState {
    /// Adds a request. Returns whether the queue was full and another request was dropped.
    fn push(&mut self, request: NotifyRequest) -> bool {
        self.waiting.push_back(request);
        if self.waiting.len() <= MAX_QUEUED {
            return false;
        }
        let oldest = self.waiting.iter().position(|request| !request.kind.reports_outcome());
        self.waiting.remove(oldest.unwrap_or(0));
        true
    }

    /// Takes the next request. After the end of the run, the outcome comes first.
    fn next(&mut self) -> Option<NotifyRequest> {
        let first = if self.closing.is_some() { self.outcome_index().unwrap_or(0) } else { 0 };
        self.waiting.remove(first)
    }

    /// The index of the request about the outcome.
    fn outcome_index(&self) -> Option<usize> {
        self.waiting.iter().position(|request| request.kind.reports_outcome())
    }

    /// The timeout for a request now; `None` after the deadline.
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

    /// Sends requests until the queue is closed and empty.
    fn serve(&self, address: &Address, secrets: &Secrets) {
        let client = HttpClient::new(address, secrets);
        while let Some(request) = self.next() {
            self.send(&client, address, &request);
        }
    }

    /// Sends the outcome if the request in flight does not complete in time.
    fn serve_outcome(&self, address: &Address, secrets: &Secrets) {
        let due = Instant::now() + IN_FLIGHT_TIMEOUT;
        let mut state = lock(&self.state);
        let request = loop {
            let Some(index) = state.outcome_index() else { break None };
            let left = due.saturating_duration_since(Instant::now());
            // Skip the delay if the deadline is earlier.
            if left.is_zero() || state.closing.is_some_and(|until| until < due) {
                break state.waiting.remove(index);
            }
            state = wait(&self.changed, state, left);
        };
        state.sending_outcome = request.is_some();
        drop(state);
        if let Some(request) = request {
            self.send(&HttpClient::new(address, secrets), address, &request);
        }
        self.change(|state| (state.sending_outcome, state.apart) = (false, false));
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

    /// Waits for the next request. Returns `None` when the queue is closed and empty.
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

    /// Reports the first failed delivery.
    fn warn(&self, address: &Address, why: &str) {
        let text = format!("{OURS}notifications to {address}: {why}");
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

/// The time available for retries.
trait RetryTimer {
    /// The timeout for the next request; `None` after the deadline.
    fn remaining(&self) -> Option<Duration>;

    /// Waits for the delay. Returns false if the deadline comes first.
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

/// A timer without a deadline.
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

/// Sends a request, with retries, and returns the HTTP status.
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
        why: "timed out".to_owned(),
        status: None,
        retry: RetryAdvice::Never,
    }))
}

/// The result of a test delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestDelivery {
    /// The address, which is displayed without secrets.
    pub address: Address,
    /// The HTTP status of the response, if there was one.
    pub status: Option<u16>,
    /// The reason, if the delivery failed.
    pub why: Option<String>,
    /// The duration of the delivery.
    pub took: Duration,
}

/// Sends a request as a run would, and waits for the result.
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
    fn a_full_queue_drops_the_oldest_request_without_an_outcome() {
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
    fn a_queue_of_outcomes_alone_has_a_limit_too() {
        let mut state = SendQueueState::default();
        for number in 0..=MAX_QUEUED {
            state.push(request(NotificationKind::Error, number));
        }
        assert_eq!(bodies(&mut state).len(), MAX_QUEUED);
    }

    #[test]
    fn at_the_end_the_outcome_is_sent_first() {
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
