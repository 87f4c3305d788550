//! `decisions.jsonl` in the run directory: the decisions of the council, one per line.
//!
//! The file is derived from the journal, which is authoritative. A resumed run writes it again.

use std::path::PathBuf;

use jiff::Timestamp;
use nightwright_core::event::{Event, NoteEvent, Record};
use nightwright_core::principles::Principles;
use nightwright_core::run_view::RunView;
use nightwright_core::units::Iteration;
use serde::Serialize;

use crate::error::Failure;
use crate::files;

/// The file name in the run directory.
pub const FILE: &str = "decisions.jsonl";

#[derive(Debug, Serialize)]
struct DecisionLine<'a> {
    at: Timestamp,
    iteration: Iteration,
    conflict: &'a str,
    decision: &'a str,
    /// The principles of the project at the time of the decision.
    principles: Option<&'a Principles>,
}

/// Writes the decisions of a run to their file.
#[derive(Debug)]
pub struct DecisionLog {
    path: PathBuf,
    view: RunView,
    lines: String,
    /// Whether a write has failed. Only the first failure is reported.
    failed: bool,
    /// A warning that was not returned yet.
    complaint: Option<String>,
}

impl DecisionLog {
    /// Loads the decisions that the run has already made. The file is created with the first
    /// decision.
    pub fn of(path: PathBuf, past: &[Record]) -> Self {
        let lines = String::new();
        let view = RunView::default();
        let mut decisions = Self { path, view, lines, failed: false, complaint: None };
        decisions.take(past);
        decisions
    }

    /// Adds new records and writes the file if they contain a decision. Returns a warning if the
    /// write fails, once.
    pub fn record(&mut self, records: &[Record]) -> Option<String> {
        self.take(records);
        self.complaint.take()
    }

    fn take(&mut self, records: &[Record]) {
        let known = self.lines.len();
        for record in records {
            self.view.record(record);
            self.add(record);
        }
        if self.lines.len() == known {
            return;
        }
        let written = files::replace_private(&self.path, self.lines.as_bytes());
        if let Some(error) = written.err().filter(|_| !self.failed) {
            self.failed = true;
            let why = Failure::because(&error).message;
            self.complaint = Some(format!("decisions are not written down: {why}"));
        }
    }

    fn add(&mut self, record: &Record) {
        if let Event::Note(NoteEvent::CouncilDecided { iteration, conflict, decision }) =
            &record.event
        {
            let decided = DecisionLine {
                at: record.at,
                iteration: *iteration,
                conflict,
                decision,
                principles: self.view.principles.as_ref(),
            };
            let line = serde_json::to_string(&decided)
                .expect("strings and numbers have no trouble becoming JSON");
            self.lines.push_str(&line);
            self.lines.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use nightwright_core::event::samples;
    use serde_json::Value;

    use super::*;

    fn records() -> Vec<Record> {
        let at: Timestamp = "2026-11-15T23:34:12Z".parse().unwrap();
        samples().into_iter().map(|event| Record { at, active: Duration::ZERO, event }).collect()
    }

    fn lines(path: &std::path::Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_decision_is_a_line_with_what_it_was_about_and_what_the_project_went_by() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let order = ["run_started", "principles_adopted", "council_decided"];
        let mut records = records();
        records.retain(|record| order.contains(&record.event.name()));
        records.sort_by_key(|record| order.iter().position(|name| *name == record.event.name()));
        let mut decisions = DecisionLog::of(path.clone(), &[]);
        assert_eq!(decisions.record(&records[..2]), None);
        assert!(!path.exists());
        assert_eq!(decisions.record(&records[2..]), None);
        let [line] = &lines(&path)[..] else { panic!("one line") };
        assert_eq!(line["at"], "2026-11-15T23:34:12Z");
        assert_eq!(line["iteration"], 3);
        assert_eq!(line["conflict"], "speed against stable routes");
        assert_eq!(line["decision"], "keep the old routes for one release");
        assert!(!line["principles"].is_null(), "{line}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_resumed_run_has_every_decision_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let past = records();
        for _ in 0..2 {
            drop(DecisionLog::of(path.clone(), &past));
            assert_eq!(lines(&path).len(), 1);
        }
        // A decision that reached only the journal, and a torn line.
        fs::write(&path, "{\"at\":\"20").unwrap();
        let mut decisions = DecisionLog::of(path.clone(), &past);
        decisions.record(&past);
        assert_eq!(lines(&path).len(), 2);
    }

    #[test]
    fn a_failed_write_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        fs::create_dir_all(path.join("in the way")).unwrap();
        let mut decisions = DecisionLog::of(path.clone(), &records());
        let complaint = decisions.record(&[]).unwrap();
        assert!(
            complaint.starts_with("decisions are not written down: cannot write `"),
            "{complaint}"
        );
        assert_eq!(decisions.record(&records()), None);
        fs::remove_dir_all(&path).unwrap();
        decisions.record(&records());
        assert_eq!(lines(&path).len(), 3);
    }
}
