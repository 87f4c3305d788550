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
use crate::runtime::signals::Signals;
use crate::runtime::status_watch::{StatusWatch, WatchMethod};
use crate::runtime::stop_file;
use crate::runtime::supervisor::WarningSender;
use crate::task;

/// The file that stops a run without a task.
const STOP_FILE: &str = ".nightwright/.stop";

/// Starts to listen. If one of these inputs is unavailable, the run warns and continues.
pub(super) fn start(
    spec: &RunSpec,
    locked_run: &LockedRun,
    signals: Signals,
    operator: &mpsc::Sender<Control>,
    warnings: &WarningSender,
) -> Vec<JoinHandle<()>> {
    let signals = spec.with_hangup_policy(signals);
    let mut listeners = vec![tokio::spawn(signals.forward(operator.clone()))];
    let server = ControlServer::open(locked_run.folder.id()).and_then(|server| {
        locked_run.announce(server.path())?;
        Ok(server)
    });
    match server {
        Ok(server) => listeners.push(tokio::spawn(server.serve(operator.clone()))),
        Err(error) => warnings
            .warn(format!("`nightwright stop`, `pause` and `tell` cannot reach this run: {error}")),
    }
    let stop = match &spec.task {
        Some(task) => task.path(task::STOP),
        None => spec.project.join(STOP_FILE),
    };
    match stop_file::clear(&stop) {
        Ok(()) => listeners.push(tokio::spawn(stop_file::watch(stop, operator.clone()))),
        Err(error) => {
            warnings.warn(format!("the stop file `{}` is not watched: {error}", stop.display()));
        }
    }
    listeners.extend(watch_status(spec, locked_run, warnings));
    listeners
}

/// Reports changes of the status file, if there is one, while the agent works.
fn watch_status(
    spec: &RunSpec,
    locked_run: &LockedRun,
    warnings: &WarningSender,
) -> Option<JoinHandle<()>> {
    let Settings { files, completion, status_watch, scope, .. } = &spec.settings;
    if !status_watch.enabled || *scope == Scope::Gate {
        return None;
    }
    let files = EvidenceFiles::new(&spec.project, files, &completion.evidence)
        .in_run(locked_run.folder.path());
    let watch = StatusWatch::new(files, status_watch.debounce, WatchMethod::Notify)?;
    let warnings = warnings.clone();
    Some(tokio::spawn(watch.watch(move |report| warnings.status(report))))
}
