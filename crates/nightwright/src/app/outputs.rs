//! The outputs of a run while it is active: the screen, the log, the notifications and
//! `decisions.jsonl`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nightwright_core::run_view;
use tokio::task::{JoinHandle, spawn_blocking};

use super::force_quit::ForceQuit;
use super::locked_run::LockedRun;
use super::prepare::PreparedRun;
use super::run_spec::RunSpec;
use super::stderr_writer::StderrWriter;
use crate::config::OutputLevel;
use crate::error::WarnFn;
use crate::output::decisions::{self, DecisionReporter};
use crate::output::follow::{FollowTarget, FollowerFinish, FollowerHandle};
use crate::output::log::{LogOutput, LogReporter};
use crate::output::notify::{Notifier, PendingNotifications};
use crate::output::{self, Style};
use crate::runtime::supervisor::{RunOutcome, SideInputs};

/// How long the screen may take to show the rest after the end of a run.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the log and the decisions may take to write the rest after the end of a run.
const LOG_TIMEOUT: Duration = Duration::from_secs(5);

/// How long each output may take when the user wants to exit at once.
const FORCE_QUIT_TIMEOUT: Duration = Duration::from_millis(300);

/// The error of a write to a terminal that has hung up.
const TERMINAL_GONE: i32 = rustix::io::Errno::IO.raw_os_error();

/// The outputs of a run. Each reads the journal, and the agent's output if it needs it, like any
/// other process.
#[derive(Debug)]
pub(super) struct Outputs {
    screen: Option<FollowerHandle>,
    log: FollowerHandle,
    notifier: Option<Notifier>,
    decisions: FollowerHandle,
    complaints: Arc<WarningSink>,
}

/// Receives the warning that an output has failed.
#[derive(Debug)]
struct WarningSink {
    /// Records warnings in the journal, which every output follows.
    warnings: SideInputs,
    /// Set once nothing is recorded any more.
    journal_closed: AtomicBool,
    level: OutputLevel,
    /// Receives the warnings after the journal is closed.
    stderr: Arc<StderrWriter>,
}

impl WarningSink {
    /// Warns that the display has failed. A closed pipe or terminal needs no warning: the user
    /// closed it. A full disk does, because the incomplete file may be the only output.
    fn display_ended(&self, error: &io::Error) {
        let terminal = self.level.shows_messages() && error.raw_os_error() == Some(TERMINAL_GONE);
        if terminal || error.kind() == io::ErrorKind::BrokenPipe {
            return;
        }
        self.warn(format!("cannot print events: {error}"));
    }

    fn warn(&self, text: String) {
        if self.journal_closed.load(Ordering::Acquire) {
            // Printed at every level, because nothing else reports it.
            self.stderr.write_line(&format!("warning: {text}"));
        } else {
            self.warnings.warn(text);
        }
    }
}

impl Outputs {
    /// Starts to show everything that is recorded from now on.
    pub(super) fn start(
        spec: &RunSpec,
        prepared: &PreparedRun,
        style: &Style,
        warnings: SideInputs,
    ) -> Self {
        let PreparedRun { locked_run, files, .. } = prepared;
        let followed = FollowTarget {
            journal: locked_run.folder.journal(),
            output: locked_run.folder.output(),
            after: files.journal.last_seq(),
            written: Some(files.journal.written()),
        };
        let out: Option<Box<dyn io::Write + Send>> = match spec.level {
            OutputLevel::Quiet => None,
            OutputLevel::Json | OutputLevel::JsonMessages => Some(Box::new(io::stdout())),
            OutputLevel::Progress | OutputLevel::Verbose => Some(Box::new(io::stderr())),
        };
        let complaints = Arc::new(WarningSink {
            warnings,
            journal_closed: AtomicBool::new(false),
            level: spec.level,
            stderr: Arc::new(StderrWriter::new()),
        });
        let screen = out.map(|out| {
            let reporter = output::reporter(spec.level, style.clone(), out);
            let sink = Arc::clone(&complaints);
            FollowerHandle::start_with(followed.clone(), reporter, move |error| {
                sink.display_ended(error);
            })
        });
        let log = log(spec, locked_run, Arc::clone(&complaints));
        let sink = Arc::clone(&complaints);
        let complain: WarnFn = Arc::new(move |text| sink.warn(text));
        let notifier = Notifier::start(&spec.notify, followed.clone(), &spec.secrets, &complain);
        let sink = Arc::clone(&complaints);
        let decisions = locked_run.folder.path().join(decisions::FILE);
        let decisions = DecisionReporter::new(decisions, move |text| sink.warn(text));
        Self {
            screen,
            log: FollowerHandle::start(followed.clone(), Box::new(log)),
            notifier,
            decisions: FollowerHandle::start(followed, Box::new(decisions)),
            complaints,
        }
    }

    /// Returns a function that notifies all outputs of new data.
    pub(super) fn waker(&self) -> impl Fn() + use<> {
        let screen = self.screen.as_ref().map(FollowerHandle::waker);
        let (log, decisions) = (self.log.waker(), self.decisions.waker());
        let notifier = self.notifier.as_ref().map(Notifier::waker);
        move || {
            if let Some(wake) = &screen {
                wake();
            }
            log();
            decisions();
            if let Some(wake) = &notifier {
                wake();
            }
        }
    }

    /// Returns a function that shows a note that is not recorded: in the log, and on the screen at
    /// the most verbose level. It never blocks.
    pub(super) fn notifier_of_notes(&self, level: OutputLevel) -> impl Fn(String) + Send + use<> {
        let screen = self.screen.as_ref().filter(|_| level == OutputLevel::Verbose);
        let (screen, log) = (screen.map(FollowerHandle::note_sender), self.log.note_sender());
        move |text| {
            if let Some(tell) = &screen {
                tell(text.clone());
            }
            log(text);
        }
    }

    /// Returns the writer for messages that the screen does not show.
    pub(super) fn stderr(&self) -> Arc<StderrWriter> {
        Arc::clone(&self.complaints.stderr)
    }

    /// Returns a function that warns the user, during the run and after its end.
    pub(super) fn warn_fn(&self) -> WarnFn {
        let complaints = Arc::clone(&self.complaints);
        Arc::new(move |text| complaints.warn(text))
    }

    /// Shows the rest, and returns the pending deliveries. Notifications continue meanwhile, and
    /// may take longer. If the user forces an exit, nightwright waits for neither.
    pub(super) async fn finish(
        self,
        finished: &RunOutcome,
        force_quit: &ForceQuit,
    ) -> PendingDeliveries {
        let Self { screen, log, notifier, decisions, complaints } = self;
        notifier.iter().for_each(Notifier::stop_warnings);
        complaints.journal_closed.store(true, Ordering::Release);
        let RunOutcome { outcome, note, end, .. } = finished;
        let end = end.as_deref().cloned();
        let finished = run_view::FinalOutcome { outcome: outcome.clone(), note: note.clone() };
        // Each runs in parallel, so a slow one does not use up the time of the others.
        let notifications =
            spawn_blocking(move || notifier.map(|notifier| notifier.close(finished, end)));
        let shown = spawn_blocking(move || {
            screen.map_or(FollowerFinish::InTime, |screen| screen.finish(SCREEN_TIMEOUT))
        });
        let logged = spawn_blocking(move || log.finish(LOG_TIMEOUT));
        let decided = spawn_blocking(move || decisions.finish(LOG_TIMEOUT));
        let (notifications, shown, ..) = tokio::join!(
            unless_force_quit(notifications, force_quit),
            unless_force_quit(shown, force_quit),
            unless_force_quit(logged, force_quit),
            unless_force_quit(decided, force_quit),
        );
        // The state of the display matters only if both write to the same place.
        if complaints.level.shows_messages() {
            complaints.stderr.after(shown.unwrap_or(FollowerFinish::Abandoned));
        }
        let notifications = notifications.flatten().map(Arc::new);
        PendingDeliveries { stderr: Arc::clone(&complaints.stderr), notifications }
    }
}

/// Returns the result of a job. Returns `None` if the user wants to exit at once and the job takes
/// too long, or if the job panics.
async fn unless_force_quit<T>(job: JoinHandle<T>, force_quit: &ForceQuit) -> Option<T> {
    tokio::select! {
        biased;
        done = job => done.ok(),
        () = force_quit.requested_after(FORCE_QUIT_TIMEOUT) => None,
    }
}

/// A run whose output is complete, with notifications that may still be on their way.
#[derive(Debug)]
pub(super) struct PendingDeliveries {
    /// The writer for messages after the end of the output.
    pub(super) stderr: Arc<StderrWriter>,
    notifications: Option<Arc<PendingNotifications>>,
}

impl PendingDeliveries {
    /// Waits for pending notifications, but only briefly if the user wants to exit at once. Returns
    /// the notifications that failed.
    pub(super) async fn finish(&self, force_quit: &ForceQuit) -> Vec<String> {
        let Some(on_its_way) = &self.notifications else { return Vec::new() };
        let waiting = Arc::clone(on_its_way);
        let mut waited = spawn_blocking(move || waiting.wait());
        let late = tokio::select! {
            biased;
            late = &mut waited => late,
            () = force_quit.requested() => {
                on_its_way.shorten_deadline(Instant::now() + FORCE_QUIT_TIMEOUT);
                waited.await
            }
        };
        // Only a panic makes it fail, and the panic has printed its message.
        late.unwrap_or_default()
    }
}

/// Creates the log of this process.
fn log(spec: &RunSpec, locked_run: &LockedRun, complaints: Arc<WarningSink>) -> LogReporter {
    let last = locked_run.folder.logs().pop();
    let earlier = last.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let path = locked_run.folder.new_log(jiff::Timestamp::now());
    let mut out = LogOutput::new(Arc::new(move |text| complaints.warn(text))).file(&path);
    let name = path.file_name().and_then(|name| name.to_str());
    if let (Some(dir), Some(name)) = (&spec.logs.dir, name) {
        out = out.copy(&spec.project, dir, name);
    }
    LogReporter::new(out, spec.secrets.clone(), earlier)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use nightwright_core::journal::JournalLine;
    use nightwright_core::outcome::Outcome;

    use super::*;
    use crate::output::Reporter;
    use crate::runtime::supervisor::InputQueues;

    /// Shows nothing, and finishes when it receives a message.
    struct HangsUntilDropped(Option<Receiver<()>>);

    impl Reporter for HangsUntilDropped {
        fn event(&mut self, _: &JournalLine, _: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            if let Some(block) = &self.0 {
                // The sender is dropped at the end of the test.
                let _ = block.recv();
            }
            Ok(())
        }
    }

    /// Whether a message after the end is written, for a run whose screen or log hangs.
    async fn is_heard(level: OutputLevel, hangs: [bool; 2]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let followed = FollowTarget {
            journal: folder.path().join("journal.jsonl"),
            output: folder.path().to_owned(),
            after: 0,
            written: None,
        };
        let (keep, blocks): (Vec<_>, Vec<_>) = hangs
            .map(|hangs| {
                let (keep, block) = channel();
                (keep, hangs.then_some(block))
            })
            .into_iter()
            .unzip();
        let start =
            |block| FollowerHandle::start(followed.clone(), Box::new(HangsUntilDropped(block)));
        let [screen, log] = <[_; 2]>::try_from(blocks).unwrap().map(start);
        let decisions = start(None);
        let complaints = WarningSink {
            warnings: InputQueues::default().side_inputs(),
            journal_closed: AtomicBool::new(false),
            level,
            stderr: Arc::new(StderrWriter::new()),
        };
        let (screen, complaints) = (Some(screen), Arc::new(complaints));
        let outputs = Outputs { screen, log, notifier: None, decisions, complaints };
        let outcome = Outcome::Interrupted;
        let finished = RunOutcome { outcome, note: None, unrecorded: None, end: None };
        let deliveries = outputs.finish(&finished, &ForceQuit::at_once()).await;
        drop(keep);
        deliveries.stderr.is_open()
    }

    #[tokio::test]
    async fn a_log_that_is_slow_takes_no_word_from_a_screen_that_is_not() {
        assert!(is_heard(OutputLevel::Progress, [false, true]).await);
    }

    #[tokio::test]
    async fn a_screen_that_hangs_takes_the_words_that_would_go_to_the_same_place() {
        assert!(!is_heard(OutputLevel::Progress, [true, false]).await);
        assert!(is_heard(OutputLevel::Json, [true, false]).await);
    }
}
