//! The text of events: one or two lines for each important event.

use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::baseline::{self, BaselineStatus, status};
use nightwright_core::display::display_safe;
use nightwright_core::event::{
    AttemptEvent, CallEvent, CallPurpose, Event, FeedbackSource, GateEvent, GateResult,
    IterationEvent, IterationFinished, IterationKind, IterationResult, NoteEvent, OperatorEvent,
    RunEvent, RunStarted, StatusText, VerdictKind, WaitEvent,
};
use nightwright_core::failing::Failing;
use nightwright_core::failure_excerpt;
use nightwright_core::input::{CheckPurpose, CheckResult};
use nightwright_core::journal::JournalLine;
use nightwright_core::outcome::{Proof, Tone, count};
use nightwright_core::permissions::denial;
use nightwright_core::phrases::{self, capitalized};
use nightwright_core::run_report::NoteKind;
use nightwright_core::run_view::{GateView, RunView};
use nightwright_core::settings::{EvidenceKind, Scope, Settings, VerdictMode};
use nightwright_core::stream::news::{Answer, AttemptReport};
use nightwright_core::units::{Iteration, RunId, human};

use super::page::Page;
use crate::paste::from_here;

/// The number of lines shown of a failed check's output.
const CHECK_LINES: usize = 10;
/// The maximum length of a quotation, in characters.
const MAX_QUOTE_CHARS: usize = 120;

/// The maximum length of a shown denied command, in characters.
pub(super) const DENIED_COMMAND: usize = 160;

/// Writes the lines of an event, if it has any. The view already includes the event.
pub(super) fn event(page: &mut Page<'_>, view: &RunView, line: &JournalLine) {
    let (event, now) = (&line.record.event, line.record.at);
    match event {
        Event::Run(RunEvent::Started(started)) => run_started(page, &line.run, started),
        Event::Run(RunEvent::Continued { .. }) => run_continued(page, view, line),
        // `nightwright verify` runs no iterations.
        Event::Iteration(IterationEvent::Started { .. } | IterationEvent::Finished(_))
            if view.is_only_the_gate() => {}
        Event::Iteration(IterationEvent::Started { iteration, kind, .. }) => {
            iteration_started(page, *iteration, *kind);
        }
        Event::Iteration(IterationEvent::Finished(finished)) => {
            iteration_finished(page, view, finished);
        }
        Event::Call(CallEvent::Started { purpose, .. }) => call_started(page, view, *purpose),
        Event::Call(CallEvent::Finished { purpose, report, .. }) => {
            call_finished(page, *purpose, report);
        }
        Event::Gate(event) => gate(page, view, event, now),
        Event::Operator(OperatorEvent::Paused) => {
            let run = &line.run;
            let text = format!("Paused. To continue, run `nightwright resume {run}`");
            page.line(&from_here(&text));
        }
        Event::Run(_)
        | Event::Iteration(_)
        | Event::Attempt(_)
        | Event::Call(_)
        | Event::Wait(_)
        | Event::Operator(_)
        | Event::Note(_) => line_of(page, view, event, now),
    }
}

/// Writes one line: for most events in the words that all outputs share, for the others with parts
/// that are cut to the width or depend on the time zone.
fn line_of(page: &mut Page<'_>, view: &RunView, event: &Event, now: Timestamp) {
    match event {
        Event::Attempt(AttemptEvent::WatchdogNoticed { finding, .. }) => {
            let what = phrases::watchdog_signal(finding.signal);
            page.detail(&with_quote(page, what, &finding.text));
        }
        Event::Attempt(AttemptEvent::MessageSent { answers, text, .. }) => {
            let what = if answers.is_some() { "answered" } else { "sent to the agent" };
            page.detail(&with_quote(page, what, text));
        }
        Event::Attempt(AttemptEvent::PermissionDenied { tool, command, rule, .. }) => {
            let what = page.style().one_line(&denial::what(tool, command), DENIED_COMMAND);
            let denied = phrases::denied_as(&what, rule.as_deref());
            page.sign(Tone::Mixed, &format!("denied: {denied}"));
        }
        Event::Wait(WaitEvent::RetryScheduled { at_time, why }) => {
            let delay = human(between(now, *at_time));
            page.detail(&format!("{why}: retrying in {delay}"));
        }
        Event::Wait(WaitEvent::Started { limit, retry_at, wait, .. }) => {
            let until = page.style().clock(*retry_at, now);
            page.sign(Tone::Mixed, &phrases::wait_started(*limit, &until, *wait));
        }
        Event::Note(NoteEvent::StatusChanged { .. }) => {
            let cut = |text: &str, most| page.style().one_line(text, most);
            let text = StatusText::of(event).map(|text| text.line_cut_by(cut));
            page.detail(&format!("status: {}", text.unwrap_or_default()));
        }
        Event::Note(NoteEvent::BlockerReported { blocker }) => {
            page.sign(Tone::Mixed, &format!("blocked: {}", blocker.sentence()));
        }
        Event::Note(NoteEvent::CouncilDecided { decision, .. }) => {
            page.detail(&with_quote(page, "decided", decision));
        }
        Event::Note(NoteEvent::FeedbackAdded { source, text }) => {
            feedback_added(page, *source, text);
        }
        Event::Run(_)
        | Event::Iteration(_)
        | Event::Attempt(_)
        | Event::Call(_)
        | Event::Wait(_)
        | Event::Gate(_)
        | Event::Operator(_)
        | Event::Note(_) => in_words(page, view, event),
    }
}

/// Writes the words that an event has in all outputs, if any.
fn in_words(page: &mut Page<'_>, view: &RunView, event: &Event) {
    let Some(phrase) = phrases::event(event, view.in_iteration().is_some()) else { return };
    match phrase.kind {
        NoteKind::Warning | NoteKind::Denied => page.sign(Tone::Mixed, &phrase.text),
        NoteKind::Control => page.line(&capitalized(&phrase.text)),
        NoteKind::Feedback
        | NoteKind::Watchdog
        | NoteKind::Council
        | NoteKind::Status
        | NoteKind::Baseline
        | NoteKind::Wait => page.detail(&phrase.text),
    }
}

fn gate(page: &mut Page<'_>, view: &RunView, event: &GateEvent, now: Timestamp) {
    match event {
        GateEvent::ChecksStarted { purpose: CheckPurpose::Baseline, commands } => {
            let commands = phrases::commands(commands);
            page.line(&format!("Running the checks before the first iteration ({commands})"));
        }
        GateEvent::ChecksFinished {
            purpose: CheckPurpose::Baseline,
            results,
            reused_from,
            outputs,
            ..
        } => {
            baseline_taken(page, results, *reused_from, now);
            if !outputs.is_empty() {
                page.detail(&phrases::checks_wrote(outputs));
            }
        }
        GateEvent::ChecksStarted { purpose: CheckPurpose::Progress, commands } => {
            page.detail(&phrases::running_checks(commands));
        }
        GateEvent::ChecksFinished { purpose: CheckPurpose::Progress, results, .. } => {
            progress_measured(page, results);
        }
        GateEvent::ChecksStarted { purpose: CheckPurpose::Gate, commands } => {
            checks_started(page, commands, view.is_only_the_gate());
        }
        // These results were shown when they were measured.
        GateEvent::ChecksFinished { purpose: CheckPurpose::Gate, reused_from: Some(_), .. } => {}
        GateEvent::ChecksFinished { purpose: CheckPurpose::Gate, results, .. } => {
            checks_finished(page, results);
        }
        GateEvent::VerdictGiven { verdict, reason, .. } => {
            verdict_given(page, view, *verdict, reason);
        }
        GateEvent::Finished { result } => gate_finished(page, view.gate.as_ref(), result),
        GateEvent::Started { .. } | GateEvent::ChangesInspected { .. } => {}
    }
}

fn run_started(page: &mut Page<'_>, run: &RunId, started: &RunStarted) {
    let settings = &started.settings;
    let what = settings.task.as_deref().or_else(|| settings.goal.trim().lines().next());
    let what = what.unwrap_or("no goal");
    if settings.scope == Scope::Gate {
        return page.line(&format!("Run {run}: verifying {what}"));
    }
    page.line(&format!("Run {run}: {what} ({})", settings.mode));
    page.aside(&phrases::limits(&settings.limits));
    if settings.limits.max_cost.is_none() {
        page.aside("no cost limit; set one with --max-cost USD");
    }
    if let Some(text) = without_checks(settings) {
        page.aside(&from_here(text));
    }
}

/// Shows which run continues, and with which limits.
fn run_continued(page: &mut Page<'_>, view: &RunView, line: &JournalLine) {
    if let Some(facts) = &view.facts {
        let what = facts.task.as_deref().unwrap_or(&facts.goal);
        page.line(&format!("Run {}: {what} ({})", line.run, facts.mode));
    }
    let totals = &view.totals;
    let (limits, iterations) =
        (phrases::limits(&view.limits), count(totals.iterations, "iteration"));
    let (cost, rehearsed) = (totals.cost, view.rehearsed());
    page.aside(&format!("{limits}; so far {iterations}, {cost}{rehearsed}"));
    in_words(page, view, &line.record.event);
}

/// Explains what judges the work of a run without checks.
fn without_checks(settings: &Settings) -> Option<&'static str> {
    let claims = !settings.completion.evidence.is_empty() && !settings.is_about_a_plan();
    if !claims || !settings.verify.commands.is_empty() {
        return None;
    }
    Some(match settings.verify.model {
        VerdictMode::Auto | VerdictMode::Always => {
            "no checks: only a model judges the work. To add a check, run `nightwright init` \
             or pass --verify CMD"
        }
        VerdictMode::Off => {
            "no checks and no model: nightwright verifies nothing. To add a check, run \
             `nightwright init` or pass --verify CMD"
        }
    })
}

fn iteration_started(page: &mut Page<'_>, iteration: Iteration, kind: IterationKind) {
    page.line(&match kind {
        IterationKind::Work => format!("Running iteration {iteration}..."),
        IterationKind::WrapUp => format!("Running iteration {iteration}, the wrap-up..."),
        IterationKind::VerifyOnly => "No open items: only the verification remains.".to_owned(),
    });
}

fn iteration_finished(page: &mut Page<'_>, view: &RunView, finished: &IterationFinished) {
    let number = finished.iteration;
    match &finished.result {
        IterationResult::Failed { why, .. } => {
            page.sign(Tone::Bad, &format!("Iteration {number} failed: {why}"));
        }
        IterationResult::Interrupted => {
            page.line(&format!(
                "iteration {number}: interrupted, {}",
                figures(page, view, finished)
            ));
        }
        IterationResult::Done => {
            page.line(&format!("iteration {number}: {}", figures(page, view, finished)));
        }
    }
}

/// The figures of an iteration: `4 files, 2 commits, $0.42, 6m 12s · 35/60 (25 items remaining)`.
fn figures(page: &Page<'_>, view: &RunView, finished: &IterationFinished) -> String {
    let figures = phrases::figures(finished, view.rehearsed());
    let dot = page.style().spell(" · ");
    let items = finished.items().map(|items| format!("{dot}{}", phrases::remaining(items)));
    let curve = finished.checks.map(|_| phrases::failing_curve(&view.failing));
    let curve = curve.filter(|curve| !curve.is_empty());
    let curve = curve.map(|curve| format!("{dot}{}", page.style().spelled(&curve)));
    format!("{figures}{}{}", items.unwrap_or_default(), curve.unwrap_or_default())
}

/// Shows the baseline of the checks. Checks without a result have a separate warning.
fn baseline_taken(
    page: &mut Page<'_>,
    results: &[CheckResult],
    reused_from: Option<Timestamp>,
    now: Timestamp,
) {
    for result in results.iter().filter(|result| status(result) != BaselineStatus::Unknown) {
        let when = match reused_from {
            Some(at) => format!("cached {} ago, project unchanged", human(between(at, now))),
            None => human(result.duration),
        };
        page.detail(&format!("{} ({when})", baseline::sentence(result)));
    }
}

fn checks_started(page: &mut Page<'_>, commands: &[String], only_gate: bool) {
    let claimed = if only_gate { "" } else { "claimed complete: " };
    page.detail(&format!("{claimed}{}", phrases::running_checks(commands)));
}

fn checks_finished(page: &mut Page<'_>, results: &[CheckResult]) {
    // Failures are shown with the result of the gate.
    if results.iter().all(|result| result.verdict.is_pass()) {
        let took: Duration = results.iter().map(|result| result.duration).sum();
        page.detail(&format!("{} ({})", phrases::CHECKS_PASSED, human(took)));
    }
}

/// Shows how much fails after an iteration.
fn progress_measured(page: &mut Page<'_>, results: &[CheckResult]) {
    let took: Duration = results.iter().map(|result| result.duration).sum();
    if let Some(failing) = Failing::of(results) {
        page.detail(&format!("{} ({})", phrases::failing(failing), human(took)));
    }
}

fn call_started(page: &mut Page<'_>, view: &RunView, purpose: CallPurpose) {
    let checked = view.gate.as_ref().is_some_and(|gate| !gate.checks.is_empty());
    let is_known = purpose != CallPurpose::Verify || checked || view.is_only_the_gate();
    if purpose == CallPurpose::Verify && claim(view) == [EvidenceKind::Impossible] {
        return page.detail("reported as impossible: asking a model whether it is");
    }
    let claimed = if is_known { "" } else { "claimed complete: " };
    page.detail(&format!("{claimed}{}", phrases::call(purpose, view.second_opinion())));
}

/// Shows the answer of a review or an advisor. Verdicts and decisions have their own events, and
/// failures have warnings.
fn call_finished(page: &mut Page<'_>, purpose: CallPurpose, report: &AttemptReport) {
    let text = match &report.answer {
        Some(Answer::Text { text }) => text.as_str(),
        Some(Answer::Verdict(_)) | None => return,
    };
    match purpose {
        CallPurpose::Review => page.detail(&with_quote(page, "the review says", text)),
        CallPurpose::Advise => page.detail(&with_quote(page, "advice", text)),
        CallPurpose::Verify | CallPurpose::Council => {}
    }
}

/// Combines a label with the beginning of a quotation.
fn with_quote(page: &Page<'_>, what: &str, words: &str) -> String {
    match page.style().one_line(words, MAX_QUOTE_CHARS).as_str() {
        "" => what.to_owned(),
        words => format!("{what}: {words}"),
    }
}

/// Returns the evidence of the claim that the gate decides on.
fn claim(view: &RunView) -> &[EvidenceKind] {
    view.gate.as_ref().map_or(&[], |gate| &gate.claim)
}

fn verdict_given(page: &mut Page<'_>, view: &RunView, verdict: VerdictKind, reason: &str) {
    match verdict {
        VerdictKind::Yes => {
            let verdict = phrases::verdict(verdict, claim(view), view.second_opinion());
            page.detail(&format!("{verdict} ({reason})"));
        }
        // Shown with the result of the gate.
        VerdictKind::No | VerdictKind::Inconclusive => {}
    }
}

fn gate_finished(page: &mut Page<'_>, gate: Option<&GateView>, result: &GateResult) {
    let tone = match result {
        GateResult::Passed { proof: Proof::Checks | Proof::Model } => Tone::Good,
        GateResult::Passed { proof: Proof::None }
        | GateResult::Impossible { .. }
        | GateResult::Rejected { .. }
        | GateResult::Inconclusive { .. }
        | GateResult::Unaffordable { .. } => Tone::Mixed,
    };
    page.sign(tone, &phrases::gate_result(result));
    let (GateResult::Rejected { .. }, Some(gate)) = (result, gate) else { return };
    if let Some(failed) = gate.failed_check() {
        let output = display_safe(&failed.output);
        page.faint(&failure_excerpt::excerpt(&output, CHECK_LINES));
    }
    for missing in &gate.missing {
        page.detail(&format!("missing: {missing}"));
    }
}

fn feedback_added(page: &mut Page<'_>, source: FeedbackSource, text: &str) {
    match source {
        FeedbackSource::Human => page.detail(&format!("for the next iteration: {text}")),
        // Generated by nightwright, and shown with its cause.
        FeedbackSource::Checks
        | FeedbackSource::Verifier
        | FeedbackSource::Watchdog
        | FeedbackSource::Council
        | FeedbackSource::Idle => {}
        FeedbackSource::Marker => {
            let first = text.lines().next().unwrap_or_default();
            page.detail(&format!("sent to the agent: {first}"));
        }
    }
}

fn between(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
}
