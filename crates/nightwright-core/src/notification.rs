//! Notifications of a run, derived from the lines of its journal. This module decides which events
//! are worth a notification; the caller delivers it.
//!
//! ```text
//!   run_started ─▶ setup_complete          iteration_finished ─▶ iteration, iteration_milestone
//!   iteration_started, the first ─▶ execution_start
//!   status_changed ─▶ status_update        limit_wait_started ─▶ limit_wait
//!   blocker_reported ─▶ blocked            gate_finished, rejected ─▶ verification_failed
//!   run_finished ─▶ one of completion, stopped, error
//! ```
//!
//! Lines of an earlier process are not reported again. A run that is resumed after its end has two
//! outcomes, and both are reported.

#[cfg(test)]
mod tests;
mod text;

use jiff::Timestamp;

use crate::event::{Event, GateEvent, GateResult, IterationEvent, NoteEvent, RunEvent, WaitEvent};
use crate::journal::JournalLine;
use crate::outcome::{Outcome, OutcomeClass};
use crate::run_view::{self, RunView};
use crate::units::RunId;

/// The number of iterations between two milestones.
const MILESTONE: u32 = 10;

/// The subject of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotificationKind {
    /// The setup is complete: goal, mode and limits are known.
    SetupComplete,
    /// The first iteration starts.
    ExecutionStart,
    /// An iteration has ended.
    Iteration,
    /// Ten more iterations have ended.
    IterationMilestone,
    /// The task's status file changed in a relevant way.
    StatusUpdate,
    /// The run waits for a usage limit to reset.
    LimitWait,
    /// The run needs something that only a person can provide.
    Blocked,
    /// The gate rejected a claim of completion.
    VerificationFailed,
    /// The run has ended: the work is complete, or further iterations are pointless.
    Completion,
    /// The run has ended early: a limit, a request to stop, or a missing requirement.
    Stopped,
    /// The run has ended because of an error.
    Error,
    /// A test notification, requested by the user.
    Test,
}

impl NotificationKind {
    /// All kinds that a run can send, roughly in chronological order.
    pub const ALL: [Self; 11] = [
        Self::SetupComplete,
        Self::ExecutionStart,
        Self::Iteration,
        Self::IterationMilestone,
        Self::StatusUpdate,
        Self::LimitWait,
        Self::Blocked,
        Self::VerificationFailed,
        Self::Completion,
        Self::Stopped,
        Self::Error,
    ];

    /// The names of all kinds, in the order of [`Self::ALL`].
    pub const NAMES: [&'static str; 11] = {
        let mut names = [""; 11];
        let mut index = 0;
        while index < names.len() {
            names[index] = Self::ALL[index].name();
            index += 1;
        }
        names
    };

    /// The name in the configuration and in the payload.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SetupComplete => "setup_complete",
            Self::ExecutionStart => "execution_start",
            Self::Iteration => "iteration",
            Self::IterationMilestone => "iteration_milestone",
            Self::StatusUpdate => "status_update",
            Self::LimitWait => "limit_wait",
            Self::Blocked => "blocked",
            Self::VerificationFailed => "verification_failed",
            Self::Completion => "completion",
            Self::Stopped => "stopped",
            Self::Error => "error",
            Self::Test => "test",
        }
    }

    /// The kind with this name, among those that a run can send.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether the kind is enabled by default.
    pub fn is_usual(self) -> bool {
        // One notification per iteration would be too many.
        self != Self::Iteration
    }

    /// Whether the kind reports the outcome of a run. Every outcome sends exactly one of these.
    pub fn reports_outcome(self) -> bool {
        match self {
            Self::Completion | Self::Stopped | Self::Error => true,
            Self::SetupComplete
            | Self::ExecutionStart
            | Self::Iteration
            | Self::IterationMilestone
            | Self::StatusUpdate
            | Self::LimitWait
            | Self::Blocked
            | Self::VerificationFailed
            | Self::Test => false,
        }
    }

    /// The urgency of notifications of this kind.
    pub fn priority(self) -> Priority {
        match self {
            Self::Error => Priority::Urgent,
            Self::Completion | Self::Stopped | Self::Blocked => Priority::High,
            Self::SetupComplete
            | Self::ExecutionStart
            | Self::Iteration
            | Self::IterationMilestone
            | Self::StatusUpdate
            | Self::LimitWait
            | Self::VerificationFailed
            | Self::Test => Priority::Default,
        }
    }

    /// Tags for filtering. The first one is the name of an emoji, for services that support it.
    pub fn tags(self) -> [&'static str; 2] {
        let sign = match self {
            Self::SetupComplete => "clipboard",
            Self::ExecutionStart => "arrow_forward",
            Self::Iteration => "repeat",
            Self::IterationMilestone => "checkered_flag",
            Self::StatusUpdate => "bar_chart",
            Self::LimitWait => "hourglass",
            Self::Blocked => "raising_hand",
            Self::VerificationFailed => "mag",
            Self::Completion => "white_check_mark",
            Self::Stopped => "octagonal_sign",
            Self::Error => "rotating_light",
            Self::Test => "bell",
        };
        [sign, "nightwright"]
    }

    /// The kind of notification that an outcome sends.
    pub fn of_outcome(outcome: &Outcome) -> Self {
        match outcome.class() {
            OutcomeClass::Completed | OutcomeClass::Stagnated => Self::Completion,
            OutcomeClass::Limit
            | OutcomeClass::Blocked
            | OutcomeClass::Unverified
            | OutcomeClass::Stopped
            // The user asked for it, so it is not an error.
            | OutcomeClass::Interrupted => Self::Stopped,
            OutcomeClass::Failed => Self::Error,
        }
    }
}

/// The urgency of a notification, from low to high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// For information, no action needed.
    Default,
    /// Needs attention at some point.
    High,
    /// Needs attention right away.
    Urgent,
}

impl Priority {
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }
}

/// A notification about a run. All its strings are safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub kind: NotificationKind,
    pub run: RunId,
    /// The sequence number of the journal line that caused it.
    pub seq: u64,
    /// The time of that line.
    pub at: Timestamp,
    /// A title of one line.
    pub title: String,
    /// The body, a few lines long.
    pub text: String,
}

impl Notification {
    /// An identifier that stays the same when the notification is sent again.
    pub fn id(&self) -> String {
        format!("{}-{}-{}", self.run, self.seq, self.kind.name())
    }

    /// A notification for testing the delivery.
    pub fn test(run: RunId, at: Timestamp) -> Self {
        let title = "nightwright: test notification".to_owned();
        let text = "This is a test notification from nightwright. It belongs to no run.".to_owned();
        Self { kind: NotificationKind::Test, run, seq: 0, at, title, text }
    }
}

/// Derives notifications from the lines of a journal.
#[derive(Clone, Debug, Default)]
pub struct NotificationBuilder {
    view: RunView,
    /// The run and the sequence number of the last line.
    last: Option<(RunId, u64)>,
    /// Whether this process has reported the outcome. The outcome of an earlier process does not
    /// count: a resumed run ends again, and that outcome may fail to be recorded.
    outcome_sent: bool,
}

impl NotificationBuilder {
    /// Processes a line that an earlier process has already reported.
    pub fn past(&mut self, line: &JournalLine) {
        self.record(line);
    }

    /// Processes a new line and returns the notifications it causes.
    pub fn of(&mut self, line: &JournalLine) -> Vec<Notification> {
        let first = self.view.iteration.is_none();
        self.record(line);
        let kinds = kinds(&line.record.event, first);
        self.outcome_sent |= kinds.iter().any(|kind| kind.reports_outcome());
        kinds.into_iter().map(|kind| self.notification(kind, line)).collect()
    }

    /// The notification of the outcome, unless it was already sent. This covers outcomes that could
    /// not be recorded.
    pub fn outcome(
        &mut self,
        finished: run_view::FinalOutcome,
        at: Timestamp,
    ) -> Option<Notification> {
        if self.outcome_sent {
            return None;
        }
        self.outcome_sent = true;
        let kind = NotificationKind::of_outcome(&finished.outcome);
        self.view.finished = Some(finished);
        // A run that never started has nothing to report.
        let (run, last) = self.last.clone()?;
        let (title, text) = self.title_and_text(kind, &run, None);
        Some(Notification { kind, run, seq: last + 1, at, title, text })
    }

    fn record(&mut self, line: &JournalLine) {
        self.view.record(&line.record);
        self.last = Some((line.run.clone(), line.seq));
    }

    fn notification(&self, kind: NotificationKind, line: &JournalLine) -> Notification {
        let (title, text) = self.title_and_text(kind, &line.run, Some(&line.record.event));
        let (run, seq, at) = (line.run.clone(), line.seq, line.record.at);
        Notification { kind, run, seq, at, title, text }
    }
}

/// The kinds of notification that an event causes. `first` says that no iteration has started
/// before it.
fn kinds(event: &Event, first: bool) -> Vec<NotificationKind> {
    match event {
        Event::Run(RunEvent::Started(_)) => vec![NotificationKind::SetupComplete],
        Event::Run(RunEvent::Finished { outcome, .. }) => {
            vec![NotificationKind::of_outcome(outcome)]
        }
        Event::Iteration(IterationEvent::Started { .. }) if first => {
            vec![NotificationKind::ExecutionStart]
        }
        Event::Iteration(IterationEvent::Finished(finished)) => {
            let number = finished.iteration.0;
            let milestone = number > 0 && number.is_multiple_of(MILESTONE);
            let more = milestone.then_some(NotificationKind::IterationMilestone);
            [NotificationKind::Iteration].into_iter().chain(more).collect()
        }
        Event::Wait(WaitEvent::Started { .. }) => vec![NotificationKind::LimitWait],
        Event::Gate(GateEvent::Finished { result }) => match result {
            GateResult::Rejected { .. } | GateResult::Inconclusive { .. } => {
                vec![NotificationKind::VerificationFailed]
            }
            // The outcome that follows is reported instead.
            GateResult::Passed { .. }
            | GateResult::Impossible { .. }
            | GateResult::Unaffordable { .. } => Vec::new(),
        },
        Event::Note(NoteEvent::StatusChanged { .. }) => vec![NotificationKind::StatusUpdate],
        Event::Note(NoteEvent::BlockerReported { .. }) => vec![NotificationKind::Blocked],
        Event::Run(_)
        | Event::Iteration(_)
        | Event::Attempt(_)
        | Event::Call(_)
        | Event::Wait(_)
        | Event::Gate(_)
        | Event::Operator(_)
        | Event::Note(_) => Vec::new(),
    }
}
