//! Whether an iteration moved the project forward, and what the next one is told if not.

use std::collections::BTreeSet;

use crate::event::Progress;
use crate::input::{Checklist, Survey, WorkspaceMark};
use crate::settings::{Excuse, ProgressSettings};
use crate::units::Fingerprint;

/// States of the project that this run has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenStates {
    /// Everything that counts as work.
    pub fingerprints: BTreeSet<Fingerprint>,
    /// Trees of commits.
    pub trees: BTreeSet<String>,
    /// The fewest open boxes so far.
    pub fewest_open: Option<u32>,
}

impl SeenStates {
    /// Takes note of a state.
    pub fn add(&mut self, mark: &WorkspaceMark, checklist: Option<Checklist>) {
        self.fingerprints.insert(mark.fingerprint.clone());
        self.trees.extend(mark.head_tree.clone());
        if let Some(Checklist { open, .. }) = checklist {
            self.fewest_open = Some(self.fewest_open.map_or(open, |fewest| fewest.min(open)));
        }
    }

    /// Whether the project is in a state this run has not been in before. A commit that changes no
    /// tree is no work, nor is going back and forth between two states.
    pub fn is_work(&self, start: &WorkspaceMark, survey: &Survey) -> bool {
        let new_files = !self.fingerprints.contains(&survey.mark.fingerprint);
        let new_tree =
            survey.mark.head_tree.as_ref().is_some_and(|tree| !self.trees.contains(tree));
        let fewer_open = match (survey.checklist, self.fewest_open) {
            (Some(Checklist { open, .. }), Some(fewest)) => open < fewest,
            (Some(_), None) | (None, _) => false,
        };
        let changed = survey.mark.fingerprint != start.fingerprint;
        new_files || new_tree || (fewer_open && changed)
    }
}

/// What an iteration that did no work, and whose claim did not go to the gate, amounts to.
pub fn without_work(
    policy: &ProgressSettings,
    worked: Option<bool>,
    excused_in_row: u32,
) -> Progress {
    match (policy.excuse, worked) {
        // Without a threshold there is nothing that a row of excuses could lead to.
        (Excuse::Worked, Some(true))
            if policy.threshold == 0 || excused_in_row < policy.threshold.saturating_mul(2) =>
        {
            Progress::Excused
        }
        (Excuse::Worked | Excuse::None, _) => Progress::Idle,
    }
}

/// The ladder: what the next iteration is told after so many idle ones in a row.
pub fn idle_feedback(idle: u32) -> String {
    let seen = match idle {
        1 => "The last iteration changed nothing in the project.".to_owned(),
        _ => format!("The last {idle} iterations changed nothing in the project."),
    };
    let advice = match idle {
        0 | 1 => "If work is left, do some of it now and leave it on disk.",
        2 => {
            "What was tried does not work. Choose another approach: name in the notes what failed \
             and why, then do something different and smaller."
        }
        3.. => {
            "Stop repeating yourself. Take the smallest open item, find the root cause of what \
             holds it up, and change at least one file towards it. If only a person can help, say \
             so as a blocker."
        }
    };
    format!("{seen} {advice}")
}
