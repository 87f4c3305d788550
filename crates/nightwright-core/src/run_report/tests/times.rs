//! Tests of times and durations in the report.

use super::*;
use crate::event::{
    AttemptEvent, Continuation, CostSource, Event, IterationEvent, RunEvent, WaitEvent,
};
use crate::stream::news::AttemptReport;
use crate::stream::outcome::AttemptOutcome;

/// A run that was killed while its agent worked, and taken over three hours later.
fn killed() -> (Record, Vec<Record>) {
    let mut records = sample(6).records();
    records.truncate(4);
    let before = records.last().unwrap().clone();
    let Event::Attempt(AttemptEvent::AgentReady { attempt, .. }) = before.event else {
        panic!("{before:?}")
    };
    let at = before.at + Duration::from_hours(3);
    let lost = Event::Attempt(AttemptEvent::Finished {
        attempt,
        cost: Usd::ZERO,
        figure: CostSource::Estimated,
        duration: Duration::ZERO,
        report: Box::new(AttemptReport::bare(AttemptOutcome::Lost)),
    });
    for event in [Event::Run(RunEvent::Continued { why: Continuation::AfterCrash }), lost] {
        records.push(Record { at, event, ..before.clone() });
    }
    (before, records)
}

#[test]
fn the_working_time_of_a_killed_agent_is_unknown() {
    let (before, records) = killed();
    let report = told(&records, true);
    let span = report.spans.iter().find(|span| span.kind == SpanKind::Unknown).unwrap();
    assert_eq!((span.start, span.end), (before.at, before.at + Duration::from_hours(3)));
    assert!(!report.spans.iter().any(|span| span.kind == SpanKind::Away));
    let attempt = report.spans.iter().find(|span| span.kind == SpanKind::Attempt).unwrap();
    assert_eq!(attempt.end, before.at, "as far as anybody knows");
    assert_eq!(report.iterations[0].attempts[0].duration, None);
    let html = report.html();
    assert!(html.contains("<td class=\"n\">unknown</td>"), "{html}");
    assert!(html.contains("working for part of this time, then no process"), "{html}");
    assert!(html.contains("<i class=\"unknown\"></i>unknown"), "{html}");
}

#[test]
fn a_crash_between_iterations_is_time_without_a_process() {
    let mut records = sample(6).records();
    let end = records
        .iter()
        .position(|it| matches!(it.event, Event::Iteration(IterationEvent::Finished(_))));
    records.truncate(end.unwrap() + 1);
    let before = records.last().unwrap().clone();
    let at = before.at + Duration::from_hours(3);
    let event = Event::Run(RunEvent::Continued { why: Continuation::AfterCrash });
    records.push(Record { at, event, ..before.clone() });
    let report = told(&records, true);
    let away = report.spans.iter().find(|span| span.kind == SpanKind::Away).unwrap();
    assert_eq!((away.start, away.end), (before.at, at));
}

#[test]
fn active_time_extends_to_now_while_an_agent_works() {
    let records = sample(6).records();
    let last = &records[3];
    // These tests create the report one minute after the last event.
    let now = last.active + Duration::from_mins(1);
    assert_eq!(told(&records[..4], true).totals.duration, now);
    assert_eq!(told(&records[..4], false).totals.duration, last.active, "nobody works");
    let waits =
        records.iter().position(|it| matches!(it.event, Event::Wait(WaitEvent::Started { .. })));
    let waits = waits.unwrap();
    let waiting = told(&records[..=waits], true);
    assert_eq!(waiting.totals.duration, records[waits].active, "nobody works while it waits");
    // The time between attempts also counts against the limit.
    let mut retrying = records[..4].to_vec();
    let retry = Event::Wait(WaitEvent::RetryScheduled {
        at_time: last.at + Duration::from_mins(5),
        why: "the provider is overloaded".to_owned(),
    });
    retrying.push(Record { event: retry, ..last.clone() });
    assert_eq!(told(&retrying, true).totals.duration, now);
    assert_eq!(
        told(&records[..1], true).totals.duration,
        records[0].active + Duration::from_mins(1)
    );
}

#[test]
fn times_have_their_day_where_the_run_has_several() {
    // The run begins half an hour before midnight.
    let html = told(&sample(9).records(), false).html();
    assert!(html.contains(", ended 11-15 23:") && html.contains(", ended 11-16 0"), "{html}");
    let short = told(&sample(2).records(), false).html();
    assert!(short.contains(", ended 23:"), "{short}");
}
