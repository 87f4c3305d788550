//! Preparation of a run: the agent program, the locks, the run folder with its files, the
//! environments, and the machine.

use std::io;
use std::path::Path;
use std::sync::Arc;

use nightwright_core::event::{AgentFacts, Event, Record, RunEvent, RunStarted};
use nightwright_core::input::Input;
use nightwright_core::machine::Machine;
use nightwright_core::settings::{Scope, VerdictMode};

use super::agent_program::AgentProgram;
use super::async_command::unless_interrupted;
use super::environments::Environments;
use super::locked_run::{LockedRun, new_folder};
use super::run_spec::RunSpec;
use super::sandbox;
use crate::error::Failure;
use crate::hooks::{self, PinnedHooks};
use crate::process::Containment;
use crate::random;
use crate::runtime::evidence_files::{self, StaleStatusPolicy};
use crate::sandbox::Sandbox;
use crate::secrets;
use crate::signals::Signals;
use crate::store::journal::{self, DiskFile, JournalWriter};
use crate::store::run_dir::RunDir;
use crate::store::seal::Seal;
use crate::task::{Task, TaskLock};
use crate::workspace;

/// A run that is ready to start or resume.
pub(super) struct PreparedRun {
    pub(super) locked_run: LockedRun,
    pub(super) agent: AgentFacts,
    pub(super) environments: Environments,
    pub(super) containment: Containment,
    /// The sandbox of the agent and the checks, if any.
    pub(super) sandbox: Option<Arc<Sandbox>>,
    pub(super) files: RunFiles,
    pub(super) machine: Machine,
    /// The events recorded so far.
    pub(super) past: Vec<Record>,
    /// The input that starts or resumes the machine.
    pub(super) first: Input,
}

/// The files of a run and its task that stay open or fixed during the run.
pub(super) struct RunFiles {
    pub(super) journal: JournalWriter<DiskFile>,
    pub(super) hooks: PinnedHooks,
    /// Prevents other processes from archiving, resetting or changing the task.
    pub(super) task_lock: Option<TaskLock>,
    /// A warning about the initial state of the files.
    pub(super) warning: Option<String>,
}

/// Prepares a new run; `None` if a signal came first.
pub(super) async fn prepare(
    spec: &RunSpec,
    signals: &mut Signals,
) -> Result<Option<PreparedRun>, Failure> {
    let Some(agent) = unless_interrupted(find_agent(spec), signals).await.transpose()? else {
        return Ok(None);
    };
    let Some((locked_run, sandbox, files)) = create_run(spec, &agent, signals).await? else {
        return Ok(None);
    };
    let folder = locked_run.folder.clone();
    let prepared = prepare_machine(spec, agent, locked_run, sandbox, files);
    prepared.map(Some).inspect_err(|_| folder.forget())
}

/// Prepares everything that depends on the run folder.
fn prepare_machine(
    spec: &RunSpec,
    agent: AgentFacts,
    locked_run: LockedRun,
    sandbox: Option<Arc<Sandbox>>,
    files: RunFiles,
) -> Result<PreparedRun, Failure> {
    let containment = locked_run.contain();
    let opening = opening(spec, &agent, &containment, &files.hooks)?;
    let opening = keep_unmasked_settings(spec, opening, locked_run.folder.path())?;
    let machine = Machine::new(opening);
    introduce(spec, &agent, sandbox.as_deref());
    Ok(PreparedRun {
        environments: Environments::of(spec, &locked_run.folder)?,
        locked_run,
        agent,
        containment,
        sandbox,
        files,
        machine,
        past: Vec::new(),
        first: Input::Start,
    })
}

/// Finds the agent program, unless the run never starts it.
async fn find_agent(spec: &RunSpec) -> Result<AgentFacts, Failure> {
    match (spec.settings.scope, spec.settings.verify.model) {
        (Scope::Gate, VerdictMode::Off) => Ok(AgentFacts::default()),
        (Scope::Gate, VerdictMode::Auto | VerdictMode::Always) | (Scope::Whole, _) => {
            spec.program.find(&spec.settings, &spec.variables).await
        }
    }
}

/// Creates the folder of a new run and takes its locks. Removes the folder again if the run does
/// not start.
async fn create_run(
    spec: &RunSpec,
    agent: &AgentFacts,
    signals: &mut Signals,
) -> Result<Option<(LockedRun, Option<Arc<Sandbox>>, RunFiles)>, Failure> {
    let folder = new_folder(&spec.project)?;
    let (project, taken) = (spec.project.clone(), folder.clone());
    // Taking the locks may wait for processes of an earlier run, and Ctrl-C must work meanwhile.
    let taking = tokio::task::spawn_blocking(move || LockedRun::take(&project, &taken));
    let Some(taken) = unless_interrupted(taking, signals).await else {
        folder.forget();
        return Ok(None);
    };
    let locked_run = taken.map_err(|error| Failure::trouble(error.to_string()))??;
    let opened = sandbox::open(spec, &locked_run, agent).await.map_err(Failure::from);
    match opened.and_then(|sandbox| Ok((sandbox, create_files(spec, &locked_run)?))) {
        Ok((sandbox, files)) => Ok(Some((locked_run, sandbox, files))),
        Err(failure) => {
            drop(locked_run);
            folder.forget();
            Err(failure)
        }
    }
}

fn create_files(spec: &RunSpec, locked_run: &LockedRun) -> Result<RunFiles, Failure> {
    let folder = &locked_run.folder;
    let task_lock = lock_task(spec)?;
    let hooks = hooks::pin(&spec.project, folder.path(), &spec.hooks.items)?;
    let warning = archive_stale_status(spec, folder.path())?;
    let mut journal = journal::create(&folder.journal(), folder.id().clone())
        .map_err(|error| Failure::because(&error))?;
    let seal = Seal::create(&folder.seal()).map_err(|error| Failure::because(&error))?;
    journal.keep_seal(seal).map_err(|error| unsealed(folder, &error))?;
    Ok(RunFiles { journal, hooks, task_lock, warning })
}

pub(super) fn unsealed(folder: &RunDir, error: &io::Error) -> Failure {
    Failure::trouble(format!("cannot write `{}`: {error}", folder.seal().display()))
}

pub(super) fn lock_task(spec: &RunSpec) -> Result<Option<TaskLock>, Failure> {
    let lock = |task: &Task| TaskLock::take(&spec.project, task.name());
    spec.task.as_ref().map(lock).transpose()
}

/// Moves the status file of an earlier run away, because it says nothing about this one. A
/// verification keeps it, because it judges that status.
fn archive_stale_status(spec: &RunSpec, run_folder: &Path) -> Result<Option<String>, Failure> {
    let Some(file) = &spec.settings.files.status else { return Ok(None) };
    if spec.settings.scope == Scope::Gate {
        return Ok(None);
    }
    let (policy, done) = match spec.program {
        // A rehearsal leaves the task as it is.
        AgentProgram::Rehearsal(_) => (StaleStatusPolicy::Copied, "copied"),
        AgentProgram::Claude | AgentProgram::Command(_) => (StaleStatusPolicy::Moved, "moved"),
    };
    let (project, status) = (&spec.project, Path::new(file));
    let kept =
        evidence_files::archive_stale_status(project, status, run_folder, policy, &spec.secrets)
            .map_err(|error| Failure::because(&error))?;
    Ok(kept.map(|kept| format!("{done} `{file}` of an earlier run to `{}`", kept.display())))
}

/// Returns the first event of a new run.
fn opening(
    spec: &RunSpec,
    agent: &AgentFacts,
    containment: &Containment,
    hooks: &PinnedHooks,
) -> Result<RunStarted, Failure> {
    let seed = random::bytes().map(u64::from_le_bytes);
    Ok(RunStarted {
        settings: spec.settings.clone(),
        agent: agent.clone(),
        project: spec.project.display().to_string(),
        git_head: workspace::head_commit(&spec.project),
        containment: containment.level().name().to_owned(),
        sandbox: spec.settings.sandbox.kind,
        hooks: hooks.hashes(),
        baseline: spec.since.as_ref().and_then(|earlier| earlier.checks.clone()),
        seed: seed
            .map_err(|error| Failure::trouble(format!("cannot read random bytes: {error}")))?,
    })
}

/// Saves the unmasked settings if the journal will mask parts of them.
fn keep_unmasked_settings(
    spec: &RunSpec,
    mut opening: RunStarted,
    run_folder: &Path,
) -> Result<RunStarted, Failure> {
    let event = Event::Run(RunEvent::Started(Box::new(opening.clone())));
    if let Some(Event::Run(RunEvent::Started(masked))) = spec.secrets.mask_event(&event) {
        opening.settings.masked = masked.settings != opening.settings;
        secrets::save_settings(run_folder, &opening.settings)
            .map_err(|error| Failure::because(&error))?;
    }
    Ok(opening)
}

/// Prints what the agent may do. A verification has no agent that works.
pub(super) fn introduce(spec: &RunSpec, agent: &AgentFacts, sandbox: Option<&Sandbox>) {
    if spec.settings.scope == Scope::Whole {
        let network = sandbox.and_then(Sandbox::network_way);
        spec.program.introduce(agent, &spec.settings, network, spec.terminal_level());
    }
}
