//! `nightwright pause`: start nothing new until the run is resumed.

use std::process::ExitCode;

use clap::Args;
use nightwright_core::run_view::Activity;

use super::cli::select_run::RunSelector;
use crate::console::print_result;
use crate::error::Failure;
use crate::runtime::control_socket::ControlRequest;

#[derive(Clone, Debug, Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    selector: RunSelector,
}

pub(super) fn pause(options: &PauseArgs) -> Result<ExitCode, Failure> {
    let found = options.selector.find()?;
    let view = found.view()?;
    let run = found.folder.id();
    found.send(&view, &ControlRequest::Pause)?;
    let state = match view.activity() {
        Activity::Working { .. } | Activity::Asking { .. } | Activity::Checking => {
            "pauses after the current attempt, call or check"
        }
        Activity::Starting
        | Activity::Waiting { .. }
        | Activity::Retrying { .. }
        | Activity::Paused
        | Activity::Between
        | Activity::Ended => "is paused",
    };
    print_result(&format!("run {run} {state}; run `nightwright resume {run}` to continue"))?;
    Ok(ExitCode::SUCCESS)
}
