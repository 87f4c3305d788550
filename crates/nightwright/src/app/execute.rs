//! The phases of a run: `RunSpec` -> `PreparedRun` -> `WiredRun` -> `FinishedRun`.
//!
//! The preparation may refuse the run, wait and print. After it, nothing waits for a terminal.

use std::process::ExitCode;

use super::async_command::{block_on, catch_signals, interrupted};
use super::finish::{FinishedRun, conclude, finish};
use super::prepare::{PreparedRun, prepare};
use super::resume::{ResumableRun, prepare_resumed};
use super::run_spec::RunSpec;
use super::wire::{WiredRun, wire};
use crate::error::Failure;
use crate::signals::Signals;

/// Executes a new run and prints its outcome.
pub(crate) fn run(spec: &RunSpec) -> Result<ExitCode, Failure> {
    let finished = start(spec)?;
    Ok(close(spec, finished.as_ref()))
}

/// Executes a new run; `None` if it was interrupted before it started.
pub(crate) fn start(spec: &RunSpec) -> Result<Option<FinishedRun>, Failure> {
    execute(spec, async |signals| prepare(spec, signals).await)
}

/// Resumes a run and prints its outcome.
pub(crate) fn resume(spec: &RunSpec, resumable: ResumableRun) -> Result<ExitCode, Failure> {
    let finished =
        execute(spec, async |signals| Box::pin(prepare_resumed(spec, resumable, signals)).await)?;
    Ok(close(spec, finished.as_ref()))
}

/// Prepares a run, and runs the loop to its end.
fn execute(
    spec: &RunSpec,
    prepare: impl AsyncFnOnce(&mut Signals) -> Result<Option<PreparedRun>, Failure>,
) -> Result<Option<FinishedRun>, Failure> {
    block_on(async {
        let mut signals = catch_signals()?;
        match prepare(&mut signals).await? {
            Some(prepared) => Box::pin(run_loop(spec, prepared, signals)).await.map(Some),
            None => Ok(None),
        }
    })
}

async fn run_loop(
    spec: &RunSpec,
    prepared: PreparedRun,
    signals: Signals,
) -> Result<FinishedRun, Failure> {
    let folder = prepared.locked_run.folder.clone();
    let wired = wire(spec, prepared, signals).inspect_err(|_| folder.forget());
    let WiredRun { supervisor, first, mut connections } = wired?;
    let outcome = supervisor.run(first).await;
    connections.stop_listening();
    Ok(finish(spec, connections, outcome).await)
}

/// Reports the outcome of a run, and returns the exit code.
pub(crate) fn close(spec: &RunSpec, finished: Option<&FinishedRun>) -> ExitCode {
    finished.map_or_else(interrupted, |finished| {
        let code = conclude(spec, finished);
        // A run whose first event was not recorded is not listed. Its log stays.
        finished.locked_run.folder.forget();
        code
    })
}
