//! `--detach`: the run leaves its terminal once it has started.
//!
//! The process that the user starts only spawns a second one, waits for its report and prints it
//! (`parent`). The second process executes the run.

mod parent;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use nightwright_core::run_view::RunView;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};

pub(crate) use self::parent::detach;
use super::stderr_writer::StderrWriter;
use super::wire::ViewObserver;
use crate::config::OutputLevel;
use crate::console::{print, print_json};
use crate::error::Failure;
use crate::files;
use crate::process::DetachPipe;
use crate::store::run_dir::RunDir;

/// The file that receives standard error after the run has left the terminal.
const STDERR_FILE: &str = "detached.err";

/// Whether the run continues without this terminal.
#[derive(Clone, Debug, Args)]
pub(crate) struct DetachArgs {
    /// Run in the background: print the run ID, and exit
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    detach: bool,

    /// File descriptor for the result of the start
    #[arg(long, value_name = "FD", hide = true, hide_short_help = true, require_equals = true)]
    detach_fd: Option<i32>,
}

impl DetachArgs {
    /// Whether to execute the run in another process.
    pub(crate) fn is_wanted(&self) -> bool {
        self.detach && self.detach_fd.is_none()
    }

    /// Returns the pipe to the process that waits at the terminal, if this is the second process.
    /// Must be called first: from then on, this process exits if the waiting one does.
    pub(crate) fn pipe(&self) -> Result<Option<Arc<DetachPipe>>, Failure> {
        let open = |number| {
            DetachPipe::open(number).map(Arc::new).map_err(|error| {
                Failure::trouble(format!("cannot reach the process that started this run: {error}"))
                    .hint("--detach-fd is internal; use --detach")
            })
        };
        self.detach_fd.map(open).transpose()
    }
}

/// The terminal that a run leaves, and how it reports until then.
#[derive(Clone, Debug)]
pub(crate) struct DetachTarget {
    pub(super) pipe: Arc<DetachPipe>,
    /// The output level until the run leaves the terminal.
    pub(super) level: OutputLevel,
}

impl DetachTarget {
    /// Returns the terminal to leave, if any, and the output level of the run. A detached run has
    /// no reader.
    pub(crate) fn choose(
        pipe: Option<Arc<DetachPipe>>,
        level: OutputLevel,
    ) -> (Option<Self>, OutputLevel) {
        match pipe {
            Some(pipe) => (Some(Self { pipe, level }), OutputLevel::Quiet),
            None => (None, level),
        }
    }
}

/// The report that the waiting process prints.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DetachReport {
    pub(super) run: String,
    pub(super) pid: u32,
    pub(super) project: PathBuf,
    pub(super) run_folder: PathBuf,
    pub(super) tone: DetachFormat,
}

/// The format in which the waiting process prints the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DetachFormat {
    /// The id, and on standard error the commands for following the run.
    People,
    /// Only the id of the run.
    Quiet,
    Json,
}

impl From<OutputLevel> for DetachFormat {
    fn from(level: OutputLevel) -> Self {
        match level {
            OutputLevel::Quiet => Self::Quiet,
            OutputLevel::Progress | OutputLevel::Verbose => Self::People,
            OutputLevel::Json | OutputLevel::JsonMessages => Self::Json,
        }
    }
}

impl DetachReport {
    /// Creates the report of this process.
    pub(super) fn new(target: &DetachTarget, project: &Path, folder: &RunDir) -> Self {
        Self {
            run: folder.id().0.clone(),
            pid: std::process::id(),
            project: project.to_owned(),
            run_folder: folder.path().to_owned(),
            tone: DetachFormat::from(target.level),
        }
    }

    /// Prints the machine-readable part on standard output.
    pub(super) fn print(&self) -> Result<(), Failure> {
        let Self { run, pid, project, run_folder, tone } = self;
        match tone {
            DetachFormat::Json => print_json(&serde_json::json!({
                "run": run,
                "pid": pid,
                "project": project,
                "run_folder": run_folder,
            })),
            DetachFormat::Quiet | DetachFormat::People => print(run),
        }
    }
}

/// Leaves the terminal as soon as the run has started.
pub(super) struct DetachTask {
    pipe: Arc<DetachPipe>,
    report: DetachReport,
    stderr: Arc<StderrWriter>,
    /// Notified when the first event is on disk and the checks have not refused the run.
    started: Arc<Notify>,
}

impl DetachTask {
    pub(super) fn new(
        target: &DetachTarget,
        report: DetachReport,
        stderr: Arc<StderrWriter>,
    ) -> Self {
        Self { pipe: Arc::clone(&target.pipe), report, stderr, started: Arc::default() }
    }

    /// Returns an observer that detects the start of the run in the recorded events. A run that its
    /// checks refuse reports that before it leaves the terminal.
    pub(super) fn observer(&self) -> ViewObserver {
        let started = Arc::clone(&self.started);
        Box::new(move |view: &RunView| {
            if view.running_checks().is_empty() && view.finished.is_none() {
                started.notify_one();
            }
        })
    }

    /// Leaves the terminal once the run has started. If the report cannot be delivered, the run
    /// stops at once, because the user would not know about it.
    pub(super) async fn detach(self, operator: mpsc::Sender<Control>) {
        self.started.notified().await;
        // A full disk is reported elsewhere.
        let stderr = files::append_regular(&self.report.run_folder.join(STDERR_FILE)).ok();
        let report = serde_json::to_vec(&self.report).map_err(std::io::Error::from);
        let detached = report.and_then(|report| self.pipe.detach(&report, stderr.as_ref()));
        if let Err(error) = detached {
            self.stderr.write_line(&format!("error: cannot detach from the terminal: {error}"));
            let stop = Control::Stop { when: StopWhen::Now, by: StopSource::Signal };
            // A closed queue means that the run has ended.
            let _ = operator.send(stop).await;
        }
    }
}
