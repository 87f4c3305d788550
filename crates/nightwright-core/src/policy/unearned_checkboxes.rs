//! Unearned checkboxes: boxes that were checked without any work.

use std::collections::BTreeMap;

use crate::event::{IterationFinished, IterationResult, Progress};
use crate::input::Checklist;
use crate::units::Iteration;

/// The boxes checked in iterations that changed nothing but the checklist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnearnedCheckboxes {
    /// The number of boxes by iteration.
    pub unearned: BTreeMap<Iteration, u32>,
    /// The number of iterations that may have done work and checked no box: a later one may check
    /// boxes for them.
    credit: u32,
}

impl UnearnedCheckboxes {
    /// Records an iteration that began with these boxes.
    pub fn note(&mut self, before: Option<Checklist>, finished: &IterationFinished) {
        match &finished.result {
            IterationResult::Done => {}
            // Its changes may be complete, but it had no chance to check a box.
            IterationResult::Failed { .. } | IterationResult::Interrupted => {
                self.credit += 1;
                return;
            }
        }
        let (Some(before), Some(after)) = (before, finished.checklist) else { return };
        if after.done < before.done {
            // The boxes that were checked too early are open again.
            self.unearned.clear();
        }
        let only_list = finished.files_changed_outside_plan == Some(0);
        match self.unearned(before, after, finished.files_changed_outside_plan) {
            Some(ticked) => {
                self.unearned.insert(finished.iteration, ticked);
            }
            None if after.done > before.done && only_list => self.credit -= 1,
            None if after == before && !only_list && finished.progress == Progress::Work => {
                self.credit += 1;
            }
            None => {}
        }
    }

    /// The number of boxes checked by an iteration that changed nothing else, unless an earlier one
    /// can have earned them.
    pub fn unearned(
        &self,
        before: Checklist,
        after: Checklist,
        beside: Option<u32>,
    ) -> Option<u32> {
        let ticked = after.done.saturating_sub(before.done);
        (ticked > 0 && beside == Some(0) && self.credit == 0).then_some(ticked)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::units::Usd;

    fn finished(
        number: u32,
        checklist: Option<Checklist>,
        files_changed: u32,
    ) -> IterationFinished {
        IterationFinished {
            checks: None,
            idle: 0,
            without_gain: 0,
            iteration: Iteration(number),
            result: IterationResult::Done,
            ends: None,
            progress: Progress::Work,
            claim: Vec::new(),
            blockers: Vec::new(),
            signal: false,
            end: None,
            files_changed,
            files_changed_outside_plan: Some(files_changed.saturating_sub(1)),
            commits: 0,
            changes: None,
            task: None,
            phase: None,
            checklist,
            cost: Usd::ZERO,
            duration: Duration::ZERO,
            summary: String::new(),
        }
    }

    fn boxes(open: u32, done: u32) -> Checklist {
        Checklist { open, done }
    }

    fn noted(iterations: &[(Checklist, IterationFinished)]) -> UnearnedCheckboxes {
        let mut ticks = UnearnedCheckboxes::default();
        for (before, finished) in iterations {
            ticks.note(Some(*before), finished);
        }
        ticks
    }

    #[test]
    fn boxes_ticked_in_an_iteration_that_changed_only_the_list_are_unearned() {
        let ticks = noted(&[(boxes(3, 0), finished(1, Some(boxes(1, 2)), 1))]);
        assert_eq!(ticks.unearned, BTreeMap::from([(Iteration(1), 2)]));
        let ticks = noted(&[(boxes(3, 0), finished(1, Some(boxes(1, 2)), 2))]);
        assert!(ticks.unearned.is_empty());
    }

    #[test]
    fn one_iteration_may_tick_for_an_earlier_one_that_worked_and_ticked_nothing() {
        let work = (boxes(3, 0), finished(1, Some(boxes(3, 0)), 5));
        let late = (boxes(3, 0), finished(2, Some(boxes(2, 1)), 1));
        let idle = (boxes(2, 1), finished(3, Some(boxes(1, 2)), 1));
        assert!(noted(&[work.clone(), late.clone()]).unearned.is_empty());
        let ticks = noted(&[work, late, idle]);
        assert_eq!(ticks.unearned, BTreeMap::from([(Iteration(3), 1)]), "its credit is used up");
    }

    #[test]
    fn an_iteration_that_was_broken_off_may_be_ticked_for() {
        for result in [
            IterationResult::Interrupted,
            IterationResult::Failed { why: "it crashed".to_owned(), too_long: false },
        ] {
            let broken = IterationFinished { result, ..finished(1, None, 0) };
            let late = (boxes(2, 0), finished(2, Some(boxes(1, 1)), 1));
            assert!(noted(&[(boxes(2, 0), broken), late]).unearned.is_empty());
        }
    }

    #[test]
    fn boxes_that_are_opened_again_make_up_for_it() {
        let ticked = (boxes(2, 0), finished(1, Some(boxes(0, 2)), 1));
        let opened = (boxes(0, 2), finished(2, Some(boxes(2, 0)), 1));
        assert!(noted(&[ticked, opened]).unearned.is_empty());
    }

    #[test]
    fn more_boxes_make_up_for_nothing() {
        let ticked = (boxes(2, 0), finished(1, Some(boxes(0, 2)), 1));
        let more = (boxes(0, 2), finished(2, Some(boxes(2, 2)), 1));
        let again = (boxes(2, 2), finished(3, Some(boxes(0, 4)), 1));
        let ticks = noted(&[ticked, more, again]);
        assert_eq!(ticks.unearned, BTreeMap::from([(Iteration(1), 2), (Iteration(3), 2)]));
    }

    #[test]
    fn boxes_count_as_earned_if_other_changes_are_unknown() {
        let finished = finished(1, Some(boxes(0, 2)), 0);
        let finished = IterationFinished { files_changed_outside_plan: None, ..finished };
        assert!(noted(&[(boxes(2, 0), finished)]).unearned.is_empty());
    }

    #[test]
    fn without_a_list_nothing_is_ticked() {
        assert!(noted(&[(boxes(2, 0), finished(1, None, 1))]).unearned.is_empty());
    }
}
