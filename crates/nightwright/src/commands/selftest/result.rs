//! The results of all cases, formatted as text and JSON.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use nightwright_core::display::display_safe;
use serde_json::{Value, json};

use super::expectations::{CaseCheckResult, Mismatch, Shortfall};
use super::observation::ProtectionLevels;
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
    pub(super) verdict: CaseVerdict,
    /// The protection of its processes, if its run got far enough to report it.
    pub(super) levels: Option<ProtectionLevels>,
    pub(super) took: Duration,
    pub(super) folder: PathBuf,
}

/// Whether a case passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CaseVerdict {
    /// All expectations were met.
    Held,
    /// An expectation was not met.
    Missed(Mismatch),
    /// This machine does not support the case, so it neither passed nor failed.
    NotTested {
        /// What the machine lacks, or what did not occur.
        why: String,
    },
}

impl From<CaseCheckResult> for CaseVerdict {
    fn from(judged: CaseCheckResult) -> Self {
        match judged {
            Ok(()) => Self::Held,
            Err(Shortfall::Missed(miss)) => Self::Missed(miss),
            Err(Shortfall::NotTested(why)) => Self::NotTested { why },
        }
    }
}

impl From<Mismatch> for CaseVerdict {
    fn from(miss: Mismatch) -> Self {
        Self::Missed(miss)
    }
}

impl CaseVerdict {
    /// Whether the case did not fail.
    pub(super) fn is_fine(&self) -> bool {
        match self {
            Self::Held | Self::NotTested { .. } => true,
            Self::Missed(_) => false,
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed(_) => "DID NOT HOLD",
            Self::NotTested { .. } => "not tested here",
        }
    }

    /// Returns the name in the JSON output.
    fn name(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed(_) => "did_not_hold",
            Self::NotTested { .. } => "not_tested",
        }
    }
}

impl CaseResult {
    /// Returns one line, shown while other cases are still running.
    pub(super) fn line(&self) -> String {
        format!("{}: {} ({:.1} s)", self.title, self.verdict.words(), self.took.as_secs_f64())
    }

    fn show(&self, text: &mut String) {
        let took = self.took.as_secs_f64();
        let words = self.verdict.words();
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{:TITLE$}  {words:VERDICT$}  {took:>5.1} s", self.title);
        let details: &[(&str, &str)] = match &self.verdict {
            CaseVerdict::Held => &[],
            CaseVerdict::Missed(Mismatch { expected, seen, ended }) => &[
                ("expected", expected),
                ("seen", seen),
                // If the outcome is the observation itself, it is already shown.
                ("ended", if ended == seen { "" } else { ended }),
                ("folder", &self.folder.to_string_lossy()),
            ],
            CaseVerdict::NotTested { why } => &[("why", why)],
        };
        for (name, detail) in details.iter().filter(|(_, detail)| !detail.is_empty()) {
            let _ = writeln!(text, "    {name}: {}", display_safe(detail));
        }
    }

    fn json(&self) -> Value {
        let mut row = json!({
            "name": self.name,
            "title": self.title,
            "result": self.verdict.name(),
            "seconds": seconds(self.took),
        });
        match &self.verdict {
            CaseVerdict::Held => {}
            CaseVerdict::Missed(Mismatch { expected, seen, ended }) => {
                row["expected"] = json!(expected);
                row["seen"] = json!(seen);
                row["ended"] = json!(ended);
                row["folder"] = json!(self.folder.to_string_lossy());
            }
            CaseVerdict::NotTested { why } => row["why"] = json!(why),
        }
        row
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
    /// Whether no case failed.
    pub(super) fn holds(&self) -> bool {
        self.survivors.is_empty() && self.cases.iter().all(|row| row.verdict.is_fine())
    }

    /// Formats the report as text or as JSON.
    pub(super) fn show(&self, json: bool) -> Result<String, Failure> {
        if json {
            return serde_json::to_string_pretty(&self.json())
                .map_err(|error| Failure::trouble(format!("cannot show the result: {error}")));
        }
        let mut text = String::new();
        for row in &self.cases {
            row.show(&mut text);
        }
        for who in &self.survivors {
            let _ = writeln!(text, "survived its test, killed now: {}", display_safe(who));
        }
        text.push('\n');
        if !self.watched {
            let why = "this system has no list of processes in /proc";
            let _ = writeln!(text, "Survivors were not searched for: {why}.");
        }
        let _ = writeln!(text, "{}\n{}", self.kept_by(), self.sum());
        Ok(text)
    }

    fn levels(&self) -> BTreeSet<&ProtectionLevels> {
        self.cases.iter().filter_map(|row| row.levels.as_ref()).collect()
    }

    /// Describes the levels of protection that were tested. Guards do all the killing in every
    /// case, so no result is credited to control groups.
    fn kept_by(&self) -> String {
        let of = |level: fn(&ProtectionLevels) -> &str| {
            let all: BTreeSet<_> = self.levels().into_iter().map(level).collect();
            let all: Vec<_> = all.into_iter().collect();
            if all.is_empty() { "unknown".to_owned() } else { all.join(", ") }
        };
        let containment = of(|levels| {
            if levels.containment == ContainmentLevel::GuardAndGroup.name() {
                "guard (cgroups are available, but no test depends on them)"
            } else {
                &levels.containment
            }
        });
        format!("Containment: {containment}. It took {:.0} s.", self.took.as_secs_f64())
    }

    fn held(&self) -> Vec<&str> {
        self.names(|verdict| *verdict == CaseVerdict::Held)
    }

    fn missed(&self) -> Vec<&str> {
        self.names(|verdict| matches!(verdict, CaseVerdict::Missed(_)))
    }

    fn not_tested(&self) -> Vec<&str> {
        self.names(|verdict| matches!(verdict, CaseVerdict::NotTested { .. }))
    }

    fn names(&self, wanted: fn(&CaseVerdict) -> bool) -> Vec<&str> {
        self.cases.iter().filter(|row| wanted(&row.verdict)).map(|row| row.name).collect()
    }

    /// Returns the last line of the report.
    fn sum(&self) -> String {
        let mut text = format!("{} of {} held", self.held().len(), self.cases.len());
        for (words, names) in
            [("did not hold", self.missed()), ("not tested here", self.not_tested())]
        {
            if !names.is_empty() {
                let _ = write!(text, "; {words}: {}", names.join(", "));
            }
        }
        if !self.survivors.is_empty() {
            text.push_str("; a process survived");
        }
        if !self.watched {
            text.push_str("; survivors were not searched for");
        }
        text
    }

    fn json(&self) -> Value {
        json!({
            "format": FORMAT,
            "held": self.held().len(),
            "not_tested": self.not_tested().len(),
            "did_not_hold": self.missed().len(),
            "rows": self.cases.iter().map(CaseResult::json).collect::<Vec<_>>(),
            "survivors_looked_for": self.watched,
            "left": self.watched.then_some(&self.survivors),
            "levels": self.levels(),
            "seconds": seconds(self.took),
        })
    }
}

/// Returns the seconds, rounded to one decimal place.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}
