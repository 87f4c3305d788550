//! Which signals say that nobody wants to wait any more.

use std::time::Duration;

/// One event may send several signals: a session that is ended gets SIGTERM and SIGHUP together, a
/// shell whose terminal is closed passes on what the kernel has sent already. What comes so soon
/// after the first belongs to it; nobody has had the time to grow impatient.
pub const ONE_EVENT: Duration = Duration::from_millis(200);

/// What a signal is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Somebody asks us to stop: SIGINT, SIGQUIT, SIGTERM.
    Asks,
    /// Something that we live on goes away, such as the terminal. Nobody insists by that.
    TakesAway,
}

/// Whether a signal says more than those before it, of which the first came so long ago.
pub fn is_news(purpose: Purpose, first: Option<Duration>) -> bool {
    match (first, purpose) {
        (None, Purpose::Asks | Purpose::TakesAway) => true,
        (Some(_), Purpose::TakesAway) => false,
        (Some(ago), Purpose::Asks) => ago >= ONE_EVENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_counts_whatever_it_is_for() {
        assert!(is_news(Purpose::Asks, None));
        assert!(is_news(Purpose::TakesAway, None));
    }

    #[test]
    fn what_comes_at_once_is_the_same_event() {
        for ago in [Duration::ZERO, Duration::from_millis(199)] {
            assert!(!is_news(Purpose::Asks, Some(ago)), "{ago:?}");
        }
    }

    #[test]
    fn somebody_who_asks_again_insists_and_a_terminal_that_goes_does_not() {
        for ago in [ONE_EVENT, Duration::from_hours(1)] {
            assert!(is_news(Purpose::Asks, Some(ago)), "{ago:?}");
            assert!(!is_news(Purpose::TakesAway, Some(ago)), "{ago:?}");
        }
    }
}
