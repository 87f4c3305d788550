//! Signals, as wishes of the operator.

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

/// By these somebody asks us to stop, and asks again if it takes too long.
const ASKS: [Kind; 3] = [Kind::TERM, Kind::INT, Kind::QUIT];

/// By these the system, or somebody, would end us in the middle: a terminal would be left as it is
/// while keys are heard, and the agent without anybody. So they stop the run, too, unless whoever
/// started us wanted them to be ignored (`nohup`).
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
    /// What those up to now have said, in times since we listen.
    history: SignalHistory,
    begun: Instant,
}

/// What it means that the terminal is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangupPolicy {
    /// That whoever sat before it has gone, too.
    Stop,
    /// Nothing: whoever started us said so.
    Ignored,
}

impl Signals {
    /// From now on these signals don't end the process any more.
    pub fn catch() -> io::Result<Self> {
        let ignored = ignored();
        let heard = ENDS.iter().filter(|kind| ignored & bit(**kind) == 0);
        let caught = ASKS
            .iter()
            .chain(heard)
            .map(|kind| Ok((*kind, signal(SignalKind::from_raw(kind.as_raw()))?)));
        let caught = caught.collect::<io::Result<_>>()?;
        Ok(Self {
            caught,
            hang_ups: HangupPolicy::Stop,
            history: SignalHistory::default(),
            begun: Instant::now(),
        })
    }

    /// The same, with another meaning of a terminal that is gone.
    #[must_use]
    pub fn with(self, hang_ups: HangupPolicy) -> Self {
        Self { hang_ups, ..self }
    }

    /// Waits for the next one that says more than those before it.
    pub async fn next(&mut self) {
        loop {
            let purpose = purpose(self.next_kind().await);
            let told = self.history.record(purpose, self.begun.elapsed());
            if told.or_else(|| self.history.release()).is_some() {
                return;
            }
        }
    }

    /// The same, and says what is wanted. What is not said at once is not lost when nobody waits any
    /// more.
    async fn next_control(&mut self) -> Control {
        loop {
            let due = self.history.due().map(|due| due.saturating_sub(self.begun.elapsed()));
            let kind = match due {
                // What has come by then is heard, however late we are.
                Some(due) => timeout(due, self.next_kind()).await.ok(),
                None => Some(self.next_kind().await),
            };
            let told = match kind {
                Some(kind) => self.history.record(purpose(kind), self.begun.elapsed()),
                None => self.history.release(),
            };
            if let Some(told) = told {
                return to_control(told);
            }
        }
    }

    /// Waits for the next of them. A system that goes down sends several at once: then that is what
    /// happens. They are counted when they come, however long it takes to act upon them.
    async fn next_kind(&mut self) -> Kind {
        let deaf = (self.hang_ups == HangupPolicy::Ignored).then_some(Kind::HUP);
        poll_fn(|context| {
            let mut heard = self.caught.iter_mut().filter(|(kind, _)| Some(*kind) != deaf);
            let came = heard.find_map(|(kind, signal)| {
                (signal.poll_recv(context) == Poll::Ready(Some(()))).then_some(*kind)
            });
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Hands signals on for as long as somebody listens.
    pub async fn forward(mut self, operator: mpsc::Sender<Control>) {
        loop {
            let wish = self.next_control().await;
            if operator.send(wish).await.is_err() {
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

/// What a signal wants of a run.
fn to_control(purpose: SignalIntent) -> Control {
    let stop = |by| Control::Stop { when: StopWhen::Now, by };
    match purpose {
        SignalIntent::Interrupt => stop(StopSource::Signal),
        SignalIntent::Terminate => stop(StopSource::Terminate),
        SignalIntent::Hangup => Control::HangUp,
    }
}

/// The signals that are ignored by this process, a bit each. Where the system does not say, none is.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn bit(kind: Kind) -> u64 {
    u32::try_from(kind.as_raw() - 1).ok().and_then(|number| 1_u64.checked_shl(number)).unwrap_or(0)
}
