//! Observes the project: its current state, and the state at the start of the iteration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nightwright_core::input::{Changes, WorkspaceMark};
use nightwright_core::machine::ledger::State;
use nightwright_core::policy::outputs::{self, TouchedFiles};
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Settings;
use nightwright_core::tamper::{FileDiff, FileSide};
use nightwright_core::units::Iteration;

use crate::runtime::evidence_files::{EvidenceFiles, EvidenceSnapshot};
use crate::task;
use crate::workspace::console_files::ConsoleFiles;
use crate::workspace::{self, Snapshot, StartTree, Workspace};

/// The name of nightwright's folder in a project.
const NIGHTWRIGHT: &str = ".nightwright";

/// Inspects the project and remembers its state at the start of the iteration.
#[derive(Debug)]
pub(super) struct WorkspaceObserver {
    pub(super) workspace: Workspace,
    evidence: EvidenceFiles,
    console: ConsoleFiles,
    /// The run folder, which contains the start tree.
    folder: PathBuf,
    /// Warnings that could not be reported yet.
    pub(super) warnings: Vec<String>,
    /// The warnings of an iteration, which is inspected again after a review.
    warned: (Iteration, BTreeSet<String>),
    /// The state at the start of the iteration; `None` if this process did not see it.
    pub(super) start: Option<Snapshot>,
    /// The last state; `None` before the first observation.
    pub(super) now: Option<Snapshot>,
    /// The last state that was compared with the start of the run, with the result.
    compared: Option<(Snapshot, Changes)>,
}

/// The facts about the project in the journal.
#[derive(Clone, Debug)]
pub(super) struct JournaledWorkspace {
    origin: Option<WorkspaceMark>,
    outputs: BTreeSet<String>,
}

impl JournaledWorkspace {
    pub(super) fn of(state: &State) -> Self {
        Self { origin: state.origin.clone(), outputs: state.outputs.clone() }
    }
}

impl WorkspaceObserver {
    /// Creates an observer that has not inspected the project yet. Changes count from the start of
    /// this run, or from an earlier one. Secrets are masked in the agent's files.
    pub(super) fn new(
        project: &Path,
        folder: &Path,
        settings: &Settings,
        secrets: Secrets,
        since: Option<StartTree>,
    ) -> Self {
        let mut workspace = workspace(project, settings).in_run(folder);
        if let Some(start_tree) = since.or_else(|| StartTree::of(folder)) {
            workspace = workspace.since(start_tree);
        }
        Self {
            workspace,
            evidence: evidence(project, settings, secrets).in_run(folder),
            console: ConsoleFiles::new(project, folder),
            folder: folder.to_owned(),
            warnings: Vec::new(),
            warned: (Iteration(0), BTreeSet::new()),
            start: None,
            now: None,
            compared: None,
        }
    }

    /// Observes the project after the checks, and returns the files that they changed.
    pub(super) fn observe_after_checks(
        &mut self,
        before: Option<&Snapshot>,
    ) -> (WorkspaceMark, EvidenceSnapshot, TouchedFiles) {
        let (now, mark, evidence) = self.observe();
        let touched = before.map(|before| now.touched_since(before)).unwrap_or_default();
        let files_in = |folder: &str, enough| self.workspace.files_in(folder, enough);
        let touches = outputs::sort(&touched, files_in);
        if touches.outputs.is_empty() {
            return (mark, evidence, touches);
        }
        self.workspace.add_outputs(&touches.outputs);
        let (_, mark, evidence) = self.observe();
        (mark, evidence, touches)
    }

    /// Observes the current state of the project.
    pub(super) fn observe(&mut self) -> (Snapshot, WorkspaceMark, EvidenceSnapshot) {
        for file in self.console.files() {
            self.workspace.leave_out(file);
        }
        let now = self.workspace.snapshot();
        self.now = Some(now.clone());
        self.warnings.extend(self.workspace.take_warnings());
        let evidence = self.evidence.read();
        let mark = WorkspaceMark {
            fingerprint: now.fingerprint(),
            head: now.head().map(str::to_owned),
            head_tree: now.head_tree().map(str::to_owned),
            status: evidence.identity.clone(),
        };
        (now, mark, evidence)
    }

    /// Returns the changes since the start of the run, without harmless files that checks wrote.
    pub(super) fn changes(&mut self, now: &Snapshot, commands: &[String]) -> Vec<FileDiff> {
        let changes = self.workspace.changes(now);
        self.without_outputs(changes, commands)
    }

    fn without_outputs(&self, mut changes: Vec<FileDiff>, commands: &[String]) -> Vec<FileDiff> {
        changes.retain(|FileDiff { path, before, .. }| {
            *before != FileSide::Absent
                || !self.workspace.is_loose_output(path)
                || outputs::may_be_executed(path, commands)
        });
        changes
    }

    /// Returns statistics of the changes. An unchanged project is not compared again.
    pub(super) fn figures(&mut self, now: &Snapshot, commands: &[String]) -> Changes {
        if let Some((seen, figures)) = &self.compared
            && seen == now
        {
            return figures.clone();
        }
        let changes = self.workspace.changes_by_memory(now);
        let figures = workspace::figures(&self.without_outputs(changes, commands));
        self.compared = Some((now.clone(), figures.clone()));
        figures
    }

    /// Removes the warnings that were already reported for this iteration.
    pub(super) fn retain_new_warnings(&mut self, iteration: Iteration, warnings: &mut Vec<String>) {
        if self.warned.0 != iteration {
            self.warned = (iteration, BTreeSet::new());
        }
        warnings.retain(|warning| self.warned.1.insert(warning.clone()));
    }

    /// Restores facts from the journal: the start of the run, if there is no start tree, and the
    /// files that checks wrote.
    pub(super) fn restore(&mut self, JournaledWorkspace { origin, outputs }: &JournaledWorkspace) {
        self.workspace.add_outputs(outputs);
        let origin = origin.as_ref();
        if let (Some(origin), None, false) = (origin, &self.now, self.workspace.has_start_tree()) {
            self.workspace.compare_with(StartTree::of_mark(origin));
        }
    }

    /// Saves the state of the project at the start of the run, once.
    pub(super) fn save_start_tree(&mut self, now: &Snapshot) {
        if self.workspace.has_start_tree() {
            return;
        }
        if let Err(error) = self.workspace.save_start_tree(now, &self.folder) {
            let text = "cannot save the uncommitted files at the start of the run";
            self.warnings.push(format!("{text}, so nightwright does not compare them: {error}"));
        }
    }
}

/// Returns the files in which the agent reports its progress.
fn evidence(project: &Path, settings: &Settings, secrets: Secrets) -> EvidenceFiles {
    EvidenceFiles::new(project, &settings.files, &settings.completion.evidence, secrets)
}

/// Returns the workspace of the project. The notes do not count as work; the agent's files in the
/// folder of its task do.
fn workspace(project: &Path, settings: &Settings) -> Workspace {
    let notes = settings.notes_file.iter().map(PathBuf::from).collect();
    let reports = settings.files.task.iter().map(|task| Path::new(task).join(task::REPORTS));
    let list = settings.files.list.iter().map(PathBuf::from);
    let ours = reports.chain(list).filter(|path| path.starts_with(NIGHTWRIGHT)).collect();
    Workspace::new(project, notes).counting(ours)
}
