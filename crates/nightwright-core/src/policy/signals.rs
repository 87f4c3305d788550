//! Which signals say that nobody wants to wait any more, and who it is that wants us to stop.

use std::time::Duration;

/// One event may send several signals: a session that is ended gets SIGTERM and SIGHUP together, a
/// shell whose terminal is closed passes on what the kernel has sent already. What comes so soon
/// after the first belongs to it; nobody has had the time to grow impatient.
pub const ONE_EVENT: Duration = Duration::from_millis(200);

/// What a signal is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalIntent {
    /// Somebody asks us to stop: SIGINT, SIGQUIT.
    Interrupt,
    /// The system, or who acts for it, asks us to stop: SIGTERM.
    Terminate,
    /// Something that we live on goes away, such as the terminal. Nobody insists by that.
    Hangup,
}

/// What the signals up to now have said. Times are those since any fixed moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignalHistory {
    /// When the first of them came.
    first: Option<Duration>,
    /// Something was taken away, and that is not told before then.
    held: Option<Duration>,
}

impl SignalHistory {
    /// A signal came. Gives what is wanted by it, if it says more than those before it.
    ///
    /// That something is taken away is held back for a moment: a system that goes down may take the
    /// terminal before it asks, and then it is the system that wants us to stop, and nobody who has
    /// left.
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

    /// When that which is held back is to be told, if nothing else comes before.
    pub fn due(&self) -> Option<Duration> {
        self.held
    }

    /// Gives what is held back.
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

    /// What was heard at [`EARLY`].
    fn after(purpose: SignalIntent) -> SignalHistory {
        let mut hearing = SignalHistory::default();
        let told = hearing.record(purpose, EARLY);
        assert_eq!(told, Some(purpose).filter(|purpose| *purpose != Hangup));
        hearing
    }

    #[test]
    fn the_first_signal_counts_whatever_it_is_for() {
        assert_eq!(after(Interrupt).due(), None);
        assert_eq!(after(Terminate).due(), None);
        let mut hearing = after(Hangup);
        assert_eq!(hearing.due(), Some(LATE));
        assert_eq!(hearing.release(), Some(Hangup));
        assert_eq!((hearing.due(), hearing.release()), (None, None), "once");
    }

    #[test]
    fn what_comes_at_once_is_the_same_event() {
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
            let mut hearing = after(Hangup);
            assert_eq!(hearing.record(Terminate, at), Some(Terminate));
            assert_eq!(hearing.release(), None, "that was all");
        }
        let mut hearing = after(Hangup);
        hearing.release();
        assert_eq!(hearing.record(Terminate, SOON), None, "it is told already");
    }

    #[test]
    fn somebody_who_asks_again_insists_and_a_terminal_that_goes_does_not() {
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
