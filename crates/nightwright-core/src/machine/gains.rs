//! Progress by checks: runs the checks after each iteration, and reacts if they do not improve.

use std::collections::BTreeSet;

use super::Machine;
use super::assess::permission_blocker;
use super::ledger::Current;
use crate::event::{
    CallPurpose, ChecksAfterIteration, FeedbackSource, IterationFinished, IterationKind,
};
use crate::input::{CheckResult, Survey};
use crate::obstacles;
use crate::outcome::Outcome;
use crate::permissions::denial::DeniedCommand;
use crate::policy::check_history::AfterIteration;
use crate::policy::gains::{self, CheckTime};
use crate::policy::limits;
use crate::prompt;
use crate::settings::{Scope, VerdictMode};
use crate::stream::news::Blocker;

/// The number of reports of impossibility that a run puts to a model.
const MAX_IMPOSSIBLE: usize = 3;

/// The number of times that an obstacle is met before it is a blocker.
const OBSTACLE_REPEATED: u32 = 2;

/// The number of iterations without a gain after which one on this machine is a blocker.
const LOCAL_AFTER: u32 = 2;

impl Machine {
    /// Whether the checks run now: the iteration changed something, claims nothing, and the checks
    /// are not too slow.
    pub(super) fn wants_progress_checks(&self, survey: &Survey) -> bool {
        let settings = &self.ledger.settings;
        let current = self.current();
        let known = self.ledger.checks.last.as_ref().map(|last| &last.fingerprint);
        let changed = survey.mark.fingerprint != *known.unwrap_or(&current.start.fingerprint);
        let left = limits::remaining(settings, self.used()).duration;
        let expected = self.ledger.checks.expected;
        let fits = left.is_none_or(|left| expected.unwrap_or_default() < left);
        let is_last = current.kind == IterationKind::WrapUp
            || limits::remaining(settings, self.used()).iterations == Some(1);
        !settings.verify.commands.is_empty()
            && settings.scope == Scope::Whole
            && settings.completion.expects_work()
            && current.kind != IterationKind::VerifyOnly
            && !current.checked
            && changed
            && fits
            && self.ledger.stop.is_none()
            && gains::are_due(settings.verify.every, self.check_time(), is_last)
    }

    fn check_time(&self) -> CheckTime {
        CheckTime {
            expected: self.ledger.checks.expected,
            spent: self.ledger.checks.spent,
            active: self.active(),
        }
    }

    /// Whether all checks pass after this iteration, although some failed before the first one.
    pub(super) fn passes_unclaimed(&self, survey: &Survey) -> bool {
        let Some(last) = &self.ledger.checks.last else { return false };
        let current = self.current();
        let status = survey.status.as_ref().and_then(|status| status.progress);
        let items_open = status.is_some_and(|items| items.completed < items.total);
        let nothing_open = !Self::has_open_box(survey) && !items_open;
        current.checked
            && last.failing.checks == 0
            && last.fingerprint == survey.mark.fingerprint
            && self.ledger.shows_work(&last.results)
            && self.may_run_unclaimed(survey)
            && (nothing_open || self.has_stale_items())
            && self.ledger.unclaimed_gates.may_run(current.iteration)
    }

    /// Whether the open items are no reason to wait: all checks have passed for several iterations,
    /// and the agent checked none of them. A model judges whether they are done.
    fn has_stale_items(&self) -> bool {
        let settings = &self.ledger.settings;
        let most = settings.progress.no_gain;
        most > 0 && self.ledger.streaks.passing >= most && settings.verify.model != VerdictMode::Off
    }

    /// Returns what the checks show about the project as the iteration left it, if that is known.
    pub(super) fn checks_after(&self, end: Option<&Survey>) -> Option<ChecksAfterIteration> {
        let last = self.ledger.checks.last.as_ref()?;
        let change = self.current().change;
        let holds = end.is_some_and(|survey| survey.mark.fingerprint == last.fingerprint);
        (holds || change.is_some())
            .then_some(ChecksAfterIteration { failing: last.failing, change })
    }

    /// The number of iterations without an improvement, with the current one as far as it is known.
    pub(super) fn without_gain(&self, survey: Option<&Survey>) -> u32 {
        let last = self.ledger.checks.last.as_ref().map(|last| &last.fingerprint);
        let is_further = survey.is_some_and(|survey| {
            let items = survey.status.as_ref().and_then(|status| status.progress);
            let outside = survey.files_changed_outside_plan;
            self.ledger.seen.is_further(survey.checklist, items, outside)
        });
        self.ledger.checks.without_gain_after(AfterIteration {
            change: self.current().change,
            is_known: last.is_some() && last == survey.map(|survey| &survey.mark.fingerprint),
            fewer_open: is_further,
        })
    }

    /// Whether this iteration is the last that the run may take without an improvement.
    pub(super) fn would_end_without_gain(&self) -> bool {
        let most = self.ledger.settings.progress.no_gain;
        most > 0 && self.without_gain(self.live.survey.as_deref()) >= most
    }

    /// Asks an advisor about checks that keep failing. Returns true if the run has to wait for it.
    pub(super) fn advise_on_failure(&mut self) -> bool {
        let due = self.without_gain(self.live.survey.as_deref()) == gains::ADVISED_AT
            && self.will_continue(&[])
            && self.ledger.settings.progress.no_gain > 0
            && !self.current().calls_done.contains(&CallPurpose::Advise);
        let Some(last) = self.ledger.checks.last.as_ref().filter(|_| due) else { return false };
        let question = prompt::failure_question(&self.ledger.settings, &last.results);
        self.extra_call(CallPurpose::Advise, question, Machine::ADVICE_COST)
    }

    /// Queues feedback for the next iteration after one without an improvement that is not the
    /// last.
    pub(super) fn queue_gain_feedback(&mut self, finished: &IterationFinished) {
        let most = self.ledger.settings.progress.no_gain;
        let without_gain = finished.without_gain;
        let counts = without_gain > self.ledger.checks.without_gain && without_gain < most;
        let Some(standing) = self.ledger.checks.standing_failure().filter(|_| counts) else {
            return;
        };
        let advice = self.live.advice.take();
        let text = gains::feedback(without_gain, most, &standing, advice.as_deref());
        self.feedback_once(FeedbackSource::Idle, text);
    }

    /// Returns the outcome if too many iterations brought no improvement: what keeps failing, or
    /// what only a person can provide.
    pub(super) fn outcome_without_gain(&self, finished: &IterationFinished) -> Option<Outcome> {
        let (most, idle) = (self.ledger.settings.progress.no_gain, self.ledger.checks.without_gain);
        if most == 0 || idle < most {
            return None;
        }
        if !finished.blockers.is_empty() {
            let needs: Vec<_> = finished.blockers.iter().map(Blocker::sentence).collect();
            return Some(Outcome::Blocked { needs: needs.join("; ") });
        }
        Some(Outcome::Stagnated { idle, failing: self.ledger.checks.standing_failure() })
    }

    /// Whether the agent reports that the task is impossible, and a model can judge that.
    pub(super) fn reports_impossible(&self, current: &Current, survey: &Survey) -> bool {
        let settings = &self.ledger.settings;
        let judged = &self.ledger.judged_impossible;
        let mut reports = self.blockers(current, Some(survey)).into_iter();
        settings.verify.model != VerdictMode::Off
            && settings.completion.expects_work()
            && judged.len() < MAX_IMPOSSIBLE
            && reports.any(|report| report.is_impossible() && !judged.contains(&report.key))
    }

    /// Returns the agent's report that the task is impossible.
    pub(super) fn impossible_report(&self) -> Option<String> {
        let reports = self.blockers(self.current(), self.live.survey.as_deref());
        reports.iter().find_map(Blocker::impossibility)
    }

    /// Returns the results of the last run of the checks, if they hold for the project as it is now.
    pub(super) fn known_results(&self) -> &[CheckResult] {
        let now = self.live.survey.as_ref().map(|survey| &survey.mark.fingerprint);
        let last = self.ledger.checks.last.as_ref();
        let last = last.filter(|last| Some(&last.fingerprint) == now);
        last.map_or(&[], |last| last.results.as_slice())
    }

    /// Returns the obstacles that were met before: each is a blocker.
    pub(super) fn repeated_obstacles(
        &self,
        current: &Current,
        survey: Option<&Survey>,
    ) -> Vec<Blocker> {
        let last = self.ledger.checks.last.as_ref().filter(|_| current.checked);
        let results = last.map_or(&[][..], |last| last.results.as_slice());
        let is_repeated = |key: &String| {
            self.ledger.obstacles.get(key).is_some_and(|times| *times >= OBSTACLE_REPEATED)
        };
        // A server on this machine may be one that the agent has to write.
        let is_stuck = self.without_gain(survey) >= LOCAL_AFTER;
        let met = obstacles::of(results).into_iter().filter(|met| is_stuck || !met.is_local);
        let met = met.filter(|met| is_repeated(&met.key)).map(obstacles::blocker);
        let denied_before = |command: &&DeniedCommand| {
            self.ledger.denied_in.get(*command).is_some_and(|times| *times + 1 >= OBSTACLE_REPEATED)
        };
        let denied: BTreeSet<_> = current.denied.iter().filter(denied_before).cloned().collect();
        met.chain((!denied.is_empty()).then(|| permission_blocker(&denied))).collect()
    }
}
