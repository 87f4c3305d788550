//! Iterations, with their claims, processes and notes.

use std::time::Duration;

use super::{claims, clock, figures, lists};
use crate::display::one_line;
use crate::input::TaskProgress;
use crate::outcome::count;
use crate::phrases::{self, capitalized};
use crate::results::IterationStatus;
use crate::run_report::page::{OwnText, PageValue, fields};
use crate::run_report::{IterationReport, RunReport, chart, format};

/// Maximum length of a summary in one line, in characters.
const MAX_GIST_CHARS: usize = 400;

/// Returns the iterations at the beginning and at the end, and the number of omitted ones.
pub(super) fn of(report: &RunReport, (beginning, end): (usize, usize)) -> PageValue {
    let all = &report.iterations;
    let (first, rest) = all.split_at(all.len().min(beginning));
    let hidden = rest.len().saturating_sub(end);
    let list = |some: &[IterationReport]| -> Vec<PageValue> {
        some.iter().map(|one| iteration(report, one)).collect()
    };
    fields! { first: list(first), hidden: hidden, last: list(&rest[hidden..]) }
}

fn iteration(report: &RunReport, iteration: &IterationReport) -> PageValue {
    let IterationReport { number, status, claims, .. } = iteration;
    let gist = iteration.why.as_ref().unwrap_or(&iteration.summary);
    let claims: Vec<_> = claims.iter().map(|made| claims::claim(*number, made)).collect();
    fields! {
        number: *number,
        name: name(iteration),
        status: phrases::iteration_status(*status),
        class: chart::status_class(*status),
        figures: format::figures(iteration),
        gist: one_line(gist, MAX_GIST_CHARS),
        started: format::date(iteration.started_at),
        ended: iteration.ended_at.map(|at| clock(report, at)),
        progress: iteration.progress.map(progress),
        phase: &iteration.phase,
        tokens: figures::tokens(&iteration.tokens),
        why: &iteration.why,
        summary: &iteration.summary,
        claims: claims,
        blockers: lists::blockers(&iteration.blockers),
        processes: processes(iteration),
        notes: lists::notes(report, &iteration.notes),
        left_off: iteration.left_off,
    }
}

/// The name of an iteration: `Iteration 9, the wrap-up`.
fn name(iteration: &IterationReport) -> OwnText {
    OwnText(capitalized(&phrases::iteration_of_kind(iteration.number, iteration.kind)))
}

pub(super) fn progress(TaskProgress { completed, total }: TaskProgress) -> PageValue {
    fields! { completed: completed, total: total }
}

/// The attempts and calls of an iteration.
fn processes(iteration: &IterationReport) -> Vec<PageValue> {
    let attempts = iteration.attempts.iter().zip(1..).map(|(attempt, number)| {
        let failed = match attempt.tool_errors {
            0 => String::new(),
            errors => format!(", {errors} failed"),
        };
        let (turns, calls) = (count(attempt.turns, "turn"), count(attempt.tool_calls, "tool call"));
        fields! {
            name: OwnText(phrases::attempt(number)),
            outcome: outcome(iteration.status, &attempt.sentence),
            took: took(iteration.status, &attempt.sentence, attempt.duration),
            cost: format::charged(attempt.cost_usd, attempt.figure),
            activity: OwnText(format!("{turns}, {calls}{failed}")),
        }
    });
    let calls = iteration.calls.iter().map(|call| {
        fields! {
            name: call.purpose.name(),
            outcome: outcome(iteration.status, &call.sentence),
            took: took(iteration.status, &call.sentence, call.duration),
            cost: format::charged(call.cost_usd, call.figure),
            activity: None::<OwnText>,
        }
    });
    attempts.chain(calls).collect()
}

/// The outcome of a process, which may not be observed.
fn outcome(status: IterationStatus, sentence: &str) -> String {
    match sentence {
        "" if status == IterationStatus::Running => "running".to_owned(),
        "" => "interrupted".to_owned(),
        sentence => sentence.to_owned(),
    }
}

/// The duration of a process. If its end was not observed, the duration is unknown, not zero.
fn took(status: IterationStatus, sentence: &str, duration: Option<Duration>) -> PageValue {
    match duration {
        Some(duration) => duration.into(),
        None if status == IterationStatus::Running && sentence.is_empty() => format::NOTHING.into(),
        None => "unknown".into(),
    }
}
