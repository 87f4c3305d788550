//! Which signals say that nobody wants to wait any more, and who it is that wants us to stop.

use std::time::Duration;

/// One event may send several signals: a session that is ended gets SIGTERM and SIGHUP together, a
/// shell whose terminal is closed passes on what the kernel has sent already. What comes so soon
/// after the first belongs to it; nobody has had the time to grow impatient.
pub const ONE_EVENT: Duration = Duration::from_millis(200);

/// What a signal is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Somebody asks us to stop: SIGINT, SIGQUIT.
    Asks,
    /// The system, or who acts for it, asks us to stop: SIGTERM.
    Terminates,
    /// Something that we live on goes away, such as the terminal. Nobody insists by that.
    TakesAway,
}

/// What the signals up to now have said. Times are those since any fixed moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hearing {
    /// When the first of them came.
    first: Option<Duration>,
    /// Something was taken away, and that is not told before then.
    held: Option<Duration>,
}

impl Hearing {
    /// A signal came. Gives what is wanted by it, if it says more than those before it.
    ///
    /// That something is taken away is held back for a moment: a system that goes down may take the
    /// terminal before it asks, and then it is the system that wants us to stop, and nobody who has
    /// left.
    pub fn heard(&mut self, purpose: Purpose, at: Duration) -> Option<Purpose> {
        let Some(first) = self.first else {
            self.first = Some(at);
            return match purpose {
                Purpose::Asks | Purpose::Terminates => Some(purpose),
                Purpose::TakesAway => {
                    self.held = Some(at + ONE_EVENT);
                    None
                }
            };
        };
        let is_news = match purpose {
            Purpose::Asks => at.saturating_sub(first) >= ONE_EVENT,
            Purpose::Terminates => self.held.is_some() || at.saturating_sub(first) >= ONE_EVENT,
            Purpose::TakesAway => false,
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
    pub fn let_go(&mut self) -> Option<Purpose> {
        self.held.take().map(|_| Purpose::TakesAway)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Purpose::{Asks, TakesAway, Terminates};

    const EARLY: Duration = Duration::from_secs(7);
    const SOON: Duration = Duration::from_millis(7_199);
    const LATE: Duration = Duration::from_millis(7_200);

    /// What was heard at [`EARLY`].
    fn after(purpose: Purpose) -> Hearing {
        let mut hearing = Hearing::default();
        let told = hearing.heard(purpose, EARLY);
        assert_eq!(told, Some(purpose).filter(|purpose| *purpose != TakesAway));
        hearing
    }

    #[test]
    fn the_first_signal_counts_whatever_it_is_for() {
        assert_eq!(after(Asks).due(), None);
        assert_eq!(after(Terminates).due(), None);
        let mut hearing = after(TakesAway);
        assert_eq!(hearing.due(), Some(LATE));
        assert_eq!(hearing.let_go(), Some(TakesAway));
        assert_eq!((hearing.due(), hearing.let_go()), (None, None), "once");
    }

    #[test]
    fn what_comes_at_once_is_the_same_event() {
        for first in [Asks, Terminates] {
            for second in [Asks, Terminates, TakesAway] {
                for at in [EARLY, SOON] {
                    assert_eq!(after(first).heard(second, at), None, "{first:?}, {second:?}");
                }
            }
        }
        assert_eq!(after(TakesAway).heard(Asks, SOON), None);
        assert_eq!(after(TakesAway).heard(TakesAway, SOON), None);
    }

    #[test]
    fn a_system_that_takes_the_terminal_before_it_asks_is_who_asks() {
        for at in [EARLY, SOON, LATE] {
            let mut hearing = after(TakesAway);
            assert_eq!(hearing.heard(Terminates, at), Some(Terminates));
            assert_eq!(hearing.let_go(), None, "that was all");
        }
        let mut hearing = after(TakesAway);
        hearing.let_go();
        assert_eq!(hearing.heard(Terminates, SOON), None, "it is told already");
    }

    #[test]
    fn somebody_who_asks_again_insists_and_a_terminal_that_goes_does_not() {
        for first in [Asks, Terminates, TakesAway] {
            for at in [LATE, LATE + Duration::from_hours(1)] {
                for second in [Asks, Terminates] {
                    assert_eq!(after(first).heard(second, at), Some(second));
                }
                assert_eq!(after(first).heard(TakesAway, at), None);
            }
        }
    }
}
