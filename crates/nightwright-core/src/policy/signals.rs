//! Signal policy: which signals count as one request, and which kind of stop a signal asks for.

use std::time::Duration;

/// Signals within this time of the first count as one event. A session that ends sends SIGTERM and
/// SIGHUP together, and a shell whose terminal closes repeats what the kernel has sent.
pub const ONE_EVENT: Duration = Duration::from_millis(200);

/// The meaning of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalIntent {
    /// A user asks nightwright to stop: SIGINT, SIGQUIT.
    Interrupt,
    /// The system or a service manager asks nightwright to stop: SIGTERM.
    Terminate,
    /// A resource such as the terminal goes away. This never counts as a repeated request.
    Hangup,
}

/// The signals so far. Times are relative to any fixed moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignalHistory {
    /// The time of the first signal.
    first: Option<Duration>,
    /// The time until which a hangup is held back.
    held: Option<Duration>,
}

impl SignalHistory {
    /// Records a signal. Returns its meaning if it adds to that of the signals before it.
    ///
    /// A hangup is held back for a moment: a system that shuts down may close the terminal before
    /// it sends SIGTERM. The stop then comes from the system, not from a user who left.
    pub fn record(&mut self, purpose: SignalIntent, at: Duration) -> Option<SignalIntent> {
        let Some(first) = self.first else {
            self.first = Some(at);
            return match purpose {
                SignalIntent::Interrupt | SignalIntent::Terminate => Some(purpose),
                SignalIntent::Hangup => {
                    self.held = Some(at + ONE_EVENT);
                    None
                }
            };
        };
        let is_news = match purpose {
            SignalIntent::Interrupt => at.saturating_sub(first) >= ONE_EVENT,
            SignalIntent::Terminate => self.held.is_some() || at.saturating_sub(first) >= ONE_EVENT,
            SignalIntent::Hangup => false,
        };
        is_news.then(|| {
            self.held = None;
            purpose
        })
    }

    /// The time at which the held signal is due, if no other arrives before.
    pub fn due(&self) -> Option<Duration> {
        self.held
    }

    /// Returns the signal that is held back.
    pub fn release(&mut self) -> Option<SignalIntent> {
        self.held.take().map(|_| SignalIntent::Hangup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SignalIntent::{Hangup, Interrupt, Terminate};

    const EARLY: Duration = Duration::from_secs(7);
    const SOON: Duration = Duration::from_millis(7_199);
    const LATE: Duration = Duration::from_millis(7_200);

    /// The history after a signal at [`EARLY`].
    fn after(purpose: SignalIntent) -> SignalHistory {
        let mut history = SignalHistory::default();
        let accepted = history.record(purpose, EARLY);
        assert_eq!(accepted, Some(purpose).filter(|purpose| *purpose != Hangup));
        history
    }

    #[test]
    fn the_first_signal_counts_whatever_it_is_for() {
        assert_eq!(after(Interrupt).due(), None);
        assert_eq!(after(Terminate).due(), None);
        let mut history = after(Hangup);
        assert_eq!(history.due(), Some(LATE));
        assert_eq!(history.release(), Some(Hangup));
        assert_eq!((history.due(), history.release()), (None, None), "once");
    }

    #[test]
    fn signals_in_quick_succession_count_as_one() {
        for first in [Interrupt, Terminate] {
            for second in [Interrupt, Terminate, Hangup] {
                for at in [EARLY, SOON] {
                    assert_eq!(after(first).record(second, at), None, "{first:?}, {second:?}");
                }
            }
        }
        assert_eq!(after(Hangup).record(Interrupt, SOON), None);
        assert_eq!(after(Hangup).record(Hangup, SOON), None);
    }

    #[test]
    fn a_system_that_takes_the_terminal_before_it_asks_is_who_asks() {
        for at in [EARLY, SOON, LATE] {
            let mut history = after(Hangup);
            assert_eq!(history.record(Terminate, at), Some(Terminate));
            assert_eq!(history.release(), None, "that was all");
        }
        let mut history = after(Hangup);
        history.release();
        assert_eq!(history.record(Terminate, SOON), None, "already passed on");
    }

    #[test]
    fn a_repeated_signal_counts_but_a_hangup_after_it_does_not() {
        for first in [Interrupt, Terminate, Hangup] {
            for at in [LATE, LATE + Duration::from_hours(1)] {
                for second in [Interrupt, Terminate] {
                    assert_eq!(after(first).record(second, at), Some(second));
                }
                assert_eq!(after(first).record(Hangup, at), None);
            }
        }
    }
}
