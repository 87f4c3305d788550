//! Deadline policy: when an attempt is killed.

use std::time::Duration;

use crate::settings::Deadlines;
use crate::stream::outcome::{CancelReason, Deadline};

/// The timing of a running attempt. All times are on the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptTiming {
    pub started: Duration,
    /// Whether the agent has reported that it is ready.
    pub ready: bool,
    /// The time of its last line, or of its start.
    pub last_line: Duration,
    /// The start of the longest-running tool call, and the oldest heartbeat of any call that sends
    /// them.
    pub tool: Option<(Duration, Option<Duration>)>,
    /// The time since which only its exit is outstanding.
    pub exiting: Option<Duration>,
    /// The time at which its share of the run's time is used up.
    pub expires: Option<Duration>,
}

/// The earliest deadline, and the reason for the cancellation when it fires.
pub fn next(deadlines: &Deadlines, watch: &AttemptTiming) -> (Duration, CancelReason) {
    let mut all = Vec::with_capacity(5);
    if let Some(leaving) = watch.exiting {
        all.push((leaving + deadlines.after_result, CancelReason::AfterResult));
    } else if !watch.ready {
        all.push((watch.started + deadlines.start, CancelReason::Deadline(Deadline::Start)));
    } else if let Some((since, heartbeat)) = watch.tool {
        all.push((since + deadlines.tool, CancelReason::Deadline(Deadline::Tool)));
        if let Some(beat) = heartbeat {
            all.push((beat + deadlines.heartbeat, CancelReason::Deadline(Deadline::Tool)));
        }
    } else {
        all.push((watch.last_line + deadlines.idle, CancelReason::Deadline(Deadline::Idle)));
    }
    if let Some(attempt) = deadlines.attempt {
        all.push((watch.started + attempt, CancelReason::Deadline(Deadline::Attempt)));
    }
    if let Some(run_out) = watch.expires {
        all.push((run_out, CancelReason::Limit));
    }
    all.into_iter()
        .min_by_key(|(at, _)| *at)
        .expect("one of the first four branches has added a deadline")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn watch() -> AttemptTiming {
        AttemptTiming {
            started: seconds(100),
            ready: true,
            last_line: seconds(150),
            tool: None,
            exiting: None,
            expires: None,
        }
    }

    fn due(watch: &AttemptTiming) -> (u64, CancelReason) {
        let (at, why) = next(&Deadlines::default(), watch);
        (at.as_secs(), why)
    }

    #[test]
    fn an_agent_that_never_gets_ready_has_two_minutes() {
        let watch = AttemptTiming { ready: false, ..watch() };
        assert_eq!(due(&watch), (220, CancelReason::Deadline(Deadline::Start)));
    }

    #[test]
    fn silence_counts_from_the_last_line_and_only_while_no_tool_runs() {
        assert_eq!(due(&watch()), (750, CancelReason::Deadline(Deadline::Idle)));
        let busy = AttemptTiming { tool: Some((seconds(160), None)), ..watch() };
        assert_eq!(due(&busy), (1960, CancelReason::Deadline(Deadline::Tool)));
    }

    #[test]
    fn a_tool_that_sent_heartbeats_must_keep_sending_them() {
        let busy = AttemptTiming { tool: Some((seconds(160), Some(seconds(400)))), ..watch() };
        assert_eq!(due(&busy), (700, CancelReason::Deadline(Deadline::Tool)));
    }

    #[test]
    fn after_the_result_only_the_exit_is_waited_for() {
        let leaving = AttemptTiming { exiting: Some(seconds(500)), ..watch() };
        assert_eq!(due(&leaving), (515, CancelReason::AfterResult));
    }

    #[test]
    fn the_run_s_time_left_shortens_the_attempt_and_is_no_failure() {
        let short = AttemptTiming { expires: Some(seconds(160)), ..watch() };
        assert_eq!(due(&short), (160, CancelReason::Limit));
    }

    #[test]
    fn the_whole_attempt_has_an_hour_however_lively_it_is() {
        let lively = AttemptTiming { last_line: seconds(3699), ..watch() };
        assert_eq!(due(&lively), (3700, CancelReason::Deadline(Deadline::Attempt)));
    }
}
