//! Tests of every judgement with synthetic observations: a good one passes, and each missing part
//! fails.

use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::{
    AttemptEvent, CostSource, GateEvent, IterationEvent, IterationFinished, NoteEvent,
    OperatorEvent, Progress, Record, RunEvent, StopWhen, Totals, WaitEvent,
};
use nightwright_core::units::{AttemptId, Iteration};

use super::*;
use crate::commands::selftest::cases::{CASES, SelftestCase};

/// Returns the time of the record with this index, in seconds after the epoch.
fn at(second: usize) -> Timestamp {
    Timestamp::from_second(i64::try_from(second).unwrap()).unwrap()
}

fn seen(code: i32, events: Vec<Event>) -> CaseObservation {
    let record = |(second, event)| Record { at: at(second), active: Duration::ZERO, event };
    CaseObservation {
        records: events.into_iter().enumerate().map(record).collect(),
        exit: Some(Exit(ProcessExit::Code(code))),
        ..CaseObservation::default()
    }
}

fn attempt(outcome: AttemptOutcome) -> Event {
    Event::Attempt(AttemptEvent::Finished {
        attempt: AttemptId(1),
        cost: Usd::from_cents(1),
        figure: CostSource::Estimated,
        duration: Duration::ZERO,
        report: Box::new(AttemptReport::bare(outcome)),
    })
}

fn begins() -> Event {
    let attempt = AttemptId(1);
    Event::Attempt(AttemptEvent::Started {
        attempt,
        iteration: Iteration(1),
        cap: None,
        model: None,
    })
}

fn retry() -> Event {
    Event::Wait(WaitEvent::RetryScheduled { at_time: at(0), why: String::new() })
}

fn cut() -> Event {
    Event::Attempt(AttemptEvent::Cancelled {
        attempt: AttemptId(1),
        why: CancelReason::AfterResult,
    })
}

fn wait(until: usize) -> Event {
    Event::Wait(WaitEvent::Started {
        limit: WaitKind::Usage,
        until: Some(at(until)),
        retry_at: at(until),
        wait: Duration::ZERO,
    })
}

fn rejected() -> Event {
    let result = GateResult::Rejected { why: String::new() };
    Event::Gate(GateEvent::Finished { result })
}

fn passed() -> Event {
    Event::Gate(GateEvent::Finished { result: GateResult::Passed { proof: Proof::Checks } })
}

fn feedback() -> Event {
    Event::Note(NoteEvent::FeedbackAdded {
        source: FeedbackSource::Checks,
        text: format!("no: {CHECK_OUTPUT}"),
    })
}

fn iteration() -> Event {
    Event::Iteration(IterationEvent::Finished(Box::new(IterationFinished {
        checks: None,
        idle: 0,
        without_gain: 0,
        iteration: Iteration(1),
        result: IterationResult::Done,
        ends: None,
        progress: Progress::Work,
        claim: Vec::new(),
        blockers: Vec::new(),
        signal: false,
        end: None,
        files_changed: 1,
        files_changed_outside_plan: None,
        commits: 0,
        changes: None,
        task: None,
        phase: None,
        checklist: None,
        cost: Usd::ZERO,
        duration: Duration::ZERO,
        summary: String::new(),
    })))
}

fn over(outcome: Outcome) -> Event {
    Event::Run(RunEvent::Finished { outcome, note: None, totals: Totals::default() })
}

fn done() -> Event {
    over(Outcome::completed(Proof::Checks))
}

fn row(name: &str) -> &'static SelftestCase {
    CASES.iter().find(|row| row.name == name).expect("a row of this name")
}

/// Returns the mismatch. Panics if there is none.
#[track_caller]
fn missed(row: &SelftestCase, seen: &CaseObservation) -> Mismatch {
    match evaluate(row, seen) {
        Err(Shortfall::Missed(miss)) => miss,
        other => panic!("{}: {other:?} by {seen:?}", row.name),
    }
}

/// Returns why the case was not tested.
#[track_caller]
fn not_tested(row: &SelftestCase, seen: &CaseObservation) -> String {
    match evaluate(row, seen) {
        Err(Shortfall::NotTested(why)) => why,
        other => panic!("{}: {other:?} by {seen:?}", row.name),
    }
}

/// Returns an observation that passes the case.
fn good(name: &str) -> CaseObservation {
    use AttemptOutcome::{Crashed, Finished, Lost, TimedOut, UsageLimited};
    let finished = || attempt(Finished);
    let left =
        |seen| CaseObservation { noted: FAMILY, leaders: LEADERS, met: Some(Vec::new()), ..seen };
    let timed_out = |which| attempt(TimedOut { which });
    match name {
        "hang-at-start" => seen(0, vec![timed_out(Deadline::Start), retry(), finished(), done()]),
        "hang-after-result" => seen(0, vec![cut(), finished(), done()]),
        "silence" => seen(0, vec![timed_out(Deadline::Idle), retry(), finished(), done()]),
        "usage-limit" => {
            let limited = attempt(UsageLimited { until: Some(at(7)) });
            let events = vec![begins(), limited, wait(7), begins(), finished(), done()];
            let mut seen = seen(0, events);
            for (record, second) in seen.records.iter_mut().zip([0, 1, 1, 7, 8, 9]) {
                record.at = at(second);
            }
            seen
        }
        "crash" => {
            let killed = attempt(Crashed { how: ProcessExit::Signal(9) });
            let exited = attempt(Crashed { how: ProcessExit::Code(3) });
            seen(0, vec![killed, retry(), exited, retry(), finished(), done()])
        }
        "garbage" => {
            let mut report = AttemptReport::bare(Finished);
            (report.stream.bad_lines, report.stream.stdout_bytes) = (15_157, 27_100_000);
            let mut event = finished();
            if let Event::Attempt(AttemptEvent::Finished { report: there, .. }) = &mut event {
                **there = report;
            }
            seen(0, vec![event, done()])
        }
        "false-claim" => {
            let seen =
                seen(0, vec![finished(), feedback(), rejected(), finished(), passed(), done()]);
            CaseObservation {
                prompts: vec!["go".to_owned(), format!("go: {CHECK_OUTPUT}")],
                ..seen
            }
        }
        "repeated-false-claims" => {
            let end = over(Outcome::Unverified { why: String::new() });
            seen(6, vec![rejected(), rejected(), rejected(), end])
        }
        "orphans" => left(seen(0, vec![finished(), finished(), done()])),
        "sigterm" => {
            let stop = Event::Operator(OperatorEvent::StopRequested {
                when: StopWhen::Now,
                by: StopSource::Terminate,
            });
            left(seen(130, vec![stop, over(Outcome::Interrupted)]))
        }
        "sigkill" => {
            let taken_over = Event::Run(RunEvent::Continued { why: Continuation::AfterCrash });
            left(seen(0, vec![taken_over, attempt(Lost), retry(), finished(), done()]))
        }
        "full-disk" => seen(1, vec![iteration(), over(Outcome::DiskFull { free: 0, floor: 1 })]),
        "full-journal" => {
            let end = over(Outcome::JournalFailed { why: String::new() });
            seen(1, vec![iteration(), end])
        }
        other => panic!("nothing is made up for `{other}`"),
    }
}

#[test]
fn every_row_holds_when_all_is_well() {
    for row in &CASES {
        assert_eq!(evaluate(row, &good(row.name)), Ok(()), "{}", row.name);
    }
}

#[test]
fn no_row_holds_with_survivors_or_a_damaged_or_empty_journal() {
    for row in &CASES {
        let good = good(row.name);
        let left = CaseObservation { survivors: vec!["17 sleep 300".to_owned()], ..good.clone() };
        let miss = missed(row, &left);
        assert!(miss.seen.contains("17 sleep 300"), "{}: {miss:?}", row.name);
        let damaged = CaseObservation { damage: Some("line 3".to_owned()), ..good.clone() };
        assert!(missed(row, &damaged).seen.contains("line 3"), "{}", row.name);
        let empty = CaseObservation { records: Vec::new(), ..good };
        missed(row, &empty);
    }
}

#[test]
fn no_row_holds_with_another_outcome_or_exit() {
    for row in &CASES {
        let mut failed = good(row.name);
        failed.records.pop();
        missed(row, &failed);
        let why = || String::new();
        for outcome in [Outcome::Failed { why: why() }, Outcome::Auth { why: why() }] {
            let mut other = good(row.name);
            other.records.last_mut().unwrap().event = over(outcome);
            missed(row, &other);
        }
        let code = good(row.name).exit.and_then(Exit::code);
        let code = i32::from(code == Some(0));
        for exit in [None, Some(Exit(ProcessExit::Code(code))), Some(Exit(ProcessExit::Signal(9)))]
        {
            let other = CaseObservation { exit, ..good(row.name) };
            missed(row, &other);
        }
    }
}

/// Removes the first event of a kind.
fn without(name: &str, mut seen: CaseObservation) -> CaseObservation {
    let place = seen.records.iter().position(|record| record.event.name() == name);
    seen.records.remove(place.expect("an event of this name"));
    seen
}

#[test]
fn each_thing_that_a_row_is_played_for_is_missed_when_it_did_not_happen() {
    for (name, event) in [
        ("hang-at-start", "attempt_finished"),
        ("hang-at-start", "retry_scheduled"),
        ("hang-after-result", "attempt_cancelled"),
        ("silence", "attempt_finished"),
        ("silence", "retry_scheduled"),
        ("usage-limit", "limit_wait_started"),
        ("crash", "attempt_finished"),
        ("crash", "retry_scheduled"),
        ("garbage", "attempt_finished"),
        ("false-claim", "gate_finished"),
        ("false-claim", "feedback_added"),
        ("sigterm", "stop_requested"),
        ("sigkill", "run_continued"),
        ("sigkill", "attempt_finished"),
        ("full-disk", "iteration_finished"),
        ("full-journal", "iteration_finished"),
    ] {
        let spoiled = without(event, good(name));
        missed(row(name), &spoiled);
    }
}

#[test]
fn a_retry_where_none_is_needed_is_missed() {
    for name in ["hang-after-result", "usage-limit", "garbage"] {
        let mut spoiled = good(name);
        let again = Record { event: retry(), ..spoiled.records[0].clone() };
        spoiled.records.insert(0, again);
        missed(row(name), &spoiled);
    }
}

#[test]
fn another_deadline_than_the_one_that_is_tried_does_not_count() {
    for (name, which) in [("hang-at-start", Deadline::Idle), ("silence", Deadline::Attempt)] {
        let mut spoiled = good(name);
        spoiled.records[0].event = attempt(AttemptOutcome::TimedOut { which });
        missed(row(name), &spoiled);
    }
}

#[test]
fn an_attempt_before_the_limit_has_ended_is_missed() {
    let mut spoiled = good("usage-limit");
    spoiled.records[3].at = at(6);
    let miss = missed(row("usage-limit"), &spoiled);
    assert!(miss.expected.contains("after 1970-01-01T00:00:07Z"), "{miss:?}");
}

#[test]
fn a_limit_that_was_taken_to_end_early_is_missed_even_if_that_was_waited_for() {
    let mut spoiled = good("usage-limit");
    let until = Some(at(1));
    spoiled.records[1].event = attempt(AttemptOutcome::UsageLimited { until });
    spoiled.records[2].event = wait(1);
    let miss = missed(row("usage-limit"), &spoiled);
    assert_eq!(miss.seen, "nightwright read 1970-01-01T00:00:01Z");
    let mut another = good("usage-limit");
    another.records[2].event = wait(1);
    missed(row("usage-limit"), &another);
}

#[test]
fn an_accepted_false_claim_is_missed() {
    let mut spoiled = good("repeated-false-claims");
    spoiled.records[1].event = passed();
    missed(row("repeated-false-claims"), &spoiled);
    let mut spoiled = good("repeated-false-claims");
    spoiled.records[3].event = done();
    missed(row("repeated-false-claims"), &spoiled);
    let mut unproved = good("false-claim");
    unproved.records[5].event = over(Outcome::completed(Proof::None));
    missed(row("false-claim"), &unproved);
}

#[test]
fn a_prompt_that_does_not_say_what_failed_is_missed() {
    let mut spoiled = good("false-claim");
    spoiled.prompts.swap(0, 1);
    missed(row("false-claim"), &spoiled);
}

#[test]
fn a_single_line_of_garbage_that_was_not_counted_is_missed() {
    // Without the line that is not text or the overlong one, and with one good line too many.
    for (lines, bytes) in [(15_156, 27_100_000), (15_158, 27_100_000), (15_157, 1_100_000)] {
        let mut spoiled = good("garbage");
        if let Event::Attempt(AttemptEvent::Finished { report, .. }) = &mut spoiled.records[0].event
        {
            (report.stream.bad_lines, report.stream.stdout_bytes) = (lines, bytes);
        }
        missed(row("garbage"), &spoiled);
    }
}

#[test]
fn a_full_disk_on_which_everything_could_be_recorded_is_no_journal_without_room() {
    let mut roomy = good("full-journal");
    let full = over(Outcome::DiskFull { free: 0, floor: 1 });
    roomy.records.last_mut().unwrap().event = full;
    assert!(not_tested(row("full-journal"), &roomy).contains("fit on"));
    // Any other mismatch still counts.
    missed(
        row("full-journal"),
        &CaseObservation { exit: Some(Exit(ProcessExit::Code(0))), ..roomy.clone() },
    );
    missed(row("full-journal"), &without("iteration_finished", roomy));
}

#[test]
fn orphans_without_a_separate_session_count_as_not_tested() {
    for name in ["orphans", "sigterm", "sigkill"] {
        let plain = CaseObservation { leaders: LEADERS - 1, ..good(name) };
        assert!(not_tested(row(name), &plain).contains("setsid"), "{name}");
        missed(row(name), &CaseObservation { exit: None, ..plain });
    }
}

#[test]
fn every_miss_says_how_the_run_ended() {
    for row in &CASES {
        let complaint = "error: no space left".to_owned();
        let exit = Some(Exit(ProcessExit::Code(77)));
        let failed = CaseObservation { complaint, exit, records: Vec::new(), ..good(row.name) };
        let ended = missed(row, &failed).ended;
        assert_eq!(ended, "no event, exit code 77, and it printed: error: no space left");
    }
}

#[test]
fn orphans_who_were_never_there_or_were_met_later_prove_nothing() {
    for name in ["orphans", "sigkill"] {
        let fewer = CaseObservation { noted: FAMILY - 1, ..good(name) };
        missed(row(name), &fewer);
        for met in [None, Some(vec!["17 (sleep) S 1".to_owned()])] {
            missed(row(name), &CaseObservation { met, ..good(name) });
        }
    }
    missed(row("sigterm"), &CaseObservation { noted: 0, ..good("sigterm") });
}

#[test]
fn a_lost_attempt_that_costs_nothing_is_missed() {
    let mut spoiled = good("sigkill");
    if let Event::Attempt(AttemptEvent::Finished { cost, .. }) = &mut spoiled.records[1].event {
        *cost = Usd::ZERO;
    }
    missed(row("sigkill"), &spoiled);
}

#[test]
fn what_was_missed_is_said_in_words() {
    let mut spoiled = good("silence");
    spoiled.records[0].event = attempt(AttemptOutcome::Finished);
    let miss = missed(row("silence"), &spoiled);
    assert_eq!(miss.expected, "a first attempt that timed out without output");
    assert_eq!(miss.seen, "finished, then finished");
    let late = CaseObservation { complaint: "error: no room".to_owned(), ..seen(1, Vec::new()) };
    let miss = missed(row("sigterm"), &CaseObservation { noted: FAMILY, ..late });
    assert_eq!(miss.seen, "no event, exit code 1, and it printed: error: no room");
}
