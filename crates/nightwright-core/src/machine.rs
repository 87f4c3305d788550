//! The loop as a state machine without I/O: inputs in, events and effects out.
//!
//! ```text
//!            ┌────────────────────────────── delay ◀──────────────────────────────┐
//!            ▼                                                                    │
//!  New ──▶ Ready ──baseline, hook, disk, limits──▶ Iterating ──────────────────────────▶ Concluding
//!            │                           │ attempts ⇄ retry, limit wait           │
//!            │                           │ survey ▶ advise ▶ review ▶ council ▶ checks │
//!            │                           │ gate: checks ▶ changes ▶ model         │
//!            ▼                           ▼                                        ▼
//!          Ended ◀───────────────── stop now, auth, … ◀───────────────────────── Ended
//! ```
//!
//! *Durable* state lives in the [`Ledger`] and changes only by recording an event. It gives the
//! position of the run. *Live* state belongs to this process: what is running, and answers that
//! need not survive it. A crash loses the live state, and the next process asks again for what it
//! needs. Therefore every decision goes through `Machine::advance`, which starts from the position.

mod assess;
mod attempt;
mod baseline;
mod call;
mod checks;
mod council;
mod gains;
mod gate;
mod hooks;
pub mod interruption;
mod iteration;
pub mod ledger;
mod live_process;
mod operator;
pub mod resume;
pub mod state;
mod status_file;
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
use crate::effect::{Alarm, Effect, Step};
use crate::event::{Event, IterationKind, NoteEvent, Record, RunEvent, RunStarted};
use crate::hook::Hook;
use crate::input::{CheckPurpose, Input, Inspection, Prepared, Survey, TimerKey};
use crate::outcome::Outcome;
use crate::policy::limits;
use crate::sandbox::network::contacts::ContactNews;
use crate::units::{Fingerprint, Now, Ticket};

/// The longest delay after which the last survey of the project still counts as current.
const SHORT_DELAY: Duration = Duration::from_secs(10);

/// The maximum number of distinct one-time warnings that are remembered and recorded.
const MAX_WARNED: usize = 32;

/// The state machine of one run: durable ledger and live state.
#[derive(Clone, Debug)]
pub struct Machine {
    ledger: Ledger,
    live: Live,
    now: Now,
    /// The events and effects that the current input has produced so far.
    step: Step,
    /// The first event of a run that has not started; recorded at [`Input::Start`].
    first_event: Option<Box<RunStarted>>,
    /// How an earlier process left the run.
    interruption: Interruption,
}

/// The requests of this process and their answers. A crash loses this state.
#[derive(Clone, Debug, Default)]
struct Live {
    /// The request that is waiting for its answer.
    pending: Option<Pending>,
    /// The ticket of the last request.
    last_ticket: Ticket,
    attempt: Option<LiveAttempt>,
    call: Option<LiveCall>,
    /// The facts collected for the next iteration.
    setup: IterationSetup,
    /// The survey of the project after the last attempt or call.
    survey: Option<Box<Survey>>,
    /// The advisor's answer that is not yet part of a prompt.
    advice: Option<String>,
    /// Whether the last attempt did work, determined before the gate ran any command.
    work: Option<bool>,
    /// The fingerprint of the project that the gate is judging.
    judged: Option<Fingerprint>,
    /// The gate's findings in the changes.
    inspection: Option<Inspection>,
    /// Whether the baseline was taken. A later process takes none, because the agent may have
    /// worked since.
    baseline_taken: bool,
    /// Whether the hook `started` has run.
    started: bool,
    /// Hooks that still have to run for the last iteration. After a crash they are not repeated,
    /// because their side effects cannot be undone.
    pending_hooks: VecDeque<Hook>,
    /// Whether the delay after the last iteration has ended.
    delayed: bool,
    /// Whether the project is presumably unchanged since the last survey.
    untouched: bool,
    /// The outcome that is recorded as soon as nothing is running.
    abort_outcome: Option<Outcome>,
    /// Whether writing to the journal has failed.
    journal_failed: bool,
    /// The time at which the operator last skipped a wait.
    probed: Option<Duration>,
    /// The warnings that are given only once per run.
    warned: BTreeSet<String>,
    /// The active time up to the last input.
    active: Duration,
    /// The monotonic time of the last input.
    seen: Option<Duration>,
}

/// The facts collected for the next iteration.
#[derive(Clone, Debug, Default)]
struct IterationSetup {
    prepared: Option<Prepared>,
    hooked: bool,
}

/// A request that is waiting for its answer. There is never more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    ticket: Ticket,
    kind: PendingKind,
}

impl Pending {
    fn is_checks(self) -> bool {
        matches!(self.kind, PendingKind::Checks(_))
    }

    /// Whether the request only reads the project. Its file system may hang, and nothing can
    /// interrupt that.
    fn reads_project(self) -> bool {
        match self.kind {
            PendingKind::Prepare | PendingKind::Survey | PendingKind::Changes => true,
            PendingKind::Hook(_)
            | PendingKind::Checks(_)
            | PendingKind::Delay
            | PendingKind::Wait { .. } => false,
        }
    }
}

/// The kind of a pending request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingKind {
    Hook(Hook),
    Prepare,
    Survey,
    Checks(CheckPurpose),
    Changes,
    /// The delay between two iterations.
    Delay,
    /// A wait for a retry or a usage limit, with the monotonic time of its start.
    Wait {
        since: Duration,
    },
}

impl Machine {
    /// Creates a run that has not started.
    pub fn new(first_event: RunStarted) -> Self {
        Self {
            ledger: Ledger::default(),
            live: Live::default(),
            now: Now { wall: jiff::Timestamp::UNIX_EPOCH, mono: Duration::ZERO },
            step: Step::default(),
            first_event: Some(Box::new(first_event)),
            interruption: Interruption::NotStarted,
        }
    }

    /// Restores a run that an earlier process left, from its journal. It continues on
    /// [`Input::Resume`].
    pub fn resume<'a>(journal: impl IntoIterator<Item = &'a Record>) -> Self {
        let ledger = Ledger::replay(journal);
        let interruption = Interruption::of_state(&ledger);
        // The answer of the hook is not recorded, but later events are. Without later events, the
        // hook may not have run.
        let skipped = ledger.streaks.skips > 0;
        let started = skipped || ledger.last.is_some() || ledger.current().is_some();
        let baseline_taken = true;
        let live = Live { active: ledger.active, started, baseline_taken, ..Live::default() };
        Self {
            ledger,
            live,
            now: Now { wall: jiff::Timestamp::UNIX_EPOCH, mono: Duration::ZERO },
            step: Step::default(),
            first_event: None,
            interruption,
        }
    }

    /// The durable state, as recorded in the journal.
    pub fn state(&self) -> &State {
        &self.ledger
    }

    /// Processes an input and returns the resulting events and effects.
    pub fn handle(&mut self, now: Now, input: Input) -> Step {
        self.tick(now);
        match input {
            Input::Start => self.start(),
            Input::Resume(resume_data) => self.resume_run(resume_data),
            // After the end and before the start, inputs have no effect.
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
            Input::Contact(news) => self.host_contacted(news),
            Input::Warning { text } => self.warn(text),
            Input::JournalFailed { why } => self.journal_lost(Outcome::JournalFailed { why }),
            Input::JournalDamaged { why } => self.journal_lost(Outcome::JournalDamaged { why }),
        }
        std::mem::take(&mut self.step)
    }

    /// Ends the run, because its events can no longer be recorded.
    fn journal_lost(&mut self, outcome: Outcome) {
        self.live.journal_failed = true;
        self.abort_when_idle(outcome);
    }

    /// Adds the time since the last input, if it was active time.
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

    /// Whether the time that passes now counts as active time. Waits for limits and idle pauses do
    /// not count.
    fn is_at_work(&self) -> bool {
        let checking = self.live.pending.is_some_and(Pending::is_checks);
        let running = self.live.attempt.is_some() || self.live.call.is_some() || checking;
        self.ledger.wait.is_none() && (running || !self.ledger.paused)
    }

    /// The active time up to now.
    fn active(&self) -> Duration {
        self.live.active
    }

    /// Records an event. Durable state changes only here.
    fn record(&mut self, event: impl Into<Event>) {
        let record = Record { at: self.now.wall, active: self.active(), event: event.into() };
        self.ledger.record(&record);
        self.step.records.push(record);
    }

    fn effect(&mut self, effect: Effect) {
        self.step.effects.push(effect);
    }

    fn host_contacted(&mut self, news: ContactNews) {
        self.record(match news {
            ContactNews::Contacted(target) => NoteEvent::HostContacted { host: target.to_string() },
            ContactNews::Refused(refusal) => NoteEvent::HostRefused {
                host: refusal.target.to_string(),
                why: refusal.to_string(),
                setting: refusal.setting,
            },
        });
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.record(NoteEvent::Warning { text: text.into() });
    }

    /// Records a warning unless the same text was recorded before.
    fn warn_once(&mut self, text: String) {
        if self.live.warned.len() < MAX_WARNED && self.live.warned.insert(text.clone()) {
            self.warn(text);
        }
    }

    /// Creates a request; its answer carries the returned ticket.
    fn ask(&mut self, kind: PendingKind) -> Ticket {
        let ticket = self.live.last_ticket.next();
        self.live.last_ticket = ticket;
        let pending = Pending { ticket, kind };
        self.live.pending = Some(pending);
        if pending.reads_project() {
            let alarm = Alarm::After(limits::PROJECT_TIMEOUT);
            self.effect(Effect::SetTimer { key: TimerKey::Project(ticket), alarm });
        }
        ticket
    }

    /// Returns the pending request with this ticket and clears it.
    fn answered(&mut self, ticket: Ticket) -> Option<PendingKind> {
        let pending = self.live.pending.filter(|pending| pending.ticket == ticket)?;
        self.forget_pending();
        Some(pending.kind)
    }

    /// Stops waiting for the pending request.
    fn forget_pending(&mut self) {
        if let Some(pending) = self.live.pending.take()
            && pending.reads_project()
        {
            self.effect(Effect::ClearTimer { key: TimerKey::Project(pending.ticket) });
        }
    }

    fn start(&mut self) {
        let Some(first_event) = self.first_event.take() else {
            return;
        };
        self.record(RunEvent::Started(first_event));
        self.advance();
    }

    /// Takes the next step, unless something running has to end first.
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
                // Only a restored journal is in this stage: the process of the attempt has exited.
                Stage::Attempting { .. } => {}
            },
        }
    }

    fn current(&self) -> &Current {
        self.ledger.current().expect("asked only during an iteration")
    }

    fn timer(&mut self, key: TimerKey) {
        match key {
            TimerKey::Delay(ticket) => {
                if self.answered(ticket).is_some() {
                    self.live.delayed = true;
                    // During a longer delay a person may have edited files.
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
            TimerKey::Project(ticket) => {
                if self.answered(ticket).is_some() {
                    self.project_unresponsive();
                }
            }
        }
    }

    /// Ends the run with this outcome once nothing is running. Results of running work are
    /// discarded.
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
