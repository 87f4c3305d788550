//! What people who are elsewhere are told of a run: a fold over the lines of its journal that gives
//! notices. Whoever sends them knows how; what is worth sending is decided here.
//!
//! ```text
//!   run_started ─▶ setup_complete          iteration_finished ─▶ iteration, iteration_milestone
//!   iteration_started, the first ─▶ execution_start
//!   status_changed ─▶ status_update        limit_wait_started ─▶ limit_wait
//!   blocker_reported ─▶ blocked            gate_finished, not believed ─▶ verification_failed
//!   run_finished ─▶ one of completion, stopped, error
//! ```
//!
//! Lines of an earlier process are known and not told again. A run that goes on after its end and
//! ends once more has two endings, and both are told.

#[cfg(test)]
mod tests;
mod text;

use jiff::Timestamp;

use crate::event::{Event, GateEvent, GateResult, IterationEvent, NoteEvent, RunEvent, WaitEvent};
use crate::journal::JournalLine;
use crate::outcome::{Outcome, OutcomeClass};
use crate::run_view::{self, RunView};
use crate::units::RunId;

/// Every so many iterations there is a milestone.
const MILESTONE: u32 = 10;

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotificationKind {
    /// Everything is in place: what is to be done, how, and how far it may go.
    SetupComplete,
    /// The first iteration begins.
    ExecutionStart,
    /// An iteration is over.
    Iteration,
    /// Ten more iterations are over.
    IterationMilestone,
    /// The status file of the task changed in a way that matters.
    StatusUpdate,
    /// A limit has to be waited out.
    LimitWait,
    /// Something is needed that only a person can give.
    Blocked,
    /// Completion was claimed and not believed.
    VerificationFailed,
    /// The run is over: done, or nothing comes of it any more.
    Completion,
    /// The run is over before the work was: a limit, a wish, something that is missing.
    Stopped,
    /// The run is over because something is wrong.
    Error,
    /// Nothing happened: somebody wants to see a notice arrive.
    Test,
}

impl NotificationKind {
    /// All that a run can send, in the order in which they are likely to come.
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

    /// Their names.
    pub const NAMES: [&'static str; 11] = {
        let mut names = [""; 11];
        let mut index = 0;
        while index < names.len() {
            names[index] = Self::ALL[index].name();
            index += 1;
        }
        names
    };

    /// Its name in the configuration and in what is sent.
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

    /// The kind of this name, of those that a run can send.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it is sent when nobody says what is to be.
    pub fn is_usual(self) -> bool {
        // One for each would be a nuisance by the second night.
        self != Self::Iteration
    }

    /// Whether it tells how a run ended. Every ending sends exactly one of these.
    pub fn is_ending(self) -> bool {
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

    /// How much it matters.
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

    /// Words by which it can be sorted; where signs are shown, the first one is a sign.
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
            // Somebody asked for it: that is no error.
            | OutcomeClass::Interrupted => Self::Stopped,
            OutcomeClass::Failed => Self::Error,
        }
    }
}

/// How much a notice matters, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Good to know.
    Default,
    /// Somebody should look.
    High,
    /// Somebody should look now.
    Urgent,
}

impl Priority {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }
}

/// Something that people who are elsewhere are told. All of it is safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// What it is about.
    pub kind: NotificationKind,
    /// The run.
    pub run: RunId,
    /// The line of the journal that it is about.
    pub seq: u64,
    /// When that happened.
    pub at: Timestamp,
    /// One line.
    pub title: String,
    /// A few lines.
    pub text: String,
}

impl Notification {
    /// Tells this notice from every other, however often it is sent.
    pub fn id(&self) -> String {
        format!("{}-{}-{}", self.run, self.seq, self.kind.name())
    }

    /// One that tells of nothing, to see one arrive.
    pub fn test(run: RunId, at: Timestamp) -> Self {
        let title = "nightwright: a test".to_owned();
        let text =
            "This is what a notification of nightwright looks like. Nothing happened.".to_owned();
        Self { kind: NotificationKind::Test, run, seq: 0, at, title, text }
    }
}

/// The fold.
#[derive(Clone, Debug, Default)]
pub struct NotificationFold {
    view: RunView,
    /// The run and the number of the last line.
    last: Option<(RunId, u64)>,
    /// Whether an iteration has begun.
    begun: bool,
    /// Whether this process has told the ending.
    ended: bool,
}

impl NotificationFold {
    /// Something that an earlier process has told.
    pub fn past(&mut self, line: &JournalLine) {
        self.note(line);
    }

    /// What is to be told of something that happened.
    pub fn of(&mut self, line: &JournalLine) -> Vec<Notification> {
        let first = !self.begun;
        self.note(line);
        // An ending of the past was another one: whoever goes on after it ends anew, whether that
        // could be recorded or not.
        self.ended |= matches!(line.record.event, Event::Run(RunEvent::Finished { .. }));
        let kinds = Self::kinds(&line.record.event, first);
        kinds.into_iter().map(|kind| self.notification(kind, line)).collect()
    }

    /// The ending, if it was not told: one that could not be recorded is one all the same.
    pub fn ending(
        &mut self,
        ending: run_view::FinalOutcome,
        at: Timestamp,
    ) -> Option<Notification> {
        if self.ended {
            return None;
        }
        self.ended = true;
        let kind = NotificationKind::of_outcome(&ending.outcome);
        self.view.ending = Some(ending);
        // There is nothing to tell of a run that never began.
        let (run, last) = self.last.clone()?;
        let (title, text) = self.title_and_text(kind, &run, None);
        Some(Notification { kind, run, seq: last + 1, at, title, text })
    }

    fn note(&mut self, line: &JournalLine) {
        self.view.record(&line.record);
        self.last = Some((line.run.clone(), line.seq));
        let event = &line.record.event;
        self.begun |= matches!(event, Event::Iteration(IterationEvent::Started { .. }));
    }

    /// What an event is worth telling as; `first` = no iteration has begun before it.
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
                // The outcome that follows from it says so.
                GateResult::Passed { .. } | GateResult::Unaffordable { .. } => Vec::new(),
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

    fn notification(&self, kind: NotificationKind, line: &JournalLine) -> Notification {
        let (title, text) = self.title_and_text(kind, &line.run, Some(&line.record.event));
        let (run, seq, at) = (line.run.clone(), line.seq, line.record.at);
        Notification { kind, run, seq, at, title, text }
    }
}
