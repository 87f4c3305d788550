//! Whole runs with the real agent program, `claude`, against a scripted provider on loopback.
//!
//! Each test runs the `nightwright` binary in a hermetic folder. A small wrapper named `claude` on
//! its `PATH` starts the real program without telemetry and without access to other machines. A
//! [`messages_api`](super::messages_api) plays the provider. The tests check what a user would
//! notice: exit code, journal, files, the requests to the model, and that no process is left.
//!
//! `cargo xtask test` installs the program once, in the version in the file `real/version`. It is
//! in `nightwright-tests` in the user's cache folder, or in the folder
//! `NIGHTWRIGHT_TEST_CLAUDE_DIR`. The tests run in a separate network namespace if one can be
//! created. To run one of them by hand after the installation:
//!
//! ```text
//! cargo nextest run -p nightwright --test it --no-capture real::answers::
//! ```
//!
//! If the program is not installed, the tests report that and pass. The test command counts the
//! tests that ran, by the files that each of them leaves in the folder `NIGHTWRIGHT_TEST_TALLY`.

mod answers;
mod doctor;
mod failures;
mod gains;
mod gate;
mod injections;
mod judge;
mod limits;
mod modes;
mod permissions;
mod projects;
mod prompts;
mod sandbox;
mod sessions;
mod setup;
mod signals;
mod waits;
mod watchdog;

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nightwright_core::event::{
    AttemptEvent, Event, IterationEvent, IterationFinished, Record, RunEvent, Totals,
};
use nightwright_core::outcome::Outcome;
use nightwright_core::stream::news::AttemptReport;
use nightwright_core::stream::outcome::AttemptOutcome;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::agent_env::is_alive;
use super::harness::{Output, RunningCommand, TestEnv, finish, shell_path};
use super::messages_api::scenario::{ApiAnswer, Scenario, call, say};
use super::messages_api::{Api, ApiRequest};

/// The version of the program under test.
const VERSION: &str = include_str!("real/version");

/// Allows one test at a time, because each takes about 200 MB and half a second of one core.
static TURN: Mutex<()> = Mutex::new(());

/// The cost of a message of the usual size with the program's default model, in millionths of a
/// dollar.
const CALL: u64 = 800;

/// The cost of one with the verdict model, in millionths of a dollar.
const VERDICT: u64 = 20;

/// How long processes of the agent may outlive the run.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The beginning of a conversation with the verifier.
const VERIFIER: &str = "# Is this work complete?";

/// A test environment with the real program and a scripted provider.
struct RealEnv {
    env: TestEnv,
    api: Option<Api>,
    address: SocketAddr,
    account: Account,
    place: &'static Location<'static>,
    /// Whether the test was skipped, because a requirement is missing.
    skipped: bool,
    _turn: MutexGuard<'static, ()>,
}

/// The login of the program. Both kinds of credentials are fake.
#[derive(Clone, Copy)]
enum Account {
    Key,
    Subscription,
}

impl Account {
    fn variable(self) -> (&'static str, &'static str) {
        match self {
            Self::Key => ("ANTHROPIC_API_KEY", "a-key-that-opens-nothing"),
            Self::Subscription => ("CLAUDE_CODE_OAUTH_TOKEN", "a-token-that-opens-nothing"),
        }
    }
}

impl RealEnv {
    /// Creates the environment. Returns `None` if the program is not installed.
    #[track_caller]
    fn begin(scenario: Scenario) -> Option<Self> {
        Self::begin_in(|_| scenario)
    }

    /// Like `begin`, for a scenario that refers to files of the project.
    #[track_caller]
    fn begin_in(scenario: impl FnOnce(&Path) -> Scenario) -> Option<Self> {
        let place = Location::caller();
        let program = match installed() {
            Ok(program) => program,
            Err(why) => {
                skipped(&why);
                return None;
            }
        };
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let env = TestEnv::new();
        wrap(&program, &env.path("bin/claude"));
        let api = Api::start(scenario(&env.project()));
        let (address, account) = (api.address(), Account::Key);
        Some(Self { env, api: Some(api), address, account, place, skipped: false, _turn: turn })
    }

    /// Uses a subscription, which has other kinds of limits.
    fn subscribed(mut self) -> Self {
        self.account = Account::Subscription;
        self
    }

    /// Marks the test as skipped, because it tested nothing.
    fn skip(mut self) {
        self.skipped = true;
    }

    fn api(&self) -> &Api {
        self.api.as_ref().expect("the provider is down")
    }

    /// Shuts the provider down.
    fn close_api(&mut self) {
        self.api = None;
    }

    /// Starts the provider again at the same address.
    fn reopen_api(&mut self, scenario: Scenario) {
        self.api = Some(Api::reopen(self.address, scenario));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(arguments);
        let (name, value) = self.account.variable();
        command.env("ANTHROPIC_BASE_URL", format!("http://{}", self.address)).env(name, value);
        command
    }

    /// Starts a run with this goal.
    fn start(&self, goal: &str, arguments: &[&str]) -> RunningCommand {
        let mut all = vec!["run", "--prompt", goal, "--no-delay"];
        all.extend(arguments);
        self.command(&all).spawn().unwrap().into()
    }

    /// Runs the goal and waits for the end of the run.
    fn run(&self, goal: &str, arguments: &[&str]) -> Output {
        self.finish(self.start(goal, arguments))
    }

    /// Waits for the end of a run and of all processes that it started.
    fn finish(&self, child: impl Into<RunningCommand>) -> Output {
        let output = finish(child);
        self.assert_no_process_is_alive();
        output
    }

    /// Fails if a process of the agent is still alive after a while.
    fn assert_no_process_is_alive(&self) {
        let begun = Instant::now();
        loop {
            let alive = self.alive();
            if alive.is_empty() {
                return;
            }
            assert!(begun.elapsed() < EXIT_TIMEOUT, "still alive: {alive:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The living processes of this test with their commands, identified by their home folder.
    fn alive(&self) -> Vec<(i32, String)> {
        let home = format!("HOME={}\0", self.env.path("home").display());
        let ours = |folder: &Path| {
            fs::read(folder.join("environ"))
                .is_ok_and(|text| text.windows(home.len()).any(|part| part == home.as_bytes()))
        };
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if let Ok(pid) = name.parse()
                && ours(&path)
                && is_alive(&name)
            {
                let command = fs::read(path.join("cmdline")).unwrap_or_default();
                found.push((pid, String::from_utf8_lossy(&command).replace('\0', " ")));
            }
        }
        found
    }

    /// The ID of the only run.
    fn id(&self) -> String {
        self.env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned()
    }

    fn journal(&self) -> Vec<Record> {
        self.env.journal()
    }

    /// Returns the outcome of each attempt.
    fn attempts(&self) -> Vec<AttemptReport> {
        let events = self.journal().into_iter().map(|record| record.event);
        events
            .filter_map(|event| match event {
                Event::Attempt(AttemptEvent::Finished { report, .. }) => Some(*report),
                _ => None,
            })
            .collect()
    }

    /// The names of the outcomes of all attempts.
    fn outcomes(&self) -> Vec<&'static str> {
        self.attempts().iter().map(|report| report.outcome.name()).collect()
    }

    fn iterations(&self) -> Vec<IterationFinished> {
        let events = self.journal().into_iter().map(|record| record.event);
        events
            .filter_map(|event| match event {
                Event::Iteration(IterationEvent::Finished(finished)) => Some(*finished),
                _ => None,
            })
            .collect()
    }

    /// The totals of the run.
    fn totals(&self) -> Totals {
        self.end().1
    }

    /// Returns the outcome of the run.
    fn outcome(&self) -> Outcome {
        self.end().0
    }

    fn end(&self) -> (Outcome, Totals) {
        match self.journal().pop().map(|record| record.event) {
            Some(Event::Run(RunEvent::Finished { outcome, totals, .. })) => (outcome, totals),
            other => panic!("the last event is {other:?}"),
        }
    }

    /// The requests for work, without those for verdicts.
    fn asked_for_work(&self) -> Vec<ApiRequest> {
        let mut asked = self.api().asked();
        asked.retain(|request| !request.says(VERIFIER));
        asked
    }

    /// The requests for verdicts.
    fn asked_for_verdict(&self) -> Vec<ApiRequest> {
        let mut asked = self.api().asked();
        asked.retain(|request| request.says(VERIFIER));
        asked
    }

    /// The content of a file in the project.
    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.env.project().join(name)).ok()
    }
}

impl Drop for RealEnv {
    /// Records that the test really ran, unless it failed. Kills the remaining processes of a
    /// failed test.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for pid in self.alive().into_iter().filter_map(|(pid, _)| Pid::from_raw(pid)) {
                // The process may have exited in the meantime.
                let _ = kill_process(pid, Signal::KILL);
            }
            return;
        }
        if let Some(folder) = env::var_os("NIGHTWRIGHT_TEST_TALLY").filter(|_| !self.skipped) {
            fs::write(Path::new(&folder).join(self.name()), "").unwrap();
        }
    }
}

impl RealEnv {
    /// Returns a name that all stages of one test share, and no other test. It is derived from the
    /// process, the thread or the source location, depending on the test runner.
    fn name(&self) -> String {
        let thread = std::thread::current();
        let thread = thread.name().filter(|name| *name != "main").map(str::to_owned);
        let test = thread.unwrap_or_else(|| self.place.to_string());
        format!("{}-{}", std::process::id(), test.replace('/', "."))
    }
}

/// An answer that claims completion.
fn claim() -> ApiAnswer {
    say("All of it is there.\n\n<promise>COMPLETE</promise>")
}

/// A scenario with these answers, in which the verifier accepts the claim.
fn accepted(answers: Vec<ApiAnswer>) -> Scenario {
    Scenario::of(answers).with(VERIFIER, vec![verdict("yes", "it is there")])
}

/// An answer with a verdict in the requested format.
fn verdict(word: &str, reason: &str) -> ApiAnswer {
    call("StructuredOutput", json!({ "verdict": word, "reason": reason, "missing": [] }))
}

/// The reason why an attempt ended, if its outcome has one.
fn why(report: &AttemptReport) -> &str {
    match &report.outcome {
        AttemptOutcome::Auth { why }
        | AttemptOutcome::BadRequest { why }
        | AttemptOutcome::ModelNotFound { why } => why,
        other => panic!("{} says nothing", other.name()),
    }
}

/// The session ID of a request, from its user metadata.
fn session(request: &ApiRequest) -> &str {
    let user = request.body["metadata"]["user_id"].as_str().unwrap_or_default();
    assert!(!user.is_empty(), "no session is named");
    user
}

/// The path of the installed program.
fn installed() -> Result<PathBuf, String> {
    let version = VERSION.trim();
    let cache = || {
        let own = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        own.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))
    };
    let folder = env::var_os("NIGHTWRIGHT_TEST_CLAUDE_DIR")
        .map(PathBuf::from)
        .or_else(|| Some(cache()?.join(format!("nightwright-tests/claude-code-{version}"))))
        .ok_or("there is no home folder")?;
    let program = folder.join("node_modules/.bin/claude");
    let shown = program.display();
    let said = Command::new(&program)
        .arg("--version")
        .output()
        .map_err(|error| format!("`{shown}`: {error}; `cargo xtask test` installs it"))?;
    let said = String::from_utf8_lossy(&said.stdout);
    if said.split(' ').next() == Some(version) {
        Ok(program)
    } else {
        Err(format!("`{shown} --version` says `{}`, not {version}", said.trim()))
    }
}

/// Writes a wrapper with the name of the program that isolates it. Nightwright passes on only the
/// variables that an agent needs, so the wrapper sets the others. A nonexistent proxy prevents
/// access to other machines.
fn wrap(program: &Path, path: &Path) {
    let script = format!(
        "#!/bin/sh\n\
         export DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1 DISABLE_AUTOUPDATER=1\n\
         export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\n\
         export HTTP_PROXY=http://127.0.0.1:1 HTTPS_PROXY=http://127.0.0.1:1 NO_PROXY=127.0.0.1\n\
         exec {} \"$@\"\n",
        shell_path(program)
    );
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[expect(clippy::print_stderr, reason = "a test that tests nothing has to say so")]
fn skipped(why: &str) {
    eprintln!("skipped: real CLI tests: {why}");
}
