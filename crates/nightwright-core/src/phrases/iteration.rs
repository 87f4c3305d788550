//! Phrases for iterations: their names, results, figures and remaining items.

use crate::event::{IterationFinished, IterationKind, Progress};
use crate::input::TaskProgress;
use crate::outcome::count;
use crate::results::IterationStatus;
use crate::units::{Usd, human};

/// The name of an iteration: `iteration 3`. The number 0 is a verification without work.
pub fn iteration(number: u32) -> String {
    match number {
        0 => "verification".to_owned(),
        number => format!("iteration {number}"),
    }
}

/// The name of an iteration with its kind: `iteration 9, the wrap-up`.
pub fn iteration_of_kind(number: u32, kind: IterationKind) -> String {
    match kind {
        IterationKind::Work => iteration(number),
        IterationKind::WrapUp => format!("iteration {number}, the wrap-up"),
        IterationKind::VerifyOnly => iteration(0),
    }
}

/// The result of an iteration in a few words.
pub fn iteration_status(status: IterationStatus) -> &'static str {
    match status {
        IterationStatus::Accepted => "claim accepted",
        IterationStatus::Rejected => "claim rejected",
        IterationStatus::Unverified => "claim not verified",
        IterationStatus::Impossible => "impossible",
        IterationStatus::Work => "progress",
        IterationStatus::WorkReported => "work reported",
        IterationStatus::Idle => "no changes",
        IterationStatus::Failed => "failed",
        IterationStatus::Interrupted => "interrupted",
        IterationStatus::Running => "in progress",
    }
}

/// The figures of an iteration: `4 files, 2 commits, $0.42, 6m 12s`. Zero values are omitted.
/// `rehearsed` follows the amount.
pub fn figures(finished: &IterationFinished, rehearsed: &str) -> String {
    let IterationFinished { files_changed, commits, cost, duration, .. } = finished;
    let unchanged = *files_changed == 0 && *commits == 0;
    let unchanged = match finished.progress {
        Progress::WorkReported => unchanged.then_some("no changes, but the agent reports work"),
        // The changes are neither files nor commits, but checkboxes.
        Progress::Work => None,
        // An interrupted iteration is not inspected, so its changes are unknown.
        Progress::Uncounted if finished.end.is_none() => None,
        Progress::Idle | Progress::Uncounted => unchanged.then_some("no changes"),
    };
    let parts = unchanged
        .map(str::to_owned)
        .into_iter()
        .chain(changes(*files_changed, *commits))
        .chain((*cost > Usd::ZERO).then(|| format!("{cost}{rehearsed}")))
        .chain([human(*duration)]);
    parts.collect::<Vec<_>>().join(", ")
}

/// The changes of an iteration: `4 files`, `2 commits`. Zero values are omitted.
pub fn changes(files: u32, commits: u32) -> impl Iterator<Item = String> {
    let parts = [(files, "file"), (commits, "commit")];
    parts.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun))
}

/// Progress with the remaining items: `35/60 (25 items remaining)`.
pub fn remaining(items: TaskProgress) -> String {
    let TaskProgress { completed, total } = items;
    match total.saturating_sub(completed) {
        0 => format!("{completed}/{total}"),
        left => format!("{completed}/{total} ({} remaining)", count(left, "item")),
    }
}
