//! Events: the recorded facts of a run, named in the past tense. An event is a line of the journal
//! and of `--output json`. It is also the input of hooks and the source of all screens, with one
//! vocabulary and one version.
//!
//! Each event records a decision already made or an observation; the request that follows from it
//! is an [`Effect`](crate::effect::Effect). The state of a run is the fold of its events.
//!
//! Events come in groups, one file per group. A reader matches on eight arms, and then only on the
//! events it needs. The wire format is flat and does not show the groups.

mod attempt;
mod call;
mod gate;
mod group;
mod iteration;
mod note;
mod operator;
mod run;
mod samples;
mod schema;
mod status_change;
mod wait;
mod wire;

use std::time::Duration;

use jiff::Timestamp;

pub use self::attempt::{AttemptEvent, CostSource};
pub use self::call::{CallEvent, CallPurpose, SecondOpinion};
pub use self::gate::{GateEvent, GateResult, VerdictKind};
pub use self::iteration::{
    ChecksAfterIteration, IterationEvent, IterationFinished, IterationKind, IterationResult,
    Progress,
};
pub use self::note::{FeedbackSource, NoteEvent};
pub use self::operator::{OperatorEvent, StopSource, StopWhen};
pub use self::run::{AgentFacts, AgentKind, Continuation, RunEvent, RunStarted, Spend, Totals};
pub use self::samples::samples;
pub use self::schema::schema;
pub use self::status_change::{StatusFacts, StatusField, StatusText};
pub use self::wait::{WaitEnd, WaitEvent, WaitKind};
use crate::stream::news::AttemptReport;
use crate::stream::outcome::AttemptOutcome;
use crate::units::Usd;

/// One event and its time. [`crate::journal`] adds the sequence number and formats the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Wall-clock time of the event.
    pub at: Timestamp,
    /// Working time so far, without waits for limits and pauses; `max_duration` limits it. It is in
    /// whole milliseconds, so that a replay sees exactly the same value.
    pub active: Duration,
    pub event: Event,
}

group::event_groups! {
    /// One event of a run, from any of the groups.
    Event {
        /// The run as a whole: start, continuation and end.
        Run(RunEvent),
        /// The iterations of a run.
        Iteration(IterationEvent),
        /// The agent processes that do the work.
        Attempt(AttemptEvent),
        /// Calls of the agent for a verdict, a review, advice or the council.
        Call(CallEvent),
        /// Waits, and the quota reports that may lead to one.
        Wait(WaitEvent),
        /// The gate, and the checks before the first iteration and after each.
        Gate(GateEvent),
        /// Requests of the operator.
        Operator(OperatorEvent),
        /// Reports during a run: status, blockers, feedback, contacted hosts, failed hooks and
        /// warnings.
        Note(NoteEvent),
    }
}

/// The cost of an attempt or a call.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// `work`, or the purpose of the call.
    pub purpose: &'static str,
    pub cost: Usd,
    /// Whether the agent reported `cost` or nightwright estimated it.
    pub figure: CostSource,
    pub duration: Duration,
    /// The outcome, and everything parsed from the output.
    pub report: &'a AttemptReport,
}

impl Event {
    /// Returns the charge if this event ends an attempt or a call.
    pub fn charge(&self) -> Option<Charge<'_>> {
        let (purpose, cost, figure, duration, report) =
            if let Self::Attempt(AttemptEvent::Finished {
                cost, figure, duration, report, ..
            }) = self
            {
                (Totals::WORK, cost, figure, duration, report)
            } else if let Self::Call(CallEvent::Finished {
                purpose,
                cost,
                figure,
                duration,
                report,
                ..
            }) = self
            {
                (purpose.name(), cost, figure, duration, report)
            } else {
                return None;
            };
        let (cost, figure, duration) = (*cost, *figure, *duration);
        Some(Charge { purpose, cost, figure, duration, report })
    }

    /// Whether the running attempt or call can send nothing more after this event.
    pub fn ends_agent_output(&self) -> bool {
        matches!(
            self,
            Self::Attempt(AttemptEvent::Finished { .. })
                | Self::Call(CallEvent::Finished { .. })
                | Self::Iteration(IterationEvent::Finished(_))
                | Self::Run(RunEvent::Finished { .. })
        )
    }
}

impl Charge<'_> {
    /// Returns the duration, or `None` if the end was not observed.
    pub fn observed_duration(&self) -> Option<Duration> {
        (self.report.outcome != AttemptOutcome::Lost).then_some(self.duration)
    }
}

impl Totals {
    /// The purpose of attempts in [`Totals::by_purpose`].
    pub const WORK: &'static str = "work";

    /// Adds the charge of an attempt or a call.
    pub fn add(&mut self, charge: Charge<'_>) {
        let Charge { purpose, cost, figure, report, .. } = charge;
        self.cost += cost;
        match figure {
            CostSource::Reported => {}
            CostSource::Estimated => self.estimated += cost,
        }
        self.tokens += report.tokens;
        let spend = self.by_purpose.entry(purpose.to_owned()).or_default();
        spend.count = spend.count.saturating_add(1);
        spend.cost += cost;
        spend.tokens += report.tokens;
    }
}
