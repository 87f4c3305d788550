//! What a run has beside it when nobody is there: a machine that stays awake, and a terminal that
//! is left behind.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use nightwright_core::event::{Origin, StopWhen};
use nightwright_core::input::Control;
use nightwright_core::settings::Scope;
use nightwright_core::view::RunView;
use tokio::sync::{mpsc, oneshot};

use super::{Place, Program, Session, Voice};
use crate::awake::Awake;
use crate::cli::detach::{Leaving, Tone, Word};
use crate::report::Level;
use crate::signals::{HangUps, Signals};
use crate::supervisor::Watcher;

/// What a run that nobody sees would say in its despair.
const COMPLAINTS: &str = "detached.err";

/// A run that leaves its terminal as soon as it has begun.
pub(super) struct Farewell {
    leaving: Leaving,
    word: Word,
    complaints: PathBuf,
    /// The first event is on disk.
    begun: oneshot::Receiver<()>,
    voice: Arc<Voice>,
}

impl Session {
    /// How much people are told before the run has begun.
    pub(super) fn first_level(&self) -> Level {
        self.leaving.as_ref().map_or(self.level, |leaving| leaving.level)
    }

    /// Signals, as this run takes them.
    pub(super) fn heed(&self, signals: Signals) -> Signals {
        match self.leaving {
            Some(_) => signals.with(HangUps::Ignored),
            None => signals,
        }
    }

    /// Keeps the machine awake by what is recorded.
    pub(super) fn awake(
        &self,
        mut watcher: Watcher,
        view: &Rc<RefCell<RunView>>,
        place: &Place,
        tell: impl Fn(String) + Send + 'static,
    ) -> Watcher {
        let real = match self.program {
            Program::Claude | Program::Command(_) => self.settings.scope == Scope::Whole,
            Program::Rehearsal(_) => false,
        };
        if !(real && self.keep_awake) {
            return watcher;
        }
        // Once, and in one line.
        let told = move |why| tell(format!("This machine may fall asleep during the run: {why}"));
        let mut awake = Awake::new(place.folder.id().clone(), Box::new(told));
        let view = Rc::clone(view);
        Box::new(move |records| {
            watcher(records);
            awake.while_doing(&view.borrow().activity());
        })
    }

    /// Gets ready to leave the terminal, if that is wanted.
    pub(super) fn farewell(
        &self,
        mut watcher: Watcher,
        view: &Rc<RefCell<RunView>>,
        place: &Place,
        voice: Arc<Voice>,
    ) -> (Watcher, Option<Farewell>) {
        let Some(leaving) = self.leaving.clone() else { return (watcher, None) };
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
        let word = self.word(&leaving, place);
        let complaints = place.folder.path().join(COMPLAINTS);
        (watcher, Some(Farewell { leaving, word, complaints, begun, voice }))
    }

    /// A way off the terminal that was not taken: the run was over first.
    fn not_left(&self) -> Option<&Leaving> {
        self.leaving.as_ref().filter(|leaving| !leaving.departure.has_left())
    }

    /// How much people are told at the end.
    pub(super) fn last_level(&self) -> Level {
        self.not_left().map_or(self.level, |leaving| leaving.level)
    }

    /// Prints the id for whoever waits for it, if nobody else will.
    pub(super) fn print_id(&self, place: &Place, voice: &Voice) {
        if let Some(leaving) = self.not_left()
            && let Err(failure) = self.word(leaving, place).print()
        {
            voice.speak(&format!("error: {}", failure.message));
        }
    }

    fn word(&self, leaving: &Leaving, place: &Place) -> Word {
        Word {
            run: place.folder.id().0.clone(),
            pid: std::process::id(),
            project: self.project.clone(),
            run_folder: place.folder.path().to_owned(),
            tone: Tone::from(leaving.level),
        }
    }
}

impl Farewell {
    /// Leaves the terminal once the run has begun. A run of which nobody would know ends at once.
    pub(super) async fn leave(self, operator: mpsc::Sender<Control>) {
        if self.begun.await.is_err() {
            return;
        }
        let left = serde_json::to_vec(&self.word).map_err(std::io::Error::from);
        let left = left.and_then(|word| self.leaving.departure.leave(&word, &self.complaints));
        if let Err(error) = left {
            self.voice
                .speak(&format!("error: the run can't leave its terminal, and ends: {error}"));
            let stop = Control::Stop { when: StopWhen::Now, by: Origin::Signal };
            // Nobody listens only if it is over.
            let _ = operator.send(stop).await;
        }
    }
}
