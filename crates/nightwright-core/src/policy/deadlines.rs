//! When an attempt is given up.

use std::time::Duration;

use crate::agent::outcome::{CutReason, Deadline};
use crate::settings::Deadlines;

/// What is known of a running attempt. All times are on the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// When it was started.
    pub started: Duration,
    /// Whether it has said that it is ready.
    pub ready: bool,
    /// When its last line came; its start before the first.
    pub last_line: Duration,
    /// Since when the tool call has been running that has been running longest, and the heartbeat
    /// that is furthest back of any call that gives some.
    pub tool: Option<(Duration, Option<Duration>)>,
    /// Since when only its exit is missing.
    pub leaving: Option<Duration>,
    /// When its share of the run's time is used up.
    pub run_out: Option<Duration>,
}

/// The earliest deadline: when it fires, and what it then means.
pub fn next(deadlines: &Deadlines, watch: &Watch) -> (Duration, CutReason) {
    let mut all = Vec::with_capacity(5);
    if let Some(leaving) = watch.leaving {
        all.push((leaving + deadlines.after_result, CutReason::AfterResult));
    } else if !watch.ready {
        all.push((watch.started + deadlines.start, CutReason::Deadline(Deadline::Start)));
    } else if let Some((since, heartbeat)) = watch.tool {
        all.push((since + deadlines.tool, CutReason::Deadline(Deadline::Tool)));
        if let Some(beat) = heartbeat {
            all.push((beat + deadlines.heartbeat, CutReason::Deadline(Deadline::Tool)));
        }
    } else {
        all.push((watch.last_line + deadlines.idle, CutReason::Deadline(Deadline::Idle)));
    }
    if let Some(attempt) = deadlines.attempt {
        all.push((watch.started + attempt, CutReason::Deadline(Deadline::Attempt)));
    }
    if let Some(run_out) = watch.run_out {
        all.push((run_out, CutReason::Limit));
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

    fn watch() -> Watch {
        Watch {
            started: seconds(100),
            ready: true,
            last_line: seconds(150),
            tool: None,
            leaving: None,
            run_out: None,
        }
    }

    fn due(watch: &Watch) -> (u64, CutReason) {
        let (at, why) = next(&Deadlines::default(), watch);
        (at.as_secs(), why)
    }

    #[test]
    fn an_agent_that_never_gets_ready_has_two_minutes() {
        let watch = Watch { ready: false, ..watch() };
        assert_eq!(due(&watch), (220, CutReason::Deadline(Deadline::Start)));
    }

    #[test]
    fn silence_counts_from_the_last_line_and_only_while_no_tool_runs() {
        assert_eq!(due(&watch()), (750, CutReason::Deadline(Deadline::Idle)));
        let busy = Watch { tool: Some((seconds(160), None)), ..watch() };
        assert_eq!(due(&busy), (1960, CutReason::Deadline(Deadline::Tool)));
    }

    #[test]
    fn a_tool_that_gave_heartbeats_must_go_on_giving_them() {
        let busy = Watch { tool: Some((seconds(160), Some(seconds(400)))), ..watch() };
        assert_eq!(due(&busy), (700, CutReason::Deadline(Deadline::Tool)));
    }

    #[test]
    fn after_the_result_only_the_exit_is_waited_for() {
        let leaving = Watch { leaving: Some(seconds(500)), ..watch() };
        assert_eq!(due(&leaving), (515, CutReason::AfterResult));
    }

    #[test]
    fn the_run_s_time_left_shortens_the_attempt_and_is_no_failure() {
        let short = Watch { run_out: Some(seconds(160)), ..watch() };
        assert_eq!(due(&short), (160, CutReason::Limit));
    }

    #[test]
    fn the_whole_attempt_has_an_hour_however_lively_it_is() {
        let lively = Watch { last_line: seconds(3699), ..watch() };
        assert_eq!(due(&lively), (3700, CutReason::Deadline(Deadline::Attempt)));
    }
}
