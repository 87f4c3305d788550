//! The hooks of a run: what they need, and the last of them, which is told of the end.

use std::ffi::OsString;
use std::time::Duration;

use nightwright_core::event::{Event, Record, RunEvent};
use nightwright_core::run_view::RunView;
use nightwright_core::units::human;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::execute::{LockedRun, Session, StderrWriter};
use super::outputs::PendingDeliveries;
use crate::output::hooks::{HookRunner, HookSetup, HookWarnFn, PinnedHooks, UnrecordedOutcome};
use crate::process::Containment;
use crate::runtime::signals::Signals;
use crate::runtime::supervisor::RunOutcome;

/// A hook that takes longer than this is named, so that nobody wonders what is waited for.
const HOOK_NOTICE_DELAY: Duration = Duration::from_secs(2);

impl Session {
    /// The hooks of this run, if it has any.
    pub(super) fn hooks(
        &self,
        locked_run: &LockedRun,
        environment: &[(OsString, OsString)],
        containment: &Containment,
        (pinned, complain, after): (PinnedHooks, HookWarnFn, u64),
    ) -> Option<HookRunner> {
        let wanted = &self.settings.hooks;
        if !wanted.any() {
            return None;
        }
        let rehearsal = self.program.is_rehearsal();
        Some(HookRunner::new(HookSetup {
            project: self.project.clone(),
            folder: locked_run.folder.clone(),
            temp: locked_run.temp.handle(),
            environment: environment.to_vec(),
            containment: containment.clone(),
            secrets: self.secrets.clone(),
            settings: self.settings.clone(),
            pinned,
            rehearsal,
            complain,
            after,
        }))
    }

    /// Tells everybody of the end: the hook, whatever the end is, while what goes to others is still
    /// on its way. What goes wrong with that is said and changes nothing: the journal is closed.
    pub(super) async fn deliver_outcome(
        &self,
        deliveries: &PendingDeliveries,
        hooks: Option<HookRunner>,
        over: (&RunOutcome, &RunView),
        force_quit: &ForceQuit,
    ) {
        let hooks = hooks.filter(|_| self.settings.hooks.finished);
        let finished = async {
            match hooks {
                Some(hooks) => {
                    self.run_finished_hook(&hooks, over, &deliveries.stderr, force_quit).await
                }
                None => Ok(()),
            }
        };
        let (late, told) = tokio::join!(deliveries.finish(force_quit), finished);
        let failed = told.err().map(|why| format!("the hook `finished` failed: {why}"));
        for text in late.into_iter().chain(failed) {
            // At every level: nothing else would tell of it.
            deliveries.stderr.write_line(&format!("warning: {}", self.secrets.mask(&text)));
        }
    }

    async fn run_finished_hook(
        &self,
        hooks: &HookRunner,
        (ending, view): (&RunOutcome, &RunView),
        stderr: &StderrWriter,
        force_quit: &ForceQuit,
    ) -> Result<(), String> {
        let ending = UnrecordedOutcome { record: self.last_record(ending, view) };
        let finished = hooks.finished(ending, force_quit.requested());
        tokio::pin!(finished);
        tokio::select! {
            done = &mut finished => done,
            () = sleep(HOOK_NOTICE_DELAY) => {
                if self.level.shows_messages() {
                    let most = human(self.settings.hooks.timeout);
                    stderr.write_line(&format!(
                        "The hook `finished` is running; it has {most}. Ctrl-C leaves without \
                         waiting for it."
                    ));
                }
                finished.await
            }
        }
    }

    /// What the journal would have for its last line if it could not be written.
    fn last_record(&self, ending: &RunOutcome, view: &RunView) -> Record {
        let event = Event::Run(RunEvent::Finished {
            outcome: ending.outcome.clone(),
            note: ending.note.clone(),
            totals: view.totals.clone(),
        });
        let event = self.secrets.mask_event(&event).unwrap_or(event);
        Record { at: jiff::Timestamp::now(), active: view.totals.duration, event }
    }
}

/// Notes how often somebody wanted to leave.
#[derive(Debug)]
pub(super) struct ForceQuit {
    signals: watch::Receiver<u32>,
    /// How many there were when the run was over.
    before: u32,
    task: JoinHandle<()>,
}

impl ForceQuit {
    /// Counts these from now on.
    pub(super) fn watch(mut caught: Signals) -> Self {
        let (count, signals) = watch::channel(0);
        let task = tokio::spawn(async move {
            loop {
                caught.next().await;
                count.send_modify(|count| *count += 1);
            }
        });
        Self { signals, before: 0, task }
    }

    /// Somebody asked twice to leave.
    #[cfg(test)]
    pub(super) fn at_once() -> Self {
        let (_, signals) = watch::channel(2);
        Self { signals, before: 2, task: tokio::spawn(async {}) }
    }

    /// The run is over: whoever signals from now on does not want to wait.
    pub(super) fn run_ended(&mut self) {
        self.before = *self.signals.borrow();
    }

    /// Waits until somebody wants to leave at once: a second signal, or any after the end.
    pub(super) async fn requested(&self) {
        if self.before < 2 {
            let before = self.before;
            let mut signals = self.signals.clone();
            // Without somebody who counts nobody is impatient.
            if signals.wait_for(|count| *count > before).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The same, and so much time after that.
    pub(super) async fn requested_after(&self, time: Duration) {
        self.requested().await;
        sleep(time).await;
    }
}

impl Drop for ForceQuit {
    fn drop(&mut self) {
        self.task.abort();
    }
}
