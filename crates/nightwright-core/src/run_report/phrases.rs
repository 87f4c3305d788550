//! Wording that all report pages share. The phrases need no escaping, except for the external text
//! inserted into them.

use jiff::Timestamp;

use super::{
    AcceptedUnit, CheckSummary, ClaimOutcome, IterationReport, IterationStatus, NoteKind,
    ReportStatus, RunReport, State,
};
use crate::event::{CostSource, IterationKind, VerdictKind};
use crate::input::{ChangedFile, CheckVerdict};
use crate::outcome::count;
use crate::permissions::denial::DeniedCommand;
use crate::phrases;
use crate::settings::EvidenceKind;
use crate::stream::outcome::ProcessExit;
use crate::test_counts::TestCounts;
use crate::units::{Usd, human};

/// The placeholder for an unknown value.
pub(super) const NOTHING: &str = "—";

/// Explains the cost per accepted change.
pub(super) const ACCEPTED: &str = "Cost per accepted change is the cost of the whole run, judges \
    included, divided by its commits; in a run without commits, by the iterations that moved the \
    project forward or whose claim of completion was believed.";

/// The text that replaces a cost in a rehearsal.
const REHEARSED: &str = "rehearsed, nothing was spent";

/// The overall result as a headline.
pub(super) fn headline(report: &RunReport) -> &'static str {
    match (report.verdict, report.is_only_judgement()) {
        (ReportStatus::Verified, false) => "Done and verified",
        (ReportStatus::Verified, true) => "Verified",
        (ReportStatus::Judged, _) => "Judged complete by a model",
        (ReportStatus::NotVerified, _) => "Completed, not verified",
        (ReportStatus::NotDone, false) => "Not done",
        (ReportStatus::NotDone, true) => "Not verified",
        (ReportStatus::Running, _) => "Still running",
        (ReportStatus::Crashed, _) => "Broken off",
        (ReportStatus::Rehearsed, _) => "Only a rehearsal",
        (ReportStatus::Unknown, _) => "Not known",
    }
}

/// Prominent notices that the run is a rehearsal or that the report is incomplete.
pub(super) fn banners(report: &RunReport) -> Vec<&'static str> {
    let rehearsal = "This is a rehearsal: the agent is a script, and nothing is spent. It says \
                     nothing about the work.";
    let preliminary = match report.state {
        State::Running => Some("The run is still in progress."),
        State::Crashed => Some("The process of the run is gone, and it has not ended."),
        State::Ended | State::Unknown => None,
    };
    report.is_rehearsal.then_some(rehearsal).into_iter().chain(preliminary).collect()
}

pub(super) fn iteration_status(fate: IterationStatus) -> &'static str {
    match fate {
        IterationStatus::Accepted => "claim believed",
        IterationStatus::Rejected => "claim rejected",
        IterationStatus::Work => "work",
        IterationStatus::Excused => "no change, excused",
        IterationStatus::Idle => "no change",
        IterationStatus::Failed => "failed",
        IterationStatus::Interrupted => "broken off",
        IterationStatus::Running => "in progress",
    }
}

pub(super) fn judgement(judgement: ClaimOutcome) -> &'static str {
    match judgement {
        ClaimOutcome::Open => "not decided",
        ClaimOutcome::Verified => "verified",
        ClaimOutcome::Judged => "accepted by a model",
        ClaimOutcome::NotVerified => "accepted, not verified",
        ClaimOutcome::Rejected => "rejected",
        ClaimOutcome::Inconclusive => "undecided: no verdict",
        ClaimOutcome::Unaffordable => "undecided: too little was left to ask a model",
    }
}

pub(super) fn verdict(verdict: VerdictKind) -> &'static str {
    match verdict {
        VerdictKind::Yes => "a model says yes",
        VerdictKind::No => "a model says no",
        VerdictKind::Inconclusive => "a model gave no verdict that could be read",
    }
}

/// The result of a check, with its number of tests.
pub(super) fn check(check: &CheckSummary) -> String {
    let tests = match check.tests {
        None => String::new(),
        Some(TestCounts { failed: 0, total }) => format!(", {}", count(total, "test")),
        Some(TestCounts { failed, total }) => {
            format!(", {failed} of {} failed", count(total, "test"))
        }
    };
    format!("{}{tests}", verdict_of_check(&check.verdict))
}

/// The result of a check before the first iteration, if it ran then.
pub(super) fn before(check: &CheckSummary) -> String {
    let before = check.before.as_ref();
    before.map(|before| format!("; before the first iteration: {before}")).unwrap_or_default()
}

fn verdict_of_check(verdict: &CheckVerdict) -> String {
    match verdict {
        CheckVerdict::Passed => "passed (exit 0)".to_owned(),
        CheckVerdict::Flaky => "passed the second time (exit 0)".to_owned(),
        CheckVerdict::Failed { how: ProcessExit::Code(code) } => format!("failed (exit {code})"),
        CheckVerdict::Failed { how: ProcessExit::Signal(signal) } => {
            format!("failed (killed by signal {signal})")
        }
        CheckVerdict::TimedOut => "took too long".to_owned(),
        CheckVerdict::NotStarted { why } => format!("could not be started: {why}"),
        CheckVerdict::Interrupted => "broken off".to_owned(),
    }
}

pub(super) fn evidence(kinds: &[EvidenceKind]) -> String {
    kinds.iter().map(|kind| phrases::evidence(*kind)).collect::<Vec<_>>().join(", ")
}

pub(super) fn note(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Warning => "warning",
        NoteKind::Feedback => "told",
        NoteKind::Watchdog => "watchdog",
        NoteKind::Denied => "denied",
        NoteKind::Council => "council",
        NoteKind::Status => "status",
        NoteKind::Steering => "steered",
        NoteKind::Wait => "waited",
        NoteKind::Baseline => "baseline",
    }
}

/// The commands and tools that the agent was denied, each with advice on how to allow it.
pub(super) fn denied(report: &RunReport) -> Vec<String> {
    let line = |refused: &DeniedCommand| format!("{} ({})", refused.what(), refused.advice());
    report.denied.iter().map(line).collect()
}

/// A heading for an iteration's number: `Iteration 3`. The number 0 is the verification.
pub(super) fn place(number: u32) -> String {
    match number {
        0 => "The proof".to_owned(),
        number => format!("Iteration {number}"),
    }
}

/// A suffix that names the iteration: `, iteration 3`.
pub(super) fn behind(number: Option<u32>) -> String {
    number.map(|number| format!(", {}", place(number).to_lowercase())).unwrap_or_default()
}

/// The name of an iteration: `Iteration 3`, `Iteration 9, the wrap-up`, `The proof`.
pub(super) fn name(iteration: &IterationReport) -> String {
    match iteration.kind {
        IterationKind::Work => place(iteration.number),
        IterationKind::WrapUp => format!("Iteration {}, the wrap-up", iteration.number),
        IterationKind::VerifyOnly => "The proof".to_owned(),
    }
}

/// Line counts of a file: `: +12 -3`. Empty if its lines cannot be counted.
pub(super) fn lines(file: &ChangedFile) -> String {
    match (file.added, file.removed) {
        (0, 0) => String::new(),
        (added, removed) => format!(": +{added} -{removed}"),
    }
}

/// Number of files that are not listed.
pub(super) fn unlisted(files: u32, listed: usize) -> u32 {
    files.saturating_sub(u32::try_from(listed).unwrap_or(u32::MAX))
}

/// The figures of an iteration: `4 files, 2 commits, $0.42, 6m 12s`. Zero values are omitted.
pub(super) fn figures(iteration: &IterationReport) -> String {
    let mut parts = Vec::new();
    if iteration.files_changed > 0 {
        parts.push(count(iteration.files_changed, "file"));
    }
    if iteration.commits > 0 {
        parts.push(count(iteration.commits, "commit"));
    }
    match iteration.retries() {
        0 => {}
        1 => parts.push("1 retry".to_owned()),
        retries => parts.push(format!("{retries} retries")),
    }
    parts.push(cost(iteration.cost_usd, iteration.estimated_usd));
    parts.extend(iteration.duration.map(human));
    parts.join(", ")
}

/// The suffix of a truncated list: `, and 3 more`.
pub(super) fn and_more(number: u32) -> String {
    if number > 0 { format!(", and {number} more") } else { String::new() }
}

/// An amount, marked as approximate if any part of it is an estimate.
pub(super) fn cost(cost: Usd, estimated: Usd) -> String {
    if estimated > Usd::ZERO { format!("about {cost}") } else { cost.to_string() }
}

pub(super) fn charged(cost: Usd, figure: Option<CostSource>) -> String {
    match figure {
        Some(CostSource::Estimated) => format!("about {cost}"),
        Some(CostSource::Reported) => cost.to_string(),
        None => NOTHING.to_owned(),
    }
}

/// The cost of the run and its limit; for a rehearsal, a note and the amount in the script.
pub(super) fn total(report: &RunReport) -> (String, String) {
    let (totals, most) = (&report.totals, report.limits.max_cost);
    let spent = cost(totals.cost, totals.estimated);
    if report.is_rehearsal {
        return (REHEARSED.to_owned(), format!("{spent} by its script"));
    }
    (spent, most.map(|most| format!("of {}", most.exact())).unwrap_or_default())
}

/// The cost per accepted change.
pub(super) fn accepted(report: &RunReport) -> String {
    let known = report.accepted.cost_usd.filter(|_| !report.is_rehearsal);
    known.map_or_else(|| NOTHING.to_owned(), |each| cost(each, report.totals.estimated))
}

/// The number of commits or iterations by which the cost was divided.
pub(super) fn accepted_by(report: &RunReport) -> String {
    if report.is_rehearsal {
        return REHEARSED.to_owned();
    }
    match (report.accepted.unit, report.accepted.count) {
        (_, 0) => "nothing was accepted".to_owned(),
        (AcceptedUnit::Commits, number) => count(number, "commit"),
        (AcceptedUnit::Iterations, number) => {
            format!("{} that counted", count(number, "iteration"))
        }
    }
}

/// Date and time: `2026-11-16 15:50:33 UTC`.
pub(super) fn date(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Time of day: `15:50:33`.
pub(super) fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

/// Day and time, without the year: `11-16 15:50:33`.
pub(super) fn day_and_clock(at: Timestamp) -> String {
    at.strftime("%m-%d %H:%M:%S").to_string()
}

/// An amount on an axis, with as many decimals as the axis steps need.
pub(super) fn amount(micros: u64, step: u64) -> String {
    let (mut decimals, mut unit) = (6, 1);
    while decimals > 2 && step.is_multiple_of(unit * 10) {
        decimals -= 1;
        unit *= 10;
    }
    format!("${:.decimals$}", Usd::from_micros(micros).dollars())
}

/// A number in short form: `850`, `12.3k`, `4.5M`.
pub(super) fn compact(number: u64) -> String {
    let (unit, name) = match number {
        0..1_000 => return number.to_string(),
        1_000..1_000_000 => (1_000, "k"),
        1_000_000..1_000_000_000 => (1_000_000, "M"),
        1_000_000_000.. => (1_000_000_000, "G"),
    };
    let (whole, tenth) = (number / unit, number % unit / (unit / 10));
    if whole >= 100 || tenth == 0 {
        format!("{whole}{name}")
    } else {
        format!("{whole}.{tenth}{name}")
    }
}

/// The first characters of a commit's hash.
pub(super) fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_never_says_the_same_twice() {
        let labels = |step: u64| [0, 1, 2, 3].map(|count| amount(count * step, step));
        assert_eq!(labels(5_000), ["$0.000", "$0.005", "$0.010", "$0.015"]);
        assert_eq!(labels(200), ["$0.0000", "$0.0002", "$0.0004", "$0.0006"]);
        assert_eq!(labels(1), ["$0.000000", "$0.000001", "$0.000002", "$0.000003"]);
        assert_eq!(labels(2_000_000), ["$0.00", "$2.00", "$4.00", "$6.00"]);
    }

    #[test]
    fn large_numbers_are_short() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1k"), (12_345, "12.3k"), (123_456, "123k")];
        for (number, text) in cases.into_iter().chain([(4_567_000, "4.5M"), (2 << 30, "2.1G")]) {
            assert_eq!(compact(number), text);
        }
    }
}
