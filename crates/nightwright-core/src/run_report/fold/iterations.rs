//! The fold of an iteration: its attempts, calls, claims and end.

use std::time::Duration;

use jiff::Timestamp;

use super::{MAX_LINE_CHARS, MAX_PER_ITERATION, MAX_TEXT_CHARS, beyond, first, keep};
use crate::event::{
    CallPurpose, CostSource, GateResult, IterationFinished, IterationKind, IterationResult,
    Progress, VerdictKind,
};
use crate::input::{ChangedFile, Changes, CheckResult, CheckVerdict, TamperFinding};
use crate::outcome::Proof;
use crate::phrases;
use crate::run_report::parts::{
    AttemptSummary, CallSummary, CheckSummary, ClaimOutcome, ClaimSummary,
};
use crate::run_report::text::{cut, tail};
use crate::run_report::{IterationReport, IterationStatus};
use crate::settings::EvidenceKind;
use crate::stream::outcome::AttemptOutcome;
use crate::stream::report::AttemptReport;
use crate::units::{AttemptId, CallId, Iteration, Tokens, Usd};

/// The cost and the report of an attempt or a call.
#[derive(Clone, Copy)]
pub(super) struct ChargedReport<'a> {
    pub(super) cost: Usd,
    pub(super) figure: CostSource,
    pub(super) duration: Duration,
    pub(super) report: &'a AttemptReport,
}

impl IterationReport {
    pub(super) fn begun(iteration: Iteration, kind: IterationKind, at: Timestamp) -> Self {
        Self {
            number: iteration.0,
            kind,
            status: IterationStatus::GoingOn,
            why: None,
            started_at: at,
            ended_at: None,
            duration: None,
            cost_usd: Usd::ZERO,
            estimated_usd: Usd::ZERO,
            tokens: Tokens::default(),
            files_changed: 0,
            commits: 0,
            work_progress: None,
            progress: None,
            phase: None,
            claim: Vec::new(),
            attempts: Vec::new(),
            attempt_count: 0,
            calls: Vec::new(),
            claims: Vec::new(),
            blockers: Vec::new(),
            notes: Vec::new(),
            left_off: 0,
            summary: String::new(),
        }
    }

    pub(super) fn attempt_started(&mut self, attempt: AttemptId, at: Timestamp) {
        let attempt = AttemptSummary {
            number: attempt.0,
            started_at: at,
            duration: None,
            outcome: None,
            sentence: String::new(),
            cost_usd: Usd::ZERO,
            figure: None,
            tokens: Tokens::default(),
            turns: 0,
            tool_calls: 0,
            tool_errors: 0,
        };
        self.attempt_count = self.attempt_count.saturating_add(1);
        keep(&mut self.attempts, attempt, &mut self.left_off);
    }

    pub(super) fn attempt_finished(&mut self, attempt: AttemptId, charge: ChargedReport<'_>) {
        self.charge(charge);
        let ChargedReport { cost, figure, duration, report } = charge;
        let mut attempts = self.attempts.iter_mut().rev();
        let Some(known) = attempts.find(|known| known.number == attempt.0) else { return };
        known.duration = took(duration, report);
        known.outcome = Some(report.outcome.name());
        known.sentence = cut(&report.outcome.sentence(), MAX_LINE_CHARS);
        known.cost_usd = cost;
        known.figure = Some(figure);
        known.tokens = report.tokens;
        known.turns = report.turns;
        known.tool_calls = report.stream.tool_calls;
        known.tool_errors = report.stream.tool_errors;
    }

    pub(super) fn call_started(&mut self, call: CallId, purpose: CallPurpose) {
        let call = CallSummary {
            number: call.0,
            purpose,
            duration: None,
            sentence: String::new(),
            cost_usd: Usd::ZERO,
            figure: None,
            tokens: Tokens::default(),
        };
        keep(&mut self.calls, call, &mut self.left_off);
    }

    pub(super) fn call_finished(&mut self, call: CallId, charge: ChargedReport<'_>) {
        self.charge(charge);
        let ChargedReport { cost, figure, duration, report } = charge;
        let mut calls = self.calls.iter_mut().rev();
        let Some(known) = calls.find(|known| known.number == call.0) else { return };
        known.duration = took(duration, report);
        known.sentence = cut(&report.outcome.sentence(), MAX_LINE_CHARS);
        known.cost_usd = cost;
        known.figure = Some(figure);
        known.tokens = report.tokens;
    }

    pub(super) fn claimed(&mut self, at: Timestamp, by: &[EvidenceKind]) {
        let claim = ClaimSummary {
            at,
            by: by.to_vec(),
            checks: Vec::new(),
            more_checks: 0,
            findings: Vec::new(),
            more_findings: 0,
            changes: Changes::default(),
            verdict: None,
            reason: String::new(),
            missing: Vec::new(),
            more_missing: 0,
            judgement: ClaimOutcome::Open,
            why: String::new(),
        };
        // The following events belong to this claim. If the list is full, the new claim replaces
        // the last one.
        if self.claims.len() >= MAX_PER_ITERATION {
            self.claims.pop();
            self.left_off = self.left_off.saturating_add(1);
        }
        self.claims.push(claim);
    }

    /// Updates the status of an iteration whose claim is decided after its end.
    pub(super) fn judged(&mut self) {
        if let (
            Some(movement),
            IterationStatus::Work | IterationStatus::Excused | IterationStatus::Idle,
        ) = (self.work_progress, self.status)
        {
            self.status = self.fate_when_done(movement);
        }
    }

    pub(super) fn finished(&mut self, at: Timestamp, finished: &IterationFinished) {
        self.ended_at = Some(at);
        self.duration = Some(finished.duration);
        self.files_changed = finished.files_changed;
        self.commits = finished.commits;
        self.work_progress = Some(finished.progress);
        self.progress = finished.items();
        self.phase = finished.phase.as_deref().map(|phase| cut(phase, MAX_LINE_CHARS));
        self.claim.clone_from(&finished.claim);
        self.summary = cut(&finished.summary, MAX_TEXT_CHARS);
        match &finished.result {
            IterationResult::Done => self.status = self.fate_when_done(finished.progress),
            IterationResult::Failed { why, .. } => {
                self.status = IterationStatus::Failed;
                self.why = Some(cut(why, MAX_TEXT_CHARS));
            }
            IterationResult::Interrupted => self.status = IterationStatus::Interrupted,
        }
    }

    fn fate_when_done(&self, movement: Progress) -> IterationStatus {
        let judged = self.claims.last().map(|claim| claim.judgement);
        match (judged, movement) {
            (
                Some(ClaimOutcome::Verified | ClaimOutcome::Judged | ClaimOutcome::NotVerified),
                _,
            ) => IterationStatus::Believed,
            (
                Some(
                    ClaimOutcome::Rejected
                    | ClaimOutcome::Inconclusive
                    | ClaimOutcome::Unaffordable,
                ),
                _,
            ) => IterationStatus::Rejected,
            (_, Progress::Work) => IterationStatus::Work,
            (_, Progress::Excused) => IterationStatus::Excused,
            (_, Progress::Uncounted) if self.files_changed > 0 || self.commits > 0 => {
                IterationStatus::Work
            }
            (_, Progress::Idle | Progress::Uncounted) => IterationStatus::Idle,
        }
    }

    fn charge(&mut self, charge: ChargedReport<'_>) {
        self.cost_usd += charge.cost;
        match charge.figure {
            CostSource::Reported => {}
            CostSource::Estimated => self.estimated_usd += charge.cost,
        }
        self.tokens += charge.report.tokens;
    }
}

/// Copies the listed changes, with text that is safe to show.
pub(super) fn changes(changes: &Changes) -> Changes {
    Changes { files: changes.files, listed: changes.listed.iter().map(changed).collect() }
}

impl ClaimSummary {
    pub(super) fn checked(&mut self, results: &[CheckResult], baseline: &[CheckResult]) {
        self.checks = first(results, |result| check(result, baseline));
        self.more_checks = beyond(results);
    }

    pub(super) fn inspected(&mut self, findings: &[TamperFinding], changes: &Changes) {
        self.findings = first(findings, finding);
        self.more_findings = beyond(findings);
        self.changes = Changes { files: changes.files, listed: first(&changes.listed, changed) };
    }

    pub(super) fn verdict_given(&mut self, verdict: VerdictKind, reason: &str, missing: &[String]) {
        self.verdict = Some(verdict);
        self.reason = cut(reason, MAX_TEXT_CHARS);
        self.missing = first(missing, |text| cut(text, MAX_LINE_CHARS));
        self.more_missing = beyond(missing);
    }

    pub(super) fn judged(&mut self, result: &GateResult) {
        let (judgement, why) = match result {
            GateResult::Passed { proof: Proof::Checks } => (ClaimOutcome::Verified, String::new()),
            GateResult::Passed { proof: Proof::Model } => (ClaimOutcome::Judged, String::new()),
            GateResult::Passed { proof: Proof::None } => (ClaimOutcome::NotVerified, String::new()),
            GateResult::Rejected { why, .. } => (ClaimOutcome::Rejected, cut(why, MAX_TEXT_CHARS)),
            GateResult::Inconclusive { why } => {
                (ClaimOutcome::Inconclusive, cut(why, MAX_TEXT_CHARS))
            }
            GateResult::Unaffordable { .. } => (ClaimOutcome::Unaffordable, String::new()),
        };
        self.judgement = judgement;
        self.why = why;
    }
}

/// Returns the duration, or `None` if the end was not observed.
fn took(duration: Duration, report: &AttemptReport) -> Option<Duration> {
    (report.outcome != AttemptOutcome::Lost).then_some(duration)
}

/// Summarizes a check result. The output is kept only if the check did not pass.
fn check(result: &CheckResult, baseline: &[CheckResult]) -> CheckSummary {
    let CheckResult { command, verdict, output, tests, duration, .. } = result;
    let before = baseline.iter().find(|before| before.command == *command);
    let mut verdict = verdict.clone();
    if let CheckVerdict::NotStarted { why } = &mut verdict {
        *why = cut(why, MAX_LINE_CHARS);
    }
    CheckSummary {
        command: cut(command, MAX_LINE_CHARS),
        output: if verdict.is_pass() { String::new() } else { tail(output, MAX_TEXT_CHARS) },
        verdict,
        tests: *tests,
        before: before.map(phrases::check_before),
        duration: *duration,
    }
}

fn finding(finding: &TamperFinding) -> TamperFinding {
    let TamperFinding { path, what } = finding;
    TamperFinding { path: cut(path, MAX_LINE_CHARS), what: cut(what, MAX_LINE_CHARS) }
}

fn changed(file: &ChangedFile) -> ChangedFile {
    ChangedFile { path: cut(&file.path, MAX_LINE_CHARS), ..file.clone() }
}
