//! How a task stands: what its files, the journals and the locks say together. Every screen about
//! tasks shows this.

use std::env;

use nightwright_core::units::RunId;

use super::runs::ProjectRuns;
use super::state::{ReadState, TaskState, TaskStatus};
use super::{INSTRUCTIONS, Task};
use crate::config::modes;
use crate::config::{self, ResolvedConfig};
use crate::error::Failure;

/// How a task stands.
#[derive(Clone, Debug)]
pub struct TaskOverview {
    /// How it stands.
    pub status: TaskStatus,
    /// The mode that a run would have; `None` if the configuration can't be read.
    pub mode: Option<String>,
    /// What is remembered of it.
    pub state: TaskState,
    /// The run that is going on.
    pub live: Option<RunId>,
    /// How large its instructions are, if it has any.
    pub instructions: Option<u64>,
    /// What people should know.
    pub warning: Option<String>,
}

impl TaskOverview {
    /// How a task stands now.
    pub fn of(task: &Task, runs: &ProjectRuns) -> Result<Self, Failure> {
        let mode = mode(task)?;
        let instructions = match task.instructions()? {
            Some(_) => task.size(INSTRUCTIONS)?,
            None => None,
        };
        let ReadState { state, warning, damage, .. } = TaskState::read(task, runs)?;
        let warnings: Vec<_> = warning.into_iter().chain(damage).collect();
        let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
        let live = runs.live(task.name()).map(|owner| owner.run.clone());
        let status = match (state.state, &live) {
            (_, Some(_)) => TaskStatus::Running,
            // Whoever conducted it is gone.
            (TaskStatus::Running, None) => TaskStatus::Interrupted,
            (TaskStatus::New | TaskStatus::Ready, None) => match instructions {
                Some(_) => TaskStatus::Ready,
                None => TaskStatus::New,
            },
            (
                ended @ (TaskStatus::Completed
                | TaskStatus::Stopped
                | TaskStatus::Interrupted
                | TaskStatus::Limit
                | TaskStatus::Stagnated
                | TaskStatus::Blocked
                | TaskStatus::Unverified
                | TaskStatus::Error),
                None,
            ) => ended,
        };
        Ok(Self { status, mode, state, live, instructions, warning })
    }
}

/// A configuration that can't be read is no fault of the task.
fn mode(task: &Task) -> Result<Option<String>, Failure> {
    let own = task.mode()?;
    let name = task.name().as_str();
    Ok(match config::load(task.project(), Some(name), |name| env::var_os(name)) {
        Ok(layers) => {
            let resolved = ResolvedConfig::new(layers);
            Some(resolved.get_text("mode").unwrap_or(modes::OF_TASKS).to_owned())
        }
        Err(_) => own,
    })
}
