//! `nightwright status --all`: the runs of a project, the newest first.

use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nightwright_core::display::one_line;
use nightwright_core::run_view::{Liveness, RunView};
use nightwright_core::units::Usd;
use serde::Serialize;

use super::StatusArgs;
use crate::commands::cli::context::table;
use crate::commands::cli::select_run::SelectedRun;
use crate::console::{advise, print, print_json};
use crate::error::Failure;

const MAX_GOAL_CHARS: usize = 40;
const MAX_RESULT_CHARS: usize = 100;

#[derive(Debug, Serialize)]
struct RunRow {
    run: String,
    state: Liveness,
    is_rehearsal: bool,
    task: Option<String>,
    goal: Option<String>,
    iterations: u32,
    cost_usd: Usd,
    started_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    outcome: Option<&'static str>,
    sentence: Option<String>,
}

pub(super) fn all(options: &StatusArgs) -> Result<ExitCode, Failure> {
    let rows: Vec<_> = options.selector.find_all()?.iter().map(row).collect();
    if options.json {
        print_json(&rows)?;
    } else if rows.is_empty() {
        advise("no runs yet; run `nightwright run \"make the tests pass\" -m 10` to start one");
    } else {
        print(&text(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the row of a run, as far as its journal can be read.
fn row(found: &SelectedRun) -> RunRow {
    let mut view = RunView::default();
    let state = match found.walk(|record| view.record(&record)) {
        Ok(unread) => Liveness::of(&view, found.owner.is_some(), unread.from),
        Err(_) => Liveness::Unknown,
    };
    let outcome = super::outcome(&view).filter(|_| state == Liveness::Ended);
    let facts = view.facts.as_ref();
    RunRow {
        run: found.folder.id().to_string(),
        state,
        is_rehearsal: view.is_rehearsal(),
        task: facts.and_then(|facts| facts.task.clone()),
        goal: facts.map(|facts| facts.goal.clone()),
        iterations: view.totals.iterations,
        cost_usd: view.totals.cost,
        started_at: view.started_at,
        last_at: view.at,
        outcome: outcome.as_ref().map(|outcome| outcome.name),
        sentence: outcome.map(|outcome| outcome.sentence),
    }
}

/// Formats the start of a run in the local time zone.
fn started(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

fn text(rows: &[RunRow]) -> String {
    let head = ["RUN", "TASK OR GOAL", "STARTED", "ITERATIONS", "COST", "RESULT"];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        let subject = row.task.as_deref().or(row.goal.as_deref()).unwrap_or("-");
        let rehearsal = if row.is_rehearsal { " (rehearsal)" } else { "" };
        let result = row.sentence.as_deref().unwrap_or(match row.state {
            Liveness::Running => "running",
            Liveness::Crashed => "crashed",
            Liveness::Ended => "ended",
            Liveness::Unknown => "unknown: the end of its journal is unreadable",
        });
        [
            row.run.clone(),
            one_line(subject, MAX_GOAL_CHARS),
            row.started_at.map_or_else(|| "-".to_owned(), started),
            row.iterations.to_string(),
            row.cost_usd.to_string(),
            one_line(result, MAX_RESULT_CHARS) + rehearsal,
        ]
    }));
    table(&lines)
}
