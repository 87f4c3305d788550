//! Keeps the machine awake: a program of the system that forbids it to fall asleep for as long as
//! that program runs. It stands below a guard as everything that we start, reads a pipe of ours to
//! its end, and so ends with us however we end.
//!
//! A run is never held up by it, and a machine that can't be kept awake is no trouble of the run's.

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
use crate::process::{self, Containment, Launch};

/// The program that keeps the machine awake.
const INHIBIT: &str = "systemd-inhibit";
/// How much of what the program complains about is kept.
const MAX_STDERR_BYTES: u64 = 4 << 10;

/// How much of it is told, in characters.
const SHOWN: usize = 160;

/// How long somebody may hold its standard error open after its end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// What the program finds in its environment: its way to whoever decides about sleep.
const PASSED_ON: [&str; 5] =
    ["PATH", "HOME", "XDG_RUNTIME_DIR", "DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"];

/// Told why the machine is not kept awake, once.
pub type WarnFn = Box<dyn FnOnce(String) + Send>;

/// Keeps the machine awake while a run has something to do. It may sleep again when this is dropped.
pub struct SleepInhibitor {
    run: RunId,
    warn: Option<WarnFn>,
    task: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for SleepInhibitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Awake").field("run", &self.run).finish_non_exhaustive()
    }
}

impl SleepInhibitor {
    /// Nothing is done yet.
    pub fn new(run: RunId, tell: WarnFn) -> Self {
        Self { run, warn: Some(tell), task: None }
    }

    /// Takes note of what the run is doing. A limit that is waited out ends some time, and the run
    /// has to be there then; a pause lasts as long as somebody wants.
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
                let tell = self.warn.take();
                self.task = Some(tokio::spawn(hold(self.run.clone(), tell)));
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

/// Has the program at work until it ends by itself, which it does only if it can't do its work.
async fn hold(run: RunId, tell: Option<WarnFn>) {
    let why = match program(&run, env::var_os("PATH").as_deref()) {
        Ok(launch) => wait_for_exit(&launch).await,
        Err(why) => why,
    };
    if let Some(tell) = tell {
        tell(why);
    }
}

async fn wait_for_exit(launch: &Launch) -> String {
    let name = launch.program.display();
    let mut child = match process::spawn(launch).await {
        Ok(child) => child,
        Err(error) => return format!("`{name}` can't be started: {error}"),
    };
    // Closed when we are gone, and by nobody before that.
    let _held = child.take_stdin();
    let complaints = child.take_stderr();
    child.exited().await;
    let mut said = Vec::new();
    if let Some(complaints) = complaints {
        let mut complaints = complaints.take(MAX_STDERR_BYTES);
        // What it says is for people, and they can do without it.
        let _ = timeout(DRAIN_TIMEOUT, complaints.read_to_end(&mut said)).await;
    }
    let said = String::from_utf8_lossy(&said);
    match said.trim() {
        "" => format!("`{name}` ended"),
        said => format!("`{name}` says: {}", one_line(said, SHOWN)),
    }
}

/// What keeps this machine awake.
fn program(run: &RunId, path: Option<&OsStr>) -> Result<Launch, String> {
    let program = locate(INHIBIT, path).map_err(|trouble| trouble.to_string())?;
    let passed = PASSED_ON.iter().filter_map(|name| Some((name.into(), env::var_os(name)?)));
    Ok(Launch {
        program,
        arguments: inhibit(run).into_iter().map(OsString::from).collect(),
        environment: passed.collect(),
        directory: "/".into(),
        containment: Containment::choose(None),
    })
}

/// Neither sleep nor what a desktop does with an idle machine, while `cat` waits for the end of its
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
    fn where_there_is_no_program_for_it_that_is_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId("20261116-183131-0a1b".to_owned());
        let why = program(&run, Some(folder.path().as_os_str())).unwrap_err();
        assert!(why.ends_with("was not found in PATH"), "{why}");
        assert!(program(&run, None).is_err());
    }
}
