//! Which run is meant: an id, the unique beginning of one, a task's name, or nothing at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nightwright_core::event::Record;
use nightwright_core::root::{Root, RootSource as FoundBy};
use nightwright_core::run_report::UnreadableJournal;
use nightwright_core::run_view::{JournalBreak, RunView, shell_word};
use nightwright_core::units::RunId;
use rustix::fs::{Access, access};

use crate::app::approval;
use crate::app::locked_run::home;
use crate::error::Failure;
use crate::init::detect::has_manifest;
use crate::store::journal::{self, JournalError, RunDir};
use crate::store::lock::{self, LockOwner};
use crate::workspace::root;

/// The project and the run that a command is about.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct RunSelector {
    /// The run: its id, the beginning of it, or the name of its task [default: the one that is
    /// going on, else the last]
    #[arg(value_name = "RUN")]
    pub(super) run: Option<String>,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
}

/// A run that was found.
#[derive(Debug)]
pub(super) struct SelectedRun {
    pub(super) project: PathBuf,
    pub(super) folder: RunDir,
    /// Who conducts it, if it is going on.
    pub(super) owner: Option<LockOwner>,
}

impl RunSelector {
    /// Finds the run, which has to be there.
    pub(super) fn find(&self) -> Result<SelectedRun, Failure> {
        if let Some(found) = self.find_any()? {
            return Ok(found);
        }
        if let Some(reference) = &self.run {
            return Err(no_run(&format!("there is no run `{reference}`")));
        }
        let project = project(self.project.as_deref())?;
        Err(no_run(&format!("there is no run in `{}`", project.display())))
    }

    /// The one run of the project that is running.
    pub(super) fn find_running(&self) -> Result<SelectedRun, Failure> {
        let project = project(self.project.as_deref())?;
        let home = home(&project)?;
        let runs = RunDir::list(&home).map_err(|error| Failure::because(&error))?;
        let worked = |run: &RunId| !begin(&home, run).is_some_and(|view| view.is_only_the_gate());
        let live: Vec<_> = runs
            .into_iter()
            .filter(|run| lock::peek(&lock_of(&home, run)).is_some() && worked(run))
            .collect();
        match live.as_slice() {
            [run] => {
                let folder = RunDir::open(&home, run).map_err(|error| Failure::because(&error))?;
                let owner = lock::peek(&folder.lock());
                Ok(SelectedRun { project, folder, owner })
            }
            [] => Err(Failure::trouble(format!("no run is running in `{}`", project.display()))
                .hint("start one: nightwright run -p \"GOAL\" -m 10")),
            several => {
                let names: Vec<_> = several.iter().map(|run| run.0.as_str()).collect();
                let message = format!("several runs are running: {}", names.join(", "));
                Err(Failure::usage(message)
                    .hint(format!("name one: nightwright tell {} \"TEXT\"", several[0])))
            }
        }
    }

    /// Finds the run, if there is one.
    pub(super) fn find_any(&self) -> Result<Option<SelectedRun>, Failure> {
        let project = project(self.project.as_deref())?;
        let home = home(&project)?;
        let runs = RunDir::list(&home).map_err(|error| Failure::because(&error))?;
        let id = match &self.run {
            Some(reference) => named(reference, &runs, &home)?,
            None => unnamed(&runs, &home),
        };
        let Some(id) = id else { return Ok(None) };
        let folder = RunDir::open(&home, &id).map_err(|error| Failure::because(&error))?;
        let owner = lock::peek(&folder.lock());
        Ok(Some(SelectedRun { project, folder, owner }))
    }
}

impl SelectedRun {
    /// What the journal says so far.
    pub(super) fn view(&self) -> Result<RunView, Failure> {
        let journal = journal::read(&self.folder.journal()).map_err(|error| damaged(&error))?;
        Ok(RunView::of(&journal.records))
    }

    /// Goes through the journal as far as it can be read, and gives what can't be.
    pub(super) fn walk(&self, each: impl FnMut(Record)) -> Result<UnreadableJournal, Failure> {
        let (missing, from) = match journal::walk(&self.folder.journal(), each) {
            // Somebody who is just writing has not finished.
            Ok(Some(torn)) if self.owner.is_none() => {
                let length = torn.length;
                (format!("the last {length} bytes of the journal were not written whole"), None)
            }
            Ok(_) => return Ok(UnreadableJournal::default()),
            Err(error) => {
                let from = broken(&error).ok_or_else(|| damaged(&error))?;
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                let why = error.reason();
                (format!("{why}: that line and all after it are missing here{hint}"), Some(from))
            }
        };
        Ok(UnreadableJournal { missing: vec![missing], from })
    }
}

/// Where a journal can't be read any further, if there may be anything before it to tell.
fn broken(error: &JournalError) -> Option<JournalBreak> {
    match error {
        JournalError::Damaged { line, .. } => Some(JournalBreak::Damaged { line: *line }),
        JournalError::Newer { line, .. } | JournalError::UnknownEvent { line, .. } => {
            Some(JournalBreak::Newer { line: *line })
        }
        JournalError::File(_)
        | JournalError::OtherRun { .. }
        | JournalError::CutBack { .. }
        | JournalError::Failed(_)
        | JournalError::Stopped(_) => None,
    }
}

/// The project folder: the one that is named, else the one around the current folder.
pub(super) fn project(named: Option<&Path>) -> Result<PathBuf, Failure> {
    Ok(find_root(named)?.path)
}

/// The project folder of a command that works in it, and a line that says which one it is, if that
/// is not plain. The home folder and `/` have to be named, or confirmed at a terminal.
pub(super) fn work_project(named: Option<&Path>) -> Result<(PathBuf, Option<String>), Failure> {
    let root = find_root(named)?;
    if root.found == FoundBy::TooWide {
        confirm_wide(&root.path)?;
    }
    check_writable(&root.path)?;
    let line = project_line(&root);
    Ok((root.path, line))
}

/// An agent that cannot write to the project would only cost money.
pub(super) fn check_writable(project: &Path) -> Result<(), Failure> {
    access(project, Access::WRITE_OK).map_err(|error| {
        let (shown, why) = (project.display(), io::Error::from(error));
        Failure::usage(format!("cannot write to the project folder `{shown}`: {why}"))
    })
}

/// Says which project folder it is, if that is not plain.
pub(super) fn project_line(root: &Root) -> Option<String> {
    let Root { path, found } = root;
    let how = match found {
        FoundBy::Named | FoundBy::Current | FoundBy::TooWide => return None,
        FoundBy::Configured => "it has `.nightwright/`",
        FoundBy::Repository => "the root of the git repository",
    };
    let line = format!("Project: `{}` ({how})", path.display());
    Some(line).filter(|_| current().is_ok_and(|here| here != *path))
}

/// Nobody means the home folder or `/` by accident.
fn confirm_wide(path: &Path) -> Result<(), Failure> {
    if !approval::can_ask() {
        return Err(too_wide(path));
    }
    let (shown, what) = (path.display(), wide_name(path));
    let question = format!("`{shown}` is {what}. Use all of it as the project? [y/n] ");
    match approval::answer(&question)? {
        approval::ApprovalAnswer::Yes => Ok(()),
        approval::ApprovalAnswer::No | approval::ApprovalAnswer::Ignore => Err(too_wide(path)),
    }
}

/// The home folder or `/`, without anybody having named it.
pub(super) fn too_wide(path: &Path) -> Failure {
    let (shown, what) = (path.display(), wide_name(path));
    Failure::usage(format!("`{shown}` is {what}, and no project was named")).hint(format!(
        "change to the folder of the project, or name it: -C DIR (-C {} for {what} itself)",
        shell_words::quote(&path.to_string_lossy())
    ))
}

fn wide_name(path: &Path) -> &'static str {
    if path.parent().is_none() { "the root folder" } else { "your home folder" }
}

/// The folder that `init` sets up: a package of a larger repository has its own manifest, and is a
/// project of its own.
pub(super) fn new_project(named: Option<&Path>) -> Result<(PathBuf, Option<String>), Failure> {
    let current = current()?;
    let is_package = named.is_none() && !root::is_too_wide(&current) && has_manifest(&current);
    if is_package { Ok((current, None)) } else { work_project(named) }
}

pub(super) fn find_root(named: Option<&Path>) -> Result<Root, Failure> {
    if let Some(folder) = named {
        return Ok(Root { path: real_folder(folder)?, found: FoundBy::Named });
    }
    let current = current()?;
    Ok(root::find(&current).unwrap_or(Root { path: current, found: FoundBy::Current }))
}

fn current() -> Result<PathBuf, Failure> {
    real_folder(Path::new("."))
}

/// A folder without links in its path, which has to be there.
fn real_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let real = folder.canonicalize().map_err(|error| {
        Failure::usage(format!("cannot use the project folder `{}`: {error}", folder.display()))
    })?;
    if !real.is_dir() {
        let message = format!("the project `{}` is not a folder", real.display());
        return Err(Failure::usage(message));
    }
    Ok(real)
}

/// A journal that can't be used, with what to do about it.
pub(super) fn damaged(error: &JournalError) -> Failure {
    let failure = Failure::because(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn no_run(message: &str) -> Failure {
    Failure::trouble(message).hint(
        "name the project with -C, or start a run: nightwright run \"make the tests pass\" -m 10",
    )
}

/// The one that is going on, else the last that worked on something.
fn unnamed(runs: &[RunId], home: &Path) -> Option<RunId> {
    let live = |run: &&RunId| lock::peek(&lock_of(home, run)).is_some();
    let worked = |run: &&RunId| !begin(home, run).is_some_and(|view| view.is_only_the_gate());
    let last = || runs.iter().rfind(worked).or(runs.last());
    runs.iter().rfind(live).or_else(last).cloned()
}

/// An id goes before the name of a task, and that before the beginning of an id: a task may be
/// called like a year, and its service has no other name for it.
fn named(reference: &str, runs: &[RunId], home: &Path) -> Result<Option<RunId>, Failure> {
    if let Some(run) = runs.iter().find(|run| run.0 == reference) {
        return Ok(Some(run.clone()));
    }
    let is_for_task = |run: &&RunId| {
        begin(home, run).is_some_and(|view| {
            let task = view.facts.as_ref().and_then(|facts| facts.task.as_deref());
            // One that judges the work of a task is meant only while it does.
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
            return Err(Failure::usage(format!("`{reference}` can mean {}", names.join(" or ")))
                .hint("give more of it"));
        }
    }
    if let Some(project) = elsewhere(reference, home) {
        let message = format!("the run `{reference}` belongs to another project, `{project}`");
        let project = shell_word(&project);
        return Err(Failure::trouble(message).hint(format!("name the project: -C {project}")));
    }
    Ok(None)
}

fn lock_of(home: &Path, run: &RunId) -> PathBuf {
    home.join("runs").join(&run.0).join("lock")
}

/// What a run was told.
fn begin(home: &Path, run: &RunId) -> Option<RunView> {
    let folder = RunDir::open(home, run).ok()?;
    let first = journal::first(&folder.journal()).ok()?;
    Some(RunView::of(&first))
}

/// The project of a run that is not in this one.
fn elsewhere(reference: &str, home: &Path) -> Option<String> {
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
