//! Runs the commands of the checks, one after the other, exactly as they were at the start of the
//! run: their environment, time limits, logs and repetitions.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nightwright_core::baseline;
use nightwright_core::check_command::{FirstProgram, first_program};
use nightwright_core::input::{CheckResult, CheckVerdict};
use nightwright_core::policy::gains::Reruns;
use nightwright_core::redact::Secrets;
use nightwright_core::sandbox::mounts::Access;
use nightwright_core::settings::Verify;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::test_counts;
use nightwright_core::units::whole_millis;

use crate::agent::environment;
use crate::agent::program::{ProgramError, locate};
use crate::error::chain;
use crate::files;
use crate::process::{
    CommandEnd, CommandLog, Containment, FinishedCommand, Launch, StopHandle, run_and_log, shell,
};
use crate::sandbox::{Entered, ProgramKind, Sandbox, SandboxedProgram};
use crate::store::temp_folder::TempHandle;

/// Maximum bytes of a check's output in the journal and the next prompt.
const MAX_OUTPUT_BYTES: usize = 4 << 10;

/// Maximum bytes of a log that is searched for summaries of tests, and for what a check needs. A log
/// is smaller: of very long output it contains the beginning and the end.
const MAX_LOG_BYTES: u64 = 8 << 20;

/// The name of the folder for temporary files of a check.
const TEMP_NAME: &str = "check";

/// The name of the folder for logs, in the run folder.
const LOGS: &str = "checks";

/// Runs the checks of one gate or baseline.
#[derive(Clone, Debug)]
pub struct CheckRunner {
    /// The commands and their settings.
    pub verify: Verify,
    /// The working directory of the commands.
    pub project: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
    /// How their processes are contained.
    pub containment: Containment,
    /// The sandbox of their processes, if any.
    pub sandbox: Option<Arc<Sandbox>>,
    /// The run folder, which receives their complete output.
    pub folder: PathBuf,
    /// The temporary folder: each check starts with an empty one.
    pub temp: TempHandle,
    /// Secrets to mask in their output.
    pub secrets: Secrets,
    /// The iteration whose claim they check.
    pub iteration: u32,
    /// The baseline results: a check that took long gets more time.
    pub before: Vec<CheckResult>,
    pub reruns: Reruns,
}

impl CheckRunner {
    /// Runs the commands in order. After a stop, no further command starts.
    pub async fn run(&self, stop: &StopHandle) -> Vec<CheckResult> {
        let mut results = Vec::new();
        for (index, command) in self.verify.commands.iter().enumerate() {
            let name = format!("{:03}-{}", self.iteration, index + 1);
            let result = self.run_one(command, &name, self.deadline(command), stop).await;
            let is_stopped = result.verdict == CheckVerdict::Interrupted;
            results.push(result);
            if is_stopped {
                break;
            }
        }
        results
    }

    /// Runs every command, whatever the results of the others, all of them within `budget`. None
    /// runs if one of them cannot be started.
    pub async fn run_all(&self, budget: Duration, stop: &StopHandle) -> Vec<CheckResult> {
        let lookups: Vec<_> = self.verify.commands.iter().map(|one| self.cannot_run(one)).collect();
        if lookups.iter().any(Option::is_some) {
            let looked_up = |(command, why): (&String, Option<String>)| {
                let verdict =
                    why.map_or(CheckVerdict::Interrupted, |why| CheckVerdict::NotStarted { why });
                CheckResult::without_run(command, verdict)
            };
            return self.verify.commands.iter().zip(lookups).map(looked_up).collect();
        }
        let mut left = budget;
        let mut stopped = false;
        let mut results = Vec::new();
        for (index, command) in self.verify.commands.iter().enumerate() {
            let name = format!("baseline-{}", index + 1);
            let result = if stopped {
                CheckResult::without_run(command, CheckVerdict::Interrupted)
            } else if left.is_zero() {
                CheckResult::without_run(command, CheckVerdict::TimedOut)
            } else {
                self.run_one(command, &name, left.min(self.deadline(command)), stop).await
            };
            left = left.saturating_sub(result.duration);
            stopped |= result.verdict == CheckVerdict::Interrupted;
            results.push(result);
        }
        results
    }

    /// Returns why the first program of a check cannot be started, as far as that is known without
    /// running it.
    pub fn cannot_run(&self, command: &str) -> Option<String> {
        cannot_start(command, &self.project, &self.environment)
    }

    pub(super) fn deadline(&self, command: &str) -> Duration {
        let before = self.before.iter().find(|result| result.command == command);
        baseline::deadline(self.verify.timeout, before)
    }

    /// Runs a command, and once more if it failed and may be repeated.
    async fn run_one(
        &self,
        command: &str,
        name: &str,
        limit: Duration,
        stop: &StopHandle,
    ) -> CheckResult {
        let first = self.once(command, name, limit, stop).await;
        if !self.reruns.include(&first) {
            return first;
        }
        let limit = limit.saturating_sub(first.duration);
        let second = self.once(command, &format!("{name}-again"), limit, stop).await;
        first.repeated(second)
    }

    async fn once(
        &self,
        command: &str,
        name: &str,
        limit: Duration,
        stop: &StopHandle,
    ) -> CheckResult {
        if self.sandbox.is_some() && self.verify.runs_outside(command) {
            return self.run_outside(command, name, limit, stop).await;
        }
        self.run_in(self.sandbox.clone(), command, name, limit, stop).await
    }

    /// Runs a command once, outside the sandbox of the run.
    pub(super) async fn run_outside(
        &self,
        command: &str,
        name: &str,
        limit: Duration,
        stop: &StopHandle,
    ) -> CheckResult {
        let result = self.run_in(None, command, name, limit, stop).await;
        CheckResult { outside: true, ..result }
    }

    /// The complete output of a check, as far as its log is kept.
    pub(super) fn whole_output(&self, result: &CheckResult) -> String {
        let log = result.log.as_ref().map(|log| self.folder.join(log));
        let read = log.and_then(|log| files::read_at_most(&log, MAX_LOG_BYTES).ok());
        let read = read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        read.unwrap_or_else(|| result.output.clone())
    }

    async fn run_in(
        &self,
        sandbox: Option<Arc<Sandbox>>,
        command: &str,
        name: &str,
        limit: Duration,
        stop: &StopHandle,
    ) -> CheckResult {
        let place = format!("{LOGS}/{name}.log");
        let file = self.folder.join(&place);
        // The check matters more than its log, so it runs even if the log cannot be opened.
        let mut log = open(&file).ok().map(CommandLog::new);
        let FinishedCommand { ended, output, duration } = match self.temp.room(TEMP_NAME) {
            Ok(room) => {
                let mut environment = self.environment.clone();
                environment::set_temp(&mut environment, Dialect::Command, &room);
                let launch = shell(command, environment, &self.project, &self.containment);
                let heard = (log.as_mut(), &self.secrets);
                match enter(sandbox, launch, room).await {
                    Ok((launch, entered)) => {
                        let done = run_and_log(&launch, limit, MAX_OUTPUT_BYTES, stop, heard).await;
                        drop(entered);
                        done
                    }
                    Err(why) => not_started(why),
                }
            }
            Err(error) => {
                let path = self.temp.path().display();
                let why = format!("cannot create a temporary folder in `{path}`: {error}");
                not_started(why)
            }
        };
        self.temp.clear(TEMP_NAME);
        let closed = log.map(CommandLog::close);
        if let Some(Err(_)) = &closed {
            // A partial log would look like a complete one. It may not exist.
            let _ = fs::remove_file(&file);
        }
        let kept = matches!(closed, Some(Ok(())));
        let verdict = match ended {
            CommandEnd::Exited(exit) if exit.is_success() => CheckVerdict::Passed,
            CommandEnd::Exited(exit) => CheckVerdict::Failed { how: exit.0 },
            CommandEnd::TimedOut => CheckVerdict::TimedOut,
            CommandEnd::Stopped => CheckVerdict::Interrupted,
            CommandEnd::NotStarted { why } => CheckVerdict::NotStarted { why },
        };
        let whole = kept.then(|| files::read_at_most(&file, MAX_LOG_BYTES).ok()).flatten();
        let whole = whole.as_deref().map(String::from_utf8_lossy);
        let tests = test_counts::of(whole.as_deref().unwrap_or(&output));
        CheckResult {
            command: command.to_owned(),
            verdict,
            output,
            tests,
            log: kept.then_some(place),
            duration: whole_millis(duration),
            outside: false,
        }
    }
}

/// Puts a check into the sandbox, if there is one.
async fn enter(
    sandbox: Option<Arc<Sandbox>>,
    launch: Launch,
    room: PathBuf,
) -> Result<(Launch, Option<Entered>), String> {
    let Some(sandbox) = sandbox else { return Ok((launch, None)) };
    let (kind, access) = (ProgramKind::Check, Access::ReadWrite);
    let program = SandboxedProgram { launch, kind, access, room, shown: Vec::new() };
    // Looks at many files, and asks git.
    let entering = tokio::task::spawn_blocking(move || sandbox.enter(program));
    let entered = entering.await.map_err(|error| error.to_string())?;
    let entered = entered.map_err(|error| chain(&error))?;
    Ok((entered.launch.clone(), Some(entered)))
}

fn not_started(why: String) -> FinishedCommand {
    let ended = CommandEnd::NotStarted { why };
    FinishedCommand { ended, output: String::new(), duration: Duration::ZERO }
}

/// Returns why the first program of a check cannot be started: it is missing, or not executable.
pub fn cannot_start(
    command: &str,
    project: &Path,
    environment: &[(OsString, OsString)],
) -> Option<String> {
    let FirstProgram { name, folder } = first_program(command)?;
    let path = environment.iter().find(|(variable, _)| variable == "PATH");
    let path = path.map(|(_, value)| value.as_os_str()).unwrap_or_default();
    let file = if name.contains('/') {
        project.join(folder.unwrap_or_default()).join(&name).to_str()?.to_owned()
    } else if env::split_paths(path).any(|folder| !folder.is_absolute()) {
        // Only the shell knows how to resolve relative folders.
        return None;
    } else {
        name.clone()
    };
    match locate(&file, Some(path)) {
        Ok(_) => None,
        Err(ProgramError::Nothing { .. }) => Some(format!("there is no `{name}`")),
        Err(ProgramError::NotExecutable { .. }) => Some(format!("`{name}` is not executable")),
        Err(trouble) => Some(trouble.to_string()),
    }
}

/// Creates the file of a log, for its owner only. A gate that starts again overwrites its logs.
fn open(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    files::create_anew(file)
}

#[cfg(test)]
mod tests {
    use nightwright_core::temp::RankedFolder;

    use super::*;
    use crate::store::temp_folder::TempFolder;

    #[test]
    fn a_check_gets_three_times_as_long_as_its_own_baseline_took() {
        let folder = tempfile::tempdir().unwrap();
        let place = RankedFolder { folder: folder.path().to_owned(), instead: None };
        let temp = TempFolder::create(&folder.path().join("state"), &[place]).unwrap();
        let took = |command: &str, seconds| CheckResult {
            duration: Duration::from_secs(seconds),
            ..CheckResult::without_run(command, CheckVerdict::Passed)
        };
        let checks = CheckRunner {
            verify: Verify { timeout: Duration::from_mins(10), ..Verify::default() },
            project: folder.path().to_owned(),
            environment: Vec::new(),
            containment: Containment::choose(None),
            sandbox: None,
            folder: folder.path().to_owned(),
            temp: temp.handle(),
            secrets: Secrets::default(),
            iteration: 1,
            before: vec![took("make fast", 2), took("make slow", 300)],
            reruns: Reruns::default(),
        };
        assert_eq!(checks.deadline("make slow"), Duration::from_mins(15));
        assert_eq!(checks.deadline("make fast"), Duration::from_mins(10), "the setting");
        assert_eq!(checks.deadline("make new"), Duration::from_mins(10), "never measured");
    }
}
