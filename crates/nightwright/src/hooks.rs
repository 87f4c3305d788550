//! Hooks: the user's programs in `.nightwright/hooks/`, run at certain points of a run.
//!
//! A run executes the hooks that were approved when it began, from a copy that is verified before
//! each use. Later changes to the project do not affect them. Their input comes from the journal.
//! Each hook has a timeout, and the run continues whatever a hook does. Only two hooks can change
//! that, by their exit codes.
//!
//! The machine requests a hook with an effect, and its answer is an input. Only `finished` runs
//! after the loop.

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
use nightwright_core::hook::Hook;
use nightwright_core::input::HookAnswer;
use nightwright_core::journal::JournalLine;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Settings;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::units::human;
use rustix::io::Errno;

use self::hook_input::{HookInput, HookJournalReader};
pub use self::pinned::{ApprovedHooks, PinnedHooks, choose, pin, recall};
use crate::agent::environment;
use crate::error::WarnFn;
use crate::process::{CommandEnd, Containment, Exit, HookProcess, Launch, MARK, SigtermScope};
use crate::store::journal::WrittenLength;
use crate::store::run_dir::RunDir;
use crate::store::temp_folder::TempHandle;

/// The maximum size of the kept output of a hook, taken from its end.
const MAX_OUTPUT_BYTES: usize = 64 << 10;
/// The name of the directory for temporary files of hooks.
const TEMP_NAME: &str = "hook";
/// The number of output lines shown when a hook fails.
const LAST_LINES: usize = 3;
/// The maximum length of these lines together.
const MAX_EXCERPT_CHARS: usize = 300;

/// Everything needed to run the hooks of a run.
pub struct HookSetup {
    /// The project, which is the working directory of hooks.
    pub project: PathBuf,
    pub folder: RunDir,
    /// The parent of their temporary directories.
    pub temp: TempHandle,
    /// The environment variables, which checks get too.
    pub environment: Vec<(OsString, OsString)>,
    /// Limits and cleans up their processes.
    pub containment: Containment,
    /// The secrets to mask in their output.
    pub secrets: Secrets,
    /// The settings of the run, including the timeout of hooks.
    pub settings: Settings,
    /// The approved programs of the hooks.
    pub pinned: PinnedHooks,
    /// Whether the rehearsal agent replaces the real one.
    pub rehearsal: bool,
    /// Reports that a copy of a hook was changed.
    pub complain: WarnFn,
    /// The number of the last journal line from an earlier process.
    pub after: u64,
    /// The length of the journal that the writer of this process wrote.
    pub written: WrittenLength,
}

impl fmt::Debug for HookSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Leave out the environment: it contains secrets.
        f.debug_struct("HookSetup").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Runs the hooks of a run.
#[derive(Clone, Debug)]
pub struct HookRunner {
    setup: Arc<HookSetup>,
    journal: Arc<Mutex<HookJournalReader>>,
}

/// Why a hook failed to start or to run.
type HookError = String;

impl HookRunner {
    /// Creates the runner for a run whose journal exists.
    pub fn new(setup: HookSetup) -> Self {
        let first = HookInput::before(&setup.settings, &setup.secrets, setup.after);
        let journal = HookJournalReader::new(setup.folder.journal(), setup.written.clone(), first);
        Self { setup: Arc::new(setup), journal: Arc::new(Mutex::new(journal)) }
    }

    /// Runs a hook and waits for its end.
    pub async fn run(&self, hook: Hook) -> HookAnswer {
        let mut process = match self.begin(hook, None).await {
            Ok(process) => process,
            Err(why) => return HookAnswer::Failed { why },
        };
        let (ended, output) = self.wait(&mut process).await;
        self.keep(hook, failure(&ended, self.timeout()), &output);
        answer(hook, &ended, self.timeout(), &output)
    }

    /// Runs the `finished` hook and waits for it. When `leave` resolves first, the hook may run for
    /// a few more seconds unattended. Returns why the hook failed.
    pub async fn finished(
        &self,
        end: JournalLine,
        leave: impl Future<Output = ()>,
    ) -> Result<(), HookError> {
        let mut process = self.begin(Hook::Finished, Some(end)).await?;
        let done = tokio::select! {
            biased;
            done = self.wait(&mut process) => Some(done),
            () = leave => None,
        };
        let Some((ended, output)) = done else {
            // The hook may still use its temporary files.
            self.setup.temp.keep();
            process.leave_running();
            self.keep(Hook::Finished, Some("still running (Ctrl-C)".to_owned()), "");
            return Ok(());
        };
        self.keep(Hook::Finished, failure(&ended, self.timeout()), &output);
        match answer(Hook::Finished, &ended, self.timeout(), &output) {
            HookAnswer::Failed { why } => Err(why),
            HookAnswer::GoOn | HookAnswer::Skip | HookAnswer::Abort { .. } => Ok(()),
        }
    }

    async fn begin(&self, hook: Hook, end: Option<JournalLine>) -> Result<HookProcess, HookError> {
        let begun = self.try_to_begin(hook, end).await;
        if let Err(why) = &begun {
            self.keep(hook, Some(why.clone()), "");
        }
        begun
    }

    async fn try_to_begin(
        &self,
        hook: Hook,
        end: Option<JournalLine>,
    ) -> Result<HookProcess, HookError> {
        let hooks = self.clone();
        // Reading a long journal takes time and must not block the thread of the loop.
        let prepared = tokio::task::spawn_blocking(move || hooks.prepare(hook, end));
        let (launch, input) = prepared.await.map_err(|error| error.to_string())??;
        HookProcess::start(&launch, &input).await.map_err(|error| not_started(&error))
    }

    /// Prepares the program to start and its input.
    fn prepare(
        &self,
        hook: Hook,
        end: Option<JournalLine>,
    ) -> Result<(Launch, Vec<u8>), HookError> {
        let hook_input = self.input(end)?;
        let ready = self.setup.pinned.ready(self.setup.folder.path(), hook)?;
        if ready.put_back {
            (self.setup.complain)(format!(
                "the copy of the hook `{}` in the run folder changed; nightwright restored the \
                 approved version and runs it",
                hook.name()
            ));
        }
        let room = self.setup.temp.shared_room(TEMP_NAME).map_err(|error| {
            let path = self.setup.temp.path().display();
            format!("cannot create a temporary folder in `{path}`: {error}")
        })?;
        let mut environment = self.environment(hook, &hook_input);
        environment::set_temp(&mut environment, Dialect::Command, &room);
        let launch = Launch {
            program: ready.path,
            arguments: Vec::new(),
            environment,
            directory: self.setup.project.clone(),
            containment: self.setup.containment.clone(),
            sigterm_scope: SigtermScope::All,
        };
        Ok((launch, hook_input.input(hook)))
    }

    /// Reads the journal. With `end`, a hook gets its input even if the journal is unreadable.
    fn input(&self, end: Option<JournalLine>) -> Result<HookInput, HookError> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let hook_input = journal.read();
        let Some(end) = end else {
            return hook_input.map_err(|error| format!("cannot read the journal: {error}"));
        };
        let mut hook_input = hook_input.unwrap_or_else(|_| journal.known());
        hook_input.close(&end);
        Ok(hook_input)
    }

    async fn wait(&self, process: &mut HookProcess) -> (CommandEnd, String) {
        process.run(self.timeout(), MAX_OUTPUT_BYTES, &self.setup.secrets).await
    }

    fn timeout(&self) -> Duration {
        self.setup.settings.hooks.timeout
    }

    fn environment(&self, hook: Hook, hook_input: &HookInput) -> Vec<(OsString, OsString)> {
        let mut all = self.setup.environment.clone();
        let mut set = |name: &str, value: &OsStr| {
            all.retain(|(there, _)| there != name);
            all.push((name.into(), value.to_owned()));
        };
        let log = self.setup.folder.logs().pop().unwrap_or_default();
        let plan = hook_input.plan().map(|plan| self.setup.project.join(plan)).unwrap_or_default();
        set("NIGHTWRIGHT_HOOK", hook.name().as_ref());
        set("NIGHTWRIGHT_RUN_ID", self.setup.folder.id().0.as_ref());
        set("NIGHTWRIGHT_PROJECT_DIR", self.setup.project.as_os_str());
        set("NIGHTWRIGHT_LOG_FILE", log.as_os_str());
        set("NIGHTWRIGHT_PLAN_FILE", plan.as_os_str());
        set("NIGHTWRIGHT_DRY_RUN", if self.setup.rehearsal { "1" } else { "" }.as_ref());
        for (name, value) in hook_input.facts(hook) {
            set(&["NIGHTWRIGHT_", name].concat(), value.as_ref());
        }
        all.retain(|(name, _)| name != MARK);
        all
    }

    /// Logs the result and the output of a hook.
    fn keep(&self, hook: Hook, failed: Option<HookError>, output: &str) {
        let how = failed.unwrap_or_else(|| "exited with 0".to_owned());
        // The log is only for debugging hooks, so the run continues without it.
        let _ = hook_log::append(self.setup.folder.path(), hook.name(), &how, output);
    }
}

/// Derives the answer of a hook from how it ended.
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

/// Returns why a hook failed, if it did.
fn failure(ended: &CommandEnd, timeout: Duration) -> Option<String> {
    match ended {
        CommandEnd::Exited(exit) if exit.is_success() => None,
        CommandEnd::Exited(exit) => Some(how(*exit)),
        CommandEnd::TimedOut => Some(format!("timed out after {}", human(timeout))),
        CommandEnd::Stopped => Some("stopped".to_owned()),
        CommandEnd::NotStarted { why } => Some(why.clone()),
    }
}

fn how(exit: Exit) -> String {
    match (exit.code(), exit.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Adds the last lines of the output to a reason.
fn with_output_excerpt(why: String, output: &str) -> String {
    let lines: Vec<_> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return why;
    }
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join(" | ");
    format!("{why}: {}", one_line(&last, MAX_EXCERPT_CHARS))
}

/// Explains why a hook could not be started.
fn not_started(error: &io::Error) -> HookError {
    let why = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => "the interpreter in its `#!` line does not exist",
        Some(Errno::NOEXEC) => {
            "not an executable format; a script needs a first line such as `#!/bin/sh`"
        }
        Some(Errno::ACCESS) => {
            "permission denied; the run folder may be on a file system mounted with `noexec`"
        }
        _ => return format!("cannot start: {error}"),
    };
    format!("cannot start: {why}")
}
