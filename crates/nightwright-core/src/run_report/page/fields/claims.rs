//! Claims and their results.

use crate::input::TamperFinding;
use crate::outcome::count;
use crate::phrases::{self, capitalized};
use crate::results::ClaimOutcome;
use crate::run_report::RunReport;
use crate::run_report::page::{PageValue, fields};
use crate::run_report::parts::{CheckSummary, ClaimSummary};

/// Returns the last claims of a run, and the number of earlier ones.
pub(super) fn of(report: &RunReport, most: usize) -> (PageValue, PageValue) {
    let all: Vec<_> = report
        .iterations
        .iter()
        .flat_map(|iteration| iteration.claims.iter().map(|claimed| (iteration.number, claimed)))
        .collect();
    let hidden = all.len().saturating_sub(most);
    let shown: Vec<_> = all[hidden..].iter().map(|(number, made)| claim(*number, made)).collect();
    (shown.into(), hidden.into())
}

pub(super) fn claim(number: u32, claim: &ClaimSummary) -> PageValue {
    // The reason of the verdict is shown with the verdict.
    let has_own_reason = !claim.why.is_empty() && claim.why != claim.reason;
    let files_changed = claim.changes.files;
    fields! {
        place: capitalized(&phrases::iteration(number)),
        outcome: phrases::claim_outcome(claim.outcome),
        class: class(claim.outcome),
        by: capitalized(&phrases::claimed_by(&claim.by)),
        files_changed: (files_changed > 0).then(|| count(files_changed, "file")),
        why: has_own_reason.then_some(&claim.why),
        checks: claim.checks.iter().map(check).collect::<Vec<_>>(),
        more_checks: claim.more_checks,
        verdict: claim
            .verdict
            .map(|verdict| phrases::verdict(verdict, &claim.by, claim.second_opinion)),
        reason: &claim.reason,
        missing: &claim.missing,
        more_missing: claim.more_missing,
        findings: claim.findings.iter().map(finding).collect::<Vec<_>>(),
        more_findings: claim.more_findings,
    }
}

fn check(check: &CheckSummary) -> PageValue {
    fields! {
        command: &check.command,
        passed: check.verdict.is_pass(),
        result: phrases::check_with_tests(&check.verdict, check.tests),
        before: &check.before,
        outside: check.outside,
        took: check.duration,
        output: &check.output,
    }
}

fn finding(TamperFinding { path, what }: &TamperFinding) -> PageValue {
    fields! { path: path, what: what }
}

/// The CSS class for the result of a claim.
fn class(outcome: ClaimOutcome) -> &'static str {
    match outcome {
        ClaimOutcome::Verified | ClaimOutcome::Judged => "accepted",
        ClaimOutcome::NotVerified | ClaimOutcome::Inconclusive | ClaimOutcome::Unaffordable => {
            "rejected"
        }
        ClaimOutcome::Rejected | ClaimOutcome::Impossible => "failed",
        ClaimOutcome::Open => "idle",
    }
}
