//! The decisions of a guard: which processes to kill, and when. Free of I/O, so that every rule can
//! be tested without processes.
//!
//! ```text
//!              the program died, a request, disconnected
//!   Watching ───────────────────────────────────────────▶ Asked ───────▶ Killing
//!       └──────────────── a request to kill ─────────────────┴──────────────▲
//!       └── leave running ──▶ LeftRunning ── its time is up ────────────────┘
//! ```
//!
//! In every state, the guard ends when no process is left.

use std::time::Duration;

use nightwright_core::stream::outcome::ProcessExit;

use super::wire::{GuardMessage, GuardRequest};

/// The time that processes get between SIGTERM and SIGKILL.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// Like [`GRACE`], but after nightwright has exited: nothing waits for the guard, and another run
/// may take over.
const GRACE_ALONE: Duration = Duration::from_secs(2);
/// The time for a program that is left running when nightwright exits.
const HOOK_GRACE: Duration = Duration::from_secs(5);
/// The interval between SIGKILLs for survivors: they may have been started in between.
const KILL_INTERVAL: Duration = Duration::from_millis(50);

/// An event that the guard receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardEvent {
    /// The program has exited or was killed.
    Died(ProcessExit),
    /// No child is left, and so no descendant.
    NobodyLeft,
    /// A request arrived on the socket.
    Asked(GuardRequest),
    /// The socket closed, so nightwright is gone.
    Alone,
}

/// An action of the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardAction {
    /// Send a message to nightwright.
    Send(GuardMessage),
    /// Send SIGTERM to every descendant.
    Terminate,
    /// Send SIGKILL to every descendant.
    Kill,
    /// Exit: the guard's work is done.
    Leave,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardState {
    /// No process has to end.
    Watching,
    /// Nightwright no longer waits for the program, which may run until then.
    LeftRunning { until: Duration },
    /// Every process got SIGTERM, and may run until then.
    Asked { until: Duration },
    /// Every process gets SIGKILL, repeatedly.
    Killing { next: Duration },
}

impl GuardState {
    /// Handles an event; `now` is any monotonic clock.
    pub(super) fn handle(&mut self, now: Duration, news: GuardEvent) -> Vec<GuardAction> {
        match news {
            GuardEvent::Died(death) => {
                let mut acts = vec![GuardAction::Send(GuardMessage::Died(death))];
                acts.extend(self.ask(now, GRACE));
                acts
            }
            GuardEvent::NobodyLeft => {
                vec![GuardAction::Send(GuardMessage::Empty), GuardAction::Leave]
            }
            GuardEvent::Asked(GuardRequest::Terminate) => {
                self.ask(now, GRACE).into_iter().collect()
            }
            GuardEvent::Asked(GuardRequest::Kill) => vec![self.kill(now)],
            GuardEvent::Asked(GuardRequest::LeaveRunning) => {
                if *self == Self::Watching {
                    *self = Self::LeftRunning { until: now + HOOK_GRACE };
                }
                Vec::new()
            }
            // The program was left running for this case.
            GuardEvent::Alone if matches!(self, Self::LeftRunning { .. }) => Vec::new(),
            GuardEvent::Alone => self.ask(now, GRACE_ALONE).into_iter().collect(),
        }
    }

    /// The time to call [`GuardState::wake`] if no event arrives before.
    pub(super) fn due(self) -> Option<Duration> {
        match self {
            Self::Watching => None,
            Self::LeftRunning { until } | Self::Asked { until } => Some(until),
            Self::Killing { next } => Some(next),
        }
    }

    /// Acts on the deadline of the current state.
    pub(super) fn wake(&mut self, now: Duration) -> Option<GuardAction> {
        (self.due()? <= now).then(|| self.kill(now))
    }

    /// Starts the grace period. A grace period that has started can only become shorter.
    fn ask(&mut self, now: Duration, grace: Duration) -> Option<GuardAction> {
        match self {
            Self::Watching | Self::LeftRunning { .. } => {
                *self = Self::Asked { until: now + grace };
                Some(GuardAction::Terminate)
            }
            Self::Asked { until } => {
                *until = (*until).min(now + grace);
                None
            }
            Self::Killing { .. } => None,
        }
    }

    fn kill(&mut self, now: Duration) -> GuardAction {
        *self = Self::Killing { next: now + KILL_INTERVAL };
        GuardAction::Kill
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(100);
    const EXIT: GuardEvent = GuardEvent::Died(ProcessExit::Code(0));
    const DIED: GuardAction = GuardAction::Send(GuardMessage::Died(ProcessExit::Code(0)));

    fn after(millis: u64) -> Duration {
        START + Duration::from_millis(millis)
    }

    #[test]
    fn a_guard_does_nothing_while_the_program_works() {
        assert_eq!(GuardState::Watching.due(), None);
        assert_eq!(GuardState::Watching.wake(after(1_000_000)), None);
    }

    #[test]
    fn processes_left_by_a_finished_program_get_sigterm_and_then_sigkill() {
        let mut state = GuardState::Watching;
        assert_eq!(state.handle(START, EXIT), [DIED, GuardAction::Terminate]);
        assert_eq!(state.wake(after(4999)), None);
        assert_eq!(state.wake(after(5000)), Some(GuardAction::Kill));
        assert_eq!(state.wake(after(5049)), None);
        assert_eq!(state.wake(after(5050)), Some(GuardAction::Kill));
        let done = [GuardAction::Send(GuardMessage::Empty), GuardAction::Leave];
        assert_eq!(state.handle(after(5060), GuardEvent::NobodyLeft), done);
    }

    #[test]
    fn a_program_that_left_nothing_running_costs_no_time() {
        let mut state = GuardState::Watching;
        state.handle(START, EXIT);
        let done = [GuardAction::Send(GuardMessage::Empty), GuardAction::Leave];
        assert_eq!(state.handle(START, GuardEvent::NobodyLeft), done);
    }

    #[test]
    fn asking_twice_gives_no_more_time_and_being_alone_takes_some_away() {
        let mut state = GuardState::Watching;
        assert_eq!(
            state.handle(START, GuardEvent::Asked(GuardRequest::Terminate)),
            [GuardAction::Terminate]
        );
        assert_eq!(state.handle(after(1000), GuardEvent::Asked(GuardRequest::Terminate)), []);
        assert_eq!(state.due(), Some(after(5000)));
        assert_eq!(state.handle(after(1000), GuardEvent::Alone), []);
        assert_eq!(state.due(), Some(after(3000)));
        assert_eq!(state.handle(after(2000), GuardEvent::Alone), []);
        assert_eq!(state.due(), Some(after(3000)));
    }

    #[test]
    fn a_guard_that_is_alone_ends_everything_within_two_seconds() {
        let mut state = GuardState::Watching;
        assert_eq!(state.handle(START, GuardEvent::Alone), [GuardAction::Terminate]);
        assert_eq!(state.wake(after(2000)), Some(GuardAction::Kill));
    }

    #[test]
    fn a_request_to_kill_takes_all_grace_away() {
        let mut state = GuardState::Watching;
        state.handle(START, EXIT);
        assert_eq!(
            state.handle(after(10), GuardEvent::Asked(GuardRequest::Kill)),
            [GuardAction::Kill]
        );
        assert_eq!(state.handle(after(20), GuardEvent::Asked(GuardRequest::Terminate)), []);
        assert_eq!(state.handle(after(20), GuardEvent::Alone), []);
        assert_eq!(state.wake(after(60)), Some(GuardAction::Kill));
    }

    #[test]
    fn a_tree_left_running_is_killed_after_its_timeout() {
        let mut state = GuardState::Watching;
        assert_eq!(state.handle(START, GuardEvent::Asked(GuardRequest::LeaveRunning)), []);
        assert_eq!(state.handle(after(1), GuardEvent::Alone), []);
        assert_eq!(state.wake(after(4999)), None);
        assert_eq!(state.wake(after(5000)), Some(GuardAction::Kill));
    }

    #[test]
    fn processes_left_by_a_program_that_was_left_running_get_sigterm() {
        let mut state = GuardState::Watching;
        state.handle(START, GuardEvent::Asked(GuardRequest::LeaveRunning));
        state.handle(START, GuardEvent::Alone);
        assert_eq!(state.handle(after(10), EXIT), [DIED, GuardAction::Terminate]);
    }

    #[test]
    fn leaving_a_tree_running_does_not_cancel_its_termination() {
        let mut state = GuardState::Watching;
        state.handle(START, GuardEvent::Asked(GuardRequest::Terminate));
        state.handle(START, GuardEvent::Asked(GuardRequest::LeaveRunning));
        assert_eq!(state.due(), Some(after(5000)));
        assert_eq!(state.handle(after(1), GuardEvent::Alone), []);
        assert_eq!(state.due(), Some(after(2001)));
    }
}
