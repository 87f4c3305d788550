//! What the machine asks the world to do.

use std::time::Duration;

use jiff::Timestamp;

use crate::event::{CallPurpose, Event, IterationEvent, Record, RunEvent};
use crate::hook::Hook;
use crate::input::{CheckPurpose, TimerKey};
use crate::prompt::Briefing;
use crate::stream::dialect::ToolAccess;
use crate::stream::outcome::CancelReason;
use crate::units::{AttemptId, CallId, Iteration, Ticket, Usd};

/// The machine's answer to one input: decisions already taken, and requests that follow from them.
#[must_use = "a step that is not written down and carried out is lost"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// To be recorded first.
    pub records: Vec<Record>,
    /// To be carried out then, in this order.
    pub effects: Vec<Effect>,
}

impl Step {
    /// Whether nothing was decided.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.effects.is_empty()
    }

    /// The events, without their times.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.records.iter().map(|record| &record.event)
    }

    /// Whether the records have to be on disk before the effects begin.
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

/// A request to the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Run a hook of the user's.
    RunHook {
        /// For the answer.
        ticket: Ticket,
        /// Which.
        hook: Hook,
    },
    /// Look at the project and the disk before an iteration.
    Prepare {
        /// For the answer.
        ticket: Ticket,
        /// Whether the state of the project is needed, or known from the previous iteration.
        mark: Needed,
    },
    /// Compose the prompt and start the agent.
    StartAttempt(Box<AttemptRequest>),
    /// Say something more into a running session.
    Nudge {
        /// Whose.
        attempt: AttemptId,
        /// What.
        text: String,
    },
    /// Close the input of a running session: it has been told everything.
    CloseInput {
        /// Whose.
        attempt: AttemptId,
    },
    /// End an attempt.
    CancelAttempt {
        /// Which.
        attempt: AttemptId,
        /// Why; it goes into the classification.
        why: CancelReason,
        /// How much time it has to leave.
        grace: Grace,
    },
    /// Look at the project after an attempt.
    Survey {
        /// For the answer.
        ticket: Ticket,
        /// The iteration whose start it is compared with.
        iteration: Iteration,
    },
    /// Run the checks.
    RunChecks {
        /// For the answer.
        ticket: Ticket,
        /// What they are run for.
        purpose: CheckPurpose,
        /// The time that all of them have together. With it, every check runs; without it, each has its
        /// own deadline, and the first failure is the last.
        budget: Option<Duration>,
    },
    /// End the checks.
    CancelChecks {
        /// Which.
        ticket: Ticket,
        /// How much time they have to leave.
        grace: Grace,
    },
    /// Look through the changes since the run began.
    InspectChanges {
        /// For the answer.
        ticket: Ticket,
    },
    /// Use the agent for something else than work.
    StartCall(Box<CallRequest>),
    /// End a call.
    CancelCall {
        /// Which.
        call: CallId,
        /// Why; it goes into the classification.
        why: CancelReason,
        /// How much time it has to leave.
        grace: Grace,
    },
    /// Wake the machine later. A timer already set with this key is replaced.
    SetTimer {
        /// What for.
        key: TimerKey,
        /// When.
        alarm: Alarm,
    },
    /// Forget a timer.
    ClearTimer {
        /// Which.
        key: TimerKey,
    },
    /// The run is over: end what is still there and leave.
    Finish,
}

impl Effect {
    /// Whether it spends, changes or signals: then the events it follows from have to be on disk
    /// before it begins. Timers and reads need not wait.
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
}

/// Whether something has to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// Yes.
    Yes,
    /// It is known already.
    Known,
}

/// How much time a process has to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// SIGTERM, some seconds, SIGKILL.
    Usual,
    /// SIGKILL.
    None,
}

/// When a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// After this much running time; a wall clock that jumps does not touch it.
    After(Duration),
    /// When the wall clock shows this, however it got there.
    At(Timestamp),
}

/// An attempt to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRequest {
    /// Its id.
    pub attempt: AttemptId,
    /// What it may cost.
    pub cap: Option<Usd>,
    /// The model to ask for.
    pub model: Option<String>,
    /// What its prompt has to say beside the files.
    pub briefing: Briefing,
}

/// A call to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRequest {
    /// Its id.
    pub call: CallId,
    /// What for.
    pub purpose: CallPurpose,
    /// What it may cost.
    pub cap: Option<Usd>,
    /// The question.
    pub question: String,
    /// The model to ask for; `None` = the agent's own choice.
    pub model: Option<String>,
    /// What it may use.
    pub tools: ToolAccess,
    /// The shape of the answer.
    pub shape: AnswerFormat,
}

/// The shape that the answer to a call is asked for in, where the agent program can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Words.
    Words,
    /// A verdict: yes or no, the reason, what is missing.
    Verdict,
}
