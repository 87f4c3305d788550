//! Whole runs in virtual time: the real machine and supervisor, with a scripted agent and a disk
//! with scripted faults.

mod notified;
mod slow_checks;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use nightwright::agent::{Agent, AgentRequest, Attempt, NewsSender, NewsSource};
use nightwright::clock::Clock;
use nightwright::runtime::supervisor::{Effects, InputQueues, Observers, RunOutcome, Supervisor};
use nightwright::store::journal::{self, JournalWriter};
use nightwright_core::effect::AnswerFormat;
use nightwright_core::effect::{Effect, Needed};
use nightwright_core::event::{
    AgentFacts, AttemptEvent, Event, Record, RunEvent, RunStarted, StopSource, StopWhen,
};
use nightwright_core::input::{Control, Input, Prepared, Survey, WorkspaceMark};
use nightwright_core::machine::Machine;
use nightwright_core::machine::ledger::State;
use nightwright_core::outcome::Outcome;
use nightwright_core::prompt;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{Settings, VerdictMode};
use nightwright_core::stream::dialect::ToolAccess;
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::AttemptOutcome;
use nightwright_core::units::{Fingerprint, RunId, Usd};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::fake_disk::{FakeDisk, FakeFile, Fault, Operation};
use super::scripted_agent::{ScriptStep, ScriptedAgent, ScriptedLog};

/// The effects of a run with a scripted agent. Each snapshot returns the next given tree.
struct ScriptedEffects {
    agent: ScriptedAgent,
    attempt: Option<Box<dyn Attempt>>,
    trees: VecDeque<&'static str>,
    tree: &'static str,
    /// The number of times that the checks ran.
    checks: u32,
    /// Called before each effect, to inspect the disk.
    at_effect: Box<dyn FnMut(&Effect)>,
}

impl ScriptedEffects {
    fn new(scripts: Vec<Vec<ScriptStep>>, trees: &[&'static str]) -> (Self, ScriptedLog) {
        let agent = ScriptedAgent::new(scripts);
        let log = agent.log();
        let play = Self {
            agent,
            attempt: None,
            trees: trees.iter().copied().collect(),
            tree: "start",
            checks: 0,
            at_effect: Box::new(|_| {}),
        };
        (play, log)
    }

    fn mark(&self) -> WorkspaceMark {
        let fingerprint = Fingerprint(self.tree.to_owned());
        WorkspaceMark { fingerprint, head: None, head_tree: None, status: None }
    }
}

impl Effects for ScriptedEffects {
    fn perform(&mut self, effect: Effect, state: &State, news: &mpsc::Sender<Input>) {
        (self.at_effect)(&effect);
        let answer = match effect {
            Effect::Prepare { ticket, mark } => {
                let mark = (mark == Needed::Yes).then(|| self.mark());
                Input::Prepared(
                    ticket,
                    Prepared { mark, checklist: None, status: None, disk: None },
                )
            }
            Effect::Survey { ticket, .. } => {
                self.tree = self.trees.pop_front().unwrap_or(self.tree);
                let survey = Survey {
                    mark: self.mark(),
                    files_changed: 1,
                    files_changed_outside_plan: None,
                    list: String::new(),
                    principles: None,
                    commits: 0,
                    changes: None,
                    status: None,
                    checklist: None,
                    warnings: vec![],
                };
                Input::Surveyed(ticket, Box::new(survey))
            }
            Effect::StartAttempt(request) => {
                let source = NewsSource::Attempt(request.attempt);
                let order = AgentRequest {
                    tools: ToolAccess::Usual,
                    shape: AnswerFormat::Words,
                    source,
                    purpose: None,
                    iteration: request.briefing.iteration.0,
                    label: String::new(),
                    prompt: prompt::compose(
                        &state.settings,
                        &request.briefing,
                        &prompt::PromptContext::default(),
                    )
                    .unwrap(),
                    cap: request.cap,
                    model: request.model,
                };
                self.attempt = Some(self.agent.start(order, NewsSender::new(source, news.clone())));
                return;
            }
            Effect::CancelAttempt { why, grace, .. } => {
                if let Some(attempt) = &self.attempt {
                    attempt.cancel(why, grace);
                }
                return;
            }
            Effect::RunChecks { ticket, .. } => {
                slow_checks::run(ticket, self.tree, self.checks, news);
                self.checks += 1;
                return;
            }
            Effect::InspectChanges { ticket } => Input::Inspected(ticket, Box::default()),
            Effect::Finish => return,
            other => panic!("this play has no part for {other:?}"),
        };
        news.try_send(answer).expect("there is room");
    }

    async fn shut_down(&mut self) {
        self.attempt = None;
    }
}

fn finishes(promise: bool) -> Vec<ScriptStep> {
    let mut report = AttemptReport::bare(AttemptOutcome::Finished);
    report.cost = Some(Usd::from_cents(10));
    report.text_evidence.promise = promise;
    vec![ScriptStep::After(Duration::from_secs(90)), ScriptStep::Exit(Box::new(report))]
}

fn fails(outcome: AttemptOutcome) -> Vec<ScriptStep> {
    let mut report = AttemptReport::bare(outcome);
    report.cost = Some(Usd::from_cents(1));
    vec![ScriptStep::After(Duration::from_secs(5)), ScriptStep::Exit(Box::new(report))]
}

fn settings() -> Settings {
    let mut settings = Settings { goal: "do it".to_owned(), ..Settings::default() };
    settings.limits.max_iterations = Some(10);
    settings.verify.model = VerdictMode::Off;
    settings
}

fn machine(settings: Settings) -> Machine {
    Machine::new(RunStarted {
        settings,
        agent: AgentFacts::default(),
        project: "/project".to_owned(),
        git_head: None,
        containment: String::new(),
        sandbox: nightwright_core::settings::SandboxKind::Off,
        baseline: None,
        hooks: std::collections::BTreeMap::new(),
        seed: 1,
    })
}

struct SupervisorEnv {
    disk: FakeDisk,
    seen: Rc<RefCell<Vec<Record>>>,
}

impl SupervisorEnv {
    fn new() -> Self {
        Self { disk: FakeDisk::new(), seen: Rc::default() }
    }

    /// Builds a supervisor, and the sender for operator requests.
    fn supervisor(
        &self,
        settings: Settings,
        play: ScriptedEffects,
    ) -> (Supervisor<FakeFile, ScriptedEffects>, mpsc::Sender<Control>) {
        let writer =
            JournalWriter::new(self.disk.open(), RunId("r".to_owned())).expect("a journal");
        let clock = Clock::starting_at("2026-11-15T22:00:00Z".parse().expect("a date"));
        let seen = Rc::clone(&self.seen);
        let watcher =
            Box::new(move |records: &[Record]| seen.borrow_mut().extend_from_slice(records));
        let queues = InputQueues::default();
        let operator = queues.operator();
        (
            Supervisor::new(
                queues,
                machine(settings),
                writer,
                clock,
                play,
                Secrets::default(),
                Observers::of_records(watcher),
            ),
            operator,
        )
    }

    async fn run(&self, settings: Settings, play: ScriptedEffects) -> RunOutcome {
        let (supervisor, _operator) = self.supervisor(settings, play);
        supervisor.run(Input::Start).await
    }

    fn events(&self) -> Vec<&'static str> {
        self.seen.borrow().iter().map(|record| record.event.name()).collect()
    }

    /// The records that are stored in the journal.
    fn recorded(&self) -> Vec<Record> {
        let file = self.disk.crash(self.disk.volatile()).open();
        let (journal, _) =
            journal::resume(file, &RunId("r".to_owned())).expect("a journal that can be read");
        journal.records
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_works_and_completes_in_virtual_time() {
    let stage = SupervisorEnv::new();
    let until = Some("2026-11-16T03:00:00Z".parse().expect("a date"));
    let (play, log) = ScriptedEffects::new(
        vec![
            finishes(false),
            fails(AttemptOutcome::UsageLimited { until }),
            fails(AttemptOutcome::Overloaded),
            finishes(true),
        ],
        &["one", "two"],
    );
    let began = Instant::now();
    let finished = stage.run(settings(), play).await;
    assert_eq!(finished.outcome.name(), "completed");
    assert_eq!(log.orders().len(), 4);
    let hours = began.elapsed().as_secs() / 3600;
    assert_eq!(hours, 5, "the limit was waited for, and no longer");
    assert_eq!(stage.recorded(), *stage.seen.borrow(), "what was shown is what was recorded");
}

#[tokio::test(start_paused = true)]
async fn nothing_that_spends_begins_before_its_event_is_on_disk() {
    let stage = SupervisorEnv::new();
    let (mut play, _) =
        ScriptedEffects::new(vec![finishes(false), finishes(true)], &["one", "two"]);
    let disk = stage.disk.clone();
    play.at_effect = Box::new(move |effect| {
        if effect.needs_durable_past() {
            assert_eq!(disk.volatile(), 0, "{effect:?} began before its past was safe");
        }
    });
    assert_eq!(stage.run(settings(), play).await.outcome.name(), "completed");
}

#[tokio::test(start_paused = true)]
async fn a_plain_iteration_syncs_twice() {
    let stage = SupervisorEnv::new();
    let mut settings = settings();
    settings.limits.max_iterations = Some(20);
    settings.progress.threshold = 0;
    let (play, _) = ScriptedEffects::new(vec![finishes(false); 20], &[]);
    let disk = stage.disk.clone();
    let before = disk.calls(Operation::Sync);
    stage.run(settings, play).await;
    let syncs = disk.calls(Operation::Sync) - before;
    assert!(syncs <= 2 * 20 + 2, "{syncs} syncs for 20 iterations");
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_before_an_attempt_keeps_the_agent_from_starting() {
    for (operation, fault) in [
        (Operation::Append, Fault::NoSpace),
        (Operation::Append, Fault::Io),
        (Operation::Append, Fault::Short(20)),
        (Operation::Sync, Fault::Io),
    ] {
        for nth in 1..=2 {
            let stage = SupervisorEnv::new();
            let (play, log) = ScriptedEffects::new(vec![finishes(true)], &["one"]);
            let (supervisor, _operator) = stage.supervisor(settings(), play);
            stage.disk.fail(operation, nth, fault);
            let started_with = nth == 2 && operation == Operation::Sync;
            let finished = supervisor.run(Input::Start).await;
            if started_with {
                // The second sync belongs to the end of the iteration.
                assert_eq!(finished.outcome.name(), "journal_failed");
                continue;
            }
            assert!(
                log.orders().is_empty(),
                "{operation:?} {fault:?} {nth}: the agent was started"
            );
            let Outcome::JournalFailed { why } = &finished.outcome else {
                panic!("{operation:?} {fault:?} {nth}: ended as {}", finished.outcome.name())
            };
            assert!(why.contains("journal.jsonl"), "{why}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn with_the_space_set_aside_the_reason_of_a_full_disk_is_recorded() {
    let stage = SupervisorEnv::new();
    let (play, _) = ScriptedEffects::new(vec![finishes(true)], &["one"]);
    let (supervisor, _operator) = stage.supervisor(settings(), play);
    stage.disk.fail(Operation::Append, 2, Fault::NoSpace);
    let finished = supervisor.run(Input::Start).await;
    assert_eq!(finished.outcome.name(), "journal_failed");
    let last = stage.recorded().pop().expect("events");
    let Event::Run(RunEvent::Finished { outcome: Outcome::JournalFailed { why }, .. }) = last.event
    else {
        panic!("the last event is {}", last.event.name())
    };
    assert!(why.contains("space"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_another_process_changes_ends_the_run_with_that_outcome() {
    let stage = SupervisorEnv::new();
    let (mut play, log) = ScriptedEffects::new(vec![finishes(false), finishes(true)], &["one"]);
    let disk = stage.disk.clone();
    play.at_effect = Box::new(move |effect| {
        if matches!(effect, Effect::Survey { .. }) {
            disk.intrude(b"{}\n");
        }
    });
    let finished = stage.run(settings(), play).await;
    assert_eq!(finished.outcome.name(), "journal_damaged");
    assert_eq!(finished.unrecorded, None, "the outcome is on disk");
    assert_eq!(log.orders().len(), 1);
    let last = stage.recorded().pop().expect("events");
    assert_eq!(finished.end.expect("the last line").record, last);
    let Event::Run(RunEvent::Finished { outcome, .. }) = last.event else { panic!("no end") };
    assert_eq!(outcome, finished.outcome);
}

/// An attempt that is ready after a second, and then ignores SIGTERM.
fn ready_and_ignoring_signals() -> Vec<ScriptStep> {
    vec![
        ScriptStep::After(Duration::from_secs(1)),
        ScriptStep::News(AgentNews::Ready(nightwright_core::stream::news::Ready::default())),
        ScriptStep::IgnoreTerm,
        ScriptStep::Hang,
    ]
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_during_an_attempt_ends_the_attempt() {
    let stage = SupervisorEnv::new();
    let script = ready_and_ignoring_signals();
    let (play, log) = ScriptedEffects::new(vec![script], &[]);
    let (supervisor, _operator) = stage.supervisor(settings(), play);
    stage.disk.fail(Operation::Append, 3, Fault::Io);
    let began = Instant::now();
    let finished = supervisor.run(Input::Start).await;
    assert_eq!(finished.outcome.name(), "journal_failed");
    assert_eq!(log.orders().len(), 1);
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_a_failed_journal_ends_is_not_given_up_by_a_deadline_from_before() {
    let stage = SupervisorEnv::new();
    let mut settings = settings();
    // The deadline expires in the grace period of an attempt whose first news cannot be recorded.
    settings.deadlines.start = Duration::from_secs(3);
    let script = ready_and_ignoring_signals();
    let (play, _) = ScriptedEffects::new(vec![script], &[]);
    let (supervisor, _operator) = stage.supervisor(settings, play);
    stage.disk.fail(Operation::Append, 3, Fault::NoSpace);
    let finished = supervisor.run(Input::Start).await;
    assert_eq!(finished.outcome.name(), "journal_failed");
    let recorded = stage.recorded();
    let outcomes: Vec<_> = recorded
        .iter()
        .filter_map(|record| match &record.event {
            Event::Attempt(AttemptEvent::Finished { report, .. }) => Some(report.outcome.name()),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, ["interrupted"]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_at_the_very_word_to_end_an_attempt_ends_it_all_the_same() {
    for (operation, fault) in [(Operation::Append, Fault::Io), (Operation::Sync, Fault::Io)] {
        let stage = SupervisorEnv::new();
        let (play, _) = ScriptedEffects::new(vec![vec![ScriptStep::Hang]], &[]);
        let (supervisor, _operator) = stage.supervisor(settings(), play);
        // The first two writes are the start and the attempt. Only the start needs no sync.
        let nth = if operation == Operation::Append { 3 } else { 2 };
        stage.disk.fail(operation, nth, fault);
        let run = tokio::time::timeout(Duration::from_hours(1), supervisor.run(Input::Start));
        let finished = run.await.expect("a run whose agent hangs ends");
        assert_eq!(finished.outcome.name(), "journal_failed", "{operation:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_cause_of_the_end_is_recorded_in_the_reserved_space() {
    let stage = SupervisorEnv::new();
    let (play, _) = ScriptedEffects::new(vec![finishes(true)], &["one"]);
    let (supervisor, _operator) = stage.supervisor(settings(), play);
    stage.disk.fail(Operation::Append, 3, Fault::NoSpace);
    let finished = supervisor.run(Input::Start).await;
    assert_eq!(finished.outcome.name(), "journal_failed");
    assert_eq!(finished.unrecorded, None, "the outcome is on disk");
    let recorded = stage.recorded();
    let names: Vec<_> = recorded.iter().map(|record| record.event.name()).collect();
    assert!(names.ends_with(&["attempt_finished", "iteration_finished", "run_finished"]));
    assert_eq!(recorded, *stage.seen.borrow(), "what was shown is what was recorded");
}

#[tokio::test(start_paused = true)]
async fn if_only_the_outcome_can_be_recorded_its_totals_include_all_costs() {
    let stage = SupervisorEnv::new();
    let (play, _) = ScriptedEffects::new(vec![finishes(true)], &["one"]);
    let (supervisor, _operator) = stage.supervisor(settings(), play);
    stage.disk.fail(Operation::Append, 3, Fault::NoSpace);
    stage.disk.fail(Operation::Append, 4, Fault::NoSpace);
    let finished = supervisor.run(Input::Start).await;
    assert_eq!(finished.unrecorded, None, "the outcome is on disk");
    let recorded = stage.recorded();
    assert!(!recorded.iter().any(|record| record.event.name() == "attempt_finished"));
    assert_eq!(Machine::resume(&recorded).state().totals.cost, Usd::from_cents(10));
}

#[tokio::test(start_paused = true)]
async fn stop_now_ends_an_attempt_that_will_not_leave() {
    let stage = SupervisorEnv::new();
    let (play, _) = ScriptedEffects::new(vec![vec![ScriptStep::IgnoreTerm, ScriptStep::Hang]], &[]);
    let (supervisor, operator) = stage.supervisor(settings(), play);
    let run = supervisor.run(Input::Start);
    let stop = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        let when = Instant::now();
        let stop = Control::Stop { when: StopWhen::Now, by: StopSource::Operator };
        operator.send(stop).await.expect("somebody listens");
        when
    };
    let (finished, asked) = tokio::join!(run, stop);
    assert_eq!(finished.outcome.name(), "interrupted");
    assert!(asked.elapsed() <= Duration::from_secs(12), "{:?}", asked.elapsed());
    assert_eq!(stage.events().last(), Some(&"run_finished"));
}

#[tokio::test(start_paused = true)]
async fn a_paused_run_waits_for_as_long_as_it_takes_and_then_continues() {
    let stage = SupervisorEnv::new();
    let (play, log) = ScriptedEffects::new(vec![finishes(false), finishes(true)], &["one", "two"]);
    let (supervisor, operator) = stage.supervisor(settings(), play);
    let orders = log.clone();
    let steer = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        operator.send(Control::Pause).await.expect("somebody listens");
        tokio::time::sleep(Duration::from_hours(9)).await;
        assert_eq!(orders.orders().len(), 1, "nothing new was started");
        operator.send(Control::Resume).await.expect("somebody listens");
    };
    let (finished, ()) = tokio::join!(supervisor.run(Input::Start), steer);
    assert_eq!(finished.outcome.name(), "completed");
    assert_eq!(log.orders().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_says_nothing_is_given_up_and_tried_again() {
    let stage = SupervisorEnv::new();
    let (play, log) = ScriptedEffects::new(vec![vec![ScriptStep::Hang], finishes(true)], &["one"]);
    let finished = stage.run(settings(), play).await;
    assert_eq!(finished.outcome.name(), "completed");
    assert_eq!(log.orders().len(), 2);
    assert!(stage.events().contains(&"attempt_cancelled"));
}
