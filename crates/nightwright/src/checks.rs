//! The checks of the gate: commands that we run ourselves, exactly as they were pinned at the
//! start of the run.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::agent::dialect::Dialect;
use nightwright_core::input::{CheckResult, CheckVerdict};
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{Rerun, Verify};
use nightwright_core::units::whole_millis;

use crate::agent::environment;
use crate::files;
use crate::process::{Containment, Ended, Finished, Log, Stop, run_and_log, shell};
use crate::temp::TempFolder;

/// How much of a check's output goes into the journal and the next prompt.
const KEPT: usize = 4 << 10;

/// The name of the folder for temporary files of a check.
const ROOM: &str = "check";

/// The folder of the logs in the folder of the run.
const LOGS: &str = "checks";

/// What the checks need to run.
#[derive(Clone, Debug)]
pub struct Checks {
    /// What is to be run.
    pub verify: Verify,
    /// Where.
    pub project: PathBuf,
    /// With which environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What keeps their processes.
    pub containment: Containment,
    /// The folder of the run, where all that they print is kept.
    pub folder: PathBuf,
    /// Where their temporary files go: each check starts with an empty folder.
    pub temp: TempFolder,
    /// What is masked in what they print.
    pub secrets: Secrets,
    /// The iteration whose claim they check.
    pub iteration: u32,
}

impl Checks {
    /// Runs the commands in order, up to the first that fails; one that fails may get a second
    /// chance. After a stop no further one is begun.
    pub async fn run(&self, stop: &Stop) -> Vec<CheckResult> {
        let mut results = Vec::new();
        for (index, command) in self.verify.commands.iter().enumerate() {
            let name = format!("{:03}-{}", self.iteration, index + 1);
            let mut result = self.once(command, &name, stop).await;
            let again = match &result.verdict {
                CheckVerdict::Failed { .. } => self.verify.rerun == Rerun::Once,
                CheckVerdict::Passed
                | CheckVerdict::Flaky
                | CheckVerdict::TimedOut
                | CheckVerdict::NotStarted { .. }
                | CheckVerdict::Interrupted => false,
            };
            if again {
                let second = self.once(command, &format!("{name}-again"), stop).await;
                let verdict = match second.verdict {
                    CheckVerdict::Passed => CheckVerdict::Flaky,
                    verdict => verdict,
                };
                result = CheckResult { verdict, ..second };
            }
            let passed = result.verdict.is_pass();
            results.push(result);
            if !passed {
                break;
            }
        }
        results
    }

    async fn once(&self, command: &str, name: &str, stop: &Stop) -> CheckResult {
        let place = format!("{LOGS}/{name}.log");
        let file = self.folder.join(&place);
        // A log that can't be kept is missed by nobody as much as the check would be.
        let mut log = open(&file).ok().map(Log::new);
        let Finished { ended, output, duration } = match self.temp.room(ROOM) {
            Ok(room) => {
                let mut environment = self.environment.clone();
                environment::set_temp(&mut environment, Dialect::Command, &room);
                let launch = shell(command, environment, &self.project, &self.containment);
                let heard = (log.as_mut(), &self.secrets);
                run_and_log(&launch, self.verify.timeout, KEPT, stop, heard).await
            }
            Err(error) => {
                let path = self.temp.path().display();
                let why = format!("cannot create a temporary folder in `{path}`: {error}");
                let ended = Ended::NotStarted { why };
                Finished { ended, output: String::new(), duration: Duration::ZERO }
            }
        };
        self.temp.clear(ROOM);
        let closed = log.map(Log::close);
        if let Some(Err(_)) = &closed {
            // Half a log would be taken for a whole one; there may be none to remove.
            let _ = fs::remove_file(&file);
        }
        let kept = matches!(closed, Some(Ok(())));
        let verdict = match ended {
            Ended::Exited(exit) if exit.is_success() => CheckVerdict::Passed,
            Ended::Exited(exit) => CheckVerdict::Failed { how: exit.0 },
            Ended::TimedOut => CheckVerdict::TimedOut,
            Ended::Stopped => CheckVerdict::Interrupted,
            Ended::NotStarted { why } => CheckVerdict::NotStarted { why },
        };
        CheckResult {
            command: command.to_owned(),
            verdict,
            output,
            log: kept.then_some(place),
            duration: whole_millis(duration),
        }
    }
}

/// The file of a log, for its owner only. A gate that is begun anew writes its logs anew.
fn open(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    files::create_anew(file)
}
