//! What a run listens to besides its agent: signals, the control socket, the stop file and the status
//! file.

use nightwright_core::input::Control;
use nightwright_core::settings::{Scope, Settings};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::execute::{LockedRun, STOP_FILE, Session};
use crate::runtime::control_socket::ControlServer;
use crate::runtime::evidence_files;
use crate::runtime::signals::Signals;
use crate::runtime::status_watch::{StatusWatch, WatchMethod};
use crate::runtime::stop_file;
use crate::runtime::supervisor::WarningSender;
use crate::task;

impl Session {
    /// Everything through which the operator speaks: signals, the control socket, the stop file.
    /// A run that can't be spoken to in one of these ways goes on, and says so.
    pub(super) fn start_control_inputs(
        &self,
        locked_run: &LockedRun,
        signals: Signals,
        operator: &mpsc::Sender<Control>,
        notes: &WarningSender,
    ) -> Vec<JoinHandle<()>> {
        let mut listeners =
            vec![tokio::spawn(self.with_hangup_policy(signals).forward(operator.clone()))];
        let server = ControlServer::open(locked_run.folder.id()).and_then(|server| {
            locked_run.announce(server.path())?;
            Ok(server)
        });
        match server {
            Ok(server) => listeners.push(tokio::spawn(server.serve(operator.clone()))),
            Err(error) => notes.warn(format!(
                "`nightwright stop`, `pause` and `tell` can't reach this run: {error}"
            )),
        }
        let stop = match &self.task {
            Some(task) => task.path(task::STOP),
            None => self.project.join(STOP_FILE),
        };
        match stop_file::clear(&stop) {
            Ok(()) => listeners.push(tokio::spawn(stop_file::watch(stop, operator.clone()))),
            Err(error) => {
                notes.warn(format!("the stop file `{}` is not watched: {error}", stop.display()));
            }
        }
        listeners.extend(self.watch_status(locked_run, notes));
        listeners
    }

    /// Tells changes of the status file while the agent works, where there is one and somebody
    /// wants to know.
    fn watch_status(
        &self,
        locked_run: &LockedRun,
        notes: &WarningSender,
    ) -> Option<JoinHandle<()>> {
        let Settings { files, completion, status_watch, scope, .. } = &self.settings;
        if !status_watch.enabled || *scope == Scope::Gate {
            return None;
        }
        let files = evidence_files::EvidenceFiles::new(&self.project, files, &completion.evidence)
            .in_run(locked_run.folder.path());
        let watch = StatusWatch::new(files, status_watch.debounce, WatchMethod::Notify)?;
        let notes = notes.clone();
        Some(tokio::spawn(watch.watch(move |report| notes.status(report))))
    }
}
