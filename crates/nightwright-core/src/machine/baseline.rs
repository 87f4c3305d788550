//! The baseline: the results of the checks before the first iteration, and what follows from them.

use super::Machine;
use super::gate::named;
use crate::baseline;
use crate::event::{Event, GateEvent};
use crate::input::{CheckPurpose, CheckReport};
use crate::outcome::{Outcome, Unchecked};
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

    pub(super) fn baseline_taken(&mut self, report: CheckReport) {
        let CheckReport { results, fingerprint, reused_from, outputs, withheld, changed, warnings } =
            report;
        let blocked = results.iter().find_map(|result| baseline::cannot_run(result, &withheld));
        let unknown: Vec<_> = results.iter().filter_map(baseline::warning).collect();
        let purpose = CheckPurpose::Baseline;
        let written = outputs.clone();
        let flaky = self.ledger.checks.chance(&results, &fingerprint);
        let done = Event::Gate(GateEvent::ChecksFinished {
            purpose,
            reused_from,
            results,
            fingerprint,
            outputs,
            flaky,
        });
        self.record(done);
        if self.ledger.stop.is_some() || self.live.abort_outcome.is_some() {
            return self.advance();
        }
        if let Some(why) = blocked {
            return self.finish(Outcome::ChecksCannotRun { why }, None);
        }
        for warning in unknown {
            self.warn(warning);
        }
        if !changed.is_empty() {
            self.warn(format!("the checks changed files: {}", named(&changed)));
        }
        if !written.is_empty() {
            let files = named(&written);
            self.warn(format!("the checks wrote files, which do not count as work: {files}"));
        }
        for warning in warnings {
            self.warn_once(warning);
        }
        self.explain_baseline();
        self.advance();
    }

    /// Warns that checks which passed before the work cannot show that it is done.
    fn explain_baseline(&mut self) {
        let what = match self.ledger.unchecked() {
            Some(Unchecked::PassedBefore) => "the checks pass already",
            Some(Unchecked::UnknownBefore) => "the checks have no usable result now",
            Some(Unchecked::NoChecks | Unchecked::Plan) | None => return,
        };
        let then = match self.ledger.settings.verify.model {
            VerdictMode::Off => "a completion will not count as verified",
            VerdictMode::Auto | VerdictMode::Always => "a model decides as well",
        };
        self.warn(format!("{what}, so passing cannot show that the work is done: {then}"));
    }
}
