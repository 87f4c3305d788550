//! Output of every kind: none of it is lost, and none of it holds anything up.

use nightwright_core::effect::Grace;
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Deadline, ProcessExit};

use super::FakeAttempt;
use crate::agent_env::{RunningAttempt, attempt, eventually};

/// Plays a script until it ends. Checks that all output is stored, it is ready once, and no process
/// is left.
async fn played(words: &str) -> AttemptReport {
    let rehearsed = FakeAttempt::new();
    let mut agent = rehearsed.playing(words);
    let (before, report) = RunningAttempt::start(&mut agent, attempt(1)).finish().await;
    rehearsed.census().nobody(words);
    rehearsed.all_is_kept();
    let ready = before.iter().filter(|news| matches!(news, AgentNews::Ready(_))).count();
    assert_eq!(ready, 1, "{before:?}");
    report
}

#[tokio::test]
async fn a_flood_of_lines_is_read_to_its_end() {
    let flood = r#"{"type":"stream_event","event":{"type":"ping"}}"#;
    let report =
        played(&format!("init; yes '{flood}' | head -n 400000 | pour; result Done.")).await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
    assert_eq!((report.stream.bad_lines, report.stream.results), (0, 1));
    assert!(report.stream.stdout_bytes > 18_000_000, "{}", report.stream.stdout_bytes);
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_costs_only_itself() {
    let line = "head -c 100000000 /dev/zero | tr '\\0' x | pour";
    // The second never ends, and is no line until the agent is gone.
    let report = played(&format!("init; {line}; out; says well; result Done.; {line}")).await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
    assert_eq!((report.stream.bad_lines, report.stream.results), (2, 1));
    assert!(report.stream.stdout_bytes > 200_000_000, "{}", report.stream.stdout_bytes);
}

#[tokio::test]
async fn bytes_that_are_no_text_cost_only_their_lines() {
    let report = played(
        "init; printf '\\377\\376\\n{\"type\":\"x\\000\"}\\n\\000\\000\\n\\303(\\n\\n \\n' | pour; \
         says well; result Done.",
    )
    .await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
    assert_eq!((report.stream.bad_lines, report.stream.results), (4, 1));
}

#[tokio::test]
async fn hundreds_of_megabytes_on_standard_error_hold_nothing_up() {
    let report = played(
        "init; head -c 300000000 /dev/zero >&2; says well; result Done.; \
         head -c 100000000 /dev/zero >&2",
    )
    .await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
    assert_eq!(report.stream.stderr_bytes, 400_000_000);
}

#[tokio::test]
async fn an_agent_that_closes_its_output_early_is_judged_when_it_ends() {
    let report = played("init; result Done.; exec >&-; sleep 0.3; exit 4").await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
    let report = played("init; says well; exec >&- 2>&-; sleep 0.3").await;
    assert_eq!(report.outcome, AttemptOutcome::Crashed { how: ProcessExit::Code(0) });
}

#[tokio::test]
async fn an_agent_that_closes_its_output_and_works_on_is_still_cut() {
    let rehearsed = FakeAttempt::new();
    let mut agent = rehearsed.playing("init; says well; exec >&- 2>&-; family; sleep 300");
    let performance = RunningAttempt::start(&mut agent, attempt(1));
    eventually("everybody is there", || rehearsed.agent.file("family").exists()).await;
    performance.attempt().cancel(CancelReason::Deadline(Deadline::Idle), Grace::None);
    let (_, report) = performance.finish().await;
    assert_eq!(report.outcome, AttemptOutcome::TimedOut { which: Deadline::Idle });
    rehearsed.census().nobody("cut");
    rehearsed.all_is_kept();
}
