//! The program, asked for its version.

use std::path::Path;

use nightwright_core::stream::outcome::ProcessExit;
use nightwright_core::stream::version::Version;

use super::{ProgramError, ProgramQuery};
use crate::process::{CommandEnd, Exit, Launch, StopHandle, run_to_end};
use crate::secrets;

/// What is kept of the answer.
const ANSWER_MAX: usize = 16 << 10;
/// The most that is shown of a line that is no version.
const SHOWN_MAX: usize = 200;

pub(super) async fn version(
    program: &Path,
    wanted: &ProgramQuery<'_>,
) -> Result<Version, ProgramError> {
    let launch = Launch {
        program: program.to_owned(),
        arguments: vec!["--version".into()],
        environment: wanted.environment.clone(),
        // Not the project: nothing in it has a say in this. And one that is there for sure.
        directory: "/".into(),
        containment: wanted.containment.clone(),
    };
    let finished = run_to_end(&launch, wanted.timeout, ANSWER_MAX, &StopHandle::default()).await;
    let file = program.to_owned();
    let said = || match secrets::of_environment(&wanted.environment) {
        Ok(secrets) => first_line(&secrets.mask(&finished.output)),
        // There may be secrets in it that nobody can look for.
        Err(_) => "(not shown)".to_owned(),
    };
    match finished.ended {
        CommandEnd::Exited(exit) if exit.is_success() => {
            // Warnings of an interpreter may come first.
            let version = finished.output.lines().find_map(Version::parse);
            version.ok_or_else(|| ProgramError::NoVersion { file, output: said() })
        }
        CommandEnd::Exited(Exit(ProcessExit::Code(code))) => {
            Err(ProgramError::Failed { file, code, output: said() })
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
    line.chars().take(SHOWN_MAX).collect()
}
