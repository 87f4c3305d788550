//! Titles and bodies of notifications.

use std::time::Duration;

use jiff::Timestamp;

use super::{NotificationBuilder, NotificationKind};
use crate::display::{display_safe, one_line};
use crate::event::{
    Event, GateEvent, GateResult, IterationEvent, IterationFinished, IterationKind,
    IterationResult, NoteEvent, RunEvent, RunStarted, StatusText, WaitEvent, WaitKind,
};
use crate::outcome::count;
use crate::phrases::{self, capitalized};
use crate::run_view::RunView;
use crate::units::{RunId, Usd, human};

/// The maximum length of the task or goal in a title, in characters.
const MAX_SUBJECT_CHARS: usize = 60;
/// The maximum length of a quoted text, in characters.
const MAX_QUOTE_CHARS: usize = 500;
/// The maximum number of missing items that are listed.
const MAX_MISSING: usize = 5;
/// The maximum length of a string, in characters: it has to fit on a phone.
pub(super) const MAX_TEXT_CHARS: usize = 1_800;

impl NotificationBuilder {
    pub(super) fn title_and_text(
        &self,
        kind: NotificationKind,
        run: &RunId,
        event: Option<&Event>,
    ) -> (String, String) {
        let (what, text) = match event {
            Some(Event::Run(RunEvent::Started(started))) => {
                ("ready to start".to_owned(), ready(run, started))
            }
            Some(Event::Iteration(IterationEvent::Started { kind, .. })) => {
                ("started".to_owned(), begun(run, *kind))
            }
            Some(Event::Iteration(IterationEvent::Finished(finished))) => {
                self.iteration(kind, finished)
            }
            Some(event @ Event::Note(NoteEvent::StatusChanged { .. })) => {
                let text = StatusText::of(event).map(|text| text.notification());
                let text = format!("STATUS UPDATE\n\n{}", text.unwrap_or_default());
                ("status update".to_owned(), text)
            }
            Some(Event::Wait(WaitEvent::Started { limit, retry_at, wait, .. })) => {
                ("waiting for a limit".to_owned(), waits(*limit, *retry_at, *wait))
            }
            Some(Event::Note(NoteEvent::BlockerReported { blocker })) => {
                let advice = format!("Answer with `nightwright tell {run} \"...\"`");
                let mut lines = vec![format!("The agent needs: {}", quote(&blocker.description))];
                let details = blocker.details();
                lines.extend(details.map(|(label, detail)| format!("{label}: {}", quote(detail))));
                lines.push(advice);
                let text = lines.join("\n");
                ("blocked".to_owned(), text)
            }
            Some(Event::Gate(GateEvent::Finished { result })) => {
                ("verification failed".to_owned(), self.not_accepted(result))
            }
            // The outcome, recorded or not.
            Some(_) | None => self.end(run),
        };
        (format!("{}: {what}", subject(&self.view)), bounded(&text))
    }

    fn iteration(&self, kind: NotificationKind, finished: &IterationFinished) -> (String, String) {
        let number = finished.iteration;
        let what = match (kind, &finished.result) {
            (NotificationKind::IterationMilestone, _) => format!("{number} iterations"),
            (_, IterationResult::Failed { .. }) => format!("iteration {number} failed"),
            (_, IterationResult::Interrupted) => format!("iteration {number} interrupted"),
            (_, IterationResult::Done) => format!("iteration {number}"),
        };
        let mut lines = Vec::new();
        if let IterationResult::Failed { why, .. } = &finished.result {
            lines.push(quote(why));
        }
        if kind == NotificationKind::IterationMilestone {
            lines.push(format!("So far: {}", totals(&self.view)));
        } else {
            lines.push(phrases::figures(finished, self.view.rehearsed()));
        }
        if let Some(progress) = self.view.progress.filter(|progress| progress.total > 0) {
            lines.push(format!("{}/{} items", progress.completed, progress.total));
        }
        lines.extend(failing(&self.view));
        let summary = quote(&finished.summary);
        if !summary.is_empty() {
            lines.push(summary);
        }
        (what, lines.join("\n"))
    }

    fn not_accepted(&self, result: &GateResult) -> String {
        let mut lines = vec![quote(&capitalized(&phrases::gate_result(result)))];
        let missing = self.view.gate.iter().flat_map(|gate| &gate.missing);
        // Whether the run continues is left to the next notification: this iteration may be the
        // last.
        lines.extend(missing.take(MAX_MISSING).map(|item| format!("- {}", quote(item))));
        lines.join("\n")
    }

    fn end(&self, run: &RunId) -> (String, String) {
        let summary = self.view.summary(run);
        let what = summary.outcome.as_ref().map_or("ended", phrases::headline);
        let mut lines = vec![quote(&summary.reason)];
        lines.extend(summary.note.as_deref().map(quote));
        lines.extend(failing(&self.view));
        lines.push(totals(&self.view));
        for (index, step) in summary.next.iter().enumerate() {
            let step = step.to_string();
            let first = match index {
                0 => "Next: ",
                _ if step.starts_with("or ") => "",
                _ => "or: ",
            };
            lines.push(format!("{first}{}", quote(&step)));
        }
        (what.to_owned(), lines.join("\n"))
    }
}

/// The task, or the first words of the goal.
fn subject(view: &RunView) -> String {
    let Some(facts) = &view.facts else { return "nightwright".to_owned() };
    let name = facts.task.as_deref().unwrap_or(&facts.goal);
    let subject = match one_line(name, MAX_SUBJECT_CHARS) {
        name if name.is_empty() => "nightwright".to_owned(),
        name => name,
    };
    if view.is_rehearsal() { format!("[rehearsal] {subject}") } else { subject }
}

fn ready(run: &RunId, started: &RunStarted) -> String {
    let RunStarted { settings, agent, project, .. } = started;
    let version = agent.version.as_deref().unwrap_or_default();
    format!(
        "Run {run} in {}\nMode {}, {}\nAgent {}",
        quote(project),
        quote(&settings.mode),
        phrases::limits(&settings.limits),
        quote(&format!("{} {version}", agent.name)),
    )
}

fn begun(run: &RunId, kind: IterationKind) -> String {
    match kind {
        IterationKind::Work => format!("Run {run}: the first iteration started."),
        IterationKind::WrapUp => format!("Run {run}: the wrap-up iteration started."),
        IterationKind::VerifyOnly => {
            format!("Run {run}: no open items; only the verification remains.")
        }
    }
}

fn waits(limit: WaitKind, until: Timestamp, wait: Duration) -> String {
    let until = until.strftime("%Y-%m-%d %H:%M UTC").to_string();
    capitalized(&phrases::wait_started(limit, &until, wait))
}

fn totals(view: &RunView) -> String {
    let totals = &view.totals;
    let parts = [
        Some(count(totals.iterations, "iteration")),
        (totals.commits > 0).then(|| count(totals.commits, "commit")),
        (totals.cost > Usd::ZERO).then(|| totals.cost.to_string()),
        Some(format!("{} active", human(totals.duration))),
        (!totals.waited.is_zero()).then(|| format!("{} waiting", human(totals.waited))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How much of the checks failed over the run.
fn failing(view: &RunView) -> Option<String> {
    let curve = phrases::failing_curve(&view.failing);
    (!curve.is_empty()).then(|| capitalized(&curve))
}

fn quote(text: &str) -> String {
    one_line(text, MAX_QUOTE_CHARS)
}

/// Truncates a string to the maximum length and makes it safe to show.
fn bounded(text: &str) -> String {
    let safe = display_safe(text);
    if safe.chars().count() <= MAX_TEXT_CHARS {
        return safe.into_owned();
    }
    let kept: String = safe.chars().take(MAX_TEXT_CHARS - 1).collect();
    format!("{kept}…")
}
