//! Keeps the machine awake during a run.

use std::cell::RefCell;
use std::rc::Rc;

use nightwright_core::run_view::RunView;
use nightwright_core::settings::Scope;
use nightwright_core::units::RunId;

use super::agent_program::AgentProgram;
use super::run_spec::RunSpec;
use crate::runtime::keep_awake::SleepInhibitor;
use crate::runtime::supervisor::RecordObserver;

/// Keeps the machine awake while the recorded events show that the run has something to do.
pub(super) fn observer(
    spec: &RunSpec,
    run: &RunId,
    view: Rc<RefCell<RunView>>,
    warn: impl Fn(String) + Send + 'static,
) -> Option<RecordObserver> {
    let does_work = match spec.program {
        AgentProgram::Claude | AgentProgram::Command(_) => spec.settings.scope == Scope::Whole,
        AgentProgram::Rehearsal(_) => false,
    };
    if !(does_work && spec.keep_awake) {
        return None;
    }
    let warn = move |why| warn(format!("This machine may fall asleep during the run: {why}"));
    let mut inhibitor = SleepInhibitor::new(run.clone(), Box::new(warn));
    Some(Box::new(move |_| inhibitor.while_doing(&view.borrow().activity())))
}
