//! The user's hooks: programs in `.nightwright/hooks/` that are run at certain points of a run.
//!
//! What runs is what was approved when the run began, from a copy that is compared with it each time:
//! nothing that happens to the project afterwards changes it or takes it away. What a hook is told it is told from the journal,
//! as everybody else is. It has its time and no more, and whatever it does, the run goes on: only
//! two of them can say otherwise, by their exit codes.

mod hook_input;
mod hook_log;
mod pinned;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nightwright_core::display::one_line;
use nightwright_core::event::Record;
use nightwright_core::hook::Hook;
use nightwright_core::input::HookAnswer;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Settings;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::units::human;
use rustix::io::Errno;

use self::hook_input::{HookInput, HookJournalReader};
pub use self::hook_log::LOG;
pub use self::pinned::{ApprovedHooks, PinnedHooks, choose, pin, recall};
use crate::agent::environment;
use crate::process::{CommandEnd, Containment, Exit, HookProcess, Launch, MARK};
use crate::store::journal::RunDir;
use crate::store::temp_folder::TempHandle;

/// How much of what a hook prints is kept, from its end.
const MAX_OUTPUT_BYTES: usize = 64 << 10;
/// The name of the folder for temporary files of hooks.
const TEMP_NAME: &str = "hook";
/// So many of its last lines are shown when it fails.
const LAST_LINES: usize = 3;
/// So much of them.
const MAX_EXCERPT_CHARS: usize = 300;

/// What the hooks of a run need.
pub struct HookSetup {
    /// The project, where they run.
    pub project: PathBuf,
    /// The folder of the run.
    pub folder: RunDir,
    /// Where their temporary files go.
    pub temp: TempHandle,
    /// What checks have in their environment, too.
    pub environment: Vec<(OsString, OsString)>,
    /// What keeps their processes.
    pub containment: Containment,
    /// What is masked in what they print.
    pub secrets: Secrets,
    /// What the run was told, the time that each of them has included.
    pub settings: Settings,
    /// What is run, as it was approved.
    pub pinned: PinnedHooks,
    /// Whether the agent is only a script.
    pub rehearsal: bool,
    /// Where it is said that somebody has changed what is run.
    pub complain: HookWarnFn,
    /// The number of the last line that an earlier process has written.
    pub after: u64,
}

impl fmt::Debug for HookSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the environment: there are secrets in it.
        f.debug_struct("Setup").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Where something is said that people should know.
pub type HookWarnFn = Arc<dyn Fn(String) + Send + Sync>;

/// The hooks of a run.
#[derive(Clone, Debug)]
pub struct HookRunner {
    setup: Arc<HookSetup>,
    journal: Arc<Mutex<HookJournalReader>>,
}

/// A hook that could not do its job, and why.
type HookError = String;

impl HookRunner {
    /// The hooks of a run whose journal is there.
    pub fn new(setup: HookSetup) -> Self {
        let first = HookInput::before(&setup.settings, &setup.secrets, setup.after);
        let journal = HookJournalReader::new(setup.folder.journal(), first);
        Self { setup: Arc::new(setup), journal: Arc::new(Mutex::new(journal)) }
    }

    /// Runs one of them to its end.
    pub async fn run(&self, hook: Hook) -> HookAnswer {
        let mut leashed = match self.begin(hook, None).await {
            Ok(leashed) => leashed,
            Err(why) => return HookAnswer::Failed { why },
        };
        let (ended, output) = self.wait(&mut leashed).await;
        self.keep(hook, failure(&ended, self.timeout()), &output);
        answer(hook, &ended, self.timeout(), &output)
    }

    /// Tells `finished` of the end and waits for it, but not when somebody wants to leave: then it
    /// is left running for a few seconds. Gives what went wrong.
    pub async fn finished(
        &self,
        ending: UnrecordedOutcome,
        leave: impl Future<Output = ()>,
    ) -> Result<(), HookError> {
        let mut leashed = self.begin(Hook::Finished, Some(ending)).await?;
        let done = tokio::select! {
            biased;
            done = self.wait(&mut leashed) => Some(done),
            () = leave => None,
        };
        let Some((ended, output)) = done else {
            // It may still use its temporary files.
            self.setup.temp.keep();
            leashed.leave_running();
            self.keep(Hook::Finished, Some("was not waited for".to_owned()), "");
            return Ok(());
        };
        self.keep(Hook::Finished, failure(&ended, self.timeout()), &output);
        match answer(Hook::Finished, &ended, self.timeout(), &output) {
            HookAnswer::Failed { why } => Err(why),
            HookAnswer::GoOn | HookAnswer::Skip | HookAnswer::Abort { .. } => Ok(()),
        }
    }

    /// Starts a hook.
    async fn begin(
        &self,
        hook: Hook,
        ending: Option<UnrecordedOutcome>,
    ) -> Result<HookProcess, HookError> {
        let begun = self.try_to_begin(hook, ending).await;
        if let Err(why) = &begun {
            self.keep(hook, Some(why.clone()), "");
        }
        begun
    }

    async fn try_to_begin(
        &self,
        hook: Hook,
        ending: Option<UnrecordedOutcome>,
    ) -> Result<HookProcess, HookError> {
        let hooks = self.clone();
        // A long journal takes a moment to read, and that is not for the loop's thread.
        let prepared = tokio::task::spawn_blocking(move || hooks.prepare(hook, ending));
        let (launch, input) = prepared.await.map_err(|error| error.to_string())??;
        HookProcess::start(&launch, &input).await.map_err(|error| not_started(&error))
    }

    /// What is started, and what it is to read.
    fn prepare(
        &self,
        hook: Hook,
        ending: Option<UnrecordedOutcome>,
    ) -> Result<(Launch, Vec<u8>), HookError> {
        let told = self.input(ending)?;
        let ready = self.setup.pinned.ready(self.setup.folder.path(), hook)?;
        if ready.put_back {
            (self.setup.complain)(format!(
                "the copy of the hook `{}` in the folder of the run was changed; what was approved \
                 was put back, and is run",
                hook.name()
            ));
        }
        let room = self.setup.temp.shared_room(TEMP_NAME).map_err(|error| {
            let path = self.setup.temp.path().display();
            format!("cannot create a temporary folder in `{path}`: {error}")
        })?;
        let mut environment = self.environment(hook, &told);
        environment::set_temp(&mut environment, Dialect::Command, &room);
        let launch = Launch {
            program: ready.path,
            arguments: Vec::new(),
            environment,
            directory: self.setup.project.clone(),
            containment: self.setup.containment.clone(),
        };
        Ok((launch, told.input(hook)))
    }

    /// What the journal has told. Of the end a hook is told whatever became of the journal.
    fn input(&self, ending: Option<UnrecordedOutcome>) -> Result<HookInput, HookError> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let told = journal.read();
        let Some(UnrecordedOutcome { record }) = ending else {
            return told.map_err(|error| format!("the journal cannot be read: {error}"));
        };
        let mut told = told.unwrap_or_else(|_| journal.known());
        told.close(record, self.setup.folder.id());
        Ok(told)
    }

    async fn wait(&self, leashed: &mut HookProcess) -> (CommandEnd, String) {
        leashed.run(self.timeout(), MAX_OUTPUT_BYTES, &self.setup.secrets).await
    }

    fn timeout(&self) -> Duration {
        self.setup.settings.hooks.timeout
    }

    fn environment(&self, hook: Hook, told: &HookInput) -> Vec<(OsString, OsString)> {
        let mut all = self.setup.environment.clone();
        let mut set = |name: &str, value: &OsStr| {
            all.retain(|(there, _)| there != name);
            all.push((name.into(), value.to_owned()));
        };
        let log = self.setup.folder.logs().pop().unwrap_or_default();
        let plan = told.plan().map(|plan| self.setup.project.join(plan)).unwrap_or_default();
        set("NIGHTWRIGHT_HOOK", hook.name().as_ref());
        set("NIGHTWRIGHT_RUN_ID", self.setup.folder.id().0.as_ref());
        set("NIGHTWRIGHT_PROJECT_DIR", self.setup.project.as_os_str());
        set("NIGHTWRIGHT_LOG_FILE", log.as_os_str());
        set("NIGHTWRIGHT_PLAN_FILE", plan.as_os_str());
        set("NIGHTWRIGHT_DRY_RUN", if self.setup.rehearsal { "1" } else { "" }.as_ref());
        for (name, value) in told.facts(hook) {
            set(&["NIGHTWRIGHT_", name].concat(), value.as_ref());
        }
        all.retain(|(name, _)| name != MARK);
        all
    }

    /// Keeps what became of a hook, and what it printed.
    fn keep(&self, hook: Hook, failed: Option<HookError>, output: &str) {
        let how = failed.unwrap_or_else(|| "exited with 0".to_owned());
        // What a hook says is for whoever looks for a fault; without it the run is none the worse.
        let _ = hook_log::append(self.setup.folder.path(), hook.name(), &how, output);
    }
}

/// How a run ended: what the last line of the journal says, or would say if it could have been
/// written.
#[derive(Debug)]
pub struct UnrecordedOutcome {
    /// The end.
    pub record: Record,
}

/// What the end of a hook means.
fn answer(hook: Hook, ended: &CommandEnd, timeout: Duration, output: &str) -> HookAnswer {
    let code = match ended {
        CommandEnd::Exited(exit) => exit.code(),
        CommandEnd::TimedOut | CommandEnd::Stopped | CommandEnd::NotStarted { .. } => None,
    };
    match (code, failure(ended, timeout)) {
        (_, None) => HookAnswer::GoOn,
        (Some(1), Some(_)) if hook.can_skip() => HookAnswer::Skip,
        (Some(2), Some(why)) if hook.can_abort() => {
            HookAnswer::Abort { why: with_output_excerpt(why, output) }
        }
        (_, Some(why)) => HookAnswer::Failed { why: with_output_excerpt(why, output) },
    }
}

/// What was wrong with the end of a hook.
fn failure(ended: &CommandEnd, timeout: Duration) -> Option<String> {
    match ended {
        CommandEnd::Exited(exit) if exit.is_success() => None,
        CommandEnd::Exited(exit) => Some(how(*exit)),
        CommandEnd::TimedOut => Some(format!("took longer than {} and was ended", human(timeout))),
        CommandEnd::Stopped => Some("was stopped".to_owned()),
        CommandEnd::NotStarted { why } => Some(why.clone()),
    }
}

fn how(exit: Exit) -> String {
    match (exit.code(), exit.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The same with the last lines that it printed.
fn with_output_excerpt(why: String, output: &str) -> String {
    let lines: Vec<_> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return why;
    }
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join(" | ");
    format!("{why}: {}", one_line(&last, MAX_EXCERPT_CHARS))
}

/// Why a hook could not be started, in words that help.
fn not_started(error: &io::Error) -> HookError {
    let why = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => "the program that its `#!` line names is not there",
        Some(Errno::NOEXEC) => "it is no program: a script begins with a line such as `#!/bin/sh`",
        Some(Errno::ACCESS) => {
            "the system does not let it be executed; is the folder of runs on a disk without \
             programs (noexec)?"
        }
        _ => return format!("cannot be started: {error}"),
    };
    format!("cannot be started: {why}")
}
