//! Selects a run by its id, a unique prefix of the id, the name of its task, or by default.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use nightwright_core::event::{Record, StopWhen};
use nightwright_core::outcome::{Outcome, count};
use nightwright_core::run_report::UnreadableJournal;
use nightwright_core::run_view::{JournalBreak, RunView, shell_word};
use nightwright_core::units::RunId;

use super::context::ProjectArgs;
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::process::{inside, process_table};
use crate::runtime::control_socket::{self, ControlRequest};
use crate::runtime::stop_file;
use crate::store::journal::{self, JournalError};
use crate::store::lock::{self, LockOwner};
use crate::store::run_dir::{self, RunDir};
use crate::store::seal;

/// The project and the run that a command is about.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(crate) struct RunSelector {
    /// Run ID, a prefix of one, or a task name [default: the active or last run]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// A run that was selected by the command line.
#[derive(Debug)]
pub(crate) struct SelectedRun {
    pub(crate) project: PathBuf,
    pub(crate) folder: RunDir,
    /// The process that executes the run, if it is active.
    pub(crate) owner: Option<LockOwner>,
}

impl RunSelector {
    /// Finds the run. Fails if there is none.
    pub(crate) fn find(&self) -> Result<SelectedRun, Failure> {
        if let Some(found) = self.find_any()? {
            return Ok(found);
        }
        if let Some(reference) = &self.run {
            let message = format!("there is no run `{reference}`");
            return Err(match self.find_all()?.as_slice() {
                [] => no_run(&message),
                _ => Failure::trouble(message)
                    .hint("run `nightwright status --all` to list the runs"),
            });
        }
        let project = self.project.find()?;
        Err(no_run(&format!("there is no run in `{}`", project.display())))
    }

    /// Finds the run to resume. A rehearsal has nothing to resume, so without a name the last real
    /// run that has not completed is preferred. Also returns the rehearsal that was passed over.
    pub(crate) fn find_resumable(&self) -> Result<(SelectedRun, Option<RunId>), Failure> {
        let found = self.find()?;
        let is_rehearsal = |run: &SelectedRun| {
            run.view().is_ok_and(|view| view.is_rehearsal() && !view.is_only_the_gate())
        };
        if self.run.is_some() || found.owner.is_some() || !is_rehearsal(&found) {
            return Ok((found, None));
        }
        let can_resume = |run: &SelectedRun| {
            run.view().is_ok_and(|view| {
                let completed = view
                    .finished
                    .as_ref()
                    .is_some_and(|finished| matches!(finished.outcome, Outcome::Completed { .. }));
                view.facts.is_some()
                    && !completed
                    && !view.is_rehearsal()
                    && !view.is_only_the_gate()
            })
        };
        match self.find_all()?.into_iter().find(can_resume) {
            Some(real) => Ok((real, Some(found.folder.id().clone()))),
            None => Ok((found, None)),
        }
    }

    /// Returns all runs of the project, the newest first.
    pub(crate) fn find_all(&self) -> Result<Vec<SelectedRun>, Failure> {
        let project = self.project.find()?;
        let home = run_dir::state_of(&project)?;
        let runs = RunDir::list(&home).map_err(|error| Failure::because(&error))?;
        let open = |run| SelectedRun::open(&project, &home, run);
        runs.iter().rev().map(open).collect()
    }

    /// Returns the only active run of the project.
    pub(crate) fn find_running(&self) -> Result<SelectedRun, Failure> {
        let project = self.project.find()?;
        let home = run_dir::state_of(&project)?;
        let runs = RunDir::list(&home).map_err(|error| Failure::because(&error))?;
        let worked = |run: &RunId| !begin(&home, run).is_some_and(|view| view.is_only_the_gate());
        let all = runs.clone();
        let live: Vec<_> = runs
            .into_iter()
            .filter(|run| lock::peek(&lock_of(&home, run)).is_some() && worked(run))
            .collect();
        match live.as_slice() {
            [run] => SelectedRun::open(&project, &home, run),
            [] => {
                let message = format!("no active run in `{}`", project.display());
                let failure = Failure::trouble(message);
                Err(match unnamed(&all, &home).filter(|run| is_cut_off(&home, run)) {
                    Some(run) => failure
                        .hint(format!("run `nightwright resume {run}` to continue the last one")),
                    None => failure.hint("run `nightwright run -p \"GOAL\" -m 10` to start one"),
                })
            }
            several => {
                let names: Vec<_> = several.iter().map(|run| run.0.as_str()).collect();
                let message = format!("several runs are active: {}", names.join(", "));
                Err(Failure::usage(message).hint(format!(
                    "name one, for example `nightwright tell {} \"TEXT\"`",
                    several[0]
                )))
            }
        }
    }

    /// Finds the run, if any.
    pub(crate) fn find_any(&self) -> Result<Option<SelectedRun>, Failure> {
        let project = self.project.find()?;
        let home = run_dir::state_of(&project)?;
        let runs = RunDir::list(&home).map_err(|error| Failure::because(&error))?;
        let id = match &self.run {
            Some(reference) => named(reference, &runs, &home)?,
            None => unnamed(&runs, &home),
        };
        id.map(|id| SelectedRun::open(&project, &home, &id)).transpose()
    }
}

impl SelectedRun {
    fn open(project: &Path, home: &Path, run: &RunId) -> Result<Self, Failure> {
        let folder = RunDir::open(home, run).map_err(|error| Failure::because(&error))?;
        let owner = owner_of(project, &folder);
        Ok(Self { project: project.to_owned(), folder, owner })
    }

    /// Sends a request to the process of the run. Fails if the run is not active.
    pub(crate) fn send(&self, view: &RunView, request: &ControlRequest) -> Result<(), Failure> {
        self.require_running(view)?;
        let run = self.folder.id();
        let process = executor(&self.project, &self.folder);
        control_socket::send(&self.folder.socket(), request, process).or_else(|error| {
            if let (ControlRequest::Stop { when: StopWhen::Now }, Some(process)) =
                (request, process)
                && self.interrupt(process)
            {
                eprint_safe(&format!(
                    "warning: cannot reach run {run} by its socket ({error}); sent SIGINT to its \
                     process {process}"
                ));
                return Ok(());
            }
            let task = view.facts.as_ref().and_then(|facts| facts.task.as_deref());
            let file = stop_file::path(&self.project, task);
            let file = shell_word(&file.to_string_lossy());
            Err(Failure::trouble(format!("cannot reach run {run}: {error}"))
                .hint(format!("run `touch {file}` to stop it after its iteration")))
        })
    }

    /// Sends SIGINT to the process of the run, and returns whether that worked. A later `resume
    /// --if-needed` leaves a run alone that a person stopped, but continues one after SIGTERM, which
    /// the system sends when it shuts down.
    fn interrupt(&self, process: i32) -> bool {
        let is_right = || executor(&self.project, &self.folder) == Some(process);
        process_table::interrupt(process, is_right)
    }

    pub(crate) fn require_running(&self, view: &RunView) -> Result<(), Failure> {
        if self.owner.is_some() {
            return Ok(());
        }
        let run = self.folder.id();
        Err(match &view.finished {
            Some(finished) => {
                Failure::trouble(format!("run {run} has ended: {}", finished.outcome))
                    .hint(format!("run `nightwright status {run}` to see what to do next"))
            }
            None => Failure::trouble(format!("run {run} crashed"))
                .hint(format!("run `nightwright resume {run}` to continue it")),
        })
    }

    /// Returns the state of the run according to its journal.
    pub(crate) fn view(&self) -> Result<RunView, Failure> {
        let journal = journal::read(&self.folder.journal()).map_err(|error| damaged(&error))?;
        Ok(RunView::of(&journal.records))
    }

    /// Visits the readable records of the journal, and returns the unreadable part.
    pub(crate) fn walk(&self, each: impl FnMut(Record)) -> Result<UnreadableJournal, Failure> {
        let (missing, from) = match journal::walk(&self.folder.journal(), each) {
            // While a process is writing, an incomplete line is normal.
            Ok(Some(torn)) if self.owner.is_none() => {
                let length = torn.length;
                (format!("the end of the journal is incomplete ({})", count(length, "byte")), None)
            }
            Ok(_) if self.owner.is_none() && seal::is_broken(&self.folder) => {
                let why = "another process changed the journal; its contents may be wrong";
                return Ok(UnreadableJournal { missing: vec![why.to_owned()], from: None });
            }
            Ok(_) => return Ok(UnreadableJournal::default()),
            Err(error) => {
                let from = broken(&error).ok_or_else(|| damaged(&error))?;
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                let why = error.reason();
                (format!("{why}: skipped this line and all later ones{hint}"), Some(from))
            }
        };
        Ok(UnreadableJournal { missing: vec![missing], from })
    }
}

/// Returns the process that executes the run, according to the kernel: the text of a lock file can be
/// written by any process of the user. Without the lock file, the lock of the project shows it.
fn executor(project: &Path, folder: &RunDir) -> Option<i32> {
    let path = folder.lock();
    let has_lock = |pid: &i32| {
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        inside::has_open(*pid, &path)
    };
    let others = [folder.project_folder().join("project.lock"), project.to_owned()];
    let of_project = || others.iter().filter_map(|path| lock::holder(path)).find(has_lock);
    lock::holder(&path).or_else(of_project)
}

/// Returns the owner of the run's lock. A lock file that was emptied or removed does not hide it.
fn owner_of(project: &Path, folder: &RunDir) -> Option<LockOwner> {
    lock::peek(&folder.lock()).or_else(|| {
        let pid = u32::try_from(executor(project, folder)?).ok()?;
        let (run, since) = (folder.id().clone(), Timestamp::now());
        Some(LockOwner { pid, started: None, run, since })
    })
}

/// Returns the position of the damage, if there may be readable records before it.
fn broken(error: &JournalError) -> Option<JournalBreak> {
    match error {
        JournalError::Damaged { line, .. } => Some(JournalBreak::Damaged { line: *line }),
        JournalError::Newer { line, .. } | JournalError::UnknownEvent { line, .. } => {
            Some(JournalBreak::Newer { line: *line })
        }
        JournalError::File(_)
        | JournalError::OtherRun { .. }
        | JournalError::CutBack { .. }
        | JournalError::Changed { .. }
        | JournalError::Failed(_)
        | JournalError::Stopped(_) => None,
    }
}

/// Returns the error for an unusable journal, with a hint.
pub(crate) fn damaged(error: &JournalError) -> Failure {
    let failure = Failure::because(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn no_run(message: &str) -> Failure {
    Failure::trouble(message).hint(
        "name the project with -C, or run `nightwright run \"make the tests pass\" -m 10` to start a run",
    )
}

/// Returns the active run, else the last one that worked on something.
fn unnamed(runs: &[RunId], home: &Path) -> Option<RunId> {
    let live = |run: &&RunId| lock::peek(&lock_of(home, run)).is_some();
    let worked = |run: &&RunId| !begin(home, run).is_some_and(|view| view.is_only_the_gate());
    let last = || runs.iter().rfind(worked).or(runs.last());
    runs.iter().rfind(live).or_else(last).cloned()
}

/// Finds a run by name. A full id has priority over a task name, and a task name over a prefix of
/// an id. A task name may look like a year, and a service has only the task name.
fn named(reference: &str, runs: &[RunId], home: &Path) -> Result<Option<RunId>, Failure> {
    if let Some(run) = runs.iter().find(|run| run.0 == reference) {
        return Ok(Some(run.clone()));
    }
    let is_for_task = |run: &&RunId| {
        begin(home, run).is_some_and(|view| {
            let task = view.facts.as_ref().and_then(|facts| facts.task.as_deref());
            // A verification of the task's work matches only while it is active.
            let judges = view.is_only_the_gate() && lock::peek(&lock_of(home, run)).is_none();
            task == Some(reference) && !judges
        })
    };
    if let Some(run) = runs.iter().rfind(is_for_task) {
        return Ok(Some(run.clone()));
    }
    let begins = |run: &&RunId| !reference.is_empty() && run.0.starts_with(reference);
    let matching: Vec<_> = runs.iter().filter(begins).collect();
    match matching.as_slice() {
        [] => {}
        [run] => return Ok(Some((*run).clone())),
        several => {
            let names: Vec<_> = several.iter().map(|run| run.0.as_str()).collect();
            return Err(Failure::usage(format!(
                "`{reference}` is ambiguous: it matches {}",
                names.join(", ")
            ))
            .hint("enter a longer prefix"));
        }
    }
    if let Some(project) = elsewhere(reference, home) {
        let message = format!("the run `{reference}` belongs to another project, `{project}`");
        let project = shell_word(&project);
        return Err(Failure::trouble(message).hint(format!("add -C {project} to name the project")));
    }
    Ok(None)
}

fn lock_of(home: &Path, run: &RunId) -> PathBuf {
    home.join("runs").join(&run.0).join("lock")
}

/// Whether a run without a process has begun and not ended.
fn is_cut_off(home: &Path, run: &RunId) -> bool {
    let read = RunDir::open(home, run).ok().and_then(|run| journal::read(&run.journal()).ok());
    read.is_some_and(|journal| {
        let view = RunView::of(&journal.records);
        view.facts.is_some() && view.finished.is_none()
    })
}

/// Returns the start of a run, with its settings.
fn begin(home: &Path, run: &RunId) -> Option<RunView> {
    let folder = RunDir::open(home, run).ok()?;
    let first = journal::first(&folder.journal()).ok()?;
    Some(RunView::of(&first))
}

/// Returns another project that has this run.
fn elsewhere(reference: &str, home: &Path) -> Option<String> {
    if reference.is_empty() {
        return None;
    }
    for other in fs::read_dir(home.parent()?).ok()?.flatten() {
        let other = other.path();
        if other == home {
            continue;
        }
        let runs = RunDir::list(&other).unwrap_or_default();
        if let Some(run) = runs.iter().find(|run| run.0.starts_with(reference)) {
            let folder = RunDir::open(&other, run).ok()?;
            let first = journal::first(&folder.journal()).ok()?;
            return RunView::of(&first).facts.map(|facts| facts.project);
        }
    }
    None
}
