//! What belongs to an iteration: its attempts and calls, its claims, its end.

use std::time::Duration;

use jiff::Timestamp;

use super::super::parts::{Attempt, Call, Check, Claim, Judgement};
use super::super::text::{cut, tail};
use super::super::{Chapter, Fate};
use super::{LONGEST_LINE, LONGEST_WORDS, MOST_IN_ITERATION, beyond, first, keep};
use crate::agent::outcome::AttemptOutcome;
use crate::agent::report::AttemptReport;
use crate::baseline;
use crate::event::{
    Figure, GateResult, IterationFinished, IterationKind, IterationResult, Movement, Purpose,
    VerdictKind,
};
use crate::input::{ChangedFile, Changes, CheckResult, CheckVerdict, Finding, TaskProgress};
use crate::outcome::Proof;
use crate::settings::EvidenceKind;
use crate::units::{AttemptId, CallId, Iteration, Tokens, Usd};

/// What an attempt or a call is charged, and what it left.
#[derive(Clone, Copy)]
pub(super) struct Charge<'a> {
    pub(super) cost: Usd,
    pub(super) figure: Figure,
    pub(super) duration: Duration,
    pub(super) report: &'a AttemptReport,
}

impl Chapter {
    pub(super) fn begun(iteration: Iteration, kind: IterationKind, at: Timestamp) -> Self {
        Self {
            number: iteration.0,
            kind,
            fate: Fate::GoingOn,
            why: None,
            started_at: at,
            ended_at: None,
            duration: None,
            cost_usd: Usd::ZERO,
            estimated_usd: Usd::ZERO,
            tokens: Tokens::default(),
            files_changed: 0,
            commits: 0,
            movement: None,
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
        let attempt = Attempt {
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

    pub(super) fn attempt_finished(&mut self, attempt: AttemptId, charge: Charge<'_>) {
        self.charge(charge);
        let Charge { cost, figure, duration, report } = charge;
        let mut attempts = self.attempts.iter_mut().rev();
        let Some(known) = attempts.find(|known| known.number == attempt.0) else { return };
        known.duration = took(duration, report);
        known.outcome = Some(report.outcome.name());
        known.sentence = cut(&report.outcome.sentence(), LONGEST_LINE);
        known.cost_usd = cost;
        known.figure = Some(figure);
        known.tokens = report.tokens;
        known.turns = report.turns;
        known.tool_calls = report.stream.tool_calls;
        known.tool_errors = report.stream.tool_errors;
    }

    pub(super) fn call_started(&mut self, call: CallId, purpose: Purpose) {
        let call = Call {
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

    pub(super) fn call_finished(&mut self, call: CallId, charge: Charge<'_>) {
        self.charge(charge);
        let Charge { cost, figure, duration, report } = charge;
        let mut calls = self.calls.iter_mut().rev();
        let Some(known) = calls.find(|known| known.number == call.0) else { return };
        known.duration = took(duration, report);
        known.sentence = cut(&report.outcome.sentence(), LONGEST_LINE);
        known.cost_usd = cost;
        known.figure = Some(figure);
        known.tokens = report.tokens;
    }

    pub(super) fn claimed(&mut self, at: Timestamp, by: &[EvidenceKind]) {
        let claim = Claim {
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
            judgement: Judgement::Open,
            why: String::new(),
        };
        // What follows is about this one: of too many, the last but one makes room for it.
        if self.claims.len() >= MOST_IN_ITERATION {
            self.claims.pop();
            self.left_off = self.left_off.saturating_add(1);
        }
        self.claims.push(claim);
    }

    /// A claim that is judged after the end of its iteration says what became of that, too.
    pub(super) fn judged(&mut self) {
        if let (Some(movement), Fate::Work | Fate::Excused | Fate::Idle) =
            (self.movement, self.fate)
        {
            self.fate = self.fate_when_done(movement);
        }
    }

    pub(super) fn finished(&mut self, at: Timestamp, finished: &IterationFinished) {
        self.ended_at = Some(at);
        self.duration = Some(finished.duration);
        self.files_changed = finished.files_changed;
        self.commits = finished.commits;
        self.movement = Some(finished.progress);
        self.progress = items(finished);
        self.phase = finished.phase.as_deref().map(|phase| cut(phase, LONGEST_LINE));
        self.claim.clone_from(&finished.claim);
        self.summary = cut(&finished.summary, LONGEST_WORDS);
        match &finished.result {
            IterationResult::Done => self.fate = self.fate_when_done(finished.progress),
            IterationResult::Failed { why, .. } => {
                self.fate = Fate::Failed;
                self.why = Some(cut(why, LONGEST_WORDS));
            }
            IterationResult::Interrupted => self.fate = Fate::Interrupted,
        }
    }

    fn fate_when_done(&self, movement: Movement) -> Fate {
        let judged = self.claims.last().map(|claim| claim.judgement);
        match (judged, movement) {
            (Some(Judgement::Verified | Judgement::Judged | Judgement::NotVerified), _) => {
                Fate::Believed
            }
            (Some(Judgement::Rejected | Judgement::Inconclusive | Judgement::Unaffordable), _) => {
                Fate::Rejected
            }
            (_, Movement::Work) => Fate::Work,
            (_, Movement::Excused) => Fate::Excused,
            (_, Movement::Uncounted) if self.files_changed > 0 || self.commits > 0 => Fate::Work,
            (_, Movement::Idle | Movement::Uncounted) => Fate::Idle,
        }
    }

    fn charge(&mut self, charge: Charge<'_>) {
        self.cost_usd += charge.cost;
        match charge.figure {
            Figure::Reported => {}
            Figure::Estimated => self.estimated_usd += charge.cost,
        }
        self.tokens += charge.report.tokens;
    }
}

/// All changes that are listed, safe to show.
pub(super) fn changes(changes: &Changes) -> Changes {
    Changes { files: changes.files, listed: changes.listed.iter().map(changed).collect() }
}

impl Claim {
    pub(super) fn checked(&mut self, results: &[CheckResult], baseline: &[CheckResult]) {
        self.checks = first(results, |result| check(result, baseline));
        self.more_checks = beyond(results);
    }

    pub(super) fn inspected(&mut self, findings: &[Finding], changes: &Changes) {
        self.findings = first(findings, finding);
        self.more_findings = beyond(findings);
        self.changes = Changes { files: changes.files, listed: first(&changes.listed, changed) };
    }

    pub(super) fn told(&mut self, verdict: VerdictKind, reason: &str, missing: &[String]) {
        self.verdict = Some(verdict);
        self.reason = cut(reason, LONGEST_WORDS);
        self.missing = first(missing, |text| cut(text, LONGEST_LINE));
        self.more_missing = beyond(missing);
    }

    pub(super) fn judged(&mut self, result: &GateResult) {
        let (judgement, why) = match result {
            GateResult::Passed { proof: Proof::Checks } => (Judgement::Verified, String::new()),
            GateResult::Passed { proof: Proof::Model } => (Judgement::Judged, String::new()),
            GateResult::Passed { proof: Proof::None } => (Judgement::NotVerified, String::new()),
            GateResult::Rejected { why, .. } => (Judgement::Rejected, cut(why, LONGEST_WORDS)),
            GateResult::Inconclusive { why } => (Judgement::Inconclusive, cut(why, LONGEST_WORDS)),
            GateResult::Unaffordable { .. } => (Judgement::Unaffordable, String::new()),
        };
        self.judgement = judgement;
        self.why = why;
    }
}

/// How long it took, if anybody saw its end.
fn took(duration: Duration, report: &AttemptReport) -> Option<Duration> {
    (report.outcome != AttemptOutcome::Lost).then_some(duration)
}

/// The output of a check says something only where it was not passed.
fn check(result: &CheckResult, baseline: &[CheckResult]) -> Check {
    let CheckResult { command, verdict, output, tests, duration, .. } = result;
    let before = baseline.iter().find(|before| before.command == *command);
    let mut verdict = verdict.clone();
    if let CheckVerdict::NotStarted { why } = &mut verdict {
        *why = cut(why, LONGEST_LINE);
    }
    Check {
        command: cut(command, LONGEST_LINE),
        output: if verdict.is_pass() { String::new() } else { tail(output, LONGEST_WORDS) },
        verdict,
        tests: *tests,
        before: before.map(baseline::in_short),
        duration: *duration,
    }
}

fn finding(finding: &Finding) -> Finding {
    let Finding { path, what } = finding;
    Finding { path: cut(path, LONGEST_LINE), what: cut(what, LONGEST_LINE) }
}

fn changed(file: &ChangedFile) -> ChangedFile {
    ChangedFile { path: cut(&file.path, LONGEST_LINE), ..file.clone() }
}

/// How far the task is: by its own account, else by its list.
fn items(finished: &IterationFinished) -> Option<TaskProgress> {
    let boxes = finished.boxes.map(|boxes| TaskProgress {
        completed: boxes.done,
        total: boxes.done.saturating_add(boxes.open),
    });
    finished.task.or(boxes).filter(|items| items.total > 0)
}
