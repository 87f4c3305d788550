//! The summary at the end of a run.

use std::path::Path;

use nightwright_core::outcome::{Outcome, count};
use nightwright_core::permissions::denial::DeniedCommand;
use nightwright_core::phrases;
use nightwright_core::phrases::thousands;
use nightwright_core::run_view::{PurposeSpend, Summary};
use nightwright_core::units::{Usd, human};

use super::lines::DENIED_COMMAND;
use super::page::Page;
use super::style::Style;

/// The maximum number of denied commands shown.
const MAX_DENIED: usize = 8;

/// Renders the summary for stderr, in several lines. `log` is the path of the full log.
pub fn render(summary: &Summary, style: &Style, log: Option<&Path>) -> String {
    let mut page = Page::new(style);
    page.sign(summary.tone, &summary.reason);
    if let Some(Outcome::LimitWaitTooLong { until: Some(until) }) = summary.outcome {
        page.detail(&format!("local time: {}", style.date(until)));
    }
    if let Some(note) = &summary.note {
        page.detail(note);
    }
    if let Some(verified) = summary.verified() {
        page.detail(&verified);
    }
    page.detail(&work(summary));
    if let Some(cost) = cost(summary) {
        page.detail(&cost);
    }
    denied(&mut page, summary);
    if summary.warnings > 0 {
        page.detail(&format!("{}, see above", count(summary.warnings, "warning")));
    }
    if let Some(log) = log {
        page.detail(&format!("log: {}", log.display()));
    }
    for (index, step) in summary.next.iter().enumerate() {
        match index {
            0 => page.command_line("  ", &format!("next: {step}")),
            _ => page.command_line("        ", &step.to_string()),
        }
    }
    page.finish()
}

/// Lists the denied commands, except those that the outcome mentions.
fn denied(page: &mut Page<'_>, summary: &Summary) {
    let line = |refused: &DeniedCommand| {
        let what = page.style().one_line(&refused.what(), DENIED_COMMAND);
        phrases::denied_as(&what, refused.rule.as_deref())
    };
    let lines: Vec<_> = summary.denied.iter().map(line).collect();
    let open: Vec<_> = lines.iter().filter(|line| !summary.reason.contains(*line)).collect();
    for line in open.iter().take(MAX_DENIED) {
        page.detail(&format!("denied: {line}"));
    }
    if open.len() > MAX_DENIED {
        page.detail(&format!("denied: {} more, see the report", open.len() - MAX_DENIED));
    }
}

/// The amount of work: `4 attempts, 3 files changed, 5s at work, 2h 13m waiting`.
fn work(summary: &Summary) -> String {
    let Summary { iterations, attempts, commits, files_changed, duration, waited, .. } = summary;
    let mut parts = Vec::new();
    // The sentences of these outcomes contain the number of iterations.
    let is_counted = matches!(
        summary.outcome,
        Some(Outcome::Completed { .. } | Outcome::Stopped | Outcome::MaxIterations { .. })
    );
    if !is_counted {
        parts.push(count(*iterations, "iteration"));
    }
    parts.push(count(*attempts, "attempt"));
    if *commits > 0 {
        parts.push(count(*commits, "commit"));
    }
    if *files_changed > 0 {
        parts.push(format!("{} changed", count(*files_changed, "file")));
    }
    parts.push(format!("{} active", human(*duration)));
    if !waited.is_zero() {
        parts.push(format!("{} waiting", human(*waited)));
    }
    parts.join(", ")
}

/// The cost: `cost $0.61 (work $0.58 in 4 attempts, verify $0.03 in 1 call), 12,300 tokens`.
fn cost(summary: &Summary) -> Option<String> {
    if summary.purposes.is_empty() {
        return None;
    }
    let purposes: Vec<_> = summary.purposes.iter().map(purpose).collect();
    let estimated = match summary.estimated {
        Usd::ZERO => String::new(),
        estimated if estimated == summary.cost => ", estimated".to_owned(),
        estimated => phrases::estimated_part(estimated),
    };
    let tokens = thousands(summary.tokens.counted());
    let cached = match summary.tokens.cache_read {
        0 => String::new(),
        cached => format!(" and {} from the cache", thousands(cached)),
    };
    let (cost, purposes) = (summary.cost, purposes.join(", "));
    let rehearsed = if summary.is_rehearsal { "rehearsed: " } else { "" };
    Some(format!("cost {cost}{estimated} ({rehearsed}{purposes}), {tokens} tokens{cached}"))
}

fn purpose(purpose: &PurposeSpend) -> String {
    let PurposeSpend { name, unit, spend } = purpose;
    format!("{name} {} in {}", spend.cost, count(spend.count, unit))
}
