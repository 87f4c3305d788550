//! The four beats: *wait* for the next input, *decide* by asking the machine, *write* the events to
//! the journal, *perform* the effects.
//!
//! Nothing is decided here. What the machine says is on disk before anything happens that spends,
//! changes or signals; when it can't be put there, nothing happens any more but ending what runs.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;

use nightwright_core::effect::{Effect, Step};
use nightwright_core::event::{Event, Record, RunEvent};
use nightwright_core::input::{CheckReport, Control, Input, StatusReport};
use nightwright_core::machine::Machine;
use nightwright_core::machine::ledger::State;
use nightwright_core::outcome::Outcome;
use nightwright_core::redact::Secrets;
use nightwright_core::stream::outcome::AttemptOutcome;
use nightwright_core::stream::report::{AgentNews, AttemptReport};
use nightwright_core::units::Fingerprint;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::runtime::clock::Clock;
use crate::runtime::timers::Timers;
use crate::store::journal::{FileLayer, JournalError, JournalWriter};

/// News that waits to be decided upon. An attempt that has more to say waits, and so does its pipe.
const NEWS_MAX: usize = 256;
/// Wishes of the operator that wait to be decided upon.
const CONTROLS_MAX: usize = 64;

/// Whoever carries out effects. Answers come back as inputs.
pub trait Effects {
    /// Begins to carry out an effect; must not wait for its end.
    fn perform(&mut self, effect: Effect, state: &State, news: &mpsc::Sender<Input>);

    /// Ends whatever is still there, within a bounded time.
    fn shut_down(&mut self) -> impl Future<Output = ()>;
}

/// Told of every batch of events once it is recorded.
pub type RecordObserver = Box<dyn FnMut(&[Record])>;

/// Told of every input right before it is decided upon.
pub type InputObserver = Box<dyn FnMut(&Input)>;

/// Runs a machine in a world.
pub struct Supervisor<L, W> {
    machine: Machine,
    journal: JournalWriter<L>,
    effects: W,
    clock: Clock,
    timers: Timers,
    controls: mpsc::Receiver<Control>,
    inputs: mpsc::Receiver<Input>,
    /// For those who have news to send.
    input_sender: mpsc::Sender<Input>,
    /// Told after every batch that was recorded.
    watcher: RecordObserver,
    /// Told before every decision, if anybody wants to know.
    listener: Option<InputObserver>,
    /// What is masked in everything that is recorded.
    secrets: Option<Secrets>,
    /// Why nothing is recorded any more.
    failed: Option<String>,
    /// What was decided since then, to be recorded with the ending if there is space for it.
    missing: Vec<Record>,
    /// Whether the ending got the space set aside for it, after all else had failed.
    last_words: bool,
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
        let (operator, controls) = mpsc::channel(CONTROLS_MAX);
        let (input_sender, inputs) = mpsc::channel(NEWS_MAX);
        Self { operator, controls, input_sender, inputs }
    }
}

impl InputQueues {
    /// For the operator's requests and for signals.
    pub fn operator(&self) -> mpsc::Sender<Control> {
        self.operator.clone()
    }

    /// For warnings, before the run starts and while it lasts.
    pub fn warnings(&self) -> WarningSender {
        WarningSender { input_sender: self.input_sender.clone() }
    }
}

/// Records warnings in the journal of a run.
#[derive(Clone, Debug)]
pub struct WarningSender {
    input_sender: mpsc::Sender<Input>,
}

impl WarningSender {
    /// Says what the status file says now; false if nobody decides upon it any more.
    pub fn status(&self, report: StatusReport) -> bool {
        // A full queue means that there is news enough: whoever watches the file says it again.
        !matches!(self.input_sender.try_send(Input::Status(report)), Err(TrySendError::Closed(_)))
    }

    /// Records a warning as soon as the run has begun.
    pub fn warn(&self, text: String) {
        // A full queue means that there is news enough; the warning is no reason to wait.
        let _ = self.input_sender.try_send(Input::Trouble { text });
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct RunOutcome {
    /// The ending.
    pub outcome: Outcome,
    /// What else there is to say about it.
    pub note: Option<String>,
    /// Why the ending itself could not be recorded, if it could not.
    pub unrecorded: Option<String>,
}

impl<L: FileLayer, W: Effects> Supervisor<L, W> {
    /// Puts a run together.
    pub fn new(
        queues: InputQueues,
        machine: Machine,
        journal: JournalWriter<L>,
        clock: Clock,
        effects: W,
        watcher: RecordObserver,
    ) -> Self {
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
            watcher,
            listener: None,
            secrets: None,
            failed: None,
            missing: Vec::new(),
            last_words: false,
        }
    }

    /// Masks secrets in everything that is recorded and told, wherever it comes from. The machine
    /// itself goes on with what it knows: a masked goal would be another goal.
    pub fn mask(&mut self, secrets: Secrets) {
        self.secrets = Some(secrets);
    }

    /// Lets somebody hear everything that happens, decided upon or ignored.
    pub fn observe_inputs(&mut self, listener: InputObserver) {
        self.listener = Some(listener);
    }

    /// Runs until the end. `first` is what begins it: a start, or a resumption.
    pub async fn run(mut self, first: Input) -> RunOutcome {
        let mut input = first;
        loop {
            if let Some(listener) = &mut self.listener {
                listener(&input);
            }
            let step = self.machine.handle(self.clock.now(), input);
            let note = ending_note(&step);
            self.carry_out(step);
            if let Some(outcome) = self.machine.state().outcome().cloned() {
                self.effects.shut_down().await;
                return self.ended(outcome, note);
            }
            input = self.wait().await;
        }
    }

    /// The next thing that happens. The operator comes first, the talkative agent last.
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
                (self.watcher)(&records);
                for effect in step.effects {
                    self.perform(effect);
                }
            }
            Err(error) => self.journal_failed(&step, &error),
        }
    }

    /// Events first. Only what spends, changes or signals has to wait until they are on disk.
    fn write<'a>(&mut self, step: &'a Step) -> Result<Cow<'a, [Record]>, JournalError> {
        let records = self.masked(&step.records);
        if !records.is_empty() {
            self.journal.append(&records)?;
        }
        if step.wants_sync() {
            self.journal.sync()?;
        }
        Ok(records)
    }

    /// The records as they may be kept and shown.
    fn masked<'a>(&self, records: &'a [Record]) -> Cow<'a, [Record]> {
        match &self.secrets {
            Some(secrets) => secrets.mask_records(records),
            None => Cow::Borrowed(records),
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::SetTimer { key, alarm } => self.timers.set(key, alarm, &self.clock),
            Effect::ClearTimer { key } => self.timers.clear(key),
            effect => self.effects.perform(effect, self.machine.state(), &self.input_sender),
        }
    }

    /// Nothing that was decided in `step` takes place but for what ends something. The machine is
    /// told, and what it believes to be running is answered for.
    fn journal_failed(&mut self, step: &Step, error: &JournalError) {
        self.record_last(step);
        // The machine believes what it asked to end to be ending, and does not ask again.
        self.end_things(&step.effects);
        if self.last_words {
            return;
        }
        let why = error.reason();
        self.failed = Some(why.clone());
        let now = self.clock.now();
        let told = self.machine.handle(now, Input::JournalFailed { why });
        self.drain(&told);
        for answer in step.effects.iter().filter_map(must_not_reach_journal) {
            let step = self.machine.handle(now, answer);
            self.drain(&step);
        }
    }

    /// After the journal has failed only what ends things is carried out, and only the ending is
    /// still tried to be recorded.
    fn drain(&mut self, step: &Step) {
        self.record_last(step);
        self.end_things(&step.effects);
    }

    /// Carries out those effects that end something.
    fn end_things(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::CancelAttempt { .. }
                | Effect::CancelCall { .. }
                | Effect::CancelChecks { .. }
                | Effect::CloseInput { .. }
                | Effect::Finish => {
                    self.effects.perform(effect.clone(), self.machine.state(), &self.input_sender);
                }
                Effect::ClearTimer { key } => self.timers.clear(*key),
                // How long what is being ended may take is a time of its own: the deadline from
                // before would give it up too early.
                Effect::SetTimer { key, alarm } => self.timers.set(*key, *alarm, &self.clock),
                Effect::RunHook { .. }
                | Effect::Prepare { .. }
                | Effect::StartAttempt(_)
                | Effect::Nudge { .. }
                | Effect::Survey { .. }
                | Effect::RunChecks { .. }
                | Effect::InspectChanges { .. }
                | Effect::StartCall(_) => {}
            }
        }
    }

    /// The space set aside should be enough for the ending and what led to it; it is meant for the
    /// ending at least. That stands alone then, so that no crash can leave half of it; its totals
    /// make up for what is missing.
    fn record_last(&mut self, step: &Step) {
        let records = self.masked(&step.records);
        self.missing.extend_from_slice(&records);
        if !is_last(step) {
            return;
        }
        let mut words = std::mem::take(&mut self.missing);
        self.last_words = self.journal.append_last(&words).is_ok();
        // After an earlier ending another one makes sense only if the run went on in between.
        let goes_on =
            words.iter().any(|word| matches!(word.event, Event::Run(RunEvent::Continued { .. })));
        if !self.last_words && !goes_on {
            words.retain(|word| matches!(word.event, Event::Run(RunEvent::Finished { .. })));
            self.last_words = self.journal.append_last(&words).is_ok();
        }
        if self.last_words {
            (self.watcher)(&words);
        }
    }

    fn ended(self, outcome: Outcome, note: Option<String>) -> RunOutcome {
        if self.last_words {
            return RunOutcome { outcome, note, unrecorded: None };
        }
        if let Some(why) = self.failed {
            // Whatever was decided, it is not on record: that is the ending.
            let outcome = Outcome::JournalFailed { why: why.clone() };
            return RunOutcome { outcome, note: None, unrecorded: Some(why) };
        }
        let unrecorded = self.journal.close().err().map(|error| error.reason());
        RunOutcome { outcome, note, unrecorded }
    }
}

fn is_last(step: &Step) -> bool {
    step.events().any(|event| matches!(event, Event::Run(RunEvent::Finished { .. })))
}

fn ending_note(step: &Step) -> Option<String> {
    step.events().find_map(|event| match event {
        Event::Run(RunEvent::Finished { note, .. }) => note.clone(),
        _ => None,
    })
}

/// The answer to a request that was not carried out because its events could not be recorded.
fn must_not_reach_journal(effect: &Effect) -> Option<Input> {
    let report = || {
        let why = "the journal could not be written".to_owned();
        AgentNews::Exited(Box::new(AttemptReport::bare(AttemptOutcome::NotStarted { why })))
    };
    match effect {
        Effect::StartAttempt(request) => Some(Input::Agent(request.attempt, report())),
        Effect::StartCall(request) => Some(Input::Call(request.call, report())),
        Effect::RunChecks { ticket, .. } => {
            let fingerprint = Fingerprint(String::new());
            Some(Input::Checked(*ticket, CheckReport { fingerprint, ..CheckReport::default() }))
        }
        Effect::Prepare { ticket, .. } => {
            let prepared = nightwright_core::input::Prepared {
                mark: None,
                checklist: None,
                status: None,
                disk: None,
            };
            Some(Input::Prepared(*ticket, prepared))
        }
        Effect::InspectChanges { ticket } => Some(Input::Inspected(*ticket, Box::default())),
        Effect::RunHook { ticket, .. } => {
            Some(Input::Hook(*ticket, nightwright_core::input::HookAnswer::GoOn))
        }
        Effect::Survey { ticket, .. } => {
            let mark = nightwright_core::input::WorkspaceMark {
                fingerprint: Fingerprint(String::new()),
                head: None,
                head_tree: None,
                status: None,
            };
            let survey = nightwright_core::input::Survey {
                mark,
                files_changed: 0,
                files_changed_outside_plan: None,
                list: String::new(),
                principles: None,
                commits: 0,
                changes: None,
                status: None,
                checklist: None,
                warnings: Vec::new(),
            };
            Some(Input::Surveyed(*ticket, Box::new(survey)))
        }
        Effect::Nudge { .. }
        | Effect::CloseInput { .. }
        | Effect::CancelAttempt { .. }
        | Effect::CancelChecks { .. }
        | Effect::CancelCall { .. }
        | Effect::SetTimer { .. }
        | Effect::ClearTimer { .. }
        | Effect::Finish => None,
    }
}
