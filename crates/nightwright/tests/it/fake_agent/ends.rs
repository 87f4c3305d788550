//! Every way to end: the result is what counts, and the exit only where there is none.

use nightwright_core::stream::news::AttemptReport;
use nightwright_core::stream::outcome::{AttemptOutcome, ProcessExit};

use super::FakeAttempt;
use crate::agent_env::{attempt, report};

/// Plays a script until it ends, and checks that all output is stored and no process is left.
async fn ended(words: &str) -> AttemptReport {
    let rehearsed = FakeAttempt::new();
    let report = report(&mut rehearsed.playing(words), attempt(1)).await;
    rehearsed.census().nobody(words);
    rehearsed.all_is_kept();
    report
}

#[tokio::test]
async fn an_exit_with_0_after_an_error_is_that_error() {
    let report = ended("init; overloaded; exit 0").await;
    assert_eq!(report.outcome, AttemptOutcome::Overloaded);
}

#[tokio::test]
async fn an_exit_as_if_by_a_signal_after_a_good_result_is_none() {
    let report = ended("init; tool; tool_done; result Done.; exit 143").await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
    assert_eq!((report.stream.tool_calls, report.turns), (1, 2));
}

#[tokio::test]
async fn death_by_a_signal_is_distinguished_and_spares_a_result() {
    let crashed = |signal| AttemptOutcome::Crashed { how: ProcessExit::Signal(signal) };
    assert_eq!(ended("init; kill -SEGV $$").await.outcome, crashed(11));
    assert_eq!(ended("init; says well; kill -KILL $$").await.outcome, crashed(9));
    assert_eq!(ended("init; result Done.; kill -KILL $$").await.outcome, AttemptOutcome::Finished);
}

#[tokio::test]
async fn an_end_without_a_result_is_a_crash_whatever_the_exit() {
    for (words, code) in [("init; exit 0", 0), ("init; says well; exit 3", 3)] {
        let outcome = AttemptOutcome::Crashed { how: ProcessExit::Code(code) };
        assert_eq!(ended(words).await.outcome, outcome, "{words}");
    }
}
