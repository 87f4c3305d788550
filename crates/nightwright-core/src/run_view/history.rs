//! The history of a run: what its report shows beyond the live state. Only a view from
//! [`RunView::with_history`] keeps one.
//!
//! The history stores strings as they were recorded; the report truncates them. Every list has a
//! maximum length, so the memory per iteration is bounded.

mod notes;
mod timeline;

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

pub use self::notes::{Note, NoteKind};
pub(crate) use self::timeline::Timeline;
pub use self::timeline::{SpanKind, TimelineSpan};
use super::{GateView, RunView};
use crate::event::{
    AttemptEvent, CallEvent, CallPurpose, Charge, CostSource, Event, GateEvent, IterationEvent,
    IterationFinished, IterationKind, NoteEvent, Record, RunEvent, RunStarted,
};
use crate::input::{CheckPurpose, CheckResult};
use crate::phrases::{self, EventPhrase};
use crate::stream::news::Blocker;
use crate::units::{AttemptId, CallId, Iteration, Tokens, Usd, millis};

/// Maximum length of each list of an iteration.
pub(crate) const MAX_PER_ITERATION: usize = 30;
/// Maximum number of warnings of a run.
const MAX_WARNINGS: usize = 200;
/// Maximum number of hosts of a run.
const MAX_HOSTS: usize = 500;

/// The history of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// The settings and the environment at the start.
    pub(crate) started: Option<Box<RunStarted>>,
    /// The names of the models, as the agent reported them.
    pub(crate) models: Bounded<String>,
    /// Notes from before the first iteration.
    pub(crate) before: Bounded<Note>,
    /// The check results before the first iteration.
    pub(crate) baseline: Vec<CheckResult>,
    pub(crate) iterations: Vec<IterationHistory>,
    pub(crate) warnings: Bounded<Note, MAX_WARNINGS>,
    /// The hosts that programs in the sandbox contacted, or were refused.
    pub(crate) hosts: Bounded<HostSummary, MAX_HOSTS>,
    pub(crate) timeline: Timeline,
}

/// The history of one iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IterationHistory {
    pub(crate) number: Iteration,
    pub(crate) kind: IterationKind,
    pub(crate) started_at: Timestamp,
    /// When and how the iteration ended; `None` if it has not. The run's list of changed files is
    /// left out.
    pub(crate) finished: Option<(Timestamp, IterationFinished)>,
    pub(crate) cost: Usd,
    /// The estimated part of the cost.
    pub(crate) estimated: Usd,
    pub(crate) tokens: Tokens,
    pub(crate) attempts: Bounded<AttemptSummary>,
    pub(crate) calls: Bounded<CallSummary>,
    pub(crate) claims: Bounded<GateView>,
    pub(crate) blockers: Bounded<Blocker>,
    pub(crate) notes: Bounded<Note>,
}

/// One attempt of an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AttemptSummary {
    /// The attempt's number within the run.
    pub number: u32,
    pub started_at: Timestamp,
    /// Duration of the attempt; `None` while it runs, or if its end was not observed.
    #[serde(with = "millis::option", rename = "duration_ms")]
    pub duration: Option<Duration>,
    /// The name of the outcome.
    pub outcome: Option<&'static str>,
    /// The outcome in one sentence.
    pub sentence: String,
    pub cost_usd: Usd,
    /// Whether the cost is reported or estimated.
    #[serde(rename = "cost_source")]
    pub figure: Option<CostSource>,
    pub tokens: Tokens,
    pub turns: u32,
    pub tool_calls: u32,
    /// Number of tool calls that failed.
    pub tool_errors: u32,
}

/// A call of the agent: a verdict, a review, advice or a decision of the council.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallSummary {
    /// The call's number within the run.
    pub number: u32,
    pub purpose: CallPurpose,
    /// Duration of the call; `None` while it runs, or if its end was not observed.
    #[serde(with = "millis::option", rename = "duration_ms")]
    pub duration: Option<Duration>,
    /// The outcome in one sentence.
    pub sentence: String,
    pub cost_usd: Usd,
    /// Whether the cost is reported or estimated.
    #[serde(rename = "cost_source")]
    pub figure: Option<CostSource>,
    pub tokens: Tokens,
}

/// A host that programs in the sandbox contacted, or were refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostSummary {
    /// The host with its port.
    pub host: String,
    /// Why connections were refused; `None` if they were allowed.
    pub refused: Option<String>,
    /// The line for the configuration that allows it, if there is one.
    pub setting: Option<String>,
}

/// A list with a maximum length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounded<T, const MAX: usize = MAX_PER_ITERATION> {
    pub(crate) listed: Vec<T>,
    /// Number of items beyond the listed ones.
    pub(crate) more: u32,
}

impl History {
    /// Updates the history with one event. The view already includes the event; `before` is the
    /// time of the previous event.
    pub(super) fn record(&mut self, record: &Record, before: Option<Timestamp>, view: &RunView) {
        let Record { at, event, .. } = record;
        let charge = event.charge();
        let number = self.iterations.last().map(|iteration| iteration.number);
        self.timeline.record(*at, before, number, event);
        match event {
            Event::Run(RunEvent::Started(started)) => self.started = Some(started.clone()),
            Event::Iteration(event) => self.fold_iteration(event, *at),
            Event::Attempt(AttemptEvent::Started { attempt, .. }) => {
                self.attempt_started(*attempt, *at);
            }
            Event::Attempt(AttemptEvent::AgentReady { ready, .. }) => {
                self.agent_ready(&ready.model);
            }
            Event::Attempt(AttemptEvent::Finished { attempt, .. }) => {
                self.in_iteration(|iteration| iteration.attempt_finished(*attempt, charge));
            }
            Event::Call(CallEvent::Started { call, purpose, .. }) => {
                self.in_iteration(|iteration| {
                    iteration.calls.push(CallSummary::new(*call, *purpose));
                });
            }
            Event::Call(CallEvent::Finished { call, .. }) => {
                self.in_iteration(|iteration| iteration.call_finished(*call, charge));
            }
            Event::Gate(event) => self.fold_gate(event, *at, view.gate.as_ref()),
            Event::Note(NoteEvent::BlockerReported { blocker }) => {
                self.in_iteration(|iteration| iteration.blockers.push(blocker.clone()));
            }
            Event::Note(NoteEvent::HostContacted { host }) => {
                let host = host.clone();
                self.host(HostSummary { host, refused: None, setting: None });
            }
            Event::Note(NoteEvent::HostRefused { host, why, setting }) => {
                let (host, refused) = (host.clone(), Some(why.clone()));
                self.host(HostSummary { host, refused, setting: setting.clone() });
            }
            Event::Run(_)
            | Event::Attempt(_)
            | Event::Call(_)
            | Event::Wait(_)
            | Event::Operator(_)
            | Event::Note(_) => {}
        }
        if let Some(EventPhrase { kind, text }) =
            phrases::event(event, view.in_iteration().is_some())
        {
            self.note(*at, kind, text);
        }
    }

    fn fold_iteration(&mut self, event: &IterationEvent, at: Timestamp) {
        match event {
            IterationEvent::Started { iteration, kind, .. } => {
                self.iterations.push(IterationHistory::new(*iteration, *kind, at));
            }
            IterationEvent::Finished(finished) => self.in_iteration(|iteration| {
                let finished = IterationFinished { changes: None, ..finished.as_ref().clone() };
                iteration.finished = Some((at, finished));
            }),
            IterationEvent::Skipped { .. } => {}
        }
    }

    fn attempt_started(&mut self, attempt: AttemptId, started_at: Timestamp) {
        let number = attempt.0;
        let attempt = AttemptSummary { number, started_at, ..AttemptSummary::default() };
        self.in_iteration(|iteration| iteration.attempts.push(attempt));
    }

    /// Copies the last claim from the live view.
    fn fold_gate(&mut self, event: &GateEvent, at: Timestamp, gate: Option<&GateView>) {
        if let GateEvent::ChecksFinished {
            purpose: CheckPurpose::Baseline, results, outputs, ..
        } = event
        {
            self.baseline_taken(at, results);
            if !outputs.is_empty() {
                self.note(at, NoteKind::Baseline, phrases::checks_wrote(outputs));
            }
        } else if let (Some(gate), Some(iteration)) = (gate, self.iterations.last_mut()) {
            let claims = &mut iteration.claims;
            if let GateEvent::Started { .. } = event {
                claims.push_over_last(gate.clone());
            } else if let Some(last) = claims.listed.last_mut() {
                last.clone_from(gate);
            }
        }
    }

    fn baseline_taken(&mut self, at: Timestamp, results: &[CheckResult]) {
        for result in results {
            let short = phrases::check_before(result);
            let text = format!("`{}` before the first iteration: {short}", result.command);
            self.note(at, NoteKind::Baseline, text);
        }
        self.baseline = results.to_vec();
    }

    /// Changes the current iteration, or the last one if none is running.
    fn in_iteration(&mut self, change: impl FnOnce(&mut IterationHistory)) {
        if let Some(iteration) = self.iterations.last_mut() {
            change(iteration);
        }
    }

    fn agent_ready(&mut self, model: &str) {
        if !model.is_empty() && !self.models.listed.iter().any(|known| known == model) {
            self.models.push(model.to_owned());
        }
    }

    /// Adds a host. A resumed run reports the hosts of its earlier processes again.
    fn host(&mut self, host: HostSummary) {
        let is_same = |known: &HostSummary| {
            known.host == host.host && known.refused.is_some() == host.refused.is_some()
        };
        if !self.hosts.listed.iter().any(is_same) {
            self.hosts.push(host);
        }
    }

    /// Adds a note to its iteration. Warnings are also listed for the whole run.
    fn note(&mut self, at: Timestamp, kind: NoteKind, text: String) {
        let iteration = self.iterations.last_mut();
        let number = iteration.as_ref().map(|iteration| iteration.number.0);
        let note = Note { at, iteration: number, kind, text };
        if kind == NoteKind::Warning {
            self.warnings.push(note.clone());
        }
        match iteration {
            Some(iteration) => iteration.notes.push(note),
            None => self.before.push(note),
        }
    }
}

impl IterationHistory {
    fn new(number: Iteration, kind: IterationKind, started_at: Timestamp) -> Self {
        Self {
            number,
            kind,
            started_at,
            finished: None,
            cost: Usd::ZERO,
            estimated: Usd::ZERO,
            tokens: Tokens::default(),
            attempts: Bounded::default(),
            calls: Bounded::default(),
            claims: Bounded::default(),
            blockers: Bounded::default(),
            notes: Bounded::default(),
        }
    }

    fn attempt_finished(&mut self, attempt: AttemptId, charge: Option<Charge<'_>>) {
        let Some(charge) = charge else { return };
        self.charged(charge);
        let mut attempts = self.attempts.listed.iter_mut().rev();
        let Some(known) = attempts.find(|known| known.number == attempt.0) else { return };
        let Charge { cost, figure, report, .. } = charge;
        known.duration = charge.observed_duration();
        known.outcome = Some(report.outcome.name());
        known.sentence = report.outcome.sentence();
        known.cost_usd = cost;
        known.figure = Some(figure);
        known.tokens = report.tokens;
        known.turns = report.turns;
        known.tool_calls = report.stream.tool_calls;
        known.tool_errors = report.stream.tool_errors;
    }

    fn call_finished(&mut self, call: CallId, charge: Option<Charge<'_>>) {
        let Some(charge) = charge else { return };
        self.charged(charge);
        let mut calls = self.calls.listed.iter_mut().rev();
        let Some(known) = calls.find(|known| known.number == call.0) else { return };
        let Charge { cost, figure, report, .. } = charge;
        known.duration = charge.observed_duration();
        known.sentence = report.outcome.sentence();
        known.cost_usd = cost;
        known.figure = Some(figure);
        known.tokens = report.tokens;
    }

    fn charged(&mut self, charge: Charge<'_>) {
        self.cost += charge.cost;
        match charge.figure {
            CostSource::Reported => {}
            CostSource::Estimated => self.estimated += charge.cost,
        }
        self.tokens += charge.report.tokens;
    }

    /// Number of items beyond those in the lists.
    pub(crate) fn left_off(&self) -> u32 {
        let Self { attempts, calls, claims, blockers, notes, .. } = self;
        [attempts.more, calls.more, claims.more, blockers.more, notes.more]
            .into_iter()
            .fold(0, u32::saturating_add)
    }
}

impl CallSummary {
    fn new(call: CallId, purpose: CallPurpose) -> Self {
        Self {
            number: call.0,
            purpose,
            duration: None,
            sentence: String::new(),
            cost_usd: Usd::ZERO,
            figure: None,
            tokens: Tokens::default(),
        }
    }
}

impl<T, const MAX: usize> Bounded<T, MAX> {
    /// Number of items, listed or not.
    pub(crate) fn total(&self) -> u32 {
        u32::try_from(self.listed.len()).unwrap_or(u32::MAX).saturating_add(self.more)
    }

    /// Adds an item, or counts it if the list is full.
    fn push(&mut self, item: T) {
        if self.listed.len() < MAX {
            self.listed.push(item);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Adds an item. In a full list it replaces the last one, which is counted.
    fn push_over_last(&mut self, item: T) {
        if self.listed.len() >= MAX {
            self.listed.pop();
            self.more = self.more.saturating_add(1);
        }
        self.listed.push(item);
    }
}

impl<T, const MAX: usize> Default for Bounded<T, MAX> {
    fn default() -> Self {
        Self { listed: Vec::new(), more: 0 }
    }
}
