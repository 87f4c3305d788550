//! An event in a line or two, for people.

use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::baseline::{self, BaselineStatus, status};
use nightwright_core::event::{
    AttemptEvent, CallEvent, CallPurpose, Continuation, Event, FeedbackSource, GateEvent,
    GateResult, IterationEvent, IterationFinished, IterationKind, IterationResult, NoteEvent,
    OperatorEvent, Progress, RunEvent, RunStarted, StatusText, StopSource, StopWhen, VerdictKind,
    WaitEnd, WaitEvent, WaitKind,
};
use nightwright_core::input::{CheckPurpose, CheckResult, TaskProgress};
use nightwright_core::journal::JournalLine;
use nightwright_core::outcome::{Proof, Tone, count};
use nightwright_core::permissions::denial;
use nightwright_core::run_view::{GateView, RunView};
use nightwright_core::settings::{Limits, Scope, Settings, VerdictMode};
use nightwright_core::stream::report::{Answer, AttemptReport, WatchdogSignal};
use nightwright_core::units::{Iteration, RunId, Usd, human};

use super::page::Page;
use super::summary::thousands;
use crate::paste::from_here;

/// How many of the last lines of a failed check are shown.
const CHECK_LINES: usize = 10;
/// More of what somebody said than this is not shown, in characters.
const MAX_QUOTE_CHARS: usize = 120;

/// More of a refused command than this is not shown, in characters.
pub(super) const DENIED_COMMAND: usize = 160;

/// Puts an event on the page, if people want to know of it. The view has it already.
pub(super) fn event(page: &mut Page<'_>, view: &RunView, line: &JournalLine) {
    let only_gate = view.is_only_the_gate();
    match &line.record.event {
        Event::Run(RunEvent::Started(started)) => run_started(page, &line.run, started),
        Event::Run(RunEvent::Continued { why }) => page.line(continuation(*why)),
        // Who only judges knows that nothing is worked on.
        Event::Iteration(IterationEvent::Started { .. })
        | Event::Iteration(IterationEvent::Finished(_))
            if only_gate => {}
        Event::Iteration(IterationEvent::Started { iteration, kind, .. }) => {
            iteration_started(page, *iteration, *kind);
        }
        Event::Iteration(IterationEvent::Skipped { iteration }) => {
            page.line(&format!("iteration {iteration}: skipped by a hook"));
        }
        Event::Iteration(IterationEvent::Finished(finished)) => {
            iteration_finished(page, view, finished)
        }
        Event::Wait(WaitEvent::RetryScheduled { .. })
        | Event::Wait(WaitEvent::Started { .. })
        | Event::Wait(WaitEvent::Ended { .. }) => waiting(page, line),
        Event::Note(NoteEvent::StatusChanged { .. })
        | Event::Note(NoteEvent::BlockerReported { .. })
        | Event::Attempt(AttemptEvent::WatchdogNoticed { .. })
        | Event::Attempt(AttemptEvent::NudgeSent { .. })
        | Event::Attempt(AttemptEvent::PermissionDenied { .. }) => {
            at_work(page, &line.record.event)
        }
        Event::Gate(GateEvent::ChecksStarted { purpose: CheckPurpose::Baseline, commands }) => {
            page.line(&format!(
                "Running the checks before the first iteration ({})",
                list(commands)
            ));
        }
        Event::Gate(GateEvent::ChecksFinished {
            purpose: CheckPurpose::Baseline,
            results,
            reused_from,
            ..
        }) => {
            baseline_taken(page, results, *reused_from, line.record.at);
        }
        Event::Gate(GateEvent::ChecksStarted { purpose: CheckPurpose::Gate, commands }) => {
            checks_started(page, commands, only_gate);
        }
        Event::Gate(GateEvent::ChecksFinished { purpose: CheckPurpose::Gate, results, .. }) => {
            checks_finished(page, results);
        }
        Event::Call(CallEvent::Started { purpose, .. }) => call_started(page, view, *purpose),
        Event::Gate(GateEvent::VerdictGiven { verdict, reason, .. }) => {
            verdict_given(page, *verdict, reason)
        }
        Event::Gate(GateEvent::Finished { result }) => {
            gate_finished(page, view.gate.as_ref(), result)
        }
        Event::Call(CallEvent::Finished { purpose, report, .. }) => {
            call_finished(page, *purpose, report)
        }
        Event::Note(NoteEvent::CouncilDecided { decision, .. }) => {
            page.detail(&with_quote(page, "decided", decision));
        }
        Event::Note(NoteEvent::PrinciplesAdopted { .. }) => {
            page.detail("the agent wrote down principles; they hold from here on");
        }
        Event::Note(NoteEvent::FeedbackAdded { source, text }) => {
            feedback_added(page, *source, text)
        }
        Event::Operator(OperatorEvent::SettingsChanged { .. })
        | Event::Operator(OperatorEvent::StopRequested { .. })
        | Event::Operator(OperatorEvent::StopCancelled)
        | Event::Operator(OperatorEvent::Paused)
        | Event::Operator(OperatorEvent::Resumed) => steered(page, view, line),
        Event::Note(NoteEvent::HookFailed { hook, why }) => {
            page.sign(Tone::Mixed, &format!("the hook `{hook}` failed: {why}"));
        }
        Event::Note(NoteEvent::Warning { text }) => page.sign(Tone::Mixed, text),
        // Told by what follows from them, or by the summary.
        Event::Attempt(AttemptEvent::Started { .. })
        | Event::Attempt(AttemptEvent::AgentReady { .. })
        | Event::Attempt(AttemptEvent::Cancelled { .. })
        | Event::Call(CallEvent::Cancelled { .. })
        | Event::Attempt(AttemptEvent::Finished { .. })
        | Event::Wait(WaitEvent::QuotaReported { .. })
        | Event::Gate(GateEvent::Started { .. })
        | Event::Gate(GateEvent::ChangesInspected { .. })
        | Event::Run(RunEvent::Finished { .. }) => {}
    }
}

/// Nothing can be done for a while.
fn waiting(page: &mut Page<'_>, line: &JournalLine) {
    let now = line.record.at;
    if let Event::Wait(WaitEvent::RetryScheduled { at_time, why }) = &line.record.event {
        let delay = human(between(now, *at_time));
        page.detail(&format!("{why}: trying again in {delay}"));
    }
    if let Event::Wait(WaitEvent::Started { limit, retry_at, wait, .. }) = &line.record.event {
        let until = page.style().clock(*retry_at, now);
        wait_started(page, *limit, &until, *wait);
    }
    if let Event::Wait(WaitEvent::Ended { why, waited }) = &line.record.event {
        wait_ended(page, *why, *waited);
    }
}

/// Something about the agent that is at work.
fn at_work(page: &mut Page<'_>, event: &Event) {
    if let Event::Note(NoteEvent::StatusChanged { .. }) = event {
        let cut = |text: &str, most| page.style().one_line(text, most);
        let text = StatusText::of(event).map(|text| text.line_cut_by(cut));
        page.detail(&format!("status: {}", text.unwrap_or_default()));
    }
    if let Event::Note(NoteEvent::BlockerReported { blocker }) = event {
        page.sign(Tone::Mixed, &format!("blocked: {}", blocker.text));
    }
    if let Event::Attempt(AttemptEvent::WatchdogNoticed { notice, .. }) = event {
        page.detail(&with_quote(page, noticed(notice.signal), &notice.text));
    }
    if let Event::Attempt(AttemptEvent::NudgeSent { answers, text, .. }) = event {
        let what = if answers.is_some() { "answered" } else { "told the agent" };
        page.detail(&with_quote(page, what, text));
    }
    if let Event::Attempt(AttemptEvent::PermissionDenied { tool, command, rule, .. }) = event {
        let what = page.style().one_line(&denial::what(tool, command), DENIED_COMMAND);
        page.sign(Tone::Mixed, &format!("denied: {what} ({})", denial::advice(rule.as_deref())));
    }
}

/// Somebody wants something else of the run.
fn steered(page: &mut Page<'_>, view: &RunView, line: &JournalLine) {
    if let Event::Operator(OperatorEvent::SettingsChanged { change, .. }) = &line.record.event {
        page.line(&format!("Changed {}", change.sentence()));
    }
    if let Event::Operator(OperatorEvent::StopRequested { when, by }) = &line.record.event {
        stop_requested(page, view, *when, *by);
    }
    if let Event::Operator(OperatorEvent::StopCancelled) = &line.record.event {
        page.line("Not stopping: the request was taken back");
    }
    if let Event::Operator(OperatorEvent::Paused) = &line.record.event {
        let run = &line.run;
        let text = format!("Paused: nothing new starts until `nightwright resume {run}`");
        page.line(&from_here(&text));
    }
    if let Event::Operator(OperatorEvent::Resumed) = &line.record.event {
        page.line("Continuing");
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
    page.aside(&limits(&settings.limits));
    if settings.limits.max_cost.is_none() {
        page.aside("no cost limit; set one with --max-cost USD");
    }
    if let Some(text) = without_checks(settings) {
        page.aside(&from_here(text));
    }
}

/// What judges the work of a run that has no checks.
fn without_checks(settings: &Settings) -> Option<&'static str> {
    let claims = !settings.completion.evidence.is_empty() && !settings.is_about_a_plan();
    if !claims || !settings.verify.commands.is_empty() {
        return None;
    }
    Some(match settings.verify.model {
        VerdictMode::Auto | VerdictMode::Always => {
            "no checks: only a model will judge the work; `nightwright init` finds a test command, \
             --verify CMD sets one"
        }
        VerdictMode::Off => {
            "no checks and no model: nothing will be verified; `nightwright init` finds a test \
             command, --verify CMD sets one"
        }
    })
}

pub(super) fn limits(limits: &Limits) -> String {
    let parts: Vec<_> = [
        limits.max_iterations.map(|most| count(most, "iteration")),
        limits.max_cost.map(Usd::exact),
        limits.max_duration.map(|most| format!("{} of work", human(most))),
        limits.max_tokens.map(|most| format!("{} tokens", thousands(most))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return "no limits".to_owned();
    }
    format!("at most {}", parts.join(", "))
}

fn continuation(why: Continuation) -> &'static str {
    match why {
        Continuation::AfterCrash => "Continuing where an earlier process left off",
        Continuation::AfterEnd => "Continuing a run that had ended",
    }
}

fn iteration_started(page: &mut Page<'_>, iteration: Iteration, kind: IterationKind) {
    page.line(&match kind {
        IterationKind::Work => format!("Running iteration {iteration}..."),
        IterationKind::WrapUp => format!("Running iteration {iteration}, the wrap-up..."),
        IterationKind::VerifyOnly => "Nothing is open any more: only the proof is left.".to_owned(),
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

/// `4 files, 2 commits, $0.42, 6m 12s · 35/60 (25 items remaining)`, without what is nought.
fn figures(page: &Page<'_>, view: &RunView, finished: &IterationFinished) -> String {
    let IterationFinished { files_changed, commits, cost, duration, .. } = finished;
    let mut parts = Vec::new();
    if *files_changed == 0 && *commits == 0 {
        match finished.progress {
            Progress::Excused => parts.push("no changes, but worked, it says".to_owned()),
            // Work that is neither in files nor in commits: boxes ticked.
            Progress::Work => {}
            Progress::Idle | Progress::Uncounted => parts.push("no changes".to_owned()),
        }
    }
    if *files_changed > 0 {
        parts.push(count(*files_changed, "file"));
    }
    if *commits > 0 {
        parts.push(count(*commits, "commit"));
    }
    if *cost > Usd::ZERO {
        parts.push(format!("{cost}{}", view.rehearsed()));
    }
    parts.push(human(*duration));
    let dot = page.style().spell(" · ");
    let items = items(finished).map(|items| format!("{dot}{}", remaining(items)));
    format!("{}{}", parts.join(", "), items.unwrap_or_default())
}

/// How far the task is: by its own account, else by its list.
pub(super) fn items(finished: &IterationFinished) -> Option<TaskProgress> {
    let boxes = finished.checklist.map(|boxes| TaskProgress {
        completed: boxes.done,
        total: boxes.done.saturating_add(boxes.open),
    });
    finished.task.or(boxes).filter(|items| items.total > 0)
}

fn remaining(items: TaskProgress) -> String {
    let TaskProgress { completed, total } = items;
    match total.saturating_sub(completed) {
        0 => format!("{completed}/{total}"),
        left => format!("{completed}/{total} ({} remaining)", count(left, "item")),
    }
}

fn wait_started(page: &mut Page<'_>, limit: WaitKind, until: &str, wait: Duration) {
    let limit = match limit {
        WaitKind::Usage => "usage limit",
        WaitKind::Rate => "rate limit",
        WaitKind::Quota => "your share of the quota is used up",
    };
    let wait = human(wait);
    page.sign(Tone::Mixed, &format!("{limit}: waiting until {until} ({wait})"));
}

fn wait_ended(page: &mut Page<'_>, why: WaitEnd, waited: Duration) {
    let waited = human(waited);
    page.detail(&match why {
        WaitEnd::Elapsed => format!("going on after a wait of {waited}"),
        WaitEnd::RetryNow => format!("trying now, after {waited}, as asked"),
        WaitEnd::Stopped => format!("no longer waiting, after {waited}"),
    });
}

/// How the checks stood before the first iteration; those without a result have a warning.
fn baseline_taken(
    page: &mut Page<'_>,
    results: &[CheckResult],
    reused_from: Option<Timestamp>,
    now: Timestamp,
) {
    for result in results.iter().filter(|result| status(result) != BaselineStatus::Unknown) {
        let when = match reused_from {
            Some(at) => format!("same tree, {} ago", human(between(at, now))),
            None => human(result.duration),
        };
        page.detail(&format!("{} ({when})", baseline::sentence(result)));
    }
}

fn list(commands: &[String]) -> String {
    let commands: Vec<_> = commands.iter().map(|command| format!("`{command}`")).collect();
    commands.join(", ")
}

fn checks_started(page: &mut Page<'_>, commands: &[String], only_gate: bool) {
    let commands = list(commands);
    let claimed = if only_gate { "" } else { "claimed complete: " };
    page.detail(&format!("{claimed}running the checks ({commands})"));
}

fn checks_finished(page: &mut Page<'_>, results: &[CheckResult]) {
    // A failure is told when the gate comes to its result.
    if results.iter().all(|result| result.verdict.is_pass()) {
        let took: Duration = results.iter().map(|result| result.duration).sum();
        page.detail(&format!("the checks passed ({})", human(took)));
    }
}

fn call_started(page: &mut Page<'_>, view: &RunView, purpose: CallPurpose) {
    let checked = view.gate.as_ref().is_some_and(|gate| !gate.checks.is_empty());
    page.detail(match purpose {
        CallPurpose::Verify if checked || view.is_only_the_gate() => {
            "asking a model whether it is complete"
        }
        CallPurpose::Verify => "claimed complete: asking a model",
        CallPurpose::Review => "reviewing the work",
        CallPurpose::Advise => "asking for advice",
        CallPurpose::Council => "asking for a decision between principles",
    });
}

/// What a reviewer or an advisor said. Verdicts and decisions are events of their own, and what
/// went wrong is a warning.
fn call_finished(page: &mut Page<'_>, purpose: CallPurpose, report: &AttemptReport) {
    let said = match &report.answer {
        Some(Answer::Text { text }) => text.as_str(),
        Some(Answer::Verdict(_)) | None => return,
    };
    match purpose {
        CallPurpose::Review => page.detail(&with_quote(page, "the review says", said)),
        CallPurpose::Advise => page.detail(&with_quote(page, "advice", said)),
        CallPurpose::Verify | CallPurpose::Council => {}
    }
}

/// A word of ours and the words of somebody else, the first of them.
fn with_quote(page: &Page<'_>, what: &str, words: &str) -> String {
    match page.style().one_line(words, MAX_QUOTE_CHARS).as_str() {
        "" => what.to_owned(),
        words => format!("{what}: {words}"),
    }
}

fn verdict_given(page: &mut Page<'_>, verdict: VerdictKind, reason: &str) {
    match verdict {
        VerdictKind::Yes => page.detail(&format!("a model's verdict: complete ({reason})")),
        // Told when the gate comes to its result.
        VerdictKind::No | VerdictKind::Inconclusive => {}
    }
}

fn gate_finished(page: &mut Page<'_>, gate: Option<&GateView>, result: &GateResult) {
    match result {
        GateResult::Passed { proof: Proof::Checks } => page.sign(Tone::Good, "verified"),
        GateResult::Passed { proof: Proof::Model } => {
            page.sign(Tone::Good, "judged complete by a model");
        }
        GateResult::Passed { proof: Proof::None } => {
            page.sign(Tone::Mixed, "claimed complete, not verified");
        }
        GateResult::Rejected { why, .. } => {
            page.sign(Tone::Mixed, &format!("rejected: {}", why.trim_end_matches('.')));
            let Some(gate) = gate else { return };
            if let Some(failed) = gate.failed_check() {
                page.tail(&failed.output, CHECK_LINES);
            }
            for missing in &gate.missing {
                page.detail(&format!("missing: {missing}"));
            }
        }
        GateResult::Inconclusive { why } => {
            page.sign(Tone::Mixed, &format!("not verified: {why}"));
        }
        GateResult::Unaffordable { .. } => {
            page.sign(Tone::Mixed, "not verified: there is no money left to ask a model");
        }
    }
}

fn feedback_added(page: &mut Page<'_>, source: FeedbackSource, text: &str) {
    match source {
        FeedbackSource::Human => page.detail(&format!("for the next iteration: {text}")),
        // From ourselves, and told where it comes from.
        FeedbackSource::Checks
        | FeedbackSource::Verifier
        | FeedbackSource::Watchdog
        | FeedbackSource::Council
        | FeedbackSource::Idle => {}
        FeedbackSource::Marker => {
            let first = text.lines().next().unwrap_or_default();
            page.detail(&format!("told the agent: {first}"));
        }
    }
}

fn noticed(signal: WatchdogSignal) -> &'static str {
    match signal {
        WatchdogSignal::GivingUp => "the agent gives up",
        WatchdogSignal::Asking => "the agent asks",
        WatchdogSignal::Repetition => "the agent repeats itself",
        WatchdogSignal::ToolErrors => "tool errors in a row",
        WatchdogSignal::Compaction => "the context runs full again and again",
    }
}

fn stop_requested(page: &mut Page<'_>, view: &RunView, when: StopWhen, by: StopSource) {
    let by = match by {
        StopSource::Signal => "asked by a signal",
        StopSource::TerminalClosed => "because the terminal was closed",
        StopSource::Terminate => "asked by SIGTERM",
        StopSource::Operator => "asked by `nightwright stop`",
        StopSource::StopFile => "asked by the stop file",
        StopSource::Key => "asked by the key s",
    };
    page.line(&match when {
        StopWhen::AfterIteration if view.in_iteration().is_some() => {
            format!("Stopping after this iteration, {by}")
        }
        StopWhen::AfterIteration => format!("Stopping before the next iteration, {by}"),
        StopWhen::Now => format!("Stopping now, {by}"),
    });
}

fn between(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
}
