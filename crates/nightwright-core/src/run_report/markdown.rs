//! The report as a Markdown page, for a pull request or an email.
//!
//! External text must not become a heading, a link, HTML or a mention. No escaping works in every
//! renderer (a backslash before `@` still mentions the person), but all renderers leave code alone.
//! External text is therefore put in code spans and code blocks, unless it is too plain to have any
//! effect.

use super::html::put;
use super::parts::{CheckSummary, ClaimSummary, CommitList, RunPaths};
use super::{IterationReport, RunReport, phrases};
use crate::display::one_line;
use crate::input::Changes;
use crate::outcome::count;
use crate::units::{Tokens, human};

/// Maximum length of external text in a line, in characters.
const MAX_LINE_CHARS: usize = 400;
/// Maximum numbers of claims, iterations, commits and warnings shown.
const MAX_CLAIMS: usize = 5;
const MAX_ITERATIONS: usize = 100;
const MAX_COMMITS: usize = 50;
const MAX_WARNINGS: usize = 20;

pub(super) fn page(report: &RunReport) -> String {
    let mut out = String::new();
    put!(&mut out, "# {}\n\n", inline(&report.title()));
    verdict(&mut out, report);
    figures(&mut out, report);
    claims(&mut out, report);
    bullets(&mut out, "Denied", &phrases::denied(report), 0);
    bullets(&mut out, "Needed from a person", &report.blockers, report.more_blockers);
    warnings(&mut out, report);
    files(&mut out, report);
    commits(&mut out, report);
    before(&mut out, report);
    iterations(&mut out, report);
    if !report.next.is_empty() {
        bullets(&mut out, "Next", &report.next, 0);
    }
    parameters(&mut out, report);
    put!(&mut out, "---\n\n{}\n", phrases::ACCEPTED);
    out
}

fn verdict(out: &mut String, report: &RunReport) {
    put!(out, "**{}.** {}", phrases::headline(report), inline(&report.sentence));
    for text in report.verification.iter().chain(&report.note) {
        put!(out, "; {}", inline(text));
    }
    put!(out, "\n\n");
    for text in phrases::banners(report) {
        put!(out, "*{text}*\n\n");
    }
    bullets(out, "This is not all of it", &report.missing, 0);
}

fn figures(out: &mut String, report: &RunReport) {
    let (totals, limits) = (&report.totals, &report.limits);
    let of = |limit: Option<String>| limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
    let Tokens { input, output, cache_read, cache_write } = totals.tokens;
    let [input, output, cache_read, cache_write] =
        [input, output, cache_read, cache_write].map(phrases::compact);
    put!(out, "| | |\n| --- | --- |\n");
    for (name, value) in [
        ("cost", cost(report)),
        (
            "cost per accepted change",
            format!("{} ({})", phrases::accepted(report), phrases::accepted_by(report)),
        ),
        (
            "time at work",
            format!("{}{}", human(totals.duration), of(limits.max_duration.map(human))),
        ),
        ("waited", human(totals.waited)),
        (
            "iterations",
            format!(
                "{}{}, {}",
                totals.iterations,
                of(limits.max_iterations.map(|most| most.to_string())),
                count(totals.attempts, "attempt")
            ),
        ),
        (
            "tokens",
            format!(
                "{output} written, {input} read, {cache_write} to and {cache_read} from the cache"
            ),
        ),
        ("commits", format!("{}, {} changed", totals.commits, count(report.files_changed, "file"))),
    ] {
        put!(out, "| {name} | {value} |\n");
    }
    if let Some(items) = report.progress {
        put!(out, "| items done | {} of {} |\n", items.completed, items.total);
    }
    put!(out, "\n");
}

fn cost(report: &RunReport) -> String {
    match (phrases::total(report), report.is_rehearsal) {
        ((cost, script), true) => format!("{cost} ({script})"),
        ((cost, limit), false) => format!("{cost} {limit}").trim_end().to_owned(),
    }
}

fn claims(out: &mut String, report: &RunReport) {
    put!(out, "## Claims and proof\n\n");
    let claims: Vec<_> = report.claims().collect();
    let hidden = claims.len().saturating_sub(MAX_CLAIMS);
    match (claims.len(), hidden) {
        (0, _) => put!(out, "Completion was never claimed.\n\n"),
        (_, 0) => {}
        (_, hidden) => put!(out, "The last {MAX_CLAIMS}; {hidden} earlier ones are left off.\n\n"),
    }
    for (number, claimed) in &claims[hidden..] {
        claim(out, *number, claimed);
    }
}

fn claim(out: &mut String, number: u32, claim: &ClaimSummary) {
    put!(
        out,
        "**{}: {}.** Claimed by {}",
        phrases::place(number),
        phrases::judgement(claim.judgement),
        phrases::evidence(&claim.by)
    );
    if claim.why.is_empty() || claim.why == claim.reason {
        put!(out, ".\n\n");
    } else {
        put!(out, "; {}\n\n", inline(&claim.why));
    }
    for check in &claim.checks {
        let CheckSummary { command, duration, .. } = check;
        let (result, before) = (inline(&phrases::check(check)), phrases::before(check));
        put!(out, "- check {}: {result}, {}{before}\n", code(command), human(*duration));
    }
    more(out, claim.more_checks, "check");
    if let Some(verdict) = claim.verdict {
        put!(out, "- {}", phrases::verdict(verdict));
        if !claim.reason.is_empty() {
            put!(out, ": {}", inline(&claim.reason));
        }
        put!(out, "\n");
    }
    for missing in &claim.missing {
        put!(out, "- missing: {}\n", inline(missing));
    }
    more(out, claim.more_missing, "missing thing");
    for finding in &claim.findings {
        put!(out, "- sign of tampering in {}: {}\n", code(&finding.path), inline(&finding.what));
    }
    more(out, claim.more_findings, "sign");
    put!(out, "\n");
    for check in claim.checks.iter().filter(|check| !check.output.is_empty()) {
        put!(out, "{}\n", block(&check.output));
    }
}

/// Adds the number of items left off a list, if any.
fn more(out: &mut String, number: u32, what: &str) {
    if number > 0 {
        put!(out, "- and {number} more {what}{}\n", if number == 1 { "" } else { "s" });
    }
}

fn warnings(out: &mut String, report: &RunReport) {
    let texts: Vec<_> =
        report.warnings.iter().take(MAX_WARNINGS).map(|note| note.text.clone()).collect();
    let more = report.warnings.len().saturating_sub(texts.len());
    let more = u32::try_from(more).unwrap_or(u32::MAX).saturating_add(report.more_warnings);
    bullets(out, "Warnings", &texts, more);
}

fn files(out: &mut String, report: &RunReport) {
    let Changes { files, listed } = &report.changes;
    if listed.is_empty() {
        return;
    }
    put!(out, "## Files changed\n\n");
    for file in listed {
        put!(out, "- {}{}\n", code(&file.path), phrases::lines(file));
    }
    more(out, phrases::unlisted(*files, listed.len()), "file");
    put!(out, "\n");
}

fn commits(out: &mut String, report: &RunReport) {
    let CommitList { listed, unknown, .. } = &report.commits;
    let made = report.totals.commits;
    if made == 0 && listed.is_empty() {
        return;
    }
    put!(out, "## Commits\n\n");
    if let Some(why) = unknown {
        let made = count(made, "commit");
        put!(out, "The run made {made}; what they say is not known: {}\n\n", inline(why));
        return;
    }
    if listed.is_empty() {
        put!(out, "The run made {}.\n", count(made, "commit"));
    }
    for commit in listed.iter().take(MAX_COMMITS) {
        put!(out, "- {} {}\n", code(phrases::short(&commit.hash)), inline(&commit.subject));
    }
    // The list from git may itself be incomplete.
    let shown = listed.len().min(MAX_COMMITS);
    let all = listed.len().max(made as usize);
    if shown > 0 && all > shown {
        put!(out, "- and {} more\n", all - shown);
    }
    put!(out, "\n");
}

fn before(out: &mut String, report: &RunReport) {
    let RunReport { before, more_before, .. } = report;
    if before.is_empty() {
        return;
    }
    put!(out, "## Before the first iteration\n\n");
    for note in before {
        let (at, kind) = (report.clock(note.at), phrases::note(note.kind));
        put!(out, "- {at} {kind}: {}\n", inline(&note.text));
    }
    if *more_before > 0 {
        put!(out, "- and {more_before} more\n");
    }
    put!(out, "\n");
}

fn iterations(out: &mut String, report: &RunReport) {
    if report.iterations.is_empty() {
        return;
    }
    put!(out, "## Iterations\n\n");
    let hidden = report.iterations.len().saturating_sub(MAX_ITERATIONS);
    if hidden > 0 {
        put!(out, "The last {MAX_ITERATIONS}; {hidden} earlier ones are left off.\n\n");
    }
    for chapter in &report.iterations[hidden..] {
        iteration(out, chapter);
    }
    put!(out, "\n");
}

fn iteration(out: &mut String, chapter: &IterationReport) {
    put!(
        out,
        "- **{}:** {}, {}",
        phrases::name(chapter),
        phrases::iteration_status(chapter.status),
        phrases::figures(chapter)
    );
    let said = chapter.why.as_ref().unwrap_or(&chapter.summary);
    if !said.is_empty() {
        put!(out, ": {}", inline(said));
    }
    put!(out, "\n");
}

fn parameters(out: &mut String, report: &RunReport) {
    put!(out, "## The run\n\n- run {}\n", code(&report.run.0));
    let last = if report.outcome.is_some() { "ended" } else { "last event" };
    for (word, at) in [("began", report.started_at), (last, report.last_at)] {
        if let Some(at) = at {
            put!(out, "- {word} {}\n", phrases::date(at));
        }
    }
    if let Some(told) = &report.parameters {
        let version = told.agent_version.as_deref().unwrap_or("version not known");
        put!(
            out,
            "- mode {}, agent {}, {}\n",
            code(&told.mode),
            code(&told.agent),
            inline(version)
        );
        if !told.models.is_empty() {
            let more = phrases::and_more(told.more_models);
            put!(out, "- model {}{more}\n", code(&told.models.join(", ")));
        }
        put!(out, "- project {}\n", code(&told.project));
        if let Some(head) = &told.git_head {
            put!(out, "- began at commit {}\n", code(phrases::short(head)));
        }
    }
    put!(out, "- limits: {}\n", crate::phrases::limits(&report.limits));
    if let Some(RunPaths { run_folder, journal, log }) = &report.places {
        let places = [("run folder", Some(run_folder)), ("journal", Some(journal))];
        for (name, path) in places.into_iter().chain([("log", log.as_ref())]) {
            if let Some(path) = path {
                put!(out, "- {name} {}\n", code(&path.display().to_string()));
            }
        }
    }
    put!(out, "\n");
    if let Some(told) = report.parameters.as_ref().filter(|told| !told.goal.is_empty()) {
        put!(out, "{}\n", block(&told.goal));
    }
}

fn bullets(out: &mut String, title: &str, texts: &[String], more: u32) {
    if texts.is_empty() {
        return;
    }
    put!(out, "## {title}\n\n");
    for text in texts {
        put!(out, "- {}\n", inline(text));
    }
    if more > 0 {
        put!(out, "- and {more} more\n");
    }
    put!(out, "\n");
}

/// Formats one line of external text: plain if it is harmless, as code otherwise.
fn inline(text: &str) -> String {
    let line = one_line(text, MAX_LINE_CHARS);
    if line.is_empty() {
        return phrases::NOTHING.to_owned();
    }
    let mut out = String::new();
    let mut rest = line.as_str();
    while let Some((before, rest_of)) = rest.split_once('`') {
        let Some((inner, after)) = rest_of.split_once('`') else { break };
        add(&mut out, before);
        add_code(&mut out, inner);
        rest = after;
    }
    add(&mut out, rest);
    out
}

fn add(out: &mut String, piece: &str) {
    let words = piece.trim();
    if words.is_empty() || is_plain(piece) {
        out.push_str(piece);
        return;
    }
    if piece.starts_with(' ') {
        out.push(' ');
    }
    add_code(out, words);
    if piece.ends_with(' ') {
        out.push(' ');
    }
}

fn add_code(out: &mut String, text: &str) {
    // Two adjacent code spans would merge into one with different ends.
    if out.ends_with('`') {
        out.push(' ');
    }
    out.push_str(&code(text));
}

/// Whether no renderer gives the text a special meaning: letters, digits and harmless punctuation.
fn is_plain(text: &str) -> bool {
    let marks = |c: char| c.is_alphanumeric() || " ,;.:?'()/$%-…".contains(c);
    text.chars().all(marks) && text.split(' ').all(is_plain_word)
}

fn is_plain_word(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| " ,;.:?'()…".contains(c));
    let is_figure = |text: &str| text.chars().all(|c| c.is_ascii_digit() || ",.%$".contains(c));
    if is_figure(inner) {
        return true;
    }
    // A dot, colon or slash inside a word may form an address, and a digit after a dash an issue
    // number. Seven hexadecimal digits may form a commit hash.
    let may_be_link = inner.contains(['.', ':', '/', '$', '%']);
    let may_be_issue = inner.contains('-') && inner.contains(|c: char| c.is_ascii_digit());
    let may_be_commit = inner.len() >= 7 && inner.chars().all(|c| c.is_ascii_hexdigit());
    let is_rule = !inner.contains(char::is_alphanumeric) && !inner.is_empty();
    !may_be_link && !may_be_issue && !may_be_commit && !is_rule
}

/// Formats a code span that the text cannot close.
fn code(text: &str) -> String {
    let line = one_line(text, MAX_LINE_CHARS);
    if line.is_empty() {
        return phrases::NOTHING.to_owned();
    }
    let fence = "`".repeat(longest_run(&line) + 1);
    let gap = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{gap}{line}{gap}{fence}")
}

/// Formats a code block that the text cannot close.
fn block(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}

/// The length of the longest sequence of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stay_plain_and_all_others_are_code() {
        for plain in ["Reached maximum iterations (10)", "Blocked: a key, please; 3 of 4", "$0.42"]
        {
            assert_eq!(inline(plain), plain);
        }
        for (text, shown) in [
            ("ask @someone", "`ask @someone`"),
            ("see #12", "`see #12`"),
            ("see GH-12", "`see GH-12`"),
            ("www.example.org now", "`www.example.org now`"),
            ("https://example.org", "`https://example.org`"),
            ("[a](b)", "`[a](b)`"),
            ("<b>x</b>", "`<b>x</b>`"),
            ("# big", "`# big`"),
            ("*a* _b_", "`*a* _b_`"),
            ("deadbee1", "`deadbee1`"),
            ("---", "`---`"),
            ("a\n# b", "`a # b`"),
            ("", "—"),
        ] {
            assert_eq!(inline(text), shown);
        }
    }

    #[test]
    fn commands_in_generated_sentences_stay_code() {
        assert_eq!(
            inline("verified by `make test` and a verdict"),
            "verified by `make test` and a verdict"
        );
        assert_eq!(inline("`a``b`"), "`a` `b`");
        assert_eq!(inline("@x`y`"), "`@x` `y`");
    }

    #[test]
    fn backticks_do_not_lead_out_of_code() {
        assert_eq!(code("a ` b"), "``a ` b``");
        assert_eq!(code("`a`"), "`` `a` ``");
        assert_eq!(inline("one ` and @two"), "``one ` and @two``");
        assert_eq!(block("```\n# big"), "````text\n```\n# big\n````\n");
    }
}
