//! Keeps the machine awake during a run.

use std::sync::Arc;

use nightwright_core::run_view::RunView;
use nightwright_core::settings::Scope;
use nightwright_core::units::RunId;

use super::agent_program::AgentProgram;
use super::run_spec::RunSpec;
use super::wire::ViewObserver;
use crate::runtime::keep_awake::SleepInhibitor;

/// Keeps the machine awake while the recorded events show that the run has something to do.
pub(super) fn observer(
    spec: &RunSpec,
    run: &RunId,
    warn: impl Fn(String) + Send + Sync + 'static,
) -> Option<ViewObserver> {
    let does_work = match spec.program {
        AgentProgram::Claude | AgentProgram::Command(_) => spec.settings.scope == Scope::Whole,
        AgentProgram::Rehearsal(_) => false,
    };
    if !(does_work && spec.keep_awake) {
        return None;
    }
    let warn = move |why| warn(format!("cannot keep the machine awake: {why}"));
    let mut inhibitor = SleepInhibitor::new(run.clone(), Arc::new(warn));
    Some(Box::new(move |view: &RunView| inhibitor.while_doing(&view.activity())))
}
