//! How far a run is and when it may end, for people: figures to look at, by which nothing is
//! decided.

use std::time::Duration;

use jiff::Timestamp;

use super::{Activity, RunView};
use crate::event::StopWhen;
use crate::input::TaskProgress;
use crate::units::Usd;

/// How far a run is, and what is to be expected of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Time since its start, waits and pauses included; of a run that is over, until its end.
    pub elapsed: Duration,
    /// The mean duration of the last five iterations, once there are five.
    pub mean: Option<Duration>,
    /// How many iterations are left, the one that is going on included: by the limit, by the
    /// items that are left and how fast they went so far, or by a wish to stop, whichever is
    /// least. `None` where nobody can tell.
    pub iterations_left: Option<u32>,
    /// When it ends if it goes on like this; `None` before there are five iterations, where nobody
    /// can tell how many are left, while the run is paused and after its end.
    pub estimated_end: Option<Timestamp>,
    /// What it cost so far.
    pub cost: Usd,
    /// What it may cost.
    pub budget: Option<Usd>,
    /// Idle iterations in a row.
    pub idle: u32,
    /// So many of them end the run; 0 = none do.
    pub idle_limit: u32,
    /// How far the task is, by its own account.
    pub progress: Option<TaskProgress>,
}

/// How far the task was when it was heard of first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstProgress {
    /// Items done then.
    pub completed: u32,
    /// Iterations finished before.
    pub iterations: u32,
}

impl RunView {
    /// How far the run is, and what is to be expected of it.
    pub fn estimate(&self, now: Timestamp) -> Estimate {
        let until = match self.ending {
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

    /// Time at work. What is being done now counts up to now, though nothing of it is on record
    /// yet; so does the time between attempts, as it does against the limit.
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
        if self.ending.is_some() {
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

    /// By the items that are left, and how many of them an iteration did so far.
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

    /// When the iteration began that is going on, if one is.
    pub fn in_iteration(&self) -> Option<Timestamp> {
        let current = self.iteration.as_ref()?;
        let over = self.last.as_ref().is_some_and(|last| last.iteration == current.number);
        (!over).then_some(current.started_at)
    }
}

fn between(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
}
