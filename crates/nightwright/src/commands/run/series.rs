//! Several tasks, one after another: each is a separate run, and all share one budget.

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use nightwright_core::display::one_line;
use nightwright_core::event::Totals;
use nightwright_core::outcome::{Outcome, count};
use nightwright_core::policy::series::{self, SeriesBudget, SeriesEnd, Unfinished, end};
use nightwright_core::run_view::REHEARSED;
use nightwright_core::settings::Settings;
use nightwright_core::units::{RunId, Usd, human};

use super::goal::nothing_to_do;
use super::{RunArgs, RunCommand, run_one};
use crate::app::approval;
use crate::app::run_spec::{self, RequestPurpose};
use crate::commands::cli::usage;
use crate::config::{self, OutputLevel, ResolvedConfig};
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::process::DetachPipe;
use crate::task::{self, ProjectRuns, Task, TaskOverview, TaskStatus};

/// Maximum characters of an outcome in the summary.
const MAX_OUTCOME_CHARS: usize = 120;

/// The end of a run in a series.
pub(super) struct RunEnd {
    pub(super) id: RunId,
    pub(super) outcome: Outcome,
    pub(super) totals: Totals,
}

/// Returns the names of the tasks if there are several; `None` for a single task or a goal.
pub(super) fn tasks(
    options: &RunArgs,
    command: RunCommand,
    project: &Path,
) -> Result<Option<Vec<String>>, Failure> {
    if let Some(own) = command.mode()
        && (options.all || options.keep_going)
    {
        return Err(Failure::usage(format!("`nightwright {own}` takes one task"))
            .hint("name one task, and repeat the command for each"));
    }
    if options.all {
        return unfinished_tasks(project).map(Some);
    }
    let names = &options.tasks;
    if names.len() < 2 {
        return if options.keep_going {
            Err(Failure::usage("--keep-going requires several tasks")
                .hint("name more than one task, or use --all"))
        } else {
            Ok(None)
        };
    }
    if let Some(goal) = names.iter().find(|name| name.contains(char::is_whitespace)) {
        let goal = one_line(goal, MAX_OUTCOME_CHARS);
        return Err(Failure::usage(format!("cannot combine the goal `{goal}` with other tasks"))
            .hint("pass one goal in quotes, or the names of tasks"));
    }
    let is_task = |name: &String| Task::open(project, name).is_ok();
    if !names.iter().any(is_task)
        && let Some(failure) = usage::unquoted_goal(&names[1], &usage::original_arguments())
    {
        return Err(failure);
    }
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(Failure::usage(format!("you named the task `{name}` twice")));
        }
    }
    Ok(Some(names.clone()))
}

/// Returns the tasks that have instructions and are not completed.
fn unfinished_tasks(project: &Path) -> Result<Vec<String>, Failure> {
    let runs = ProjectRuns::of(project)?;
    let (mut names, mut skipped) = (Vec::new(), Vec::new());
    for listed in task::list(project)? {
        let overview = TaskOverview::of(&listed.task?, &runs)?;
        let why = match overview.status {
            TaskStatus::Completed => Some("completed"),
            TaskStatus::Running => Some("running"),
            TaskStatus::New
            | TaskStatus::Ready
            | TaskStatus::Stopped
            | TaskStatus::Interrupted
            | TaskStatus::Limit
            | TaskStatus::Stagnated
            | TaskStatus::Blocked
            | TaskStatus::Unverified
            | TaskStatus::Error => overview.instructions.is_none().then_some("no instructions"),
        };
        match why {
            Some(why) => skipped.push(format!("{} ({why})", listed.name)),
            None => names.push(listed.name),
        }
    }
    if !skipped.is_empty() {
        eprint_safe(&format!("Skipped: {}", skipped.join(", ")));
    }
    if names.is_empty() && skipped.is_empty() {
        return Err(nothing_to_do(project, None));
    }
    Ok(names)
}

/// Runs the tasks, and prints how they ended.
pub(super) fn run(
    options: &RunArgs,
    project: &Path,
    names: &[String],
    pipe: Option<&Arc<DetachPipe>>,
) -> Result<ExitCode, Failure> {
    if names.is_empty() {
        eprint_safe("There is nothing to do.");
        return Ok(ExitCode::SUCCESS);
    }
    let each: Vec<_> = names.iter().map(|name| options.only(name)).collect();
    // Mistakes are found before the first run. A plan that an earlier task writes may be missing.
    for one in &each {
        run_spec::resolve_run(&one.asked(RunCommand::Run, project, RequestPurpose::Look)?)?;
    }
    let mut budget = shared_budget(options, project)?;
    let unfinished = if options.keep_going { Unfinished::IsSkipped } else { Unfinished::Stops };
    let is_heard = options.output.level() != Some(OutputLevel::Quiet);
    let mut ended: Vec<(&str, RunEnd)> = Vec::new();
    let mut stopped = None;
    for (name, one) in names.iter().zip(&each) {
        if is_heard {
            eprint_safe(&format!("\nTask {} of {}: {name}", ended.len() + 1, names.len()));
        }
        let cap = |settings: &mut Settings| budget.cap(&mut settings.limits);
        let (code, end_of_run) = run_one(one, RunCommand::Run, project, pipe, Vec::new(), &cap)?;
        // The run was interrupted before it started.
        let Some(end_of_run) = end_of_run else { return Ok(code) };
        budget.spend(&end_of_run.totals);
        stopped = end(&end_of_run.outcome, unfinished, &budget);
        ended.push((name, end_of_run));
        if stopped.is_some() {
            break;
        }
    }
    if is_heard {
        let rehearsed = if options.agent.dry_run { REHEARSED } else { "" };
        summarize(&ended, &names[ended.len()..], stopped, rehearsed);
    }
    let strictness = options.strictness();
    let outcomes: Vec<_> = ended.iter().map(|(_, end)| &end.outcome).collect();
    Ok(ExitCode::from(series::exit_code(&outcomes, names.len(), strictness)))
}

/// Returns the budget of the whole series: the limits of the command line and the configuration,
/// without those of the tasks.
fn shared_budget(options: &RunArgs, project: &Path) -> Result<SeriesBudget, Failure> {
    let layers = config::load(project, None, |name| env::var_os(name))?;
    // Each run of the series shows the notes.
    let mut layers = if options.yes { layers } else { approval::as_it_applies(project, layers)?.0 };
    layers.push(options.flags());
    let mut settings = Settings::default();
    ResolvedConfig::new(layers).apply(&mut settings);
    let limits = settings.limits;
    Ok(SeriesBudget {
        cost: limits.max_cost,
        duration: limits.max_duration,
        tokens: limits.max_tokens,
    })
}

fn summarize(
    ended: &[(&str, RunEnd)],
    rest: &[String],
    stopped: Option<SeriesEnd>,
    rehearsed: &str,
) {
    let is_complete = |(_, end): &&(&str, RunEnd)| end.outcome.proof().is_some();
    let completed = ended.iter().filter(is_complete).count();
    let cost = ended.iter().fold(Usd::ZERO, |sum, (_, end)| sum + end.totals.cost);
    let time = ended.iter().map(|(_, end)| end.totals.duration).sum();
    let tasks = count(u32::try_from(ended.len() + rest.len()).unwrap_or(u32::MAX), "task");
    let mut lines = vec![format!(
        "\n{completed} of {tasks} completed, {cost}{rehearsed}, {} active",
        human(time)
    )];
    let names = ended.iter().map(|(name, _)| *name).chain(rest.iter().map(String::as_str));
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, RunEnd { id, outcome, totals }) in ended {
        let sentence = one_line(&outcome.sentence(totals.iterations), MAX_OUTCOME_CHARS);
        lines.push(format!("  {name:width$}  {sentence} ({id})"));
    }
    let why = match stopped {
        Some(SeriesEnd::Unfinished) => "the previous task did not complete (see --keep-going)",
        Some(SeriesEnd::Operator) => "the previous run stopped",
        Some(SeriesEnd::Hopeless) => "it would fail in the same way",
        Some(SeriesEnd::BudgetUsed) | None => "no budget remains",
    };
    lines.extend(rest.iter().map(|name| format!("  {name:width$}  Not started: {why}")));
    eprint_safe(&lines.join("\n"));
}
