//! `nightwright status`: show the status of a run.

mod all;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use nightwright_core::display::display_safe;
use nightwright_core::event::{AgentFacts, IterationFinished, IterationResult, StopWhen};
use nightwright_core::failing::Failing;
use nightwright_core::input::TaskProgress;
use nightwright_core::outcome::Proof;
use nightwright_core::permissions::denial::DeniedCommand;
use nightwright_core::phrases;
use nightwright_core::results::IterationStatus;
use nightwright_core::run_report::{RunPaths, UnreadableJournal};
use nightwright_core::run_view::{Activity, CurrentIteration, Liveness, RunView};
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::news::Blocker;
use nightwright_core::test_counts::TestCounts;
use nightwright_core::units::{Tokens, Usd};
use serde::Serialize;

use super::cli::select_run::{RunSelector, SelectedRun};
use crate::console::{eprint_safe, print, print_json};
use crate::error::Failure;
use crate::output::{self, wrap};
use crate::paste::steps_from_here;
use crate::store::run_dir::{RunDir, attempt_label};

/// Maximum number of blockers that are shown; the last ones count.
const MAX_LISTED: usize = 5;

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    selector: RunSelector,

    /// List all runs of the project, the newest first
    #[arg(long, conflicts_with = "run")]
    all: bool,

    /// Print one JSON object, with `--all` a JSON array
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Fields of the --json object (times are in UTC, unknown values are null):
  run               ID of the run
  state             running, ended, crashed (the process exited before the run ended) or unknown
                    (not running, and the journal is unreadable)
  is_rehearsal      whether the agent is a script (--dry-run): it spends nothing, and every cost
                    comes from the script
  pid               process ID of nightwright
  task, goal        name of the task, first line of the goal
  mode, project     mode, project folder
  sandbox           kind of the sandbox; absent without one
  checks_outside    checks that run outside the sandbox; absent without any
  agent             {name, path, version}
  doing             {what, since, until, why, last}: what is starting, working, waiting, retrying,
                    checking, asking, paused, between or ended; until is the end of a wait; last is
                    the running tool of the agent, otherwise its last tool or sentence
  iteration         {number, attempts, started_at} of the current or last iteration
  max_iterations    limit of iterations
  iterations        number of finished iterations
  iterations_left   remaining iterations, by the limit, the open items or a requested stop
  progress          {completed, total} items of the task
  cost_usd, estimated_usd, max_cost_usd
                    cost without the running attempt, estimated part of it, limit
  running           {cost_usd, tokens}: estimate for the running attempt so far, or null
  active_ms, waited_ms, elapsed_ms, max_duration_ms
                    active time, time spent waiting for limits, time since the start, limit of the
                    active time
  tokens, max_tokens
                    tokens that count against the limit, limit
  mean_ms           mean duration of the last five iterations, or null before the fifth
  estimated_end     estimated end of the run at this rate
  idle, idle_limit  consecutive iterations without progress, and the number of them that ends the
                    run (0: never)
  failing           {checks, tests}: failures when the checks last ran; tests is {failed, total} or
                    null
  failing_curve     history of failing tests or checks, as text, or null
  without_improvement, no_improvement_limit
                    consecutive iterations in which no further check or test passed, and the number
                    of them that ends the run (0: never)
  flaky             list of the commands of flaky checks
  stop              after_iteration or now, if you requested a stop
  paused            whether the run is paused
  denied            denied commands, each {tool, command, rule}: rule is the value for
                    --allowed-tools that allows it, or null
  blockers, more_blockers
                    last blockers, and the number of earlier ones
  warnings          number of warnings
  last_warnings     last warnings
  last_iteration    {number, result, files_changed, commits, cost_usd, duration_ms, summary}:
                    result is the status of an iteration in the JSON report
  outcome           {name, proof, sentence, note, verification}; proof is checks, model or none for
                    a completed run, otherwise null; verification says what the last claim rests on
  started_at, last_at
                    time of the start, time of the last event
  run_folder, journal, log, state_folder
                    paths; log is the newest log
  missing           unreadable parts of the journal, a list; if it is not empty, everything else
                    covers only the part before them
  next              next steps, a list

With --all, --json prints an array of objects. Their fields are run, state, is_rehearsal, task, \
goal, iterations, cost_usd, started_at, last_at, outcome (the name only) and sentence.";

/// The current status of a run.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks_outside: Vec<String>,
    agent: Option<AgentFacts>,
    doing: ActivityStatus,
    iteration: Option<CurrentIteration>,
    max_iterations: Option<u32>,
    iterations: u32,
    iterations_left: Option<u32>,
    progress: Option<TaskProgress>,
    #[serde(flatten)]
    spent: SpendStatus,
    mean_ms: Option<u128>,
    estimated_end: Option<Timestamp>,
    idle: u32,
    idle_limit: u32,
    failing: Option<FailingStatus>,
    failing_curve: Option<String>,
    #[serde(rename = "without_improvement")]
    without_gain: u32,
    #[serde(rename = "no_improvement_limit")]
    no_gain_limit: u32,
    flaky: Vec<String>,
    stop: Option<StopWhen>,
    paused: bool,
    denied: Vec<DeniedCommand>,
    blockers: Vec<String>,
    more_blockers: u32,
    warnings: u32,
    last_warnings: Vec<String>,
    last_iteration: Option<LastIterationStatus>,
    outcome: Option<OutcomeStatus>,
    started_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    #[serde(flatten)]
    places: RunPaths,
    state_folder: Option<PathBuf>,
    missing: Vec<String>,
    next: Vec<String>,
}

/// The resources used, and their limits.
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
    running: Option<RunningStatus>,
}

/// The estimated usage so far of the running attempt or call.
#[derive(Debug, Serialize)]
struct RunningStatus {
    cost_usd: Usd,
    tokens: u64,
}

/// The current activity of the run.
#[derive(Debug, Serialize)]
struct ActivityStatus {
    #[serde(flatten)]
    activity: Activity,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    why: Option<String>,
    /// The running tool of the agent, else its last tool or sentence.
    last: Option<String>,
}

/// The failures when the checks last ran.
#[derive(Debug, Serialize)]
struct FailingStatus {
    checks: u32,
    tests: Option<TestCounts>,
}

impl From<Failing> for FailingStatus {
    fn from(Failing { checks, uncounted: _, tests }: Failing) -> Self {
        Self { checks, tests }
    }
}

/// The result of the last iteration.
#[derive(Debug, Serialize)]
struct LastIterationStatus {
    number: u32,
    result: IterationStatus,
    files_changed: u32,
    commits: u32,
    cost_usd: Usd,
    duration_ms: u128,
    summary: String,
}

/// The outcome of the run, once it has ended.
#[derive(Debug, Serialize)]
struct OutcomeStatus {
    name: &'static str,
    proof: Option<Proof>,
    sentence: String,
    note: Option<String>,
    /// The basis of the last claim of completion, or why it was rejected.
    verification: Option<String>,
}

pub(super) fn status(options: &StatusArgs) -> Result<ExitCode, Failure> {
    if options.all {
        return all::all(options);
    }
    let found = options.selector.find()?;
    let mut view = RunView::default();
    let unread = found.walk(|record| view.record(&record))?;
    for text in &unread.missing {
        eprint_safe(&format!("warning: {text}"));
    }
    let now = Timestamp::now();
    let page = page(&found, &view, unread, now);
    if options.json {
        print_json(&page)?;
    } else {
        let text = words::text(&page, now);
        print(&wrap::for_stdout(&display_safe(&text), words::INDENT))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(
    found: &SelectedRun,
    view: &RunView,
    unread: UnreadableJournal,
    now: Timestamp,
) -> StatusPage {
    let SelectedRun { folder, owner, .. } = found;
    let UnreadableJournal { missing, from } = unread;
    let state = Liveness::of(view, owner.is_some(), from);
    // Time does not advance for a run without a process.
    let now = if state == Liveness::Running { now } else { view.at.unwrap_or(now) };
    let estimate = view.estimate(now);
    let facts = view.facts.as_ref();
    let blockers = last(view.blockers.iter().map(Blocker::sentence).collect());
    let hidden = view.blockers.len().saturating_sub(blockers.len());
    let next = steps_from_here(view.steps(folder.id(), state, from));
    StatusPage {
        run: folder.id().to_string(),
        state,
        is_rehearsal: view.is_rehearsal(),
        pid: owner.as_ref().map(|owner| owner.pid),
        task: facts.and_then(|facts| facts.task.clone()),
        goal: facts.map(|facts| facts.goal.clone()),
        mode: facts.map(|facts| facts.mode.clone()),
        project: facts.map(|facts| facts.project.clone()),
        sandbox: facts.filter(|facts| facts.sandbox.is_on()).map(|facts| facts.sandbox.name()),
        checks_outside: facts.map(|facts| facts.checks_outside.clone()).unwrap_or_default(),
        agent: facts.map(|facts| facts.agent.clone()),
        doing: ActivityStatus { last: last_activity(view, folder, state), ..doing(view) },
        iteration: view.iteration,
        max_iterations: view.limits.max_iterations,
        iterations: view.totals.iterations,
        iterations_left: estimate.iterations_left,
        progress: view.progress,
        spent: spent(view, running(view, folder, state), estimate.elapsed, now),
        mean_ms: estimate.mean.as_ref().map(Duration::as_millis),
        estimated_end: estimate.estimated_end.filter(|_| state == Liveness::Running),
        idle: view.idle,
        idle_limit: estimate.idle_limit,
        failing: view.failing.now().map(FailingStatus::from),
        failing_curve: failing_curve(view),
        without_gain: view.without_gain,
        no_gain_limit: facts.map_or(0, |facts| facts.no_gain_limit),
        flaky: view.flaky.iter().cloned().collect(),
        stop: view.stop,
        paused: view.paused,
        denied: view.denied.clone(),
        more_blockers: u32::try_from(hidden).unwrap_or(u32::MAX).saturating_add(view.more_blockers),
        blockers,
        warnings: view.warnings,
        last_warnings: view.recent_warnings.iter().cloned().collect(),
        last_iteration: view.last.as_ref().map(|last| last_iteration(view, last)),
        // If the journal is damaged, an outcome before the damage need not be the last.
        outcome: outcome(view).filter(|_| state == Liveness::Ended),
        started_at: view.started_at,
        last_at: view.at,
        places: folder.paths(),
        state_folder: folder.path().ancestors().nth(2).map(PathBuf::from),
        missing,
        next: next.iter().map(ToString::to_string).collect(),
    }
}

fn failing_curve(view: &RunView) -> Option<String> {
    Some(phrases::failing_curve(&view.failing)).filter(|curve| !curve.is_empty())
}

fn spent(
    view: &RunView,
    running: Option<RunningStatus>,
    elapsed: Duration,
    now: Timestamp,
) -> SpendStatus {
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
        running,
    }
}

/// Returns the usage so far of the running attempt, from its stored output.
fn running(view: &RunView, folder: &RunDir, state: Liveness) -> Option<RunningStatus> {
    let (dialect, path) = running_output(view, folder, state)?;
    let spend = output::spent(dialect, &path)?;
    Some(RunningStatus { cost_usd: spend.cost(), tokens: spend.tokens().counted() })
}

fn outcome(view: &RunView) -> Option<OutcomeStatus> {
    view.finished.as_ref().map(|finished| OutcomeStatus {
        name: finished.outcome.name(),
        proof: finished.outcome.proof(),
        sentence: finished.outcome.sentence(view.totals.iterations),
        note: finished.note.clone(),
        verification: view.verification().sentence(),
    })
}

fn last(mut texts: Vec<String>) -> Vec<String> {
    texts.split_off(texts.len().saturating_sub(MAX_LISTED))
}

fn last_iteration(view: &RunView, finished: &IterationFinished) -> LastIterationStatus {
    LastIterationStatus {
        number: finished.iteration.0,
        result: IterationStatus::of(finished, view.claim_of(finished)),
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
    let activity = view.activity();
    let (until, why) = match &activity {
        Activity::Waiting { limit, retry_at } => {
            (Some(*retry_at), Some(phrases::limit(*limit).to_owned()))
        }
        Activity::Retrying { at, why } => (Some(*at), Some(why.clone())),
        Activity::Checking => {
            let running = view.running_checks();
            (None, (!running.is_empty()).then(|| running.join(", ")))
        }
        Activity::Asking { purpose } => (None, Some(purpose.name().to_owned())),
        Activity::Starting
        | Activity::Working { .. }
        | Activity::Paused
        | Activity::Between
        | Activity::Ended => (None, None),
    };
    ActivityStatus { activity, since: view.since, until, why, last: None }
}

/// Returns the current or last activity of the agent in a live attempt. The stored output is
/// already masked.
fn last_activity(view: &RunView, folder: &RunDir, state: Liveness) -> Option<String> {
    let (dialect, path) = running_output(view, folder, state)?;
    output::doing(dialect, &path)
}

/// Returns the output file of the running attempt, if one is running.
fn running_output(view: &RunView, folder: &RunDir, state: Liveness) -> Option<(Dialect, PathBuf)> {
    let Activity::Working { .. } = view.activity() else { return None };
    let current = view.iteration.filter(|_| state == Liveness::Running)?;
    let dialect = view.facts.as_ref()?.agent.kind().dialect();
    let label = attempt_label(current.number.0, current.attempts);
    Some((dialect, folder.output().join(format!("{label}.ndjson"))))
}
