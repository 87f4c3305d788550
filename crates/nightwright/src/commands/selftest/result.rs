//! The results of all cases, formatted as text and JSON.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use nightwright_core::display::display_safe;
use serde_json::{Value, json};

use super::expectations::{CaseOutcome, Mismatch, Shortfall};
use crate::error::Failure;
use crate::process::ContainmentLevel;

/// The version of the `--json` format.
const FORMAT: u32 = 1;
/// The width of the column of titles.
const TITLE: usize = 23;
/// The width of the column of verdicts.
const VERDICT: usize = 15;

/// The result of one case.
#[derive(Debug)]
pub(super) struct CaseResult {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) outcome: CaseOutcome,
    /// The containment of its processes, if its run got far enough to report it.
    pub(super) containment: Option<String>,
    pub(super) took: Duration,
    pub(super) folder: PathBuf,
}

impl CaseResult {
    /// Whether the case did not fail.
    pub(super) fn is_fine(&self) -> bool {
        !matches!(self.outcome, Err(Shortfall::Missed(_)))
    }

    /// Returns the name of the outcome in the JSON output, and the words for a person.
    fn verdict(&self) -> (&'static str, &'static str) {
        match self.outcome {
            Ok(()) => ("passed", "passed"),
            Err(Shortfall::Missed(_)) => ("failed", "FAILED"),
            Err(Shortfall::NotTested(_)) => ("not_tested", "not tested here"),
        }
    }

    /// Returns the details of a case that did not pass, with their names in the JSON output.
    fn details(&self) -> Vec<(&'static str, String)> {
        match &self.outcome {
            Ok(()) => Vec::new(),
            Err(Shortfall::NotTested(why)) => vec![("why", why.clone())],
            Err(Shortfall::Missed(Mismatch { expected, seen, ended })) => vec![
                ("expected", expected.clone()),
                ("actual", seen.clone()),
                ("outcome", ended.clone()),
                ("folder", self.folder.to_string_lossy().into_owned()),
            ],
        }
    }

    /// Returns one line, shown while other cases are still running.
    pub(super) fn line(&self) -> String {
        format!("{}: {} ({:.1} s)", self.title, self.verdict().1, self.took.as_secs_f64())
    }

    fn show(&self, text: &mut String) {
        let took = self.took.as_secs_f64();
        let words = self.verdict().1;
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{:TITLE$}  {words:VERDICT$}  {took:>5.1} s", self.title);
        let mut shown = String::new();
        for (name, detail) in self.details() {
            // The outcome of the run may be the observation itself, which is already shown.
            if !detail.is_empty() && (name != "outcome" || detail != shown) {
                let _ = writeln!(text, "    {name}: {}", display_safe(&detail));
            }
            shown = detail;
        }
    }

    fn json(&self) -> Value {
        let mut case = json!({
            "name": self.name,
            "title": self.title,
            "result": self.verdict().0,
            "seconds": seconds(self.took),
        });
        for (name, detail) in self.details() {
            case[name] = json!(detail);
        }
        case
    }
}

/// The results of all cases.
#[derive(Debug)]
pub(super) struct SelftestReport {
    pub(super) cases: Vec<CaseResult>,
    /// Processes that were alive after the last case, whichever started them.
    pub(super) survivors: Vec<String>,
    /// Whether the list of processes was available.
    pub(super) watched: bool,
    pub(super) took: Duration,
}

impl SelftestReport {
    /// Whether no case failed and no process survived.
    pub(super) fn is_fine(&self) -> bool {
        self.survivors.is_empty() && self.cases.iter().all(CaseResult::is_fine)
    }

    /// Formats the report as text or as JSON.
    pub(super) fn show(&self, json: bool) -> Result<String, Failure> {
        if json {
            return serde_json::to_string_pretty(&self.json())
                .map_err(|error| Failure::trouble(format!("cannot show the result: {error}")));
        }
        let mut text = String::new();
        for case in &self.cases {
            case.show(&mut text);
        }
        for process in &self.survivors {
            let _ = writeln!(
                text,
                "killed a process that survived its test: {}",
                display_safe(process)
            );
        }
        text.push('\n');
        if !self.watched {
            text.push_str("Cannot look for surviving processes: /proc is missing.\n");
        }
        let _ = writeln!(text, "{}\n{}", self.contained_by(), self.sum());
        Ok(text)
    }

    fn containment(&self) -> BTreeSet<&str> {
        self.cases.iter().filter_map(|case| case.containment.as_deref()).collect()
    }

    /// Describes the containment that was tested. Guards do all the killing in every case, so no
    /// result is credited to control groups.
    fn contained_by(&self) -> String {
        let name = |level: &str| match level {
            level if level == ContainmentLevel::GuardAndGroup.name() => {
                "guard (cgroups are available, but no test depends on them)".to_owned()
            }
            level => level.to_owned(),
        };
        let all: Vec<_> = self.containment().into_iter().map(name).collect();
        let all = if all.is_empty() { "unknown".to_owned() } else { all.join(", ") };
        format!("Containment: {all}")
    }

    /// Returns the names of the cases with this verdict in the JSON output.
    fn names(&self, verdict: &str) -> Vec<&str> {
        let cases = self.cases.iter().filter(|case| case.verdict().0 == verdict);
        cases.map(|case| case.name).collect()
    }

    /// Returns the last line of the report.
    fn sum(&self) -> String {
        let (passed, took) = (self.names("passed").len(), self.took.as_secs_f64());
        let mut text = format!("{passed} of {} passed in {took:.0} s", self.cases.len());
        for (words, verdict) in [("failed", "failed"), ("not tested here", "not_tested")] {
            let names = self.names(verdict);
            if !names.is_empty() {
                let _ = write!(text, "; {words}: {}", names.join(", "));
            }
        }
        if !self.survivors.is_empty() {
            text.push_str("; a process survived");
        }
        if !self.watched {
            text.push_str("; surviving processes unknown");
        }
        text
    }

    fn json(&self) -> Value {
        json!({
            "format": FORMAT,
            "passed": self.names("passed").len(),
            "not_tested": self.names("not_tested").len(),
            "failed": self.names("failed").len(),
            "tests": self.cases.iter().map(CaseResult::json).collect::<Vec<_>>(),
            "survivors_checked": self.watched,
            "survivors": self.watched.then_some(&self.survivors),
            "containment": self.containment(),
            "seconds": seconds(self.took),
        })
    }
}

/// Returns the seconds, rounded to one decimal place.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}
