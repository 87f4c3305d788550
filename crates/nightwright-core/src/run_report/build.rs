//! Builds a report from the view of a run. External text is made safe to show and truncated here.

use jiff::Timestamp;

use super::text::{cut, tail};
use super::{
    AcceptedUnit, AcceptedWork, CheckSummary, ClaimSummary, CommitList, HostSummary,
    IterationReport, RunParameters, RunReport, TimelineSpan,
};
use crate::event::{GateResult, IterationFinished, IterationResult, RunStarted, Totals};
use crate::input::{ChangedFile, Changes, CheckResult, CheckVerdict, TamperFinding};
use crate::outcome::{Outcome, Proof};
use crate::permissions::denial::DeniedCommand;
use crate::phrases;
use crate::results::{ClaimOutcome, IterationStatus, ReportStatus};
use crate::run_view::history::{Bounded, History, IterationHistory, MAX_PER_ITERATION, Note};
use crate::run_view::{GateView, JournalBreak, Liveness, RunView};
use crate::settings::Scope;
use crate::stream::news::Blocker;
use crate::units::RunId;

/// Maximum length of the goal, in characters.
const MAX_GOAL_CHARS: usize = 4000;
/// Maximum length of an iteration's summary or of a reason, in characters.
const MAX_TEXT_CHARS: usize = 1500;
/// Maximum length of a single-line text, in characters.
const MAX_LINE_CHARS: usize = 400;

/// Facts for a report that the journal does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportContext {
    /// Whether a process controls the run.
    pub is_live: bool,
    /// The current time, for a run that has not ended.
    pub now: Timestamp,
}

/// The parts of a journal that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadableJournal {
    /// Descriptions of the missing parts, one sentence each.
    pub missing: Vec<String>,
    /// The point where the journal becomes unreadable. An incomplete last line does not count.
    pub from: Option<JournalBreak>,
}

impl RunReport {
    /// Builds the report of a run from its view, which has a history, and from the list of
    /// unreadable parts.
    pub fn of(
        run: RunId,
        mut view: RunView,
        context: ReportContext,
        unread: UnreadableJournal,
    ) -> Self {
        let UnreadableJournal { missing, from } = unread;
        let state = Liveness::of(&view, context.is_live, from);
        let history = view.history.take().map(|history| *history).unwrap_or_default();
        let History { started, models, before, baseline, iterations, warnings, hosts, timeline } =
            history;
        let report = |iteration| IterationReport::of(iteration, state, &baseline);
        let iterations: Vec<_> = iterations.into_iter().map(report).collect();
        if state == Liveness::Running {
            view.totals.duration = view.at_work(context.now);
        }
        let last_at = if state == Liveness::Running { Some(context.now) } else { view.at };
        let (spans, more_spans) = timeline.finish(last_at);
        let shown = |span: TimelineSpan| TimelineSpan { text: line(&span.text), ..span };
        let summary = view.summary(&run);
        let outcome = summary.outcome.as_ref().filter(|_| state == Liveness::Ended);
        let curve = phrases::failing_curve(&view.failing);
        // The result is not final if the end of the journal is unreadable.
        let verification = summary.verified().filter(|_| state != Liveness::Unknown);
        Self {
            is_rehearsal: view.is_rehearsal(),
            status: report_status(state, outcome, view.is_rehearsal()),
            outcome: outcome.map(Outcome::name),
            proof: outcome.and_then(Outcome::proof),
            sentence: sentence(from.filter(|_| state == Liveness::Unknown), &summary.reason),
            note: summary.note.as_deref().filter(|_| outcome.is_some()).map(text),
            verification: verification.as_deref().map(text),
            parameters: started.map(|started| parameters(&started, &models)),
            limits: view.limits.clone(),
            started_at: view.started_at,
            last_at: view.at,
            failing_curve: (!curve.is_empty()).then_some(curve),
            flaky: view.flaky.iter().map(|command| line(command)).collect(),
            accepted: accepted(&view.totals, &iterations),
            files_changed: view.files_changed,
            changes: view.changes.as_ref().map(changes).unwrap_or_default(),
            progress: view.progress,
            more_before: before.more,
            before: notes(before),
            iterations,
            spans: spans.into_iter().map(shown).collect(),
            more_spans,
            denied: view.denied.iter().map(denied).collect(),
            more_hosts: hosts.more,
            hosts: hosts.listed.iter().map(host).collect(),
            blockers: blockers(&view).map(|blocker| blocker.map(text)).collect(),
            more_blockers: view.more_blockers,
            more_warnings: warnings.more,
            warnings: notes(warnings),
            commits: commits(&view),
            next: next_steps(&view, &run, state, from),
            missing,
            places: None,
            totals: view.totals,
            run,
            state,
        }
    }
}

/// The overall result, unless the journal is unreadable from some point on.
fn sentence(from: Option<JournalBreak>, reason: &str) -> String {
    from.map_or_else(|| text(reason), JournalBreak::sentence)
}

/// The range of the run's commits, which are not listed yet.
fn commits(view: &RunView) -> CommitList {
    let from = view.facts.as_ref().and_then(|facts| facts.git_head.clone());
    CommitList { from, to: view.head.clone(), ..CommitList::default() }
}

/// The blockers that still matter. A completed run did without the denied commands.
fn blockers(view: &RunView) -> impl Iterator<Item = &Blocker> {
    let outcome = view.finished.as_ref().map(|finished| &finished.outcome);
    let completed = matches!(outcome, Some(Outcome::Completed { .. }));
    view.blockers.iter().filter(move |blocker| !completed || blocker.key != Blocker::PERMISSIONS)
}

/// The next steps, never truncated: part of a command line cannot be pasted.
fn next_steps(
    view: &RunView,
    run: &RunId,
    state: Liveness,
    unread: Option<JournalBreak>,
) -> Vec<String> {
    let start = view.facts.as_ref().and_then(|facts| facts.git_head.as_deref());
    let steps = view.steps(run, state, unread).into_iter();
    steps.map(|step| step.within_report(start).markdown()).collect()
}

impl IterationReport {
    fn of(iteration: IterationHistory, state: Liveness, baseline: &[CheckResult]) -> Self {
        let (status, left_off) = (status(&iteration, state), iteration.left_off());
        let attempt_count = iteration.attempts.total();
        let mut attempts = iteration.attempts.listed;
        for attempt in &mut attempts {
            attempt.sentence = line(&attempt.sentence);
        }
        let mut calls = iteration.calls.listed;
        for call in &mut calls {
            call.sentence = line(&call.sentence);
        }
        let claims = iteration.claims.listed.iter().map(|gate| ClaimSummary::of(gate, baseline));
        let (ended_at, finished) = iteration.finished.unzip();
        let finished = finished.as_ref();
        Self {
            number: iteration.number.0,
            kind: iteration.kind,
            status,
            why: finished.and_then(|finished| match &finished.result {
                IterationResult::Failed { why, .. } => Some(text(why)),
                IterationResult::Done | IterationResult::Interrupted => None,
            }),
            started_at: iteration.started_at,
            ended_at,
            duration: finished.map(|finished| finished.duration),
            cost_usd: iteration.cost,
            estimated_usd: iteration.estimated,
            tokens: iteration.tokens,
            files_changed: finished.map_or(0, |finished| finished.files_changed),
            commits: finished.map_or(0, |finished| finished.commits),
            work_progress: finished.map(|finished| finished.progress),
            progress: finished.and_then(IterationFinished::items),
            phase: finished.and_then(|finished| finished.phase.as_deref()).map(line),
            checks: finished.and_then(|finished| finished.checks),
            claim: finished.map(|finished| finished.claim.clone()).unwrap_or_default(),
            attempts,
            attempt_count,
            calls,
            claims: claims.collect(),
            blockers: iteration.blockers.listed.iter().map(|blocker| blocker.map(text)).collect(),
            notes: notes(iteration.notes),
            left_off,
            summary: finished.map(|finished| text(&finished.summary)).unwrap_or_default(),
        }
    }
}

impl ClaimSummary {
    fn of(gate: &GateView, baseline: &[CheckResult]) -> Self {
        let (outcome, why) = claim_outcome(gate.result.as_ref());
        Self {
            at: gate.at,
            by: gate.claim.clone(),
            checks: first(&gate.checks, |result| CheckSummary::of(result, baseline)),
            more_checks: beyond(&gate.checks),
            findings: first(&gate.findings, finding),
            more_findings: beyond(&gate.findings),
            changes: Changes {
                files: gate.changes.files,
                listed: first(&gate.changes.listed, changed),
            },
            verdict: gate.verdict,
            second_opinion: gate.second_opinion,
            reason: text(&gate.reason),
            missing: first(&gate.missing, |missing| line(missing)),
            more_missing: beyond(&gate.missing),
            outcome,
            why: why.map(text).unwrap_or_default(),
        }
    }
}

impl CheckSummary {
    /// Summarizes a check result. The output is kept only if the check did not pass.
    fn of(result: &CheckResult, baseline: &[CheckResult]) -> Self {
        let CheckResult { command, verdict, output, tests, duration, outside, log: _ } = result;
        let before = baseline.iter().find(|before| before.command == *command);
        let mut verdict = verdict.clone();
        if let CheckVerdict::NotStarted { why } = &mut verdict {
            *why = line(why);
        }
        Self {
            command: line(command),
            output: if verdict.is_pass() { String::new() } else { tail(output, MAX_TEXT_CHARS) },
            verdict,
            tests: *tests,
            before: before.map(phrases::check_before),
            outside: *outside,
            duration: *duration,
        }
    }
}

fn parameters(started: &RunStarted, models: &Bounded<String>) -> RunParameters {
    let RunStarted { settings, agent, project, git_head, containment, sandbox, .. } = started;
    RunParameters {
        task: settings.task.as_deref().map(line),
        goal: cut(&settings.goal, MAX_GOAL_CHARS),
        mode: line(&settings.mode),
        only_gate: settings.scope == Scope::Gate,
        agent: line(&agent.name),
        agent_version: agent.version.as_deref().map(line),
        models: models.listed.iter().map(|model| line(model)).collect(),
        more_models: models.more,
        project: line(project),
        git_head: git_head.as_deref().map(line),
        containment: line(containment),
        sandbox: sandbox.is_on().then(|| sandbox.name().to_owned()),
        checks: first(&settings.verify.commands, |command| line(command)),
        checks_outside: first(&settings.checks_outside(), |command| line(command)),
        more_checks: beyond(&settings.verify.commands),
    }
}

fn report_status(state: Liveness, outcome: Option<&Outcome>, is_rehearsal: bool) -> ReportStatus {
    match (outcome, state) {
        (Some(_), _) if is_rehearsal => ReportStatus::Rehearsed,
        (Some(Outcome::Completed { proof: Proof::Checks, .. }), _) => ReportStatus::Verified,
        (Some(Outcome::Completed { proof: Proof::Model, .. }), _) => ReportStatus::Judged,
        (Some(Outcome::Completed { proof: Proof::None, .. }), _) => ReportStatus::NotVerified,
        (Some(_), _) => ReportStatus::NotDone,
        (None, Liveness::Running) => ReportStatus::Running,
        (None, Liveness::Crashed | Liveness::Ended) => ReportStatus::Crashed,
        (None, Liveness::Unknown) => ReportStatus::Unknown,
    }
}

fn status(iteration: &IterationHistory, state: Liveness) -> IterationStatus {
    let Some((_, finished)) = &iteration.finished else {
        return match state {
            Liveness::Running => IterationStatus::Running,
            Liveness::Crashed | Liveness::Ended | Liveness::Unknown => IterationStatus::Interrupted,
        };
    };
    let claim = iteration.claims.listed.last();
    IterationStatus::of(finished, claim.and_then(|claim| claim.result.as_ref()))
}

/// Returns the gate's decision, and the recorded reason for it.
fn claim_outcome(result: Option<&GateResult>) -> (ClaimOutcome, Option<&str>) {
    match result {
        None => (ClaimOutcome::Open, None),
        Some(GateResult::Passed { proof: Proof::Checks }) => (ClaimOutcome::Verified, None),
        Some(GateResult::Passed { proof: Proof::Model }) => (ClaimOutcome::Judged, None),
        Some(GateResult::Passed { proof: Proof::None }) => (ClaimOutcome::NotVerified, None),
        Some(GateResult::Rejected { why }) => (ClaimOutcome::Rejected, Some(why)),
        Some(GateResult::Impossible { why }) => (ClaimOutcome::Impossible, Some(why)),
        Some(GateResult::Inconclusive { why }) => (ClaimOutcome::Inconclusive, Some(why)),
        Some(GateResult::Unaffordable { .. }) => (ClaimOutcome::Unaffordable, None),
    }
}

fn accepted(totals: &Totals, iterations: &[IterationReport]) -> AcceptedWork {
    let counted = |iteration: &&IterationReport| match iteration.status {
        IterationStatus::Work | IterationStatus::Accepted => true,
        IterationStatus::Rejected
        | IterationStatus::Unverified
        | IterationStatus::Impossible
        | IterationStatus::WorkReported
        | IterationStatus::Idle
        | IterationStatus::Failed
        | IterationStatus::Interrupted
        | IterationStatus::Running => false,
    };
    let (unit, count) = match totals.commits {
        0 => (AcceptedUnit::Iterations, iterations.iter().filter(counted).count()),
        commits => (AcceptedUnit::Commits, commits as usize),
    };
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let cost_usd = (count > 0).then(|| totals.cost.per(count.into()));
    AcceptedWork { unit, count, cost_usd }
}

fn notes<const MAX: usize>(notes: Bounded<Note, MAX>) -> Vec<Note> {
    let cut = |note: Note| Note { text: text(&note.text), ..note };
    notes.listed.into_iter().map(cut).collect()
}

fn host(HostSummary { host, refused, setting }: &HostSummary) -> HostSummary {
    HostSummary {
        host: line(host),
        refused: refused.as_deref().map(line),
        setting: setting.as_deref().map(line),
    }
}

fn denied(denied: &DeniedCommand) -> DeniedCommand {
    let DeniedCommand { tool, command, rule } = denied;
    DeniedCommand { tool: text(tool), command: text(command), rule: rule.as_deref().map(text) }
}

fn changes(changes: &Changes) -> Changes {
    Changes { files: changes.files, listed: changes.listed.iter().map(changed).collect() }
}

fn changed(file: &ChangedFile) -> ChangedFile {
    ChangedFile { path: line(&file.path), ..file.clone() }
}

fn finding(finding: &TamperFinding) -> TamperFinding {
    let TamperFinding { path, what } = finding;
    TamperFinding { path: line(path), what: line(what) }
}

fn text(text: &str) -> String {
    cut(text, MAX_TEXT_CHARS)
}

fn line(line: &str) -> String {
    cut(line, MAX_LINE_CHARS)
}

/// Returns the beginning of a list, up to the maximum length.
fn first<T, U>(list: &[T], shown: impl Fn(&T) -> U) -> Vec<U> {
    list.iter().take(MAX_PER_ITERATION).map(shown).collect()
}

/// Returns the number of items beyond the maximum length.
fn beyond<T>(list: &[T]) -> u32 {
    u32::try_from(list.len().saturating_sub(MAX_PER_ITERATION)).unwrap_or(u32::MAX)
}
