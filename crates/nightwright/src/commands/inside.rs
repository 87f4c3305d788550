//! Refuses commands that an agent must not use on its own run: it would approve its own settings, or
//! speak as the operator.

use std::env;

use super::Command;
use crate::error::Failure;
use crate::process::inside::{self, Membership};
use crate::store::run_dir;

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    /// It approves or changes settings.
    Approval,
    /// It controls a run.
    Steering,
}

impl Reserved {
    fn sentence(self) -> &'static str {
        match self {
            Self::Approval => "cannot approve or change settings",
            Self::Steering => "cannot control a run",
        }
    }
}

/// Fails if the agent of a run, or a program of that run, started a command that is reserved for
/// the operator.
pub(super) fn refuse(command: &Command) -> Result<(), Failure> {
    let Some(reserved) = command.reserved() else { return Ok(()) };
    // Without a state folder there is no run that it could belong to.
    let Ok(state) = run_dir::state_root(env::var_os) else { return Ok(()) };
    let who = match inside::membership(&state) {
        None => return Ok(()),
        Some(Membership::Run(run)) => format!("run {run}"),
        Some(Membership::Task) => "the agent of a task".to_owned(),
    };
    Err(Failure::trouble(format!("{}: {who} started this command", reserved.sentence()))
        .hint("run the command in another terminal"))
}
