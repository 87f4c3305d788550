//! Prepares a run that an earlier process left.

use std::collections::BTreeMap;

use nightwright_core::event::AgentFacts;
use nightwright_core::input::{Input, ResumeData};
use nightwright_core::machine::Machine;

use super::async_command::unless_interrupted;
use super::environments::Environments;
use super::locked_run::LockedRun;
use super::prepare::{PreparedRun, RunFiles, introduce, lock_task, unsealed};
use super::run_spec::RunSpec;
use super::sandbox;
use crate::error::{Failure, chain};
use crate::hooks;
use crate::signals::Signals;
use crate::store::journal::{self, DiskFile, JournalWriter};
use crate::store::seal::Seal;

/// A run that was loaded from its journal and can be resumed.
#[derive(Debug)]
pub(crate) struct ResumableRun {
    pub(crate) locked_run: LockedRun,
    pub(crate) agent: AgentFacts,
    /// The hashes of its hooks, by name.
    pub(crate) hooks: BTreeMap<String, String>,
    pub(crate) machine: Machine,
    pub(crate) writer: JournalWriter<DiskFile>,
    pub(crate) resume_data: ResumeData,
    /// A warning about the state of the journal.
    pub(crate) note: Option<String>,
}

/// Prepares a resumed run; `None` if a signal came first.
pub(super) async fn prepare_resumed(
    spec: &RunSpec,
    resumable: ResumableRun,
    signals: &mut Signals,
) -> Result<Option<PreparedRun>, Failure> {
    let ResumableRun { locked_run, agent, hooks, machine, mut writer, mut resume_data, note } =
        resumable;
    // The program may have been updated or removed since.
    let finding = spec.program.find(&spec.settings, &spec.variables);
    let Some(found) = unless_interrupted(finding, signals).await.transpose()? else {
        return Ok(None);
    };
    let agent = AgentFacts { name: agent.name, ..found };
    let sandbox = sandbox::open(spec, &locked_run, &agent).await.unwrap_or_else(|error| {
        resume_data.sandbox_failure = Some(chain(&error));
        None
    });
    let folder = &locked_run.folder;
    let seal = Seal::open(&folder.seal()).map_err(|error| Failure::because(&error))?;
    writer.keep_seal(seal).map_err(|error| unsealed(folder, &error))?;
    let files = RunFiles {
        task_lock: lock_task(spec)?,
        journal: writer,
        hooks: hooks::recall(folder.path(), spec.settings.hooks, &hooks),
        warning: note,
    };
    let past = journal::read(&folder.journal()).map_err(|error| Failure::because(&error))?;
    let containment = locked_run.contain();
    introduce(spec, &agent, sandbox.as_deref());
    Ok(Some(PreparedRun {
        environments: Environments::of(spec, folder)?,
        locked_run,
        agent,
        containment,
        sandbox,
        files,
        machine,
        past: past.records,
        first: Input::Resume(resume_data),
    }))
}
