//! `nightwright tell`: send a message to the agent of a running run, or retry now.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use nightwright_core::event::{AttemptEvent, CallEvent, Event, OperatorEvent, WaitEvent};
use nightwright_core::phrases;
use nightwright_core::run_view::Activity;

use super::cli::context::ProjectArgs;
use super::cli::select_run::{RunSelector, SelectedRun};
use super::cli::values;
use crate::console::print_result;
use crate::error::Failure;
use crate::runtime::control_socket::ControlRequest;

/// How long a run may take to record its answer to a request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// The time between two looks at the journal.
const ANSWER_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, Args)]
pub(super) struct TellArgs {
    /// Run ID, a prefix of one, or a task name [default: the active run]
    #[arg(value_name = "RUN", allow_hyphen_values = true)]
    run: Option<String>,

    /// Message for the agent; it goes to the open session, otherwise into the next prompt
    #[arg(value_name = "TEXT", value_parser = values::words, allow_hyphen_values = true)]
    text: Option<String>,

    /// Retry now instead of waiting (at most once per minute)
    #[arg(long)]
    retry_now: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

pub(super) fn tell(options: &TellArgs) -> Result<ExitCode, Failure> {
    let (found, text) = addressed(options)?;
    let view = found.view()?;
    let run = found.folder.id();
    if let Some(text) = text {
        found.send(&view, &ControlRequest::Tell { text })?;
    }
    if !options.retry_now {
        print_result(&format!("sent the message to run {run}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if view.paused {
        found.require_running(&view)?;
        return Err(Failure::trouble(format!("cannot retry: run {run} is paused"))
            .hint(format!("run `nightwright resume {run}` first")));
    }
    match view.activity() {
        Activity::Waiting { .. } | Activity::Retrying { .. } => {
            let before = number_of_records(&found)?;
            found.send(&view, &ControlRequest::RetryNow)?;
            if is_refused(&found, before)? {
                return Err(Failure::trouble(format!("run {run}: {}", phrases::retry_refused())));
            }
            print_result(&format!("run {run} retries now"))?;
            Ok(ExitCode::SUCCESS)
        }
        Activity::Starting
        | Activity::Working { .. }
        | Activity::Checking
        | Activity::Asking { .. }
        | Activity::Paused
        | Activity::Between
        | Activity::Ended => {
            found.require_running(&view)?;
            Err(Failure::trouble(format!("run {run} is not waiting")))
        }
    }
}

fn number_of_records(found: &SelectedRun) -> Result<usize, Failure> {
    let mut number = 0;
    found.walk(|_| number += 1)?;
    Ok(number)
}

/// Waits until the run has recorded something about a request to retry. Returns whether it refused
/// the request. A run that records nothing in time is busy with something else.
fn is_refused(found: &SelectedRun, before: usize) -> Result<bool, Failure> {
    let begun = Instant::now();
    loop {
        let (mut number, mut answer) = (0, None);
        found.walk(|record| {
            number += 1;
            if number > before && answer.is_none() {
                answer = retry_answer(&record.event);
            }
        })?;
        match answer {
            Some(is_refused) => return Ok(is_refused),
            None if begun.elapsed() > ANSWER_TIMEOUT => return Ok(false),
            None => thread::sleep(ANSWER_INTERVAL),
        }
    }
}

/// Whether an event refuses a request to retry; `None` if it is not about one.
fn retry_answer(event: &Event) -> Option<bool> {
    if matches!(event, Event::Operator(OperatorEvent::RetryRefused)) {
        return Some(true);
    }
    let retries = matches!(
        event,
        Event::Wait(WaitEvent::Ended { .. })
            | Event::Attempt(AttemptEvent::Started { .. })
            | Event::Call(CallEvent::Started { .. })
    );
    retries.then_some(false)
}

/// Returns the selected run, and the message for it. A single argument is the message if it
/// contains a space or no run has that name.
fn addressed(options: &TellArgs) -> Result<(SelectedRun, Option<String>), Failure> {
    let TellArgs { run, text, retry_now, project } = options;
    let run = run.as_ref().filter(|run| !run.trim().is_empty());
    let selector = RunSelector { run: run.cloned(), project: project.clone() };
    match (run, text) {
        (Some(_), Some(text)) => Ok((selector.find()?, Some(text.clone()))),
        (None, _) if !retry_now => Err(Failure::usage("no message for the agent")
            .hint("quote it, for example `nightwright tell \"use sqlite\"`")),
        (None, _) => Ok((selector.find_running()?, None)),
        (Some(first), None) if first.contains(char::is_whitespace) => {
            Ok((selector.find_running()?, Some(first.clone())))
        }
        (Some(_), None) if *retry_now => Ok((selector.find()?, None)),
        (Some(first), None) => {
            if let Some(found) = selector.find_any()? {
                let run = found.folder.id();
                return Err(Failure::usage(format!("no message for run {run}"))
                    .hint(format!("run `nightwright tell {run} \"TEXT\"`")));
            }
            let text = values::words(first)
                .map_err(|wanted| Failure::usage(format!("invalid message `{first}`: {wanted}")))?;
            Ok((selector.find_running()?, Some(text)))
        }
    }
}
