//! After the attempts: evaluates the work and the claims, and starts reviews and other calls.

use std::collections::BTreeSet;

use super::iteration::MAX_BLOCKED;
use super::ledger::{Answered, Current, Gate, InboxEntry, distinct};
use super::{Machine, PendingKind};
use crate::display::one_line;
use crate::effect::Effect;
use crate::event::{
    CallPurpose, FeedbackSource, IterationKind, IterationResult, NoteEvent, Progress, StopWhen,
};
use crate::input::{CheckPurpose, Checklist, Survey};
use crate::outcome::Outcome;
use crate::permissions::denial::DeniedCommand;
use crate::phrases;
use crate::policy::escalation::{self, EscalationStep};
use crate::policy::limits::{self, Budget};
use crate::policy::progress;
use crate::prompt::{self, ReviewInput};
use crate::settings::{EvidenceKind, Scope, VerdictMode, WatchdogResponse};
use crate::stream::news::{Blocker, TextEvidence};
use crate::stream::outcome::Consequence;
use crate::units::Ticket;

/// The maximum number of denied commands that a blocker names, the maximum length of each, and the
/// maximum length in total. A rule that is cut off in the display is useless.
const SHOWN_DENIALS: usize = 8;
const SHOWN_COMMAND: usize = 120;
const SHOWN_ALL: usize = 800;

impl Machine {
    /// Surveys the project, makes the remaining calls, lets the gate decide about a claim, and
    /// records the iteration. Every answer calls this function again; the known state determines
    /// the next step.
    pub(super) fn assess(&mut self) {
        let Some(survey) = self.live.survey.clone() else {
            return self.survey();
        };
        if let Some(why) = self.status_failed(&survey) {
            self.finish_iteration(IterationResult::Done, Some(Outcome::Failed { why }));
            return self.advance();
        }
        let begun = self.current().gate.is_some();
        let claim = if begun { Vec::new() } else { self.claim(self.current(), &survey) };
        if !begun && (self.advise(&claim) || self.review() || self.council(&claim)) {
            return;
        }
        let is_claimed = claim.iter().any(|kind| kind.is_claim());
        if !begun && !is_claimed && self.wants_progress_checks(&survey) {
            return self.run_checks(CheckPurpose::Progress, None);
        }
        if !begun && claim.is_empty() && self.advise_on_failure() {
            return;
        }
        let claim = if begun { claim } else { self.claim_or_other_reason(claim, &survey) };
        if begun || !claim.is_empty() {
            return self.gate(&survey, claim);
        }
        self.finish_iteration(IterationResult::Done, None);
        self.advance();
    }

    /// Sends the claim to the gate if nothing was open when the run began.
    pub(super) fn verify_only(&mut self) {
        let stop = self.ledger.stop;
        if stop == Some(StopWhen::Now) || self.ledger.paused && stop.is_some() {
            self.interrupt_iteration();
            return self.advance();
        }
        if !self.ledger.paused {
            self.assess();
        }
    }

    /// Assesses a success without any sign of work: only changes on disk count.
    pub(super) fn assess_suspect(&mut self) {
        if self.live.survey.is_none() {
            return self.survey();
        }
        if self.live.work == Some(true) {
            return self.assess();
        }
        let why = self.current().report.as_ref().map(|report| report.outcome.sentence());
        self.retry(&why.unwrap_or_default());
    }

    fn survey(&mut self) {
        let ticket = self.ask(PendingKind::Survey);
        let iteration = self.current().iteration;
        self.effect(Effect::Survey { ticket, iteration });
    }

    pub(super) fn surveyed(&mut self, ticket: Ticket, survey: Box<Survey>) {
        if self.answered(ticket).is_none() {
            return;
        }
        for warning in &survey.warnings {
            self.warn(warning.clone());
        }
        if self.live.work.is_none()
            && let Some(current) = self.ledger.current()
        {
            let work = self.ledger.seen.is_work(&current.start, &survey);
            self.live.work = Some(work && !Self::reports_idle(current, &survey));
        }
        if let Some(principles) = &survey.principles
            && self.ledger.settings.principles.is_none()
        {
            self.record(NoteEvent::PrinciplesAdopted { principles: principles.clone() });
        }
        if let Some(status) = &survey.status {
            self.status_read(status);
        }
        self.live.survey = Some(survey);
        self.live.untouched = true;
        self.advance();
    }

    /// Returns the claims in the agent's text, except those of an attempt that looks wrong.
    pub(super) fn text_evidence(current: &Current) -> Option<&TextEvidence> {
        let report = current.report.as_ref()?;
        (report.outcome.consequence() == Consequence::Assess).then_some(&report.text_evidence)
    }

    /// Whether the status file was written in this iteration.
    fn is_fresh(current: &Current, survey: &Survey) -> bool {
        survey.mark.status.is_some() && survey.mark.status != current.start.status
    }

    /// Whether the status file was written since the run began.
    fn is_of_this_run(&self, survey: &Survey) -> bool {
        let origin = self.ledger.origin.as_ref().and_then(|mark| mark.status.as_ref());
        survey.mark.status.as_ref() != origin
    }

    /// Whether the agent reports that it did nothing, and its own changes do not contradict that.
    /// A log file or the output of a check changes the tree without being the agent's work.
    fn reports_idle(current: &Current, survey: &Survey) -> bool {
        let status = survey.status.as_ref().filter(|_| Self::is_fresh(current, survey));
        status.is_some_and(|status| status.worked == Some(false))
            && survey.commits == 0
            && current.edited == Some(false)
    }

    fn status_failed(&self, survey: &Survey) -> Option<String> {
        let status = survey.status.as_ref()?;
        Self::is_fresh(self.current(), survey).then(|| status.failed.clone())?
    }

    /// Returns all evidence that claims completion.
    fn claim(&self, current: &Current, survey: &Survey) -> Vec<EvidenceKind> {
        match self.ledger.settings.scope {
            Scope::Gate => return vec![EvidenceKind::Asked],
            Scope::Whole => {}
        }
        let completion = &self.ledger.settings.completion;
        let claims = |kind: &EvidenceKind| self.claims(*kind, current, survey);
        let claim: Vec<_> = completion.evidence.iter().copied().filter(|k| claims(k)).collect();
        if claim.is_empty() && self.reports_impossible(current, survey) {
            return vec![EvidenceKind::Impossible];
        }
        claim
    }

    /// Returns the claim, or the reason why the gate runs without one.
    fn claim_or_other_reason(
        &self,
        claim: Vec<EvidenceKind>,
        survey: &Survey,
    ) -> Vec<EvidenceKind> {
        if claim.iter().any(|kind| kind.is_claim()) {
            claim
        } else if self.passes_unclaimed(survey) {
            vec![EvidenceKind::ChecksPass]
        } else if claim.is_empty() && self.verifies_before_stagnation(self.current(), survey) {
            vec![EvidenceKind::NoProgress]
        } else {
            claim
        }
    }

    /// Whether the gate runs although nothing claims completion: the run would end for lack of
    /// progress, there is work to judge, and nothing is known to be open.
    fn verifies_before_stagnation(&self, current: &Current, survey: &Survey) -> bool {
        let settings = &self.ledger.settings;
        let can_judge =
            !settings.verify.commands.is_empty() || settings.verify.model != VerdictMode::Off;
        let says_done = Self::text_evidence(current).is_some_and(|words| words.states_done);
        let origin = self.ledger.origin.as_ref().map(|mark| &mark.fingerprint);
        let worked = origin.is_some_and(|origin| *origin != survey.mark.fingerprint);
        can_judge
            && (says_done || worked)
            && !Self::has_open_box(survey)
            && self.may_run_unclaimed(survey)
            && self.would_stagnate(current, survey)
    }

    /// Whether the checklist has open boxes.
    pub(super) fn has_open_box(survey: &Survey) -> bool {
        survey.checklist.is_some_and(|checklist| checklist.open > 0)
    }

    /// Whether the gate may run without a claim: no blocker is known. A report that the task is
    /// impossible is none, because the checks may refute it.
    pub(super) fn may_run_unclaimed(&self, survey: &Survey) -> bool {
        let status = survey.status.as_ref().filter(|_| self.is_of_this_run(survey));
        let earlier = status.map(|status| status.blockers.clone()).unwrap_or_default();
        let mut blockers = self.blockers(self.current(), Some(survey));
        blockers.extend(earlier);
        self.ledger.settings.completion.expects_work()
            && blockers.iter().all(Blocker::is_impossible)
            && self.ledger.stop.is_none()
    }

    fn claims(&self, kind: EvidenceKind, current: &Current, survey: &Survey) -> bool {
        let words = Self::text_evidence(current);
        let promised = words.is_some_and(|words| words.promise);
        let all_ticked = survey.checklist.is_some_and(Checklist::is_complete);
        match kind {
            EvidenceKind::Status => {
                self.is_of_this_run(survey)
                    && survey.status.as_ref().is_some_and(|status| status.complete)
            }
            EvidenceKind::Todo => {
                // A status left by an earlier run does not contradict boxes checked in this one.
                all_ticked && (survey.status.is_none() || !self.is_of_this_run(survey))
            }
            EvidenceKind::Plan => all_ticked,
            EvidenceKind::Planned => {
                promised && survey.checklist.is_some_and(|checklist| checklist.open > 0)
            }
            EvidenceKind::Promise => promised,
            EvidenceKind::Signal => {
                words.is_some_and(|words| words.signal)
                    && self.ledger.streaks.signals + 1
                        >= self.ledger.settings.completion.signal_threshold
            }
            EvidenceKind::EndPhrase => words.is_some_and(|words| words.end_phrase),
            EvidenceKind::NoProgress
            | EvidenceKind::ChecksPass
            | EvidenceKind::Impossible
            | EvidenceKind::Asked => false,
        }
    }

    /// Whether this iteration would exceed the limit of idle iterations.
    fn would_stagnate(&self, current: &Current, survey: &Survey) -> bool {
        let threshold = self.ledger.settings.progress.threshold;
        let reports_blocker = !self.blockers(current, Some(survey)).is_empty();
        let before = self.ledger.streaks.idle;
        let idle = progress::idle_after(before, self.progress(current, survey), reports_blocker);
        threshold > 0 && idle > before && idle >= threshold
    }

    /// Whether another iteration will follow that can use new findings, as far as this is known
    /// before the current one is recorded. With a claim pending, it is unknown.
    pub(super) fn will_continue(&self, claim: &[EvidenceKind]) -> bool {
        let current = self.current();
        let ends = self.live.survey.as_deref().is_none_or(|survey| self.ends_idle(current, survey));
        let (settings, used) = (&self.ledger.settings, self.used());
        let left = limits::remaining(settings, used).iterations;
        let has_room = matches!(limits::before_attempt(settings, used), Budget::Work(_));
        claim.is_empty()
            && has_room
            && current.kind == IterationKind::Work
            && self.ledger.stop.is_none()
            && left.is_none_or(|left| left > 1)
            && !ends
    }

    /// Whether this iteration would exceed the limit of iterations without work.
    fn ends_idle(&self, current: &Current, survey: &Survey) -> bool {
        let blocked = self.ledger.streaks.blocked + 1 >= MAX_BLOCKED
            && self.progress(current, survey) == Progress::Idle
            && !self.blockers(current, Some(survey)).is_empty();
        blocked || self.would_stagnate(current, survey) || self.would_end_without_gain()
    }

    /// Whether the iteration moved the project forward.
    pub(super) fn progress(&self, current: &Current, survey: &Survey) -> Progress {
        if self.live.work == Some(true) {
            return Progress::Work;
        }
        let claimed = current.gate.as_ref().is_some_and(Gate::is_claim);
        if claimed || current.kind == IterationKind::VerifyOnly {
            return Progress::Uncounted;
        }
        let status = survey.status.as_ref().filter(|_| Self::is_fresh(current, survey));
        let worked = status.and_then(|status| status.worked);
        progress::without_work(
            &self.ledger.settings.progress,
            worked,
            self.ledger.streaks.work_reported,
        )
    }

    /// Returns the blockers from the agent's text, the status file and denied permissions. Failed
    /// attempts are included because a blocker may have caused the failure.
    pub(super) fn blockers(&self, current: &Current, survey: Option<&Survey>) -> Vec<Blocker> {
        let status = survey
            .filter(|survey| Self::is_fresh(current, survey))
            .and_then(|survey| survey.status.as_ref())
            .map(|status| status.blockers.clone())
            .unwrap_or_default();
        let stuck = current.findings.iter().filter_map(|(finding, answered)| {
            let ours = *answered == Answered::No
                && self.ledger.settings.extras.watchdog != WatchdogResponse::Off
                && self.response(finding) == EscalationStep::Blocker;
            ours.then(|| escalation::blocker(finding, self.round(finding)))
        });
        let denied = (self.live.work != Some(true) && !current.denied.is_empty())
            .then(|| permission_blocker(&current.denied));
        let stated = current.blockers.iter().cloned().chain(status);
        distinct(stated.chain(stuck).chain(denied).chain(self.repeated_obstacles(current, survey)))
    }

    /// Adds feedback to the inbox unless it is already there, because this code runs several times.
    pub(super) fn feedback_once(&mut self, source: FeedbackSource, text: String) {
        let waits = |entry: &InboxEntry| entry.given_to.is_none() && entry.text == text;
        let known = self.ledger.inbox.iter().any(waits);
        if !known {
            self.record(NoteEvent::FeedbackAdded { source, text });
        }
    }

    /// Starts a review after an iteration that did work. Returns true if the run has to wait for
    /// it.
    fn review(&mut self) -> bool {
        let Some(instruction) = self.ledger.settings.extras.review.clone() else {
            return false;
        };
        let made = self.current().calls_done.contains(&CallPurpose::Review);
        if self.live.work != Some(true) || made || self.ledger.stop.is_some() {
            return false;
        }
        let report = self.current().report.as_ref();
        let question = prompt::review_question(ReviewInput {
            settings: &self.ledger.settings,
            instruction: &instruction,
            summary: report.map_or("", |report| report.text_evidence.summary.as_str()),
        });
        let asked = self.extra_call(CallPurpose::Review, question, self.review_cost());
        if !asked {
            let text = "skipped the review: the remaining budget is too small";
            self.warn_once(text.to_owned());
        }
        asked
    }
}

/// Returns a blocker that names the denied commands and the rules that would allow them.
pub(super) fn permission_blocker(denied: &BTreeSet<DeniedCommand>) -> Blocker {
    let name = |refused: &DeniedCommand| {
        let what = one_line(&refused.what(), SHOWN_COMMAND);
        phrases::denied_as(&what, refused.rule.as_deref())
    };
    let mut budget = SHOWN_ALL;
    let fits = |text: &String| {
        let left = budget.checked_sub(text.len());
        budget = left.unwrap_or_default();
        left.is_some()
    };
    let mut named: Vec<_> = denied.iter().take(SHOWN_DENIALS).map(name).take_while(fits).collect();
    if denied.len() > named.len() {
        named.push(format!("{} more", denied.len() - named.len()));
    }
    Blocker::new(Blocker::PERMISSIONS, format!("permission for {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocker_names_whole_rules_and_as_many_as_fit_on_a_line() {
        let refused = |n: usize| DeniedCommand {
            tool: "Bash".to_owned(),
            command: format!("{n}"),
            rule: Some(format!("Bash({n}{})", "x".repeat(250))),
        };
        let all: BTreeSet<_> = (0..5).map(refused).collect();
        let text = permission_blocker(&all).description;
        assert!(text.len() < 1000 && text.ends_with("xxx)\"), 3 more"), "{text}");
    }
}
