//! Effects: requests of the state machine to the outside world.

use std::time::Duration;

use jiff::Timestamp;

use crate::event::{CallPurpose, Event, IterationEvent, Record, RunEvent};
use crate::hook::Hook;
use crate::input::{CheckPurpose, CheckReport, HookAnswer, Input, Prepared, TimerKey};
use crate::prompt::Briefing;
use crate::stream::dialect::ToolAccess;
use crate::stream::news::{AgentNews, AttemptReport};
use crate::stream::outcome::{AttemptOutcome, CancelReason};
use crate::units::{AttemptId, CallId, Iteration, Ticket, Usd};

/// The machine's answer to one input: events that were decided, and effects that follow from them.
#[must_use = "a step must be recorded and its effects performed"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The records to write first.
    pub records: Vec<Record>,
    /// The effects to carry out then, in this order.
    pub effects: Vec<Effect>,
}

impl Step {
    /// Whether the step contains no events and no effects.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.effects.is_empty()
    }

    /// The events, without their times.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.records.iter().map(|record| &record.event)
    }

    /// Whether the records must be on disk before the effects begin.
    pub fn wants_sync(&self) -> bool {
        self.effects.iter().any(Effect::needs_durable_past)
            || self.events().any(|event| {
                matches!(
                    event,
                    Event::Iteration(IterationEvent::Finished(_))
                        | Event::Run(RunEvent::Finished { .. })
                )
            })
    }
}

/// A request to the outside world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Run a hook of the user.
    RunHook {
        ticket: Ticket,
        hook: Hook,
    },
    /// Inspect the project and the disk before an iteration.
    Prepare {
        ticket: Ticket,
        /// Whether the state of the project is needed, or known from the previous iteration.
        mark: Needed,
    },
    /// Compose the prompt and start the agent.
    StartAttempt(Box<AttemptRequest>),
    /// Send a further message to a running session.
    Nudge {
        attempt: AttemptId,
        text: String,
    },
    /// Close the input of a running session: no more messages follow.
    CloseInput {
        attempt: AttemptId,
    },
    CancelAttempt {
        attempt: AttemptId,
        /// The reason, which affects the classification.
        why: CancelReason,
        /// The time between SIGTERM and SIGKILL.
        grace: Grace,
    },
    /// Inspect the project after an attempt.
    Survey {
        ticket: Ticket,
        /// The iteration whose start is compared with the current state.
        iteration: Iteration,
    },
    RunChecks {
        ticket: Ticket,
        purpose: CheckPurpose,
        /// The time limit for all checks together. Without it, each check has its own deadline.
        budget: Option<Duration>,
    },
    CancelChecks {
        ticket: Ticket,
        /// The time between SIGTERM and SIGKILL.
        grace: Grace,
    },
    /// Inspect the changes since the start of the run.
    InspectChanges {
        ticket: Ticket,
    },
    /// Use the agent for something other than work.
    StartCall(Box<CallRequest>),
    CancelCall {
        call: CallId,
        /// The reason, which affects the classification.
        why: CancelReason,
        /// The time between SIGTERM and SIGKILL.
        grace: Grace,
    },
    /// Wake the machine later. An existing timer with this key is replaced.
    SetTimer {
        key: TimerKey,
        alarm: Alarm,
    },
    ClearTimer {
        key: TimerKey,
    },
    /// The run has ended: kill the remaining processes and exit.
    Finish,
}

impl Effect {
    /// Whether this effect spends money, changes files or sends signals. If so, the events that
    /// caused it must be on disk before it starts. Timers and reads need not wait.
    pub fn needs_durable_past(&self) -> bool {
        match self {
            Self::RunHook { .. }
            | Self::StartAttempt(_)
            | Self::Nudge { .. }
            | Self::CancelAttempt { .. }
            | Self::RunChecks { .. }
            | Self::StartCall(_)
            | Self::CancelCall { .. }
            | Self::CancelChecks { .. } => true,
            Self::Prepare { .. }
            | Self::CloseInput { .. }
            | Self::Survey { .. }
            | Self::InspectChanges { .. }
            | Self::SetTimer { .. }
            | Self::ClearTimer { .. }
            | Self::Finish => false,
        }
    }

    /// Whether it ends or bounds something that is running. Such an effect is executed even if the
    /// journal cannot be written.
    pub fn ends_something(&self) -> bool {
        match self {
            Self::CancelAttempt { .. }
            | Self::CancelCall { .. }
            | Self::CancelChecks { .. }
            | Self::CloseInput { .. }
            | Self::ClearTimer { .. }
            // Killing a process has its own deadline: the earlier one would be too short.
            | Self::SetTimer { .. }
            | Self::Finish => true,
            Self::RunHook { .. }
            | Self::Prepare { .. }
            | Self::StartAttempt(_)
            | Self::Nudge { .. }
            | Self::Survey { .. }
            | Self::RunChecks { .. }
            | Self::InspectChanges { .. }
            | Self::StartCall(_) => false,
        }
    }

    /// Returns the answer to a request that was not executed because its events could not be
    /// recorded.
    pub fn unexecuted_answer(&self) -> Option<Input> {
        let report = || {
            let why = "cannot write the journal".to_owned();
            AgentNews::Exited(Box::new(AttemptReport::bare(AttemptOutcome::NotStarted { why })))
        };
        match self {
            Self::StartAttempt(request) => Some(Input::Agent(request.attempt, report())),
            Self::StartCall(request) => Some(Input::Call(request.call, report())),
            Self::RunChecks { ticket, .. } => Some(Input::Checked(*ticket, CheckReport::default())),
            Self::Prepare { ticket, .. } => Some(Input::Prepared(*ticket, Prepared::default())),
            Self::InspectChanges { ticket } => Some(Input::Inspected(*ticket, Box::default())),
            Self::RunHook { ticket, .. } => Some(Input::Hook(*ticket, HookAnswer::GoOn)),
            Self::Survey { ticket, .. } => Some(Input::Surveyed(*ticket, Box::default())),
            Self::Nudge { .. }
            | Self::CloseInput { .. }
            | Self::CancelAttempt { .. }
            | Self::CancelChecks { .. }
            | Self::CancelCall { .. }
            | Self::SetTimer { .. }
            | Self::ClearTimer { .. }
            | Self::Finish => None,
        }
    }
}

/// Whether information has to be collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    Yes,
    /// The information is already known.
    Known,
}

/// The time a process gets to exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// SIGTERM, and SIGKILL some seconds later.
    Usual,
    /// SIGKILL without a delay.
    None,
}

/// The time when a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// After this much running time, independent of the wall clock.
    After(Duration),
    /// When the wall clock shows this time, even after a jump.
    At(Timestamp),
}

/// An attempt to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRequest {
    pub attempt: AttemptId,
    /// The maximum cost of the attempt.
    pub cap: Option<Usd>,
    /// The model to request.
    pub model: Option<String>,
    /// The parts of the prompt that do not come from files.
    pub briefing: Briefing,
}

/// A call to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRequest {
    pub call: CallId,
    pub purpose: CallPurpose,
    /// The maximum cost of the call.
    pub cap: Option<Usd>,
    pub question: String,
    /// The model to request; `None` for the agent's default.
    pub model: Option<String>,
    /// The tools that the call may use.
    pub tools: ToolAccess,
    /// The requested format of the answer.
    pub shape: AnswerFormat,
}

/// The requested format of an answer, for agent programs that support one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Free text without a format.
    Words,
    /// A verdict: yes or no, the reason, and the missing items.
    Verdict,
}
