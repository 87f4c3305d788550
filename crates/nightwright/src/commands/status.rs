//! `nightwright status`: one run, as it is now.

mod words;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use nightwright_core::display::display_safe;
use nightwright_core::event::{
    AgentFacts, Event, IterationFinished, IterationResult, NoteEvent, StopWhen,
};
use nightwright_core::outcome::Proof;
use nightwright_core::permissions::denial::DeniedCommand;
use nightwright_core::phrases;
use nightwright_core::run_report::UnreadableJournal;
use nightwright_core::run_view::{Activity, Estimate, Liveness, RunView};
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::units::{Tokens, Usd};
use serde::Serialize;

use super::select_run::{RunSelector, SelectedRun};
use super::{eprint_safe, print};
use crate::error::Failure;
use crate::output;
use crate::paste::steps_from_here;
use crate::store::journal::{RunDir, attempt_label};

/// The last few blockers and warnings are shown.
const MAX_LISTED: usize = 5;

/// What the command can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    which: RunSelector,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
The object of --json; times are in UTC, and what is not known is null:
  run               the id of the run
  state             running; gone: its process is gone, and it has not ended; ended; unknown: nobody
                    conducts it, and its journal can't be read to its end
  is_rehearsal      whether the agent is a script (--dry-run): then nothing is spent, and every
                    cost is what the script says
  pid               of the process that conducts it
  task, goal        the task's name, the first line of what is to be done
  mode, project     the mode, and the project folder
  agent             {name, path, version}
  doing             {what, since, until, why, last}: what is starting, working, waiting, retrying,
                    checking, asking, paused, between or ended; until is the end of a wait; last is
                    the agent's running tool, else its last tool or sentence
  iteration         {number, attempts, started_at}: the last one begun
  max_iterations    the limit
  iterations        how many are over
  iterations_left   by the limit, the items that are left or a wish to stop
  progress          {completed, total}: the task's items
  cost_usd, estimated_usd, max_cost_usd
                    what it cost, the part of it that is an estimate, the limit
  active_ms, waited_ms, elapsed_ms, max_duration_ms
                    time at work, time spent waiting for limits, time since the start, and the
                    limit of time at work
  tokens, max_tokens
                    those that count against the limit, and the limit
  mean_ms           the mean duration of the last five iterations, once there are five
  estimated_end     when it ends if it goes on like this
  idle, idle_limit  idle iterations in a row, and how many of them end the run (0 = none do)
  stop              after_iteration or now, if it was asked to stop
  paused            whether nothing new starts
  denied            what the agent was not allowed to do, each {tool, command, rule}: rule is what
                    --allowed-tools takes to allow it, null if no rule does
  blockers, more_blockers
                    what only a person can give, the last of them, and how many there were before
  warnings          how many there were
  last_warnings     the last of them
  last_iteration    {number, result, files_changed, commits, cost_usd, duration_ms, summary}:
                    result is done, failed or interrupted
  ending            {name, proof, sentence, note}; proof is checks, model or none if the run is
                    completed, else null
  started_at, last_at
                    when it began, and when something happened last
  run_folder, journal, log, state_folder
                    where everything is; log is the newest one
  missing           what of the journal could not be read, a list: with anything in it, all of
                    this is only what came before
  next              what to do next, a list";

/// A run, as it is now.
#[derive(Debug, Serialize)]
struct StatusPage {
    run: String,
    state: Liveness,
    is_rehearsal: bool,
    pid: Option<u32>,
    task: Option<String>,
    goal: Option<String>,
    mode: Option<String>,
    project: Option<String>,
    agent: Option<AgentStatus>,
    doing: ActivityStatus,
    iteration: Option<CurrentIterationStatus>,
    max_iterations: Option<u32>,
    iterations: u32,
    iterations_left: Option<u32>,
    progress: Option<ProgressStatus>,
    #[serde(flatten)]
    spent: SpendStatus,
    mean_ms: Option<u128>,
    estimated_end: Option<Timestamp>,
    idle: u32,
    idle_limit: u32,
    stop: Option<StopWhen>,
    paused: bool,
    denied: Vec<DeniedCommand>,
    blockers: Vec<String>,
    more_blockers: u32,
    warnings: u32,
    last_warnings: Vec<String>,
    last_iteration: Option<LastIterationStatus>,
    ending: Option<OutcomeStatus>,
    started_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    #[serde(flatten)]
    places: RunPaths,
    missing: Vec<String>,
    next: Vec<String>,
}

/// What it used up, against what it may.
#[derive(Debug, Serialize)]
struct SpendStatus {
    cost_usd: Usd,
    estimated_usd: Usd,
    max_cost_usd: Option<Usd>,
    active_ms: u128,
    waited_ms: u128,
    elapsed_ms: u128,
    max_duration_ms: Option<u128>,
    tokens: u64,
    max_tokens: Option<u64>,
}

/// Where everything is.
#[derive(Debug, Serialize)]
struct RunPaths {
    run_folder: PathBuf,
    journal: PathBuf,
    log: Option<PathBuf>,
    state_folder: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct AgentStatus {
    name: String,
    path: String,
    version: Option<String>,
}

/// What it does.
#[derive(Debug, Serialize)]
struct ActivityStatus {
    what: ActivityKind,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    why: Option<String>,
    /// The running tool of the agent, else its last tool or sentence.
    last: Option<String>,
}

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ActivityKind {
    Starting,
    Working,
    Waiting,
    Retrying,
    Checking,
    Asking,
    Paused,
    Between,
    Ended,
}

#[derive(Debug, Serialize)]
struct CurrentIterationStatus {
    number: u32,
    attempts: u32,
    started_at: Timestamp,
}

#[derive(Debug, Serialize)]
struct ProgressStatus {
    completed: u32,
    total: u32,
}

/// How the last iteration ended.
#[derive(Debug, Serialize)]
struct LastIterationStatus {
    number: u32,
    result: &'static str,
    files_changed: u32,
    commits: u32,
    cost_usd: Usd,
    duration_ms: u128,
    summary: String,
}

/// How the run ended.
#[derive(Debug, Serialize)]
struct OutcomeStatus {
    name: &'static str,
    proof: Option<Proof>,
    sentence: String,
    note: Option<String>,
}

/// What is shown of the events themselves.
#[derive(Debug, Default)]
struct StatusFold {
    view: RunView,
    /// The last few.
    warnings: Vec<String>,
}

pub(super) fn status(options: &StatusArgs) -> Result<ExitCode, Failure> {
    let found = options.which.find()?;
    let mut told = StatusFold::default();
    let unread = found.walk(|record| {
        told.warnings.extend(warning(&record.event));
        if told.warnings.len() > MAX_LISTED {
            told.warnings.remove(0);
        }
        told.view.record(&record);
    })?;
    for text in &unread.missing {
        eprint_safe(&format!("warning: {text}"));
    }
    let now = Timestamp::now();
    let page = page(&found, told, unread, now);
    if options.json {
        super::print_json(&page)?;
    } else {
        print(&display_safe(&words::text(&page, now)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(
    found: &SelectedRun,
    told: StatusFold,
    unread: UnreadableJournal,
    now: Timestamp,
) -> StatusPage {
    let SelectedRun { folder, owner, .. } = found;
    let StatusFold { view, warnings } = told;
    let UnreadableJournal { missing, from } = unread;
    let state = Liveness::of(&view, owner.is_some(), from);
    // Time stands still for a run that nobody conducts.
    let now = if state == Liveness::Running { now } else { view.at.unwrap_or(now) };
    let Estimate { elapsed, mean, iterations_left, estimated_end, idle_limit, .. } =
        view.estimate(now);
    let facts = view.facts.as_ref();
    let blockers = last(view.blockers.iter().map(|blocker| blocker.text.clone()).collect());
    let hidden = view.blockers.len().saturating_sub(blockers.len());
    StatusPage {
        run: folder.id().to_string(),
        state,
        is_rehearsal: view.is_rehearsal(),
        pid: owner.as_ref().map(|owner| owner.pid),
        task: facts.and_then(|facts| facts.task.clone()),
        goal: facts.map(|facts| facts.goal.clone()),
        mode: facts.map(|facts| facts.mode.clone()),
        project: facts.map(|facts| facts.project.clone()),
        agent: facts.map(|facts| agent(&facts.agent)),
        doing: ActivityStatus { last: last_activity(&view, folder, state), ..doing(&view) },
        iteration: view.iteration.map(|current| CurrentIterationStatus {
            number: current.number.0,
            attempts: current.attempts,
            started_at: current.started_at,
        }),
        max_iterations: view.limits.max_iterations,
        iterations: view.totals.iterations,
        iterations_left,
        progress: view
            .progress
            .map(|items| ProgressStatus { completed: items.completed, total: items.total }),
        spent: spent(&view, elapsed, now),
        mean_ms: mean.as_ref().map(Duration::as_millis),
        estimated_end: estimated_end.filter(|_| state == Liveness::Running),
        idle: view.idle,
        idle_limit,
        stop: view.stop,
        paused: view.paused,
        denied: view.denied.clone(),
        more_blockers: u32::try_from(hidden).unwrap_or(u32::MAX).saturating_add(view.more_blockers),
        blockers,
        warnings: view.warnings,
        last_warnings: warnings,
        last_iteration: view.last.as_ref().map(last_iteration),
        // An ending before what can't be read need not be the last.
        ending: ending(&view).filter(|_| state == Liveness::Ended),
        started_at: view.started_at,
        last_at: view.at,
        places: places(folder),
        missing,
        next: steps_from_here(view.steps(folder.id(), state, from))
            .iter()
            .map(ToString::to_string)
            .collect(),
    }
}

fn spent(view: &RunView, elapsed: Duration, now: Timestamp) -> SpendStatus {
    let RunView { limits, totals, .. } = view;
    SpendStatus {
        cost_usd: totals.cost,
        estimated_usd: totals.estimated,
        max_cost_usd: limits.max_cost,
        active_ms: view.at_work(now).as_millis(),
        waited_ms: totals.waited.as_millis(),
        elapsed_ms: elapsed.as_millis(),
        max_duration_ms: limits.max_duration.as_ref().map(Duration::as_millis),
        tokens: Tokens::counted(&totals.tokens),
        max_tokens: limits.max_tokens,
    }
}

fn places(folder: &RunDir) -> RunPaths {
    RunPaths {
        run_folder: folder.path().to_owned(),
        journal: folder.journal(),
        log: folder.logs().pop(),
        state_folder: folder.path().ancestors().nth(2).map(PathBuf::from),
    }
}

fn ending(view: &RunView) -> Option<OutcomeStatus> {
    view.ending.as_ref().map(|ending| OutcomeStatus {
        name: ending.outcome.name(),
        proof: ending.outcome.proof(),
        sentence: ending.outcome.sentence(view.totals.iterations),
        note: ending.note.clone(),
    })
}

fn agent(facts: &AgentFacts) -> AgentStatus {
    let AgentFacts { name, path, version } = facts.clone();
    AgentStatus { name, path, version }
}

fn last(mut texts: Vec<String>) -> Vec<String> {
    texts.split_off(texts.len().saturating_sub(MAX_LISTED))
}

fn warning(event: &Event) -> Option<String> {
    if let Event::Note(NoteEvent::HookFailed { hook, why }) = event {
        return Some(format!("the hook `{hook}` failed: {why}"));
    }
    if let Event::Note(NoteEvent::Warning { text }) = event { Some(text.clone()) } else { None }
}

fn last_iteration(finished: &IterationFinished) -> LastIterationStatus {
    LastIterationStatus {
        number: finished.iteration.0,
        result: match finished.result {
            IterationResult::Done => "done",
            IterationResult::Failed { .. } => "failed",
            IterationResult::Interrupted => "interrupted",
        },
        files_changed: finished.files_changed,
        commits: finished.commits,
        cost_usd: finished.cost,
        duration_ms: finished.duration.as_millis(),
        summary: match &finished.result {
            IterationResult::Failed { why, .. } => why.clone(),
            IterationResult::Done | IterationResult::Interrupted => finished.summary.clone(),
        },
    }
}

fn doing(view: &RunView) -> ActivityStatus {
    let (what, until, why) = match view.activity() {
        Activity::Starting => (ActivityKind::Starting, None, None),
        Activity::Working { .. } => (ActivityKind::Working, None, None),
        Activity::Waiting { limit, retry_at } => {
            (ActivityKind::Waiting, Some(retry_at), Some(phrases::limit(limit).to_owned()))
        }
        Activity::Retrying { at, why } => (ActivityKind::Retrying, Some(at), Some(why)),
        Activity::Checking => {
            let running = view.running_checks();
            (ActivityKind::Checking, None, (!running.is_empty()).then(|| running.join(", ")))
        }
        Activity::Asking { purpose } => {
            (ActivityKind::Asking, None, Some(purpose.name().to_owned()))
        }
        Activity::Paused => (ActivityKind::Paused, None, None),
        Activity::Between => (ActivityKind::Between, None, None),
        Activity::Ended => (ActivityKind::Ended, None, None),
    };
    ActivityStatus { what, since: view.since, until, why, last: None }
}

/// What the agent of a live attempt does or said last. Its output is masked where it is kept.
fn last_activity(view: &RunView, folder: &RunDir, state: Liveness) -> Option<String> {
    let Activity::Working { .. } = view.activity() else { return None };
    let current = view.iteration.filter(|_| state == Liveness::Running)?;
    let dialect = Dialect::of_agent(&view.facts.as_ref()?.agent.name);
    let label = attempt_label(current.number.0, current.attempts);
    output::doing(dialect, &folder.output().join(format!("{label}.ndjson")))
}
