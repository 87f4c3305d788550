//! What a run has beside it when nobody is there: a machine that stays awake, and a terminal that
//! is left behind.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use nightwright_core::run_view::RunView;
use nightwright_core::settings::Scope;
use tokio::sync::{mpsc, oneshot};

use super::execute::{AgentProgram, LockedRun, Session, StderrWriter};
use crate::app::detach::{DetachFormat, DetachReport, DetachTarget};
use crate::files;
use crate::output::OutputLevel;
use crate::runtime::keep_awake::SleepInhibitor;
use crate::runtime::signals::{HangupPolicy, Signals};
use crate::runtime::supervisor::RecordObserver;

/// What a run that nobody sees would say in its despair.
const STDERR_FILE: &str = "detached.err";

/// A run that leaves its terminal as soon as it has begun.
pub(super) struct DetachTask {
    target: DetachTarget,
    report: DetachReport,
    stderr_file: PathBuf,
    /// The first event is on disk.
    begun: oneshot::Receiver<()>,
    stderr: Arc<StderrWriter>,
}

impl Session {
    /// How much people are told before the run has begun.
    pub(super) fn first_level(&self) -> OutputLevel {
        self.detach.as_ref().map_or(self.level, |detach| detach.level)
    }

    /// Signals, as this run takes them.
    pub(super) fn with_hangup_policy(&self, signals: Signals) -> Signals {
        match self.detach {
            Some(_) => signals.with(HangupPolicy::Ignored),
            None => signals,
        }
    }

    /// Keeps the machine awake by what is recorded.
    pub(super) fn inhibit_sleep(
        &self,
        mut watcher: RecordObserver,
        view: &Rc<RefCell<RunView>>,
        locked_run: &LockedRun,
        tell: impl Fn(String) + Send + 'static,
    ) -> RecordObserver {
        let real = match self.program {
            AgentProgram::Claude | AgentProgram::Command(_) => self.settings.scope == Scope::Whole,
            AgentProgram::Rehearsal(_) => false,
        };
        if !(real && self.keep_awake) {
            return watcher;
        }
        // Once, and in one line.
        let told = move |why| tell(format!("This machine may fall asleep during the run: {why}"));
        let mut awake = SleepInhibitor::new(locked_run.folder.id().clone(), Box::new(told));
        let view = Rc::clone(view);
        Box::new(move |records| {
            watcher(records);
            awake.while_doing(&view.borrow().activity());
        })
    }

    /// Gets ready to leave the terminal, if that is wanted.
    pub(super) fn prepare_detach(
        &self,
        mut watcher: RecordObserver,
        view: &Rc<RefCell<RunView>>,
        locked_run: &LockedRun,
        stderr: Arc<StderrWriter>,
    ) -> (RecordObserver, Option<DetachTask>) {
        let Some(target) = self.detach.clone() else { return (watcher, None) };
        let (begins, begun) = oneshot::channel();
        let mut begins = Some(begins);
        let view = Rc::clone(view);
        let watcher = Box::new(move |records: &[_]| {
            watcher(records);
            // A run that its checks refuse says so before the terminal is left.
            let has_begun = {
                let view = view.borrow();
                view.running_checks().is_empty() && view.ending.is_none()
            };
            if let Some(begins) = begins.take_if(|_| has_begun) {
                // Nobody waits for it only if the run is over.
                let _ = begins.send(());
            }
        });
        let report = self.detach_report(&target, locked_run);
        let stderr_file = locked_run.folder.path().join(STDERR_FILE);
        (watcher, Some(DetachTask { target, report, stderr_file, begun, stderr }))
    }

    /// A way off the terminal that was not taken: the run was over first.
    fn pending_detach(&self) -> Option<&DetachTarget> {
        self.detach.as_ref().filter(|detach| !detach.pipe.is_detached())
    }

    /// How much people are told at the end.
    pub(super) fn last_level(&self) -> OutputLevel {
        self.pending_detach().map_or(self.level, |detach| detach.level)
    }

    /// Prints the id for whoever waits for it, if nobody else will.
    pub(super) fn print_id(&self, locked_run: &LockedRun, stderr: &StderrWriter) {
        if let Some(detach) = self.pending_detach()
            && let Err(failure) = self.detach_report(detach, locked_run).print()
        {
            stderr.write_line(&format!("error: {}", failure.message));
        }
    }

    fn detach_report(&self, detach: &DetachTarget, locked_run: &LockedRun) -> DetachReport {
        DetachReport {
            run: locked_run.folder.id().0.clone(),
            pid: std::process::id(),
            project: self.project.clone(),
            run_folder: locked_run.folder.path().to_owned(),
            tone: DetachFormat::from(detach.level),
        }
    }
}

impl DetachTask {
    /// Leaves the terminal once the run has begun. A run of which nobody would know ends at once.
    pub(super) async fn detach(self, operator: mpsc::Sender<Control>) {
        if self.begun.await.is_err() {
            return;
        }
        let left = serde_json::to_vec(&self.report).map_err(std::io::Error::from);
        // A disk that is full is said elsewhere.
        let stderr = files::append_regular(&self.stderr_file).ok();
        let left = left.and_then(|word| self.target.pipe.detach(&word, stderr.as_ref()));
        if let Err(error) = left {
            self.stderr
                .write_line(&format!("error: the run can't leave its terminal, and ends: {error}"));
            let stop = Control::Stop { when: StopWhen::Now, by: StopSource::Signal };
            // Nobody listens only if it is over.
            let _ = operator.send(stop).await;
        }
    }
}
