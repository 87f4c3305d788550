//! One run from the command line: everything that has to be there before the first attempt, and
//! everything that is said after the last.

mod place;
mod program;

use std::cell::RefCell;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use legwork_core::agent::dialect::{Dialect, InputShape};
use legwork_core::event::{AgentFacts, RunStarted};
use legwork_core::input::Input;
use legwork_core::machine::Machine;
use legwork_core::outcome::Strictness;
use legwork_core::settings::Settings;
use legwork_core::view::{self, RunView};

use self::place::Place;
pub(super) use self::program::{Program, Script, Wishes};
use super::say;
use crate::agent::process::{ProcessAgent, Setup, Show};
use crate::clock::{Clock, Motion};
use crate::error::Failure;
use crate::hands::Hands;
use crate::journal;
use crate::publish::Display;
use crate::report::{self, ColorChoice, Level, Style, Surroundings};
use crate::signals::Signals;
use crate::supervisor::{Ending, Supervisor, Watcher};

/// How long the screen may take to show the rest when a run is over.
const PATIENCE: Duration = Duration::from_secs(3);

/// A run to be made.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) project: PathBuf,
    pub(super) settings: Settings,
    pub(super) program: Program,
    pub(super) level: Level,
    pub(super) color: ColorChoice,
    pub(super) strictness: Strictness,
    pub(super) motion: Motion,
}

impl Session {
    /// Makes the run and says how it ended.
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::trouble(format!("can't start: {error}")))?;
        let code = runtime.block_on(self.make());
        // What still runs beside the loop (a look at a huge project) is not waited for.
        runtime.shutdown_background();
        code
    }

    async fn make(self) -> Result<ExitCode, Failure> {
        let signals = Signals::catch()
            .map_err(|error| Failure::trouble(format!("can't catch signals: {error}")))?;
        let agent = self.program.find().await?;
        let place = Place::take(&self.project)?;
        self.program.introduce(self.level);
        let style = style(self.color);
        let clock = Clock::system(self.motion);
        let writer = journal::create(&place.folder.journal(), place.folder.id().clone())
            .map_err(|error| Failure::because(&error))?;
        let machine = Machine::new(self.opening(agent.clone())?);
        let display = self.display(&place, &style);
        let environment = self.program.environment(&place.folder, self.level)?;
        let setup = self.setup(&agent, &place, &clock, display.as_ref(), environment.clone());
        let hands = Hands::new(
            Box::new(ProcessAgent::new(setup)),
            &self.project,
            place.folder.clone(),
            environment,
            self.settings.notes_file.as_deref(),
        );

        let view = Rc::new(RefCell::new(RunView::default()));
        let watcher = watcher(Rc::clone(&view), display.as_ref());
        let (supervisor, operator) = Supervisor::new(machine, writer, clock, hands, watcher);
        let forward = tokio::spawn(signals.forward(operator));
        let ending = supervisor.run(Input::Start).await;
        forward.abort();
        if let Some(display) = display {
            display.finish(PATIENCE);
        }
        self.conclude(&ending, &mut view.borrow_mut(), &place, &style);
        Ok(ExitCode::from(ending.outcome.exit_code(self.strictness)))
    }

    fn opening(&self, agent: AgentFacts) -> Result<RunStarted, Failure> {
        Ok(RunStarted {
            settings: self.settings.clone(),
            agent,
            project: self.project.display().to_string(),
            git_head: None,
            containment: "process group".to_owned(),
            sandbox: "off".to_owned(),
            seed: seed()?,
        })
    }

    /// Whoever shows the run while it goes on; it reads the journal as a stranger would.
    fn display(&self, place: &Place, style: &Style) -> Option<Display> {
        let out: Box<dyn io::Write + Send> = match self.level {
            Level::Quiet => return None,
            Level::Json => Box::new(io::stdout()),
            Level::Progress | Level::Verbose => Box::new(io::stderr()),
        };
        let reporter = report::reporter(self.level, style.clone(), out);
        Some(Display::start(place.folder.journal(), reporter))
    }

    fn setup(
        &self,
        agent: &AgentFacts,
        place: &Place,
        clock: &Clock,
        display: Option<&Display>,
        environment: Vec<(OsString, OsString)>,
    ) -> Setup {
        let show = display.filter(|_| self.level == Level::Verbose).map(|display| {
            let sink = display.messages();
            let show: Show = Arc::new(move |_, message| sink.message(message));
            show
        });
        let time = clock.clone();
        Setup {
            program: PathBuf::from(&agent.path),
            arguments: self.program.arguments(),
            dialect: Dialect::Claude,
            input: InputShape::Prompt,
            environment,
            project: self.project.clone(),
            folder: place.folder.path().to_owned(),
            run: place.folder.id().clone(),
            task: self.settings.task.clone(),
            completion: self.settings.completion.clone(),
            clock: Arc::new(move || time.now()),
            show,
        }
    }

    /// Says how the run ended.
    fn conclude(&self, ending: &Ending, view: &mut RunView, place: &Place, style: &Style) {
        // An ending that could not be recorded is one all the same.
        let (outcome, note) = (ending.outcome.clone(), ending.note.clone());
        view.ending = Some(view::Ending { outcome, note });
        if let Some(why) = &ending.unrecorded {
            say(&format!("error: the end of the run could not be recorded: {why}"));
        }
        if self.level.speaks() {
            let log: &Path = place.folder.path();
            let summary = view.summary(place.folder.id());
            say(report::summary::render(&summary, style, Some(log)).trim_end());
        } else if ending.outcome.exit_code(Strictness::Lenient) == 1 {
            // Errors are the one thing that is never kept quiet.
            say(&format!("error: {}", ending.outcome.sentence(view.totals.iterations)));
        }
    }
}

/// What is done with every batch of events once it is recorded.
fn watcher(view: Rc<RefCell<RunView>>, display: Option<&Display>) -> Watcher {
    let wake = display.map(Display::waker);
    Box::new(move |records| {
        for record in records {
            view.borrow_mut().record(record);
        }
        if let Some(wake) = &wake {
            wake();
        }
    })
}

fn seed() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(8) => Ok(u64::from_le_bytes(bytes)),
        Ok(_) => Err(Failure::trouble("the system gave too few random bytes")),
        Err(error) => Err(Failure::trouble(format!("the system gave no random bytes: {error}"))),
    }
}

fn style(color: ColorChoice) -> Style {
    let surroundings = Surroundings::new(env::var_os, io::stderr().is_terminal());
    Style::new(color, &surroundings)
}
