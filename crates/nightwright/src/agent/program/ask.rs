//! Asks the program for its version.

use std::path::Path;

use nightwright_core::stream::outcome::ProcessExit;
use nightwright_core::stream::version::Version;

use super::{ProgramError, ProgramQuery};
use crate::process::{CommandEnd, Exit, Launch, SigtermScope, StopHandle, run_to_end};
use crate::secrets;

/// Maximum bytes of the answer that are kept.
const MAX_ANSWER: usize = 16 << 10;
/// Maximum characters shown of a line that is not a version.
const MAX_SHOWN: usize = 200;

pub(super) async fn version(
    program: &Path,
    wanted: &ProgramQuery<'_>,
) -> Result<Version, ProgramError> {
    let launch = Launch {
        program: program.to_owned(),
        arguments: vec!["--version".into()],
        environment: wanted.environment.clone(),
        // The root directory always exists, and nothing in the project can influence the answer.
        directory: "/".into(),
        containment: wanted.containment.clone(),
        sigterm_scope: SigtermScope::All,
    };
    let finished = run_to_end(&launch, wanted.timeout, MAX_ANSWER, &StopHandle::default()).await;
    let file = program.to_owned();
    let output = || match secrets::of_environment(&wanted.environment) {
        Ok(secrets) => first_line(&secrets.mask(&finished.output)),
        // Without a list of the secrets, the output may contain one.
        Err(_) => "(not shown)".to_owned(),
    };
    match finished.ended {
        CommandEnd::Exited(exit) if exit.is_success() => {
            // An interpreter may print warnings first.
            let version = finished.output.lines().find_map(Version::parse);
            version.ok_or_else(|| ProgramError::NoVersion { file, output: output() })
        }
        CommandEnd::Exited(Exit(ProcessExit::Code(code))) => {
            Err(ProgramError::Failed { file, code, output: output() })
        }
        CommandEnd::Exited(Exit(ProcessExit::Signal(signal))) => {
            Err(ProgramError::Killed { file, signal })
        }
        CommandEnd::TimedOut | CommandEnd::Stopped => {
            Err(ProgramError::NoAnswer { file, waited: wanted.timeout })
        }
        CommandEnd::NotStarted { why } => Err(ProgramError::CantStart { why }),
    }
}

fn first_line(output: &str) -> String {
    let line = output.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(MAX_SHOWN).collect()
}
