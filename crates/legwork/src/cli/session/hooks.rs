//! The hooks of a run: what they need, and the last of them, which is told of the end.

use std::ffi::OsString;
use std::time::Duration;

use legwork_core::event::{Event, Record};
use legwork_core::units::human;
use legwork_core::view::RunView;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{Place, Session, Voice, catch_signals};
use crate::error::Failure;
use crate::hooks::{Hooks, Setup, Unrecorded};
use crate::process::Containment;
use crate::supervisor::Ending;

/// A hook that takes longer than this is named, so that nobody wonders what is waited for.
const UNNOTICED: Duration = Duration::from_secs(2);

impl Session {
    /// The hooks of this run, if it has any.
    pub(super) fn hooks(
        &self,
        place: &Place,
        environment: &[(OsString, OsString)],
        containment: &Containment,
    ) -> Option<Hooks> {
        let wanted = &self.settings.hooks;
        if !wanted.any() {
            return None;
        }
        let rehearsal = self.program.is_rehearsal();
        Some(Hooks::new(Setup {
            project: self.project.clone(),
            folder: place.folder.clone(),
            environment: environment.to_vec(),
            containment: containment.clone(),
            secrets: self.secrets.clone(),
            timeout: wanted.timeout,
            rehearsal,
        }))
    }

    /// Runs the hook that is told of the end, whatever the end is. What goes wrong with it is said
    /// and changes nothing: the journal is closed.
    pub(super) async fn tell_finished(
        &self,
        hooks: Option<Hooks>,
        (ending, view): (&Ending, &RunView),
        mut impatience: Impatience,
        voice: &Voice,
    ) {
        let Some(hooks) = hooks.filter(|_| self.settings.hooks.finished) else { return };
        let ending = Unrecorded { record: self.last_record(ending, view) };
        let finished = hooks.finished(ending, impatience.out());
        tokio::pin!(finished);
        let done = tokio::select! {
            done = &mut finished => done,
            () = sleep(UNNOTICED) => {
                if self.level.speaks() {
                    let most = human(self.settings.hooks.timeout);
                    voice.speak(&format!(
                        "The hook `finished` is running; it has {most}. Ctrl-C leaves without \
                         waiting for it."
                    ));
                }
                finished.await
            }
        };
        if let Err(why) = done
            && self.level.speaks()
        {
            voice.speak(&format!(
                "warning: the hook `finished` failed: {}",
                self.secrets.mask(&why)
            ));
        }
    }

    /// What the journal would have for its last line if it could not be written.
    fn last_record(&self, ending: &Ending, view: &RunView) -> Record {
        let event = Event::RunFinished {
            outcome: ending.outcome.clone(),
            note: ending.note.clone(),
            totals: view.totals.clone(),
        };
        let event = self.secrets.mask_event(&event).unwrap_or(event);
        Record { at: jiff::Timestamp::now(), active: view.totals.duration, event }
    }
}

/// Notes how often somebody wanted to leave.
#[derive(Debug)]
pub(super) struct Impatience {
    signals: watch::Receiver<u32>,
    /// How many there were when the run was over.
    before: u32,
    task: JoinHandle<()>,
}

impl Impatience {
    pub(super) fn watch() -> Result<Self, Failure> {
        let mut caught = catch_signals()?;
        let (count, signals) = watch::channel(0);
        let task = tokio::spawn(async move {
            loop {
                caught.next().await;
                count.send_modify(|count| *count += 1);
            }
        });
        Ok(Self { signals, before: 0, task })
    }

    /// The run is over: whoever signals from now on does not want to wait.
    pub(super) fn run_is_over(&mut self) {
        self.before = *self.signals.borrow();
    }

    /// Waits until somebody wants to leave at once: a second signal, or any after the end.
    async fn out(&mut self) {
        if self.before < 2 {
            let before = self.before;
            // Without somebody who counts nobody is impatient.
            if self.signals.wait_for(|count| *count > before).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Drop for Impatience {
    fn drop(&mut self) {
        self.task.abort();
    }
}
