//! Connects the supervisor of a prepared run to its inputs, its outputs, and the observers of its
//! records.

use std::cell::RefCell;
use std::env;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use nightwright_core::input::Input;
use nightwright_core::run_view::RunView;
use tokio::task::JoinHandle;

use super::agent_program::watched;
use super::async_command::catch_signals;
use super::detach::{DetachReport, DetachTask};
use super::force_quit::ForceQuit;
use super::locked_run::{LockedRun, killed_line};
use super::outputs::Outputs;
use super::prepare::{PreparedRun, RunFiles};
use super::run_spec::RunSpec;
use super::sandbox::for_agent;
use super::{control_inputs, keep_awake, operator_messages};
use crate::agent::process::{AgentSetup, ProcessAgent, ShowFn};
use crate::clock::Clock;
use crate::config::OutputLevel;
use crate::error::Failure;
use crate::hooks::{HookRunner, HookSetup};
use crate::output::{OutputCapabilities, Screen, Style};
use crate::runtime::effects::{EffectExecutor, ExecutorSetup};
use crate::runtime::keys::KeyListener;
use crate::runtime::supervisor::{InputQueues, Observers, RecordObserver, SideInputs, Supervisor};
use crate::sandbox::Sandbox;
use crate::signals::Signals;
use crate::store::journal::DiskFile;
use crate::store::retention;
use crate::task::TaskLock;

/// A run that waits only for its first input.
pub(super) struct WiredRun {
    pub(super) supervisor: Supervisor<DiskFile, EffectExecutor>,
    pub(super) first: Input,
    pub(super) connections: Connections,
}

/// The connections of a run, which outlive its supervisor.
pub(super) struct Connections {
    pub(super) locked_run: LockedRun,
    pub(super) task_lock: Option<TaskLock>,
    pub(super) view: Rc<RefCell<RunView>>,
    pub(super) outputs: Outputs,
    pub(super) style: Style,
    pub(super) hooks: Option<HookRunner>,
    pub(super) keys: Option<KeyListener>,
    pub(super) force_quit: ForceQuit,
    /// Tasks that wait for the operator, the clock or a file.
    listeners: Vec<JoinHandle<()>>,
}

impl Connections {
    /// Stops all inputs, because the run has ended. A later signal means that the user does not
    /// want to wait.
    pub(super) fn stop_listening(&mut self) {
        self.force_quit.run_ended();
        for listener in self.listeners.drain(..) {
            listener.abort();
        }
    }
}

/// Called with the view of the run after every batch of recorded events.
pub(super) type ViewObserver = Box<dyn FnMut(&RunView)>;

/// Those that read the view of the run after every batch of recorded events.
struct ViewObservers {
    /// Makes the followers of the outputs read the new records.
    wake: Box<dyn Fn()>,
    keep_awake: Option<ViewObserver>,
    detach: Option<ViewObserver>,
}

impl ViewObservers {
    /// Returns the observer that updates the view with recorded events, and then calls these.
    fn after_updating(self, view: Rc<RefCell<RunView>>) -> RecordObserver {
        let Self { wake, mut keep_awake, mut detach } = self;
        Box::new(move |records| {
            for record in records {
                view.borrow_mut().record(record);
            }
            wake();
            for observer in keep_awake.iter_mut().chain(&mut detach) {
                observer(&view.borrow());
            }
        })
    }
}

/// Connects a prepared run.
pub(super) fn wire(
    spec: &RunSpec,
    prepared: PreparedRun,
    signals: Signals,
) -> Result<WiredRun, Failure> {
    let force_quit = ForceQuit::watch(spec.with_hangup_policy(catch_signals()?));
    let queues = InputQueues::default();
    let (operator, warnings) = (queues.operator(), queues.side_inputs());
    let clock = Clock::system(spec.clock_speed);
    let screen = screen(spec.level);
    let style = Style::new(spec.color, &capabilities()).on(screen.clone());
    let outputs = Outputs::start(spec, &prepared, &style, warnings.clone());
    let view = Rc::new(RefCell::new(RunView::of(&prepared.past)));
    let hooks = hook_runner(spec, &prepared, &outputs);
    let setup = agent_setup(spec, &prepared, &clock, screen.clone());
    let executor = executor(spec, &prepared, setup, hooks.clone());
    let detach = spec.pending_detach().map(|target| {
        let report = DetachReport::new(target, &spec.project, &prepared.locked_run.folder);
        DetachTask::new(target, report, outputs.stderr())
    });
    let run = prepared.locked_run.folder.id();
    let view_observers = ViewObservers {
        wake: Box::new(outputs.waker()),
        keep_awake: keep_awake::observer(spec, run, outputs.notifier_of_notes(spec.level)),
        detach: detach.as_ref().map(DetachTask::observer),
    };
    let folder = prepared.locked_run.folder.path();
    let observers = Observers {
        on_record: view_observers.after_updating(Rc::clone(&view)),
        on_input: operator_messages::unmasked_recorder(folder, &spec.secrets, warnings.clone()),
    };

    let PreparedRun { locked_run, files, machine, first, sandbox, .. } = prepared;
    let RunFiles { journal, task_lock, warning, .. } = files;
    let notes = sandbox.as_deref().map(Sandbox::network_notes).unwrap_or_default();
    let first_warnings = notes.iter().cloned().chain(warning);
    warn_first(spec, &locked_run, first_warnings, &warnings);
    start_pruning(spec, &locked_run, warnings.clone());
    let contacts = sandbox.and_then(|sandbox| sandbox.take_contacts());
    let mut listeners = control_inputs::start(spec, &locked_run, signals, &operator, &warnings);
    listeners.push(tokio::spawn(clock.clone().beat()));
    listeners.extend(contacts.map(|contacts| tokio::spawn(warnings.forward_contacts(contacts))));
    listeners.extend(detach.map(|detach| tokio::spawn(detach.detach(operator.clone()))));
    let keys = screen.and_then(|screen| KeyListener::listen(screen, operator).ok());

    let supervisor =
        Supervisor::new(queues, machine, journal, clock, executor, spec.secrets.clone(), observers);
    let connections = Connections {
        locked_run,
        task_lock,
        view,
        outputs,
        style,
        hooks,
        keys,
        force_quit,
        listeners,
    };
    Ok(WiredRun { supervisor, first, connections })
}

/// Returns the hooks of this run, if any.
fn hook_runner(spec: &RunSpec, prepared: &PreparedRun, outputs: &Outputs) -> Option<HookRunner> {
    let PreparedRun { locked_run, environments, containment, files, .. } = prepared;
    spec.settings.hooks.any().then(|| {
        HookRunner::new(HookSetup {
            project: spec.project.clone(),
            folder: locked_run.folder.clone(),
            temp: locked_run.temp.handle(),
            environment: environments.checks.all.clone(),
            containment: containment.clone(),
            secrets: spec.secrets.clone(),
            settings: spec.settings.clone(),
            pinned: files.hooks.clone(),
            rehearsal: spec.program.is_rehearsal(),
            complain: outputs.warn_fn(),
            after: files.journal.last_seq(),
            written: files.journal.written(),
        })
    })
}

fn agent_setup(
    spec: &RunSpec,
    prepared: &PreparedRun,
    clock: &Clock,
    screen: Option<Screen>,
) -> AgentSetup {
    let PreparedRun { locked_run, agent, environments, containment, sandbox, .. } = prepared;
    let RunSpec { project, settings, program, agent_files, .. } = spec;
    let time = clock.clone();
    // Text is recorded once its line is complete. The screen learns immediately that there is some.
    let show = |screen: Screen| -> ShowFn { Arc::new(move |_, _| screen.agent_output_seen()) };
    AgentSetup {
        program: PathBuf::from(&agent.path),
        arguments: program.arguments(settings, project, agent_files),
        dialect: program.dialect(),
        input: program.dialect().input(settings.extras.watchdog),
        environment: environments.agent.clone(),
        project: project.clone(),
        folder: locked_run.folder.path().to_owned(),
        temp: locked_run.temp.handle(),
        containment: containment.clone(),
        run: locked_run.folder.id().clone(),
        task: settings.task.clone(),
        completion: settings.completion.clone(),
        clock: Arc::new(move || time.now()),
        show: screen.map(show),
        secrets: spec.secrets.clone(),
        judge: program.judge_home(&environments.agent),
        notices: watched(program, project, &environments.agent),
        sandbox: sandbox.as_ref().map(|sandbox| for_agent(program, sandbox)),
    }
}

fn executor(
    spec: &RunSpec,
    prepared: &PreparedRun,
    setup: AgentSetup,
    hooks: Option<HookRunner>,
) -> EffectExecutor {
    let PreparedRun { locked_run, environments, containment, sandbox, .. } = prepared;
    let checks = &environments.checks;
    let setup = ExecutorSetup {
        agent: Box::new(ProcessAgent::new(setup)),
        project: spec.project.clone(),
        folder: locked_run.folder.clone(),
        temp: locked_run.temp.handle(),
        environment: checks.all.clone(),
        withheld: checks.withheld.clone(),
        withheld_line: checks.line.clone(),
        containment: containment.clone(),
        sandbox: sandbox.clone(),
        secrets: spec.secrets.clone(),
        hooks,
        since: spec.since.as_ref().map(|earlier| earlier.tree.clone()),
    };
    EffectExecutor::new(setup, &spec.settings)
}

/// Sends the warnings that are recorded at the start of the run.
fn warn_first(
    spec: &RunSpec,
    locked_run: &LockedRun,
    first: impl Iterator<Item = String>,
    warnings: &SideInputs,
) {
    let hooks = spec.hooks.warnings.iter().cloned();
    for text in first.chain(hooks).chain(killed_line(&locked_run.killed)) {
        warnings.warn(text);
    }
    let completion = &spec.settings.completion;
    let phrases = [
        ("completion signal", Some(completion.signal.as_str())),
        ("end phrase", completion.end_phrase.as_deref()),
    ];
    for (name, phrase) in phrases {
        if phrase.is_some_and(|phrase| spec.secrets.hides(phrase)) {
            warnings.warn(format!(
                "the {name} contains a secret: nightwright masks it in the agent's output and can \
                 never detect it"
            ));
        }
    }
}

/// Removes old runs in the background, so that they do not delay the start.
fn start_pruning(spec: &RunSpec, locked_run: &LockedRun, warnings: SideInputs) {
    let (home, logs) = (locked_run.home.clone(), spec.logs.clone());
    let thread = thread::Builder::new().name("prune".to_owned());
    // Without a thread, a later run removes them.
    let _ = thread.spawn(move || {
        if let Some(complaint) = retention::prune(&home, &logs) {
            warnings.warn(complaint);
        }
    });
}

/// Returns the terminal, if it can show a panel.
fn screen(level: OutputLevel) -> Option<Screen> {
    let OutputCapabilities { terminal, dumb, .. } = capabilities();
    (terminal && !dumb && level.shows_messages()).then(Screen::stderr)
}

fn capabilities() -> OutputCapabilities {
    OutputCapabilities::of(env::var_os, &io::stderr())
}
