//! Everything that shows a run while it goes on.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use nightwright_core::redact::Secrets;
use nightwright_core::view;
use tokio::task::{JoinHandle, spawn_blocking};

use super::hooks::Impatience;
use super::{Place, Session, Voice};
use crate::notify::{Closing, Complain, Notifier};
use crate::publish::{Display, Finished, Followed};
use crate::report::log::{Log, Out};
use crate::report::{self, Level, Style};
use crate::supervisor::{Ending, Notes};

/// How long the screen may take to show the rest when a run is over.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long the log may take to write the rest.
const LOG_PATIENCE: Duration = Duration::from_secs(5);

/// What is left to all of them when somebody wants to leave at once.
const A_MOMENT: Duration = Duration::from_millis(300);

/// What writing to a terminal says that has hung up.
const GONE: i32 = rustix::io::Errno::IO.raw_os_error();

/// The screen and the log of a run, and who is told of it elsewhere. What shows reads the journal and the agent's output as a
/// stranger would.
#[derive(Debug)]
pub(super) struct Shows {
    screen: Option<Display>,
    log: Display,
    notifier: Option<Notifier>,
    complaints: Arc<Complaints>,
}

/// Where it is said that a log is no longer written, or that nobody is told any more.
#[derive(Debug)]
struct Complaints {
    /// The journal, and everybody who reads it.
    notes: OnceLock<Notes>,
    /// Nothing is recorded any more.
    over: AtomicBool,
    level: Level,
    /// How it is said then, and as long as there are no notes.
    voice: Arc<Voice>,
}

impl Complaints {
    /// Nothing is shown any more. Whoever closed their end, or their terminal, knows that; a full
    /// disk tells nobody, and what is missing there may be all that somebody will look at.
    fn went_dark(&self, error: &io::Error) {
        let terminal = self.level.speaks() && error.raw_os_error() == Some(GONE);
        if terminal || error.kind() == io::ErrorKind::BrokenPipe {
            return;
        }
        self.complain(format!("what happens is no longer printed: {error}"));
    }

    fn complain(&self, text: String) {
        match self.notes.get() {
            Some(notes) if !self.over.load(Ordering::Acquire) => notes.warn(text),
            // Without a journal to say it, it is said at every level: nothing else would tell.
            Some(_) | None => self.voice.speak(&format!("warning: {text}")),
        }
    }
}

impl Shows {
    /// Shows what comes after the line of the journal with this number.
    pub(super) fn start(
        session: &Session,
        place: &Place,
        style: &Style,
        secrets: &Secrets,
        after: u64,
    ) -> Self {
        let followed =
            Followed { journal: place.folder.journal(), output: place.folder.output(), after };
        let out: Option<Box<dyn io::Write + Send>> = match session.level {
            Level::Quiet => None,
            Level::Json | Level::JsonMessages => Some(Box::new(io::stdout())),
            Level::Progress | Level::Verbose => Some(Box::new(io::stderr())),
        };
        let complaints = Arc::new(Complaints {
            notes: OnceLock::new(),
            over: AtomicBool::new(false),
            level: session.level,
            voice: Arc::new(Voice::new()),
        });
        let screen = out.map(|out| {
            let reporter = report::reporter(session.level, style.clone(), out);
            let told = Arc::clone(&complaints);
            Display::start_with(followed.clone(), reporter, move |error| told.went_dark(error))
        });
        let log = log(session, place, secrets, Arc::clone(&complaints));
        let told = Arc::clone(&complaints);
        let complain: Complain = Arc::new(move |text| told.complain(text));
        let notifier = Notifier::start(&session.notify, followed.clone(), secrets, &complain);
        Self { screen, log: Display::start(followed, Box::new(log)), notifier, complaints }
    }

    /// Where to say that something can't be shown any more.
    pub(super) fn complain_to(&self, notes: Notes) {
        // There is one supervisor, and one who tells us of it.
        let _ = self.complaints.notes.set(notes);
    }

    /// Tells all of them that there is something new.
    pub(super) fn waker(&self) -> impl Fn() + use<> {
        let screen = self.screen.as_ref().map(Display::waker);
        let log = self.log.waker();
        let notifier = self.notifier.as_ref().map(Notifier::waker);
        move || {
            if let Some(wake) = &screen {
                wake();
            }
            log();
            if let Some(wake) = &notifier {
                wake();
            }
        }
    }

    /// Tells something beside what is recorded: in the log, and on the screen of whoever wants to
    /// know everything. Never waits.
    pub(super) fn teller(&self, level: Level) -> impl Fn(String) + Send + use<> {
        let screen = self.screen.as_ref().filter(|_| level == Level::Verbose);
        let (screen, log) = (screen.map(Display::teller), self.log.teller());
        move |text| {
            if let Some(tell) = &screen {
                tell(text.clone());
            }
            log(text);
        }
    }

    /// How people are told what is not shown.
    pub(super) fn voice(&self) -> Arc<Voice> {
        Arc::clone(&self.complaints.voice)
    }

    /// Where something is said that people should know, before the end and after it.
    pub(super) fn complain(&self) -> Complain {
        let complaints = Arc::clone(&self.complaints);
        Arc::new(move |text| complaints.complain(text))
    }

    /// Shows the rest, and gives how people are told what comes after it. What is still on its way
    /// to others goes on meanwhile, and may take longer. Whoever wants to leave waits for neither.
    pub(super) async fn finish(self, ending: &Ending, impatience: &Impatience) -> Settling {
        let Self { screen, log, notifier, complaints } = self;
        notifier.iter().for_each(Notifier::hush);
        complaints.over.store(true, Ordering::Release);
        let Ending { outcome, note, .. } = ending;
        let ending = view::Ending { outcome: outcome.clone(), note: note.clone() };
        // Each by itself: one that is slow takes nothing from the others.
        let on_its_way = spawn_blocking(move || notifier.map(|notifier| notifier.close(ending)));
        let shown = spawn_blocking(move || {
            screen.map_or(Finished::InTime, |screen| screen.finish(PATIENCE))
        });
        let logged = spawn_blocking(move || log.finish(LOG_PATIENCE));
        let (on_its_way, shown, _) = tokio::join!(
            unless_out(on_its_way, impatience),
            unless_out(shown, impatience),
            unless_out(logged, impatience),
        );
        // Only where both write to the same place does one know of the other.
        if complaints.level.speaks() {
            complaints.voice.after(shown.unwrap_or(Finished::Abandoned));
        }
        let on_its_way = on_its_way.flatten().map(Arc::new);
        Settling { voice: Arc::clone(&complaints.voice), on_its_way }
    }
}

/// What comes of it, unless somebody wants to leave, and it takes more than a moment after that.
/// `None`, too, after a panic, which has said enough: then nobody knows what came of it.
async fn unless_out<T>(job: JoinHandle<T>, impatience: &Impatience) -> Option<T> {
    tokio::select! {
        biased;
        done = job => done.ok(),
        () = impatience.out_after(A_MOMENT) => None,
    }
}

/// A run that was shown to its end, of which others may still be told.
#[derive(Debug)]
pub(super) struct Settling {
    /// How people are told what comes after it.
    pub(super) voice: Arc<Voice>,
    on_its_way: Option<Arc<Closing>>,
}

impl Settling {
    /// Waits for what is on its way to others, but not long when somebody wants to leave. Says what
    /// did not arrive.
    pub(super) async fn others(&self, impatience: &Impatience) -> Vec<String> {
        let Some(on_its_way) = &self.on_its_way else { return Vec::new() };
        let waiting = Arc::clone(on_its_way);
        let mut waited = spawn_blocking(move || waiting.wait());
        let late = tokio::select! {
            biased;
            late = &mut waited => late,
            () = impatience.out() => {
                on_its_way.hurry(Instant::now() + A_MOMENT);
                waited.await
            }
        };
        // It never fails but by a panic, which has said enough.
        late.unwrap_or_default()
    }
}

/// The log of this process.
fn log(session: &Session, place: &Place, secrets: &Secrets, complaints: Arc<Complaints>) -> Log {
    let last = place.folder.logs().pop();
    let earlier = last.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let path = place.folder.new_log(jiff::Timestamp::now());
    let mut out = Out::new(Box::new(move |text| complaints.complain(text))).file(&path);
    let name = path.file_name().and_then(|name| name.to_str());
    if let (Some(dir), Some(name)) = (&session.logs.dir, name) {
        out = out.copy(&session.project, dir, name);
    }
    Log::new(out, secrets.clone(), earlier)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use nightwright_core::agent::message::AgentMessage;
    use nightwright_core::journal::Line;
    use nightwright_core::outcome::Outcome;

    use super::*;
    use crate::report::{Reporter, Speaker, Wants};

    /// Shows nothing, and is done when it is told.
    struct Until(Option<Receiver<()>>);

    impl Reporter for Until {
        fn past(&mut self, _: &Line) {}

        fn event(&mut self, _: &Line, _: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn message(&mut self, _: Speaker, _: &AgentMessage<'_>) -> io::Result<()> {
            Ok(())
        }

        fn note(&mut self, _: &str) -> io::Result<()> {
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            if let Some(told) = &self.0 {
                // Whoever would have told it is gone when the test is over.
                let _ = told.recv();
            }
            Ok(())
        }

        fn wants(&self) -> Wants {
            Wants::Events
        }
    }

    /// Whether what is said after the end is heard, of a run whose screen or log hangs.
    async fn is_heard(level: Level, hangs: [bool; 2]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let followed = Followed {
            journal: folder.path().join("journal.jsonl"),
            output: folder.path().to_owned(),
            after: 0,
        };
        let (keep, told): (Vec<_>, Vec<_>) = hangs
            .map(|hangs| {
                let (keep, told) = channel();
                (keep, hangs.then_some(told))
            })
            .into_iter()
            .unzip();
        let [screen, log] = <[_; 2]>::try_from(told)
            .unwrap()
            .map(|told| Display::start(followed.clone(), Box::new(Until(told))));
        let complaints = Complaints {
            notes: OnceLock::new(),
            over: AtomicBool::new(false),
            level,
            voice: Arc::new(Voice::new()),
        };
        let (screen, complaints) = (Some(screen), Arc::new(complaints));
        let shows = Shows { screen, log, notifier: None, complaints };
        let ending = Ending { outcome: Outcome::Interrupted, note: None, unrecorded: None };
        let settling = shows.finish(&ending, &Impatience::at_once()).await;
        drop(keep);
        settling.voice.is_heard()
    }

    #[tokio::test]
    async fn a_log_that_is_slow_takes_no_word_from_a_screen_that_is_not() {
        assert!(is_heard(Level::Progress, [false, true]).await);
    }

    #[tokio::test]
    async fn a_screen_that_hangs_takes_the_words_that_would_go_to_the_same_place() {
        assert!(!is_heard(Level::Progress, [true, false]).await);
        assert!(is_heard(Level::Json, [true, false]).await);
    }
}
