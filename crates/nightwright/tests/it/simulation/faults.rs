//! Faults and their times: the operator, the clock, the disk, death, and news from dead attempts.

use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;
use nightwright::store::journal::{FileFacts, FileLayer};
use nightwright_core::input::{CheckReport, HookAnswer, Input, Prepared, StatusReport, TimerKey};
use nightwright_core::stream::news::{AgentNews, AttemptReport, Pulse};
use nightwright_core::stream::outcome::AttemptOutcome;
use nightwright_core::units::{AttemptId, CallId, Fingerprint, Tokens, Usd};

use super::dice::Dice;
use super::random_inputs;
use super::sim::{SharedSim, Sim};
use crate::fake_disk::{FakeDisk, FakeFile, Fault, Operation};

/// A simulated crash of the process: it unwinds to the caller, and only the disk remains.
pub(super) struct SimulatedCrash;

/// A place in the work of a process where it can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrashPoint {
    Input,
    Append,
    Appended,
    Sync,
    Synced,
    Truncate,
    Told,
    Effect,
    Performed,
}

/// The frequency of each fault: once in this number of times; 0 means never.
#[derive(Clone, Copy, Debug)]
pub(super) struct FaultRates {
    pub(super) agent: u64,
    pub(super) world: u64,
    /// Claims that all is done.
    pub(super) claims: u64,
    /// Messages that report a blocker.
    pub(super) blocks: u64,
    disk: u64,
    clock: u64,
    operator: u64,
    death: u64,
    strays: u64,
}

impl FaultRates {
    /// Some runs suffer from one thing only, some from all.
    pub(super) fn of(dice: &mut Dice) -> Self {
        Self {
            agent: dice.of(&[0, 8, 3, 2, 1]),
            world: dice.of(&[0, 8, 3]),
            claims: dice.of(&[2, 8, 30]),
            blocks: dice.of(&[2, 10, 40]),
            disk: dice.of(&[0, 0, 150, 40]),
            clock: dice.of(&[0, 0, 25, 8]),
            operator: dice.of(&[0, 60, 20, 6]),
            death: dice.of(&[0, 0, 400, 90]),
            strays: dice.of(&[0, 10, 3]),
        }
    }
}

/// The fate of a process that ran for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrashResult {
    Spared,
    Killed,
}

impl Sim {
    /// How long until something may go wrong again, whatever the run does.
    pub(super) fn gap(&mut self) -> Duration {
        // Never nothing: time has to pass.
        Duration::from_millis(1) + self.dice.any_time()
    }

    /// Something goes wrong in the middle of a wait.
    pub(super) fn strike(&mut self) -> CrashResult {
        self.lose_patience();
        if self.calm {
            return CrashResult::Spared;
        }
        self.mischief();
        // A wait is as good a moment to die as any of the many steps.
        if self.dice.one_in(self.rates.death / 12) {
            CrashResult::Killed
        } else {
            CrashResult::Spared
        }
    }

    /// Something goes wrong, or not.
    pub(super) fn mischief(&mut self) {
        if self.dice.one_in(self.rates.operator) {
            let control = random_inputs::control(&mut self.dice);
            self.tell(|| format!("the operator wants {control:?}"));
            self.command(control);
        }
        if self.dice.one_in(self.rates.clock) {
            let by = SignedDuration::try_from(self.dice.any_time() * 8).expect("a day");
            let by = if self.dice.one_in(2) { by } else { -by };
            self.jump(by);
        }
        if self.dice.one_in(self.rates.disk) {
            self.spoil_disk();
        }
        if self.dice.one_in(self.rates.strays) {
            let stray = self.stray_news();
            if let Some(post) = &self.post {
                // A full queue means that there is news enough.
                let _ = post.try_send(stray);
            }
        }
    }

    pub(super) fn spoil_disk(&mut self) {
        let operation = self.dice.of(&[
            Operation::Append,
            Operation::Append,
            Operation::Sync,
            Operation::Truncate,
            Operation::Reserve,
        ]);
        let short = usize::try_from(self.dice.below(400)).expect("small");
        let fault = self.dice.of(&[Fault::NoSpace, Fault::Io, Fault::Short(short)]);
        let nth = 1 + self.dice.below(3);
        self.tell(|| format!("the disk will fail: {operation:?} {nth} {fault:?}"));
        self.disk.fail(operation, nth, fault);
    }

    pub(super) fn dies_at(&mut self, point: CrashPoint) -> bool {
        let dies = !self.calm && self.dice.one_in(self.rates.death);
        if dies {
            self.tell(|| format!("the process dies at {point:?}"));
        }
        dies
    }

    /// Returns news of something that has ended or was never requested. The machine detects it by
    /// its number.
    fn stray_news(&mut self) -> Input {
        let past = |dice: &mut Dice, last: u32| u32::try_from(dice.below(u64::from(last) + 1));
        let attempt = past(&mut self.dice, self.checks.last_over_attempt()).expect("small");
        let call = past(&mut self.dice, self.checks.last_over_call()).expect("small");
        let (attempt, call) = (AttemptId(attempt), CallId(call));
        let ticket = self.checks.some_answered_ticket(&mut self.dice);
        let mut report = AttemptReport::bare(AttemptOutcome::Finished);
        report.cost = Some(Usd::from_cents(77));
        report.text_evidence.promise = true;
        let exited = AgentNews::Exited(Box::new(report));
        let tokens = Tokens { output: 1 << 40, ..Tokens::default() };
        let fingerprint = Fingerprint("stray".to_owned());
        match self.dice.below(13) {
            0 => Input::Agent(attempt, exited),
            1 => Input::Agent(attempt, AgentNews::Pulse(Pulse { tokens, ..Pulse::default() })),
            2 => Input::Agent(attempt, AgentNews::LoginRefused),
            3 => Input::Call(call, exited),
            4 => Input::Call(call, AgentNews::LoginRefused),
            5 => Input::Timer(TimerKey::Attempt(attempt)),
            6 => Input::Timer(TimerKey::Call(call)),
            7 => Input::Checked(ticket, CheckReport { fingerprint, ..CheckReport::default() }),
            8 => Input::Prepared(
                ticket,
                Prepared { mark: None, checklist: None, status: None, disk: None },
            ),
            9 => Input::Hook(ticket, HookAnswer::Abort { why: "late".to_owned() }),
            10 => Input::Warning { text: "x\u{1b}[2J\0\n".repeat(50) },
            11 => Input::Status(StatusReport { complete: true, ..StatusReport::default() }),
            _ => Input::Timer(TimerKey::Wait(ticket)),
        }
    }
}

/// The file of a process that can die at any of its calls.
pub(super) struct CrashingFile {
    file: FakeFile,
    disk: FakeDisk,
    sim: SharedSim,
}

impl CrashingFile {
    pub(super) fn new(sim: &SharedSim) -> Self {
        let disk = sim.borrow_mut().disk.clone();
        Self { file: disk.open(), disk, sim: sim.clone() }
    }

    fn noted(&self, what: &str, result: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &result {
            let mut sim = self.sim.borrow_mut();
            sim.tell(|| format!("    cannot {what}: {error}"));
            sim.checks.journal_failed();
        }
        result
    }
}

impl FileLayer for CrashingFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn facts(&self) -> io::Result<FileFacts> {
        self.file.facts()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sim.pass(CrashPoint::Append);
        let result = self.file.append(bytes);
        self.sim.pass(CrashPoint::Appended);
        self.noted("append", result)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sim.pass(CrashPoint::Sync);
        let result = self.file.sync();
        if result.is_ok() {
            self.sim.borrow_mut().checks.synced(&self.disk, &self.file);
        }
        self.sim.pass(CrashPoint::Synced);
        self.noted("sync", result)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.sim.pass(CrashPoint::Truncate);
        let result = self.file.truncate(length);
        self.noted("truncate", result)
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let result = self.file.reserve(bytes);
        self.noted("reserve", result)
    }

    fn release_reserve(&mut self) -> io::Result<()> {
        self.file.release_reserve()
    }
}
