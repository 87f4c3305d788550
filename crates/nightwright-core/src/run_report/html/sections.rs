//! The sections of the page, from top to bottom.

use super::{Escaped, Prose, capital, put, status_class, tone};
use crate::display::display_safe;
use crate::event::{Spend, Totals};
use crate::input::Changes;
use crate::outcome::count;
use crate::run_report::chart::{self, Bar, BarChart, BarPart};
use crate::run_report::parts::{CommitList, Note, RunPaths};
use crate::run_report::{RunReport, phrases};

use crate::units::{Tokens, Usd, human};

/// Maximum number of warnings listed. Further warnings are only counted.
const MAX_WARNINGS: usize = 40;

pub(super) fn top(out: &mut String, report: &RunReport, title: &str) {
    put!(
        out,
        "<header>\n<p class=\"brand\">nightwright <span>run report</span></p>\n<h1>{}</h1>\n<p class=\"when\">",
        Escaped(title)
    );
    let told = report.parameters.as_ref();
    let goal =
        told.map(|told| told.goal.as_str()).filter(|_| told.is_some_and(|t| t.task.is_some()));
    if let Some(goal) = goal.and_then(crate::run_report::first_line) {
        put!(out, "{}</p>\n<p class=\"when\">", Escaped(&goal));
    }
    put!(out, "Run <code>{}</code>", Escaped(&report.run.0));
    if let Some(at) = report.started_at {
        put!(out, " · began {}", phrases::date(at));
    }
    if let Some(at) = report.last_at {
        let word = if report.outcome.is_some() { "ended" } else { "last event" };
        put!(out, " · {word} {}", phrases::date(at));
    }
    put!(out, "</p>\n</header>\n");
}

pub(super) fn verdict(out: &mut String, report: &RunReport) {
    let (tone, sign) = tone(report.verdict);
    put!(
        out,
        "<section class=\"verdict {tone}\" aria-label=\"Verdict\">\n<svg class=\"sign\" viewBox=\"0 0 24 24\" \
         aria-hidden=\"true\"><circle cx=\"12\" cy=\"12\" r=\"11\"/>{sign}</svg>\n<div><p class=\"headline\">{}</p>\
         <p>{}.</p>",
        phrases::headline(report),
        Prose(sentence(&report.sentence))
    );
    if let Some(text) = &report.verification {
        put!(out, "<p>{}.</p>", Prose(&capital(sentence(text))));
    }
    if let Some(text) = &report.note {
        put!(out, "<p>{}.</p>", Prose(&capital(sentence(text))));
    }
    for text in phrases::banners(report) {
        put!(out, "<p><strong>{text}</strong></p>");
    }
    put!(out, "</div>\n</section>\n");
    if !report.missing.is_empty() {
        put!(out, "<section class=\"missing\" role=\"note\"><h2>This is not all of it</h2><ul>");
        for text in &report.missing {
            put!(out, "<li>{}</li>", Prose(&display_safe(text)));
        }
        put!(out, "</ul></section>\n");
    }
    if !report.next.is_empty() {
        put!(out, "<section class=\"next\"><h2>What to do next</h2><ul>");
        for step in &report.next {
            put!(out, "<li>{}</li>", Prose(&capital(step)));
        }
        put!(out, "</ul></section>\n");
    }
}

fn sentence(text: &str) -> &str {
    text.trim_end_matches(['.', ' '])
}

pub(super) fn figures(out: &mut String, report: &RunReport) {
    let totals = &report.totals;
    let limits = &report.limits;
    put!(out, "<section aria-label=\"Figures\"><dl class=\"figures\">\n");
    let of =
        |limit: Option<String>| limit.map_or_else(|| "no limit".to_owned(), |l| format!("of {l}"));
    cost(out, report);
    let share = limits.max_duration.map(|most| (millis(totals.duration), millis(most)));
    let sub = of(limits.max_duration.map(human));
    figure(out, "Time at work", &human(totals.duration), &sub, share);
    let sub = if totals.waited.is_zero() { "for no limit" } else { "for limits" };
    figure(out, "Waited", &human(totals.waited), sub, None);
    let share = limits.max_iterations.map(|most| (totals.iterations.into(), most.into()));
    let most = of(limits.max_iterations.map(|most| most.to_string()));
    let sub = format!("{most}; {}", count(totals.attempts, "attempt"));
    figure(out, "Iterations", &totals.iterations.to_string(), &sub, share);
    let tokens = Tokens::counted(&totals.tokens);
    let share = limits.max_tokens.map(|most| (tokens, most));
    let cached = format!("and {} from the cache", phrases::compact(totals.tokens.cache_read));
    let sub = match limits.max_tokens {
        Some(most) => format!("of {}; {cached}", phrases::compact(most)),
        None => cached,
    };
    figure(out, "Tokens", &phrases::compact(tokens), &sub, share);
    let files = format!("{} changed", count(report.files_changed, "file"));
    figure(out, "Commits", &totals.commits.to_string(), &files, None);
    let by = phrases::accepted_by(report);
    figure(out, "Cost per accepted change", &phrases::accepted(report), &by, None);
    if let Some(items) = report.progress {
        let share = Some((items.completed.into(), items.total.into()));
        let value = format!("{}/{}", items.completed, items.total);
        figure(out, "Items done", &value, "by the task's own account", share);
    }
    put!(out, "</dl></section>\n");
}

fn cost(out: &mut String, report: &RunReport) {
    let (value, sub) = match (phrases::total(report), report.is_rehearsal) {
        ((nothing, _), true) => (phrases::NOTHING.to_owned(), nothing),
        (known, false) => known,
    };
    let limit = report.limits.max_cost.filter(|_| !report.is_rehearsal);
    let share = limit.map(|most| (report.totals.cost.micros(), most.micros()));
    let sub = if sub.is_empty() { "no limit" } else { &sub };
    figure(out, "Cost", &value, sub, share);
}

fn figure(out: &mut String, name: &str, value: &str, sub: &str, share: Option<(u64, u64)>) {
    put!(
        out,
        "<div><dt>{name}</dt><dd class=\"value\">{}</dd><dd class=\"sub\">{}</dd>",
        Escaped(value),
        Escaped(sub)
    );
    if let Some((part, whole)) = share {
        let percent = u128::from(part) * 100 / u128::from(whole.max(1));
        put!(
            out,
            "<dd class=\"meter\" aria-label=\"{percent} percent\"><i style=\"width:{}%\"></i></dd>",
            percent.min(100)
        );
    }
    put!(out, "</div>\n");
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn timeline(out: &mut String, report: &RunReport) {
    if report.iterations.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Timeline</h2>\n");
    chart::timeline(out, report);
    if report.more_spans > 0 {
        put!(
            out,
            "<p class=\"dim\">{} more marks are left off, of iterations that had too many.</p>",
            report.more_spans
        );
    }
    put!(out, "</section>\n");
}

pub(super) fn charts(out: &mut String, report: &RunReport) {
    if report.iterations.is_empty() {
        return;
    }
    let totals = &report.totals;
    put!(out, "<section class=\"charts\" aria-label=\"Cost and tokens\">\n");
    let bars: Vec<_> = report.iterations.iter().map(cost_bar).collect();
    let caption = match (phrases::total(report), report.is_rehearsal) {
        ((cost, script), true) => format!("{}: {script}.", capital(&cost)),
        ((cost, _), false) => format!("{cost} in all."),
    };
    let shown = |micros: u64| Usd::from_micros(micros).to_string();
    let tick = &phrases::amount;
    let chart = BarChart { title: "Cost per iteration", caption: &caption, shown: &shown, tick };
    chart::bars(out, chart, &bars);
    let bars: Vec<_> = report.iterations.iter().map(token_bar).collect();
    let caption = format!(
        "{} in all, plus {} read from the cache.",
        phrases::compact(totals.tokens.counted()),
        phrases::compact(totals.tokens.cache_read)
    );
    let (shown, tick) = (&phrases::compact, &|tokens: u64, _: u64| phrases::compact(tokens));
    let chart = BarChart { title: "Tokens per iteration", caption: &caption, shown, tick };
    chart::bars(out, chart, &bars);
    put!(out, "</section>\n");
}

fn cost_bar(iteration: &crate::run_report::IterationReport) -> Bar {
    let part = BarPart {
        class: status_class(iteration.status),
        name: phrases::iteration_status(iteration.status),
        value: iteration.cost_usd.micros(),
    };
    Bar { number: iteration.number, parts: vec![part] }
}

fn token_bar(iteration: &crate::run_report::IterationReport) -> Bar {
    let Tokens { input, output, cache_write, cache_read: _ } = iteration.tokens;
    let parts = vec![
        BarPart { class: "t-output", name: "written", value: output },
        BarPart { class: "t-input", name: "read", value: input },
        BarPart { class: "t-cache", name: "written to the cache", value: cache_write },
    ];
    Bar { number: iteration.number, parts }
}

pub(super) fn needs(out: &mut String, report: &RunReport) {
    if !report.denied.is_empty() {
        put!(out, "<section class=\"card\"><h2>Denied</h2><ul>");
        for text in phrases::denied(report) {
            put!(out, "<li class=\"words\">{}</li>", Escaped(&text));
        }
        put!(out, "</ul></section>\n");
    }
    if !report.blockers.is_empty() {
        put!(out, "<section class=\"card\"><h2>Needed from a person</h2><ul>");
        for text in &report.blockers {
            put!(out, "<li class=\"words\">{}</li>", Escaped(text));
        }
        more(out, report.more_blockers);
        put!(out, "</ul></section>\n");
    }
    if report.warnings.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Warnings</h2><ul class=\"notes\">");
    for note in report.warnings.iter().take(MAX_WARNINGS) {
        let (at, place) = (report.clock(note.at), phrases::behind(note.iteration));
        put!(
            out,
            "<li><span class=\"dim\">{at}{place}</span> <span class=\"words\">{}</span></li>",
            Prose(&note.text)
        );
    }
    let hidden = report.warnings.len().saturating_sub(MAX_WARNINGS);
    let hidden = u32::try_from(hidden).unwrap_or(u32::MAX);
    more(out, hidden.saturating_add(report.more_warnings));
    put!(out, "</ul></section>\n");
}

/// Writes the number of items left off a list, if any.
pub(super) fn more(out: &mut String, number: u32) {
    if number > 0 {
        put!(out, "<li class=\"dim\">and {number} more</li>");
    }
}

pub(super) fn before(out: &mut String, report: &RunReport) {
    if report.before.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Before the first iteration</h2>");
    notes(out, report, &report.before, report.more_before);
    put!(out, "</section>\n");
}

/// Writes a list of notes, each with its time.
pub(super) fn notes(out: &mut String, report: &RunReport, notes: &[Note], left_off: u32) {
    put!(out, "<ul class=\"notes\">");
    for note in notes {
        put!(
            out,
            "<li><span class=\"dim\">{} {}</span> <span class=\"words\">{}</span></li>",
            report.clock(note.at),
            phrases::note(note.kind),
            Escaped(&note.text)
        );
    }
    more(out, left_off);
    put!(out, "</ul>");
}

pub(super) fn files(out: &mut String, report: &RunReport) {
    let Changes { files, listed } = &report.changes;
    if listed.is_empty() {
        return;
    }
    put!(
        out,
        "<section class=\"card\"><h2>Files changed</h2><div class=\"scroll\"><table><thead><tr>\
         <th scope=\"col\">File</th><th scope=\"col\" class=\"n\">Lines added</th>\
         <th scope=\"col\" class=\"n\">Lines removed</th></tr></thead><tbody>"
    );
    for file in listed {
        put!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            Escaped(&display_safe(&file.path)),
            file.added,
            file.removed
        );
    }
    put!(out, "</tbody></table></div>");
    let left_off = phrases::unlisted(*files, listed.len());
    if left_off > 0 {
        put!(out, "<p class=\"dim\">and {left_off} more</p>");
    }
    put!(out, "</section>\n");
}

pub(super) fn commits(out: &mut String, report: &RunReport) {
    let CommitList { listed, unknown, .. } = &report.commits;
    if report.totals.commits == 0 && listed.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Commits</h2>\n");
    if let Some(why) = unknown {
        put!(
            out,
            "<p class=\"dim\">The run made {}; what they say is not known: {}.</p>",
            count(report.totals.commits, "commit"),
            Escaped(&display_safe(why))
        );
    }
    if !listed.is_empty() {
        put!(out, "<ol class=\"commits\">");
        for commit in listed {
            put!(
                out,
                "<li><code>{}</code> <span>{}</span>",
                Escaped(phrases::short(&commit.hash)),
                Escaped(&display_safe(&commit.subject))
            );
            if let Some(at) = commit.at {
                put!(out, " <time class=\"dim\">{}</time>", report.clock(at));
            }
            put!(out, "</li>");
        }
        put!(out, "</ol>");
    }
    let made = report.totals.commits;
    match (listed.len(), unknown) {
        (_, Some(_)) => {}
        (0, None) => put!(out, "<p class=\"dim\">The run made {}.</p>", count(made, "commit")),
        (shown, None) if shown < made as usize => {
            put!(out, "<p class=\"dim\">The newest {shown} of {made}.</p>");
        }
        (_, None) => {}
    }
    put!(out, "</section>\n");
}

pub(super) fn spending(out: &mut String, report: &RunReport) {
    let totals = &report.totals;
    if totals.by_purpose.is_empty() {
        return;
    }
    put!(
        out,
        "<section class=\"card\"><h2>{}</h2><div class=\"scroll\"><table><thead><tr>\
         <th scope=\"col\">For</th><th scope=\"col\" class=\"n\">Times</th><th scope=\"col\" class=\"n\">Cost</th>\
         <th scope=\"col\" class=\"n\">Written</th><th scope=\"col\" class=\"n\">Read</th>\
         <th scope=\"col\" class=\"n\">Cache write</th><th scope=\"col\" class=\"n\">Cache read</th></tr></thead><tbody>",
        if report.is_rehearsal { "What the script says it cost" } else { "Where the money went" }
    );
    let mut rows: Vec<(&String, &Spend)> = totals.by_purpose.iter().collect();
    // The sort is stable, so the other purposes stay ordered by name.
    rows.sort_by_key(|(name, _)| *name != Totals::WORK);
    for (name, spend) in rows {
        row(out, name, spend.count, spend.cost, &spend.tokens);
    }
    let counts = totals.by_purpose.values().map(|spend| spend.count);
    let all = counts.fold(0, u32::saturating_add);
    put!(out, "</tbody><tfoot>");
    row(out, "all", all, totals.cost, &totals.tokens);
    put!(out, "</tfoot></table></div></section>\n");
}

fn row(out: &mut String, name: &str, times: u32, cost: Usd, tokens: &Tokens) {
    let Tokens { input, output, cache_read, cache_write } = *tokens;
    put!(
        out,
        "<tr><th scope=\"row\">{}</th><td class=\"n\">{times}</td><td class=\"n\">{cost}</td>",
        Escaped(name)
    );
    for number in [output, input, cache_write, cache_read] {
        put!(out, "<td class=\"n\">{}</td>", phrases::compact(number));
    }
    put!(out, "</tr>");
}

pub(super) fn parameters(out: &mut String, report: &RunReport) {
    if report.parameters.is_none() && report.places.is_none() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>What the run was told</h2>\n");
    let mut facts: Vec<(&str, String)> = Vec::new();
    if let Some(told) = &report.parameters {
        if !told.goal.is_empty() {
            put!(
                out,
                "<details><summary>The goal, in full</summary><pre class=\"goal\">{}</pre></details>",
                Escaped(&told.goal)
            );
        }
        let version = told.agent_version.as_deref().unwrap_or("version not known");
        let models = told.models.join(", ") + &phrases::and_more(told.more_models);
        let checks = told.checks.join(" · ") + &phrases::and_more(told.more_checks);
        facts.extend([
            ("Task", told.task.clone().unwrap_or_default()),
            ("Mode", told.mode.clone()),
            ("Agent", format!("{}, {version}", told.agent)),
            ("Model", models),
            ("Limits", crate::phrases::limits(&report.limits)),
            ("Checks", if checks.is_empty() { "none".to_owned() } else { checks }),
            ("Project", told.project.clone()),
            ("Commit", told.git_head.clone().unwrap_or_default()),
            ("Containment", told.containment.clone()),
        ]);
    }
    if let Some(RunPaths { run_folder, journal, log }) = &report.places {
        facts.push(("Run folder", run_folder.display().to_string()));
        facts.push(("Journal", journal.display().to_string()));
        facts.extend(log.iter().map(|log| ("Log", log.display().to_string())));
    }
    put!(out, "<dl class=\"facts\">");
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        put!(out, "<dt>{name}</dt><dd>{}</dd>", Escaped(&display_safe(value)));
    }
    put!(out, "</dl></section>\n");
}
