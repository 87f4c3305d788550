//! A second account of a run, kept from its events alone and by other means than the machine's.

use std::time::Duration;

use nightwright::agent::NewsSource;
use nightwright_core::event::{
    AttemptEvent, CallEvent, Continuation, CostSource, Event, GateEvent, GateResult,
    IterationEvent, IterationFinished, IterationResult, OperatorEvent, Record, RunEvent, StopWhen,
    Totals, WaitEvent,
};
use nightwright_core::outcome::Outcome;
use nightwright_core::settings::Settings;
use nightwright_core::stream::news::AttemptReport;
use nightwright_core::stream::outcome::AttemptOutcome;
use nightwright_core::units::{AttemptId, CallId, Iteration, Usd};

use crate::simulation::agent::OVERSHOOT;

/// A wait to a date ends up to this much later.
const SPREAD: Duration = Duration::from_mins(1);

/// An attempt whose time is up is gone within this.
const EXIT_TIMEOUT: Duration = Duration::from_secs(7);

/// The charges, counts and requests, according to the events.
#[derive(Debug, Default)]
pub(super) struct EventAccount {
    pub(super) settings: Settings,
    pub(super) cost: Usd,
    pub(super) tokens: u64,
    pub(super) iterations: u32,
    last: (AttemptId, CallId),
    /// The running process, and the maximum total cost at its end.
    open: Option<(NewsSource, Option<Usd>)>,
    iteration: Option<Iteration>,
    /// The planned duration of the current wait for a limit.
    waiting: Option<Duration>,
    pub(super) gate: Option<GateResult>,
    /// Whether the last checks passed.
    pub(super) checked: Option<bool>,
    /// Iterations since the run began or was resumed after an end.
    pub(super) finished: Vec<(IterationFinished, Option<GateResult>)>,
    pub(super) stop: Option<StopWhen>,
    pub(super) ended: Option<Outcome>,
    /// The cost that the agent reported.
    pub(super) reported: Option<Usd>,
    /// Whether a failed disk may have kept events out.
    pub(super) has_gaps: bool,
    /// The total change of the system clock during the life of this process.
    pub(super) jumped: Duration,
}

impl EventAccount {
    /// An empty book for a journal that is read from its beginning.
    pub(super) fn anew(old: &Self) -> Self {
        Self { has_gaps: old.has_gaps, jumped: Duration::MAX / 2, ..Self::default() }
    }

    pub(super) fn take(&mut self, record: &Record) {
        let event = &record.event;
        match (&self.ended, event) {
            (None, _) | (_, Event::Run(RunEvent::Continued { why: Continuation::AfterEnd })) => {}
            (Some(outcome), event) => panic!("`{}` after the end as {outcome}", event.name()),
        }
        match event {
            Event::Run(RunEvent::Started(started)) => self.settings = started.settings.clone(),
            Event::Run(RunEvent::Continued { why }) => self.continued(*why),
            Event::Iteration(IterationEvent::Started { iteration, .. }) => {
                self.iteration_started(*iteration);
            }
            Event::Attempt(AttemptEvent::Started { attempt, .. }) => {
                assert!(*attempt > self.last.0, "attempt {attempt} is used twice");
                self.last.0 = *attempt;
                self.opens(NewsSource::Attempt(*attempt));
            }
            Event::Attempt(AttemptEvent::Finished { attempt, cost, figure, duration, report }) => {
                if let Some(most) = self.settings.deadlines.attempt {
                    assert!(*duration <= most + EXIT_TIMEOUT, "an attempt of {duration:?}");
                }
                self.closes(NewsSource::Attempt(*attempt), *cost, *figure, report);
            }
            Event::Call(CallEvent::Started { call, .. }) => {
                assert!(*call > self.last.1, "call {call} is used twice");
                self.last.1 = *call;
                self.opens(NewsSource::Call(*call));
            }
            Event::Call(CallEvent::Finished { call, cost, figure, report, .. }) => {
                self.closes(NewsSource::Call(*call), *cost, *figure, report);
            }
            Event::Wait(WaitEvent::Started { wait, .. }) => self.wait_started(*wait),
            Event::Wait(WaitEvent::Ended { waited, .. }) => self.wait_ended(*waited),
            Event::Gate(GateEvent::ChecksFinished { results, .. }) => {
                self.checked = Some(results.iter().all(|result| result.verdict.is_pass()));
            }
            Event::Gate(GateEvent::Started { .. }) => (self.gate, self.checked) = (None, None),
            Event::Gate(GateEvent::Finished { result }) => self.gate = Some(result.clone()),
            Event::Operator(OperatorEvent::SettingsChanged { source, change }) => {
                change.apply(*source, &mut self.settings);
            }
            Event::Iteration(IterationEvent::Finished(finished)) => {
                self.iteration_finished(finished);
            }
            Event::Operator(OperatorEvent::StopRequested { when, .. }) => {
                self.stop = self.stop.max(Some(*when));
            }
            Event::Operator(OperatorEvent::StopCancelled) => self.stop = None,
            Event::Run(RunEvent::Finished { outcome, totals, .. }) => {
                self.add_up(totals);
                self.justify(outcome, record.active);
                self.ended = Some(outcome.clone());
            }
            // Everything else is no business of an accountant's.
            _ => {}
        }
    }

    fn continued(&mut self, why: Continuation) {
        self.stop = None;
        match why {
            Continuation::AfterCrash => {
                assert_eq!(self.ended, None, "it had not crashed");
                if self.iteration.is_some() {
                    // The gate starts again.
                    (self.gate, self.checked) = (None, None);
                }
            }
            Continuation::AfterEnd => {
                assert!(self.ended.is_some(), "it had not ended");
                self.ended = None;
                self.iteration = None;
                self.waiting = None;
                self.finished.clear();
            }
        }
    }

    fn iteration_started(&mut self, iteration: Iteration) {
        assert_eq!(iteration.0, self.iterations + 1, "the number of an iteration");
        assert_eq!(self.iteration, None, "two iterations at a time");
        assert_eq!(self.open, None, "an attempt outlives its iteration");
        if let Some(limit) = self.settings.limits.max_iterations {
            assert!(iteration.0 <= limit, "iteration {iteration} is beyond max_iterations");
        }
        self.iteration = Some(iteration);
        (self.gate, self.checked) = (None, None);
    }

    fn iteration_finished(&mut self, finished: &IterationFinished) {
        let unknown = self.has_gaps && finished.result == IterationResult::Interrupted;
        if unknown {
            self.open = None;
        } else {
            assert_eq!(self.iteration, Some(finished.iteration), "another iteration ends");
            assert_eq!(self.open, None, "an iteration ends before its attempt");
        }
        self.iteration = None;
        self.iterations += 1;
        let gate = self.gate.clone().filter(|_| finished.result == IterationResult::Done);
        self.finished.push((finished.clone(), gate));
    }

    fn wait_started(&mut self, wait: Duration) {
        let most = self.settings.limits.max_wait + SPREAD;
        assert!(wait <= most, "a wait of {wait:?} is beyond the leash");
        assert_eq!(self.waiting, None, "two waits at a time");
        self.waiting = Some(wait);
    }

    fn wait_ended(&mut self, waited: Duration) {
        let planned = self.waiting.take().expect("a wait that began");
        let most = planned + SPREAD + self.jumped;
        assert!(waited <= most, "{waited:?} for a wait of {planned:?}");
    }

    fn add_up(&mut self, totals: &Totals) {
        if self.has_gaps {
            assert!(totals.cost >= self.cost, "money is forgotten at the end");
            self.cost = totals.cost;
            self.tokens = totals.tokens.counted();
            self.iterations = totals.iterations;
            self.open = None;
        }
        assert_eq!(totals.cost, self.cost, "the total is not the sum of its parts");
        assert_eq!(totals.tokens.counted(), self.tokens, "tokens don't add up");
        assert_eq!(totals.iterations, self.iterations, "iterations don't add up");
        assert_eq!(self.open, None, "the run ends before its attempt");
    }

    fn opens(&mut self, source: NewsSource) {
        assert_eq!(self.open, None, "two at a time");
        self.open = Some((source, self.settings.limits.max_cost));
    }

    fn closes(
        &mut self,
        source: NewsSource,
        cost: Usd,
        figure: CostSource,
        report: &AttemptReport,
    ) {
        match self.open.take() {
            Some((open, _)) if self.has_gaps && open != source => {}
            Some((open, most)) => {
                assert_eq!(open, source, "another one is over than runs");
                if let Some(most) = most {
                    let sum = self.cost + cost;
                    assert!(sum <= most + OVERSHOOT, "{sum} is beyond {most} and one call");
                }
            }
            None => assert!(self.has_gaps, "{source:?} is charged twice"),
        }
        if let Some(reported) = self.reported.take()
            && !self.has_gaps
        {
            assert_eq!((cost, figure), (reported, CostSource::Reported), "the agent's own figure");
        } else if figure == CostSource::Estimated {
            // Only an attempt that printed nothing is known not to have called a model.
            let unasked = report.priced == Some(Usd::ZERO) && report.tokens.is_zero();
            let silent = report.stream.stdout_bytes == 0;
            let free = unasked && silent && report.outcome != AttemptOutcome::Lost;
            assert!(free || cost > Usd::ZERO, "an attempt for nothing");
        }
        self.cost += cost;
        self.tokens = self.tokens.saturating_add(report.tokens.counted());
    }
}
