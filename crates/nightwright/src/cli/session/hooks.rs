//! The hooks of a run: what they need, and the last of them, which is told of the end.

use std::ffi::OsString;
use std::time::Duration;

use nightwright_core::event::{Event, Record};
use nightwright_core::units::human;
use nightwright_core::view::RunView;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::shows::Settling;
use super::{Place, Session, Voice};
use crate::hooks::{Complain, Hooks, Pinned, Setup, Unrecorded};
use crate::process::Containment;
use crate::signals::Signals;
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
        (pinned, complain, after): (Pinned, Complain, u64),
    ) -> Option<Hooks> {
        let wanted = &self.settings.hooks;
        if !wanted.any() {
            return None;
        }
        let rehearsal = self.program.is_rehearsal();
        Some(Hooks::new(Setup {
            project: self.project.clone(),
            folder: place.folder.clone(),
            temp: place.temp.handle(),
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
    pub(super) async fn tell_the_end(
        &self,
        settling: &Settling,
        hooks: Option<Hooks>,
        over: (&Ending, &RunView),
        impatience: &Impatience,
    ) {
        let hooks = hooks.filter(|_| self.settings.hooks.finished);
        let finished = async {
            match hooks {
                Some(hooks) => self.tell_finished(&hooks, over, &settling.voice, impatience).await,
                None => Ok(()),
            }
        };
        let (late, told) = tokio::join!(settling.others(impatience), finished);
        let failed = told.err().map(|why| format!("the hook `finished` failed: {why}"));
        for text in late.into_iter().chain(failed) {
            // At every level: nothing else would tell of it.
            settling.voice.speak(&format!("warning: {}", self.secrets.mask(&text)));
        }
    }

    async fn tell_finished(
        &self,
        hooks: &Hooks,
        (ending, view): (&Ending, &RunView),
        voice: &Voice,
        impatience: &Impatience,
    ) -> Result<(), String> {
        let ending = Unrecorded { record: self.last_record(ending, view) };
        let finished = hooks.finished(ending, impatience.out());
        tokio::pin!(finished);
        tokio::select! {
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
    pub(super) fn run_is_over(&mut self) {
        self.before = *self.signals.borrow();
    }

    /// Waits until somebody wants to leave at once: a second signal, or any after the end.
    pub(super) async fn out(&self) {
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
    pub(super) async fn out_after(&self, time: Duration) {
        self.out().await;
        sleep(time).await;
    }
}

impl Drop for Impatience {
    fn drop(&mut self) {
        self.task.abort();
    }
}
