//! A run, told after the event: what it was told, what each iteration did and cost, what was claimed
//! and what became of the claims.
//!
//! A [`RunReportBuilder`] folds the journal of a run, of any length, into a [`RunReport`]: one pass, and so
//! much of every iteration and no more. [`RunReport::markdown`] and [`RunReport::html`] are two ways
//! to show it, its JSON is a third. All words in it that others wrote are safe to show and cut to a
//! length that is said; where they go into a page they are escaped there, each format by its own
//! rules.

mod chart;
mod fold;
mod html;
mod markdown;
mod parts;
mod phrases;
#[cfg(test)]
mod tests;
mod text;

use jiff::Timestamp;
use serde::Serialize;

use crate::event::{IterationKind, Progress, Totals};
use crate::input::{Changes, TaskProgress};
use crate::outcome::Proof;
use crate::permissions::denial::DeniedCommand;
use crate::settings::{EvidenceKind, Limits};
use crate::units::{RunId, Tokens, Usd, millis};

pub use crate::run_view::Liveness as State;
pub use fold::{ReportContext, RunReportBuilder, UnreadableJournal};
pub use parts::{
    AttemptSummary, CallSummary, CheckSummary, ClaimOutcome, ClaimSummary, Commit, CommitList,
    Note, NoteKind, RunPaths, SpanKind, TimelineSpan,
};

/// A whole run, or as much of it as there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// The run.
    pub run: RunId,
    /// Whether anybody conducts it.
    pub state: State,
    /// Whether the agent was a script: nothing real was done, and nothing was spent.
    pub is_rehearsal: bool,
    /// What it came to, in a word.
    pub verdict: ReportStatus,
    /// The name of the ending; `None` if it has none.
    pub ending: Option<&'static str>,
    /// What a completion rests on; `None` if it is not completed.
    pub proof: Option<Proof>,
    /// What it came to, in a sentence.
    pub sentence: String,
    /// What else there is to say about the ending.
    pub note: Option<String>,
    /// What became of the last claim, in a sentence.
    pub verification: Option<String>,
    /// What it was told; `None` if not even that is on record.
    pub parameters: Option<RunParameters>,
    /// How far it may go, as it is now.
    pub limits: Limits,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When something happened last.
    pub last_at: Option<Timestamp>,
    /// What it came to.
    pub totals: Totals,
    /// Files changed, each counted once.
    pub files_changed: u32,
    /// The files that differ from the start of the run, with added and removed lines; not all of them
    /// are listed.
    pub changes: Changes,
    /// How far the task is, by its own account.
    pub progress: Option<TaskProgress>,
    /// What a change that stayed has cost.
    pub accepted: AcceptedWork,
    /// What happened before the first iteration.
    pub before: Vec<Note>,
    /// How many things happened before it beyond those.
    pub more_before: u32,
    /// The iterations, in order.
    pub iterations: Vec<IterationReport>,
    /// What took time, in order of its start.
    pub spans: Vec<TimelineSpan>,
    /// How many more things took time, each in an iteration that had too many.
    pub more_spans: u32,
    /// What the agent was not allowed to do, each once.
    pub denied: Vec<DeniedCommand>,
    /// What only a person can give.
    pub blockers: Vec<String>,
    /// How many there were beyond those.
    pub more_blockers: u32,
    /// What people should know.
    pub warnings: Vec<Note>,
    /// How many warnings there were beyond those.
    pub more_warnings: u32,
    /// The commits of the run, as far as they are known.
    pub commits: CommitList,
    /// What to do next.
    pub next: Vec<String>,
    /// What of the journal could not be read.
    pub missing: Vec<String>,
    /// Where its files are, for whoever looks on the same machine.
    pub places: Option<RunPaths>,
}

/// What a run came to, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    /// Done, and checks confirmed it.
    Verified,
    /// Done in the judgement of a model.
    Judged,
    /// Done by the agent's word alone.
    NotVerified,
    /// Over without being done.
    NotDone,
    /// Not over.
    GoingOn,
    /// Not over, and nobody conducts it.
    Gone,
    /// Over, and only a rehearsal: whatever it came to, nothing is done.
    Rehearsed,
    /// Not known: the journal cannot be read to its end.
    Unknown,
}

/// What a run was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunParameters {
    /// The task's name, if it has one.
    pub task: Option<String>,
    /// What is to be done.
    pub goal: String,
    /// The mode's name.
    pub mode: String,
    /// Whether it is no work on a task but only a judgement of it.
    pub only_gate: bool,
    /// Which agent.
    pub agent: String,
    /// Its version, if it told.
    pub agent_version: Option<String>,
    /// The models that worked, as they called themselves.
    pub models: Vec<String>,
    /// How many there were beyond those.
    pub more_models: u32,
    /// The project folder.
    pub project: String,
    /// The commit at which it began, with git.
    pub git_head: Option<String>,
    /// How the agent's processes are held together.
    pub containment: String,
    /// The checks that a claim has to pass.
    pub checks: Vec<String>,
    /// How many there are beyond those.
    pub more_checks: u32,
}

/// One iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IterationReport {
    /// Its number; 0 for a proof before the first.
    pub number: u32,
    /// Why it ran.
    pub kind: IterationKind,
    /// What became of it.
    pub status: IterationStatus,
    /// What went wrong, if it failed.
    pub why: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was over; `None` if it is not.
    pub ended_at: Option<Timestamp>,
    /// How long it took, waits left out; `None` while it is not over.
    #[serde(with = "millis::option", rename = "duration_ms")]
    pub duration: Option<std::time::Duration>,
    /// What its attempts and calls cost.
    pub cost_usd: Usd,
    /// The part of it that is an estimate.
    pub estimated_usd: Usd,
    /// The tokens of its attempts and calls.
    pub tokens: Tokens,
    /// Files changed.
    pub files_changed: u32,
    /// Commits made.
    pub commits: u32,
    /// Whether it moved the project forward; `None` while it is not over.
    pub work_progress: Option<Progress>,
    /// How far the task is, by its own account or by its list.
    pub progress: Option<TaskProgress>,
    /// Where in the task it is, by the agent's own word.
    pub phase: Option<String>,
    /// By what completion was claimed.
    pub claim: Vec<EvidenceKind>,
    /// The processes of the agent.
    pub attempts: Vec<AttemptSummary>,
    /// How many there were.
    pub attempt_count: u32,
    /// Other uses of the agent.
    pub calls: Vec<CallSummary>,
    /// Claims and what became of them.
    pub claims: Vec<ClaimSummary>,
    /// What it cannot continue without.
    pub blockers: Vec<String>,
    /// What else happened.
    pub notes: Vec<Note>,
    /// How many attempts, calls, claims, blockers and notes there were beyond those.
    pub left_off: u32,
    /// What the agent said it did.
    pub summary: String,
}

/// What became of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationStatus {
    /// Its claim of completion was believed.
    Believed,
    /// Its claim of completion was not.
    Rejected,
    /// It moved the project forward.
    Work,
    /// Nothing changed, and the agent's word that it worked was taken.
    Excused,
    /// Nothing changed.
    Idle,
    /// It failed.
    Failed,
    /// It was broken off.
    Interrupted,
    /// It is not over.
    GoingOn,
}

/// What a change that stayed has cost: the cost of the whole run divided by its commits; in a run
/// without commits, by the iterations that moved the project forward or whose claim was believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AcceptedWork {
    /// What is counted.
    pub unit: AcceptedUnit,
    /// How many there are.
    pub count: u32,
    /// What one of them cost; `None` if there are none.
    pub cost_usd: Option<Usd>,
}

/// What counts as a change that stayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AcceptedUnit {
    /// Commits.
    Commits,
    /// Iterations.
    Iterations,
}

impl RunReport {
    /// The run as a page of Markdown, for a pull request or a mail.
    pub fn markdown(&self) -> String {
        markdown::page(self)
    }

    /// The run as one page of HTML that needs nothing else and runs nothing.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// From where to where its commits go: the commit at which it began, if there was one, and the
    /// last one seen. `None` if none was seen.
    pub fn commit_range(&self) -> Option<(Option<&str>, &str)> {
        let CommitList { from, to, .. } = &self.commits;
        to.as_deref().map(|to| (from.as_deref(), to))
    }

    /// What the page is called.
    fn title(&self) -> String {
        let told = self.parameters.as_ref();
        let name = told.and_then(|told| told.task.clone().or_else(|| first_line(&told.goal)));
        let name = name.unwrap_or_else(|| format!("run {}", self.run));
        if self.is_only_judgement() { format!("Judgement of {name}") } else { name }
    }

    /// Whether nothing was worked on: what was there was judged, by hand.
    fn is_only_judgement(&self) -> bool {
        self.parameters.as_ref().is_some_and(|told| told.only_gate)
    }

    /// A time of the run, with its day where that is not the same for all of the run.
    fn clock(&self, at: Timestamp) -> String {
        let day = |at: Timestamp| at.strftime("%F").to_string();
        let days = [self.started_at, self.last_at, Some(at)].into_iter().flatten().map(day);
        let first = day(at);
        if days.into_iter().all(|day| day == first) {
            phrases::clock(at)
        } else {
            phrases::day_and_clock(at)
        }
    }

    /// All claims, each with the number of its iteration.
    fn claims(&self) -> impl Iterator<Item = (u32, &ClaimSummary)> {
        let of = |iteration: &'_ IterationReport| iteration.number;
        self.iterations.iter().flat_map(move |iteration| {
            iteration.claims.iter().map(move |claim| (of(iteration), claim))
        })
    }
}

impl IterationReport {
    /// Attempts beyond the first.
    pub fn retries(&self) -> u32 {
        self.attempt_count.saturating_sub(1)
    }
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.map(|line| crate::display::one_line(line, 120))
}
