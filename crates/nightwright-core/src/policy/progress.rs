//! Progress policy: whether an iteration changed the project, and the feedback if it did not.

use std::collections::BTreeSet;

use crate::event::Progress;
use crate::input::{Checklist, Survey, TaskProgress, WorkspaceMark};
use crate::settings::{IdleUnless, ProgressSettings};
use crate::units::Fingerprint;

/// The states of the project seen in this run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenStates {
    /// The fingerprints of all files that count as work.
    pub fingerprints: BTreeSet<Fingerprint>,
    /// The trees of commits.
    pub trees: BTreeSet<String>,
    /// The lowest number of open checkboxes so far.
    pub fewest_open: Option<u32>,
    /// The highest number of completed items that the status file has named.
    pub most_completed: Option<u32>,
}

impl SeenStates {
    /// Adds a state of the project.
    pub fn add(&mut self, mark: &WorkspaceMark, checklist: Option<Checklist>) {
        self.fingerprints.insert(mark.fingerprint.clone());
        self.trees.extend(mark.head_tree.clone());
        if let Some(Checklist { open, .. }) = checklist {
            self.fewest_open = Some(self.fewest_open.map_or(open, |fewest| fewest.min(open)));
        }
    }

    /// Adds the progress that the status file names.
    pub fn add_items(&mut self, items: Option<TaskProgress>) {
        self.most_completed =
            self.most_completed.max(items.map(|items| items.completed.min(items.total)));
    }

    /// Whether fewer boxes are open than ever before, or more items completed, after other work.
    pub fn is_further(
        &self,
        checklist: Option<Checklist>,
        items: Option<TaskProgress>,
        files_changed_outside_plan: Option<u32>,
    ) -> bool {
        let completed = items.map(|items| items.completed.min(items.total));
        let has_more = completed.zip(self.most_completed).is_some_and(|(now, most)| now > most);
        files_changed_outside_plan != Some(0) && (self.has_fewer_open(checklist) || has_more)
    }

    fn has_fewer_open(&self, checklist: Option<Checklist>) -> bool {
        let open = checklist.map(|checklist| checklist.open);
        open.zip(self.fewest_open).is_some_and(|(now, fewest)| now < fewest)
    }

    /// Whether the project is in a state that this run has not seen before. A commit that changes
    /// no tree is no work, nor is alternating between two states.
    pub fn is_work(&self, start: &WorkspaceMark, survey: &Survey) -> bool {
        let new_files = !self.fingerprints.contains(&survey.mark.fingerprint);
        let new_tree =
            survey.mark.head_tree.as_ref().is_some_and(|tree| !self.trees.contains(tree));
        let fewer_open = self.has_fewer_open(survey.checklist);
        let changed = survey.mark.fingerprint != start.fingerprint;
        new_files || new_tree || (fewer_open && changed)
    }
}

/// The progress of an iteration that did no work and whose claim did not reach the gate.
pub fn without_work(
    policy: &ProgressSettings,
    worked: Option<bool>,
    reported_in_row: u32,
) -> Progress {
    match (policy.idle_unless, worked) {
        // Without a threshold, the number of consecutive reports of work has no effect.
        (IdleUnless::Worked, Some(true))
            if policy.threshold == 0 || reported_in_row < policy.threshold.saturating_mul(2) =>
        {
            Progress::WorkReported
        }
        (IdleUnless::Worked | IdleUnless::None, _) => Progress::Idle,
    }
}

/// The number of consecutive idle iterations after one with this progress. One that reports a
/// blocker neither counts nor resets them.
pub fn idle_after(before: u32, progress: Progress, reports_blocker: bool) -> u32 {
    match progress {
        Progress::Work => 0,
        Progress::Idle if !reports_blocker => before.saturating_add(1),
        Progress::Idle | Progress::WorkReported | Progress::Uncounted => before,
    }
}

/// The feedback after `idle` consecutive idle iterations, more insistent each time.
pub fn idle_feedback(idle: u32) -> String {
    let seen = match idle {
        1 => "The last iteration changed nothing in the project.".to_owned(),
        _ => format!("The last {idle} iterations changed nothing in the project."),
    };
    let advice = match idle {
        0 | 1 => "If any work remains, do some of it now and save it to disk.",
        2 => {
            "That approach does not work. Write into the notes what failed and why. Then do \
             something different and smaller."
        }
        3.. => {
            "Stop repeating yourself. Take the smallest open item, find out what is blocking it, \
             and change at least one file to fix it. If only a person can help, report a blocker."
        }
    };
    format!("{seen} {advice}")
}
