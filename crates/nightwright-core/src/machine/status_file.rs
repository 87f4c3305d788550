//! Reports of changes to the status file. They are reports only: claims are not read here, and
//! nothing is interrupted or accelerated.

use super::Machine;
use crate::event::StatusFacts;
use crate::input::StatusReport;
use crate::settings::Scope;

impl Machine {
    /// Reports news of the status file, each once. The file was read by its watcher or by a survey.
    pub(super) fn status_read(&mut self, report: &StatusReport) {
        // Before the first iteration there is nothing to compare with; the content was there before
        // the run.
        if self.ledger.origin.is_none() || !self.reports_status() {
            return;
        }
        let now = self.status_facts(report);
        let before = self.ledger.status.clone().unwrap_or_default();
        if let Some(event) = now.news(&before) {
            self.record(event);
        }
    }

    /// Returns the status before the run, to be recorded with the first iteration.
    pub(super) fn first_status(&self, report: Option<&StatusReport>) -> Option<Box<StatusFacts>> {
        let report = report.filter(|_| self.ledger.origin.is_none() && self.reports_status())?;
        Some(Box::new(self.status_facts(report)))
    }

    fn status_facts(&self, report: &StatusReport) -> StatusFacts {
        StatusFacts::of(report, self.ledger.settings.status_watch.only_meaningful)
    }

    /// Whether changes of the status are reported. A run that only verifies writes no status.
    fn reports_status(&self) -> bool {
        match self.ledger.settings.scope {
            Scope::Whole => self.ledger.settings.status_watch.enabled,
            Scope::Gate => false,
        }
    }
}
