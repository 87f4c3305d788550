//! The text of a log's sections: header, prompts, iterations.

use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nightwright_core::display::{display_safe, one_line};
use nightwright_core::event::{
    AgentFacts, AgentKind, AttemptEvent, Event, FeedbackSource, GateEvent, IterationFinished,
    IterationResult, NoteEvent, RunStarted,
};
use nightwright_core::input::{CheckResult, TaskProgress};
use nightwright_core::outcome::count;
use nightwright_core::phrases;
use nightwright_core::prompt;
use nightwright_core::results::IterationStatus;
use nightwright_core::run_view::RunView;
use nightwright_core::settings::Scope;
use nightwright_core::units::{Iteration, RunId, human};

use crate::output::page::{LineStart, Page};

/// The width of a horizontal rule.
const WIDTH: usize = 80;

/// The maximum length of a metadata value, in characters.
const MAX_LINE_CHARS: usize = 1_000;

/// The contents of a log's header.
pub(super) struct LogHeader<'a> {
    pub(super) run: &'a RunId,
    pub(super) started: &'a RunStarted,
    /// The time when the run began.
    pub(super) at: Timestamp,
    /// The time when this log begins.
    pub(super) now: Timestamp,
    /// The path of the previous log of this run.
    pub(super) earlier: Option<&'a str>,
    /// The limits as a phrase.
    pub(super) limits: String,
}

/// A date and time, such as `2026-11-15 23:34:12 UTC`.
pub(super) fn moment(zone: &TimeZone, at: Timestamp) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

/// A time of day, such as `23:34:12`.
pub(super) fn time(zone: &TimeZone, at: Timestamp) -> String {
    at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()
}

/// A title between two rules, with an empty line above.
pub(super) fn banner(title: &str) -> String {
    let rule = "=".repeat(WIDTH);
    format!("\n{rule}\n{title}\n{rule}\n")
}

/// A section title with a rule below it.
fn section(title: &str) -> String {
    format!("\n{title}\n{}\n", "-".repeat(WIDTH))
}

/// The header, which identifies the run.
pub(super) fn head(zone: &TimeZone, facts: &LogHeader<'_>) -> String {
    let LogHeader { run, started, at, now, earlier, limits } = facts;
    let RunStarted { settings, agent, project, git_head, .. } = started;
    let mut text = banner("NIGHTWRIGHT - EXECUTION LOG").trim_start().to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Started: {}", moment(zone, *now));
    text.push_str(&section("RUN METADATA"));
    let mut row = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<14}{}", one_line(value, MAX_LINE_CHARS));
    };
    row("Run:", &run.0);
    row("Task:", settings.task.as_deref().unwrap_or("none, a goal"));
    row("Mode:", &settings.mode);
    row("Limits:", limits);
    row("Run started:", &moment(zone, *at));
    row("Project:", project);
    if let Some(commit) = git_head {
        row("Commit:", commit);
    }
    row("Agent:", &described(agent));
    if now > at {
        row("Continued:", &moment(zone, *now));
    }
    if let Some(earlier) = earlier {
        row("Previous log:", earlier);
    }
    text
}

/// The agent with its version and path, such as `claude 2.1.0 (/usr/bin/claude)`.
fn described(agent: &AgentFacts) -> String {
    let AgentFacts { name, path, version } = agent;
    let version = version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    match (name.as_str(), path.as_str()) {
        ("", "") => "none".to_owned(),
        (name, "") => format!("{name}{version}"),
        (name, path) => format!("{name}{version} ({path})"),
    }
}

/// The goal, the system prompt and the status instructions.
pub(super) fn parameters(started: &RunStarted) -> String {
    let settings = &started.settings;
    let mut text = section("INSTRUCTIONS");
    text.push_str(&body(&settings.goal, "none"));
    if settings.scope == Scope::Gate {
        // Only the gate runs, so there are no prompts.
        return text;
    }
    text.push_str(&section("SYSTEM PROMPT"));
    text.push_str(&match prompt::system_prompt(settings, Iteration(1)) {
        Ok(system) => body(&system, "none"),
        Err(error) => body(&format!("cannot compose the prompt: {error}"), ""),
    });
    text.push_str(&section("STATUS INSTRUCTIONS"));
    let status = prompt::status_instructions(settings).unwrap_or_default();
    text.push_str(&body(&status, "none: there is no status file in this mode"));
    text
}

fn body(text: &str, none: &str) -> String {
    match display_safe(text).trim() {
        "" => format!("{none}\n"),
        text => format!("{text}\n"),
    }
}

/// The header of an iteration.
pub(super) fn iteration(zone: &TimeZone, title: &str, at: Timestamp) -> String {
    format!("{}Started: {}\n", banner(title), moment(zone, at))
}

/// The name of the agent in the heading of its output.
pub(super) fn agent_name(agent: Option<&AgentFacts>) -> String {
    let name = match agent {
        Some(agent) if agent.kind() == AgentKind::Command => {
            let program = Path::new(&agent.path).file_stem().unwrap_or_default();
            program.to_string_lossy().into_owned()
        }
        Some(AgentFacts { name, .. }) => name.clone(),
        None => String::new(),
    };
    match one_line(&name, 40).as_str() {
        "" => "AGENT".to_owned(),
        name => name.to_uppercase(),
    }
}

/// The result of an iteration, with its figures and failures.
pub(super) fn footer(
    zone: &TimeZone,
    at: Timestamp,
    view: &RunView,
    finished: &IterationFinished,
    failed: &[String],
) -> String {
    let status = phrases::iteration_status(IterationStatus::of(finished, view.claim_of(finished)));
    let rehearsed = view.rehearsed();
    let mut text = format!("\n{}\nSTATUS: {status}\n", "-".repeat(WIDTH));
    let mut row = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} {}", one_line(value, MAX_LINE_CHARS));
    };
    row("Completed:", &moment(zone, at));
    if let Some(TaskProgress { completed, total }) = finished.items() {
        let left = count(total.saturating_sub(completed), "item");
        row("Remaining:", &format!("{left} ({completed} of {total} done)"));
    }
    row("Work:", &changed(finished));
    row("Cost:", &format!("{}{rehearsed} in {}", finished.cost, human(finished.duration)));
    if !finished.summary.trim().is_empty() {
        row("Summary:", &finished.summary);
    }
    if let IterationResult::Failed { why, .. } = &finished.result {
        row("Error:", why);
    }
    let label = match &finished.result {
        IterationResult::Done | IterationResult::Interrupted => "Retried after:",
        IterationResult::Failed { .. } => "Caused by:",
    };
    if !failed.is_empty() {
        row(label, &failed.join("; "));
    }
    text
}

fn changed(finished: &IterationFinished) -> String {
    let parts: Vec<_> = phrases::changes(finished.files_changed, finished.commits).collect();
    if parts.is_empty() { "no changes".to_owned() } else { parts.join(", ") }
}

/// Writes the details of an event that only the log shows.
pub(super) fn more(page: &mut Page<'_>, event: &Event) {
    if let Event::Attempt(AttemptEvent::AgentReady { ready, .. }) = event {
        page.line(&format!("{}, version {}", ready.model, ready.version));
    } else if let Event::Attempt(AttemptEvent::Cancelled { why, .. }) = event {
        page.line(&format!("cancelled: {}", phrases::cancel_reason(*why)));
    } else if let Event::Gate(GateEvent::ChecksFinished { results, .. }) = event {
        for result in results.iter().filter(|result| !result.verdict.is_pass()) {
            page.detail(&check(result));
        }
    } else if let Event::Note(NoteEvent::FeedbackAdded { source, text }) = event
        && *source != FeedbackSource::Human
    {
        page.line("for the next iteration:");
        page.verbatim(LineStart { indent: 4, sign: "" }, None, text.trim_end());
    }
}

fn check(result: &CheckResult) -> String {
    let log = result.log.as_deref().map(|log| format!(", see {log}")).unwrap_or_default();
    format!("{}{log}", phrases::check(result))
}
