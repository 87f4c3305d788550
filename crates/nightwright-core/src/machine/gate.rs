//! The gate: a run completes only when a claim passes here.

use super::ledger::Gate;
use super::{Machine, PendingKind};
use crate::effect::Effect;
use crate::event::{
    CallPurpose, FeedbackSource, GateEvent, GateResult, IterationResult, StopWhen, VerdictKind,
};
use crate::input::{CheckPurpose, Inspection, Survey, TamperFinding};
use crate::outcome::Proof;
use crate::policy::check_history::Measurement;
use crate::policy::gains;
use crate::policy::limits;
use crate::prompt::{self, VerificationCase};
use crate::settings::{Depth, EvidenceKind, Tamper, VerdictMode};
use crate::stream::news::{Answer, AttemptReport, Verdict};
use crate::tamper::timeouts;
use crate::units::Ticket;

/// The maximum number of verifier calls per gate: one repetition if the first gives no verdict.
const MAX_VERDICT_CALLS: u32 = 2;

impl Machine {
    /// Runs the checks, then the tamper inspection, then the verifier; all must pass. Every answer
    /// calls this function again; the known state determines the next step.
    pub(super) fn gate(&mut self, survey: &Survey, claim: Vec<EvidenceKind>) {
        if self.current().gate.is_none() {
            self.live.judged = Some(survey.mark.fingerprint.clone());
            self.live.inspection = None;
            let iteration = self.current().iteration;
            self.record(GateEvent::Started { iteration, claim });
        }
        let Some(gate) = self.current().gate.clone() else {
            return;
        };
        if gate.result.is_some() {
            self.finish_iteration(IterationResult::Done, None);
            return self.advance();
        }
        if gate.is_about_impossibility() {
            // A verdict is handled where it was given.
            if gate.verdict.is_none() {
                self.ask_for_verdict(&gate);
            }
            return;
        }
        let verify = self.ledger.settings.verify.clone();
        if !verify.commands.is_empty() && gate.checks.is_none() {
            return match self.results_of_this_iteration(survey) {
                Some(known) => self.take_over(known),
                None => self.run_checks(CheckPurpose::Gate, None),
            };
        }
        // The verifier receives the changes even if tamper inspection is off.
        let looks = verify.tamper != Tamper::Off || self.wants_verdict(&gate);
        if looks && gate.findings.is_none() {
            let ticket = self.ask(PendingKind::Changes);
            return self.effect(Effect::InspectChanges { ticket });
        }
        if gate.claim == [EvidenceKind::NoProgress]
            && verify.model == VerdictMode::Off
            && !self.shows_work(&gate)
        {
            let why = "none of the checks that failed at the start passes now".to_owned();
            return self.decide(GateResult::Rejected { why });
        }
        if !self.wants_verdict(&gate) {
            return self.decide(GateResult::Passed { proof: self.proof(Proof::None) });
        }
        match gate.verdict {
            Some(VerdictKind::Yes)
                if gate.agreed < gains::required_verdicts(self.ledger.rejected_claims) =>
            {
                self.ask_for_verdict(&gate);
            }
            Some(VerdictKind::Yes) => self.confirm(survey),
            // Handled where the verdict was given.
            Some(VerdictKind::No | VerdictKind::Inconclusive) => {}
            None => self.ask_for_verdict(&gate),
        }
    }

    /// Returns what an accepted claim rests on: passing checks, or `otherwise`.
    fn proof(&self, otherwise: Proof) -> Proof {
        match self.ledger.unchecked() {
            None => Proof::Checks,
            Some(_) => otherwise,
        }
    }

    /// Whether a check passes now that failed before the first iteration.
    fn shows_work(&self, gate: &Gate) -> bool {
        let results = gate.checks.as_ref().map_or(&[][..], |(results, _)| results.as_slice());
        self.ledger.shows_work(results)
    }

    /// Returns the results of the checks that ran after the work of this iteration, if they hold
    /// for the project as it is now.
    fn results_of_this_iteration(&self, survey: &Survey) -> Option<Measurement> {
        let last = self.ledger.checks.last.as_ref()?;
        let holds = self.current().checked && last.fingerprint == survey.mark.fingerprint;
        holds.then(|| last.clone())
    }

    fn wants_verdict(&self, gate: &Gate) -> bool {
        let verify = &self.ledger.settings.verify;
        let found = gate.findings.as_ref().is_some_and(|findings| !findings.is_empty());
        match verify.model {
            VerdictMode::Off => false,
            VerdictMode::Always => true,
            VerdictMode::Auto => {
                let only_words = gate.claim.iter().all(|kind| kind.is_only_words());
                let refuted = gains::asks_model(self.ledger.rejected_claims);
                self.ledger.unchecked().is_some() || only_words || found || refuted
            }
        }
    }

    /// How closely a model inspects the work that the gate judges.
    pub(super) fn verdict_depth(&self) -> Depth {
        let configured = self.ledger.settings.verdict_depth();
        let gate = self.ledger.current().and_then(|current| current.gate.as_ref());
        // Only the project itself shows whether a task contradicts it.
        if gate.is_some_and(Gate::is_about_impossibility) {
            return Depth::Deep;
        }
        gains::verdict_depth(configured, self.ledger.rejected_claims)
    }

    fn ask_for_verdict(&mut self, gate: &Gate) {
        let cap = self.ledger.settings.verify.max_cost;
        let share = match limits::before_call(&self.ledger.settings, self.used(), cap) {
            Ok(share) => share,
            Err(outcome) => return self.decide(GateResult::Unaffordable { outcome }),
        };
        if gate.is_about_impossibility() {
            let report = self.impossible_report().unwrap_or_default();
            let form = self.ledger.dialect.answer_form();
            let (settings, results) = (&self.ledger.settings, self.known_results());
            let question = prompt::impossible_question(settings, &report, results, form);
            return self.start_call(CallPurpose::Verify, question, share);
        }
        let current = self.current();
        let survey = self.live.survey.as_deref();
        let mut findings = gate.findings.clone().unwrap_or_default();
        findings.extend(self.contradictions());
        let question = prompt::verify_question(&VerificationCase {
            settings: &self.ledger.settings,
            depth: self.verdict_depth(),
            claim: &gate.claim,
            checks: gate.checks.as_ref().map_or(&[][..], |(results, _)| results.as_slice()),
            unchecked: self.ledger.unchecked(),
            findings: &findings,
            inspection: self.live.inspection.as_ref(),
            blockers: &self.blockers(current, survey),
            summary: current
                .report
                .as_ref()
                .map_or("", |report| report.text_evidence.summary.as_str()),
            status: survey.and_then(|survey| survey.status.as_ref()),
            checklist: survey.and_then(|survey| survey.checklist),
            list: survey.map_or("", |survey| survey.list.as_str()),
            form: self.ledger.dialect.answer_form(),
        });
        self.start_call(CallPurpose::Verify, question, share);
    }

    /// Returns the contradictions in the status file, for the verifier.
    fn contradictions(&self) -> Vec<TamperFinding> {
        let status = self.live.survey.as_ref().and_then(|survey| survey.status.as_ref());
        let path = self.ledger.settings.files.status.as_deref().unwrap_or("the status file");
        let odd = status.map(|status| status.contradictions.as_slice()).unwrap_or_default();
        odd.iter().map(|what| TamperFinding { path: path.to_owned(), what: what.clone() }).collect()
    }

    /// Returns the boxes that were checked in iterations that changed nothing else.
    fn unearned(&self) -> Vec<TamperFinding> {
        let current = self.current();
        let survey = self.live.survey.as_deref();
        let boxes = &self.ledger.unearned_checkboxes;
        let now = current.checklist.zip(survey).and_then(|(before, survey)| {
            let checked =
                boxes.unearned(before, survey.checklist?, survey.files_changed_outside_plan)?;
            Some((current.iteration, checked))
        });
        let path = self.ledger.settings.files.list.as_deref().unwrap_or("the checklist");
        let earlier = boxes.unearned.iter().map(|(iteration, checked)| (*iteration, *checked));
        earlier
            .chain(now)
            .map(|(iteration, checked)| {
                let subject = if checked == 1 {
                    "a checkbox was"
                } else {
                    &format!("{checked} checkboxes were")
                };
                TamperFinding {
                    path: path.to_owned(),
                    what: format!(
                        "{subject} checked in iteration {iteration}, which changed nothing else"
                    ),
                }
            })
            .collect()
    }

    pub(super) fn inspected(&mut self, ticket: Ticket, inspection: Inspection) {
        if self.answered(ticket).is_none() {
            return;
        }
        if self.ledger.stop == Some(StopWhen::Now) || self.live.abort_outcome.is_some() {
            return self.advance();
        }
        for warning in &inspection.warnings {
            self.warn_once(warning.clone());
        }
        for timeout in &inspection.timeouts {
            self.warn_once(timeouts::warning(timeout));
        }
        let verify = &self.ledger.settings.verify;
        let findings = match verify.tamper {
            Tamper::Off => Vec::new(),
            Tamper::Warn | Tamper::Reject => {
                let cut = inspection.timeouts.iter();
                let cut = cut.filter_map(|timeout| timeouts::finding(timeout, &verify.commands));
                let unearned = self.unearned();
                inspection.findings.iter().cloned().chain(cut).chain(unearned).collect()
            }
        };
        for finding in &findings {
            self.warn_once(format!("{}: {}", finding.path, finding.what));
        }
        let verify = &self.ledger.settings.verify;
        let rejects = verify.tamper == Tamper::Reject || verify.model == VerdictMode::Off;
        let listed: Vec<_> =
            findings.iter().map(|finding| format!("{}: {}", finding.path, finding.what)).collect();
        let changes = inspection.changes.clone();
        self.live.inspection = Some(inspection);
        self.record(GateEvent::ChangesInspected { findings, changes });
        if rejects && !listed.is_empty() {
            let why = format!("findings of the tamper inspection: {}", listed.join("; "));
            let text = format!(
                "{why}. Restore these files to their state at the start of the run, and uncheck \
                 checkboxes whose work is not done."
            );
            self.reject(FeedbackSource::Checks, &text, why);
        }
        self.advance();
    }

    /// Evaluates the answer of the verifier.
    pub(super) fn verdict(&mut self, report: &AttemptReport) {
        let gate = self.current().gate.as_ref();
        let asked = gate.map_or(0, |gate| gate.verdict_calls.saturating_sub(gate.agreed));
        let about_impossibility = gate.is_some_and(Gate::is_about_impossibility);
        match &report.answer {
            Some(Answer::Verdict(Verdict { complete, reason, missing })) => {
                let verdict = if *complete { VerdictKind::Yes } else { VerdictKind::No };
                self.record(GateEvent::VerdictGiven {
                    verdict,
                    reason: reason.clone(),
                    missing: missing.clone(),
                });
                if about_impossibility {
                    self.judge_impossibility(*complete, reason);
                } else if *complete {
                    // A verdict is valid only for the tree that was judged, so survey the project
                    // again.
                    self.live.survey = None;
                } else {
                    let mut text = reason.clone();
                    if !missing.is_empty() {
                        text = format!("{text}\nMissing: {}", missing.join("; "));
                    }
                    self.reject(FeedbackSource::Verifier, &text, reason.clone());
                }
            }
            Some(Answer::Text { .. }) | None if asked >= MAX_VERDICT_CALLS => {
                let reason = format!("the model gave no verdict ({})", report.outcome.sentence());
                self.record(GateEvent::VerdictGiven {
                    verdict: VerdictKind::Inconclusive,
                    reason: reason.clone(),
                    missing: Vec::new(),
                });
                self.record(GateEvent::Finished {
                    result: GateResult::Inconclusive { why: reason },
                });
            }
            Some(Answer::Text { .. }) | None => {}
        }
    }

    /// Ends the run if a model agrees that the task is impossible; otherwise the agent receives the
    /// reason as feedback.
    fn judge_impossibility(&mut self, agrees: bool, reason: &str) {
        if agrees {
            let why = self.impossible_report().unwrap_or_default();
            self.record(GateEvent::Finished { result: GateResult::Impossible { why } });
        } else {
            let text = format!(
                "You reported that the task is impossible. A model looked at your evidence and \
                 disagrees: {reason}"
            );
            self.feedback_once(FeedbackSource::Verifier, text);
            let why = format!("the task is not impossible: {reason}");
            self.record(GateEvent::Finished { result: GateResult::Rejected { why } });
        }
    }

    fn confirm(&mut self, survey: &Survey) {
        if self.live.judged.as_ref() == Some(&survey.mark.fingerprint) {
            self.decide(GateResult::Passed { proof: self.proof(Proof::Model) });
        } else {
            let why = "the project changed while a model judged it".to_owned();
            self.decide(GateResult::Inconclusive { why });
        }
    }

    fn decide(&mut self, result: GateResult) {
        self.record(GateEvent::Finished { result });
        self.advance();
    }

    pub(super) fn reject(&mut self, source: FeedbackSource, text: &str, why: String) {
        let claimed = self.current().gate.as_ref().is_some_and(Gate::is_claim);
        let text = if claimed {
            format!("You said that the work is complete. It is not: {text}")
        } else {
            format!("The work is not complete: {text}")
        };
        self.feedback_once(source, text);
        self.record(GateEvent::Finished { result: GateResult::Rejected { why } });
    }
}
