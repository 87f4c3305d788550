//! What is told of the status file while it changes. It is told and nothing else: no claim is read
//! here, nothing is interrupted, nothing goes on earlier.

use super::Machine;
use crate::event::StatusFacts;
use crate::input::StatusReport;
use crate::settings::Scope;

impl Machine {
    /// The status file was read, by whoever watches it or when the project was looked at: what is
    /// news is told, once.
    pub(super) fn status_read(&mut self, report: &StatusReport) {
        // Before the first iteration nothing is known to compare it with: what the file says then
        // was there before the run.
        if self.ledger.origin.is_none() || !self.reports_status() {
            return;
        }
        let now = self.status_facts(report);
        let before = self.ledger.status.clone().unwrap_or_default();
        if let Some(event) = now.news(&before) {
            self.record(event);
        }
    }

    /// What the file said before the run, to be kept with its first iteration.
    pub(super) fn first_status(&self, report: Option<&StatusReport>) -> Option<Box<StatusFacts>> {
        let report = report.filter(|_| self.ledger.origin.is_none() && self.reports_status())?;
        Some(Box::new(self.status_facts(report)))
    }

    fn status_facts(&self, report: &StatusReport) -> StatusFacts {
        StatusFacts::of(report, self.ledger.settings.status_watch.only_meaningful)
    }

    /// Whether anybody wants to know. Who only judges writes no status.
    fn reports_status(&self) -> bool {
        match self.ledger.settings.scope {
            Scope::Whole => self.ledger.settings.status_watch.enabled,
            Scope::Gate => false,
        }
    }
}
