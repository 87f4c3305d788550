//! The parts of the page, from top to bottom.

use super::super::chart::{self, Bar, Chart, Part};
use super::super::parts::{Check, Claim, Commits, Judgement};
use super::super::{Chronicle, Verdict, words};
use super::{Escaped, Prose, fate_class, put, tone};
use crate::event::Spend;
use crate::outcome::count;
use crate::units::{Tokens, Usd, human};
use crate::view::WORK;

/// More claims than this are looked for in their iterations.
const MOST_CLAIMS: usize = 12;
/// More warnings than this are only counted.
const MOST_WARNINGS: usize = 40;

pub(super) fn top(out: &mut String, chronicle: &Chronicle, title: &str) {
    put!(
        out,
        "<header>\n<p class=\"brand\">legwork <span>run report</span></p>\n<h1>{}</h1>\n<p class=\"when\">",
        Escaped(title)
    );
    let told = chronicle.told.as_ref();
    let goal =
        told.map(|told| told.goal.as_str()).filter(|_| told.is_some_and(|t| t.task.is_some()));
    if let Some(goal) = goal.and_then(super::super::first_line) {
        put!(out, "{}</p>\n<p class=\"when\">", Escaped(&goal));
    }
    put!(out, "Run <code>{}</code>", Escaped(&chronicle.run.0));
    if let Some(at) = chronicle.started_at {
        put!(out, " · began {}", words::date(at));
    }
    if let Some(at) = chronicle.last_at {
        let word = if chronicle.ending.is_some() { "ended" } else { "last heard of" };
        put!(out, " · {word} {}", words::date(at));
    }
    put!(out, "</p>\n</header>\n");
}

pub(super) fn verdict(out: &mut String, chronicle: &Chronicle) {
    let (tone, sign) = tone(chronicle.verdict);
    put!(
        out,
        "<section class=\"verdict {tone}\" aria-label=\"Verdict\">\n<svg class=\"sign\" viewBox=\"0 0 24 24\" \
         aria-hidden=\"true\"><circle cx=\"12\" cy=\"12\" r=\"11\"/>{sign}</svg>\n<div><p class=\"headline\">{}</p>\
         <p>{}.</p>",
        words::headline(chronicle.verdict),
        Prose(sentence(&chronicle.sentence))
    );
    if let Some(text) = &chronicle.verification {
        put!(out, "<p>{}.</p>", Prose(&capital(sentence(text))));
    }
    if let Some(text) = &chronicle.note {
        put!(out, "<p>{}.</p>", Prose(&capital(sentence(text))));
    }
    if let Some(text) = words::preliminary(chronicle) {
        put!(out, "<p>{text}</p>");
    }
    put!(out, "</div>\n</section>\n");
    if !chronicle.missing.is_empty() {
        put!(out, "<section class=\"missing\" role=\"note\"><h2>This is not all of it</h2><ul>");
        for text in &chronicle.missing {
            put!(out, "<li>{}</li>", Prose(text));
        }
        put!(out, "</ul></section>\n");
    }
    if chronicle.verdict != Verdict::Verified && !chronicle.next.is_empty() {
        put!(out, "<section class=\"next\"><h2>What to do next</h2><ul>");
        for step in &chronicle.next {
            put!(out, "<li>{}</li>", Prose(&capital(step)));
        }
        put!(out, "</ul></section>\n");
    }
}

fn sentence(text: &str) -> &str {
    text.trim_end_matches(['.', ' '])
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

pub(super) fn figures(out: &mut String, chronicle: &Chronicle) {
    let totals = &chronicle.totals;
    let limits = &chronicle.limits;
    put!(out, "<section aria-label=\"Figures\"><dl class=\"figures\">\n");
    let of =
        |limit: Option<String>| limit.map_or_else(|| "no limit".to_owned(), |l| format!("of {l}"));
    let share = limits.max_cost.map(|most| (totals.cost.micros(), most.micros()));
    let cost = words::cost(totals.cost, totals.estimated);
    figure(out, "Cost", &cost, &of(limits.max_cost.map(|most| most.to_string())), share);
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
    let cached = format!("and {} from the cache", words::compact(totals.tokens.cache_read));
    let sub = match limits.max_tokens {
        Some(most) => format!("of {}; {cached}", words::compact(most)),
        None => cached,
    };
    figure(out, "Tokens", &words::compact(tokens), &sub, share);
    let files = format!("{} changed", count(chronicle.files_changed, "file"));
    figure(out, "Commits", &totals.commits.to_string(), &files, None);
    let by = words::accepted_by(chronicle);
    figure(out, "Cost per accepted change", &words::accepted(chronicle), &by, None);
    if let Some(items) = chronicle.progress {
        let share = Some((items.completed.into(), items.total.into()));
        let value = format!("{}/{}", items.completed, items.total);
        figure(out, "Items done", &value, "by the task's own account", share);
    }
    put!(out, "</dl></section>\n");
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

pub(super) fn timeline(out: &mut String, chronicle: &Chronicle) {
    if chronicle.iterations.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Timeline</h2>\n");
    chart::timeline(out, chronicle);
    put!(out, "</section>\n");
}

pub(super) fn charts(out: &mut String, chronicle: &Chronicle) {
    if chronicle.iterations.is_empty() {
        return;
    }
    let totals = &chronicle.totals;
    put!(out, "<section class=\"charts\" aria-label=\"Cost and tokens\">\n");
    let bars: Vec<_> = chronicle.iterations.iter().map(cost_bar).collect();
    let caption = format!("{} in all.", words::cost(totals.cost, totals.estimated));
    let shown = |micros: u64| Usd::from_micros(micros).to_string();
    let chart = Chart { title: "Cost per iteration", caption: &caption, shown: &shown };
    chart::bars(out, chart, &bars);
    let bars: Vec<_> = chronicle.iterations.iter().map(token_bar).collect();
    let caption = format!(
        "{} in all, beside {} that were read from the cache.",
        words::compact(totals.tokens.counted()),
        words::compact(totals.tokens.cache_read)
    );
    let chart = Chart { title: "Tokens per iteration", caption: &caption, shown: &words::compact };
    chart::bars(out, chart, &bars);
    put!(out, "</section>\n");
}

fn cost_bar(chapter: &super::super::Chapter) -> Bar {
    let part = Part {
        class: fate_class(chapter.fate),
        name: words::fate(chapter.fate),
        value: chapter.cost_usd.micros(),
    };
    Bar { number: chapter.number, parts: vec![part] }
}

fn token_bar(chapter: &super::super::Chapter) -> Bar {
    let Tokens { input, output, cache_write, cache_read: _ } = chapter.tokens;
    let parts = vec![
        Part { class: "t-output", name: "written", value: output },
        Part { class: "t-input", name: "read", value: input },
        Part { class: "t-cache", name: "written to the cache", value: cache_write },
    ];
    Bar { number: chapter.number, parts }
}

pub(super) fn proof(out: &mut String, chronicle: &Chronicle) {
    put!(out, "<section class=\"card\"><h2>Claims and proof</h2>\n");
    let claims: Vec<_> = chronicle.claims().collect();
    if claims.is_empty() {
        put!(out, "<p class=\"dim\">Completion was never claimed.</p>");
    }
    let hidden = claims.len().saturating_sub(MOST_CLAIMS);
    if hidden > 0 {
        put!(out, "<p class=\"dim\">{hidden} earlier claims are in their iterations, below.</p>");
    }
    for (number, claimed) in &claims[hidden..] {
        put!(out, "<article class=\"claim\"><h3>");
        match number {
            0 => put!(out, "Before the first iteration"),
            number => put!(out, "Iteration {number}"),
        }
        put!(out, "</h3>\n");
        claim(out, claimed);
        put!(out, "</article>\n");
    }
    put!(out, "</section>\n");
}

/// A claim and what became of it, without its heading.
pub(super) fn claim(out: &mut String, claim: &Claim) {
    let class = match claim.judgement {
        Judgement::Verified => "believed",
        Judgement::NotVerified | Judgement::Inconclusive | Judgement::Unaffordable => "rejected",
        Judgement::Rejected => "failed",
        Judgement::Open => "idle",
    };
    put!(
        out,
        "<p><span class=\"badge {class}\">{}</span> Claimed by {}",
        words::judgement(claim.judgement),
        Escaped(&words::evidence(&claim.by))
    );
    if claim.changes.files > 0 {
        put!(out, "; {} changed since the run began", count(claim.changes.files, "file"));
    }
    put!(out, ".</p>");
    // A verifier's reason is said below, as its own.
    if !claim.why.is_empty() && claim.why != claim.reason {
        put!(out, "<p class=\"words\">{}</p>", Prose(&claim.why));
    }
    checks(out, &claim.checks);
    if let Some(verdict) = claim.verdict {
        put!(out, "<p><strong>{}.</strong></p>", capital(words::verdict(verdict)));
        if !claim.reason.is_empty() {
            put!(out, "<blockquote class=\"words\">{}</blockquote>", Escaped(&claim.reason));
        }
    }
    list(out, "Missing", &claim.missing);
    if !claim.findings.is_empty() {
        put!(out, "<h4>Signs of tampering</h4><ul>");
        for finding in &claim.findings {
            put!(
                out,
                "<li><code>{}</code> {}</li>",
                Escaped(&finding.path),
                Escaped(&finding.what)
            );
        }
        put!(out, "</ul>");
    }
}

fn checks(out: &mut String, checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    put!(
        out,
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Check</th><th scope=\"col\">Result</th>\
         <th scope=\"col\" class=\"n\">Took</th></tr></thead><tbody>"
    );
    for check in checks {
        let class = if check.verdict.is_pass() { "yes" } else { "no" };
        put!(
            out,
            "<tr><td><code>{}</code></td><td class=\"{class}\">{}</td><td class=\"n\">{}</td></tr>",
            Escaped(&check.command),
            Escaped(&words::check(&check.verdict)),
            human(check.duration)
        );
    }
    put!(out, "</tbody></table></div>");
    for check in checks.iter().filter(|check| !check.output.is_empty()) {
        put!(
            out,
            "<details><summary>What <code>{}</code> printed</summary><pre>{}</pre></details>",
            Escaped(&check.command),
            Escaped(&check.output)
        );
    }
}

/// A list of others' words under a heading; nothing if it is empty.
pub(super) fn list(out: &mut String, title: &str, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    put!(out, "<h4>{title}</h4><ul>");
    for text in texts {
        put!(out, "<li class=\"words\">{}</li>", Escaped(text));
    }
    put!(out, "</ul>");
}

pub(super) fn needs(out: &mut String, chronicle: &Chronicle) {
    if !chronicle.blockers.is_empty() {
        put!(out, "<section class=\"card\"><h2>Needed from a person</h2><ul>");
        for text in &chronicle.blockers {
            put!(out, "<li class=\"words\">{}</li>", Escaped(text));
        }
        put!(out, "</ul></section>\n");
    }
    if chronicle.warnings.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Warnings</h2><ul class=\"notes\">");
    for note in chronicle.warnings.iter().take(MOST_WARNINGS) {
        let place =
            note.iteration.map(|number| format!(", iteration {number}")).unwrap_or_default();
        put!(
            out,
            "<li><span class=\"dim\">{}{place}</span> <span class=\"words\">{}</span></li>",
            words::clock(note.at),
            Prose(&note.text)
        );
    }
    let more = chronicle.warnings.len().saturating_sub(MOST_WARNINGS);
    let more = u32::try_from(more).unwrap_or(u32::MAX).saturating_add(chronicle.more_warnings);
    if more > 0 {
        put!(out, "<li class=\"dim\">and {more} more</li>");
    }
    put!(out, "</ul></section>\n");
}

pub(super) fn commits(out: &mut String, chronicle: &Chronicle) {
    let Commits { listed, unknown, .. } = &chronicle.commits;
    if chronicle.totals.commits == 0 && listed.is_empty() {
        return;
    }
    put!(out, "<section class=\"card\"><h2>Commits</h2>\n");
    if let Some(why) = unknown {
        put!(
            out,
            "<p class=\"dim\">The run made {}; what they say is not known: {}.</p>",
            count(chronicle.totals.commits, "commit"),
            Escaped(why)
        );
    }
    if !listed.is_empty() {
        put!(out, "<ol class=\"commits\">");
        for commit in listed {
            put!(
                out,
                "<li><code>{}</code> <span>{}</span>",
                Escaped(words::short(&commit.hash)),
                Escaped(&commit.subject)
            );
            if let Some(at) = commit.at {
                put!(out, " <time class=\"dim\">{}</time>", words::clock(at));
            }
            put!(out, "</li>");
        }
        put!(out, "</ol>");
    }
    let made = chronicle.totals.commits;
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

pub(super) fn spending(out: &mut String, chronicle: &Chronicle) {
    let totals = &chronicle.totals;
    if totals.by_purpose.is_empty() {
        return;
    }
    put!(
        out,
        "<section class=\"card\"><h2>Where the money went</h2><div class=\"scroll\"><table><thead><tr>\
         <th scope=\"col\">For</th><th scope=\"col\" class=\"n\">Times</th><th scope=\"col\" class=\"n\">Cost</th>\
         <th scope=\"col\" class=\"n\">Written</th><th scope=\"col\" class=\"n\">Read</th>\
         <th scope=\"col\" class=\"n\">Cache write</th><th scope=\"col\" class=\"n\">Cache read</th></tr></thead><tbody>"
    );
    let mut rows: Vec<(&String, &Spend)> = totals.by_purpose.iter().collect();
    // Stable, so the others stay in the order of their names.
    rows.sort_by_key(|(name, _)| *name != WORK);
    for (name, spend) in rows {
        row(out, name, spend.count, spend.cost, &spend.tokens);
    }
    let all = totals.by_purpose.values().map(|spend| spend.count).sum();
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
        put!(out, "<td class=\"n\">{}</td>", words::compact(number));
    }
    put!(out, "</tr>");
}

pub(super) fn told(out: &mut String, chronicle: &Chronicle) {
    let Some(told) = &chronicle.told else { return };
    put!(out, "<section class=\"card\"><h2>What the run was told</h2>\n");
    if !told.goal.is_empty() {
        put!(
            out,
            "<details><summary>The goal, in full</summary><pre class=\"goal\">{}</pre></details>",
            Escaped(&told.goal)
        );
    }
    put!(out, "<dl class=\"facts\">");
    let version = told.agent_version.as_deref().unwrap_or("version not known");
    let checks = told.checks.join(" · ");
    for (name, value) in [
        ("Task", told.task.clone().unwrap_or_default()),
        ("Mode", told.mode.clone()),
        ("Agent", format!("{}, {version}", told.agent)),
        ("Model", told.models.join(", ")),
        ("Limits", words::limits(&chronicle.limits)),
        ("Checks", if checks.is_empty() { "none".to_owned() } else { checks }),
        ("Project", told.project.clone()),
        ("Commit", told.git_head.clone().unwrap_or_default()),
        ("Containment", told.containment.clone()),
        ("Sandbox", told.sandbox.clone()),
    ] {
        if !value.is_empty() {
            put!(out, "<dt>{name}</dt><dd>{}</dd>", Escaped(&value));
        }
    }
    put!(out, "</dl></section>\n");
}
