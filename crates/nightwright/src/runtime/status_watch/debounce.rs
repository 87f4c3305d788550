//! When something that changes again and again is left alone.

use std::time::Duration;

use tokio::time::Instant;

/// So many times the wait for rest is waited at most.
const MAX_DEBOUNCES: u32 = 5;

/// The wait for the end of changes that follow each other: it begins anew with every one of them,
/// but not for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Debounce {
    /// The last change.
    last: Instant,
    /// Then it is over, rest or not: what never rests is looked at now and then.
    latest: Instant,
    rest: Duration,
}

impl Debounce {
    /// After a first change at this time, until nothing changed for so long.
    pub(super) fn after(first: Instant, debounce: Duration) -> Self {
        Self { last: first, latest: first + debounce * MAX_DEBOUNCES, rest: debounce }
    }

    /// The last change known was at this time.
    pub(super) fn changed(&mut self, at: Instant) {
        self.last = self.last.max(at);
    }

    /// When it is over, if nothing changes any more.
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
    fn it_is_over_when_nothing_changed_for_long_enough() {
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
    fn what_never_rests_is_not_waited_for_for_ever() {
        let start = Instant::now();
        let mut quiet = Debounce::after(start, DEBOUNCE);
        for at in (0..10_000).step_by(100) {
            quiet.changed(after(start, at));
        }
        assert_eq!(quiet.due(), after(start, 2500));
    }
}
