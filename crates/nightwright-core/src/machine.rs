//! The loop as a state machine that knows nothing of the world.
//!
//! ```text
//!            ┌────────────────────────────── delay ◀──────────────────────────────┐
//!            ▼                                                                    │
//!  New ──▶ Ready ──baseline, hook, disk, limits──▶ Iterating ──────────────────────────▶ Concluding
//!            │                           │ attempts ⇄ retry, limit wait           │
//!            │                           │ survey ▶ advise ▶ review ▶ council     │
//!            │                           │ gate: checks ▶ changes ▶ model         │
//!            ▼                           ▼                                        ▼
//!          Ended ◀───────────────── stop now, auth, … ◀───────────────────────── Ended
//! ```
//!
//! *Durable* state lives in the [`Ledger`] and changes only by recording an event. *Live* state
//! belongs to this process: what was asked of the world and has not been answered yet. After a
//! crash the live state is gone, and the durable state alone says what comes next. That is why
//! every decision goes through `Machine::advance`, which looks at the durable state and nothing
//! else to find out where the run is.

mod assess;
mod attempt;
mod baseline;
mod call;
mod council;
mod gate;
mod hooks;
pub mod interruption;
mod iteration;
pub mod ledger;
mod live;
mod operator;
pub mod resume;
pub mod state;
mod status;
mod watchdog;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod stories;
#[cfg(test)]
mod story;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use self::attempt::LiveAttempt;
use self::call::LiveCall;
use self::interruption::Interruption;
use self::ledger::{Current, Ledger, Phase, Stage, State};
use crate::effect::{Effect, Step};
use crate::event::{Event, IterationKind, NoteEvent, Record, RunEvent, RunStarted};
use crate::hook::Hook;
use crate::input::{Input, Inspection, Prepared, Survey, TimerKey};
use crate::outcome::Outcome;
use crate::units::{Fingerprint, Now, Ticket};

/// A delay that leaves nobody time to edit anything.
const SHORT_DELAY: Duration = Duration::from_secs(10);

/// So many different things that every attempt would tell again are remembered, and told.
const MAX_WARNED: usize = 32;

/// One run.
#[derive(Clone, Debug)]
pub struct Machine {
    ledger: Ledger,
    live: Live,
    /// The time of the input being handled.
    now: Now,
    /// The answer being put together.
    step: Step,
    /// What a run that has not begun yet will be told.
    opening: Option<Box<RunStarted>>,
    /// How an earlier process left it.
    interruption: Interruption,
}

/// What this process has asked for and what it was answered. It dies with the process.
#[derive(Clone, Debug, Default)]
struct Live {
    /// The request whose answer is waited for.
    pending: Option<Pending>,
    /// The last request made.
    last_ticket: Ticket,
    /// The running attempt.
    attempt: Option<LiveAttempt>,
    /// The running call.
    call: Option<LiveCall>,
    /// What was found out for the iteration that is about to begin.
    opening: IterationSetup,
    /// The project after the last attempt or call.
    survey: Option<Box<Survey>>,
    /// What an advisor said that the next iteration has not been told yet.
    advice: Option<String>,
    /// Whether the last attempt did work, as it was before the gate ran anything.
    work: Option<bool>,
    /// The project that the gate is judging.
    judged: Option<Fingerprint>,
    /// What the gate found in the changes.
    inspection: Option<Inspection>,
    /// Whether the baseline was taken. A later process takes none: the agent may have been at work.
    baseline_taken: bool,
    /// Whether the hook `started` has been asked.
    started: bool,
    /// Hooks that are still to be told of the last iteration. A crash in between tells none of them
    /// again: what they did is not ours to undo.
    pending_hooks: VecDeque<Hook>,
    /// Whether the delay after the last iteration is over.
    delayed: bool,
    /// Whether the project is still as the last survey found it, as far as anybody can know.
    untouched: bool,
    /// The end that follows as soon as nothing runs any more.
    abort_outcome: Option<Outcome>,
    /// Whether the journal takes nothing any more.
    journal_failed: bool,
    /// When the operator last wanted to try at once.
    probed: Option<Duration>,
    /// What was warned of, where once is enough.
    warned: BTreeSet<String>,
    /// Time at work up to the last input.
    active: Duration,
    /// The monotonic time of the last input.
    seen: Option<Duration>,
}

/// What was found out for the iteration that is about to begin.
#[derive(Clone, Debug, Default)]
struct IterationSetup {
    prepared: Option<Prepared>,
    hooked: bool,
}

/// A request whose answer is waited for. There is never more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    ticket: Ticket,
    kind: PendingKind,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingKind {
    Hook(Hook),
    Prepare,
    Survey,
    Checks,
    Changes,
    /// A pause between two iterations.
    Delay,
    /// A retry or a limit; since this moment of the monotonic clock.
    Wait {
        since: Duration,
    },
}

impl Machine {
    /// A run that is about to begin.
    pub fn new(opening: RunStarted) -> Self {
        Self {
            ledger: Ledger::default(),
            live: Live::default(),
            now: Now { wall: jiff::Timestamp::UNIX_EPOCH, mono: Duration::ZERO },
            step: Step::default(),
            opening: Some(Box::new(opening)),
            interruption: Interruption::NotStarted,
        }
    }

    /// A run that an earlier process left, as its journal tells it. It goes on when it is given
    /// [`Input::Resume`].
    pub fn resume<'a>(journal: impl IntoIterator<Item = &'a Record>) -> Self {
        let ledger = Ledger::replay(journal);
        let interruption = Interruption::of_state(&ledger);
        // The hook's word is not recorded, but what came after it is. A run that died before all
        // of that may not have had it.
        let skipped = ledger.streaks.skips > 0;
        let started = skipped || ledger.last.is_some() || ledger.current().is_some();
        let baseline_taken = true;
        let live = Live { active: ledger.active, started, baseline_taken, ..Live::default() };
        Self {
            ledger,
            live,
            now: Now { wall: jiff::Timestamp::UNIX_EPOCH, mono: Duration::ZERO },
            step: Step::default(),
            opening: None,
            interruption,
        }
    }

    /// The durable state.
    pub fn state(&self) -> &State {
        &self.ledger
    }

    /// Takes notice of something and decides what follows.
    pub fn handle(&mut self, now: Now, input: Input) -> Step {
        self.tick(now);
        match input {
            Input::Start => self.start(),
            Input::Resume(resume_data) => self.resume_run(resume_data),
            // Nothing is decided after the end, and nothing before the beginning.
            _ if matches!(self.ledger.phase, Phase::Ended(_) | Phase::New) => {}
            Input::Agent(id, news) => self.agent_news(id, news),
            Input::Call(id, news) => self.call_news(id, news),
            Input::Timer(key) => self.timer(key),
            Input::Control(control) => self.control(control),
            Input::Status(report) => self.status_read(&report),
            Input::Hook(ticket, answer) => self.hook_answered(ticket, answer),
            Input::Prepared(ticket, prepared) => self.prepared(ticket, prepared),
            Input::Surveyed(ticket, survey) => self.surveyed(ticket, survey),
            Input::Checked(ticket, report) => self.checked(ticket, report),
            Input::Inspected(ticket, inspection) => self.inspected(ticket, *inspection),
            Input::Trouble { text } => self.warn(text),
            Input::JournalFailed { why } => {
                self.live.journal_failed = true;
                self.abort_when_idle(Outcome::JournalFailed { why });
            }
        }
        std::mem::take(&mut self.step)
    }

    /// Counts the time since the last input, if it was time at work.
    fn tick(&mut self, now: Now) {
        let now = now.in_millis();
        if let Some(seen) = self.live.seen
            && self.is_at_work()
        {
            self.live.active += now.mono.saturating_sub(seen);
        }
        self.live.seen = Some(now.mono);
        self.now = now;
    }

    /// Waits for limits are no time at work, nor are pauses in which nothing runs.
    fn is_at_work(&self) -> bool {
        let asked = self.live.pending.is_some_and(|pending| pending.kind == PendingKind::Checks);
        let running = self.live.attempt.is_some() || self.live.call.is_some() || asked;
        self.ledger.wait.is_none() && (running || !self.ledger.paused)
    }

    /// Time at work up to now.
    fn active(&self) -> Duration {
        self.live.active
    }

    /// The one door through which durable state changes.
    fn record(&mut self, event: impl Into<Event>) {
        let record = Record { at: self.now.wall, active: self.active(), event: event.into() };
        self.ledger.record(&record);
        self.step.records.push(record);
    }

    fn effect(&mut self, effect: Effect) {
        self.step.effects.push(effect);
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.record(NoteEvent::Warning { text: text.into() });
    }

    /// Warns of something that every attempt would tell again.
    fn warn_once(&mut self, text: String) {
        if self.live.warned.len() < MAX_WARNED && self.live.warned.insert(text.clone()) {
            self.warn(text);
        }
    }

    /// Makes a request whose answer carries the ticket.
    fn ask(&mut self, kind: PendingKind) -> Ticket {
        let ticket = self.live.last_ticket.next();
        self.live.last_ticket = ticket;
        self.live.pending = Some(Pending { ticket, kind });
        ticket
    }

    /// Whether this is the answer that is waited for; if so, it is waited for no longer.
    fn answered(&mut self, ticket: Ticket) -> Option<PendingKind> {
        let pending = self.live.pending.filter(|pending| pending.ticket == ticket)?;
        self.live.pending = None;
        Some(pending.kind)
    }

    fn start(&mut self) {
        let Some(opening) = self.opening.take() else {
            return;
        };
        self.record(RunEvent::Started(opening));
        self.advance();
    }

    /// Takes the next step, if nothing is going on that has to end first.
    fn advance(&mut self) {
        if self.live.pending.is_some() || self.live.attempt.is_some() || self.live.call.is_some() {
            return;
        }
        if let Some(outcome) = self.live.abort_outcome.clone() {
            return self.abort_now(outcome);
        }
        match &self.ledger.phase {
            Phase::New | Phase::Ended(_) => {}
            Phase::Ready => self.before_iteration(),
            Phase::Concluding => self.after_iteration(),
            Phase::Iterating(current) => match current.stage {
                Stage::Begun if current.kind == IterationKind::VerifyOnly => self.verify_only(),
                Stage::Begun | Stage::Retrying { .. } => self.next_attempt(),
                Stage::Attempted => self.conclude_attempt(),
                // Only a journal ends like this: the process that ran it is gone.
                Stage::Attempting { .. } => {}
            },
        }
    }

    /// The iteration that is going on.
    fn current(&self) -> &Current {
        self.ledger.current().expect("asked only during an iteration")
    }

    fn timer(&mut self, key: TimerKey) {
        match key {
            TimerKey::Delay(ticket) => {
                if self.answered(ticket).is_some() {
                    self.live.delayed = true;
                    // After a longer one somebody may well have edited something.
                    self.live.untouched &= self.ledger.settings.delay <= SHORT_DELAY;
                    self.advance();
                }
            }
            TimerKey::Wait(ticket) => {
                if let Some(PendingKind::Wait { since }) = self.answered(ticket) {
                    self.wait_ended(crate::event::WaitEnd::Elapsed, since);
                    self.advance();
                }
            }
            TimerKey::Attempt(id) => self.attempt_deadline(id),
            TimerKey::Call(id) => self.call_deadline(id),
        }
    }

    /// The run cannot go on. What runs is ended first; nothing is concluded from it.
    fn abort_when_idle(&mut self, outcome: Outcome) {
        if self.live.abort_outcome.is_none() {
            self.live.abort_outcome = Some(outcome);
        }
        self.cancel_everything();
        self.advance();
    }

    fn abort_now(&mut self, outcome: Outcome) {
        if self.ledger.current().is_some() {
            self.interrupt_iteration();
        }
        self.finish(outcome, None);
    }
}
