//! The status of a task, combined from its files, the journals and the locks. All commands about
//! tasks show it.

use std::env;

use nightwright_core::units::RunId;

use super::runs::ProjectRuns;
use super::state::{ReadState, TaskState, TaskStatus};
use super::{INSTRUCTIONS, Task};
use crate::config::modes;
use crate::config::{self, ResolvedConfig};
use crate::error::Failure;

/// The status of a task and its run.
#[derive(Clone, Debug)]
pub struct TaskOverview {
    pub status: TaskStatus,
    /// The mode that a run would have; `None` if the configuration cannot be read.
    pub mode: Option<String>,
    /// The recorded state of the task.
    pub state: TaskState,
    /// The active run, if any.
    pub live: Option<RunId>,
    /// The size of its instructions, if it has any.
    pub instructions: Option<u64>,
    /// A warning for the user, if any.
    pub warning: Option<String>,
}

impl TaskOverview {
    /// Determines the current status of a task.
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
            // The run crashed.
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

/// An unreadable configuration is not an error of the task.
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
