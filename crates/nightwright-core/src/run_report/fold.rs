//! The fold from events to a run report, in one pass with bounded memory per iteration.

mod iterations;
mod notes;
mod spans;

use std::mem;

use jiff::Timestamp;

use self::iterations::ChargedReport;
use self::spans::Spans;
use super::text::cut;
use super::{
    AcceptedUnit, AcceptedWork, ClaimSummary, CommitList, IterationReport, IterationStatus, Note,
    NoteKind, ReportStatus, RunParameters, RunReport, State,
};
use crate::baseline;
use crate::event::{
    AttemptEvent, CallEvent, Event, GateEvent, IterationEvent, NoteEvent, Record, RunEvent,
    RunStarted, Totals,
};
use crate::input::{CheckPurpose, CheckResult, WorkspaceMark};
use crate::outcome::{Outcome, Proof};
use crate::permissions::denial::DeniedCommand;
use crate::run_view::{JournalBreak, RunView};
use crate::settings::Scope;
use crate::stream::report::Blocker;
use crate::units::RunId;

/// Maximum length of the goal, in characters.
const MAX_GOAL_CHARS: usize = 4000;
/// Maximum length of an iteration's summary or of a reason, in characters.
const MAX_TEXT_CHARS: usize = 1500;
/// Maximum length of a single-line text, in characters.
const MAX_LINE_CHARS: usize = 400;
/// Maximum length of each list of an iteration.
const MAX_PER_ITERATION: usize = 30;
/// Maximum length of each list of a run.
const MAX_PER_RUN: usize = 200;

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

/// Builds a report from the events of a run.
#[derive(Clone, Debug)]
pub struct RunReportBuilder {
    run: RunId,
    view: RunView,
    parameters: Option<RunParameters>,
    before: Vec<Note>,
    more_before: u32,
    /// The check results before the first iteration.
    baseline: Vec<CheckResult>,
    iterations: Vec<IterationReport>,
    spans: Spans,
    warnings: Vec<Note>,
    more_warnings: u32,
    commits: CommitList,
}

impl RunReportBuilder {
    /// Creates a builder without any events.
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            view: RunView::default(),
            parameters: None,
            before: Vec::new(),
            more_before: 0,
            baseline: Vec::new(),
            iterations: Vec::new(),
            spans: Spans::default(),
            warnings: Vec::new(),
            more_warnings: 0,
            commits: CommitList::default(),
        }
    }

    /// Updates the report with one event.
    pub fn record(&mut self, record: &Record) {
        let Record { at, event, .. } = record;
        let before = self.view.at;
        self.view.record(record);
        self.spans.record(*at, before, self.iterations.last().map(|chapter| chapter.number), event);
        match event {
            Event::Run(RunEvent::Started(started)) => self.run_started(started),
            Event::Iteration(event) => self.fold_iteration(event, *at),
            Event::Attempt(event) => self.fold_attempt(event, *at),
            Event::Call(event) => self.fold_call(event),
            Event::Gate(event) => self.fold_gate(event, *at),
            Event::Note(NoteEvent::BlockerReported { blocker }) => self.in_iteration(|chapter| {
                let text = cut(&blocker.text, MAX_TEXT_CHARS);
                keep(&mut chapter.blockers, text, &mut chapter.left_off);
            }),
            Event::Run(_) | Event::Wait(_) | Event::Operator(_) | Event::Note(_) => {}
        }
        if let Some((kind, text)) = notes::of(event, self.view.in_iteration().is_some()) {
            self.note(*at, kind, &text);
        }
    }

    fn fold_iteration(&mut self, event: &IterationEvent, at: Timestamp) {
        match event {
            IterationEvent::Started { iteration, kind, start, .. } => {
                self.seen(Some(start));
                self.iterations.push(IterationReport::begun(*iteration, *kind, at));
            }
            IterationEvent::Finished(finished) => {
                self.seen(finished.end.as_ref());
                self.in_iteration(|chapter| chapter.finished(at, finished));
            }
            IterationEvent::Skipped { .. } => {}
        }
    }

    fn fold_attempt(&mut self, event: &AttemptEvent, at: Timestamp) {
        match event {
            AttemptEvent::Started { attempt, .. } => {
                self.in_iteration(|chapter| chapter.attempt_started(*attempt, at));
            }
            AttemptEvent::AgentReady { ready, .. } => self.agent_ready(&ready.model),
            AttemptEvent::Finished { attempt, cost, figure, duration, report } => {
                let charge =
                    ChargedReport { cost: *cost, figure: *figure, duration: *duration, report };
                self.in_iteration(|chapter| chapter.attempt_finished(*attempt, charge));
            }
            _ => {}
        }
    }

    fn fold_call(&mut self, event: &CallEvent) {
        match event {
            CallEvent::Started { call, purpose, .. } => {
                self.in_iteration(|chapter| chapter.call_started(*call, *purpose));
            }
            CallEvent::Finished { call, cost, figure, duration, report, .. } => {
                let charge =
                    ChargedReport { cost: *cost, figure: *figure, duration: *duration, report };
                self.in_iteration(|chapter| chapter.call_finished(*call, charge));
            }
            CallEvent::Cancelled { .. } => {}
        }
    }

    fn fold_gate(&mut self, event: &GateEvent, at: Timestamp) {
        match event {
            GateEvent::Started { claim, .. } => {
                self.in_iteration(|chapter| chapter.claimed(at, claim));
            }
            GateEvent::ChecksStarted { .. } => {}
            GateEvent::ChecksFinished { purpose: CheckPurpose::Baseline, results, .. } => {
                self.baseline_taken(at, results);
            }
            GateEvent::ChecksFinished { purpose: CheckPurpose::Gate, results, .. } => {
                let baseline = mem::take(&mut self.baseline);
                self.at_claim(|claim| claim.checked(results, &baseline));
                self.baseline = baseline;
            }
            GateEvent::ChangesInspected { findings, changes } => {
                self.at_claim(|claim| claim.inspected(findings, changes));
            }
            GateEvent::VerdictGiven { verdict, reason, missing } => {
                self.at_claim(|claim| claim.verdict_given(*verdict, reason, missing));
            }
            GateEvent::Finished { result } => {
                self.at_claim(|claim| claim.judged(result));
                self.in_iteration(IterationReport::judged);
            }
        }
    }

    /// Builds the report from the recorded events and the list of unreadable parts.
    pub fn finish(self, context: ReportContext, unread: UnreadableJournal) -> RunReport {
        let Self { run, mut view, parameters, mut iterations, spans, .. } = self;
        let UnreadableJournal { missing, from } = unread;
        let state = State::of(&view, context.is_live, from);
        if state == State::Running {
            view.totals.duration = view.at_work(context.now);
        } else {
            for iteration in iterations
                .iter_mut()
                .filter(|iteration| iteration.status == IterationStatus::GoingOn)
            {
                iteration.status = IterationStatus::Interrupted;
            }
        }
        let last_at = if state == State::Running { Some(context.now) } else { view.at };
        let summary = view.summary(&run);
        let outcome = match state {
            State::Ended => summary.outcome.as_ref(),
            State::Running | State::Gone | State::Unknown => None,
        };
        let sentence = match from {
            Some(unread) if state == State::Unknown => unread.sentence(),
            Some(_) | None => cut(&summary.reason, MAX_TEXT_CHARS),
        };
        // The result is not final if the end of the journal is unreadable.
        let verification = summary.verification.sentence().filter(|_| state != State::Unknown);
        let (spans, more_spans) = spans.finish(last_at);
        let text = |text: &String| cut(text, MAX_TEXT_CHARS);
        RunReport {
            is_rehearsal: view.is_rehearsal(),
            verdict: verdict(state, outcome, view.is_rehearsal()),
            outcome: outcome.map(Outcome::name),
            proof: outcome.and_then(Outcome::proof),
            sentence,
            note: summary.note.as_ref().filter(|_| outcome.is_some()).map(text),
            verification: verification.as_ref().map(text),
            parameters,
            limits: view.limits.clone(),
            started_at: view.started_at,
            last_at: view.at,
            accepted: accepted(&view.totals, &iterations),
            files_changed: view.files_changed,
            changes: view.changes.as_ref().map(iterations::changes).unwrap_or_default(),
            progress: view.progress,
            before: self.before,
            more_before: self.more_before,
            iterations,
            spans,
            more_spans,
            denied: view
                .denied
                .iter()
                .map(|DeniedCommand { tool, command, rule }| DeniedCommand {
                    tool: text(tool),
                    command: text(command),
                    rule: rule.as_ref().map(text),
                })
                .collect(),
            blockers: blockers(&view).map(|blocker| text(&blocker.text)).collect(),
            more_blockers: view.more_blockers,
            warnings: self.warnings,
            more_warnings: self.more_warnings,
            commits: self.commits,
            next: steps(&view, &run, state, from),
            missing,
            places: None,
            totals: view.totals,
            run,
            state,
        }
    }

    fn run_started(&mut self, started: &RunStarted) {
        let RunStarted { settings, agent, project, git_head, containment, .. } = started;
        let line = |text: &str| cut(text, MAX_LINE_CHARS);
        self.commits.from.clone_from(git_head);
        self.parameters = Some(RunParameters {
            task: settings.task.as_deref().map(line),
            goal: cut(&settings.goal, MAX_GOAL_CHARS),
            mode: line(&settings.mode),
            only_gate: settings.scope == Scope::Gate,
            agent: line(&agent.name),
            agent_version: agent.version.as_deref().map(line),
            models: Vec::new(),
            more_models: 0,
            project: line(project),
            git_head: git_head.as_deref().map(line),
            containment: line(containment),
            checks: first(&settings.verify.commands, |command| line(command)),
            more_checks: beyond(&settings.verify.commands),
        });
    }

    fn baseline_taken(&mut self, at: Timestamp, results: &[CheckResult]) {
        for result in results {
            let short = baseline::in_short(result);
            let text = format!("`{}` before the first iteration: {short}", result.command);
            self.note(at, NoteKind::Baseline, &text);
        }
        self.baseline = results.to_vec();
    }

    /// Changes the current iteration, or the last one if none is running.
    fn in_iteration(&mut self, change: impl FnOnce(&mut IterationReport)) {
        if let Some(iteration) = self.iterations.last_mut() {
            change(iteration);
        }
    }

    /// Changes the last claim of that iteration.
    fn at_claim(&mut self, change: impl FnOnce(&mut ClaimSummary)) {
        if let Some(claim) =
            self.iterations.last_mut().and_then(|iteration| iteration.claims.last_mut())
        {
            change(claim);
        }
    }

    fn seen(&mut self, mark: Option<&WorkspaceMark>) {
        if let Some(head) = mark.and_then(|mark| mark.head.as_ref()) {
            self.commits.to = Some(head.clone());
        }
    }

    fn agent_ready(&mut self, model: &str) {
        let model = cut(model, MAX_LINE_CHARS);
        let Some(told) = &mut self.parameters else { return };
        if !model.is_empty() && !told.models.contains(&model) {
            keep(&mut told.models, model, &mut told.more_models);
        }
    }

    /// Adds a note to its iteration. Warnings are also listed for the whole run.
    fn note(&mut self, at: Timestamp, kind: NoteKind, text: &str) {
        let chapter = self.iterations.last_mut();
        let iteration = chapter.as_ref().map(|chapter| chapter.number);
        let note = Note { at, iteration, kind, text: cut(text, MAX_TEXT_CHARS) };
        if kind == NoteKind::Warning {
            if self.warnings.len() < MAX_PER_RUN {
                self.warnings.push(note.clone());
            } else {
                self.more_warnings = self.more_warnings.saturating_add(1);
            }
        }
        match chapter {
            Some(chapter) => keep(&mut chapter.notes, note, &mut chapter.left_off),
            None => keep(&mut self.before, note, &mut self.more_before),
        }
    }
}

/// Adds an item to a list of bounded length, or counts it as left off.
fn keep<T>(list: &mut Vec<T>, item: T, left_off: &mut u32) {
    if list.len() < MAX_PER_ITERATION {
        list.push(item);
    } else {
        *left_off = left_off.saturating_add(1);
    }
}

/// Returns the beginning of a list, up to the maximum length.
fn first<T, U>(list: &[T], shown: impl Fn(&T) -> U) -> Vec<U> {
    list.iter().take(MAX_PER_ITERATION).map(shown).collect()
}

/// Returns the number of items beyond the maximum length.
fn beyond<T>(list: &[T]) -> u32 {
    u32::try_from(list.len().saturating_sub(MAX_PER_ITERATION)).unwrap_or(u32::MAX)
}

/// The blockers that still matter. A completed run got along without the denied commands.
fn blockers(view: &RunView) -> impl Iterator<Item = &Blocker> {
    let outcome = view.finished.as_ref().map(|finished| &finished.outcome);
    let completed = matches!(outcome, Some(Outcome::Completed { .. }));
    view.blockers.iter().filter(move |blocker| !completed || blocker.key != Blocker::PERMISSIONS)
}

fn steps(view: &RunView, run: &RunId, state: State, unread: Option<JournalBreak>) -> Vec<String> {
    let start = view.facts.as_ref().and_then(|facts| facts.git_head.as_deref());
    view.steps(run, state, unread)
        .into_iter()
        // A command line that was cut cannot be pasted.
        .map(|step| step.within_report(start).markdown())
        .collect()
}

fn verdict(state: State, outcome: Option<&Outcome>, is_rehearsal: bool) -> ReportStatus {
    match (outcome, state) {
        (Some(_), _) if is_rehearsal => ReportStatus::Rehearsed,
        (Some(Outcome::Completed { proof: Proof::Checks, .. }), _) => ReportStatus::Verified,
        (Some(Outcome::Completed { proof: Proof::Model, .. }), _) => ReportStatus::Judged,
        (Some(Outcome::Completed { proof: Proof::None, .. }), _) => ReportStatus::NotVerified,
        (Some(_), _) => ReportStatus::NotDone,
        (None, State::Running) => ReportStatus::GoingOn,
        (None, State::Gone | State::Ended) => ReportStatus::Gone,
        (None, State::Unknown) => ReportStatus::Unknown,
    }
}

fn accepted(totals: &Totals, iterations: &[IterationReport]) -> AcceptedWork {
    let counted = |iteration: &&IterationReport| match iteration.status {
        IterationStatus::Work | IterationStatus::Believed => true,
        IterationStatus::Rejected
        | IterationStatus::Excused
        | IterationStatus::Idle
        | IterationStatus::Failed
        | IterationStatus::Interrupted
        | IterationStatus::GoingOn => false,
    };
    let (unit, count) = match totals.commits {
        0 => (AcceptedUnit::Iterations, iterations.iter().filter(counted).count()),
        commits => (AcceptedUnit::Commits, commits as usize),
    };
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let cost_usd = (count > 0).then(|| totals.cost.per(count.into()));
    AcceptedWork { unit, count, cost_usd }
}
