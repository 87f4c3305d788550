//! The main loop of a run, in four steps: *wait* for the next input, *decide* by asking the
//! machine, *write* the events to the journal, *perform* the effects.
//!
//! All decisions are made by the machine. Its events are on disk before any effect that spends
//! money, changes files or sends signals. If they cannot be written, the only effects are those
//! that end running processes.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;

use nightwright_core::effect::{Effect, Step};
use nightwright_core::event::{Event, Record, RunEvent};
use nightwright_core::input::{Control, Input, StatusReport};
use nightwright_core::journal::JournalLine;
use nightwright_core::machine::Machine;
use nightwright_core::machine::ledger::State;
use nightwright_core::outcome::Outcome;
use nightwright_core::redact::Secrets;
use nightwright_core::sandbox::network::contacts::ContactNews;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::clock::Clock;
use crate::runtime::timers::Timers;
use crate::store::journal::{FileLayer, JournalError, JournalWriter};

/// Capacity of the queue of news. When it is full, attempts wait, and so do their pipes.
const MAX_QUEUED_NEWS: usize = 256;
/// Capacity of the queue of the operator's requests.
const MAX_QUEUED_CONTROLS: usize = 64;

/// Executes effects. Answers come back as inputs.
pub trait Effects {
    /// Starts to execute an effect; must not wait for its end.
    fn perform(&mut self, effect: Effect, state: &State, news: &mpsc::Sender<Input>);

    /// Ends everything that is still running, within a bounded time.
    fn shut_down(&mut self) -> impl Future<Output = ()>;
}

/// Called with every batch of events after it is recorded.
pub type RecordObserver = Box<dyn FnMut(&[Record])>;

/// Called with every input before it is handled, even if it is ignored then.
pub type InputObserver = Box<dyn FnMut(&Input)>;

/// The observers of a run. They can change nothing.
pub struct Observers {
    pub on_record: RecordObserver,
    pub on_input: InputObserver,
}

impl Observers {
    pub fn of_records(on_record: RecordObserver) -> Self {
        Self { on_record, on_input: Box::new(|_| {}) }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers").finish_non_exhaustive()
    }
}

/// Runs a machine with its effects.
pub struct Supervisor<L, W> {
    machine: Machine,
    journal: JournalWriter<L>,
    effects: W,
    clock: Clock,
    timers: Timers,
    controls: mpsc::Receiver<Control>,
    inputs: mpsc::Receiver<Input>,
    /// A sender for tasks that have news.
    input_sender: mpsc::Sender<Input>,
    /// Called after every recorded batch.
    on_record: RecordObserver,
    /// Called before every input is handled, if set.
    on_input: InputObserver,
    /// Secrets to mask in all records.
    secrets: Secrets,
    /// Why nothing is recorded any more.
    failed: Option<JournalLoss>,
    /// The last line of the journal, if it is the end of the run.
    end: Option<JournalLine>,
    /// The records since then, to be recorded with the end of the run if there is space.
    missing: Vec<Record>,
    /// Whether the end of the run was recorded in the reserved space, after earlier failures.
    recorded_in_reserve: bool,
}

impl<L, W> fmt::Debug for Supervisor<L, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("machine", &self.machine).finish_non_exhaustive()
    }
}

/// The queues of a supervisor. They exist before it, so that everything that fills them can be
/// connected first.
#[derive(Debug)]
pub struct InputQueues {
    operator: mpsc::Sender<Control>,
    controls: mpsc::Receiver<Control>,
    input_sender: mpsc::Sender<Input>,
    inputs: mpsc::Receiver<Input>,
}

impl Default for InputQueues {
    fn default() -> Self {
        let (operator, controls) = mpsc::channel(MAX_QUEUED_CONTROLS);
        let (input_sender, inputs) = mpsc::channel(MAX_QUEUED_NEWS);
        Self { operator, controls, input_sender, inputs }
    }
}

impl InputQueues {
    /// For the operator's requests and for signals.
    pub fn operator(&self) -> mpsc::Sender<Control> {
        self.operator.clone()
    }

    /// For warnings and the status file, before the run starts and while it lasts.
    pub fn side_inputs(&self) -> SideInputs {
        SideInputs { input_sender: self.input_sender.clone() }
    }
}

/// Sends inputs that are dropped when the queue is full: warnings, and contents of the status file.
#[derive(Clone, Debug)]
pub struct SideInputs {
    input_sender: mpsc::Sender<Input>,
}

impl SideInputs {
    /// Reports the contents of the status file; returns false if the run has ended.
    pub fn status_read(&self, report: StatusReport) -> bool {
        // A full queue is no problem: the watch on the file reports it again.
        !matches!(self.input_sender.try_send(Input::Status(report)), Err(TrySendError::Closed(_)))
    }

    /// Records the hosts that programs in the sandbox contact.
    pub async fn forward_contacts(self, mut contacts: mpsc::Receiver<ContactNews>) {
        while let Some(news) = contacts.recv().await {
            // The record must be complete, so this waits for space in the queue.
            if self.input_sender.send(Input::Contact(news)).await.is_err() {
                return;
            }
        }
    }

    /// Records a warning as soon as the run has started.
    pub fn warn(&self, text: String) {
        // If the queue is full, the warning is dropped: it is not worth waiting for.
        let _ = self.input_sender.try_send(Input::Warning { text });
    }
}

/// Why nothing is recorded any more.
#[derive(Clone, Debug)]
enum JournalLoss {
    Failed(String),
    /// Another process changed the journal.
    Damaged(String),
}

impl JournalLoss {
    fn of(error: &JournalError) -> Self {
        match error {
            JournalError::Changed { change, .. } => Self::Damaged(change.to_string()),
            _ => Self::Failed(error.reason()),
        }
    }

    fn input(self) -> Input {
        match self {
            Self::Failed(why) => Input::JournalFailed { why },
            Self::Damaged(why) => Input::JournalDamaged { why },
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            Self::Failed(why) => Outcome::JournalFailed { why },
            Self::Damaged(why) => Outcome::JournalDamaged { why },
        }
    }

    fn why(&self) -> &str {
        let (Self::Failed(why) | Self::Damaged(why)) = self;
        why
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct RunOutcome {
    /// The outcome of the run, even if it could not be recorded.
    pub outcome: Outcome,
    /// An additional explanation, if any.
    pub note: Option<String>,
    /// Why the outcome could not be recorded, if it was not.
    pub unrecorded: Option<String>,
    /// The last line of the journal, as it was written: what the file contains now may be different.
    pub end: Option<Box<JournalLine>>,
}

impl<L: FileLayer, W: Effects> Supervisor<L, W> {
    /// Puts a run together. Secrets are masked in everything that is recorded and shown. The machine
    /// itself uses the unmasked values: a masked goal would be another goal.
    pub fn new(
        queues: InputQueues,
        machine: Machine,
        journal: JournalWriter<L>,
        clock: Clock,
        effects: W,
        secrets: Secrets,
        observers: Observers,
    ) -> Self {
        let Observers { on_record, on_input } = observers;
        let InputQueues { operator: _, controls, input_sender, inputs } = queues;
        Self {
            machine,
            journal,
            effects,
            clock,
            timers: Timers::default(),
            controls,
            inputs,
            input_sender,
            on_record,
            on_input,
            secrets,
            failed: None,
            end: None,
            missing: Vec::new(),
            recorded_in_reserve: false,
        }
    }

    /// Runs until the end. `first` is the first input: a start, or a resumption.
    pub async fn run(mut self, first: Input) -> RunOutcome {
        let mut input = first;
        loop {
            (self.on_input)(&input);
            let step = self.machine.handle(self.clock.now(), input);
            let note = outcome_note(&step);
            self.carry_out(step);
            if let Some(outcome) = self.machine.state().outcome().cloned() {
                self.effects.shut_down().await;
                return self.ended(outcome, note);
            }
            input = self.wait().await;
        }
    }

    /// Waits for the next input. The operator has priority, and the agent comes last.
    async fn wait(&mut self) -> Input {
        loop {
            let wake = self.timers.next_look(&self.clock);
            let look = async {
                match wake {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(control) = self.controls.recv() => return Input::Control(control),
                () = look => {
                    if let Some(key) = self.timers.take_due(&self.clock) {
                        return Input::Timer(key);
                    }
                }
                Some(news) = self.inputs.recv() => return news,
            }
        }
    }

    fn carry_out(&mut self, step: Step) {
        if self.failed.is_some() {
            return self.drain(&step);
        }
        match self.write(&step) {
            Ok(records) => {
                (self.on_record)(&records);
                for effect in step.effects {
                    self.perform(effect);
                }
            }
            Err(error) => self.journal_failed(&step, &error),
        }
    }

    /// Writes the events. Only effects that spend money, change files or send signals require a
    /// sync.
    fn write<'a>(&mut self, step: &'a Step) -> Result<Cow<'a, [Record]>, JournalError> {
        let records = self.secrets.mask_records(&step.records);
        if records.is_empty() {
            // A change in the middle of a long attempt ends the run soon.
            self.journal.check()?;
        } else {
            self.journal.append(&records)?;
            self.end = end_of(&self.journal, &records);
        }
        if step.wants_sync() {
            self.journal.sync()?;
        }
        Ok(records)
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::SetTimer { key, alarm } => self.timers.set(key, alarm, &self.clock),
            Effect::ClearTimer { key } => self.timers.clear(key),
            effect => self.effects.perform(effect, self.machine.state(), &self.input_sender),
        }
    }

    /// Handles a failure of the journal: of the effects of `step`, only those that end something
    /// are executed. The machine is notified, and the effects that were not executed are answered.
    fn journal_failed(&mut self, step: &Step, error: &JournalError) {
        let loss = JournalLoss::of(error);
        if let JournalLoss::Damaged(_) = loss {
            self.failed = Some(loss.clone());
        }
        self.record_last(step);
        // The machine does not repeat these requests, so they must be executed.
        self.end_things(&step.effects);
        if self.recorded_in_reserve {
            return;
        }
        self.failed = Some(loss.clone());
        let now = self.clock.now();
        let last = self.machine.handle(now, loss.input());
        self.drain(&last);
        for answer in step.effects.iter().filter_map(Effect::unexecuted_answer) {
            let step = self.machine.handle(now, answer);
            self.drain(&step);
        }
    }

    /// After a failure of the journal, executes only effects that end something, and tries to
    /// record only the end of the run.
    fn drain(&mut self, step: &Step) {
        self.record_last(step);
        self.end_things(&step.effects);
    }

    /// Executes those effects that end something.
    fn end_things(&mut self, effects: &[Effect]) {
        for effect in effects.iter().filter(|effect| effect.ends_something()) {
            self.perform(effect.clone());
        }
    }

    /// Records the end of the run in the reserved space, together with the missing records if they
    /// fit. Otherwise the final event is recorded alone, so that a crash cannot leave a part of it;
    /// its totals cover the missing records.
    fn record_last(&mut self, step: &Step) {
        let records = self.secrets.mask_records(&step.records);
        self.missing.extend_from_slice(&records);
        if !is_last(step) {
            return;
        }
        let mut records = std::mem::take(&mut self.missing);
        if let Some(loss @ JournalLoss::Damaged(_)) = &self.failed {
            // The outcome may have been decided before the change was noticed.
            set_outcome(&mut records, &loss.clone().outcome());
        }
        self.recorded_in_reserve = self.journal.append_last(&records).is_ok();
        // After an earlier outcome, another one makes sense only if the run continued in between.
        let was_continued = records
            .iter()
            .any(|record| matches!(record.event, Event::Run(RunEvent::Continued { .. })));
        if !self.recorded_in_reserve && !was_continued {
            records.retain(|record| matches!(record.event, Event::Run(RunEvent::Finished { .. })));
            self.recorded_in_reserve = self.journal.append_last(&records).is_ok();
        }
        if self.recorded_in_reserve {
            self.end = end_of(&self.journal, &records);
            (self.on_record)(&records);
        }
    }

    fn ended(self, outcome: Outcome, note: Option<String>) -> RunOutcome {
        let Self { journal, failed, end, recorded_in_reserve, .. } = self;
        let end = end.map(Box::new);
        let lost = |loss: JournalLoss| {
            let why = loss.why().to_owned();
            RunOutcome { outcome: loss.outcome(), note: None, unrecorded: Some(why), end: None }
        };
        match failed {
            Some(loss @ JournalLoss::Damaged(_)) if recorded_in_reserve => {
                return RunOutcome { outcome: loss.outcome(), note, unrecorded: None, end };
            }
            _ if recorded_in_reserve => return RunOutcome { outcome, note, unrecorded: None, end },
            // The decided outcome is not recorded, so the outcome is this failure.
            Some(loss) => return lost(loss),
            None => {}
        }
        match journal.close() {
            Ok(()) => RunOutcome { outcome, note, unrecorded: None, end },
            Err(error @ JournalError::Changed { .. }) => lost(JournalLoss::of(&error)),
            Err(error) => RunOutcome { outcome, note, unrecorded: Some(error.reason()), end },
        }
    }
}

fn is_last(step: &Step) -> bool {
    step.events().any(|event| matches!(event, Event::Run(RunEvent::Finished { .. })))
}

/// Returns the line of the last of these records, if it is the end of the run.
fn end_of<L: FileLayer>(journal: &JournalWriter<L>, records: &[Record]) -> Option<JournalLine> {
    let record = records.last()?;
    let is_end = matches!(record.event, Event::Run(RunEvent::Finished { .. }));
    is_end.then(|| JournalLine {
        seq: journal.last_seq(),
        run: journal.run().clone(),
        record: record.clone(),
    })
}

fn set_outcome(records: &mut [Record], to: &Outcome) {
    for record in records {
        if let Event::Run(RunEvent::Finished { outcome, .. }) = &mut record.event {
            outcome.clone_from(to);
        }
    }
}

fn outcome_note(step: &Step) -> Option<String> {
    step.events().find_map(|event| {
        let Event::Run(RunEvent::Finished { note, .. }) = event else { return None };
        note.clone()
    })
}
