//! The checks of the gate: commands that we run ourselves, exactly as they were pinned at the
//! start of the run.

use std::ffi::OsString;
use std::path::PathBuf;

use legwork_core::input::{CheckResult, CheckVerdict};
use legwork_core::settings::{Rerun, Verify};
use legwork_core::units::whole_millis;

use crate::process::{Containment, Ended, Finished, Stop, run_to_end, shell};

/// How much of a check's output goes into the journal and the next prompt.
const KEPT: usize = 4 << 10;

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
}

impl Checks {
    /// Runs the commands in order, up to the first that fails; one that fails may get a second
    /// chance. After a stop no further one is begun.
    pub async fn run(&self, stop: &Stop) -> Vec<CheckResult> {
        let mut results = Vec::new();
        for command in &self.verify.commands {
            let mut result = self.once(command, stop).await;
            let again = match &result.verdict {
                CheckVerdict::Failed { .. } => self.verify.rerun == Rerun::Once,
                CheckVerdict::Passed
                | CheckVerdict::Flaky
                | CheckVerdict::TimedOut
                | CheckVerdict::NotStarted { .. }
                | CheckVerdict::Interrupted => false,
            };
            if again {
                let second = self.once(command, stop).await;
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

    async fn once(&self, command: &str, stop: &Stop) -> CheckResult {
        let environment = self.environment.clone();
        let launch = shell(command, environment, &self.project, &self.containment);
        let Finished { ended, output, duration } =
            run_to_end(&launch, self.verify.timeout, KEPT, stop).await;
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
            duration: whole_millis(duration),
        }
    }
}
