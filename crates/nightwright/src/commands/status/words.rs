//! Formats the status of a run as text.

use std::env;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nightwright_core::display::one_line;
use nightwright_core::event::StopWhen;
use nightwright_core::outcome::count;
use nightwright_core::phrases::{self, thousands};
use nightwright_core::run_view::{Activity, Liveness, REHEARSED};
use nightwright_core::units::{Usd, human};

use super::{ActivityStatus, LastIterationStatus, StatusPage};
use crate::config::ColorChoice;
use crate::output::{OutputCapabilities, Style};

/// Maximum characters shown of prose from the agent or a check. A text with a command or a rule is
/// never cut, because a part of it cannot be pasted.
const MAX_TEXT_CHARS: usize = 200;

/// The option that a string with a rule contains.
const RULE_OPTION: &str = "--allowed-tools";

/// The column at which the text of a row starts.
pub(super) const INDENT: usize = 14;

/// Maximum number of refused commands that are shown.
const MAX_DENIED: usize = 10;

/// Returns the lines of the page.
pub(super) fn text(page: &StatusPage, now: Timestamp) -> String {
    let style = Style::new(ColorChoice::Never, &OutputCapabilities::new(env::var_os, false));
    let mut lines = LabelledLines { lines: Vec::new(), style };
    lines.row("run", &page.run);
    lines.row("state", &state(page, now, &lines.style));
    if let Some(proof) = proof(page) {
        lines.row("proof", &one_line(proof, usize::MAX));
    }
    if let Some(last) = &page.doing.last {
        lines.row("agent", &lines.style.one_line(last, MAX_TEXT_CHARS));
    }
    lines.list("incomplete", &page.missing);
    if page.is_rehearsal {
        lines.row("rehearsal", phrases::REHEARSAL);
    }
    if let Some(task) = &page.task {
        lines.row("task", task);
    }
    if let Some(goal) = page.goal.as_ref().filter(|goal| !goal.is_empty()) {
        lines.row("goal", &lines.style.one_line(goal, MAX_TEXT_CHARS));
    }
    lines.row("mode", page.mode.as_deref().unwrap_or("unknown: the run has not started"));
    lines.row("iteration", &iteration(page));
    if let Some(items) = page.progress {
        lines.row("progress", &phrases::remaining(items));
    }
    lines.row("cost", &cost(page));
    lines.row("time", &time(page));
    lines.row("tokens", &tokens(page));
    pace(&mut lines, page, now);
    pending_requests(&mut lines, page);
    let denied: Vec<_> = page.denied.iter().map(phrases::denied).collect();
    let earlier = denied.len().saturating_sub(MAX_DENIED);
    lines.list("denied", &after(earlier, &denied[earlier..]));
    // In a completed run, the blockers were not fatal.
    if page.outcome.as_ref().is_none_or(|outcome| outcome.proof.is_none()) {
        lines.prose("blocked by", &after(page.more_blockers as usize, &page.blockers));
    }
    let earlier = (page.warnings as usize).saturating_sub(page.last_warnings.len());
    lines.prose("warnings", &after(earlier, &page.last_warnings));
    if let Some(kind) = page.sandbox {
        lines.row("sandbox", kind);
    }
    lines.list("outside", &page.checks_outside);
    lines.row("project", page.project.as_deref().unwrap_or("unknown"));
    lines.row("run folder", &page.places.run_folder.display().to_string());
    lines.row("journal", &page.places.journal.display().to_string());
    if let Some(log) = &page.places.log {
        lines.row("log", &log.display().to_string());
    }
    if let Some(folder) = &page.state_folder {
        lines.row("state folder", &folder.display().to_string());
    }
    lines.lines.push(String::new());
    lines.list("next", &page.next);
    lines.lines.join("\n")
}

/// Lines with a label each, in the style of the terminal.
struct LabelledLines {
    lines: Vec<String>,
    style: Style,
}

impl LabelledLines {
    fn row(&mut self, label: &str, text: &str) {
        self.lines.push(format!("{label:<INDENT$}{text}"));
    }

    /// Adds strings of the agent or a check, which are cut unless they contain a rule.
    fn prose(&mut self, label: &str, texts: &[String]) {
        let cut: Vec<_> = texts.iter().map(|text| prose(text, &self.style)).collect();
        self.list(label, &cut);
    }

    /// Adds strings that are never cut.
    fn list(&mut self, label: &str, texts: &[String]) {
        for (index, text) in texts.iter().enumerate() {
            let text = one_line(text, usize::MAX);
            self.row(if index == 0 { label } else { "" }, &text);
        }
    }
}

/// Formats the state: `running: the agent has been working since 15:04:12 UTC (pid 4711)`.
fn state(page: &StatusPage, now: Timestamp, style: &Style) -> String {
    match (&page.outcome, page.state) {
        (Some(end), _) => {
            let at = page.last_at.map(|at| format!(" ({})", when(at, now))).unwrap_or_default();
            let note = end.note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
            format!("ended: {}{note}{at}", prose(&end.sentence, style))
        }
        (None, Liveness::Unknown) => "unknown: the end of its journal is unreadable".to_owned(),
        (None, Liveness::Crashed) => {
            let at = page.last_at.map(|at| format!(", last event {}", when(at, now)));
            format!("crashed{}", at.unwrap_or_default())
        }
        (None, Liveness::Running | Liveness::Ended) => {
            let pid = page.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            format!("running: {}{pid}", doing(&page.doing, now, style))
        }
    }
}

fn prose(text: &str, style: &Style) -> String {
    if text.contains(RULE_OPTION) {
        one_line(text, usize::MAX)
    } else {
        style.one_line(text, MAX_TEXT_CHARS)
    }
}

/// The basis of a completion. Other outcomes say themselves why a claim was rejected.
fn proof(page: &StatusPage) -> Option<&str> {
    page.outcome.as_ref().filter(|outcome| outcome.proof.is_some())?.verification.as_deref()
}

fn doing(doing: &ActivityStatus, now: Timestamp, style: &Style) -> String {
    let since = doing.since.map(|at| format!(" since {}", when(at, now))).unwrap_or_default();
    let until = doing.until.map(|at| format!(" until {}", when(at, now))).unwrap_or_default();
    let why = style.one_line(doing.why.as_deref().unwrap_or_default(), MAX_TEXT_CHARS);
    match &doing.activity {
        Activity::Working { .. } => format!("the agent has been working{since}"),
        Activity::Waiting { .. } => format!("{why}: waiting{until}"),
        Activity::Retrying { .. } => format!("{why}: retrying, waiting{until}"),
        Activity::Checking if why.is_empty() => format!("assessing the iteration{since}"),
        Activity::Checking => format!("running the checks ({why}){since}"),
        Activity::Asking { .. } => format!("asking a model ({why}){since}"),
        Activity::Paused => format!("paused{since}"),
        Activity::Between => format!("between two iterations{since}"),
        Activity::Starting => format!("preparing the next attempt{since}"),
        // Not shown: the outcome is shown instead.
        Activity::Ended => "finishing".to_owned(),
    }
}

fn iteration(page: &StatusPage) -> String {
    let Some(current) = &page.iteration else {
        let most = page.max_iterations.map(|most| format!(" (at most {most})"));
        return format!("none yet{}", most.unwrap_or_default());
    };
    let of = page.max_iterations.map(|most| format!(" of at most {most}")).unwrap_or_default();
    let attempts = match current.attempts {
        0 | 1 => String::new(),
        attempts => format!(", {}", count(attempts, "attempt")),
    };
    format!("{}{of}{attempts}", current.number)
}

fn cost(page: &StatusPage) -> String {
    let of =
        page.spent.max_cost_usd.map(|most| format!(" of {}", most.exact())).unwrap_or_default();
    let estimated = phrases::estimated_part(page.spent.estimated_usd);
    let running = match &page.spent.running {
        Some(running) if running.cost_usd > Usd::ZERO => {
            format!(", and about {} in the running attempt", running.cost_usd)
        }
        Some(_) | None => String::new(),
    };
    let cost = format!("{}{of}{estimated}{running}", page.spent.cost_usd);
    if page.is_rehearsal { phrases::rehearsed_cost(&cost) } else { cost }
}

fn time(page: &StatusPage) -> String {
    let of =
        page.spent.max_duration_ms.map(|most| format!(" of {}", span(most))).unwrap_or_default();
    let waited = match page.spent.waited_ms {
        0 => String::new(),
        waited => format!(", {} waiting", span(waited)),
    };
    let elapsed = span(page.spent.elapsed_ms);
    format!("{} active{of}{waited}, {elapsed} since the start", span(page.spent.active_ms))
}

fn tokens(page: &StatusPage) -> String {
    let number = thousands(page.spent.tokens);
    let of =
        page.spent.max_tokens.map(|most| format!(" of {}", thousands(most))).unwrap_or_default();
    let running = match &page.spent.running {
        Some(running) if running.tokens > 0 => {
            format!(", and {} in the running attempt", thousands(running.tokens))
        }
        Some(_) | None => String::new(),
    };
    format!("{number}{of}{running}")
}

/// Adds the lines about speed, the expected end, idle iterations and the last iteration.
fn pace(lines: &mut LabelledLines, page: &StatusPage, now: Timestamp) {
    if let Some(mean) = page.mean_ms {
        lines.row("pace", &format!("{} per iteration (mean of the last five)", span(mean)));
    }
    if let Some(end) = page.estimated_end {
        lines.row("estimated end", &when(end, now));
    }
    if page.idle > 0 {
        let idle = match page.idle_limit {
            0 => phrases::consecutive(page.idle),
            limit => format!("{} of {}", page.idle, phrases::consecutive(limit)),
        };
        lines.row("idle", &idle);
    }
    if let Some(curve) = &page.failing_curve {
        let curve = lines.style.spelled(curve).into_owned();
        let stuck = match (page.without_gain, page.no_gain_limit) {
            (0, _) => String::new(),
            (stuck, 0) => format!("; no improvement in {}", count(stuck, "iteration")),
            (stuck, limit) => {
                format!("; no improvement in {stuck} of {}", count(limit, "iteration"))
            }
        };
        lines.row("checks", &format!("{curve}{stuck}"));
    }
    lines.list("flaky", &page.flaky);
    if let Some(last) = &page.last_iteration {
        lines.row("last", &last_iteration(last, page.is_rehearsal, &lines.style));
    }
}

/// Formats the last iteration: `iteration 3: progress, 2 files, 1 commit, $0.42, 6m 12s: what it says`.
fn last_iteration(last: &LastIterationStatus, is_rehearsal: bool, style: &Style) -> String {
    let mut parts = vec![phrases::iteration_status(last.result).to_owned()];
    parts.extend(phrases::changes(last.files_changed, last.commits));
    let rehearsed = if is_rehearsal { REHEARSED } else { "" };
    parts.push(format!("{}{rehearsed}", last.cost_usd));
    parts.push(span(last.duration_ms));
    let summary = match style.one_line(&last.summary, MAX_TEXT_CHARS).as_str() {
        "" => String::new(),
        summary => format!(": {summary}"),
    };
    format!("iteration {}: {}{summary}", last.number, parts.join(", "))
}

fn pending_requests(lines: &mut LabelledLines, page: &StatusPage) {
    match page.stop {
        Some(StopWhen::AfterIteration) => lines.row("stop", "after this iteration, as requested"),
        Some(StopWhen::Now) => lines.row("stop", "now, as requested"),
        None => {}
    }
    match page.state {
        Liveness::Running if page.paused && page.doing.activity != Activity::Paused => {
            lines
                .row("pause", "requested: the run pauses after the current attempt, call or check");
        }
        Liveness::Crashed if page.paused => {
            lines.row("pause", "the run was paused when it crashed");
        }
        Liveness::Running | Liveness::Crashed | Liveness::Ended | Liveness::Unknown => {}
    }
}

/// Returns the last entries of a list, after the number of omitted ones.
fn after(earlier: usize, last: &[String]) -> Vec<String> {
    let before = (earlier > 0).then(|| format!("{earlier} earlier"));
    before.into_iter().chain(last.iter().cloned()).collect()
}

fn span(millis: u128) -> String {
    human(Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)))
}

/// Formats a time in the local time zone, as short as possible relative to `now`.
fn when(at: Timestamp, now: Timestamp) -> String {
    let (there, here) = (at.to_zoned(TimeZone::system()), now.to_zoned(TimeZone::system()));
    let format = if there.date() == here.date() { "%H:%M:%S %Z" } else { "%Y-%m-%d %H:%M %Z" };
    there.strftime(format).to_string()
}
