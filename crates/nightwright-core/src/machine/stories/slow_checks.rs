//! Checks that take long: how often they run after an iteration.

use std::time::Duration;

use crate::event::{Event, GateEvent, Record};
use crate::input::CheckPurpose;
use crate::machine::story::{Story, story};
use crate::settings::{Settings, Tamper, VerdictMode};

/// The duration of the checks in the long runs below.
const CHECKS: u32 = 10;

#[test]
fn slow_checks_wait_until_they_take_less_than_a_fifth_of_the_time() {
    let slow = |every: &str, then: &str| {
        story(&format!(
            "
            given checks, baseline, every {every}
            > start
            > wait 10m
            > checks fail boom
            > prepared A
            > wait 20m
            > agent finishes
            > surveyed B
              {then}
            "
        ))
    };
    slow("auto", "not checks_started");
    slow("always", "checks_started after the iteration");
    story(
        "
        given checks, baseline, every auto
        > start
        > wait 10m
        > checks fail boom
        > prepared A
        > wait 95m
        > agent finishes
        > surveyed B
          checks_started after the iteration
        ",
    );
}

/// The time that checks took in a run so far.
#[derive(Default)]
struct CheckShare {
    began: Duration,
    spent: Duration,
    /// The number of times that they ran after an iteration.
    runs: u32,
    iterations: u32,
}

impl CheckShare {
    /// Adds an event. After an iteration, the checks may not have taken a fifth of the time.
    fn add(&mut self, record: &Record) {
        match &record.event {
            Event::Gate(GateEvent::ChecksStarted { .. }) => self.began = record.active,
            Event::Gate(GateEvent::ChecksFinished { purpose, .. }) => {
                self.spent += record.active.saturating_sub(self.began);
                if *purpose == CheckPurpose::Progress {
                    self.runs += 1;
                    let (spent, active) = (self.spent, record.active);
                    assert!(spent * 5 < active, "{spent:?} of {active:?}");
                }
            }
            Event::Iteration(_) => self.iterations += 1,
            Event::Run(_)
            | Event::Attempt(_)
            | Event::Call(_)
            | Event::Wait(_)
            | Event::Gate(_)
            | Event::Operator(_)
            | Event::Note(_) => {}
        }
    }
}

/// Plays a run of 60 iterations, each with one more test that passes.
fn long_run(minutes: u32) -> CheckShare {
    let mut settings =
        Settings { goal: "x".to_owned(), delay: Duration::ZERO, ..Settings::default() };
    settings.verify.commands = vec!["make test".to_owned()];
    settings.verify.model = VerdictMode::Off;
    settings.verify.tamper = Tamper::Off;
    settings.deadlines.attempt = None;
    settings.limits.max_iterations = None;
    let mut story = Story::new(settings);
    let run_checks = |story: &mut Story, failing: u32| {
        story.happen(&format!("wait {CHECKS}m"));
        story.happen(&format!("checks fail {failing}/99"));
    };
    story.happen("start");
    run_checks(&mut story, 99);
    for number in 1..=60 {
        story.happen(if number == 1 { "prepared A" } else { "prepared same" });
        story.happen(&format!("wait {minutes}m"));
        story.happen("agent finishes");
        let decisions = story.happen(&format!("surveyed {number}"));
        if decisions.iter().any(|decision| decision.starts_with("-> run checks")) {
            run_checks(&mut story, 99 - number);
        }
    }
    let mut share = CheckShare::default();
    story.journal.iter().for_each(|record| share.add(record));
    share
}

#[test]
fn checks_of_ten_minutes_take_less_than_a_fifth_of_a_long_run_and_still_run() {
    for minutes in [1, 3, 10, 25, 60, 90] {
        let share = long_run(minutes);
        assert_eq!(share.iterations, 2 * 60, "started and finished");
        // As often as the limit allows: the next run of the checks would exceed it.
        let work = minutes * 60;
        let most = work / (4 * CHECKS);
        let ran = share.runs + 1;
        assert!(ran <= most.max(1), "{ran} of at most {most} runs");
        assert!(ran + 2 >= most.min(61), "{ran} of {most} runs with {minutes} minutes of work");
    }
}
