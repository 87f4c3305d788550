//! The summary at the end of a run.

use std::path::Path;

use insta::assert_snapshot;
use nightwright::config::ColorChoice;
use nightwright::output::summary;
use nightwright_core::event::{Event, GateEvent, GateResult, RunEvent};
use nightwright_core::outcome::{Outcome, Proof};
use nightwright_core::run_view::RunView;

use crate::report::{everybody_asked, records, run, style};

/// The summary of a run with all sample events and this outcome.
fn closing(outcome: Outcome, note: Option<&str>, utf8: bool) -> String {
    let mut records = records();
    if let Outcome::Completed { proof, .. } = outcome {
        for record in &mut records {
            if let Event::Gate(GateEvent::Finished { result }) = &mut record.event {
                *result = GateResult::Passed { proof };
            }
        }
    }
    if let Some(Event::Run(RunEvent::Finished { outcome: last, note: text, .. })) =
        records.last_mut().map(|record| &mut record.event)
    {
        *last = outcome;
        *text = note.map(str::to_owned);
    }
    let summary = RunView::of(&records).summary(&run());
    let log = Path::new("/var/log/run");
    summary::render(&summary, &style(utf8, ColorChoice::Auto), Some(log))
}

#[test]
fn a_completed_run_says_what_was_verified_and_what_it_cost() {
    let text = closing(Outcome::completed(Proof::Checks), None, true);
    assert_snapshot!(text, @r#"
    ✓ Task completed successfully after 1 iteration
      verified by `cargo test`
      1 attempt, 2 commits, 9 files changed, 40s active, 1h 20m waiting
      cost $0.43, $0.0081 of it estimated (work $0.42 in 1 attempt, verify $0.0081 in 1 call), 19,356 tokens and 310,552 from the cache
      denied: docker compose up (allow with --allowed-tools "Bash(docker compose up:*)")
      3 warnings, see above
      log: /var/log/run
      next: review the changes: nightwright report 20261115-233412-7f3a
    "#);
}

#[test]
fn a_run_at_its_limit_says_how_to_continue() {
    let note = Some("claimed, rejected: `cargo test` failed (exit 101)");
    assert_snapshot!(closing(Outcome::MaxIterations { limit: 10 }, note, true), @r#"
    ⚠️ Reached maximum iterations (10)
      claimed, rejected: `cargo test` failed (exit 101)
      1 attempt, 2 commits, 9 files changed, 40s active, 1h 20m waiting
      cost $0.43, $0.0081 of it estimated (work $0.42 in 1 attempt, verify $0.0081 in 1 call), 19,356 tokens and 310,552 from the cache
      denied: docker compose up (allow with --allowed-tools "Bash(docker compose up:*)")
      3 warnings, see above
      log: /var/log/run
      next: raise the limit, allow the denied commands and continue: nightwright resume 20261115-233412-7f3a --max-iterations 20 --allowed-tools "Bash(docker compose up:*)"
            or only raise the limit and continue: nightwright resume 20261115-233412-7f3a --max-iterations 20
            read the log: nightwright log 20261115-233412-7f3a
    "#);
}

#[test]
fn a_wait_that_is_too_long_is_reported_in_local_time() {
    let until = Some("2026-11-17T04:00:00Z".parse().unwrap());
    assert_snapshot!(closing(Outcome::LimitWaitTooLong { until }, None, false), @r#"
    error: The usage limit lasts until 2026-11-17T04:00:00Z, longer than `limits.max_wait`
      local time: 2026-11-17 04:00 UTC
      claim of iteration 3 not accepted: `cargo test` failed (exit 101)
      1 iteration, 1 attempt, 2 commits, 9 files changed, 40s active, 1h 20m waiting
      cost $0.43, $0.0081 of it estimated (work $0.42 in 1 attempt, verify $0.0081 in 1 call), 19,356 tokens and 310,552 from the cache
      denied: docker compose up (allow with --allowed-tools "Bash(docker compose up:*)")
      3 warnings, see above
      log: /var/log/run
      next: after the limit resets, continue: nightwright resume 20261115-233412-7f3a
    "#);
}

#[test]
fn a_run_that_never_worked_has_no_cost_to_tell() {
    let mut records = records();
    records.retain(|record| {
        matches!(record.event, Event::Run(RunEvent::Started(_) | RunEvent::Finished { .. }))
    });
    if let Some(Event::Run(RunEvent::Finished { outcome, note, .. })) =
        records.last_mut().map(|record| &mut record.event)
    {
        *outcome = Outcome::Auth { why: "not logged in\u{1b}[2J".to_owned() };
        *note = None;
    }
    let summary = RunView::of(&records).summary(&run());
    let text = summary::render(&summary, &style(false, ColorChoice::Auto), None);
    assert_snapshot!(text, @r#"
    error: Authentication failed: not logged in
      0 iterations, 0 attempts, 40s active
      next: run `claude` manually and log in, then continue: nightwright resume 20261115-233412-7f3a
    "#);
}

#[test]
fn the_summary_has_every_purpose_with_its_calls_and_what_they_cost() {
    let summary = RunView::of(&everybody_asked()).summary(&run());
    let text = summary::render(&summary, &style(true, ColorChoice::Auto), None);
    let cost = text.lines().find(|line| line.contains("cost ")).unwrap();
    assert!(
        cost.contains(
            "(work $0.42 in 1 attempt, advise $0.02 in 1 call, council $0.04 in 1 call, \
             review $0.50 in 2 calls, verify $0.0081 in 1 call)"
        ),
        "{cost}"
    );
}
