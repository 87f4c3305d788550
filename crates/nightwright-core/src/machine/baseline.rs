//! The baseline: whether and how long the checks run before the first iteration, and the warning if
//! passing them cannot show that the work is done.

use super::Machine;
use crate::input::CheckPurpose;
use crate::outcome::Unchecked;
use crate::policy::limits;
use crate::settings::{Scope, VerdictMode};

impl Machine {
    /// Whether the checks have to run before the first iteration. The result is useless for a run
    /// that accepts no claims or only verifies one.
    pub(super) fn wants_baseline(&self) -> bool {
        let settings = &self.ledger.settings;
        let judges = settings.scope == Scope::Whole && !settings.completion.evidence.is_empty();
        let checks = !settings.verify.commands.is_empty() && !settings.is_about_a_plan();
        !self.live.baseline_taken && settings.verify.baseline.is_some() && judges && checks
    }

    /// Runs the checks within their own timeout, or within the time that the run's limit leaves
    /// after one iteration.
    pub(super) fn take_baseline(&mut self) {
        let settings = &self.ledger.settings;
        let left = limits::time_before_work(settings, self.used());
        let budget = settings.verify.baseline.map(|own| left.map_or(own, |left| own.min(left)));
        self.run_checks(CheckPurpose::Baseline, budget);
    }

    /// Warns that checks which passed before the work cannot show that it is done.
    pub(super) fn explain_baseline(&mut self) {
        let what = match self.ledger.unchecked() {
            Some(Unchecked::PassedBefore) => "the checks already pass",
            Some(Unchecked::UnknownBefore) => {
                "the checks gave no result before the first iteration"
            }
            Some(Unchecked::NoChecks | Unchecked::Plan) | None => return,
        };
        let then = match self.ledger.settings.verify.model {
            VerdictMode::Off => "a completion does not count as verified",
            VerdictMode::Auto | VerdictMode::Always => "a model also decides",
        };
        self.warn(format!("{what}, so passing them does not verify the work: {then}"));
    }
}
