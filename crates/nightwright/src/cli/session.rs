//! One run from the command line: everything that has to be there before the first attempt, and
//! everything that is said after the last.

mod earlier;
mod hooks;
mod night;
mod place;
mod program;
mod said;
mod shows;
mod variables;
mod voice;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use nightwright_core::event::{AgentFacts, Event, RunStarted};
use nightwright_core::input::{Control, Input, Salvage};
use nightwright_core::machine::Machine;
use nightwright_core::outcome::{Outcome, Strictness};
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{Judge, Scope, Settings};
use nightwright_core::view::{self, RunView};

pub(super) use self::earlier::EarlierRun;
use self::hooks::Impatience;
pub(super) use self::place::{Place, home, temp_folder};
pub(super) use self::program::{
    CommandLine, Program, Script, environment, find_claude, fits, refused_as_root,
};
use self::shows::Shows;
use self::voice::Voice;
use super::detach::Leaving;
use crate::agent::process::{ProcessAgent, Setup, Show};
use crate::chance;
use crate::clock::{Clock, Motion};
use crate::control::Ear;
use crate::decisions::{self, Decisions};
use crate::error::Failure;
use crate::evidence::{self, Left};
use crate::hands::Hands;
use crate::hooks::{self as user_hooks, Chosen, Pinned};
use crate::journal::{self, DiskFile, Writer, prune};
use crate::keys::Keys;
use crate::logs::Logs;
use crate::notify::Address;
use crate::paste::steps_from_here;
use crate::process::Containment;
use crate::report::{self, ColorChoice, Level, Screen, Style, Surroundings};
use crate::secrets;
use crate::signals::Signals;
use crate::status_watch::{Means, StatusWatch};
use crate::stop_file;
use crate::supervisor::{Ending, Notes, Supervisor, Watcher};
use crate::task::{self, InUse, Runs, State, Task};
use crate::trust::Item;
use crate::workspace;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The file that stops a run without a task.
const STOP_FILE: &str = ".nightwright/.stop";

/// A run to be made.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) project: PathBuf,
    pub(super) settings: Settings,
    /// The task that is worked on, if it is one.
    pub(super) task: Option<Task>,
    /// The project's hooks that a new run has.
    pub(super) hooks: Chosen,
    /// The files of the project that the agent program may use, as they were approved.
    pub(super) agent_files: Vec<Item>,
    /// Variables of the user's for the agent. They may be secret, and are not recorded.
    pub(super) variables: BTreeMap<String, String>,
    /// What is masked in everything that is kept or shown.
    pub(super) secrets: Secrets,
    /// Changes are counted from here instead of from the start of this run.
    pub(super) since: Option<EarlierRun>,
    pub(super) program: Program,
    pub(super) level: Level,
    pub(super) color: ColorChoice,
    pub(super) logs: Logs,
    /// Who is told of it.
    pub(super) notify: Vec<Address>,
    pub(super) strictness: Strictness,
    pub(super) motion: Motion,
    /// Whether the machine is kept awake while there is something to do.
    pub(super) keep_awake: bool,
    /// How the terminal is left once the run has begun, if it is.
    pub(super) leaving: Option<Leaving>,
}

/// A run that an earlier process left, opened to go on with.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) place: Place,
    pub(super) agent: AgentFacts,
    /// The hashes of its hooks, by their names.
    pub(super) hooks: BTreeMap<String, String>,
    pub(super) machine: Machine,
    pub(super) writer: Writer<DiskFile>,
    pub(super) salvage: Salvage,
    /// What people should know of the journal.
    pub(super) note: Option<String>,
}

/// A run that is over. Nobody else has its task and its project until this is gone.
pub(super) struct Over {
    pub(super) ending: Ending,
    pub(super) view: RunView,
    pub(super) place: Place,
    style: Style,
    /// What is said of it from now on.
    pub(super) voice: Arc<Voice>,
    _in_use: Option<InUse>,
}

impl Drop for Over {
    /// Whoever leaves has said everything, if anybody listens.
    fn drop(&mut self) {
        self.voice.finish();
    }
}

/// A run about to be conducted.
struct Score {
    place: Place,
    agent: AgentFacts,
    containment: Containment,
    machine: Machine,
    writer: Writer<DiskFile>,
    first: Input,
    /// The hooks that it began with.
    pinned: Pinned,
    note: Option<String>,
    in_use: Option<InUse>,
}

/// What a new run needs of its folder and its task, and what people should know of it.
type Furnished = (Option<InUse>, Pinned, Option<String>, Writer<DiskFile>);

impl Session {
    /// Makes a new run and says how it ended.
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        Ok(self.perform()?.map_or_else(interrupted, |over| self.close(&over)))
    }

    /// Makes a new run; `None` if it was interrupted before it had begun.
    pub(super) fn perform(&self) -> Result<Option<Over>, Failure> {
        block_on(async {
            let mut signals = catch_signals()?;
            let agent = tokio::select! {
                agent = self.find_agent() => agent?,
                () = signals.next() => return Ok(None),
            };
            let (project, folder) = (self.project.clone(), place::new_folder(&self.project)?);
            let taken = folder.clone();
            // Waiting for what an earlier run left is not for the loop's thread: Ctrl-C is heard.
            let taking = tokio::task::spawn_blocking(move || Place::take(&project, &taken));
            let place = tokio::select! {
                place = taking => place.map_err(|error| Failure::trouble(error.to_string()))??,
                () = signals.next() => {
                    folder.forget();
                    return Ok(None);
                }
            };
            let (in_use, pinned, note, writer) = match self.furnish(&place) {
                Ok(furnished) => furnished,
                Err(failure) => {
                    drop(place);
                    folder.forget();
                    return Err(failure);
                }
            };
            let first = Input::Start;
            let containment = place.contain();
            let mut opening = self.opening(agent.clone(), &containment, &pinned)?;
            self.keep_told(&mut opening, &place)?;
            let machine = Machine::new(opening);
            let score =
                Score { place, agent, containment, machine, writer, first, pinned, note, in_use };
            Box::pin(self.conduct(score, signals)).await.map(Some)
        })
    }

    /// Puts into the folder of a new run what has to be there before it begins.
    fn furnish(&self, place: &Place) -> Result<Furnished, Failure> {
        let in_use = self.hold_task()?;
        let folder = &place.folder;
        let pinned = user_hooks::pin(&self.project, folder.path(), &self.hooks.items)?;
        let note = self.set_aside(place)?;
        let writer = journal::create(&folder.journal(), folder.id().clone())
            .map_err(|error| Failure::because(&error))?;
        Ok((in_use, pinned, note, writer))
    }

    /// Finds the agent program. Where nobody is asked nobody is needed.
    async fn find_agent(&self) -> Result<AgentFacts, Failure> {
        match (self.settings.scope, self.settings.verify.model) {
            (Scope::Gate, Judge::Off) => Ok(AgentFacts::default()),
            (Scope::Gate, Judge::Auto | Judge::Always) | (Scope::Whole, _) => {
                self.program.find(&self.settings, &self.variables).await
            }
        }
    }

    /// Goes on with a run and says how it ended.
    pub(super) fn go_on(self, opened: Opened) -> Result<ExitCode, Failure> {
        let Opened { place, agent, hooks, machine, writer, salvage, note } = opened;
        let over = block_on(async {
            let mut signals = catch_signals()?;
            // The program is looked for again: it may have been updated, or removed.
            let now = tokio::select! {
                now = self.program.find(&self.settings, &self.variables) => now?,
                () = signals.next() => return Ok(None),
            };
            let in_use = self.hold_task()?;
            let agent = AgentFacts { name: agent.name, ..now };
            let containment = place.contain();
            let first = Input::Resume(salvage);
            let pinned = user_hooks::recall(place.folder.path(), self.settings.hooks, &hooks);
            let score =
                Score { place, agent, containment, machine, writer, first, pinned, note, in_use };
            Box::pin(self.conduct(score, signals)).await.map(Some)
        })?;
        Ok(over.map_or_else(interrupted, |over| self.close(&over)))
    }

    async fn conduct(&self, score: Score, signals: Signals) -> Result<Over, Failure> {
        let Score { place, agent, containment, machine, writer, first, pinned, note, in_use } =
            score;
        match self.settings.scope {
            Scope::Whole => self.program.introduce(&agent, &self.settings, self.first_level()),
            // What it says is about agents that work.
            Scope::Gate => {}
        }
        let screen = screen(self.level);
        let style = style(self.color).on(screen.clone());
        let clock = Clock::system(self.motion);
        let shows = Shows::start(self, &place, &style, &self.secrets, writer.last_seq());
        let (level, variables) = (self.first_level(), &self.variables);
        let environment =
            self.program.environment(&self.settings, variables, &place.folder, level)?;
        let checks = self.environment_of_checks(&environment);
        let known = (pinned, shows.complain(), writer.last_seq());
        let hooks = self.hooks(&place, &checks.all, &containment, known);
        let kept = containment.clone();
        // Pieces of a text are kept once their line is whole; that they come is known at once.
        let show = screen.clone().map(|screen| -> Show { Arc::new(move |_, _| screen.heard()) });
        let setup = self.setup(&agent, &place, &clock, environment, kept);
        let setup = Setup { show, ..setup };
        let hands = Hands::new(
            Box::new(ProcessAgent::new(setup)),
            &self.project,
            place.folder.clone(),
            place.temp.handle(),
            checks.all,
            containment,
            &self.settings,
        );
        let hands = hands.masking(self.secrets.clone()).with_hooks(hooks.clone());
        let hands = hands.withholding(checks.withheld, checks.line);
        let hands = match self.since.clone() {
            Some(earlier) => hands.since(earlier.tree),
            None => hands,
        };

        let past = journal::read(&place.folder.journal()).map_err(|e| Failure::because(&e))?;
        let view = Rc::new(RefCell::new(RunView::of(&past.records)));
        let path = place.folder.path().join(decisions::FILE);
        let decisions = Decisions::of(path, &past.records);
        let complaints = Rc::default();
        let watcher = watcher(Rc::clone(&view), &shows, decisions, Rc::clone(&complaints));
        let watcher = self.awake(watcher, &view, &place, shows.teller(self.level));
        let (watcher, farewell) = self.farewell(watcher, &view, &place, shows.voice());
        let beating = tokio::spawn(clock.clone().beat());
        let (mut supervisor, operator) = Supervisor::new(machine, writer, clock, hands, watcher);
        supervisor.mask(self.secrets.clone());
        let notes = supervisor.notes();
        supervisor.listen(said::keeper(place.folder.path(), &self.secrets, notes));
        complaints.get_or_init(|| supervisor.notes());
        shows.complain_to(supervisor.notes());
        self.prune(&place, supervisor.notes());
        let mut listeners = self.listen(&place, signals, &operator, &supervisor.notes());
        listeners.push(beating);
        listeners.extend(farewell.map(|farewell| tokio::spawn(farewell.leave(operator.clone()))));
        let keys = screen.and_then(|screen| Keys::hear(screen, operator.clone()).ok());
        self.warn_first(&place, note.as_ref(), &supervisor.notes());
        drop(operator);
        let mut impatience = Impatience::watch(self.heed(catch_signals()?));
        let ending = supervisor.run(first).await;
        impatience.run_is_over();
        for listener in listeners {
            listener.abort();
        }
        let settling = shows.finish(&ending, &impatience).await;
        let voice = &settling.voice;
        drop(keys);
        let mut view = view.take();
        // An ending that could not be recorded is one all the same.
        let (outcome, note) = (ending.outcome.clone(), ending.note.clone());
        let note = note.map(|note| self.secrets.mask(&note).into_owned());
        view.ending = Some(view::Ending { outcome, note });
        if let Some(why) = &ending.unrecorded {
            voice.speak(&format!("error: the end of the run could not be recorded: {why}"));
        }
        self.tell_the_end(&settling, hooks, (&ending, &view), &impatience).await;
        Ok(Over { ending, view, place, style, voice: settling.voice, _in_use: in_use })
    }

    /// What people should know of before it begins.
    fn warn_first(&self, place: &Place, note: Option<&String>, notes: &Notes) {
        for warning in note.into_iter().chain(&self.hooks.warnings) {
            notes.warn(warning.clone());
        }
        if let Some(line) = place::killed_line(&place.swept) {
            notes.warn(line);
        }
        let completion = &self.settings.completion;
        let phrases = [
            ("completion signal", Some(completion.signal.as_str())),
            ("end phrase", completion.end_phrase.as_deref()),
        ];
        for (name, phrase) in phrases {
            if phrase.is_some_and(|phrase| self.secrets.hides(phrase)) {
                notes.warn(format!(
                    "the {name} has a secret in it: it is masked in what the agent says, and \
                     completion is never seen by it"
                ));
            }
        }
    }

    /// Says how a run ended, and notes it with its task.
    fn close(&self, over: &Over) -> ExitCode {
        self.conclude(over);
        self.remember(over);
        ExitCode::from(over.ending.outcome.exit_code(self.strictness))
    }

    /// Everything through which the operator speaks: signals, the control socket, the stop file.
    /// A run that can't be spoken to in one of these ways goes on, and says so.
    fn listen(
        &self,
        place: &Place,
        signals: Signals,
        operator: &mpsc::Sender<Control>,
        notes: &Notes,
    ) -> Vec<JoinHandle<()>> {
        let mut listeners = vec![tokio::spawn(self.heed(signals).forward(operator.clone()))];
        let ear = Ear::open(place.folder.id()).and_then(|ear| {
            place.announce(ear.path())?;
            Ok(ear)
        });
        match ear {
            Ok(ear) => listeners.push(tokio::spawn(ear.listen(operator.clone()))),
            Err(error) => notes.warn(format!(
                "`nightwright stop`, `pause` and `tell` can't reach this run: {error}"
            )),
        }
        let stop = match &self.task {
            Some(task) => task.path(task::STOP),
            None => self.project.join(STOP_FILE),
        };
        match stop_file::clear(&stop) {
            Ok(()) => listeners.push(tokio::spawn(stop_file::watch(stop, operator.clone()))),
            Err(error) => {
                notes.warn(format!("the stop file `{}` is not watched: {error}", stop.display()));
            }
        }
        listeners.extend(self.watch_status(place, notes));
        listeners
    }

    /// Makes room, beside the run: what old runs have left is no reason to begin later.
    fn prune(&self, place: &Place, notes: Notes) {
        let (home, logs) = (place.home.clone(), self.logs.clone());
        let thread = thread::Builder::new().name("prune".to_owned());
        // Without a thread there is no room made today.
        let _ = thread.spawn(move || {
            if let Some(complaint) = prune::prune(&home, &logs) {
                notes.warn(complaint);
            }
        });
    }

    /// Tells changes of the status file while the agent works, where there is one and somebody
    /// wants to know.
    fn watch_status(&self, place: &Place, notes: &Notes) -> Option<JoinHandle<()>> {
        let Settings { files, completion, status_watch, scope, .. } = &self.settings;
        if !status_watch.enabled || *scope == Scope::Gate {
            return None;
        }
        let files = evidence::Files::new(&self.project, files, &completion.evidence)
            .in_run(place.folder.path());
        let watch = StatusWatch::new(files, status_watch.debounce, Means::News)?;
        let notes = notes.clone();
        Some(tokio::spawn(watch.watch(move |report| notes.status(report))))
    }

    /// Keeps others from archiving, resetting or changing the task while it is worked on.
    fn hold_task(&self) -> Result<Option<InUse>, Failure> {
        let hold = |task: &Task| InUse::take(&self.project, task.name());
        self.task.as_ref().map(hold).transpose()
    }

    /// What an earlier run left as the state of the task says nothing about this one.
    fn set_aside(&self, place: &Place) -> Result<Option<String>, Failure> {
        // Whoever only judges judges that, too.
        if self.settings.scope == Scope::Gate {
            return Ok(None);
        }
        let Some(file) = &self.settings.files.status else { return Ok(None) };
        let (left, done) = match self.program {
            // A rehearsal leaves the task as it is.
            Program::Rehearsal(_) => (Left::Copied, "copied"),
            Program::Claude | Program::Command(_) => (Left::Moved, "moved"),
        };
        let left = (left, &self.secrets);
        let kept = evidence::set_aside(&self.project, Path::new(file), place.folder.path(), left)
            .map_err(|error| Failure::because(&error))?;
        Ok(kept.map(|kept| {
            format!("`{file}` was left by an earlier run; it was {done} to `{}`", kept.display())
        }))
    }

    /// Notes with the task what the run came to. The journal is the truth: a note that can't be
    /// made is said and changes nothing.
    fn remember(&self, over: &Over) {
        let Over { place, view, voice, .. } = over;
        let (Some(task), false) = (&self.task, self.program.is_rehearsal()) else { return };
        let noted = Runs::of(&self.project)
            .and_then(|runs| State::record_run(task, &runs, place.folder.id(), view));
        match noted {
            Ok(Some(warning)) if self.level.speaks() => voice.speak(&format!("warning: {warning}")),
            Ok(_) => {}
            Err(error) => {
                let why = error.message;
                voice.speak(&format!("warning: the state of the task is not noted: {why}"));
            }
        }
    }

    /// Keeps what the run is told as it is, if the journal will have masks in it.
    fn keep_told(&self, opening: &mut RunStarted, place: &Place) -> Result<(), Failure> {
        let event = Event::RunStarted(Box::new(opening.clone()));
        let Some(Event::RunStarted(masked)) = self.secrets.mask_event(&event) else {
            return Ok(());
        };
        opening.settings.masked = masked.settings != opening.settings;
        secrets::keep_told(place.folder.path(), &opening.settings)
            .map_err(|error| Failure::because(&error))
    }

    fn opening(
        &self,
        agent: AgentFacts,
        containment: &Containment,
        pinned: &Pinned,
    ) -> Result<RunStarted, Failure> {
        Ok(RunStarted {
            settings: self.settings.clone(),
            agent,
            project: self.project.display().to_string(),
            git_head: workspace::head_commit(&self.project),
            containment: containment.level().name().to_owned(),
            sandbox: "off".to_owned(),
            hooks: pinned.hashes(),
            baseline: self.since.as_ref().and_then(|earlier| earlier.checks.clone()),
            seed: seed()?,
        })
    }

    fn setup(
        &self,
        agent: &AgentFacts,
        place: &Place,
        clock: &Clock,
        environment: Vec<(OsString, OsString)>,
        containment: Containment,
    ) -> Setup {
        let time = clock.clone();
        Setup {
            program: PathBuf::from(&agent.path),
            arguments: self.program.arguments(&self.settings, &self.project, &self.agent_files),
            dialect: self.program.dialect(),
            input: self.program.dialect().input(self.settings.extras.watchdog),
            environment,
            project: self.project.clone(),
            folder: place.folder.path().to_owned(),
            temp: place.temp.handle(),
            containment,
            run: place.folder.id().clone(),
            task: self.settings.task.clone(),
            completion: self.settings.completion.clone(),
            clock: Arc::new(move || time.now()),
            show: None,
            secrets: self.secrets.clone(),
        }
    }

    /// Says how the run ended.
    fn conclude(&self, over: &Over) {
        let Over { ending, view, place, style, voice, .. } = over;
        if voice.is_heard() {
            self.print_id(place, voice);
        }
        if self.last_level().speaks() {
            if let Program::Rehearsal(_) = self.program {
                voice.speak("This was a rehearsal: the agent was a script, and nothing was spent.");
            }
            let logs = place.folder.logs();
            let log = logs.last().map_or(place.folder.path(), PathBuf::as_path);
            let mut summary = view.summary(place.folder.id());
            summary.next = match self.motion {
                Motion::Real => steps_from_here(summary.next),
                // The project of a demo is gone: there is nothing to look at or to continue.
                Motion::Fast => Vec::new(),
            };
            // Made safe part by part, and coloured after that.
            voice.show(report::summary::render(&summary, style, Some(log)).trim_end());
        } else if let 1 | 2 = ending.outcome.exit_code(Strictness::Lenient) {
            // Errors are the one thing that is never kept quiet.
            let sentence = ending.outcome.sentence(view.totals.iterations);
            voice.speak(&format!("error: {}", self.secrets.mask(&sentence)));
        }
    }
}

/// What is done with every batch of events once it is recorded.
fn watcher(
    view: Rc<RefCell<RunView>>,
    shows: &Shows,
    mut decisions: Decisions,
    complaints: Rc<OnceCell<Notes>>,
) -> Watcher {
    let wake = shows.waker();
    Box::new(move |records| {
        for record in records {
            view.borrow_mut().record(record);
        }
        if let (Some(complaint), Some(notes)) = (decisions.record(records), complaints.get()) {
            notes.warn(complaint);
        }
        wake();
    })
}

pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::trouble(format!("can't start: {error}")))?;
    let code = runtime.block_on(work);
    // What still runs beside the loop (a look at a huge project) is not waited for.
    runtime.shutdown_background();
    code
}

/// The exit code of a command that was interrupted before its run had begun.
pub(super) fn interrupted() -> ExitCode {
    ExitCode::from(Outcome::Interrupted.exit_code(Strictness::Lenient))
}

pub(super) fn catch_signals() -> Result<Signals, Failure> {
    Signals::catch().map_err(|error| Failure::trouble(format!("can't catch signals: {error}")))
}

fn seed() -> Result<u64, Failure> {
    chance::bytes()
        .map(u64::from_le_bytes)
        .map_err(|error| Failure::trouble(format!("the system gave no random bytes: {error}")))
}

fn style(color: ColorChoice) -> Style {
    Style::new(color, &surroundings())
}

/// Where people look, if it can have a panel.
fn screen(level: Level) -> Option<Screen> {
    let surroundings = surroundings();
    let can = surroundings.terminal && !surroundings.dumb;
    (can && level.speaks()).then(Screen::stderr)
}

fn surroundings() -> Surroundings {
    Surroundings::of(env::var_os, &io::stderr())
}
