//! A project, a run folder and an agent that is a real process, for tests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nightwright::agent::environment::inherited;
use nightwright::agent::process::{AgentSetup, ArgumentsFor, ProcessAgent};
use nightwright::agent::{Agent, AgentRequest, Attempt, NewsSender, NewsSource};
use nightwright::process::Containment;
use nightwright::rehearsal;
use nightwright::store::temp_folder::TempFolder;
use nightwright_core::effect::AnswerFormat;
use nightwright_core::event::CallPurpose;
use nightwright_core::input::Input;
use nightwright_core::prompt::Prompt;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::{AgentOptions, Dialect, InputShape, ToolAccess};
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::verdict;
use nightwright_core::temp::RankedFolder;
use nightwright_core::units::{AttemptId, CallId, Now, RunId};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The timeout of a test; only a failing test takes this long.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// The program under test.
pub(crate) const NIGHTWRIGHT: &str = env!("CARGO_BIN_EXE_nightwright");

/// Separate folders for one test.
pub(crate) struct AgentEnv {
    folder: TempDir,
    temp: TempFolder,
    pub(crate) input: InputShape,
}

impl AgentEnv {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        let place = RankedFolder { folder: folder.path().to_owned(), instead: None };
        let temp = TempFolder::create(&folder.path().join("state"), &[place]).unwrap();
        Self { folder, temp, input: InputShape::Prompt }
    }

    /// Adds a script for the rehearsal agent.
    pub(crate) fn with_script(script: &str) -> Self {
        let stage = Self::new();
        fs::write(stage.folder.path().join("script.toml"), script).unwrap();
        stage
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn run_folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("asked.log")
    }

    /// Returns the requests to the rehearsal agent, one value each.
    pub(crate) fn asked(&self) -> Vec<serde_json::Value> {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns an agent that plays the rehearsal.
    pub(crate) fn rehearsal(&self) -> ProcessAgent {
        let mut arguments = vec!["rehearse".to_owned()];
        // Request verdicts in the format of the schema.
        let json_schema = Some(verdict::SCHEMA);
        let options = AgentOptions { input: self.input, json_schema, ..AgentOptions::default() };
        arguments.extend(Dialect::Claude.arguments(&options));
        self.agent(NIGHTWRIGHT, arguments.into_iter().map(OsString::from).collect())
    }

    /// Returns an agent that runs a shell script.
    pub(crate) fn shell(&self, script: &str) -> ProcessAgent {
        self.agent("/bin/sh", vec!["-c".into(), script.into()])
    }

    pub(crate) fn agent(&self, program: &str, arguments: Vec<OsString>) -> ProcessAgent {
        ProcessAgent::new(AgentSetup { arguments: always(arguments), ..self.setup(program) })
    }

    pub(crate) fn setup(&self, program: &str) -> AgentSetup {
        let start = Instant::now();
        let script = self.folder.path().join("script.toml");
        let mut environment = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("SECRET_OF_OURS".into(), "x".into()),
            ("CLAUDECODE".into(), "1".into()),
            (rehearsal::LOG_VARIABLE.into(), self.log().into()),
        ];
        if script.exists() {
            environment.push((rehearsal::SCRIPT_VARIABLE.into(), script.into()));
        }
        let also = |name: &str| name.starts_with("NIGHTWRIGHT_REHEARSAL_");
        AgentSetup {
            program: program.into(),
            arguments: Box::new(|_, _| Vec::new()),
            dialect: Dialect::Claude,
            input: self.input,
            environment: inherited(Dialect::Claude, environment, &BTreeMap::new(), also),
            project: self.project(),
            folder: self.run_folder(),
            temp: self.temp.handle(),
            containment: Containment::with_guard(NIGHTWRIGHT.into(), None, None),
            run: RunId("run-7".to_owned()),
            task: Some("tidy".to_owned()),
            completion: Completion::default(),
            clock: Arc::new(move || Now { wall: jiff::Timestamp::now(), mono: start.elapsed() }),
            show: None,
            secrets: Secrets::default(),
            judge: None,
            notices: None,
            sandbox: None,
        }
    }
}

/// The same arguments for every request, and the file with its system prompt.
fn always(arguments: Vec<OsString>) -> ArgumentsFor {
    Box::new(move |_, system| {
        let mut all = arguments.clone();
        if let Some(system) = system {
            all.extend(["--append-system-prompt-file".into(), system.into()]);
        }
        all
    })
}

/// The launch request for an attempt.
pub(crate) fn attempt(number: u32) -> AgentRequest {
    AgentRequest {
        tools: ToolAccess::Usual,
        shape: AnswerFormat::Words,
        source: NewsSource::Attempt(AttemptId(number)),
        purpose: None,
        iteration: number,
        label: format!("{number:03}-1"),
        prompt: Prompt { system: String::new(), user: "Do the work.".to_owned() },
        cap: None,
        model: None,
    }
}

/// The launch request for a call.
pub(crate) fn call(number: u32, purpose: CallPurpose) -> AgentRequest {
    AgentRequest {
        tools: ToolAccess::Usual,
        shape: AnswerFormat::Words,
        source: NewsSource::Call(CallId(number)),
        purpose: Some(purpose),
        label: format!("c{number}"),
        ..attempt(1)
    }
}

/// A running attempt with its news.
pub(crate) struct RunningAttempt {
    attempt: Option<Box<dyn Attempt>>,
    inputs: mpsc::Receiver<Input>,
    pub(crate) troubles: Vec<String>,
}

impl RunningAttempt {
    pub(crate) fn start(agent: &mut dyn Agent, order: AgentRequest) -> Self {
        let (sender, inputs) = mpsc::channel(8);
        let post = NewsSender::new(order.source, sender);
        Self { attempt: Some(agent.start(order, post)), inputs, troubles: Vec::new() }
    }

    pub(crate) fn attempt(&self) -> &dyn Attempt {
        self.attempt.as_deref().expect("it was let go")
    }

    /// Drops the attempt but keeps receiving its news.
    pub(crate) fn let_go(&mut self) {
        self.attempt = None;
    }

    /// The next news; `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<AgentNews> {
        loop {
            let input =
                timeout(TEST_TIMEOUT, self.inputs.recv()).await.expect("no news for too long");
            match input? {
                Input::Agent(_, news) | Input::Call(_, news) => return Some(news),
                Input::Warning { text } => self.troubles.push(text),
                other => panic!("an attempt never says {other:?}"),
            }
        }
    }

    /// Waits for news that meets a condition.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&AgentNews) -> bool) -> AgentNews {
        loop {
            match self.next().await {
                Some(news) if wanted(&news) => return news,
                Some(AgentNews::Exited(report)) => panic!("exited before that: {report:?}"),
                Some(_) => {}
                None => panic!("nothing more is heard, and that never came"),
            }
        }
    }

    /// Waits until the agent is ready.
    pub(crate) async fn until_ready(&mut self) {
        self.until(|news| matches!(news, AgentNews::Ready(_))).await;
    }

    /// Waits for the exit; fails if anything follows it.
    pub(crate) async fn finish(mut self) -> (Vec<AgentNews>, AttemptReport) {
        let mut before = Vec::new();
        let report = loop {
            match self.next().await.expect("it never said that it exited") {
                AgentNews::Exited(report) => break *report,
                news => before.push(news),
            }
        };
        assert_eq!(self.next().await, None, "something followed the exit");
        (before, report)
    }
}

/// Plays one request until the agent exits.
pub(crate) async fn report(agent: &mut dyn Agent, order: AgentRequest) -> AttemptReport {
    RunningAttempt::start(agent, order).finish().await.1
}

/// Timeouts for a program, each much longer than the one before. The program must make some
/// progress before it times out, which takes longer on a busy machine.
pub(crate) const GROWING: [Duration; 4] =
    [Duration::from_millis(300), Duration::from_secs(2), Duration::from_secs(6), TEST_TIMEOUT];

/// Waits until an external condition holds.
pub(crate) async fn eventually(what: &str, fact: impl Fn() -> bool) {
    let begin = Instant::now();
    while !fact() {
        assert!(begin.elapsed() < TEST_TIMEOUT, "never came true: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process is running and not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}
