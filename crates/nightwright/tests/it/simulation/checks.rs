//! The rules that hold in every run, asked after every step.

mod book;
mod outcomes;

use std::collections::BTreeSet;
use std::time::Duration;

use nightwright::agent::NewsSource;
use nightwright::runtime::supervisor::RunOutcome;
use nightwright::store::journal::FileLayer as _;
use nightwright_core::effect::{AttemptRequest, CallRequest, Effect};
use nightwright_core::event::{
    Event, IterationEvent, OperatorEvent, Record, RunEvent, StopWhen, Totals,
};
use nightwright_core::input::{Input, TimerKey};
use nightwright_core::machine::ledger::{Ledger, Stage, State};
use nightwright_core::policy::limits::{MIN_COST, MIN_TIME};
use nightwright_core::stream::news::AgentNews;
use nightwright_core::units::{AttemptId, CallId, Ticket, Usd};
use tokio::time::Instant;

use self::book::EventAccount;
use super::dice::Dice;
use crate::fake_disk::{FakeDisk, FakeFile};

/// A stop at once takes no longer than this, whatever the agent does.
const STOP_NOW: Duration = Duration::from_secs(12);

/// The facts about a run as seen from outside. The state of the machine must agree with them.
#[derive(Default)]
pub(super) struct Invariants {
    /// The fold of all reported events.
    ledger: Ledger,
    recorded: Vec<Record>,
    book: EventAccount,
    /// The events that a sync has acknowledged.
    safe: Vec<u8>,
    /// Whether the disk has let down the process that lives now.
    failed: bool,
    ever_failed: bool,
    /// The attempt or call that runs.
    running: Option<NewsSource>,
    /// Questions without an answer, and those answered.
    owed: BTreeSet<Ticket>,
    answered: Vec<Ticket>,
    /// The last ones ever started.
    last: (AttemptId, CallId),
    /// Attempts and calls ever started.
    started: u32,
    /// Whether the current input belongs to something that has ended.
    stray: bool,
    stopped: Option<Instant>,
    /// Whether this process has told the end, and then left.
    ended: bool,
    left: bool,
}

impl Invariants {
    /// A process begins with what it finds on disk.
    pub(super) fn reopened(&mut self, records: &[Record], disk: &FakeDisk) {
        assert!(disk.contents().starts_with(&self.safe), "an acknowledged event is lost");
        let known = self.recorded.len().min(records.len());
        assert!(self.recorded[..known] == records[..known], "the journal tells another story");
        self.ledger = Ledger::replay(records);
        self.recorded = records.to_vec();
        self.book = EventAccount::anew(&self.book);
        for record in records {
            self.book.take(record);
        }
        self.book.jumped = Duration::ZERO;
        self.failed = false;
        self.running = None;
        self.owed.clear();
        self.answered.clear();
        self.stray = false;
        self.stopped = None;
        self.ended = false;
        self.left = false;
    }

    /// Records a change of the system clock.
    pub(super) fn jumped(&mut self, by: Duration) {
        self.book.jumped += by;
    }

    pub(super) fn state(&self) -> &State {
        &self.ledger
    }

    /// Everything recorded so far is safe from now on.
    pub(super) fn synced(&mut self, disk: &FakeDisk, file: &FakeFile) {
        let length = usize::try_from(file.facts().expect("facts").length).expect("small");
        let known = self.safe.len();
        self.safe.resize((length - disk.volatile()).max(known), 0);
        let read = file.read_at(known as u64, &mut self.safe[known..]).expect("bytes");
        assert_eq!(known + read, self.safe.len(), "an acknowledged event is gone");
    }

    /// The first failure ends recording. After a second one, only the outcome may be recorded.
    pub(super) fn journal_failed(&mut self) {
        self.book.has_gaps |= self.failed;
        self.failed = true;
        self.ever_failed = true;
    }

    /// Something happens and is about to be decided upon.
    pub(super) fn input(&mut self, input: &Input) {
        assert!(!self.left, "something is decided after the end: {input:?}");
        if !matches!(input, Input::Resume(_)) {
            self.follows_stops();
        }
        self.stray = match input {
            Input::Agent(id, _) | Input::Timer(TimerKey::Attempt(id)) => {
                self.running != Some(NewsSource::Attempt(*id))
            }
            Input::Call(id, _) | Input::Timer(TimerKey::Call(id)) => {
                self.running != Some(NewsSource::Call(*id))
            }
            Input::Hook(ticket, _)
            | Input::Prepared(ticket, _)
            | Input::Surveyed(ticket, _)
            | Input::Checked(ticket, _)
            | Input::Inspected(ticket, _) => {
                self.answered.push(*ticket);
                !self.owed.remove(ticket)
            }
            Input::Timer(TimerKey::Wait(ticket) | TimerKey::Project(ticket)) => {
                self.answered.contains(ticket)
            }
            Input::Start
            | Input::Resume(_)
            | Input::Timer(TimerKey::Delay(_))
            | Input::Control(_)
            | Input::Status(_)
            | Input::Contact(_)
            | Input::Warning { .. }
            | Input::JournalFailed { .. }
            | Input::JournalDamaged { .. } => false,
        };
        if let Input::Agent(_, AgentNews::Exited(report))
        | Input::Call(_, AgentNews::Exited(report)) = input
            && !self.stray
        {
            self.running = None;
            self.book.reported = report.cost;
        }
        if let Input::Resume(salvage) = input {
            let reported = salvage.report.as_ref().and_then(|report| report.cost);
            let usual = self.usual_cost();
            // A lower cost is an estimate.
            self.book.reported = reported.filter(|cost| *cost >= usual);
        }
    }

    /// Once a stop is asked for, nothing but what runs keeps the run from its end.
    fn follows_stops(&self) {
        if let Some(stopped) = self.stopped {
            assert!(stopped.elapsed() <= STOP_NOW, "stop now takes {:?}", stopped.elapsed());
        }
        let asked = self.ledger.stop.is_some();
        let idle = self.running.is_none() && self.owed.is_empty();
        assert!(!asked || !idle || self.failed, "a stop is not followed");
    }

    pub(super) fn is_stray(&self) -> bool {
        self.stray
    }

    /// A batch was recorded.
    pub(super) fn recorded(&mut self, records: &[Record]) {
        assert!(!self.stray || records.is_empty(), "something follows from stale news");
        // Only a final kill does not wait for the process.
        let ends = records
            .iter()
            .any(|record| matches!(record.event, Event::Run(RunEvent::Finished { .. })));
        for record in records {
            self.ledger.record(record);
            self.book.take(record);
            match record.event {
                Event::Operator(OperatorEvent::StopRequested { when: StopWhen::Now, .. }) => {
                    self.stopped = Some(Instant::now());
                }
                Event::Iteration(IterationEvent::Finished(_)) if !ends => {
                    assert_eq!(self.running, None, "an iteration ends before its attempt");
                }
                _ => {}
            }
        }
        self.ended |= ends;
        self.recorded.extend_from_slice(records);
    }

    /// Something is about to be carried out.
    pub(super) fn effect(&mut self, effect: &Effect, state: &State, disk: &FakeDisk) {
        assert!(!self.stray, "something is done because of stale news");
        assert!(!self.left, "something is done after the end");
        let whole = *effect == Effect::Finish && self.ended;
        if !self.failed || (whole && !self.book.has_gaps) {
            assert!(*self.ledger == *state, "a replay gives another state than the machine has");
            if effect.needs_durable_past() {
                assert_eq!(disk.volatile(), 0, "it begins before its past is safe");
            }
        }
        match effect {
            Effect::StartAttempt(request) => self.attempt_starts(request, state),
            Effect::StartCall(request) => self.call_starts(request, state),
            Effect::RunHook { ticket, .. } | Effect::RunChecks { ticket, .. } => {
                assert_ne!(state.stop, Some(StopWhen::Now), "it begins after stop now");
                self.owed.insert(*ticket);
            }
            Effect::Prepare { ticket, .. }
            | Effect::Survey { ticket, .. }
            | Effect::InspectChanges { ticket } => {
                self.owed.insert(*ticket);
            }
            Effect::Finish => self.left = true,
            Effect::Nudge { .. }
            | Effect::CloseInput { .. }
            | Effect::CancelAttempt { .. }
            | Effect::CancelChecks { .. }
            | Effect::CancelCall { .. }
            | Effect::SetTimer { .. }
            | Effect::ClearTimer { .. } => {}
        }
        assert!(self.owed.len() <= 1, "two questions at a time");
    }

    /// The mean cost of what ran when the process died, and at least a cent.
    fn usual_cost(&self) -> Usd {
        let call = self.ledger.current().and_then(|current| current.call);
        let purpose = call.map_or(Totals::WORK, |call| call.purpose.name());
        let spend = self.ledger.totals.by_purpose.get(purpose).copied().unwrap_or_default();
        spend.cost.per(u64::from(spend.count)).max(Usd::from_cents(1))
    }

    fn attempt_starts(&mut self, request: &AttemptRequest, state: &State) {
        let (id, cap) = (request.attempt, request.cap);
        self.use_starts(NewsSource::Attempt(id), cap, state);
        assert!(id > self.last.0, "attempt {id} was there before");
        self.last.0 = id;
        let begun = state.current().map(|current| current.stage.clone());
        assert_eq!(begun, Some(Stage::Attempting { attempt: id, cap }), "off the record");
        assert_eq!(state.stop, None, "an attempt starts after a stop");
        let limits = &state.settings.limits;
        if let Some(max) = limits.max_cost {
            let cap = cap.expect("a limit gives a cap");
            assert!(cap >= MIN_COST && state.totals.cost + cap <= max, "beyond max_cost");
        }
        if let Some(max) = limits.max_duration {
            assert!(state.active + MIN_TIME <= max, "an attempt starts beyond max_duration");
        }
    }

    fn call_starts(&mut self, request: &CallRequest, state: &State) {
        let (id, cap) = (request.call, request.cap);
        self.use_starts(NewsSource::Call(id), cap, state);
        assert!(id > self.last.1, "call {id} was there before");
        self.last.1 = id;
        let begun = state.current().and_then(|current| current.call).map(|call| call.call);
        assert_eq!(begun, Some(id), "off the record");
        assert_ne!(state.stop, Some(StopWhen::Now), "a call starts after stop now");
        if let Some(max) = state.settings.limits.max_cost {
            let cap = cap.expect("every call has a cap");
            assert!(state.totals.cost + cap <= max, "a call starts beyond max_cost");
        }
    }

    fn use_starts(&mut self, source: NewsSource, cap: Option<Usd>, state: &State) {
        assert_eq!(self.running, None, "two at a time: {source:?}");
        assert!(self.owed.is_empty(), "it starts before an answer has come");
        assert!(!state.paused, "{source:?} starts during a pause");
        assert!(state.wait.is_none(), "{source:?} starts during a wait");
        if let Some(max) = state.settings.limits.max_tokens {
            assert!(state.totals.tokens.counted() < max, "{source:?} starts beyond max_tokens");
        }
        assert!(cap.is_none_or(|cap| cap > Usd::ZERO), "nothing to spend");
        self.running = Some(source);
        self.started += 1;
    }

    /// Checks a run that reports its end.
    pub(super) fn ended(&self, finished: &RunOutcome, on_disk: &[Record], disk: &FakeDisk) {
        assert!(
            self.recorded == on_disk || self.failed,
            "what was recorded is not what is on disk"
        );
        let last = match on_disk.last().map(|record| &record.event) {
            Some(Event::Run(RunEvent::Finished { outcome, .. })) if disk.volatile() == 0 => {
                Some(outcome)
            }
            _ => None,
        };
        match &finished.unrecorded {
            None => assert_eq!(last, Some(&finished.outcome), "the outcome is not on disk"),
            Some(why) => {
                assert!(self.failed, "nothing failed, and yet: {why}");
                assert_eq!(last, None, "the outcome is on disk, and yet: {why}");
            }
        }
        if finished.outcome.name() == "journal_failed" {
            assert!(self.ever_failed, "the journal did not fail");
        }
        if last.is_some() {
            let counts = self.ledger.totals.by_purpose.values().map(|spend| spend.count);
            assert!(counts.sum::<u32>() >= self.started, "an attempt was forgotten");
        }
        if let Some(stopped) = self.stopped {
            assert!(stopped.elapsed() <= STOP_NOW, "stop now took {:?}", stopped.elapsed());
        }
    }

    /// The last attempt that is certainly over.
    pub(super) fn last_over_attempt(&self) -> u32 {
        match self.running {
            Some(NewsSource::Attempt(id)) => id.0 - 1,
            Some(NewsSource::Call(_)) | None => self.last.0.0,
        }
    }

    /// The last call that is certainly over.
    pub(super) fn last_over_call(&self) -> u32 {
        match self.running {
            Some(NewsSource::Call(id)) => id.0 - 1,
            Some(NewsSource::Attempt(_)) | None => self.last.1.0,
        }
    }

    /// A question of this process that has its answer; without one, a number that none ever had.
    pub(super) fn some_answered_ticket(&self, dice: &mut Dice) -> Ticket {
        if self.answered.is_empty() { Ticket(0) } else { dice.of(&self.answered) }
    }
}
