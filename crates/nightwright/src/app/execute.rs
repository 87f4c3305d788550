//! One run from the command line: everything that has to be there before the first attempt, and
//! everything that is said after the last.

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

use nightwright_core::event::{AgentFacts, Event, RunEvent, RunStarted};
use nightwright_core::input::{Input, ResumeData};
use nightwright_core::machine::Machine;
use nightwright_core::outcome::{Outcome, Strictness};
use nightwright_core::redact::Secrets;
use nightwright_core::run_view::RunView;
use nightwright_core::settings::{Scope, Settings, VerdictMode};

use super::detach::DetachTarget;
use crate::agent::process::{AgentSetup, ProcessAgent, ShowFn};
pub(crate) use crate::app::agent_program::{
    AgentCommandLine, AgentProgram, RehearsalScript, environment, find_claude, fits,
    refused_as_root,
};
use crate::app::check_environment::CheckVariables;
pub(crate) use crate::app::earlier_run::EarlierRun;
use crate::app::finished_hook::ForceQuit;
pub(crate) use crate::app::locked_run::{LockedRun, home, temp_folder};
use crate::app::outputs::Outputs;
pub(crate) use crate::app::stderr_writer::StderrWriter;
use crate::error::Failure;
use crate::output::decisions::{self, DecisionLog};
use crate::output::hooks::{self as user_hooks, ApprovedHooks, HookRunner, PinnedHooks};
use crate::output::notify::Address;
use crate::output::{ColorChoice, OutputCapabilities, OutputLevel, Screen, Style};
use crate::process::Containment;
use crate::runtime::clock::{Clock, ClockSpeed};
use crate::runtime::effects::EffectExecutor;
use crate::runtime::evidence_files::{self, StaleStatusPolicy};
use crate::runtime::keys::KeyListener;
use crate::runtime::random;
use crate::runtime::signals::Signals;
use crate::runtime::supervisor::{RecordObserver, RunOutcome, Supervisor, WarningSender};
use crate::secrets;
use crate::store::journal::{self, DiskFile, JournalWriter};
use crate::store::log_settings::LogSettings;
use crate::store::retention;
use crate::task::{Task, TaskLock};
use crate::trust::TrustItem;
use crate::workspace;

/// The file that stops a run without a task.
pub(crate) const STOP_FILE: &str = ".nightwright/.stop";

/// A run to be made.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) project: PathBuf,
    pub(crate) settings: Settings,
    /// The task that is worked on, if it is one.
    pub(crate) task: Option<Task>,
    /// The project's hooks that a new run has.
    pub(crate) hooks: ApprovedHooks,
    /// The files of the project that the agent program may use, as they were approved.
    pub(crate) agent_files: Vec<TrustItem>,
    /// Variables of the user's for the agent. They may be secret, and are not recorded.
    pub(crate) variables: BTreeMap<String, String>,
    /// What is masked in everything that is kept or shown.
    pub(crate) secrets: Secrets,
    /// Changes are counted from here instead of from the start of this run.
    pub(crate) since: Option<EarlierRun>,
    pub(crate) program: AgentProgram,
    pub(crate) level: OutputLevel,
    pub(crate) color: ColorChoice,
    pub(crate) logs: LogSettings,
    /// Who is told of it.
    pub(crate) notify: Vec<Address>,
    pub(crate) strictness: Strictness,
    pub(crate) motion: ClockSpeed,
    /// Whether the machine is kept awake while there is something to do.
    pub(crate) keep_awake: bool,
    /// How the terminal is left once the run has begun, if it is.
    pub(crate) detach: Option<DetachTarget>,
}

/// A run that an earlier process left, opened to go on with.
#[derive(Debug)]
pub(crate) struct ResumableRun {
    pub(crate) locked_run: LockedRun,
    pub(crate) agent: AgentFacts,
    /// The hashes of its hooks, by their names.
    pub(crate) hooks: BTreeMap<String, String>,
    pub(crate) machine: Machine,
    pub(crate) writer: JournalWriter<DiskFile>,
    pub(crate) resume_data: ResumeData,
    /// What people should know of the journal.
    pub(crate) note: Option<String>,
}

/// A run that is over. Nobody else has its task and its project until this is gone.
pub(crate) struct FinishedRun {
    pub(crate) ending: RunOutcome,
    pub(crate) view: RunView,
    pub(crate) locked_run: LockedRun,
    pub(crate) style: Style,
    /// What is said of it from now on.
    pub(crate) stderr: Arc<StderrWriter>,
    _in_use: Option<TaskLock>,
}

impl Drop for FinishedRun {
    /// Whoever leaves has said everything, if anybody listens.
    fn drop(&mut self) {
        self.stderr.finish();
    }
}

/// A run about to be conducted.
struct PreparedRun {
    locked_run: LockedRun,
    agent: AgentFacts,
    containment: Containment,
    machine: Machine,
    writer: JournalWriter<DiskFile>,
    first: Input,
    /// The hooks that it began with.
    pinned: PinnedHooks,
    note: Option<String>,
    in_use: Option<TaskLock>,
}

/// What a new run needs of its folder and its task, and what people should know of it.
type RunFiles = (Option<TaskLock>, PinnedHooks, Option<String>, JournalWriter<DiskFile>);

impl Session {
    /// Makes a new run and says how it ended.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        Ok(self.start()?.map_or_else(interrupted, |finished| self.close(&finished)))
    }

    /// Makes a new run; `None` if it was interrupted before it had begun.
    pub(crate) fn start(&self) -> Result<Option<FinishedRun>, Failure> {
        block_on(async {
            let mut signals = catch_signals()?;
            let agent = tokio::select! {
                agent = self.find_agent() => agent?,
                () = signals.next() => return Ok(None),
            };
            let (project, folder) =
                (self.project.clone(), crate::app::locked_run::new_folder(&self.project)?);
            let taken = folder.clone();
            // Waiting for what an earlier run left is not for the loop's thread: Ctrl-C is heard.
            let taking = tokio::task::spawn_blocking(move || LockedRun::take(&project, &taken));
            let locked_run = tokio::select! {
                locked_run = taking => locked_run.map_err(|error| Failure::trouble(error.to_string()))??,
                () = signals.next() => {
                    folder.forget();
                    return Ok(None);
                }
            };
            let (in_use, pinned, note, writer) = match self.create_run_files(&locked_run) {
                Ok(furnished) => furnished,
                Err(failure) => {
                    drop(locked_run);
                    folder.forget();
                    return Err(failure);
                }
            };
            let first = Input::Start;
            let containment = locked_run.contain();
            let mut opening = self.opening(agent.clone(), &containment, &pinned)?;
            self.keep_unmasked_settings(&mut opening, &locked_run)?;
            let machine = Machine::new(opening);
            let prepared = PreparedRun {
                locked_run,
                agent,
                containment,
                machine,
                writer,
                first,
                pinned,
                note,
                in_use,
            };
            Box::pin(self.execute(prepared, signals)).await.map(Some)
        })
    }

    /// Puts into the folder of a new run what has to be there before it begins.
    fn create_run_files(&self, locked_run: &LockedRun) -> Result<RunFiles, Failure> {
        let in_use = self.hold_task()?;
        let folder = &locked_run.folder;
        let pinned = user_hooks::pin(&self.project, folder.path(), &self.hooks.items)?;
        let note = self.archive_stale_status(locked_run)?;
        let writer = journal::create(&folder.journal(), folder.id().clone())
            .map_err(|error| Failure::because(&error))?;
        Ok((in_use, pinned, note, writer))
    }

    /// Finds the agent program. Where nobody is asked nobody is needed.
    async fn find_agent(&self) -> Result<AgentFacts, Failure> {
        match (self.settings.scope, self.settings.verify.model) {
            (Scope::Gate, VerdictMode::Off) => Ok(AgentFacts::default()),
            (Scope::Gate, VerdictMode::Auto | VerdictMode::Always) | (Scope::Whole, _) => {
                self.program.find(&self.settings, &self.variables).await
            }
        }
    }

    /// Goes on with a run and says how it ended.
    pub(crate) fn resume(self, resumable: ResumableRun) -> Result<ExitCode, Failure> {
        let ResumableRun { locked_run, agent, hooks, machine, writer, resume_data, note } =
            resumable;
        let finished = block_on(async {
            let mut signals = catch_signals()?;
            // The program is looked for again: it may have been updated, or removed.
            let now = tokio::select! {
                now = self.program.find(&self.settings, &self.variables) => now?,
                () = signals.next() => return Ok(None),
            };
            let in_use = self.hold_task()?;
            let agent = AgentFacts { name: agent.name, ..now };
            let containment = locked_run.contain();
            let first = Input::Resume(resume_data);
            let pinned = user_hooks::recall(locked_run.folder.path(), self.settings.hooks, &hooks);
            let prepared = PreparedRun {
                locked_run,
                agent,
                containment,
                machine,
                writer,
                first,
                pinned,
                note,
                in_use,
            };
            Box::pin(self.execute(prepared, signals)).await.map(Some)
        })?;
        Ok(finished.map_or_else(interrupted, |finished| self.close(&finished)))
    }

    async fn execute(
        &self,
        prepared: PreparedRun,
        signals: Signals,
    ) -> Result<FinishedRun, Failure> {
        let PreparedRun {
            locked_run,
            agent,
            containment,
            machine,
            writer,
            first,
            pinned,
            note,
            in_use,
        } = prepared;
        // What it says is about agents that work.
        if self.settings.scope == Scope::Whole {
            self.program.introduce(&agent, &self.settings, self.first_level());
        }
        let screen = screen(self.level);
        let style = style(self.color).on(screen.clone());
        let clock = Clock::system(self.motion);
        let outputs = Outputs::start(self, &locked_run, &style, &self.secrets, writer.last_seq());
        let (level, variables) = (self.first_level(), &self.variables);
        let environment =
            self.program.environment(&self.settings, variables, &locked_run.folder, level)?;
        let checks = self.environment_of_checks(&environment);
        let known = (pinned, outputs.warn_fn(), writer.last_seq());
        let hooks = self.hooks(&locked_run, &checks.all, &containment, known);
        // Pieces of a text are kept once their line is whole; that they come is known at once.
        let show = screen
            .clone()
            .map(|screen| -> ShowFn { Arc::new(move |_, _| screen.agent_output_seen()) });
        let setup = AgentSetup {
            show,
            ..self.setup(&agent, &locked_run, &clock, environment, containment.clone())
        };
        let executor = self.executor(&locked_run, setup, checks, containment, hooks.clone());
        let past = journal::read(&locked_run.folder.journal()).map_err(|e| Failure::because(&e))?;
        let view = Rc::new(RefCell::new(RunView::of(&past.records)));
        let path = locked_run.folder.path().join(decisions::FILE);
        let decisions = DecisionLog::of(path, &past.records);
        let complaints = Rc::default();
        let watcher = watcher(Rc::clone(&view), &outputs, decisions, Rc::clone(&complaints));
        let watcher =
            self.inhibit_sleep(watcher, &view, &locked_run, outputs.notifier_of_notes(self.level));
        let (watcher, detach_task) =
            self.prepare_detach(watcher, &view, &locked_run, outputs.stderr());
        let beating = tokio::spawn(clock.clone().beat());
        let (mut supervisor, operator) = Supervisor::new(machine, writer, clock, executor, watcher);
        supervisor.mask(self.secrets.clone());
        let notes = supervisor.notes();
        supervisor.observe_inputs(crate::app::operator_messages::unmasked_recorder(
            locked_run.folder.path(),
            &self.secrets,
            notes,
        ));
        complaints.get_or_init(|| supervisor.notes());
        outputs.send_warnings_to(supervisor.notes());
        self.prune(&locked_run, supervisor.notes());
        let mut listeners =
            self.start_control_inputs(&locked_run, signals, &operator, &supervisor.notes());
        listeners.push(beating);
        listeners.extend(
            detach_task.map(|detach_task| tokio::spawn(detach_task.detach(operator.clone()))),
        );
        let keys = screen.and_then(|screen| KeyListener::listen(screen, operator.clone()).ok());
        self.warn_first(&locked_run, note.as_ref(), &supervisor.notes());
        drop(operator);
        let mut force_quit = ForceQuit::watch(self.with_hangup_policy(catch_signals()?));
        let ending = supervisor.run(first).await;
        force_quit.run_ended();
        for listener in listeners {
            listener.abort();
        }
        let deliveries = outputs.finish(&ending, &force_quit).await;
        let stderr = &deliveries.stderr;
        drop(keys);
        let mut view = view.take();
        view.ending = Some(self.final_outcome(&ending));
        if let Some(why) = &ending.unrecorded {
            stderr.write_line(&format!("error: the end of the run could not be recorded: {why}"));
        }
        self.deliver_outcome(&deliveries, hooks, (&ending, &view), &force_quit).await;
        Ok(FinishedRun {
            ending,
            view,
            locked_run,
            style,
            stderr: deliveries.stderr,
            _in_use: in_use,
        })
    }

    fn executor(
        &self,
        locked_run: &LockedRun,
        setup: AgentSetup,
        checks: CheckVariables,
        containment: Containment,
        hooks: Option<HookRunner>,
    ) -> EffectExecutor {
        let executor = EffectExecutor::new(
            Box::new(ProcessAgent::new(setup)),
            &self.project,
            locked_run.folder.clone(),
            locked_run.temp.handle(),
            checks.all,
            containment,
            &self.settings,
        );
        let executor = executor.masking(self.secrets.clone()).with_hooks(hooks);
        let executor = executor.withholding(checks.withheld, checks.line);
        match self.since.clone() {
            Some(earlier) => executor.since(earlier.tree),
            None => executor,
        }
    }

    /// What people should know of before it begins.
    fn warn_first(&self, locked_run: &LockedRun, note: Option<&String>, notes: &WarningSender) {
        for warning in note.into_iter().chain(&self.hooks.warnings) {
            notes.warn(warning.clone());
        }
        if let Some(line) = crate::app::locked_run::killed_line(&locked_run.killed) {
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

    /// Makes room, beside the run: what old runs have left is no reason to begin later.
    fn prune(&self, locked_run: &LockedRun, notes: WarningSender) {
        let (home, logs) = (locked_run.home.clone(), self.logs.clone());
        let thread = thread::Builder::new().name("prune".to_owned());
        // Without a thread there is no room made today.
        let _ = thread.spawn(move || {
            if let Some(complaint) = retention::prune(&home, &logs) {
                notes.warn(complaint);
            }
        });
    }

    /// Keeps others from archiving, resetting or changing the task while it is worked on.
    fn hold_task(&self) -> Result<Option<TaskLock>, Failure> {
        let hold = |task: &Task| TaskLock::take(&self.project, task.name());
        self.task.as_ref().map(hold).transpose()
    }

    /// What an earlier run left as the state of the task says nothing about this one.
    fn archive_stale_status(&self, locked_run: &LockedRun) -> Result<Option<String>, Failure> {
        // Whoever only judges judges that, too.
        if self.settings.scope == Scope::Gate {
            return Ok(None);
        }
        let Some(file) = &self.settings.files.status else { return Ok(None) };
        let (left, done) = match self.program {
            // A rehearsal leaves the task as it is.
            AgentProgram::Rehearsal(_) => (StaleStatusPolicy::Copied, "copied"),
            AgentProgram::Claude | AgentProgram::Command(_) => (StaleStatusPolicy::Moved, "moved"),
        };
        let left = (left, &self.secrets);
        let kept = evidence_files::archive_stale_status(
            &self.project,
            Path::new(file),
            locked_run.folder.path(),
            left,
        )
        .map_err(|error| Failure::because(&error))?;
        Ok(kept.map(|kept| {
            format!("`{file}` was left by an earlier run; it was {done} to `{}`", kept.display())
        }))
    }

    /// Keeps what the run is told as it is, if the journal will have masks in it.
    fn keep_unmasked_settings(
        &self,
        opening: &mut RunStarted,
        locked_run: &LockedRun,
    ) -> Result<(), Failure> {
        let event = Event::Run(RunEvent::Started(Box::new(opening.clone())));
        let Some(Event::Run(RunEvent::Started(masked))) = self.secrets.mask_event(&event) else {
            return Ok(());
        };
        opening.settings.masked = masked.settings != opening.settings;
        secrets::save_settings(locked_run.folder.path(), &opening.settings)
            .map_err(|error| Failure::because(&error))
    }

    fn opening(
        &self,
        agent: AgentFacts,
        containment: &Containment,
        pinned: &PinnedHooks,
    ) -> Result<RunStarted, Failure> {
        Ok(RunStarted {
            settings: self.settings.clone(),
            agent,
            project: self.project.display().to_string(),
            git_head: workspace::head_commit(&self.project),
            containment: containment.level().name().to_owned(),
            hooks: pinned.hashes(),
            baseline: self.since.as_ref().and_then(|earlier| earlier.checks.clone()),
            seed: seed()?,
        })
    }

    fn setup(
        &self,
        agent: &AgentFacts,
        locked_run: &LockedRun,
        clock: &Clock,
        environment: Vec<(OsString, OsString)>,
        containment: Containment,
    ) -> AgentSetup {
        let time = clock.clone();
        AgentSetup {
            program: PathBuf::from(&agent.path),
            arguments: self.program.arguments(&self.settings, &self.project, &self.agent_files),
            dialect: self.program.dialect(),
            input: self.program.dialect().input(self.settings.extras.watchdog),
            environment,
            project: self.project.clone(),
            folder: locked_run.folder.path().to_owned(),
            temp: locked_run.temp.handle(),
            containment,
            run: locked_run.folder.id().clone(),
            task: self.settings.task.clone(),
            completion: self.settings.completion.clone(),
            clock: Arc::new(move || time.now()),
            show: None,
            secrets: self.secrets.clone(),
        }
    }
}

/// What is done with every batch of events once it is recorded.
fn watcher(
    view: Rc<RefCell<RunView>>,
    outputs: &Outputs,
    mut decisions: DecisionLog,
    complaints: Rc<OnceCell<WarningSender>>,
) -> RecordObserver {
    let wake = outputs.waker();
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

pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
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
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(Outcome::Interrupted.exit_code(Strictness::Lenient))
}

pub(crate) fn catch_signals() -> Result<Signals, Failure> {
    Signals::catch().map_err(|error| Failure::trouble(format!("can't catch signals: {error}")))
}

fn seed() -> Result<u64, Failure> {
    random::bytes()
        .map(u64::from_le_bytes)
        .map_err(|error| Failure::trouble(format!("the system gave no random bytes: {error}")))
}

fn style(color: ColorChoice) -> Style {
    Style::new(color, &surroundings())
}

/// Where people look, if it can have a panel.
fn screen(level: OutputLevel) -> Option<Screen> {
    let surroundings = surroundings();
    let can = surroundings.terminal && !surroundings.dumb;
    (can && level.shows_messages()).then(Screen::stderr)
}

fn surroundings() -> OutputCapabilities {
    OutputCapabilities::of(env::var_os, &io::stderr())
}
