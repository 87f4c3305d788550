//! The end of a run: waits for pending output, runs the `finished` hook, prints the summary and
//! updates the task.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use nightwright_core::event::{Event, Record, RunEvent};
use nightwright_core::journal::JournalLine;
use nightwright_core::outcome::{Outcome, Tone};
use nightwright_core::phrases;
use nightwright_core::run_view::{FinalOutcome, RunView};
use nightwright_core::units::human;
use tokio::time::sleep;

use super::detach::DetachReport;
use super::force_quit::ForceQuit;
use super::locked_run::LockedRun;
use super::outputs::PendingDeliveries;
use super::run_spec::RunSpec;
use super::stderr_writer::StderrWriter;
use super::wire::Connections;
use crate::clock::ClockSpeed;
use crate::hooks::HookRunner;
use crate::output::{self, Style};
use crate::paste::steps_from_here;
use crate::runtime::supervisor::RunOutcome;
use crate::task::{ProjectRuns, TaskLock, TaskState};

/// A hook that takes longer than this is named, so that the user knows the cause of the delay.
const HOOK_NOTICE_DELAY: Duration = Duration::from_secs(2);

/// The sequence number of a line that is not in the journal.
const UNNUMBERED: u64 = 0;

/// A run that has ended. It holds the locks on its task and its project until it is dropped.
pub(crate) struct FinishedRun {
    pub(crate) outcome: Outcome,
    pub(crate) view: RunView,
    pub(crate) locked_run: LockedRun,
    pub(crate) style: Style,
    pub(crate) stderr: Arc<StderrWriter>,
    /// Number of warnings that were printed after the journal was closed.
    late_warnings: u32,
    _task_lock: Option<TaskLock>,
}

impl Drop for FinishedRun {
    fn drop(&mut self) {
        self.stderr.finish();
    }
}

/// Waits for the outputs and runs the `finished` hook.
pub(super) async fn finish(
    spec: &RunSpec,
    connections: Connections,
    finished: RunOutcome,
) -> FinishedRun {
    let Connections {
        locked_run, task_lock, view, outputs, style, hooks, keys, force_quit, ..
    } = connections;
    let deliveries = outputs.finish(&finished, &force_quit).await;
    // Restores the terminal, once the screen is done with it.
    drop(keys);
    let mut view = view.take();
    view.finished = Some(final_outcome(spec, &finished));
    if let Some(why) = &finished.unrecorded {
        let line = format!("error: cannot record the outcome of the run: {why}");
        deliveries.stderr.write_line(&line);
    }
    let hook = hooks.filter(|_| spec.settings.hooks.finished).map(|runner| FinishedHook {
        spec,
        runner,
        end: finished.end.as_deref().cloned().unwrap_or_else(|| JournalLine {
            seq: UNNUMBERED,
            run: locked_run.folder.id().clone(),
            record: last_record(spec, &finished, &view),
        }),
    });
    let late_warnings = deliver(spec, &deliveries, hook, &force_quit).await;
    let stderr = deliveries.stderr;
    FinishedRun {
        outcome: finished.outcome,
        view,
        locked_run,
        style,
        stderr,
        late_warnings,
        _task_lock: task_lock,
    }
}

/// Returns the outcome of the run, even if it could not be recorded.
fn final_outcome(spec: &RunSpec, finished: &RunOutcome) -> FinalOutcome {
    let note = finished.note.as_ref().map(|note| spec.secrets.mask(note).into_owned());
    FinalOutcome { outcome: finished.outcome.clone(), note }
}

/// Builds the last record of a journal that could not be written.
fn last_record(spec: &RunSpec, finished: &RunOutcome, view: &RunView) -> Record {
    let event = Event::Run(RunEvent::Finished {
        outcome: finished.outcome.clone(),
        note: finished.note.clone(),
        totals: view.totals.clone(),
    });
    let event = spec.secrets.mask_event(&event).unwrap_or(event);
    Record { at: jiff::Timestamp::now(), active: view.totals.duration, event }
}

/// Runs the hook while notifications are still being delivered. A failure is only printed, because
/// the journal is closed. Returns the number of failures.
async fn deliver(
    spec: &RunSpec,
    deliveries: &PendingDeliveries,
    hook: Option<FinishedHook<'_>>,
    force_quit: &ForceQuit,
) -> u32 {
    let finished = async {
        match hook {
            Some(hook) => hook.run(&deliveries.stderr, force_quit).await,
            None => Ok(()),
        }
    };
    let (late, finished) = tokio::join!(deliveries.finish(force_quit), finished);
    let failed = finished.err().map(|why| format!("the hook `finished` failed: {why}"));
    let mut count = 0;
    for text in late.into_iter().chain(failed) {
        // Printed at every level, because nothing else reports it.
        deliveries.stderr.write_line(&format!("warning: {}", spec.secrets.mask(&text)));
        count += 1;
    }
    count
}

/// The hook that runs after the end, for every outcome.
struct FinishedHook<'a> {
    spec: &'a RunSpec,
    runner: HookRunner,
    end: JournalLine,
}

impl FinishedHook<'_> {
    async fn run(self, stderr: &StderrWriter, force_quit: &ForceQuit) -> Result<(), String> {
        let Self { spec, runner, end } = self;
        let finished = runner.finished(end, force_quit.requested());
        tokio::pin!(finished);
        tokio::select! {
            done = &mut finished => done,
            () = sleep(HOOK_NOTICE_DELAY) => {
                if spec.level.shows_messages() {
                    let most = human(spec.settings.hooks.timeout);
                    stderr.write_line(&format!(
                        "The hook `finished` is running (timeout {most}). Press Ctrl-C to exit \
                         now; the hook then gets 5 more seconds."
                    ));
                }
                finished.await
            }
        }
    }
}

/// Prints the outcome of a run, records it in its task, and returns the exit code.
pub(super) fn conclude(spec: &RunSpec, finished: &FinishedRun) -> ExitCode {
    print_summary(spec, finished);
    record_in_task(spec, finished);
    ExitCode::from(finished.outcome.exit_code(spec.strictness))
}

fn print_summary(spec: &RunSpec, finished: &FinishedRun) {
    let FinishedRun { outcome, view, locked_run, style, stderr, .. } = finished;
    if stderr.is_open() {
        print_id(spec, locked_run, stderr);
    }
    if spec.terminal_level().shows_messages() {
        if spec.program.is_rehearsal() {
            stderr.write_line(phrases::REHEARSAL_ENDED);
        }
        let logs = locked_run.folder.logs();
        let log = logs.last().map_or(locked_run.folder.path(), PathBuf::as_path);
        let mut summary = view.summary(locked_run.folder.id());
        summary.warnings = summary.warnings.saturating_add(finished.late_warnings);
        summary.next = match spec.clock_speed {
            ClockSpeed::Real => steps_from_here(summary.next),
            // The project of a demo is removed, so there is nothing to inspect or resume.
            ClockSpeed::Fast => Vec::new(),
        };
        // Rendering makes each part safe before it adds color.
        stderr.show(output::summary::render(&summary, style, Some(log)).trim_end());
    } else if outcome.tone() == Tone::Bad {
        // Errors are shown at every level.
        let sentence = outcome.sentence(view.totals.iterations);
        stderr.write_line(&format!("error: {}", spec.secrets.mask(&sentence)));
    }
}

/// Prints the id for the process that waits for it, if the run ended before it left its terminal.
fn print_id(spec: &RunSpec, locked_run: &LockedRun, stderr: &StderrWriter) {
    if let Some(target) = spec.pending_detach()
        && let Err(failure) = DetachReport::new(target, &spec.project, &locked_run.folder).print()
    {
        stderr.write_line(&format!("error: {}", failure.message));
    }
}

/// Records the outcome in the task. The journal is authoritative, so a failure is only a warning.
fn record_in_task(spec: &RunSpec, finished: &FinishedRun) {
    let FinishedRun { locked_run, view, stderr, .. } = finished;
    let (Some(task), false) = (&spec.task, spec.program.is_rehearsal()) else { return };
    let recorded = ProjectRuns::of(&spec.project)
        .and_then(|runs| TaskState::record_run(task, &runs, locked_run.folder.id(), view));
    match recorded {
        Ok(Some(warning)) if spec.level.shows_messages() => {
            stderr.write_line(&format!("warning: {warning}"));
        }
        Ok(_) => {}
        Err(error) => {
            let why = error.message;
            stderr.write_line(&format!("warning: cannot record the state of the task: {why}"));
        }
    }
}
