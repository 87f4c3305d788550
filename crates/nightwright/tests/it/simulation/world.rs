//! The world of a simulated run: a project, an agent that works on it, checks and hooks, all of
//! which take their time and may lie.

use std::time::Duration;

use nightwright::agent::NewsSource;
use nightwright::runtime::supervisor::Effects;
use nightwright_core::effect::{Effect, Grace, Needed};
use nightwright_core::input::{
    CheckReport, CheckResult, CheckVerdict, Checklist, Disk, HookAnswer, Input, Inspection,
    Prepared, StatusReport, Survey, TamperFinding, WorkspaceMark,
};
use nightwright_core::machine::ledger::State;
use nightwright_core::policy::limits::PROJECT_TIMEOUT;
use nightwright_core::sandbox::hints::{HostNeeds, Need};
use nightwright_core::stream::outcome::{CancelReason, ProcessExit};
use nightwright_core::units::{Fingerprint, Ticket, Usd};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::agent::{self, AttemptScript, Budget, SimCancel};
use super::dice::Dice;
use super::faults::{CrashPoint, FaultRates};
use super::sim::{SharedSim, Sim};
use super::trace;

/// Checks that are cut are gone within this time.
const CHECKS_EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The project as it really is.
#[derive(Clone, Debug, Default)]
pub(super) struct SimProject {
    tree: u64,
    trees: u64,
    /// Which writing of the status file is there.
    status: Option<u64>,
}

impl SimProject {
    /// Changes the project to a new state, an old one, or not at all.
    pub(super) fn change(&mut self, dice: &mut Dice, calm: bool) {
        match dice.below(5) {
            0 if !calm => {}
            1 if !calm => self.tree = dice.below(self.trees + 1),
            _ => {
                self.trees += 1;
                self.tree = self.trees;
            }
        }
        if calm || dice.one_in(4) {
            self.status = Some(self.status.map_or(0, |status| status + 1));
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.tree.to_string())
    }

    fn mark(&self) -> WorkspaceMark {
        let status = self.status.map(|status| status.to_string());
        WorkspaceMark { fingerprint: self.fingerprint(), head: None, head_tree: None, status }
    }
}

/// The pending work of one process. All of it ends with the process.
pub(super) struct SimEffects {
    sim: SharedSim,
    jobs: JoinSet<()>,
    using: Option<(NewsSource, watch::Sender<SimCancel>)>,
    checks: Option<(Ticket, watch::Sender<SimCancel>)>,
}

impl SimEffects {
    pub(super) fn new(sim: &SharedSim) -> Self {
        Self { sim: sim.clone(), jobs: JoinSet::new(), using: None, checks: None }
    }

    /// Answers after a while.
    fn answer(&mut self, after: Duration, input: Input, news: &mpsc::Sender<Input>) {
        let news = news.clone();
        self.jobs.spawn(async move {
            sleep(after).await;
            // A closed queue means that the run has ended.
            let _ = news.send(input).await;
        });
    }

    fn start(&mut self, source: NewsSource, script: AttemptScript, news: &mpsc::Sender<Input>) {
        let (cutter, cuts) = watch::channel(None);
        let news = news.clone();
        self.jobs.spawn(agent::play(script, cuts, async move |said| {
            let input = match source {
                NewsSource::Attempt(id) => Input::Agent(id, said),
                NewsSource::Call(id) => Input::Call(id, said),
            };
            let _ = news.send(input).await;
        }));
        self.using = Some((source, cutter));
    }

    fn cut(&self, source: NewsSource, why: CancelReason, grace: Grace) {
        if let Some((running, cutter)) = &self.using
            && *running == source
        {
            cutter.send_modify(|cut| *cut = Some((cut.map_or(why, |(first, _)| first), grace)));
        }
    }

    fn run_checks(&mut self, ticket: Ticket, answer: CheckReport, news: &mpsc::Sender<Input>) {
        let (cutter, mut cuts) = watch::channel(None);
        let (news, mut sim) = (news.clone(), self.sim.borrow_mut());
        let time = sim.dice.any_time();
        let late = sim.dice.time(CHECKS_EXIT_TIMEOUT);
        drop(sim);
        self.jobs.spawn(async move {
            let mut answer = answer;
            let cut = tokio::select! {
                biased;
                () = sleep(time) => false,
                Ok(_) = cuts.wait_for(Option::is_some) => true,
            };
            if cut {
                sleep(late).await;
                for result in &mut answer.results {
                    result.verdict = CheckVerdict::Interrupted;
                }
            }
            let _ = news.send(Input::Checked(ticket, answer)).await;
        });
        self.checks = Some((ticket, cutter));
    }
}

impl Effects for SimEffects {
    fn perform(&mut self, effect: Effect, state: &State, news: &mpsc::Sender<Input>) {
        let sim = self.sim.clone();
        sim.pass(CrashPoint::Effect);
        {
            let mut sim = sim.borrow_mut();
            sim.tell(|| trace::effect(&effect));
            sim.post.get_or_insert_with(|| news.clone());
            let Sim { checks, disk, .. } = &mut *sim;
            checks.effect(&effect, state, disk);
        }
        match effect {
            Effect::StartAttempt(request) => {
                let script = sim.borrow_mut().script(request.cap, AttemptScript::work);
                self.start(NewsSource::Attempt(request.attempt), script, news);
            }
            Effect::StartCall(request) => {
                let script = sim.borrow_mut().script(request.cap, AttemptScript::call);
                self.start(NewsSource::Call(request.call), script, news);
            }
            Effect::CancelAttempt { attempt, why, grace } => {
                self.cut(NewsSource::Attempt(attempt), why, grace);
            }
            Effect::CancelCall { call, why, grace } => self.cut(NewsSource::Call(call), why, grace),
            Effect::RunChecks { ticket, .. } => {
                let report = sim.borrow_mut().checks_report();
                self.run_checks(ticket, report, news);
            }
            Effect::CancelChecks { ticket, grace } => {
                if let Some((running, cutter)) = &self.checks
                    && *running == ticket
                {
                    cutter.send_replace(Some((CancelReason::StopNow, grace)));
                }
            }
            other => {
                let reply = sim.borrow_mut().reply(&other);
                if let Some((after, input)) = reply {
                    self.answer(after, input, news);
                }
            }
        }
        sim.pass(CrashPoint::Performed);
    }

    async fn shut_down(&mut self) {
        self.using = None;
        self.jobs.abort_all();
    }
}

impl Sim {
    /// The script of the agent that starts now.
    fn script(
        &mut self,
        cap: Option<Usd>,
        make: fn(&mut Dice, Budget) -> AttemptScript,
    ) -> AttemptScript {
        let bad = if self.calm { 0 } else { self.rates.agent };
        let FaultRates { claims, blocks, .. } = self.rates;
        let wall = self.clock.now().wall;
        let budget = Budget { cap, wall, bad, claims, blocks, calm: self.calm };
        let script = make(&mut self.dice, budget);
        self.script = Some(script.report.clone());
        script
    }

    fn checks_report(&mut self) -> CheckReport {
        let lies = !self.calm;
        let verdict = match self.dice.below(5) {
            0 if lies => CheckVerdict::Failed { how: ProcessExit::Code(1) },
            1 if lies => CheckVerdict::TimedOut,
            2 if lies => CheckVerdict::Flaky,
            3 if lies && self.dice.one_in(8) => {
                CheckVerdict::NotStarted { why: "no temporary folder".to_owned() }
            }
            _ => CheckVerdict::Passed,
        };
        if lies && self.dice.one_in(9) {
            self.project.change(&mut self.dice, false);
        }
        let fails = matches!(verdict, CheckVerdict::Failed { .. });
        let command = "make test".to_owned();
        let needs_host = fails && self.dice.one_in(8);
        let need = HostNeeds { command: command.clone(), needs: vec![Need::Other] };
        let result = CheckResult {
            command,
            verdict,
            output: String::new(),
            tests: None,
            log: None,
            duration: Duration::ZERO,
            outside: false,
        };
        CheckReport {
            results: vec![result],
            fingerprint: self.project.fingerprint(),
            host_needs: needs_host.then_some(need).into_iter().collect(),
            ..CheckReport::default()
        }
    }

    /// The answer to a question about the project, and how long it takes.
    fn reply(&mut self, effect: &Effect) -> Option<(Duration, Input)> {
        let after = self.dice.of(&[Duration::ZERO, Duration::from_millis(3), CHECKS_EXIT_TIMEOUT]);
        let after = self.dice.time(after) + self.hang(effect);
        let input = match effect {
            Effect::Prepare { ticket, mark } => Input::Prepared(*ticket, self.prepared(*mark)),
            Effect::Survey { ticket, .. } => Input::Surveyed(*ticket, Box::new(self.survey())),
            Effect::InspectChanges { ticket } => {
                let found = !self.calm && self.dice.one_in(4);
                let finding = || TamperFinding { path: "t".to_owned(), what: "gone".to_owned() };
                let findings = found.then(finding).into_iter().collect();
                let inspection = Inspection { findings, ..Inspection::default() };
                Input::Inspected(*ticket, Box::new(inspection))
            }
            Effect::RunHook { ticket, .. } => Input::Hook(*ticket, self.hook()),
            Effect::StartAttempt(_)
            | Effect::StartCall(_)
            | Effect::CancelAttempt { .. }
            | Effect::CancelCall { .. }
            | Effect::RunChecks { .. }
            | Effect::CancelChecks { .. }
            | Effect::Nudge { .. }
            | Effect::CloseInput { .. }
            | Effect::SetTimer { .. }
            | Effect::ClearTimer { .. }
            | Effect::Finish => return None,
        };
        Some((after, input))
    }

    /// How long the file system of the project hangs.
    fn hang(&mut self, effect: &Effect) -> Duration {
        let reads_project = matches!(
            effect,
            Effect::Prepare { .. } | Effect::Survey { .. } | Effect::InspectChanges { .. }
        );
        let hangs = reads_project && !self.calm && self.dice.one_in(self.rates.world * 30);
        if hangs { 2 * PROJECT_TIMEOUT } else { Duration::ZERO }
    }

    fn prepared(&mut self, mark: Needed) -> Prepared {
        let known = mark == Needed::Known && !self.dice.one_in(5);
        let mark = (!known).then(|| self.project.mark());
        let full = !self.calm && self.dice.one_in(self.rates.world * 30);
        let disk = full.then_some(Disk { free: 1, floor: 2 });
        Prepared { mark, checklist: None, status: None, disk }
    }

    fn survey(&mut self) -> Survey {
        let (calm, dice) = (self.calm, &mut self.dice);
        let status = self.project.status.is_some().then(|| StatusReport {
            complete: calm || dice.one_in(self.rates.claims),
            failed: (!calm && dice.one_in(40)).then(|| "cannot".to_owned()),
            worked: dice.of(&[None, Some(true), Some(false)]),
            ..StatusReport::default()
        });
        let open = if calm { 0 } else { u32::from(!dice.one_in(self.rates.claims)) };
        let checklist = (calm || dice.one_in(2)).then_some(Checklist { open, done: 2 });
        let warnings = dice.one_in(9).then(|| "odd".to_owned()).into_iter().collect();
        Survey {
            mark: self.project.mark(),
            files_changed: 1,
            files_changed_outside_plan: None,
            list: String::new(),
            principles: None,
            commits: 0,
            changes: None,
            status,
            checklist,
            warnings,
        }
    }

    fn hook(&mut self) -> HookAnswer {
        let why = || "exited with 2".to_owned();
        match self.dice.below(60) {
            0 if !self.calm => HookAnswer::Abort { why: why() },
            1..=15 if !self.calm => HookAnswer::Skip,
            16..=20 if !self.calm => HookAnswer::Failed { why: why() },
            _ => HookAnswer::GoOn,
        }
    }
}
