//! One simulated run: what all its parts share.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use nightwright::clock::Clock;
use nightwright_core::input::{Control, Input};
use nightwright_core::settings::Settings;
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::checks::Invariants;
use super::dice::Dice;
use super::faults::{self, CrashPoint, FaultRates};
use super::random_inputs;
use super::trace::{self, Trace};
use super::world::SimProject;
use crate::fake_disk::FakeDisk;

/// The maximum number of steps; a run that exceeds it is in an endless loop.
const MAX_STEPS: u64 = 20_000;

/// The state of one simulated run.
pub(super) struct Sim {
    pub(super) dice: Dice,
    pub(super) rates: FaultRates,
    /// Whether faults have ceased.
    pub(super) calm: bool,
    /// Steps and strikes left until then.
    patience: u64,
    steps: u64,
    pub(super) settings: Settings,
    pub(super) checks: Invariants,
    pub(super) disk: FakeDisk,
    pub(super) clock: Clock,
    /// The total change of the system clock during the life of this process.
    pub(super) jumped: Duration,
    pub(super) project: SimProject,
    /// The files that the running attempt or call would leave if it ended by itself.
    pub(super) script: Option<AttemptReport>,
    /// For the operator's commands to the process that lives now.
    pub(super) operator: Option<mpsc::Sender<Control>>,
    /// For news to it that comes too late, or out of nowhere.
    pub(super) post: Option<mpsc::Sender<Input>>,
    trace: Trace,
    began: Instant,
}

/// A shared handle to the simulation.
#[derive(Clone)]
pub(super) struct SharedSim(Rc<RefCell<Sim>>);

impl SharedSim {
    pub(super) fn borrow_mut(&self) -> RefMut<'_, Sim> {
        self.0.borrow_mut()
    }

    /// A place where something may go wrong. Does not come back if the process dies there.
    pub(super) fn pass(&self, point: CrashPoint) {
        let dies = self.borrow_mut().dies_at(point);
        if dies {
            std::panic::resume_unwind(Box::new(faults::SimulatedCrash));
        }
    }
}

impl Sim {
    #[expect(clippy::new_ret_no_self, reason = "nobody holds one alone")]
    pub(super) fn new(seed: u64, trace: Trace) -> SharedSim {
        let mut dice = Dice::new(seed);
        let rates = FaultRates::of(&mut dice);
        let settings = random_inputs::settings(&mut dice);
        let patience = dice.of(&[10, 60, 200, 500]);
        let start = Timestamp::from_second(1_800_000_000).expect("a date");
        let sim = Self {
            dice,
            rates,
            calm: false,
            patience,
            steps: 0,
            settings,
            checks: Invariants::default(),
            disk: FakeDisk::new(),
            clock: Clock::starting_at(start),
            jumped: Duration::ZERO,
            project: SimProject::default(),
            script: None,
            operator: None,
            post: None,
            trace,
            began: Instant::now(),
        };
        sim.tell(|| format!("seed {seed}: {:?}", sim.rates));
        SharedSim(Rc::new(RefCell::new(sim)))
    }

    pub(super) fn tell(&self, line: impl FnOnce() -> String) {
        self.trace.line(self.began, line);
    }

    /// An input is about to be decided upon.
    pub(super) fn heard(&mut self, input: &Input) {
        self.tell(|| trace::input(input));
        self.steps += 1;
        assert!(self.steps < MAX_STEPS, "the run goes round in circles");
        self.checks.input(input);
        if let Input::Agent(_, AgentNews::Exited(_)) | Input::Call(_, AgentNews::Exited(_)) = input
            && !self.checks.is_stray()
        {
            self.project.change(&mut self.dice, self.calm);
            self.script = None;
        }
        self.lose_patience();
        if !self.calm {
            self.mischief();
        }
    }

    /// Ends all faults: from now on nothing misbehaves, and a paused run is resumed.
    pub(super) fn lose_patience(&mut self) {
        self.patience = self.patience.saturating_sub(1);
        if self.patience == 0 && !self.calm {
            self.tell(|| "--- faults cease".to_owned());
            self.calm = true;
            self.disk.heal();
            self.command(Control::Resume);
        }
    }

    /// Sends a request of the operator, if a process can receive it.
    pub(super) fn command(&mut self, control: Control) {
        if let Some(operator) = &self.operator {
            // The queue is full; the operator would retry later.
            let _ = operator.try_send(control);
        }
    }

    pub(super) fn jump(&mut self, by: SignedDuration) {
        self.tell(|| format!("the wall clock jumps by {by:?}"));
        self.jumped += by.unsigned_abs();
        self.checks.jumped(by.unsigned_abs());
        self.clock.jump(by);
    }
}
