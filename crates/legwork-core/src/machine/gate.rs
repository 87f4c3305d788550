//! The gate: only what passes here completes a run.

use super::ledger::Gate;
use super::{Asked, Machine};
use crate::agent::outcome::Death;
use crate::agent::report::{Answer, AttemptReport, Verdict};
use crate::effect::Effect;
use crate::event::{
    Event, FeedbackSource, GateResult, IterationResult, Purpose, StopWhen, VerdictKind,
};
use crate::input::{CheckReport, CheckResult, CheckVerdict, Finding, Survey};
use crate::outcome::Proof;
use crate::policy::limits;
use crate::prompt;
use crate::settings::{EvidenceKind, Judge, Tamper};
use crate::units::Ticket;

/// A verifier that gives no verdict is asked once more.
const MOST_QUESTIONS: u32 = 2;

impl Machine {
    /// Checks, then the changes, then the model; all must pass. It is entered anew after every
    /// answer and finds its place by what is known.
    pub(super) fn gate(&mut self, survey: &Survey, claim: Vec<EvidenceKind>) {
        if self.current().gate.is_none() {
            self.live.judged = Some(survey.mark.fingerprint.clone());
            let iteration = self.current().iteration;
            self.record(Event::GateStarted { iteration, claim });
        }
        let Some(gate) = self.current().gate.clone() else {
            return;
        };
        if gate.result.is_some() {
            self.finish_iteration(IterationResult::Done, None);
            return self.advance();
        }
        let verify = self.ledger.settings.verify.clone();
        if !verify.commands.is_empty() && gate.checks.is_none() {
            self.record(Event::ChecksStarted { commands: verify.commands });
            let ticket = self.ask(Asked::Checks);
            return self.effect(Effect::RunChecks { ticket });
        }
        if verify.tamper != Tamper::Off && gate.findings.is_none() {
            let ticket = self.ask(Asked::Changes);
            return self.effect(Effect::InspectChanges { ticket });
        }
        if !self.wants_verdict(&gate) {
            let proof =
                if verify.commands.is_empty() { Proof::NotVerified } else { Proof::Verified };
            return self.decide(GateResult::Passed { proof });
        }
        match gate.verdict {
            Some(VerdictKind::Yes) => self.confirm(survey),
            // Decided where the verdict was given.
            Some(VerdictKind::No | VerdictKind::Inconclusive) => {}
            None => self.ask_for_verdict(&gate),
        }
    }

    fn wants_verdict(&self, gate: &Gate) -> bool {
        let verify = &self.ledger.settings.verify;
        let found = gate.findings.as_ref().is_some_and(|findings| !findings.is_empty());
        match verify.model {
            Judge::Off => false,
            Judge::Always => true,
            Judge::Auto => {
                let only_words = gate.claim.iter().all(|kind| kind.is_only_words());
                verify.commands.is_empty() || only_words || found
            }
        }
    }

    fn ask_for_verdict(&mut self, gate: &Gate) {
        let cap = self.ledger.settings.verify.max_cost;
        let share = match limits::before_call(&self.ledger.settings, self.used(), cap) {
            Ok(share) => share,
            Err(ending) => return self.decide(GateResult::Unaffordable { ending }),
        };
        let current = self.current();
        let summary = current.report.as_ref().map_or("", |report| report.words.summary.as_str());
        let blockers = self.blockers(current, self.live.survey.as_deref());
        let checks = gate.checks.as_ref().map_or(&[][..], |(results, _)| results.as_slice());
        let mut findings = gate.findings.clone().unwrap_or_default();
        findings.extend(self.contradictions());
        let settings = &self.ledger.settings;
        let question =
            prompt::verify_question(settings, &gate.claim, checks, &findings, &blockers, summary);
        self.start_call(Purpose::Verify, question, share);
    }

    /// What in the status file does not fit together, for whoever gives the verdict.
    fn contradictions(&self) -> Vec<Finding> {
        let status = self.live.survey.as_ref().and_then(|survey| survey.status.as_ref());
        let path = self.ledger.settings.files.status.as_deref().unwrap_or("the status file");
        let odd = status.map(|status| status.contradictions.as_slice()).unwrap_or_default();
        odd.iter().map(|what| Finding { path: path.to_owned(), what: what.clone() }).collect()
    }

    pub(super) fn checked(&mut self, ticket: Ticket, report: CheckReport) {
        if self.answered(ticket).is_none() {
            return;
        }
        let CheckReport { results, fingerprint } = report;
        if self.ledger.current().is_none_or(|current| current.gate.is_none()) {
            return self.advance();
        }
        let changed = self.live.judged.as_ref() != Some(&fingerprint);
        self.live.judged = Some(fingerprint.clone());
        if let Some(survey) = &mut self.live.survey {
            survey.mark.fingerprint = fingerprint.clone();
        }
        let failed = results.iter().find(|result| !result.verdict.is_pass()).cloned();
        let flaky: Vec<_> = results
            .iter()
            .filter(|result| result.verdict == CheckVerdict::Flaky)
            .map(|result| result.command.clone())
            .collect();
        self.record(Event::ChecksFinished { results, fingerprint: fingerprint.clone() });
        if self.ledger.stop == Some(StopWhen::Now) || self.live.doom.is_some() {
            return self.advance();
        }
        for command in flaky {
            self.warn(format!("`{command}` is flaky: it failed, was run once more, and passed"));
        }
        if changed {
            self.warn("the checks changed files of the project");
        }
        if let Some(failed) = failed {
            let text = format!("{}. Its last lines:\n{}", failure(&failed), failed.output.trim());
            let key = digest(&[&fingerprint.0, &failed.command, &failed.output]);
            self.reject(FeedbackSource::Checks, &text, failure(&failed), Some(key));
        }
        self.advance();
    }

    pub(super) fn inspected(&mut self, ticket: Ticket, findings: Vec<Finding>) {
        if self.answered(ticket).is_none() {
            return;
        }
        if self.ledger.stop == Some(StopWhen::Now) || self.live.doom.is_some() {
            return self.advance();
        }
        for finding in &findings {
            self.warn(format!("{}: {}", finding.path, finding.what));
        }
        let verify = &self.ledger.settings.verify;
        let rejects = verify.tamper == Tamper::Reject || verify.model == Judge::Off;
        let listed: Vec<_> =
            findings.iter().map(|finding| format!("{}: {}", finding.path, finding.what)).collect();
        self.record(Event::ChangesInspected { findings });
        if rejects && !listed.is_empty() {
            let why = format!("the checks were tampered with: {}", listed.join("; "));
            self.reject(FeedbackSource::Checks, &why.clone(), why, None);
        }
        self.advance();
    }

    /// What the verifier said.
    pub(super) fn verdict(&mut self, report: &AttemptReport) {
        let asked = self.current().gate.as_ref().map_or(0, |gate| gate.asked);
        match &report.answer {
            Some(Answer::Verdict(Verdict { complete, reason, missing })) => {
                let verdict = if *complete { VerdictKind::Yes } else { VerdictKind::No };
                self.record(Event::VerdictGiven {
                    verdict,
                    reason: reason.clone(),
                    missing: missing.clone(),
                });
                if *complete {
                    // The verdict is bound to what was judged: look whether that is still there.
                    self.live.survey = None;
                } else {
                    let mut text = reason.clone();
                    if !missing.is_empty() {
                        text = format!("{text}\nMissing: {}", missing.join("; "));
                    }
                    self.reject(FeedbackSource::Verifier, &text, reason.clone(), None);
                }
            }
            Some(Answer::Text { .. }) | None if asked >= MOST_QUESTIONS => {
                let reason = format!("no verdict could be got ({})", report.outcome.sentence());
                self.record(Event::VerdictGiven {
                    verdict: VerdictKind::Inconclusive,
                    reason: reason.clone(),
                    missing: Vec::new(),
                });
                self.record(Event::GateFinished {
                    result: GateResult::Inconclusive { why: reason },
                });
            }
            Some(Answer::Text { .. }) | None => {}
        }
    }

    fn confirm(&mut self, survey: &Survey) {
        if self.live.judged.as_ref() == Some(&survey.mark.fingerprint) {
            self.decide(GateResult::Passed { proof: Proof::Verified });
        } else {
            let why = "the project changed while it was being judged".to_owned();
            self.decide(GateResult::Inconclusive { why });
        }
    }

    fn decide(&mut self, result: GateResult) {
        self.record(Event::GateFinished { result });
        self.advance();
    }

    fn reject(&mut self, source: FeedbackSource, text: &str, why: String, failure: Option<String>) {
        let text = format!("You said that the work is complete. It is not: {text}");
        self.feedback_once(source, text);
        self.record(Event::GateFinished { result: GateResult::Rejected { why, failure } });
    }
}

/// How a check failed, in a few words.
fn failure(result: &CheckResult) -> String {
    let command = &result.command;
    match &result.verdict {
        CheckVerdict::Failed { how: Death::Code(code) } => {
            format!("`{command}` failed (exit {code})")
        }
        CheckVerdict::Failed { how: Death::Signal(signal) } => {
            format!("`{command}` was killed by signal {signal}")
        }
        CheckVerdict::TimedOut => format!("`{command}` took too long"),
        CheckVerdict::NotStarted { why } => format!("`{command}` could not be started: {why}"),
        CheckVerdict::Interrupted => format!("`{command}` was interrupted"),
        CheckVerdict::Passed | CheckVerdict::Flaky => format!("`{command}` passed"),
    }
}

/// FNV-1a: tells failures apart, nothing more.
fn digest(parts: &[&str]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
