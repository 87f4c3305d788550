//! The phases of a run: `RunSpec` -> `PreparedRun` -> `WiredRun` -> `FinishedRun`.
//!
//! The preparation may refuse the run, wait and print. After it, nothing waits for a terminal.

use std::process::ExitCode;

use super::async_command::{block_on, catch_signals, interrupted};
use super::finish::{FinishedRun, conclude, finish};
use super::prepare::{PreparedRun, prepare};
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
    block_on(async {
        let mut signals = catch_signals()?;
        match prepare(spec, &mut signals).await? {
            Some(prepared) => Box::pin(execute(spec, prepared, signals)).await.map(Some),
            None => Ok(None),
        }
    })
}

/// Runs the loop to its end.
pub(super) async fn execute(
    spec: &RunSpec,
    prepared: PreparedRun,
    signals: Signals,
) -> Result<FinishedRun, Failure> {
    let WiredRun { supervisor, first, mut connections } = wire(spec, prepared, signals)?;
    let outcome = supervisor.run(first).await;
    connections.stop_listening();
    Ok(finish(spec, connections, outcome).await)
}

/// Reports the outcome of a run, and returns the exit code.
pub(crate) fn close(spec: &RunSpec, finished: Option<&FinishedRun>) -> ExitCode {
    finished.map_or_else(interrupted, |finished| conclude(spec, finished))
}
