//! One run, and the processes that carry it: each is born with what the last one left on disk.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Poll;
use std::time::Duration;

use jiff::SignedDuration;
use nightwright::clock::Clock;
use nightwright::runtime::supervisor::{InputQueues, Observers, RunOutcome, Supervisor};
use nightwright::store::journal::{self, JournalError};
use nightwright_core::event::{AgentFacts, Record, RunStarted};
use nightwright_core::input::{Control, Input, ResumeData, ResumePolicy};
use nightwright_core::machine::Machine;
use nightwright_core::machine::ledger::{Stage, State};
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{ChangeSource, SettingChange};
use nightwright_core::stream::news::AttemptReport;
use nightwright_core::units::RunId;
use tokio::time::sleep;

use super::faults::{CrashPoint, CrashResult, CrashingFile, SimulatedCrash};
use super::random_inputs;
use super::sim::{SharedSim, Sim};
use super::trace;
use super::world::SimEffects;

/// Once nothing misbehaves any more, a run ends within the longest leash, as much again, and however
/// far the date was set back while the process lived.
const AT_LAST: Duration = Duration::from_hours(12 + 12);

/// Why a process came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessStart {
    /// The run is resumed wherever it is.
    GoOn,
    /// The run has ended and is resumed anyway.
    Again,
}

/// The fate of a process.
enum ProcessEnd {
    Died,
    Ended(Box<RunOutcome>),
}

/// Plays a run to its end.
pub(super) async fn play(sim: &SharedSim) {
    let mut birth = ProcessStart::GoOn;
    loop {
        let life = mortal(live(sim, birth)).await.unwrap_or(ProcessEnd::Died);
        {
            let mut sim = sim.borrow_mut();
            (sim.operator, sim.post) = (None, None);
            sim.lose_patience();
        }
        birth = match life {
            ProcessEnd::Died => ProcessStart::GoOn,
            ProcessEnd::Ended(finished) => match sim.borrow_mut().after(&finished) {
                Some(birth) => birth,
                None => return,
            },
        };
        pass_on(sim).await;
    }
}

/// Something that may die; `None` if it does.
async fn mortal<F: Future>(life: F) -> Option<F::Output> {
    let mut life = Box::pin(life);
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| life.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Some(output)),
        Err(why) if why.is::<SimulatedCrash>() => Poll::Ready(None),
        Err(why) => resume_unwind(why),
    })
    .await
}

/// From one process to the next: the disk keeps what it keeps, and time passes.
async fn pass_on(sim: &SharedSim) {
    let downtime = {
        let mut sim = sim.borrow_mut();
        let volatile = sim.disk.volatile() as u64;
        let kept = usize::try_from(sim.dice.below(volatile + 1)).expect("small");
        sim.tell(|| format!("--- {kept} of {volatile} volatile bytes are left"));
        sim.disk = sim.disk.crash(kept);
        if sim.calm { Duration::ZERO } else { sim.dice.any_time() }
    };
    sleep(downtime).await;
    let mut sim = sim.borrow_mut();
    let wall = sim.clock.now().wall;
    sim.clock = Clock::starting_at(wall);
    if !sim.calm && sim.dice.one_in(4) {
        let by = SignedDuration::from_mins(i64::try_from(sim.dice.below(3000)).expect("small"));
        sim.jump(by - SignedDuration::from_mins(1500));
    }
    // However the date was set meanwhile: a process that begins bounds what it waits for.
    sim.jumped = Duration::ZERO;
    if !sim.calm && sim.dice.one_in(12) {
        sim.spoil_disk();
    }
}

async fn live(sim: &SharedSim, birth: ProcessStart) -> ProcessEnd {
    let (supervisor, first) = match be_born(sim, birth) {
        Ok(born) => born,
        Err(why) => {
            let sim = sim.borrow_mut();
            sim.tell(|| format!("cannot go on: {}", why.reason()));
            assert!(!sim.calm, "nothing is wrong with the disk, and yet: {}", why.reason());
            return ProcessEnd::Died;
        }
    };
    let mut run = Box::pin(supervisor.run(first));
    loop {
        let (calm, gap) = {
            let mut sim = sim.borrow_mut();
            (sim.calm, if sim.calm { AT_LAST + sim.jumped } else { sim.gap() })
        };
        tokio::select! {
            biased;
            finished = &mut run => return ProcessEnd::Ended(Box::new(finished)),
            () = sleep(gap) => {
                let mut sim = sim.borrow_mut();
                assert!(!calm, "the run does not end: {:?}", sim.checks.state());
                if sim.strike() == CrashResult::Killed {
                    sim.tell(|| "the process is killed".to_owned());
                    return ProcessEnd::Died;
                }
            }
        }
    }
}

/// A process takes the run over, or begins it.
fn be_born(
    sim: &SharedSim,
    birth: ProcessStart,
) -> Result<(Supervisor<CrashingFile, SimEffects>, Input), JournalError> {
    let (journal, writer) = journal::resume(CrashingFile::new(sim), &RunId("r".to_owned()))?;
    let records = journal.records;
    let (machine, first) = {
        let mut sim = sim.borrow_mut();
        let Sim { checks, disk, .. } = &mut *sim;
        checks.reopened(&records, disk);
        sim.tell(|| format!("--- a process finds {} events", records.len()));
        sim.first(&records, birth)
    };
    let watch = sim.clone();
    let watcher = Box::new(move |records: &[Record]| {
        {
            let mut sim = watch.borrow_mut();
            for record in records {
                sim.tell(|| trace::event(&record.event));
            }
            sim.checks.recorded(records);
        }
        watch.pass(CrashPoint::Told);
    });
    let observed = sim.clone();
    let on_input = Box::new(move |input: &Input| {
        observed.pass(CrashPoint::Input);
        observed.borrow_mut().heard(input);
    });
    let clock = sim.borrow_mut().clock.clone();
    let queues = InputQueues::default();
    let operator = queues.operator();
    let supervisor = Supervisor::new(
        queues,
        machine,
        writer,
        clock,
        SimEffects::new(sim),
        Secrets::default(),
        Observers { on_record: watcher, on_input },
    );
    let mut sim = sim.borrow_mut();
    sim.operator = Some(operator);
    if sim.calm {
        sim.command(Control::Resume);
    }
    Ok((supervisor, first))
}

impl Sim {
    fn first(&mut self, records: &[Record], birth: ProcessStart) -> (Machine, Input) {
        if records.is_empty() {
            let opening = RunStarted {
                settings: self.settings.clone(),
                agent: AgentFacts::default(),
                project: "/project".to_owned(),
                git_head: None,
                containment: String::new(),
                sandbox: nightwright_core::settings::SandboxKind::Off,
                baseline: None,
                hooks: std::collections::BTreeMap::new(),
                seed: self.dice.next(),
            };
            return (Machine::new(opening), Input::Start);
        }
        let machine = Machine::resume(records);
        let report = is_open(machine.state()).then(|| self.salvage()).flatten();
        let policy = match birth {
            ProcessStart::GoOn => ResumePolicy::IfUnfinished,
            ProcessStart::Again => {
                self.dice.of(&[ResumePolicy::Always, ResumePolicy::IfUnfinished])
            }
        };
        let wanted = !self.calm && self.dice.one_in(4);
        let mut settings = machine.state().settings.clone();
        if wanted {
            settings.limits = random_inputs::limits(&mut self.dice, &self.settings);
        }
        let changes = SettingChange::between(&machine.state().settings, &settings)
            .into_iter()
            .map(|change| (ChangeSource::Operator, change))
            .collect();
        (
            machine,
            Input::Resume(ResumeData {
                report: report.map(Box::new),
                changes,
                policy,
                sandbox_failure: None,
            }),
        )
    }

    /// The files and changes that the attempt of the last process left behind.
    fn salvage(&mut self) -> Option<AttemptReport> {
        if self.dice.one_in(2) {
            self.project.change(&mut self.dice, false);
        }
        let mut report = self.script.take()?;
        match self.dice.below(3) {
            0 => None,
            1 => Some(report),
            _ => {
                report.cost = None;
                Some(report)
            }
        }
    }

    /// Handles the end of a run. Returns how it continues, if it does.
    fn after(&mut self, finished: &RunOutcome) -> Option<ProcessStart> {
        self.tell(|| format!("--- ended: {finished:?}"));
        let file = self.disk.crash(self.disk.volatile()).open();
        let (on_disk, _) =
            journal::resume(file, &RunId("r".to_owned())).expect("a journal that can be read");
        self.checks.ended(finished, &on_disk.records, &self.disk);
        if finished.unrecorded.is_some() {
            return Some(ProcessStart::GoOn);
        }
        (!self.calm && self.dice.one_in(4)).then_some(ProcessStart::Again)
    }
}

fn is_open(state: &State) -> bool {
    state.current().is_some_and(|current| {
        matches!(current.stage, Stage::Attempting { .. }) || current.call.is_some()
    })
}
