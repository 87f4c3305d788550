//! What we remember of a task between its runs, in `.state.json`: how it stands, and how many
//! iterations it took.
//!
//! The journals of the runs are the truth and this is a note of it. A run that was not noted (its
//! process was killed) is found in the journals the next time somebody asks, and a note that is
//! lost or broken is written anew from them. Only set-up sessions are in no journal.

use std::collections::BTreeMap;
use std::fs;

use jiff::Timestamp;
use nightwright_core::input::TaskProgress;
use nightwright_core::outcome::{Outcome, OutcomeClass, Proof};
use nightwright_core::run_view::RunView;
use nightwright_core::units::{RunId, Usd};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::name::TaskName;
use super::runs::ProjectRuns;
use super::{STATE, Task};
use crate::error::Failure;

/// The most of the file that is read; ours is a fraction of it.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A broken file is kept under this name.
pub const BROKEN: &str = ".state.json.broken";

/// How many runs are remembered one by one. Resuming one that is older counts its iterations anew.
const MAX_RUNS: usize = 100;

/// What we remember of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskState {
    /// How it stands.
    #[serde(default)]
    pub state: TaskStatus,
    /// How many iterations it took.
    #[serde(default)]
    pub iterations: IterationCounts,
    /// The run that was conducted last.
    #[serde(default)]
    pub last_run: Option<LastRun>,
    /// How many iterations each run had, so that one that is resumed is not counted twice.
    #[serde(default)]
    pub runs: BTreeMap<RunId, u32>,
    /// The newest run when the task was made or begun anew: those up to it are another story.
    #[serde(default)]
    pub since_run: Option<RunId>,
}

/// How a task stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody has said yet what to do.
    #[default]
    New,
    /// It has instructions, and no run has begun.
    Ready,
    /// A run is going on.
    Running,
    /// Done.
    Completed,
    /// Stopped after an iteration, as asked.
    Stopped,
    /// The last run was broken off, or its process is gone.
    Interrupted,
    /// A limit was reached.
    Limit,
    /// The last run came no further.
    Stagnated,
    /// Something is needed that only a person can give.
    Blocked,
    /// Said to be done, and not believed.
    Unverified,
    /// Something went wrong.
    Error,
}

/// How many iterations a task took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationCounts {
    /// All of them.
    pub total: u32,
    /// Sessions in which the instructions were written or changed.
    pub setup: u32,
    /// Iterations of runs.
    pub execution: u32,
}

/// A run, as it is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastRun {
    /// Which.
    pub id: RunId,
    /// The name of its ending; `None` if it has not come to one.
    #[serde(default)]
    pub ending: Option<String>,
    /// What it rests on, if it is completed.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// Its ending in a sentence.
    #[serde(default)]
    pub sentence: Option<String>,
    /// Iterations it had.
    #[serde(default)]
    pub iterations: u32,
    /// What it cost.
    #[serde(default)]
    pub cost_usd: Usd,
    /// How far the task was, by its own account.
    #[serde(default)]
    pub progress: Option<TaskProgress>,
    /// When it began.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// When it was last heard of; its end, if it has one.
    #[serde(default)]
    pub last_at: Option<Timestamp>,
}

/// The state of a task, and what was wrong with the note of it.
#[derive(Clone, Debug)]
pub struct ReadState {
    /// The state.
    pub state: TaskState,
    /// What people should know.
    pub warning: Option<String>,
    /// Why nobody knows what the last run came to.
    pub damage: Option<String>,
    broken: bool,
}

impl TaskState {
    /// The state of a task that is just made, or begun anew.
    pub fn beginning(runs: &ProjectRuns) -> Self {
        let since_run = runs.newest().cloned();
        Self { since_run, ..Self::default() }
    }

    /// The state of a task: what was noted, and what the journals know beyond that. Changes
    /// nothing.
    pub fn read(task: &Task, runs: &ProjectRuns) -> Result<ReadState, Failure> {
        let mut read = Self::noted(task)?;
        read.damage = read.state.catch_up(task.name(), runs);
        Ok(read)
    }

    /// What was noted, and no more.
    fn noted(task: &Task) -> Result<ReadState, Failure> {
        let (state, warning, broken) = match task.bytes(STATE, MAX_FILE_BYTES)? {
            None => (Self::default(), None, false),
            // Through an object, because a struct could also be read from a list.
            Some(bytes) => match serde_json::from_slice(&bytes)
                .and_then(|object| serde_json::from_value(Value::Object(object)))
            {
                Ok(state) => (state, None, false),
                Err(error) => {
                    let shown = task.relative(STATE);
                    let warning = format!(
                        "`{}` can't be read ({error}); the state is taken from the journals",
                        shown.display()
                    );
                    (Self::default(), Some(warning), true)
                }
            },
        };
        Ok(ReadState { state, warning, damage: None, broken })
    }

    /// Notes what a run came to so far; a run that is resumed is noted again. Gives what people
    /// should know.
    pub fn record_run(
        task: &Task,
        runs: &ProjectRuns,
        run: &RunId,
        view: &RunView,
    ) -> Result<Option<String>, Failure> {
        Self::change(task, runs, |state| state.note(run, view))
    }

    /// Notes a session in which the instructions were written or changed.
    pub fn record_setup(task: &Task, runs: &ProjectRuns) -> Result<Option<String>, Failure> {
        Self::change(task, runs, |state| {
            state.iterations.setup = state.iterations.setup.saturating_add(1);
            state.sum_up();
        })
    }

    /// Notes what the journals know beyond what is noted, if that is anything: a task that is put
    /// away takes it along. Gives what people should know.
    pub fn settle(task: &Task, runs: &ProjectRuns) -> Result<Option<String>, Failure> {
        let read = Self::read(task, runs)?;
        if read.state == Self::noted(task)?.state { Ok(None) } else { Self::keep(task, read) }
    }

    /// Notes that the runs up to now which are not the task's yet are another story: while it was
    /// put away, another task may have had its name.
    pub(super) fn set_apart(task: &Task, runs: &ProjectRuns) -> Result<Option<String>, Failure> {
        let mut read = Self::noted(task)?;
        let Some(newest) = runs.newest() else { return Ok(None) };
        if read.state.since_run.as_ref().is_some_and(|since| !runs.is_later(newest, since)) {
            return Ok(None);
        }
        read.state.since_run = Some(newest.clone());
        Self::keep(task, read)
    }

    /// The file.
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

    /// Writes it; gives what people should know.
    fn keep(task: &Task, read: ReadState) -> Result<Option<String>, Failure> {
        let ReadState { state, warning, broken, .. } = read;
        if broken {
            // Somebody may want to know what was in it.
            fs::rename(task.path(STATE), task.path(BROKEN)).map_err(|error| {
                let shown = task.relative(STATE);
                Failure::trouble(format!("can't put `{}` aside: {error}", shown.display()))
            })?;
        }
        task.write(STATE, &state.to_bytes())?;
        Ok(warning.map(|warning| format!("{warning}; the file is kept as `{BROKEN}`")))
    }

    /// Takes runs into account that nobody noted, and the rest of one whose process was killed. How
    /// the task stands is what its latest run says, which is not always the newest: an older one
    /// may have been resumed. Rehearsals don't count, nor does who only judged the work. Gives what
    /// people should know: a run that can't be read to its end counts as far as it can be.
    fn catch_up(&mut self, name: &TaskName, runs: &ProjectRuns) -> Option<String> {
        let unfinished = match &self.last_run {
            Some(LastRun { id, ending: None, .. }) => Some(id.clone()),
            Some(LastRun { ending: Some(_), .. }) | None => None,
        };
        let last_run = self.last_run.as_ref().map(|last| &last.id);
        let noted = self.runs.last_key_value().map(|(run, _)| run);
        let later = |one, other| if runs.is_later(other, one) { other } else { one };
        let known = [last_run, noted, self.since_run.as_ref()].into_iter().flatten().reduce(later);
        let later: Vec<_> = runs.after(known).cloned().collect();
        for run in unfinished.iter().chain(&later) {
            // What a run is for is known without reading all of it.
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
        let LastRun { id, ending, .. } = self.last_run.as_ref()?;
        let why = runs.damage(id)?;
        Some(match ending {
            // It was noted before the journal was damaged.
            Some(_) => format!("the journal of run {id} can't be read to its end: {why}"),
            None => format!("what run {id} came to is not known: {why}"),
        })
    }

    /// Whatever was noted of the last run: its journal goes on where nobody can read it.
    fn end_is_not_known(&mut self) {
        self.state = TaskStatus::Error;
        if let Some(last) = &mut self.last_run {
            last.ending = None;
            last.proof = None;
            last.sentence = None;
        }
    }

    /// Whether a run was heard of after the one that says how the task stands.
    fn is_older_than(&self, run: &RunId, view: &RunView) -> bool {
        self.last_run.as_ref().is_none_or(|last| last.id == *run || last.last_at < view.at)
    }

    fn note(&mut self, run: &RunId, view: &RunView) {
        self.count(run, view);
        let iterations = view.totals.iterations;
        let outcome = view.ending.as_ref().map(|ending| &ending.outcome);
        self.state = outcome.map_or(TaskStatus::Running, TaskStatus::after);
        self.last_run = Some(LastRun {
            id: run.clone(),
            ending: outcome.map(|outcome| outcome.name().to_owned()),
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
    /// How a task stands after a run that ended like this.
    pub fn after(outcome: &Outcome) -> Self {
        match outcome.class() {
            OutcomeClass::Completed => Self::Completed,
            OutcomeClass::Stagnated => Self::Stagnated,
            OutcomeClass::Limit => Self::Limit,
            OutcomeClass::Blocked => Self::Blocked,
            OutcomeClass::Unverified => Self::Unverified,
            OutcomeClass::Stopped => Self::Stopped,
            OutcomeClass::Interrupted => Self::Interrupted,
            // A limit of the account holds the task up like one of the run.
            OutcomeClass::Failed if matches!(outcome, Outcome::LimitWaitTooLong { .. }) => {
                Self::Limit
            }
            OutcomeClass::Failed => Self::Error,
        }
    }

    /// The name in files, JSON and on screens.
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
