//! The inputs of a run from outside: signals, the control socket, the stop file and the status
//! file.

use nightwright_core::input::Control;
use nightwright_core::settings::{Scope, Settings};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::locked_run::LockedRun;
use super::run_spec::RunSpec;
use crate::runtime::control_socket::ControlServer;
use crate::runtime::evidence_files::EvidenceFiles;
use crate::runtime::status_watch::{StatusWatcher, WatchMethod};
use crate::runtime::stop_file;
use crate::runtime::supervisor::SideInputs;
use crate::signals::Signals;

/// Starts to listen. If one of these inputs is unavailable, the run warns and continues.
pub(super) fn start(
    spec: &RunSpec,
    locked_run: &LockedRun,
    signals: Signals,
    operator: &mpsc::Sender<Control>,
    side_inputs: &SideInputs,
) -> Vec<JoinHandle<()>> {
    let signals = spec.with_hangup_policy(signals);
    let mut listeners = vec![tokio::spawn(signals.forward(operator.clone()))];
    match ControlServer::open(locked_run.folder.socket()) {
        Ok(server) => {
            let warnings = side_inputs.clone();
            let serving = server.serve(operator.clone(), move |text| warnings.warn(text));
            listeners.push(tokio::spawn(serving));
        }
        Err(error) => side_inputs
            .warn(format!("`nightwright stop`, `pause` and `tell` cannot reach this run: {error}")),
    }
    let stop = stop_file::path(&spec.project, spec.task.as_ref().map(|task| task.name().as_str()));
    match stop_file::clear(&stop) {
        Ok(()) => listeners.push(tokio::spawn(stop_file::watch(stop, operator.clone()))),
        Err(error) => {
            side_inputs.warn(format!("cannot watch the stop file `{}`: {error}", stop.display()));
        }
    }
    listeners.extend(watch_status(spec, locked_run, side_inputs));
    listeners
}

/// Reports changes of the status file, if there is one, while the agent works.
fn watch_status(
    spec: &RunSpec,
    locked_run: &LockedRun,
    side_inputs: &SideInputs,
) -> Option<JoinHandle<()>> {
    let Settings { files, completion, status_watch, scope, .. } = &spec.settings;
    if !status_watch.enabled || *scope == Scope::Gate {
        return None;
    }
    let files =
        EvidenceFiles::new(&spec.project, files, &completion.evidence, spec.secrets.clone())
            .in_run(locked_run.folder.path());
    let watch = StatusWatcher::new(files, status_watch.debounce, WatchMethod::Notify)?;
    let side_inputs = side_inputs.clone();
    Some(tokio::spawn(watch.watch(move |report| side_inputs.status_read(report))))
}
