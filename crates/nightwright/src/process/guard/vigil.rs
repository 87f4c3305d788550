//! What a guard decides: whom to end and when. Pure, so that every rule can be tried without a
//! process.
//!
//! ```text
//!              the program died, a request, we are alone
//!   Watching ───────────────────────────────────────────▶ Asked ───────▶ Killing
//!       └──────────────── a request to kill ─────────────────┴──────────────▲
//!       └──────── a leash ──▶ Leashed ───────── its end ────────────────────┘
//! ```
//!
//! Wherever it is, the end comes when no process is left.

use std::time::Duration;

use nightwright_core::agent::outcome::Death;

use super::wire::{Request, Word};

/// What processes have between SIGTERM and SIGKILL.
pub(in crate::process) const GRACE: Duration = Duration::from_secs(5);
/// The same when whoever held the guard is gone: nobody waits any more, and somebody may be about
/// to take over.
const GRACE_ALONE: Duration = Duration::from_secs(2);
/// What a program has that is left running when whoever held the guard leaves.
const LEASH: Duration = Duration::from_secs(5);
/// How often the survivors of a SIGKILL get another: they may have been born in between.
const AGAIN: Duration = Duration::from_millis(50);

/// What a guard hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The program is dead.
    Died(Death),
    /// No child is left, and so no descendant.
    NobodyLeft,
    /// A request.
    Asked(Request),
    /// Whoever held the guard is gone.
    Alone,
}

/// What a guard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Tells whoever holds it.
    Tell(Word),
    /// Asks every descendant to leave.
    Terminate,
    /// Kills every descendant.
    Kill,
    /// Its work is done.
    Leave,
}

/// The state of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vigil {
    /// Nothing has to end.
    Watching,
    /// Nobody waits for the program any more, and it has until then.
    Leashed { until: Duration },
    /// Everybody was asked to leave and has until then.
    Asked { until: Duration },
    /// Nobody has any time left.
    Killing { next: Duration },
}

impl Vigil {
    /// Takes news; `now` is any clock that never goes back.
    pub(super) fn hear(&mut self, now: Duration, news: News) -> Vec<Act> {
        match news {
            News::Died(death) => {
                let mut acts = vec![Act::Tell(Word::Died(death))];
                acts.extend(self.ask(now, GRACE));
                acts
            }
            News::NobodyLeft => vec![Act::Tell(Word::Empty), Act::Leave],
            News::Asked(Request::Terminate) => self.ask(now, GRACE).into_iter().collect(),
            News::Asked(Request::Kill) => vec![self.kill(now)],
            News::Asked(Request::Leash) => {
                if *self == Self::Watching {
                    *self = Self::Leashed { until: now + LEASH };
                }
                Vec::new()
            }
            // That is what the leash is for.
            News::Alone if matches!(self, Self::Leashed { .. }) => Vec::new(),
            News::Alone => self.ask(now, GRACE_ALONE).into_iter().collect(),
        }
    }

    /// When to call [`Vigil::wake`] if no news comes before.
    pub(super) fn due(self) -> Option<Duration> {
        match self {
            Self::Watching => None,
            Self::Leashed { until } | Self::Asked { until } => Some(until),
            Self::Killing { next } => Some(next),
        }
    }

    /// Its time has come.
    pub(super) fn wake(&mut self, now: Duration) -> Option<Act> {
        (self.due()? <= now).then(|| self.kill(now))
    }

    /// Grace that is going on can only become shorter.
    fn ask(&mut self, now: Duration, grace: Duration) -> Option<Act> {
        match self {
            Self::Watching | Self::Leashed { .. } => {
                *self = Self::Asked { until: now + grace };
                Some(Act::Terminate)
            }
            Self::Asked { until } => {
                *until = (*until).min(now + grace);
                None
            }
            Self::Killing { .. } => None,
        }
    }

    fn kill(&mut self, now: Duration) -> Act {
        *self = Self::Killing { next: now + AGAIN };
        Act::Kill
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(100);
    const EXIT: News = News::Died(Death::Code(0));
    const TOLD: Act = Act::Tell(Word::Died(Death::Code(0)));

    fn after(millis: u64) -> Duration {
        START + Duration::from_millis(millis)
    }

    #[test]
    fn a_guard_does_nothing_while_the_program_works() {
        assert_eq!(Vigil::Watching.due(), None);
        assert_eq!(Vigil::Watching.wake(after(1_000_000)), None);
    }

    #[test]
    fn what_a_finished_program_left_running_is_asked_to_leave_and_then_killed() {
        let mut vigil = Vigil::Watching;
        assert_eq!(vigil.hear(START, EXIT), [TOLD, Act::Terminate]);
        assert_eq!(vigil.wake(after(4999)), None);
        assert_eq!(vigil.wake(after(5000)), Some(Act::Kill));
        assert_eq!(vigil.wake(after(5049)), None);
        assert_eq!(vigil.wake(after(5050)), Some(Act::Kill));
        let done = [Act::Tell(Word::Empty), Act::Leave];
        assert_eq!(vigil.hear(after(5060), News::NobodyLeft), done);
    }

    #[test]
    fn a_program_that_left_nothing_running_costs_no_time() {
        let mut vigil = Vigil::Watching;
        vigil.hear(START, EXIT);
        let done = [Act::Tell(Word::Empty), Act::Leave];
        assert_eq!(vigil.hear(START, News::NobodyLeft), done);
    }

    #[test]
    fn asking_twice_gives_no_more_time_and_being_alone_takes_some_away() {
        let mut vigil = Vigil::Watching;
        assert_eq!(vigil.hear(START, News::Asked(Request::Terminate)), [Act::Terminate]);
        assert_eq!(vigil.hear(after(1000), News::Asked(Request::Terminate)), []);
        assert_eq!(vigil.due(), Some(after(5000)));
        assert_eq!(vigil.hear(after(1000), News::Alone), []);
        assert_eq!(vigil.due(), Some(after(3000)));
        assert_eq!(vigil.hear(after(2000), News::Alone), []);
        assert_eq!(vigil.due(), Some(after(3000)));
    }

    #[test]
    fn a_guard_that_is_alone_ends_everything_within_two_seconds() {
        let mut vigil = Vigil::Watching;
        assert_eq!(vigil.hear(START, News::Alone), [Act::Terminate]);
        assert_eq!(vigil.wake(after(2000)), Some(Act::Kill));
    }

    #[test]
    fn a_request_to_kill_takes_all_grace_away() {
        let mut vigil = Vigil::Watching;
        vigil.hear(START, EXIT);
        assert_eq!(vigil.hear(after(10), News::Asked(Request::Kill)), [Act::Kill]);
        assert_eq!(vigil.hear(after(20), News::Asked(Request::Terminate)), []);
        assert_eq!(vigil.hear(after(20), News::Alone), []);
        assert_eq!(vigil.wake(after(60)), Some(Act::Kill));
    }

    #[test]
    fn a_leash_outlasts_whoever_left_and_has_an_end() {
        let mut vigil = Vigil::Watching;
        assert_eq!(vigil.hear(START, News::Asked(Request::Leash)), []);
        assert_eq!(vigil.hear(after(1), News::Alone), []);
        assert_eq!(vigil.wake(after(4999)), None);
        assert_eq!(vigil.wake(after(5000)), Some(Act::Kill));
    }

    #[test]
    fn what_a_program_on_a_leash_left_running_is_asked_to_leave() {
        let mut vigil = Vigil::Watching;
        vigil.hear(START, News::Asked(Request::Leash));
        vigil.hear(START, News::Alone);
        assert_eq!(vigil.hear(after(10), EXIT), [TOLD, Act::Terminate]);
    }

    #[test]
    fn a_leash_takes_nobody_s_end_back() {
        let mut vigil = Vigil::Watching;
        vigil.hear(START, News::Asked(Request::Terminate));
        vigil.hear(START, News::Asked(Request::Leash));
        assert_eq!(vigil.due(), Some(after(5000)));
        assert_eq!(vigil.hear(after(1), News::Alone), []);
        assert_eq!(vigil.due(), Some(after(2001)));
    }
}
