//! Facts, in the past tense. An event is a line of the journal and of `--output json`, the input of
//! hooks and the source of all screens: one vocabulary, one version.
//!
//! Every event is a decision already made or something already observed; what it asks for is an
//! [`Effect`](crate::effect::Effect). The state of a run is the fold of its events.
//!
//! Events come in groups, one file each, so that a reader of events matches on eight arms and then
//! on the few events that matter to it. The wire format is flat: the groups do not show.

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
mod status;
mod wait;
mod wire;

use std::time::Duration;

use jiff::Timestamp;

pub use self::attempt::{AttemptEvent, CostSource};
pub use self::call::{CallEvent, CallPurpose};
pub use self::gate::{GateEvent, GateResult, VerdictKind};
pub use self::iteration::{
    IterationEvent, IterationFinished, IterationKind, IterationResult, Progress,
};
pub use self::note::{FeedbackSource, NoteEvent};
pub use self::operator::{OperatorEvent, StopSource, StopWhen};
pub use self::run::{AgentFacts, Continuation, RunEvent, RunStarted, Spend, Totals};
pub use self::samples::samples;
pub use self::schema::schema;
pub use self::status::{StatusFacts, StatusField, StatusText};
pub use self::wait::{WaitEnd, WaitEvent, WaitKind};
use crate::stream::report::AttemptReport;
use crate::units::Usd;

/// One event and when it happened. [`crate::journal`] gives it its number and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The wall clock.
    pub at: Timestamp,
    /// Time at work so far, without waits for limits and pauses: what `max_duration` counts. In
    /// whole milliseconds, so that a replay sees exactly the same figure.
    pub active: Duration,
    /// What happened.
    pub event: Event,
}

group::event_groups! {
    /// What happened.
    Event {
        /// The run as a whole.
        Run(RunEvent),
        /// The iterations of a run.
        Iteration(IterationEvent),
        /// The agent's processes that do the work.
        Attempt(AttemptEvent),
        /// Uses of the agent for a verdict, a review, advice or the council.
        Call(CallEvent),
        /// Waits, and the quota that may lead to one.
        Wait(WaitEvent),
        /// The gate, and the checks before the first iteration.
        Gate(GateEvent),
        /// Requests of the operator.
        Operator(OperatorEvent),
        /// Reports along the way.
        Note(NoteEvent),
    }
}

/// What an attempt or a call is charged.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// `work`, or the purpose of the call.
    pub purpose: &'static str,
    /// The cost.
    pub cost: Usd,
    /// Whether `cost` is the agent's figure or an estimate.
    pub figure: CostSource,
    /// The outcome, and everything found in the output.
    pub report: &'a AttemptReport,
}

impl Event {
    /// What was spent, if this event is the end of an attempt or a call.
    pub fn charge(&self) -> Option<Charge<'_>> {
        let (purpose, cost, figure, report) = match self {
            Self::Attempt(AttemptEvent::Finished { cost, figure, report, .. }) => {
                (Totals::WORK, cost, figure, report)
            }
            Self::Call(CallEvent::Finished { purpose, cost, figure, report, .. }) => {
                (purpose.name(), cost, figure, report)
            }
            _ => return None,
        };
        Some(Charge { purpose, cost: *cost, figure: *figure, report })
    }

    /// Whether nothing more can come from the attempt or call that was running.
    pub fn ends_talk(&self) -> bool {
        matches!(
            self,
            Self::Attempt(AttemptEvent::Finished { .. })
                | Self::Call(CallEvent::Finished { .. })
                | Self::Iteration(IterationEvent::Finished(_))
                | Self::Run(RunEvent::Finished { .. })
        )
    }
}

impl Totals {
    /// The purpose of attempts in [`Totals::by_purpose`].
    pub const WORK: &'static str = "work";

    /// Adds what an attempt or a call was charged.
    pub fn add(&mut self, charge: Charge<'_>) {
        let Charge { purpose, cost, figure, report } = charge;
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
