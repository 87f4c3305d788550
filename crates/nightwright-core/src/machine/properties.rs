//! Invariants of every run, tested with thousands of runs in a world that answers at random, lies,
//! fails, and steers the run at any moment.

mod world;

use proptest::prelude::*;

use self::world::{OVERSHOOT, PendingAnswer, RandomRun};
use super::ledger::Ledger;
use crate::event::{
    AttemptEvent, CallEvent, CallPurpose, Event, FeedbackSource, GateEvent, GateResult,
    IterationEvent, NoteEvent, OperatorEvent, RunEvent, StopSource, StopWhen,
};
use crate::input::{CheckPurpose, Control, Input};
use crate::outcome::Outcome;
use crate::run_view::RunView;
use crate::stream::outcome::Consequence;
use crate::units::Usd;

fn run(seed: u64, steps: usize) -> RandomRun {
    let mut run = RandomRun::new(seed);
    run.feed(Input::Start);
    for _ in 0..steps {
        run.step();
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_prefix_of_a_journal_folds_to_the_state_the_machine_had(seed: u64) {
        let run = run(seed, 80);
        for (length, state) in &run.states {
            let replayed = Ledger::replay(&run.story.journal[..*length]);
            prop_assert_eq!(&*replayed, state);
        }
    }

    #[test]
    fn people_see_the_counters_that_the_machine_decides_by(seed: u64) {
        let run = run(seed, 120);
        let (state, view) = (run.story.machine.state(), RunView::of(&run.story.journal));
        prop_assert_eq!(view.idle, state.streaks.idle);
        prop_assert_eq!(view.without_gain, state.checks.without_gain);
        prop_assert_eq!(&view.flaky, &state.checks.flaky);
        prop_assert_eq!(view.totals.iterations, state.totals.iterations);
        prop_assert_eq!(view.totals.cost, state.totals.cost);
    }

    #[test]
    fn the_same_inputs_give_the_same_decisions(seed: u64) {
        let original = run(seed, 80);
        if !original.crashed {
            let mut again = RandomRun::new(seed).story.machine;
            for (now, input, step) in original.fed {
                prop_assert_eq!(again.handle(now, input), step);
            }
        }
    }

    #[test]
    fn the_limit_of_cost_is_exceeded_by_one_call_at_most(seed: u64) {
        let run = run(seed, 120);
        let state = run.story.machine.state();
        if let Some(limit) = state.settings.limits.max_cost {
            prop_assert!(
                state.totals.cost <= limit + OVERSHOOT,
                "{} of {limit}", state.totals.cost
            );
        }
    }

    #[test]
    fn the_limit_of_iterations_is_never_exceeded(seed: u64) {
        let run = run(seed, 200);
        let state = run.story.machine.state();
        if let Some(limit) = state.settings.limits.max_iterations {
            prop_assert!(state.totals.iterations <= limit);
        }
    }

    #[test]
    fn the_totals_add_up(seed: u64) {
        let run = run(seed, 120);
        let totals = &run.story.machine.state().totals;
        let mut sum = Usd::ZERO;
        for spend in totals.by_purpose.values() {
            sum += spend.cost;
        }
        prop_assert_eq!(sum, totals.cost);
        let attempts = run.story.journal.iter()
            .filter(|record| matches!(record.event, Event::Attempt(AttemptEvent::Started { .. }))).count();
        prop_assert_eq!(attempts, totals.attempts as usize);
    }

    #[test]
    fn an_iteration_makes_each_extra_call_once_and_tells_of_what_was_noticed_once(seed: u64) {
        let run = run(seed, 160);
        let (mut made, mut reported) = (Vec::new(), 0);
        for record in &run.story.journal {
            match &record.event {
                Event::Iteration(IterationEvent::Started { .. }) => (made, reported) = (Vec::new(), 0),
                Event::Call(CallEvent::Finished { purpose, report, .. }) => {
                    let unmade = matches!(report.outcome.consequence(), Consequence::Wait { .. });
                    if *purpose != CallPurpose::Verify && !unmade {
                        prop_assert!(!made.contains(purpose), "{purpose:?} twice");
                        made.push(*purpose);
                    }
                }
                Event::Note(NoteEvent::FeedbackAdded { source: FeedbackSource::Watchdog, .. }) => {
                    reported += 1;
                    prop_assert_eq!(reported, 1);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn the_checks_run_once_on_a_tree_that_an_iteration_left_and_never_without_a_reason(seed: u64) {
        let run = run(seed, 160);
        let (mut after_work, mut tree) = (0, None);
        for record in &run.story.journal {
            match &record.event {
                Event::Iteration(IterationEvent::Started { .. }) => (after_work, tree) = (0, None),
                Event::Gate(GateEvent::ChecksStarted { purpose: CheckPurpose::Progress, .. }) => {
                    prop_assert_eq!(after_work, 0);
                }
                Event::Gate(GateEvent::ChecksFinished { purpose, reused_from, fingerprint, .. }) => {
                    after_work += u32::from(*purpose == CheckPurpose::Progress);
                    if reused_from.is_some() {
                        prop_assert_eq!(tree.as_ref(), Some(fingerprint));
                    }
                    tree = Some(fingerprint.clone());
                }
                _ => {}
            }
        }
    }

    #[test]
    fn only_a_gate_completes_a_run(seed: u64) {
        let run = run(seed, 160);
        let mut passed = false;
        for record in &run.story.journal {
            match &record.event {
                Event::Gate(GateEvent::Started { .. }) => passed = false,
                Event::Gate(GateEvent::Finished { result }) => {
                    passed = matches!(result, GateResult::Passed { .. });
                }
                Event::Run(RunEvent::Finished { outcome: Outcome::Completed { .. }, .. }) => {
                    prop_assert!(passed);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn no_more_than_three_answers_go_into_an_attempt_and_none_after_a_stop(seed: u64) {
        let run = run(seed, 160);
        let (mut sent, mut stop) = (0, false);
        for record in &run.story.journal {
            match &record.event {
                Event::Attempt(AttemptEvent::Started { .. }) => sent = 0,
                Event::Run(RunEvent::Continued { .. }) | Event::Operator(OperatorEvent::StopCancelled) => stop = false,
                Event::Operator(OperatorEvent::StopRequested { .. }) => stop = true,
                Event::Attempt(AttemptEvent::MessageSent { answers: Some(_), .. }) => {
                    sent += 1;
                    prop_assert!(sent <= 3 && !stop);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn a_run_always_has_something_to_wait_for_or_is_paused_or_over(seed: u64) {
        let mut run = RandomRun::new(seed);
        run.feed(Input::Start);
        for _ in 0..120 {
            run.step();
            let state = run.story.machine.state();
            prop_assert!(
                run.is_over() || state.paused || !run.owed.is_empty(),
                "stuck in {:?}", state.phase
            );
        }
    }

    #[test]
    fn stop_now_ends_every_run_once_what_runs_has_ended(seed: u64) {
        let mut run = run(seed, 40);
        let stop = Control::Stop { when: StopWhen::Now, by: StopSource::Operator };
        run.feed(Input::Control(stop));
        for _ in 0..8 {
            if run.is_over() {
                break;
            }
            let index = run.owed.iter().position(|owed| matches!(owed, PendingAnswer::Answer(_)));
            let Some(index) = index else { break };
            if let PendingAnswer::Answer(effect) = run.owed.remove(index) {
                let input = run.answer(&effect);
                run.feed(input);
            }
        }
        prop_assert!(run.is_over(), "still going after stop now: {:?}", run.story.machine.state().phase);
    }
}
