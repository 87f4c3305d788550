//! `nightwright stop`: stop a run after its iteration, or now.

use std::process::ExitCode;

use clap::Args;
use nightwright_core::event::StopWhen;

use super::cli::select_run::RunSelector;
use crate::console::print_result;
use crate::error::Failure;
use crate::runtime::control_socket::ControlRequest;

#[derive(Clone, Debug, Args)]
pub(super) struct StopArgs {
    #[command(flatten)]
    selector: RunSelector,

    /// Stop now and let the agent exit; the run ends as interrupted
    #[arg(long)]
    now: bool,

    /// Cancel an earlier request to stop
    #[arg(long, conflicts_with = "now")]
    cancel: bool,
}

pub(super) fn stop(options: &StopArgs) -> Result<ExitCode, Failure> {
    let found = options.selector.find()?;
    let view = found.view()?;
    let run = found.folder.id();
    let done = if options.cancel {
        if view.stop == Some(StopWhen::AfterIteration) {
            found.send(&view, &ControlRequest::CancelStop)?;
            format!("stop cancelled; run {run} continues")
        } else {
            found.require_running(&view)?;
            format!("run {run} has no request to stop after its iteration")
        }
    } else {
        let when = if options.now { StopWhen::Now } else { StopWhen::AfterIteration };
        found.send(&view, &ControlRequest::Stop { when })?;
        match when {
            StopWhen::AfterIteration if view.iteration.is_none() => format!("stopping run {run}"),
            StopWhen::AfterIteration => format!("run {run} stops after this iteration"),
            StopWhen::Now => format!("stopping run {run}"),
        }
    };
    print_result(&done)?;
    Ok(ExitCode::SUCCESS)
}
