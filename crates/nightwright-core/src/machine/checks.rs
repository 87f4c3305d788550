//! Running the checks: the request, and what their results mean for each purpose.

use std::time::Duration;

use super::{Machine, PendingKind};
use crate::baseline;
use crate::effect::Effect;
use crate::event::{FeedbackSource, GateEvent, StopWhen};
use crate::failure_excerpt;
use crate::input::{CheckPurpose, CheckReport, CheckResult, CheckVerdict};
use crate::outcome::Outcome;
use crate::phrases;
use crate::policy::check_history::Measurement;
use crate::sandbox::hints;
use crate::units::Ticket;

impl Machine {
    pub(super) fn run_checks(&mut self, purpose: CheckPurpose, budget: Option<Duration>) {
        let commands = self.ledger.settings.verify.commands.clone();
        self.record(GateEvent::ChecksStarted { purpose, commands });
        let ticket = self.ask(PendingKind::Checks(purpose));
        self.effect(Effect::RunChecks { ticket, purpose, budget });
    }

    pub(super) fn checked(&mut self, ticket: Ticket, report: CheckReport) {
        let Some(PendingKind::Checks(purpose)) = self.answered(ticket) else {
            return;
        };
        let CheckReport {
            results,
            fingerprint,
            reused_from,
            outputs,
            rewritten,
            withheld,
            changed,
            warnings,
            outside,
            host_needs,
        } = report;
        match purpose {
            CheckPurpose::Baseline => {}
            CheckPurpose::Progress | CheckPurpose::Gate => {
                self.live.judged = Some(fingerprint.clone());
                if let Some(survey) = &mut self.live.survey {
                    survey.mark.fingerprint = fingerprint.clone();
                }
            }
        }
        let fresh = |file: &&String| !self.ledger.outputs.contains(file.as_str());
        let fresh: Vec<_> = outputs.iter().filter(fresh).cloned().collect();
        let flaky = self.ledger.checks.chance(&results, &fingerprint);
        self.record(GateEvent::ChecksFinished {
            purpose,
            reused_from,
            results: results.clone(),
            fingerprint,
            outputs,
            flaky,
            outside,
        });
        if self.discards_results(purpose) {
            return self.advance();
        }
        match purpose {
            CheckPurpose::Baseline => {
                if let Some(why) =
                    results.iter().find_map(|one| baseline::cannot_run(one, &withheld))
                {
                    return self.finish(Outcome::ChecksCannotRun { why }, None);
                }
                if let Some(why) = hints::sentence(&host_needs) {
                    let settings = hints::lines(&host_needs, &self.ledger.settings);
                    return self.finish(Outcome::CheckNeedsHost { why, settings }, None);
                }
                for warning in results.iter().filter_map(baseline::warning) {
                    self.warn(warning);
                }
            }
            CheckPurpose::Progress | CheckPurpose::Gate => {}
        }
        self.warn_of_flaky(&results);
        match purpose {
            // New files are shown with its results.
            CheckPurpose::Baseline => self.warn_of_files(&[changed, rewritten].concat(), &[]),
            CheckPurpose::Progress | CheckPurpose::Gate => self.warn_of_files(&changed, &fresh),
        }
        for warning in warnings {
            self.warn_once(warning);
        }
        match purpose {
            CheckPurpose::Baseline => self.explain_baseline(),
            CheckPurpose::Progress => {}
            CheckPurpose::Gate => self.reject_failed(&results),
        }
        self.advance();
    }

    /// Whether the run ends before the results of checks matter.
    fn discards_results(&self, purpose: CheckPurpose) -> bool {
        let stops = match purpose {
            CheckPurpose::Baseline => self.ledger.stop.is_some(),
            CheckPurpose::Progress | CheckPurpose::Gate => self.ledger.stop == Some(StopWhen::Now),
        };
        stops || self.live.abort_outcome.is_some()
    }

    /// Lets the gate decide by results that are known already.
    pub(super) fn take_over(&mut self, known: Measurement) {
        let Measurement { at, results, fingerprint, .. } = known;
        self.record(GateEvent::ChecksFinished {
            purpose: CheckPurpose::Gate,
            reused_from: Some(at),
            results: results.clone(),
            fingerprint,
            outputs: Vec::new(),
            flaky: Vec::new(),
            outside: Vec::new(),
        });
        self.reject_failed(&results);
        self.advance();
    }

    fn reject_failed(&mut self, results: &[CheckResult]) {
        if let Some(failed) = results.iter().find(|result| !result.verdict.is_pass()) {
            let output = failure_excerpt::without_backtraces(failed.output.trim());
            let text = format!("{}. Its last lines:\n{output}", phrases::check(failed));
            self.reject(FeedbackSource::Checks, &text, phrases::check(failed));
        }
    }

    fn warn_of_flaky(&mut self, results: &[CheckResult]) {
        for flaky in results.iter().filter(|result| result.verdict == CheckVerdict::Flaky) {
            let command = &flaky.command;
            self.warn(format!("`{command}` is flaky: it failed, then passed on rerun"));
        }
    }

    /// Warns of files that the checks `changed`, and of those that they `wrote` for the first time.
    fn warn_of_files(&mut self, changed: &[String], wrote: &[String]) {
        if !changed.is_empty() {
            self.warn(format!("the checks changed files: {}", phrases::file_names(changed)));
        }
        if !wrote.is_empty() {
            self.warn(phrases::checks_wrote(wrote));
        }
    }
}
