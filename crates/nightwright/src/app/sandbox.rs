//! The sandbox of a run: opened and tested before anything is spent.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nightwright_core::event::AgentFacts;
use nightwright_core::sandbox::mounts::Access;
use nightwright_core::settings::Settings;

use super::agent_program::{AgentProgram, SANDBOXED};
use super::locked_run::LockedRun;
use super::run_spec::RunSpec;
use crate::agent::process::AgentSandbox;
use crate::console::eprint_safe;
use crate::rehearsal;
use crate::sandbox::{Sandbox, SandboxError, SandboxSpec};

/// The name of the folder for temporary files of the test.
const ROOM: &str = "canary";

/// Opens the sandbox of a run, if its settings name one, and tests it.
pub(super) async fn open(
    spec: &RunSpec,
    locked_run: &LockedRun,
    agent: &AgentFacts,
) -> Result<Option<Arc<Sandbox>>, SandboxError> {
    if !spec.settings.sandbox.kind.is_made_here() {
        return Ok(None);
    }
    let (settings, project) = (spec.settings.clone(), spec.project.clone());
    let environment = variables(spec);
    let programs: Vec<PathBuf> =
        Some(&agent.path).filter(|path| !path.is_empty()).map(PathBuf::from).into_iter().collect();
    let (home, temp) = (locked_run.home.clone(), locked_run.temp.handle());
    let opening = tokio::task::spawn_blocking(move || {
        let opened = open_in(&settings, &project, &home, programs, environment)?;
        let Some(sandbox) = opened else { return Ok(None) };
        let room = temp.room(ROOM);
        let room =
            room.map_err(|source| SandboxError::Prepare { path: temp.path().to_owned(), source })?;
        let tried = sandbox.must_protect(&room);
        temp.clear(ROOM);
        for note in tried.iter().flat_map(|trial| &trial.notes) {
            eprint_safe(&format!("warning: {note}"));
        }
        tried.map(|_| Some(Arc::new(sandbox)))
    });
    match opening.await {
        Ok(opened) => opened,
        Err(error) => Err(SandboxError::NotStarted(error.to_string())),
    }
}

/// Opens the sandbox without testing it.
pub(crate) fn open_in(
    settings: &Settings,
    project: &Path,
    project_state: &Path,
    programs: Vec<PathBuf>,
    environment: Vec<(OsString, OsString)>,
) -> Result<Option<Sandbox>, SandboxError> {
    let state = project_state.parent().unwrap_or(project_state);
    let canary = env::current_exe()
        .map_err(|source| SandboxError::Prepare { path: project_state.to_owned(), source })?;
    Sandbox::open(&SandboxSpec {
        settings,
        project,
        state,
        project_state,
        programs,
        canary,
        environment,
    })
}

/// The variables that name tools: those of nightwright itself, and the user's for the agent.
fn variables(spec: &RunSpec) -> Vec<(OsString, OsString)> {
    let own = |name: &OsString| name.to_str().is_some_and(|name| spec.variables.contains_key(name));
    let mut all: Vec<_> = env::vars_os().filter(|(name, _)| !own(name)).collect();
    all.extend(spec.variables.iter().map(|(name, value)| (name.into(), value.into())));
    all
}

/// The sandbox for the processes of the agent.
pub(super) fn for_agent(program: &AgentProgram, sandbox: &Arc<Sandbox>) -> AgentSandbox {
    let (shown, variables) = match program {
        AgentProgram::Claude => (Vec::new(), vec![(SANDBOXED, "1")]),
        AgentProgram::Command(_) => (Vec::new(), Vec::new()),
        AgentProgram::Rehearsal(_) => {
            let script = (rehearsal::SCRIPT_VARIABLE, Access::ReadOnly);
            (vec![script, (rehearsal::LOG_VARIABLE, Access::ReadWrite)], Vec::new())
        }
    };
    AgentSandbox { sandbox: Arc::clone(sandbox), shown, variables }
}
