//! Signals that stop a run, converted to requests of the operator.

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Instant;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use nightwright_core::policy::signals::{SignalHistory, SignalIntent};
use rustix::process::Signal as Kind;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Signals that request a stop, and a faster stop when repeated.
const ASKS: [Kind; 3] = [Kind::TERM, Kind::INT, Kind::QUIT];

/// Signals whose default action would kill the process, leaving the terminal in a wrong mode and
/// the agent unsupervised. They stop the run too, unless the parent ignored them (`nohup`).
const ENDS: &[Kind] = &[
    Kind::HUP,
    Kind::USR1,
    Kind::USR2,
    Kind::ALARM,
    Kind::VTALARM,
    Kind::PROF,
    Kind::XCPU,
    Kind::XFSZ,
    Kind::IO,
    Kind::POWER,
];

/// The signals that mean "stop now".
#[derive(Debug)]
pub struct Signals {
    caught: Vec<(Kind, Signal)>,
    hang_ups: HangupPolicy,
    /// The signals so far, with times since the start of listening.
    history: SignalHistory,
    begun: Instant,
}

/// How to handle the loss of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangupPolicy {
    Stop,
    /// The run continues, because the user requested it.
    Ignored,
}

impl Signals {
    /// Catches these signals: from now on they no longer kill the process.
    pub fn catch() -> io::Result<Self> {
        let ignored = ignored();
        let handled = ENDS.iter().filter(|kind| ignored & bit(**kind) == 0);
        let caught = ASKS
            .iter()
            .chain(handled)
            .map(|kind| Ok((*kind, signal(SignalKind::from_raw(kind.as_raw()))?)));
        let caught = caught.collect::<io::Result<_>>()?;
        Ok(Self {
            caught,
            hang_ups: HangupPolicy::Stop,
            history: SignalHistory::default(),
            begun: Instant::now(),
        })
    }

    /// Sets how the loss of the terminal is handled.
    #[must_use]
    pub fn with(self, hang_ups: HangupPolicy) -> Self {
        Self { hang_ups, ..self }
    }

    /// Waits for the next signal that adds to the earlier ones.
    pub async fn next(&mut self) {
        loop {
            let purpose = purpose(self.next_kind().await);
            let accepted = self.history.record(purpose, self.begun.elapsed());
            if accepted.or_else(|| self.history.release()).is_some() {
                return;
            }
        }
    }

    /// Waits for the next signal and returns its request. A delayed request is kept when the future
    /// is dropped.
    async fn next_control(&mut self) -> Control {
        loop {
            let due = self.history.due().map(|due| due.saturating_sub(self.begun.elapsed()));
            let kind = match due {
                // Signals that arrived before the deadline count, even if this task runs late.
                Some(due) => timeout(due, self.next_kind()).await.ok(),
                None => Some(self.next_kind().await),
            };
            let accepted = match kind {
                Some(kind) => self.history.record(purpose(kind), self.begun.elapsed()),
                None => self.history.release(),
            };
            if let Some(accepted) = accepted {
                return to_control(accepted);
            }
        }
    }

    /// Waits for the next signal. A shutdown of the system sends several at once; the first in the
    /// list wins. Signals count from their arrival, even if they are handled later.
    async fn next_kind(&mut self) -> Kind {
        let ignored = (self.hang_ups == HangupPolicy::Ignored).then_some(Kind::HUP);
        poll_fn(|context| {
            let mut received = self.caught.iter_mut().filter(|(kind, _)| Some(*kind) != ignored);
            let came = received.find_map(|(kind, signal)| {
                (signal.poll_recv(context) == Poll::Ready(Some(()))).then_some(*kind)
            });
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Passes signals on until the receiver is closed.
    pub async fn forward(mut self, operator: mpsc::Sender<Control>) {
        loop {
            let control = self.next_control().await;
            if operator.send(control).await.is_err() {
                return;
            }
        }
    }
}

fn purpose(kind: Kind) -> SignalIntent {
    match kind {
        Kind::TERM => SignalIntent::Terminate,
        kind if ASKS.contains(&kind) => SignalIntent::Interrupt,
        _ => SignalIntent::Hangup,
    }
}

/// Converts a signal to a request.
fn to_control(purpose: SignalIntent) -> Control {
    let stop = |by| Control::Stop { when: StopWhen::Now, by };
    match purpose {
        SignalIntent::Interrupt => stop(StopSource::Signal),
        SignalIntent::Terminate => stop(StopSource::Terminate),
        SignalIntent::Hangup => Control::HangUp,
    }
}

/// Returns the signals that this process ignores, one bit each; none if the system does not report
/// them.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn bit(kind: Kind) -> u64 {
    u32::try_from(kind.as_raw() - 1).ok().and_then(|number| 1_u64.checked_shl(number)).unwrap_or(0)
}
