//! The iterations, each folded up to a line.

use super::super::parts::{Attempt, Call};
use super::super::{Chapter, Chronicle, words};
use super::sections::{claim, list};
use super::{Escaped, Prose, fate_class, put};
use crate::display::one_line;
use crate::outcome::count;
use crate::units::{Tokens, human};

/// More iterations than this are left off, from the middle: the page has to open.
const MOST: usize = 2000;
/// The most characters of a summary that the folded line shows.
const GIST: usize = 140;

pub(super) fn iterations(out: &mut String, chronicle: &Chronicle) {
    let all = &chronicle.iterations;
    if all.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Iterations</h2>\n");
    let (first, last) = all.split_at(all.len().min(MOST / 2));
    for chapter in first {
        iteration(out, chapter);
    }
    let hidden = last.len().saturating_sub(MOST / 2);
    if hidden > 0 {
        put!(
            out,
            "<p class=\"dim\">{hidden} iterations are left off here; <code>legwork report {} --json</code> \
             has them all.</p>\n",
            Escaped(&chronicle.run.0)
        );
    }
    for chapter in &last[hidden..] {
        iteration(out, chapter);
    }
    put!(out, "</section>\n");
}

fn iteration(out: &mut String, chapter: &Chapter) {
    let class = fate_class(chapter.fate);
    let said = chapter.why.as_deref().unwrap_or(&chapter.summary);
    put!(
        out,
        "<details class=\"iteration\" id=\"iteration-{0}\"><summary><b>{0}</b>\
         <span class=\"badge {class}\">{1}</span><span class=\"gist\">{2}</span><span class=\"nums\">{3}</span>\
         </summary><div class=\"inside\">\n<h3 class=\"hidden\">{4}</h3>",
        chapter.number,
        words::fate(chapter.fate),
        Escaped(&one_line(said, GIST)),
        Escaped(&words::figures(chapter)),
        words::name(chapter)
    );
    facts(out, chapter);
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
    list(out, "Needed from a person", &chapter.blockers);
    processes(out, &chapter.attempts, &chapter.calls);
    notes(out, chapter);
    if chapter.left_off > 0 {
        put!(out, "<p class=\"dim\">{} more things are left off.</p>", chapter.left_off);
    }
    put!(out, "</div></details>\n");
}

fn facts(out: &mut String, chapter: &Chapter) {
    put!(out, "<p class=\"dim\">Began {}", words::date(chapter.started_at));
    if let Some(at) = chapter.ended_at {
        put!(out, ", ended {}", words::clock(at));
    }
    if let Some(items) = chapter.progress {
        put!(out, " · {}/{} items", items.completed, items.total);
    }
    if let Some(phase) = &chapter.phase {
        put!(out, " · phase: {}", Escaped(phase));
    }
    let Tokens { input, output, cache_read, cache_write } = chapter.tokens;
    put!(
        out,
        " · tokens: {} written, {} read, {} to and {} from the cache</p>",
        words::compact(output),
        words::compact(input),
        words::compact(cache_write),
        words::compact(cache_read)
    );
}

fn processes(out: &mut String, attempts: &[Attempt], calls: &[Call]) {
    if attempts.is_empty() && calls.is_empty() {
        return;
    }
    put!(
        out,
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Process</th><th scope=\"col\">Came to</th>\
         <th scope=\"col\" class=\"n\">Took</th><th scope=\"col\" class=\"n\">Cost</th><th scope=\"col\">Did</th></tr></thead><tbody>"
    );
    for attempt in attempts {
        let took = attempt.duration.map_or_else(|| words::NOTHING.to_owned(), human);
        put!(
            out,
            "<tr><th scope=\"row\">attempt {}</th><td>{}</td><td class=\"n\">{took}</td><td class=\"n\">{}</td>\
             <td>{}, {}",
            attempt.number,
            Prose(if attempt.sentence.is_empty() { "not over" } else { &attempt.sentence }),
            words::charged(attempt.cost_usd, attempt.figure),
            count(attempt.turns, "turn"),
            count(attempt.tool_calls, "tool call")
        );
        if attempt.tool_errors > 0 {
            put!(out, ", {} failed", attempt.tool_errors);
        }
        put!(out, "</td></tr>");
    }
    for call in calls {
        let took = call.duration.map_or_else(|| words::NOTHING.to_owned(), human);
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{took}</td><td class=\"n\">{}</td><td></td></tr>",
            call.purpose.name(),
            Prose(if call.sentence.is_empty() { "not over" } else { &call.sentence }),
            words::charged(call.cost_usd, call.figure)
        );
    }
    put!(out, "</tbody></table></div>");
}

fn notes(out: &mut String, chapter: &Chapter) {
    if chapter.notes.is_empty() {
        return;
    }
    put!(out, "<h4>On the way</h4><ul class=\"notes\">");
    for note in &chapter.notes {
        put!(
            out,
            "<li><span class=\"dim\">{} {}</span> <span class=\"words\">{}</span></li>",
            words::clock(note.at),
            words::note(note.kind),
            Escaped(&note.text)
        );
    }
    put!(out, "</ul>");
}
