//! Estimates of a run's progress and end, for display only. No decision depends on them.

use std::time::Duration;

use jiff::Timestamp;

use super::{Activity, RunView};
use crate::event::StopWhen;
use crate::input::TaskProgress;
use crate::units::Usd;

/// The progress of a run and its expected end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Time since the start, including waits and pauses. For a run that has ended, the time until
    /// its end.
    pub elapsed: Duration,
    /// The mean duration of the last five iterations; `None` before there are five.
    pub mean: Option<Duration>,
    /// Number of remaining iterations, including the current one. It is the minimum by the limit,
    /// by the remaining items at the current rate, and by a request to stop. `None` if unknown.
    pub iterations_left: Option<u32>,
    /// The expected end at the current rate. `None` before there are five iterations, if the number
    /// of remaining iterations is unknown, during a pause, and after the end.
    pub estimated_end: Option<Timestamp>,
    /// The cost so far.
    pub cost: Usd,
    /// The cost limit, if any.
    pub budget: Option<Usd>,
    /// Number of consecutive idle iterations.
    pub idle: u32,
    /// Number of consecutive idle iterations that end the run; 0 means never.
    pub idle_limit: u32,
    /// Progress of the task, as reported in its status file.
    pub progress: Option<TaskProgress>,
}

/// The first reported progress of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstProgress {
    /// Number of items completed at that time.
    pub completed: u32,
    /// Number of iterations finished before that time.
    pub iterations: u32,
}

impl RunView {
    /// Estimates the progress and the end of the run.
    pub fn estimate(&self, now: Timestamp) -> Estimate {
        let until = match self.finished {
            Some(_) => self.at.unwrap_or(now),
            None => now,
        };
        Estimate {
            elapsed: self.started_at.map_or(Duration::ZERO, |start| between(start, until)),
            mean: self.mean_duration(),
            iterations_left: self.iterations_left(),
            estimated_end: self.estimated_end(now),
            cost: self.totals.cost,
            budget: self.limits.max_cost,
            idle: self.idle,
            idle_limit: self.facts.as_ref().map_or(0, |facts| facts.idle_limit),
            progress: self.progress,
        }
    }

    /// Working time up to `now`. It includes the unrecorded time of the current activity. It also
    /// includes the time between attempts, which counts against the limit.
    pub fn at_work(&self, now: Timestamp) -> Duration {
        let since = match self.activity() {
            Activity::Starting
            | Activity::Working { .. }
            | Activity::Checking
            | Activity::Asking { .. }
            | Activity::Retrying { .. }
            | Activity::Between => self.at.map_or(Duration::ZERO, |at| between(at, now)),
            Activity::Waiting { .. } | Activity::Paused | Activity::Ended => Duration::ZERO,
        };
        self.totals.duration.saturating_add(since)
    }

    fn iterations_left(&self) -> Option<u32> {
        if self.finished.is_some() {
            return Some(0);
        }
        let asked = match self.stop {
            Some(StopWhen::AfterIteration | StopWhen::Now) => {
                Some(u32::from(self.in_iteration().is_some()))
            }
            None => None,
        };
        let most = self.limits.max_iterations;
        let by_limit = most.map(|most| most.saturating_sub(self.totals.iterations));
        [asked, by_limit, self.remaining_by_items()].into_iter().flatten().min()
    }

    /// Estimates the remaining iterations from the remaining items and the items per iteration so
    /// far.
    fn remaining_by_items(&self) -> Option<u32> {
        let progress = self.progress?;
        let left = progress.total.saturating_sub(progress.completed);
        let beginning = self.beginning?;
        let done = progress.completed.saturating_sub(beginning.completed);
        let iterations = self.totals.iterations.saturating_sub(beginning.iterations);
        if left == 0 || done == 0 || iterations == 0 {
            return None;
        }
        let needed = (u64::from(left) * u64::from(iterations)).div_ceil(u64::from(done));
        Some(u32::try_from(needed).unwrap_or(u32::MAX))
    }

    fn estimated_end(&self, now: Timestamp) -> Option<Timestamp> {
        let mean = self.mean_duration()?;
        let left = self.iterations_left()?;
        let (begin, spent) = match self.activity() {
            Activity::Ended | Activity::Paused => return None,
            Activity::Waiting { retry_at, .. } => (now.max(retry_at), Duration::ZERO),
            Activity::Retrying { at, .. } => (now.max(at), Duration::ZERO),
            Activity::Starting
            | Activity::Working { .. }
            | Activity::Checking
            | Activity::Asking { .. }
            | Activity::Between => {
                (now, self.in_iteration().map_or(Duration::ZERO, |start| between(start, now)))
            }
        };
        // An iteration that takes longer than the mean may end at any moment.
        let rest = mean.saturating_mul(left).saturating_sub(spent.min(mean));
        begin.checked_add(rest).ok()
    }

    /// Returns when the current iteration began; `None` if none is running.
    pub fn in_iteration(&self) -> Option<Timestamp> {
        let current = self.iteration.as_ref()?;
        let over = self.last.as_ref().is_some_and(|last| last.iteration == current.number);
        (!over).then_some(current.started_at)
    }
}

fn between(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
}
