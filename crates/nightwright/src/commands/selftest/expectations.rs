//! The expectations of each case. Each is a pure function of the observation, so that tests can
//! show it failing.

#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use nightwright_core::event::{
    AttemptEvent, Continuation, Event, FeedbackSource, GateEvent, GateResult, IterationEvent,
    IterationResult, NoteEvent, OperatorEvent, RunEvent, StopSource, WaitEvent, WaitKind,
};
use nightwright_core::outcome::{Outcome, Proof};
use nightwright_core::stream::news::AttemptReport;
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Deadline, ProcessExit};
use nightwright_core::units::Usd;

use super::cases::{CHECK_OUTPUT, FAMILY, LEADERS, SelftestCase};
use super::observation::CaseObservation;
use crate::process::Exit;

/// The number of lines in the garbage: 1,000,000 bytes in lines of 66, the last one incomplete. Then
/// follow three lines of text, one that is not text, and one that is too long.
const GARBAGE: u64 = 1_000_000 / 66 + 1 + 3 + 1 + 1;
/// Minimum wait for the usage limit after the start of the attempt that reaches it. The script sets
/// 7 s, and the agent reports the end in whole seconds.
const MIN_LIMIT_WAIT: SignedDuration = SignedDuration::from_secs(5);

/// Judges the observation of a case.
pub(super) type CaseCheck = fn(&CaseObservation) -> CaseOutcome;
/// The outcome of a case.
pub(super) type CaseOutcome = Result<(), Shortfall>;

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shortfall {
    /// An expectation was not met.
    Missed(Mismatch),
    /// Nothing failed, but the tested situation did not or cannot occur on this machine.
    NotTested(String),
}

impl Shortfall {
    pub(super) fn missed(expected: &str, seen: impl Into<String>) -> Self {
        let (expected, seen) = (expected.to_owned(), seen.into());
        Self::Missed(Mismatch { expected, seen, ended: String::new() })
    }
}

/// An expectation, and the actual observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) expected: String,
    pub(super) seen: String,
    /// The outcome of the run, which may explain the mismatch.
    pub(super) ended: String,
}

/// Judges a case: its own expectations, and those of all cases.
pub(super) fn evaluate(case: &SelftestCase, seen: &CaseObservation) -> CaseOutcome {
    no_survivors(seen).and_then(|()| whole(seen)).and_then(|()| (case.check)(seen)).map_err(
        |shortfall| match shortfall {
            Shortfall::Missed(miss) => Shortfall::Missed(Mismatch { ended: ended(seen), ..miss }),
            Shortfall::NotTested(why) => Shortfall::NotTested(why),
        },
    )
}

fn no_survivors(seen: &CaseObservation) -> CaseOutcome {
    expect(seen.survivors.is_empty(), "no process alive after the run", || {
        format!("still alive: {}", seen.survivors.join("; "))
    })
}

fn whole(seen: &CaseObservation) -> CaseOutcome {
    match &seen.damage {
        Some(damage) => miss("a journal with complete events only", || damage.clone()),
        None => Ok(()),
    }
}

pub(super) fn hang_at_start(seen: &CaseObservation) -> CaseOutcome {
    first_attempt(seen, &AttemptOutcome::TimedOut { which: Deadline::Start })?;
    retried(seen, 1)?;
    completed(seen)
}

pub(super) fn hang_after_result(seen: &CaseObservation) -> CaseOutcome {
    expect(
        events(seen).any(|event| {
            matches!(
                event,
                Event::Attempt(AttemptEvent::Cancelled { why: CancelReason::AfterResult, .. })
            )
        }),
        "the agent killed after its result",
        || "nightwright did not kill it".to_owned(),
    )?;
    first_attempt(seen, &AttemptOutcome::Finished)?;
    not_retried(seen)?;
    completed(seen)
}

pub(super) fn silence(seen: &CaseObservation) -> CaseOutcome {
    first_attempt(seen, &AttemptOutcome::TimedOut { which: Deadline::Idle })?;
    retried(seen, 1)?;
    completed(seen)
}

pub(super) fn usage_limit(seen: &CaseObservation) -> CaseOutcome {
    let mut starts = seen.records.iter().filter_map(|record| match &record.event {
        Event::Attempt(AttemptEvent::Started { .. }) => Some(record.at),
        _ => None,
    });
    let (first, next) = (starts.next(), starts.next());
    let until = reports(seen).find_map(|(report, _)| match report.outcome {
        AttemptOutcome::UsageLimited { until } => until,
        _ => None,
    });
    let (Some(first), Some(until)) = (first, until) else {
        return miss("an attempt that reached the usage limit, and its date", || outcomes(seen));
    };
    // Compares with the script, not with the run's interpretation of it.
    expect(
        until.duration_since(first) >= MIN_LIMIT_WAIT,
        &format!("a limit that resets {} s after {first} or later", MIN_LIMIT_WAIT.as_secs()),
        || format!("nightwright read {until}"),
    )?;
    let waits = |event: &Event| match event {
        Event::Wait(WaitEvent::Started { limit: WaitKind::Usage, until: wait, .. }) => {
            *wait == Some(until)
        }
        _ => false,
    };
    expect(events(seen).any(waits), &format!("a wait for the usage limit until {until}"), || {
        outcomes(seen)
    })?;
    expect(
        next.is_some_and(|next| next >= until),
        &format!("the next attempt after {until}"),
        || next.map_or_else(|| "none".to_owned(), |next| format!("it started at {next}")),
    )?;
    not_retried(seen)?;
    completed(seen)
}

pub(super) fn crash(seen: &CaseObservation) -> CaseOutcome {
    let crashed = |how| AttemptOutcome::Crashed { how };
    let wanted =
        [crashed(ProcessExit::Signal(9)), crashed(ProcessExit::Code(3)), AttemptOutcome::Finished];
    expect(
        reports(seen).map(|(report, _)| &report.outcome).eq(&wanted),
        "attempts that crash by a signal, crash with an exit code, and finish",
        || outcomes(seen),
    )?;
    retried(seen, 2)?;
    completed(seen)
}

pub(super) fn garbage(seen: &CaseObservation) -> CaseOutcome {
    first_attempt(seen, &AttemptOutcome::Finished)?;
    not_retried(seen)?;
    let Some((report, _)) = reports(seen).next() else {
        return miss("a report of the attempt", || outcomes(seen));
    };
    let facts = report.stream;
    expect(facts.bad_lines == GARBAGE, &format!("{GARBAGE} lines of garbage counted"), || {
        format!("{} lines counted", facts.bad_lines)
    })?;
    expect(facts.stdout_bytes > 27_000_000, "a line of 26 MB read to its end", || {
        format!("{} bytes read", facts.stdout_bytes)
    })?;
    completed(seen)
}

pub(super) fn false_claim(seen: &CaseObservation) -> CaseOutcome {
    let gates: Vec<_> = gates(seen).collect();
    expect(
        matches!(gates[..], [GateResult::Rejected { .. }, GateResult::Passed { .. }]),
        "the first claim rejected, the second accepted",
        || {
            let names: Vec<_> = gates.iter().map(|gate| words(gate)).collect();
            if names.is_empty() { "no claim".to_owned() } else { names.join(", then ") }
        },
    )?;
    let mentions_check = |event: &Event| match event {
        Event::Note(NoteEvent::FeedbackAdded { source: FeedbackSource::Checks, text }) => {
            text.contains(CHECK_OUTPUT)
        }
        _ => false,
    };
    expect(events(seen).any(mentions_check), "feedback with the output of the check", || {
        "no such feedback".to_owned()
    })?;
    expect(
        seen.prompts.get(1).is_some_and(|prompt| prompt.contains(CHECK_OUTPUT)),
        "the output of the check in the second prompt",
        || format!("{} prompts, and not in the second", seen.prompts.len()),
    )?;
    completed(seen)
}

pub(super) fn repeated_false_claims(seen: &CaseObservation) -> CaseOutcome {
    let rejected = gates(seen).filter(|gate| matches!(gate, GateResult::Rejected { .. })).count();
    let accepted = gates(seen).any(|gate| matches!(gate, GateResult::Passed { .. }));
    expect(rejected >= 2 && !accepted, "every claim rejected", || {
        format!("{rejected} rejected, {}", if accepted { "one accepted" } else { "none accepted" })
    })?;
    let orderly = matches!(
        outcome(seen),
        Some(
            Outcome::MaxIterations { .. }
                | Outcome::Unverified { .. }
                | Outcome::Stagnated { .. }
                | Outcome::NoChanges { .. }
        )
    );
    expect(
        orderly && !matches!(exit_code(seen), Some(0) | None),
        "an outcome other than `completed`, and its exit code",
        || ended(seen),
    )
}

pub(super) fn orphans(seen: &CaseObservation) -> CaseOutcome {
    family(seen)?;
    first_attempt(seen, &AttemptOutcome::Finished)?;
    no_orphans_seen(seen)?;
    completed(seen)?;
    sessions(seen)
}

pub(super) fn sigterm(seen: &CaseObservation) -> CaseOutcome {
    family(seen)?;
    let asked = |event: &Event| {
        matches!(
            event,
            Event::Operator(OperatorEvent::StopRequested { by: StopSource::Terminate, .. })
        )
    };
    expect(events(seen).any(asked), "the signal in the journal", || ended(seen))?;
    expect(
        outcome(seen) == Some(&Outcome::Interrupted) && exit_code(seen) == Some(130),
        "`interrupted`, and exit code 130",
        || ended(seen),
    )?;
    sessions(seen)
}

pub(super) fn sigkill(seen: &CaseObservation) -> CaseOutcome {
    family(seen)?;
    let taken_over = |event: &Event| {
        matches!(event, Event::Run(RunEvent::Continued { why: Continuation::AfterCrash }))
    };
    expect(events(seen).any(taken_over), "a run resumed after a crash", || ended(seen))?;
    first_attempt(seen, &AttemptOutcome::Lost)?;
    let charged = reports(seen).next().map(|(_, cost)| cost).unwrap_or_default();
    expect(charged > Usd::ZERO, "a cost for the lost attempt", || format!("a cost of {charged}"))?;
    no_orphans_seen(seen)?;
    completed(seen)?;
    sessions(seen)
}

pub(super) fn full_disk(seen: &CaseObservation) -> CaseOutcome {
    iteration_kept(seen)?;
    let last = outcome(seen);
    let said = matches!(last, Some(Outcome::DiskFull { .. } | Outcome::JournalFailed { .. }));
    expect(
        said && exit_code(seen) == Some(1),
        "`disk_full` or `journal_failed` as the last event, and exit code 1",
        || ended(seen),
    )
}

pub(super) fn full_journal(seen: &CaseObservation) -> CaseOutcome {
    iteration_kept(seen)?;
    let last = outcome(seen);
    if matches!(last, Some(Outcome::DiskFull { .. })) && exit_code(seen) == Some(1) {
        let why = "all events fit on the full disk, because its blocks are too large";
        return Err(Shortfall::NotTested(why.to_owned()));
    }
    expect(
        matches!(last, Some(Outcome::JournalFailed { .. })) && exit_code(seen) == Some(1),
        "`journal_failed` as the last event, and exit code 1",
        || ended(seen),
    )
}

/// Checks that events recorded before the disk was full are still there.
fn iteration_kept(seen: &CaseObservation) -> CaseOutcome {
    let whole = |event: &Event| match event {
        Event::Iteration(IterationEvent::Finished(finished)) => {
            finished.result == IterationResult::Done
        }
        _ => false,
    };
    expect(events(seen).any(whole), "the iteration from before the disk was full", || ended(seen))
}

fn events(seen: &CaseObservation) -> impl Iterator<Item = &Event> {
    seen.records.iter().map(|record| &record.event)
}

/// Returns the finished attempts, with the cost charged for each.
fn reports(seen: &CaseObservation) -> impl Iterator<Item = (&AttemptReport, Usd)> {
    events(seen).filter_map(|event| match event {
        Event::Attempt(AttemptEvent::Finished { report, cost, .. }) => {
            Some((report.as_ref(), *cost))
        }
        _ => None,
    })
}

fn gates(seen: &CaseObservation) -> impl Iterator<Item = &GateResult> {
    events(seen).filter_map(|event| match event {
        Event::Gate(GateEvent::Finished { result }) => Some(result),
        _ => None,
    })
}

fn words(gate: &GateResult) -> &'static str {
    match gate {
        GateResult::Passed { .. } => "accepted",
        GateResult::Rejected { .. } => "rejected",
        GateResult::Impossible { .. } => "impossible",
        GateResult::Inconclusive { .. } => "undecided",
        GateResult::Unaffordable { .. } => "no verdict: not enough budget left",
    }
}

/// Returns the outcome of the run, according to its last event.
fn outcome(seen: &CaseObservation) -> Option<&Outcome> {
    match &seen.records.last()?.event {
        Event::Run(RunEvent::Finished { outcome, .. }) => Some(outcome),
        _ => None,
    }
}

fn exit_code(seen: &CaseObservation) -> Option<i32> {
    seen.exit.and_then(Exit::code)
}

fn completed(seen: &CaseObservation) -> CaseOutcome {
    expect(
        outcome(seen) == Some(&Outcome::completed(Proof::Checks)) && exit_code(seen) == Some(0),
        "`completed`, verified, and exit code 0",
        || ended(seen),
    )
}

fn first_attempt(seen: &CaseObservation, wanted: &AttemptOutcome) -> CaseOutcome {
    let first = reports(seen).next().map(|(report, _)| &report.outcome);
    expect(first == Some(wanted), &format!("a first attempt that {}", past(wanted)), || {
        outcomes(seen)
    })
}

/// Describes an outcome in the past tense.
fn past(outcome: &AttemptOutcome) -> String {
    match outcome {
        AttemptOutcome::Lost => "ended when a signal killed nightwright".to_owned(),
        other => other.sentence(),
    }
}

fn retries(seen: &CaseObservation) -> usize {
    events(seen)
        .filter(|event| matches!(event, Event::Wait(WaitEvent::RetryScheduled { .. })))
        .count()
}

fn retried(seen: &CaseObservation, least: usize) -> CaseOutcome {
    expect(retries(seen) >= least, "another attempt after each failure", || {
        format!("{} retries", retries(seen))
    })
}

fn not_retried(seen: &CaseObservation) -> CaseOutcome {
    expect(retries(seen) == 0, "no retry used", || format!("{} retries", retries(seen)))
}

/// Checks that the agent left processes behind; without them, nothing is tested.
fn family(seen: &CaseObservation) -> CaseOutcome {
    expect(seen.noted == FAMILY, &format!("{FAMILY} processes left behind by the agent"), || {
        format!("{} were", seen.noted)
    })
}

/// Reports the case as not tested if no process led its own session. Called after all other
/// expectations.
fn sessions(seen: &CaseObservation) -> CaseOutcome {
    if seen.leaders >= LEADERS {
        return Ok(());
    }
    let why = "killed all, but none led its own session: `setsid` is not installed";
    Err(Shortfall::NotTested(why.to_owned()))
}

fn no_orphans_seen(seen: &CaseObservation) -> CaseOutcome {
    expect(
        seen.met.as_ref().is_some_and(Vec::is_empty),
        "no such process alive when the next attempt began",
        || match &seen.met {
            Some(met) => format!("still alive: {}", met.join("; ")),
            None => "no later attempt".to_owned(),
        },
    )
}

/// Lists the outcomes of all attempts.
fn outcomes(seen: &CaseObservation) -> String {
    let all: Vec<_> = reports(seen).map(|(report, _)| past(&report.outcome)).collect();
    if all.is_empty() { "no attempt that ended".to_owned() } else { all.join(", then ") }
}

/// Describes the outcome of the run.
pub(super) fn ended(seen: &CaseObservation) -> String {
    let exit = match seen.exit.map(|exit| (exit.code(), exit.signal())) {
        Some((Some(code), _)) => format!("exit code {code}"),
        Some((None, Some(signal))) => format!("killed by signal {signal}"),
        Some((None, None)) | None => "no exit".to_owned(),
    };
    let last = match (outcome(seen), seen.records.last()) {
        (Some(outcome), _) => format!("`{outcome}`"),
        (None, Some(record)) => format!("`{}` as the last event", record.event.name()),
        (None, None) => "no event".to_owned(),
    };
    let said = if seen.complaint.is_empty() { "" } else { ", and it printed: " };
    format!("{last}, {exit}{said}{}", seen.complaint)
}

fn expect(holds: bool, expected: &str, seen: impl FnOnce() -> String) -> CaseOutcome {
    if holds { Ok(()) } else { miss(expected, seen) }
}

fn miss(expected: &str, seen: impl FnOnce() -> String) -> CaseOutcome {
    Err(Shortfall::missed(expected, seen()))
}
