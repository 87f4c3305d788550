//! Checks that take long, in virtual time: when they run after an iteration.

use nightwright_core::event::GateEvent;
use nightwright_core::input::{CheckReport, CheckResult, CheckVerdict};
use nightwright_core::stream::outcome::ProcessExit;
use nightwright_core::test_counts::TestCounts;
use nightwright_core::units::Ticket;

use super::*;

/// The duration of the checks, and that of an iteration.
const CHECKS: Duration = Duration::from_mins(10);
const ITERATION: Duration = Duration::from_mins(15);

/// A report in which one test fails less each time.
fn report(tree: &str, failed: u32) -> CheckReport {
    let tests = Some(TestCounts { failed, total: 99 });
    let verdict = CheckVerdict::Failed { how: ProcessExit::Code(1) };
    let result =
        CheckResult { tests, duration: CHECKS, ..CheckResult::without_run("make test", verdict) };
    let fingerprint = Fingerprint(tree.to_owned());
    CheckReport { results: vec![result], fingerprint, ..CheckReport::default() }
}

/// Answers after the duration of the checks.
pub(super) fn run(ticket: Ticket, tree: &str, runs: u32, news: &mpsc::Sender<Input>) {
    let (report, news) = (report(tree, 99 - runs), news.clone());
    tokio::spawn(async move {
        tokio::time::sleep(CHECKS).await;
        // A closed queue means that the run has ended.
        let _ = news.send(Input::Checked(ticket, report)).await;
    });
}

/// The time between the start of checks and their end, summed up.
fn spent(records: &[Record]) -> Duration {
    let mut began = Duration::ZERO;
    let mut spent = Duration::ZERO;
    for record in records {
        match &record.event {
            Event::Gate(GateEvent::ChecksStarted { .. }) => began = record.active,
            Event::Gate(GateEvent::ChecksFinished { .. }) => {
                spent += record.active.saturating_sub(began);
            }
            _ => {}
        }
    }
    spent
}

#[tokio::test(start_paused = true)]
async fn a_suite_of_ten_minutes_takes_less_than_a_fifth_of_a_run() {
    let stage = SupervisorEnv::new();
    let mut settings = settings();
    settings.limits.max_iterations = Some(30);
    settings.verify.commands = vec!["make test".to_owned()];
    settings.deadlines.attempt = None;
    settings.deadlines.start = ITERATION * 2;
    settings.deadlines.idle = ITERATION * 2;
    let exit = finishes(false).pop().expect("an exit");
    let script = vec![ScriptStep::After(ITERATION), exit];
    let trees: Vec<&'static str> =
        (1..=30).map(|tree: u32| &*Box::leak(tree.to_string().into_boxed_str())).collect();
    let (play, log) = ScriptedEffects::new(vec![script; 30], &trees);
    let finished = stage.run(settings, play).await;
    assert_eq!(finished.outcome.name(), "max_iterations");
    assert_eq!(log.orders().len(), 30);
    let recorded = stage.recorded();
    let end = recorded.last().expect("events").active;
    // The checks after the last iteration run in any case.
    let (all, regular) = (spent(&recorded), spent(&recorded).saturating_sub(CHECKS));
    assert!(regular * 5 < end, "{all:?} of {end:?}");
    assert!(regular * 7 > end, "{all:?} of {end:?}: they ran too seldom");
}
