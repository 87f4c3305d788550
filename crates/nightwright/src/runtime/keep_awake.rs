//! Keeps the machine awake with a program of the system that prevents sleep while it runs.
//!
//! The program has a guard like all others, and reads a pipe from nightwright until the end. Thus
//! it exits when nightwright exits for any reason.
//!
//! It never delays a run, and a machine that cannot be kept awake does not fail one.

use std::env;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use nightwright_core::display::one_line;
use nightwright_core::run_view::Activity;
use nightwright_core::units::RunId;
use tokio::io::AsyncReadExt as _;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::program::locate;
use crate::error::WarnFn;
use crate::process::{self, Containment, Launch, SigtermScope};

/// The program that keeps the machine awake.
const INHIBIT: &str = "systemd-inhibit";
/// Maximum bytes of the program's standard error that are kept.
const MAX_STDERR_BYTES: u64 = 4 << 10;

/// Maximum characters of it that are shown.
const MAX_OUTPUT_CHARS: usize = 160;

/// How long to read standard error after the exit, in case another process holds it open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The environment of the program: how it reaches the service that decides about sleep.
const PASSED_ON: [&str; 5] =
    ["PATH", "HOME", "XDG_RUNTIME_DIR", "DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"];

/// Keeps the machine awake while a run has something to do. Dropping it allows sleep again.
pub struct SleepInhibitor {
    run: RunId,
    /// Receives the reason why the machine is not kept awake, once.
    warn: Option<WarnFn>,
    task: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for SleepInhibitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SleepInhibitor").field("run", &self.run).finish_non_exhaustive()
    }
}

impl SleepInhibitor {
    /// Creates the inhibitor, which does nothing yet.
    pub fn new(run: RunId, warn: WarnFn) -> Self {
        Self { run, warn: Some(warn), task: None }
    }

    /// Updates the inhibitor to the run's activity. A wait for a limit keeps the machine awake,
    /// because the run must continue afterwards; a pause does not.
    pub fn while_doing(&mut self, activity: &Activity) {
        let wanted = match activity {
            Activity::Starting
            | Activity::Working { .. }
            | Activity::Waiting { .. }
            | Activity::Retrying { .. }
            | Activity::Checking
            | Activity::Asking { .. }
            | Activity::Between => true,
            Activity::Paused | Activity::Ended => false,
        };
        match (wanted, &self.task) {
            (true, None) => {
                let warn = self.warn.take();
                self.task = Some(tokio::spawn(hold(self.run.clone(), warn)));
            }
            (false, Some(companion)) => {
                companion.abort();
                self.task = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
}

impl Drop for SleepInhibitor {
    fn drop(&mut self) {
        if let Some(companion) = &self.task {
            companion.abort();
        }
    }
}

/// Runs the program until it exits by itself, which it does only on a failure.
async fn hold(run: RunId, warn: Option<WarnFn>) {
    let why = match program(&run, env::var_os("PATH").as_deref()) {
        Ok(launch) => wait_for_exit(&launch).await,
        Err(why) => why,
    };
    if let Some(warn) = warn {
        warn(why);
    }
}

async fn wait_for_exit(launch: &Launch) -> String {
    let name = launch.program.display();
    let mut child = match process::spawn(launch).await {
        Ok(child) => child,
        Err(error) => return format!("cannot start `{name}`: {error}"),
    };
    // Stays open until this process exits or the task is aborted.
    let _held = child.take_stdin();
    let complaints = child.take_stderr();
    child.exited().await;
    let mut output = Vec::new();
    if let Some(complaints) = complaints {
        let mut complaints = complaints.take(MAX_STDERR_BYTES);
        // The text only improves the warning, so errors are ignored.
        let _ = timeout(DRAIN_TIMEOUT, complaints.read_to_end(&mut output)).await;
    }
    let output = String::from_utf8_lossy(&output);
    match output.trim() {
        "" => format!("`{name}` exited"),
        output => format!("`{name}` printed: {}", one_line(output, MAX_OUTPUT_CHARS)),
    }
}

/// Returns the launch of the program that keeps this machine awake.
fn program(run: &RunId, path: Option<&OsStr>) -> Result<Launch, String> {
    let program = locate(INHIBIT, path).map_err(|trouble| trouble.to_string())?;
    let passed = PASSED_ON.iter().filter_map(|name| Some((name.into(), env::var_os(name)?)));
    Ok(Launch {
        program,
        arguments: inhibit(run).into_iter().map(OsString::from).collect(),
        environment: passed.collect(),
        directory: "/".into(),
        containment: Containment::choose(None),
        sigterm_scope: SigtermScope::All,
    })
}

/// Returns the arguments that prevent sleep and idle actions while `cat` waits for the end of its
/// standard input.
fn inhibit(run: &RunId) -> Vec<String> {
    let why = format!("--why=run {run}");
    ["--what=sleep:idle", "--who=nightwright", &why, "--mode=block", "cat"]
        .map(str::to_owned)
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_and_idling_are_inhibited_by_name() {
        let run = RunId("20261116-183131-0a1b".to_owned());
        assert_eq!(
            inhibit(&run).join("\n"),
            "--what=sleep:idle\n--who=nightwright\n--why=run 20261116-183131-0a1b\n--mode=block\ncat"
        );
    }

    #[test]
    fn a_missing_inhibitor_program_is_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId("20261116-183131-0a1b".to_owned());
        let why = program(&run, Some(folder.path().as_os_str())).unwrap_err();
        assert!(why.ends_with("is not in PATH"), "{why}");
        assert!(program(&run, None).is_err());
    }
}
