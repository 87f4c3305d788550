//! The result of `verify`, as JSON and as a summary.

use std::path::PathBuf;

use nightwright_core::display::{display_safe, one_line};
use nightwright_core::event::GateResult;
use nightwright_core::input::{Changes, CheckResult, TamperFinding};
use nightwright_core::outcome::{Outcome, OutcomeClass, Proof, count};
use nightwright_core::phrases;
use nightwright_core::run_view::{GateView, RunView};
use nightwright_core::units::{Usd, human};
use serde::{Serialize, Serializer};

use super::REPORT;
use crate::app::finish::FinishedRun;
use crate::task::Task;

/// Maximum number of lines shown from the end of a failed check's output.
const SHOWN_LINES: usize = 10;
/// Maximum number of findings and files that are shown.
const SHOWN: usize = 20;
/// Maximum characters shown of a reason.
const WORDS: usize = 2000;

/// The result of verifying a task.
#[derive(Clone, Debug, Serialize)]
pub(super) struct VerifyReport {
    task: String,
    verdict: VerifyVerdict,
    proof: Option<Proof>,
    rehearsal: bool,
    reason: String,
    missing: Vec<String>,
    checks: Vec<CheckResult>,
    findings: Vec<TamperFinding>,
    changes: Changes,
    #[serde(serialize_with = "dollars")]
    cost_usd: Usd,
    run: Option<String>,
    run_folder: Option<PathBuf>,
    report: Option<PathBuf>,
    #[serde(skip)]
    cost: String,
}

/// The verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum VerifyVerdict {
    Pass,
    Fail,
    Inconclusive,
    Unaffordable,
    Interrupted,
}

impl VerifyVerdict {
    /// Whether the verdict says anything about the task.
    fn is_an_answer(self) -> bool {
        match self {
            Self::Pass | Self::Fail => true,
            Self::Inconclusive | Self::Unaffordable | Self::Interrupted => false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn dollars<S: Serializer>(cost: &Usd, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(cost.dollars())
}

impl VerifyReport {
    /// Creates the report; an empty one if the run was interrupted before it started.
    pub(super) fn of(task: &Task, finished: Option<&FinishedRun>, rehearsal: bool) -> Self {
        let view = finished.map(|finished| &finished.view);
        let gate = view.and_then(|view| view.gate.as_ref());
        let outcome = finished.map(|finished| &finished.outcome);
        let (verdict, reason) = judged(outcome, gate);
        let folder = finished.map(|finished| &finished.locked_run.folder);
        Self {
            task: task.name().to_string(),
            verdict,
            proof: outcome.and_then(Outcome::proof),
            rehearsal,
            reason,
            missing: gate.map(|gate| gate.missing.clone()).unwrap_or_default(),
            checks: gate.map(|gate| gate.checks.clone()).unwrap_or_default(),
            findings: gate.map(|gate| gate.findings.clone()).unwrap_or_default(),
            changes: gate.map(|gate| gate.changes.clone()).unwrap_or_default(),
            cost_usd: view.map(|view| view.totals.cost).unwrap_or_default(),
            run: folder.map(|folder| folder.id().to_string()),
            run_folder: folder.map(|folder| folder.path().to_owned()),
            report: (verdict.is_an_answer() && !rehearsal).then(|| task.relative(REPORT)),
            cost: view.map(cost).unwrap_or_default(),
        }
    }

    /// Whether to replace the last report. A rehearsal or a run without an answer does not, because
    /// the last answer is worth more.
    pub(super) fn is_to_be_kept(&self) -> bool {
        self.report.is_some()
    }

    /// Returns the word for an accepted claim.
    fn accepted(&self) -> &'static str {
        phrases::accepted(self.proof.unwrap_or(Proof::Model))
    }

    /// Returns a summary in one line.
    fn headline(&self) -> String {
        let task = &self.task;
        // A rehearsal says nothing about the work.
        let what = match (self.verdict, self.rehearsal) {
            (VerifyVerdict::Pass, false) => format!("is {}", self.accepted()),
            (VerifyVerdict::Pass, true) => "would be accepted".to_owned(),
            (VerifyVerdict::Fail, false) => "is not complete".to_owned(),
            (VerifyVerdict::Fail, true) => "would not be complete".to_owned(),
            (VerifyVerdict::Inconclusive, true) => "would not be verified".to_owned(),
            (VerifyVerdict::Inconclusive, false)
            | (VerifyVerdict::Unaffordable | VerifyVerdict::Interrupted, _) => {
                "is not verified".to_owned()
            }
        };
        format!("`{task}` {what}: {}", self.reason)
    }

    /// Formats the report for the terminal.
    pub(super) fn text(&self) -> String {
        let inner = |text: String| format!("  {}", one_line(&text, WORDS));
        let mut lines = vec![one_line(&self.headline(), WORDS)];
        lines.extend(self.missing.iter().map(|what| inner(format!("missing: {what}"))));
        for check in &self.checks {
            lines.push(inner(format!("`{}` {}", check.command, ended(check))));
            if !check.verdict.is_pass() {
                let last = last_lines(&check.output, SHOWN_LINES);
                lines.extend(last.iter().map(|line| format!("    {}", display_safe(line))));
            }
        }
        for TamperFinding { path, what } in self.findings.iter().take(SHOWN) {
            lines.push(inner(format!("found: {path}: {what}")));
        }
        if let more @ 1.. = self.findings.len().saturating_sub(SHOWN) {
            lines.push(format!("  found: {more} more, in the report"));
        }
        if self.changes.files > 0 {
            lines.push(format!("  {} changed", count(self.changes.files, "file")));
        }
        if !self.cost.is_empty() {
            lines.push(format!("  {}", self.cost));
        }
        if let Some(report) = &self.report {
            lines.push(format!("  report: {}", report.display()));
        }
        lines.join("\n")
    }
}

fn judged(outcome: Option<&Outcome>, gate: Option<&GateView>) -> (VerifyVerdict, String) {
    let result = gate.and_then(|gate| gate.result.as_ref());
    let sentence = || outcome.map(|outcome| outcome.sentence(0)).unwrap_or_default();
    match (outcome, result) {
        (Some(Outcome::Completed { .. }), _) => (VerifyVerdict::Pass, passed(gate)),
        (_, Some(GateResult::Rejected { why, .. })) => (VerifyVerdict::Fail, why.clone()),
        (None | Some(Outcome::Interrupted | Outcome::Stopped), _) => {
            (VerifyVerdict::Interrupted, "the verification stopped early".to_owned())
        }
        (_, Some(GateResult::Inconclusive { why })) => (VerifyVerdict::Inconclusive, why.clone()),
        (Some(outcome), _) if outcome.class() == OutcomeClass::Limit => {
            (VerifyVerdict::Unaffordable, phrases::NO_BUDGET_FOR_VERDICT.to_owned())
        }
        (Some(_), _) => (VerifyVerdict::Inconclusive, sentence()),
    }
}

/// Describes why the claim was accepted.
fn passed(gate: Option<&GateView>) -> String {
    match gate {
        Some(gate) if !gate.reason.trim().is_empty() => gate.reason.clone(),
        Some(gate) if !gate.checks.is_empty() => phrases::CHECKS_PASSED.to_owned(),
        Some(_) | None => "a model judged the work complete".to_owned(),
    }
}

/// Formats the cost: `cost $0.01 (verify $0.01 in 1 call)`.
fn cost(view: &RunView) -> String {
    let by = view.totals.by_purpose.iter();
    let by: Vec<_> = by
        .map(|(name, spend)| format!("{name} {} in {}", spend.cost, count(spend.count, "call")))
        .collect();
    if by.is_empty() {
        return String::new();
    }
    let estimated = if view.totals.estimated > Usd::ZERO { ", estimated" } else { "" };
    let rehearsed = if view.is_rehearsal() { "rehearsed: " } else { "" };
    format!("cost {}{estimated} ({rehearsed}{})", view.totals.cost, by.join(", "))
}

/// Formats the result of a check: `passed (2s)`.
fn ended(check: &CheckResult) -> String {
    let outside = if check.outside { phrases::OUTSIDE } else { "" };
    format!("{} ({}{outside})", phrases::check_verdict(&check.verdict), human(check.duration))
}

fn last_lines(text: &str, most: usize) -> Vec<&str> {
    let lines: Vec<_> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(most)..].to_vec()
}
