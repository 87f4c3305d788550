//! The recorded state of a task between its runs, in `.state.json`: its status, and the number of
//! its iterations.
//!
//! The journals of the runs are authoritative, and this file is a cache. A run that was not
//! recorded, because its process was killed, is found in the journals on the next read. A lost or
//! invalid file is rebuilt from the journals. Only setup sessions are in no journal.

use std::collections::BTreeMap;
use std::fs;

use jiff::Timestamp;
use nightwright_core::input::TaskProgress;
use nightwright_core::outcome::{Outcome, OutcomeClass, Proof};
use nightwright_core::run_view::RunView;
use nightwright_core::units::{RunId, Usd};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::runs::ProjectRuns;
use super::{STATE, Task};
use crate::error::Failure;
use crate::name::TaskName;

/// Maximum bytes of the file that are read; it is usually much smaller.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The name under which an invalid file is kept.
pub const BROKEN: &str = ".state.json.broken";

/// Maximum number of runs that are recorded individually. If an older one is resumed, its
/// iterations are counted again.
const MAX_RUNS: usize = 100;

/// The recorded state of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskState {
    #[serde(default)]
    pub state: TaskStatus,
    #[serde(default)]
    pub iterations: IterationCounts,
    /// The run that was executed last.
    #[serde(default)]
    pub last_run: Option<LastRun>,
    /// The iterations of each run, so that a resumed run is not counted twice.
    #[serde(default)]
    pub runs: BTreeMap<RunId, u32>,
    /// The newest run when the task was created or reset: it and earlier runs do not count.
    #[serde(default)]
    pub since_run: Option<RunId>,
}

/// The status of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// The task has no instructions yet.
    #[default]
    New,
    /// The task has instructions, and no run has started.
    Ready,
    /// A run is active.
    Running,
    /// The work is complete.
    Completed,
    /// You stopped the run after an iteration.
    Stopped,
    /// The last run was interrupted, or it crashed.
    Interrupted,
    /// A limit was reached.
    Limit,
    /// The last run made no more progress.
    Stagnated,
    /// Something is needed that only a person can provide.
    Blocked,
    /// Completion was claimed, but not verified.
    Unverified,
    /// The last run failed with an error.
    Error,
}

/// The number of iterations of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationCounts {
    pub total: u32,
    /// Sessions in which the instructions were written or changed.
    pub setup: u32,
    /// Iterations of all runs.
    pub execution: u32,
}

/// The recorded facts about the last run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastRun {
    pub id: RunId,
    /// The name of its outcome; `None` if it has not ended.
    #[serde(default)]
    pub outcome: Option<String>,
    /// The proof of its completion, if it is complete.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// The outcome as a sentence.
    #[serde(default)]
    pub sentence: Option<String>,
    #[serde(default)]
    pub iterations: u32,
    #[serde(default)]
    pub cost_usd: Usd,
    /// The progress of the task that the agent reported.
    #[serde(default)]
    pub progress: Option<TaskProgress>,
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// The time of its last event; its end, if it has ended.
    #[serde(default)]
    pub last_at: Option<Timestamp>,
}

/// The state of a task, with problems of the recorded file.
#[derive(Clone, Debug)]
pub struct ReadState {
    pub state: TaskState,
    /// A warning for the user, if any.
    pub warning: Option<String>,
    /// Why the result of the last run is unknown.
    pub damage: Option<String>,
    broken: bool,
}

impl TaskState {
    /// Returns the state of a task that was just created or reset.
    pub fn beginning(runs: &ProjectRuns) -> Self {
        let since_run = runs.newest().cloned();
        Self { since_run, ..Self::default() }
    }

    /// Returns the state of a task from the file and from newer entries in the journals. Changes
    /// nothing.
    pub fn read(task: &Task, runs: &ProjectRuns) -> Result<ReadState, Failure> {
        let mut read = Self::noted(task)?;
        read.damage = read.state.catch_up(task.name(), runs);
        Ok(read)
    }

    /// Returns only the recorded state.
    fn noted(task: &Task) -> Result<ReadState, Failure> {
        let (state, warning, broken) = match task.bytes(STATE, MAX_FILE_BYTES)? {
            None => (Self::default(), None, false),
            // Parsed as an object first, because a struct can also be deserialized from a list.
            Some(bytes) => match serde_json::from_slice(&bytes)
                .and_then(|object| serde_json::from_value(Value::Object(object)))
            {
                Ok(state) => (state, None, false),
                Err(error) => {
                    let shown = task.relative(STATE);
                    let warning = format!(
                        "cannot read `{}`: {error}; rebuilding the state from the journals",
                        shown.display()
                    );
                    (Self::default(), Some(warning), true)
                }
            },
        };
        Ok(ReadState { state, warning, damage: None, broken })
    }

    /// Records the result of a run so far; a resumed run is recorded again. Returns a warning for
    /// the user, if any.
    pub fn record_run(
        task: &Task,
        runs: &ProjectRuns,
        run: &RunId,
        view: &RunView,
    ) -> Result<Option<String>, Failure> {
        Self::change(task, runs, |state| state.note(run, view))
    }

    /// Records a session in which the instructions were written or changed.
    pub fn record_setup(task: &Task, runs: &ProjectRuns) -> Result<Option<String>, Failure> {
        Self::change(task, runs, |state| {
            state.iterations.setup = state.iterations.setup.saturating_add(1);
            state.sum_up();
        })
    }

    /// Records newer entries of the journals, if any, so that an archived task includes them.
    /// Returns a warning for the user, if any.
    pub fn settle(task: &Task, runs: &ProjectRuns) -> Result<Option<String>, Failure> {
        let read = Self::read(task, runs)?;
        if read.state == Self::noted(task)?.state { Ok(None) } else { Self::keep(task, read) }
    }

    /// Records that earlier runs do not belong to the task: while it was archived, another task may
    /// have had its name.
    pub(super) fn set_apart(task: &Task, runs: &ProjectRuns) -> Result<Option<String>, Failure> {
        let mut read = Self::noted(task)?;
        let Some(newest) = runs.newest() else { return Ok(None) };
        if read.state.since_run.as_ref().is_some_and(|since| !runs.is_later(newest, since)) {
            return Ok(None);
        }
        read.state.since_run = Some(newest.clone());
        Self::keep(task, read)
    }

    /// Returns the contents of the file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .expect("numbers, texts and maps with texts for keys can be written");
        bytes.push(b'\n');
        bytes
    }

    fn change(
        task: &Task,
        runs: &ProjectRuns,
        change: impl FnOnce(&mut Self),
    ) -> Result<Option<String>, Failure> {
        let mut read = Self::read(task, runs)?;
        change(&mut read.state);
        Self::keep(task, read)
    }

    /// Writes the file; returns a warning for the user, if any.
    fn keep(task: &Task, read: ReadState) -> Result<Option<String>, Failure> {
        let ReadState { state, warning, broken, .. } = read;
        if broken {
            // The user may want to inspect its contents.
            fs::rename(task.path(STATE), task.path(BROKEN)).map_err(|error| {
                let shown = task.relative(STATE);
                Failure::trouble(format!("cannot rename `{}`: {error}", shown.display()))
            })?;
        }
        task.write(STATE, &state.to_bytes())?;
        Ok(warning.map(|warning| format!("{warning}; nightwright keeps the file as `{BROKEN}`")))
    }

    /// Adds runs that were not recorded, and the rest of a run whose process was killed.
    ///
    /// The latest run decides the status. It is not always the newest, because an older one may
    /// have been resumed. Rehearsals and runs that only verified do not count.
    ///
    /// Returns a warning for the user, if any: a run that cannot be read to its end counts as far
    /// as it can be read.
    fn catch_up(&mut self, name: &TaskName, runs: &ProjectRuns) -> Option<String> {
        let unfinished = match &self.last_run {
            Some(LastRun { id, outcome: None, .. }) => Some(id.clone()),
            Some(LastRun { outcome: Some(_), .. }) | None => None,
        };
        let last_run = self.last_run.as_ref().map(|last| &last.id);
        let noted = self.runs.last_key_value().map(|(run, _)| run);
        let later = |one, other| if runs.is_later(other, one) { other } else { one };
        let known = [last_run, noted, self.since_run.as_ref()].into_iter().flatten().reduce(later);
        let later: Vec<_> = runs.after(known).cloned().collect();
        for run in unfinished.iter().chain(&later) {
            // The task of a run is known without reading all of it.
            let seen = if runs.is_of(run, name) { runs.partial_view(run) } else { None };
            let Some((view, damage)) = seen else { continue };
            if view.is_rehearsal() || view.is_only_the_gate() {
                continue;
            }
            if !self.is_older_than(run, view) {
                self.count(run, view);
                continue;
            }
            self.note(run, view);
            if damage.is_some() {
                self.end_is_not_known();
            }
        }
        let LastRun { id, outcome, .. } = self.last_run.as_ref()?;
        let why = runs.damage(id)?;
        Some(match outcome {
            // The run was recorded before its journal was damaged.
            Some(_) => format!("cannot read the journal of run {id} to its end: {why}"),
            None => format!("the result of run {id} is unknown: {why}"),
        })
    }

    /// Discards the recorded result of the last run, because the rest of its journal cannot be
    /// read.
    fn end_is_not_known(&mut self) {
        self.state = TaskStatus::Error;
        if let Some(last) = &mut self.last_run {
            last.outcome = None;
            last.proof = None;
            last.sentence = None;
        }
    }

    /// Whether a run has later events than the run that decides the status.
    fn is_older_than(&self, run: &RunId, view: &RunView) -> bool {
        self.last_run.as_ref().is_none_or(|last| last.id == *run || last.last_at < view.at)
    }

    fn note(&mut self, run: &RunId, view: &RunView) {
        self.count(run, view);
        let iterations = view.totals.iterations;
        let outcome = view.finished.as_ref().map(|finished| &finished.outcome);
        self.state = outcome.map_or(TaskStatus::Running, TaskStatus::after);
        self.last_run = Some(LastRun {
            id: run.clone(),
            outcome: outcome.map(|outcome| outcome.name().to_owned()),
            proof: outcome.and_then(Outcome::proof),
            sentence: outcome.map(|outcome| outcome.sentence(iterations)),
            iterations,
            cost_usd: view.totals.cost,
            progress: view.progress,
            started_at: view.started_at,
            last_at: view.at,
        });
    }

    /// Counts the iterations of a run that are not counted yet.
    fn count(&mut self, run: &RunId, view: &RunView) {
        let iterations = view.totals.iterations;
        let before = self.runs.insert(run.clone(), iterations).unwrap_or(0);
        while self.runs.len() > MAX_RUNS {
            self.runs.pop_first();
        }
        let new = iterations.saturating_sub(before);
        self.iterations.execution = self.iterations.execution.saturating_add(new);
        self.sum_up();
    }

    fn sum_up(&mut self) {
        let IterationCounts { setup, execution, .. } = self.iterations;
        self.iterations.total = setup.saturating_add(execution);
    }
}

impl TaskStatus {
    /// Returns the status of a task after a run with this outcome.
    pub fn after(outcome: &Outcome) -> Self {
        match outcome.class() {
            OutcomeClass::Completed => Self::Completed,
            OutcomeClass::Stagnated => Self::Stagnated,
            OutcomeClass::Limit => Self::Limit,
            OutcomeClass::Blocked => Self::Blocked,
            OutcomeClass::Unverified => Self::Unverified,
            OutcomeClass::Stopped => Self::Stopped,
            OutcomeClass::Interrupted => Self::Interrupted,
            // A limit of the account stops the task in the same way as a limit of the run.
            OutcomeClass::Failed if matches!(outcome, Outcome::LimitWaitTooLong { .. }) => {
                Self::Limit
            }
            OutcomeClass::Failed => Self::Error,
        }
    }

    /// Returns the name in files, JSON and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::Limit => "limit",
            Self::Stagnated => "stagnated",
            Self::Blocked => "blocked",
            Self::Unverified => "unverified",
            Self::Error => "error",
        }
    }
}
