//! `nightwright stop`, `pause` and `tell`: a word to a run that is going on.

use std::process::ExitCode;

use clap::Args;
use nightwright_core::event::StopWhen;
use nightwright_core::run_view::{Activity, RunView};

use super::print;
use super::select_run::{RunSelector, SelectedRun};
use super::values;
use crate::error::Failure;
use crate::paste::from_here;
use crate::runtime::control_socket::{self, ControlRequest};

/// How to stop.
#[derive(Clone, Debug, Args)]
pub(super) struct StopArgs {
    #[command(flatten)]
    which: RunSelector,

    /// End the agent at once; the run ends as interrupted
    #[arg(long)]
    now: bool,

    /// Take back an earlier stop
    #[arg(long, conflicts_with = "now")]
    cancel: bool,
}

/// Which run to pause.
#[derive(Clone, Debug, Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    which: RunSelector,
}

/// What to tell.
#[derive(Clone, Debug, Args)]
pub(super) struct TellArgs {
    /// The run: its id, the beginning of it, or the name of its task [default: the one that is
    /// running]
    #[arg(value_name = "RUN", allow_hyphen_values = true)]
    run: Option<String>,

    /// What to tell the agent: nightwright adds it to the open session, or to the next prompt
    #[arg(value_name = "TEXT", value_parser = values::words, allow_hyphen_values = true)]
    text: Option<String>,

    /// Try now what is being waited for; at most once a minute
    #[arg(long)]
    retry_now: bool,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<std::path::PathBuf>,
}

pub(super) fn stop(options: &StopArgs) -> Result<ExitCode, Failure> {
    let found = options.which.find()?;
    let view = found.view()?;
    let run = found.folder.id().clone();
    if options.cancel {
        if view.stop != Some(StopWhen::AfterIteration) {
            alive(&found, &view)?;
            return done(&format!("run {run} was not asked to stop after its iteration"));
        }
        send_request(&found, &view, &ControlRequest::CancelStop)?;
        return done(&format!("run {run} continues"));
    }
    let when = if options.now { StopWhen::Now } else { StopWhen::AfterIteration };
    send_request(&found, &view, &ControlRequest::Stop { when })?;
    done(&match when {
        StopWhen::AfterIteration if view.iteration.is_none() => format!("run {run} stops"),
        StopWhen::AfterIteration => format!("run {run} stops after this iteration"),
        StopWhen::Now => format!("run {run} stops now"),
    })
}

pub(super) fn pause(options: &PauseArgs) -> Result<ExitCode, Failure> {
    let found = options.which.find()?;
    let view = found.view()?;
    let run = found.folder.id().clone();
    send_request(&found, &view, &ControlRequest::Pause)?;
    done(&match view.activity() {
        Activity::Working { .. } | Activity::Asking { .. } | Activity::Checking => format!(
            "run {run} pauses after what is running now; end the pause with: nightwright resume \
             {run}"
        ),
        Activity::Starting
        | Activity::Waiting { .. }
        | Activity::Retrying { .. }
        | Activity::Paused
        | Activity::Between
        | Activity::Ended => {
            format!("run {run} is paused; end the pause with: nightwright resume {run}")
        }
    })
}

pub(super) fn tell(options: &TellArgs) -> Result<ExitCode, Failure> {
    let (found, text) = addressed(options)?;
    let view = found.view()?;
    let run = found.folder.id().clone();
    if let Some(text) = text {
        send_request(&found, &view, &ControlRequest::Tell { text })?;
    }
    if !options.retry_now {
        return done(&format!("run {run} will tell the agent"));
    }
    if view.paused {
        alive(&found, &view)?;
        return Err(Failure::trouble(format!("run {run} is paused: nothing new starts"))
            .hint(format!("end the pause first: nightwright resume {run}")));
    }
    match view.activity() {
        Activity::Waiting { .. } | Activity::Retrying { .. } => {
            send_request(&found, &view, &ControlRequest::RetryNow)?;
            done(&format!("run {run} tries again"))
        }
        Activity::Starting
        | Activity::Working { .. }
        | Activity::Checking
        | Activity::Asking { .. }
        | Activity::Paused
        | Activity::Between
        | Activity::Ended => {
            alive(&found, &view)?;
            Err(Failure::trouble(format!("run {run} is not waiting for anything")))
        }
    }
}

/// The run that is meant, and what to tell it. With one argument, that is the text if it has a space
/// or no run is called so.
fn addressed(options: &TellArgs) -> Result<(SelectedRun, Option<String>), Failure> {
    let TellArgs { run, text, retry_now, project } = options;
    let which = RunSelector { run: run.clone(), project: project.clone() };
    match (run, text) {
        (Some(_), Some(text)) => Ok((which.find()?, Some(text.clone()))),
        (None, _) if !retry_now => Err(Failure::usage("there is no text for the agent")
            .hint("write it in quotes, such as: nightwright tell \"use sqlite\"")),
        (None, _) => Ok((which.find_running()?, None)),
        (Some(first), None) if first.contains(char::is_whitespace) => {
            Ok((which.find_running()?, Some(first.clone())))
        }
        (Some(_), None) if *retry_now => Ok((which.find()?, None)),
        (Some(first), None) => {
            if let Some(found) = which.find_any()? {
                let run = found.folder.id();
                return Err(Failure::usage(format!("nothing to tell run {run}"))
                    .hint(format!("add the text: nightwright tell {run} \"TEXT\"")));
            }
            let text = values::words(first)
                .map_err(|wanted| Failure::usage(format!("cannot tell `{first}`: {wanted}")))?;
            Ok((which.find_running()?, Some(text)))
        }
    }
}

/// Says a wish to a run that has to be going on.
pub(super) fn send_request(
    found: &SelectedRun,
    view: &RunView,
    request: &ControlRequest,
) -> Result<(), Failure> {
    alive(found, view)?;
    let run = found.folder.id();
    let socket =
        found.owner.as_ref().and_then(|owner| owner.socket.as_deref()).ok_or_else(|| {
            Failure::trouble(format!("run {run} can't be reached: it has no control socket"))
                .hint("a file `.nightwright/.stop` in the project stops it after its iteration")
        })?;
    control_socket::send(socket, request).map_err(|error| {
        Failure::trouble(format!("run {run} can't be reached at `{}`: {error}", socket.display()))
    })
}

fn alive(found: &SelectedRun, view: &RunView) -> Result<(), Failure> {
    if found.owner.is_some() {
        return Ok(());
    }
    let run = found.folder.id();
    Err(match &view.ending {
        Some(ending) => Failure::trouble(format!("run {run} has ended: {}", ending.outcome)),
        None => Failure::trouble(format!("run {run} is not running: its process is gone"))
            .hint(format!("continue it: nightwright resume {run}")),
    })
}

fn done(text: &str) -> Result<ExitCode, Failure> {
    print(&from_here(text))?;
    Ok(ExitCode::SUCCESS)
}
