//! The asynchronous part of a command, and how a signal interrupts it.

use std::process::ExitCode;

use nightwright_core::outcome::{Outcome, Strictness};

use crate::error::Failure;
use crate::signals::Signals;

/// Runs a future on this thread. Does not wait for blocking work that it left behind, such as the
/// scan of a large project.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::trouble(format!("cannot start: {error}")))?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}

pub(crate) fn catch_signals() -> Result<Signals, Failure> {
    Signals::catch().map_err(|error| Failure::trouble(format!("cannot catch signals: {error}")))
}

/// The result of the work; `None` if a signal came first.
pub(super) async fn unless_interrupted<T>(
    work: impl Future<Output = T>,
    signals: &mut Signals,
) -> Option<T> {
    tokio::select! {
        result = work => Some(result),
        () = signals.next() => None,
    }
}

/// The exit code of a command that was interrupted before its run had started.
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(Outcome::Interrupted.exit_code(Strictness::Lenient))
}
