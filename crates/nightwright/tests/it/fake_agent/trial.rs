//! A whole run in this process: the real machine, supervisor and effect executor around a fake
//! agent, with settings that no command line has.

use std::path::PathBuf;

use nightwright::agent::process::{AgentSetup, ProcessAgent};
use nightwright::clock::{Clock, ClockSpeed};
use nightwright::runtime::effects::{EffectExecutor, ExecutorSetup};
use nightwright::runtime::supervisor::{InputQueues, Observers, Supervisor};
use nightwright::store::journal;
use nightwright::store::run_dir::RunDir;
use nightwright_core::event::{
    AgentFacts, AttemptEvent, Event, IterationEvent, IterationResult, Record, RunStarted,
};
use nightwright_core::input::Input;
use nightwright_core::machine::Machine;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Settings;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::news::AttemptReport;
use nightwright_core::stream::outcome::CancelReason;
use tokio::time::timeout;

use super::census::Census;
use super::{FakeAgent, TEST_TIMEOUT, mark, same_bytes};
use crate::agent_env::AgentEnv;

/// A run that has ended.
pub(super) struct Trial {
    pub(super) records: Vec<Record>,
    /// The folders of the run, kept until the test has read them.
    _stage: AgentEnv,
    agent: FakeAgent,
    run: RunDir,
}

/// One iteration with one attempt.
pub(super) fn settings() -> Settings {
    let mut settings = Settings { goal: "x".to_owned(), ..Settings::default() };
    settings.limits.max_iterations = Some(1);
    settings.retry.max_retries = 0;
    settings
}

impl Trial {
    /// Lets a fake agent play in a run with these settings, to its end.
    pub(super) async fn run(settings: Settings, words: &str) -> Self {
        let stage = AgentEnv::new();
        let folder = stage.project().parent().unwrap().to_owned();
        let agent = FakeAgent::inside(&folder);
        let run = RunDir::create(&folder.join("state"), jiff::Timestamp::now()).unwrap();
        let writer = journal::create(&run.journal(), run.id().clone()).unwrap();
        let clock = Clock::system(ClockSpeed::Real);
        let script = agent.script(words);
        let (usual, time) = (stage.setup("/bin/sh"), clock.clone());
        let (containment, environment) = (usual.containment.clone(), usual.environment.clone());
        let temp = usual.temp.clone();
        let program = ProcessAgent::new(AgentSetup {
            arguments: Box::new(move |_, _| vec!["-c".into(), script.clone().into()]),
            input: Dialect::Claude.input(settings.extras.watchdog),
            folder: run.path().to_owned(),
            run: run.id().clone(),
            clock: std::sync::Arc::new(move || time.now()),
            ..usual
        });
        let executor = EffectExecutor::new(
            ExecutorSetup {
                agent: Box::new(program),
                project: stage.project(),
                folder: run.clone(),
                temp,
                environment,
                withheld: Vec::new(),
                withheld_line: None,
                containment,
                sandbox: None,
                secrets: Secrets::default(),
                hooks: None,
                since: None,
            },
            &settings,
        );
        let machine = Machine::new(RunStarted {
            settings,
            agent: AgentFacts::default(),
            project: stage.project().display().to_string(),
            git_head: None,
            containment: String::new(),
            sandbox: nightwright_core::settings::SandboxKind::Off,
            baseline: None,
            hooks: std::collections::BTreeMap::new(),
            seed: 1,
        });
        let queues = InputQueues::default();
        let _operator = queues.operator();
        let supervisor = Supervisor::new(
            queues,
            machine,
            writer,
            clock,
            executor,
            Secrets::default(),
            Observers::of_records(Box::new(|_| {})),
        );
        timeout(TEST_TIMEOUT, Box::pin(supervisor.run(Input::Start)))
            .await
            .expect("a run that ends");
        let records = journal::read(&run.journal()).unwrap().records;
        Self { records, _stage: stage, agent, run }
    }

    /// The result of the only attempt.
    #[track_caller]
    pub(super) fn report(&self) -> AttemptReport {
        let reports: Vec<_> = self
            .records
            .iter()
            .filter_map(|record| match &record.event {
                Event::Attempt(AttemptEvent::Finished { report, .. }) => {
                    Some(report.as_ref().clone())
                }
                _ => None,
            })
            .collect();
        let [report] = &reports[..] else { panic!("not one attempt: {reports:?}") };
        report.clone()
    }

    /// How the only iteration ended.
    #[track_caller]
    pub(super) fn iteration(&self) -> IterationResult {
        let found = self.records.iter().find_map(|record| match &record.event {
            Event::Iteration(IterationEvent::Finished(finished)) => Some(finished.result.clone()),
            _ => None,
        });
        found.expect("an iteration that ended")
    }

    /// Why the attempt was cut, if it was.
    pub(super) fn cut(&self) -> Option<CancelReason> {
        self.records.iter().find_map(|record| match &record.event {
            Event::Attempt(AttemptEvent::Cancelled { why, .. }) => Some(*why),
            _ => None,
        })
    }

    /// Checks that no process is alive and all output is stored.
    #[track_caller]
    pub(super) fn is_clean(&self) {
        self.census().nobody("the run is over");
        same_bytes(&self.output(), &self.agent.file("printed"));
    }

    fn output(&self) -> PathBuf {
        self.run.output().join("001-1.ndjson")
    }

    fn census(&self) -> Census {
        self.agent.census(vec![mark(&self.run.id().0)])
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.census().end();
        }
    }
}
