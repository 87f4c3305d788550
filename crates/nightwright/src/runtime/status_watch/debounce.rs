//! Debouncing: waits for a pause in repeated changes.

use std::time::Duration;

use tokio::time::Instant;

/// The maximum wait, as a multiple of the debounce time.
const MAX_DEBOUNCES: u32 = 5;

/// A wait for the end of a series of changes. Every change restarts it, up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Debounce {
    /// The time of the last change.
    last: Instant,
    /// The end of the wait even if the changes continue.
    latest: Instant,
    rest: Duration,
}

impl Debounce {
    /// Starts a wait after a first change at this time.
    pub(super) fn after(first: Instant, debounce: Duration) -> Self {
        Self { last: first, latest: first + debounce * MAX_DEBOUNCES, rest: debounce }
    }

    /// Records a change at this time.
    pub(super) fn changed(&mut self, at: Instant) {
        self.last = self.last.max(at);
    }

    /// Returns the end of the wait, if no more changes follow.
    pub(super) fn due(&self) -> Instant {
        self.latest.min(self.last + self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBOUNCE: Duration = Duration::from_millis(500);

    fn after(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn it_ends_when_nothing_changed_for_the_delay() {
        let start = Instant::now();
        let mut quiet = Debounce::after(start, DEBOUNCE);
        assert_eq!(quiet.due(), after(start, 500));
        quiet.changed(after(start, 499));
        assert_eq!(quiet.due(), after(start, 999));
        quiet.changed(after(start, 900));
        assert_eq!(quiet.due(), after(start, 1400));
        quiet.changed(after(start, 100));
        assert_eq!(quiet.due(), after(start, 1400), "what is known already changes nothing");
    }

    #[test]
    fn the_wait_for_quiet_has_a_limit() {
        let start = Instant::now();
        let mut quiet = Debounce::after(start, DEBOUNCE);
        for at in (0..10_000).step_by(100) {
            quiet.changed(after(start, at));
        }
        assert_eq!(quiet.due(), after(start, 2500));
    }
}
