//! The timeline of a run: activities that took time, from the events that begin and end them.

use jiff::Timestamp;
use serde::Serialize;

use crate::event::{
    AttemptEvent, CallEvent, Event, GateEvent, IterationEvent, OperatorEvent, RunEvent, WaitEvent,
};
use crate::input::{CheckPurpose, CheckResult};
use crate::phrases;
use crate::stream::outcome::Consequence;
use crate::units::{Iteration, human};

/// Maximum number of spans per iteration. Further spans are only counted.
const MAX_SPANS_PER_ITERATION: u32 = 60;

/// An activity that took time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimelineSpan {
    pub kind: SpanKind,
    /// The iteration of the activity; `None` before the first iteration.
    pub iteration: Option<u32>,
    pub start: Timestamp,
    /// The end of the activity. If the end is unknown, the last known time.
    pub end: Timestamp,
    /// Whether the activity failed.
    pub trouble: bool,
    /// A short description of the activity.
    pub text: String,
}

/// The kind of activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    Attempt,
    /// The checks of the gate or before the first iteration.
    Checks,
    /// A model call, for example for a verdict.
    Call,
    /// A wait for a limit to end.
    Wait,
    /// A delay before the next attempt.
    Retry,
    /// A pause requested by the operator.
    Pause,
    /// No process controlled the run.
    Away,
    /// The process died at an unknown time within this span. Until then its activity continued;
    /// afterwards no process controlled the run.
    Unknown,
}

/// The activities of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timeline {
    ended: Vec<TimelineSpan>,
    /// The unfinished spans, each with the number of its attempt or call.
    open: Vec<(Option<u32>, TimelineSpan)>,
    iteration: Option<u32>,
    /// Number of spans that began in this iteration.
    in_iteration: u32,
    left_off: u32,
}

impl Timeline {
    /// Updates the timeline with an event. `before` is the time of the previous event.
    pub(super) fn record(
        &mut self,
        at: Timestamp,
        before: Option<Timestamp>,
        iteration: Option<Iteration>,
        event: &Event,
    ) {
        let iteration = iteration.map(|number| number.0);
        if self.iteration != iteration {
            self.iteration = iteration;
            self.in_iteration = 0;
        }
        match event {
            Event::Run(RunEvent::Continued { .. }) => self.away(before, at),
            Event::Run(RunEvent::Finished { .. }) => self.end_all(at),
            Event::Iteration(IterationEvent::Finished(_)) => self.end(SpanKind::Retry, None, at),
            Event::Attempt(AttemptEvent::Started { attempt, .. }) => {
                self.end(SpanKind::Retry, None, at);
                self.begin(SpanKind::Attempt, Some(attempt.0), at, "");
            }
            Event::Attempt(AttemptEvent::Finished { attempt, report, .. }) => {
                let trouble = !matches!(report.outcome.consequence(), Consequence::Assess);
                let text = report.outcome.sentence();
                self.end_with(SpanKind::Attempt, Some(attempt.0), at, &text, trouble);
            }
            Event::Call(CallEvent::Started { call, purpose, .. }) => {
                self.begin(SpanKind::Call, Some(call.0), at, purpose.name());
            }
            Event::Call(CallEvent::Finished { call, .. }) => {
                self.end(SpanKind::Call, Some(call.0), at);
            }
            Event::Wait(WaitEvent::Started { limit, wait, .. }) => {
                let text = format!("{} for the {}", human(*wait), phrases::limit(*limit));
                self.begin(SpanKind::Wait, None, at, &text);
            }
            Event::Wait(WaitEvent::Ended { .. }) => self.end(SpanKind::Wait, None, at),
            Event::Wait(WaitEvent::RetryScheduled { why, .. }) => {
                self.begin(SpanKind::Retry, None, at, why);
            }
            Event::Gate(GateEvent::ChecksStarted { .. }) => {
                self.begin(SpanKind::Checks, None, at, "checks");
            }
            Event::Gate(GateEvent::ChecksFinished { purpose, results, .. }) => {
                self.checks_finished(at, *purpose, results);
            }
            Event::Operator(OperatorEvent::Paused) => {
                self.begin(SpanKind::Pause, None, at, "paused");
            }
            Event::Operator(OperatorEvent::Resumed) => self.end(SpanKind::Pause, None, at),
            Event::Run(_)
            | Event::Iteration(_)
            | Event::Attempt(_)
            | Event::Call(_)
            | Event::Wait(_)
            | Event::Gate(_)
            | Event::Operator(_)
            | Event::Note(_) => {}
        }
    }

    fn checks_finished(&mut self, at: Timestamp, purpose: CheckPurpose, results: &[CheckResult]) {
        let failed = results.iter().find(|result| !result.verdict.is_pass());
        let (text, trouble) = match (purpose, failed) {
            (CheckPurpose::Baseline, Some(result)) => {
                (format!("`{}` failed before the first iteration", result.command), true)
            }
            (CheckPurpose::Baseline, None) => {
                ("checks before the first iteration".to_owned(), false)
            }
            (CheckPurpose::Progress | CheckPurpose::Gate, Some(result)) => {
                (format!("`{}` failed", result.command), true)
            }
            (CheckPurpose::Progress | CheckPurpose::Gate, None) => {
                ("checks passed".to_owned(), false)
            }
        };
        self.end_with(SpanKind::Checks, None, at, &text, trouble);
    }

    /// Returns all spans, ordered by start, and the number of spans left off. Unfinished spans end
    /// at the last known time.
    pub(crate) fn finish(mut self, last: Option<Timestamp>) -> (Vec<TimelineSpan>, u32) {
        if let Some(last) = last {
            self.end_all(last);
        }
        self.ended.sort_by_key(|span| span.start);
        (self.ended, self.left_off)
    }

    fn begin(&mut self, kind: SpanKind, number: Option<u32>, at: Timestamp, text: &str) {
        self.in_iteration = self.in_iteration.saturating_add(1);
        if self.in_iteration > MAX_SPANS_PER_ITERATION {
            self.left_off = self.left_off.saturating_add(1);
            return;
        }
        let (iteration, text) = (self.iteration, text.to_owned());
        let span = TimelineSpan { kind, iteration, start: at, end: at, trouble: false, text };
        self.open.push((number, span));
    }

    fn end(&mut self, kind: SpanKind, number: Option<u32>, at: Timestamp) {
        if let Some(span) = self.take(kind, number) {
            self.ended.push(TimelineSpan { end: at.max(span.start), ..span });
        }
    }

    fn end_with(
        &mut self,
        kind: SpanKind,
        number: Option<u32>,
        at: Timestamp,
        text: &str,
        trouble: bool,
    ) {
        if let Some(span) = self.take(kind, number) {
            let (end, text) = (at.max(span.start), text.to_owned());
            self.ended.push(TimelineSpan { end, trouble, text, ..span });
        }
    }

    /// Adds a span between the last event of one process and the first event of the next. Waits and
    /// pauses continue through it.
    fn away(&mut self, before: Option<Timestamp>, at: Timestamp) {
        let Some(before) = before else { return };
        let (waits, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|(_, span)| matches!(span.kind, SpanKind::Wait | SpanKind::Pause));
        self.open = waits;
        // The agent may have worked until the process died.
        let (kind, text) = match rest.iter().find(|(_, span)| is_work(span.kind)) {
            Some(_) => (SpanKind::Unknown, "the run crashed at an unknown time"),
            None => (SpanKind::Away, "no process"),
        };
        for (_, span) in rest {
            self.ended.push(TimelineSpan { end: before.max(span.start), trouble: true, ..span });
        }
        let (iteration, end, text) = (self.iteration, at.max(before), text.to_owned());
        self.ended.push(TimelineSpan { kind, iteration, start: before, end, trouble: true, text });
    }

    fn end_all(&mut self, at: Timestamp) {
        for (_, span) in std::mem::take(&mut self.open) {
            self.ended.push(TimelineSpan { end: at.max(span.start), ..span });
        }
    }

    fn take(&mut self, kind: SpanKind, number: Option<u32>) -> Option<TimelineSpan> {
        let place = self.open.iter().rposition(|(known, span)| {
            span.kind == kind && (number.is_none() || *known == number)
        })?;
        Some(self.open.remove(place).1)
    }
}

fn is_work(kind: SpanKind) -> bool {
    match kind {
        SpanKind::Attempt | SpanKind::Checks | SpanKind::Call => true,
        SpanKind::Wait | SpanKind::Retry | SpanKind::Pause | SpanKind::Away | SpanKind::Unknown => {
            false
        }
    }
}
