//! The section on completion claims and their results.

use super::sections::more;
use super::{Escaped, Prose, capital, put};
use crate::outcome::count;
use crate::run_report::parts::{CheckSummary, ClaimOutcome, ClaimSummary};
use crate::run_report::{RunReport, phrases};
use crate::units::human;

/// Maximum number of claims in this section. Further claims appear only in their iterations.
const MAX_CLAIMS: usize = 12;

pub(super) fn proof(out: &mut String, report: &RunReport) {
    put!(out, "<section class=\"card\"><h2>Claims and proof</h2>\n");
    let claims: Vec<_> = report.claims().collect();
    if claims.is_empty() {
        put!(out, "<p class=\"dim\">Completion was never claimed.</p>");
    }
    let hidden = claims.len().saturating_sub(MAX_CLAIMS);
    if hidden > 0 {
        put!(out, "<p class=\"dim\">{hidden} earlier claims are in their iterations, below.</p>");
    }
    for (number, claimed) in &claims[hidden..] {
        put!(out, "<article class=\"claim\"><h3>{}</h3>\n", phrases::place(*number));
        claim(out, claimed);
        put!(out, "</article>\n");
    }
    put!(out, "</section>\n");
}

/// Writes a claim and its result, without a heading.
pub(super) fn claim(out: &mut String, claim: &ClaimSummary) {
    let class = match claim.judgement {
        ClaimOutcome::Verified | ClaimOutcome::Judged => "believed",
        ClaimOutcome::NotVerified | ClaimOutcome::Inconclusive | ClaimOutcome::Unaffordable => {
            "rejected"
        }
        ClaimOutcome::Rejected => "failed",
        ClaimOutcome::Open => "idle",
    };
    put!(
        out,
        "<p><span class=\"badge {class}\">{}</span> Claimed by {}",
        phrases::judgement(claim.judgement),
        Escaped(&phrases::evidence(&claim.by))
    );
    if claim.changes.files > 0 {
        put!(out, "; {} changed since the run began", count(claim.changes.files, "file"));
    }
    put!(out, ".</p>");
    // The verifier's reason follows below as a quotation.
    if !claim.why.is_empty() && claim.why != claim.reason {
        put!(out, "<p class=\"words\">{}</p>", Prose(&claim.why));
    }
    checks(out, &claim.checks, claim.more_checks);
    if let Some(verdict) = claim.verdict {
        put!(out, "<p><strong>{}.</strong></p>", capital(phrases::verdict(verdict)));
        if !claim.reason.is_empty() {
            put!(out, "<blockquote class=\"words\">{}</blockquote>", Escaped(&claim.reason));
        }
    }
    list(out, "Missing", &claim.missing, claim.more_missing);
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
        more(out, claim.more_findings);
        put!(out, "</ul>");
    }
}

fn checks(out: &mut String, checks: &[CheckSummary], left_off: u32) {
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
            "<tr><td><code>{}</code></td><td class=\"{class}\">{}{}</td><td class=\"n\">{}</td></tr>",
            Escaped(&check.command),
            Escaped(&phrases::check(check)),
            phrases::before(check),
            human(check.duration)
        );
    }
    put!(out, "</tbody></table></div>");
    if left_off > 0 {
        put!(out, "<p class=\"dim\">and {left_off} more</p>");
    }
    for check in checks.iter().filter(|check| !check.output.is_empty()) {
        put!(
            out,
            "<details><summary>What <code>{}</code> printed</summary><pre>{}</pre></details>",
            Escaped(&check.command),
            Escaped(&check.output)
        );
    }
}

/// Writes a list of external texts under a heading; nothing if the list is empty.
pub(super) fn list(out: &mut String, title: &str, texts: &[String], left_off: u32) {
    if texts.is_empty() {
        return;
    }
    put!(out, "<h4>{title}</h4><ul>");
    for text in texts {
        put!(out, "<li class=\"words\">{}</li>", Escaped(text));
    }
    more(out, left_off);
    put!(out, "</ul>");
}
