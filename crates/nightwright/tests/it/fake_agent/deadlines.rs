//! Agents that hang: each is ended by the deadline that is meant for it, with everybody below it.

use std::time::Duration;

use nightwright_core::event::{AttemptEvent, Event, IterationResult, Record};
use nightwright_core::settings::{Deadlines, Settings};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Deadline};

use super::FakeAgentEnv;
use super::trial::{Trial, settings};
use crate::harness::{finish, names};

/// Short enough for a test; what it is compared with is minutes away.
const SHORT: Duration = Duration::from_millis(500);

fn with(deadlines: Deadlines) -> Settings {
    Settings { deadlines, ..settings() }
}

/// The attempt was given up for this reason and for no other, and nothing of it is left or lost.
#[track_caller]
fn gave_up(trial: &Trial, which: Deadline) {
    assert_eq!(trial.cut(), Some(CancelReason::Deadline(which)));
    assert_eq!(trial.report().outcome, AttemptOutcome::TimedOut { which });
    assert!(matches!(trial.iteration(), IterationResult::Failed { .. }));
    trial.is_clean();
}

#[tokio::test]
async fn an_agent_that_says_nothing_at_all_is_given_up() {
    let deadlines = Deadlines { start: SHORT, ..Deadlines::default() };
    let trial = Trial::run(with(deadlines), "note $$; sleep 300").await;
    gave_up(&trial, Deadline::Start);
    assert_eq!(trial.report().stream.stdout_bytes, 0);
}

#[tokio::test]
async fn words_without_the_line_that_says_ready_are_no_start() {
    let deadlines = Deadlines { start: SHORT, ..Deadlines::default() };
    let trial = Trial::run(with(deadlines), "note $$; says hm; sleep 300").await;
    gave_up(&trial, Deadline::Start);
}

#[tokio::test]
async fn a_tool_that_never_comes_back_is_given_up() {
    let deadlines = Deadlines { tool: SHORT, ..Deadlines::default() };
    let trial = Trial::run(with(deadlines), "note $$; init; tool; sleep 300").await;
    gave_up(&trial, Deadline::Tool);
    assert_eq!(trial.report().stream.tool_calls, 1);
}

#[tokio::test]
async fn an_agent_that_hangs_after_its_result_has_done_its_work() {
    let deadlines = Deadlines { after_result: SHORT, ..Deadlines::default() };
    let trial = Trial::run(with(deadlines), "note $$; init; result Done.; sleep 300").await;
    assert_eq!(trial.cut(), Some(CancelReason::AfterResult));
    assert_eq!(trial.report().outcome, AttemptOutcome::Finished);
    assert_eq!(trial.report().text_evidence.summary, "Done.");
    assert_eq!(trial.iteration(), IterationResult::Done);
    trial.is_clean();
}

/// A run of the real binary with one attempt that is given up once it was ready. On a busy machine
/// the deadline may pass before that; then there is another run with more time.
fn given_up(words: &str, option: &str) -> (FakeAgentEnv, Deadline) {
    for time in ["5s", "15s", "40s"] {
        let scene = FakeAgentEnv::new(words);
        let child = scene.start(&["-m", "1", "--max-retries", "0", option, time]);
        finish(child).exits(1).says(&["Reached maximum iterations (1)"]);
        scene.census().nobody("the run is over");
        let journal = scene.env.journal();
        if names(&journal).contains(&"agent_ready") {
            scene.all_is_kept("001-1");
            let which = deadline(&journal);
            return (scene, which);
        }
    }
    panic!("the agent was never ready");
}

/// The deadline that ended the attempt.
fn deadline(journal: &[Record]) -> Deadline {
    let which = journal.iter().find_map(|record| match &record.event {
        Event::Attempt(AttemptEvent::Finished { report, .. }) => match report.outcome {
            AttemptOutcome::TimedOut { which } => Some(which),
            _ => None,
        },
        _ => None,
    });
    which.expect("an attempt that was given up")
}

#[test]
fn an_agent_that_falls_silent_is_given_up_and_its_words_are_kept() {
    let words = "note $$; init; says 'so far, so good'; sleep 300";
    let (scene, which) = given_up(words, "--idle-timeout");
    assert_eq!(which, Deadline::Idle);
    let summary = scene.env.journal().into_iter().find_map(|record| match record.event {
        Event::Attempt(AttemptEvent::Finished { report, .. }) => Some(report.text_evidence.summary),
        _ => None,
    });
    assert_eq!(summary.as_deref(), Some("so far, so good"));
}

#[test]
fn an_agent_with_endless_output_is_killed() {
    // Asked to leave, it says to the end what it has begun.
    let words = "trap over=1 TERM; note $$; init; until [ $over ]; do says on; sleep 0.05; done";
    let (_, which) = given_up(words, "--timeout");
    assert_eq!(which, Deadline::Attempt);
}
