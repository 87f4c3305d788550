//! The section on iterations, each collapsed to one line.

use std::time::Duration;

use super::claims::{claim, list};
use super::sections::notes;
use super::{Escaped, Prose, put, status_class};
use crate::display::one_line;
use crate::outcome::count;
use crate::run_report::parts::{AttemptSummary, CallSummary};
use crate::run_report::{IterationReport, IterationStatus, RunReport, phrases};
use crate::units::{Tokens, human};

/// Maximum number of iterations, so that browsers can open the page. Others are left off from the
/// middle.
const MAX_ITERATIONS: usize = 2000;
/// Maximum length of a summary in the collapsed line, in characters.
const GIST: usize = 140;

pub(super) fn iterations(out: &mut String, report: &RunReport) {
    let all = &report.iterations;
    if all.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Iterations</h2>\n");
    let (first, last) = all.split_at(all.len().min(MAX_ITERATIONS / 2));
    for chapter in first {
        iteration(out, report, chapter);
    }
    let hidden = last.len().saturating_sub(MAX_ITERATIONS / 2);
    if hidden > 0 {
        put!(
            out,
            "<p class=\"dim\">{hidden} iterations are left off here; <code>nightwright report {} --json</code> \
             has them all.</p>\n",
            Escaped(&report.run.0)
        );
    }
    for chapter in &last[hidden..] {
        iteration(out, report, chapter);
    }
    put!(out, "</section>\n");
}

fn iteration(out: &mut String, report: &RunReport, chapter: &IterationReport) {
    let class = status_class(chapter.status);
    let said = chapter.why.as_deref().unwrap_or(&chapter.summary);
    put!(
        out,
        "<details class=\"iteration\" id=\"iteration-{}\"><summary><b>{}</b>\
         <span class=\"badge {class}\">{}</span><span class=\"gist\">{}</span><span class=\"nums\">{}</span>\
         </summary><div class=\"inside\">\n<h3 class=\"hidden\">{}</h3>",
        chapter.number,
        // The verification before the first iteration has no number.
        if chapter.number == 0 { String::new() } else { chapter.number.to_string() },
        phrases::iteration_status(chapter.status),
        Escaped(&one_line(said, GIST)),
        Escaped(&phrases::figures(chapter)),
        phrases::name(chapter)
    );
    facts(out, report, chapter);
    if let Some(why) = &chapter.why {
        put!(out, "<h4>What went wrong</h4><p class=\"words\">{}</p>", Escaped(why));
    }
    if !chapter.summary.is_empty() {
        put!(
            out,
            "<h4>In the agent's words</h4><blockquote class=\"words\">{}</blockquote>",
            Escaped(&chapter.summary)
        );
    }
    for claimed in &chapter.claims {
        put!(out, "<h4>Claim</h4>");
        claim(out, claimed);
    }
    list(out, "Needed from a person", &chapter.blockers, 0);
    processes(out, chapter);
    if !chapter.notes.is_empty() {
        put!(out, "<h4>On the way</h4>");
        notes(out, report, &chapter.notes, 0);
    }
    if chapter.left_off > 0 {
        put!(out, "<p class=\"dim\">{} more things are left off.</p>", chapter.left_off);
    }
    put!(out, "</div></details>\n");
}

fn facts(out: &mut String, report: &RunReport, iteration: &IterationReport) {
    put!(out, "<p class=\"dim\">Began {}", phrases::date(iteration.started_at));
    if let Some(at) = iteration.ended_at {
        put!(out, ", ended {}", report.clock(at));
    }
    if let Some(items) = iteration.progress {
        put!(out, " · {}/{} items", items.completed, items.total);
    }
    if let Some(phase) = &iteration.phase {
        put!(out, " · phase: {}", Escaped(phase));
    }
    let Tokens { input, output, cache_read, cache_write } = iteration.tokens;
    put!(
        out,
        " · tokens: {} written, {} read, {} to and {} from the cache</p>",
        phrases::compact(output),
        phrases::compact(input),
        phrases::compact(cache_write),
        phrases::compact(cache_read)
    );
}

fn processes(out: &mut String, iteration: &IterationReport) {
    let IterationReport { attempts, calls, .. } = iteration;
    if attempts.is_empty() && calls.is_empty() {
        return;
    }
    put!(
        out,
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Process</th><th scope=\"col\">Came to</th>\
         <th scope=\"col\" class=\"n\">Took</th><th scope=\"col\" class=\"n\">Cost</th><th scope=\"col\">Did</th></tr></thead><tbody>"
    );
    for attempt in attempts {
        let AttemptSummary {
            number, duration, sentence, cost_usd, figure, turns, tool_calls, ..
        } = attempt;
        let (came_to, took) = end(iteration.status, sentence, *duration);
        put!(
            out,
            "<tr><th scope=\"row\">attempt {number}</th><td>{}</td><td class=\"n\">{took}</td>\
             <td class=\"n\">{}</td><td>{}, {}",
            Prose(came_to),
            phrases::charged(*cost_usd, *figure),
            count(*turns, "turn"),
            count(*tool_calls, "tool call")
        );
        if attempt.tool_errors > 0 {
            put!(out, ", {} failed", attempt.tool_errors);
        }
        put!(out, "</td></tr>");
    }
    for call in calls {
        let CallSummary { purpose, duration, sentence, cost_usd, figure, .. } = call;
        let (came_to, took) = end(iteration.status, sentence, *duration);
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{took}</td><td class=\"n\">{}</td><td></td></tr>",
            purpose.name(),
            Prose(came_to),
            phrases::charged(*cost_usd, *figure)
        );
    }
    put!(out, "</tbody></table></div>");
}

/// Returns the outcome and the duration of a process. If its end was not observed, the duration is
/// unknown, not zero.
fn end(fate: IterationStatus, sentence: &str, duration: Option<Duration>) -> (&str, String) {
    let is_running = fate == IterationStatus::Running && sentence.is_empty();
    let took = match duration {
        Some(duration) => human(duration),
        None if is_running => phrases::NOTHING.to_owned(),
        None => "not known".to_owned(),
    };
    match sentence {
        "" if is_running => ("not over", took),
        "" => ("broken off", took),
        sentence => (sentence, took),
    }
}
