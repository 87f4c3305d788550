//! `decisions.jsonl` in the run directory: the decisions of the council, and those that the agent
//! reports, one per line.
//!
//! A follower derives the file from the journal, which is authoritative. A resumed run writes it
//! again.

use std::fmt;
use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use nightwright_core::event::{AttemptEvent, Event, NoteEvent, Record};
use nightwright_core::journal::JournalLine;
use nightwright_core::principles::Principles;
use nightwright_core::run_view::RunView;
use nightwright_core::stream::news::StatedDecision;
use nightwright_core::units::Iteration;
use serde::Serialize;

use super::Reporter;
use crate::error::Failure;
use crate::files;

/// The file name in the run directory.
pub const FILE: &str = "decisions.jsonl";

#[derive(Debug, Serialize)]
struct DecisionLine<'a> {
    at: Timestamp,
    iteration: Iteration,
    by: DecisionMaker,
    /// The conflict that the council decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<&'a str>,
    decision: &'a str,
    /// The reason that the agent gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    rationale: Option<&'a str>,
    /// The principles of the project at the time of the decision.
    principles: Option<&'a Principles>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum DecisionMaker {
    Agent,
    Council,
}

/// Writes the decisions of a run to their file, which is created with the first one.
pub struct DecisionReporter {
    path: PathBuf,
    view: RunView,
    lines: String,
    /// Whether the file lacks some of the lines.
    behind: bool,
    /// Receives the first failure of a write. A later round tries again.
    warn: Option<Box<dyn FnOnce(String) + Send>>,
}

impl fmt::Debug for DecisionReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionReporter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl DecisionReporter {
    /// Writes to this file. `warn` is called when the first write fails.
    pub fn new(path: PathBuf, warn: impl FnOnce(String) + Send + 'static) -> Self {
        let (view, lines) = (RunView::default(), String::new());
        Self { path, view, lines, behind: false, warn: Some(Box::new(warn)) }
    }

    fn record(&mut self, record: &Record) {
        self.view.record(record);
        self.add(record);
    }

    fn add(&mut self, record: &Record) {
        if let Event::Note(NoteEvent::CouncilDecided { iteration, conflict, decision }) =
            &record.event
        {
            let stated = (decision.as_str(), None);
            self.push(record, *iteration, DecisionMaker::Council, Some(conflict), stated);
        } else if let Event::Attempt(AttemptEvent::Finished { report, .. }) = &record.event {
            let current = self.view.iteration.as_ref();
            let iteration = current.map_or(Iteration(0), |current| current.number);
            for StatedDecision { decision, rationale } in &report.text_evidence.decisions {
                let stated = (decision.as_str(), rationale.as_deref());
                self.push(record, iteration, DecisionMaker::Agent, None, stated);
            }
        }
    }

    fn push(
        &mut self,
        record: &Record,
        iteration: Iteration,
        by: DecisionMaker,
        conflict: Option<&str>,
        (decision, rationale): (&str, Option<&str>),
    ) {
        let principles = self.view.principles.as_ref();
        let at = record.at;
        let decided = DecisionLine { at, iteration, by, conflict, decision, rationale, principles };
        let line =
            serde_json::to_string(&decided).expect("strings and numbers always serialize to JSON");
        self.lines.push_str(&line);
        self.lines.push('\n');
        self.behind = true;
    }
}

impl Reporter for DecisionReporter {
    fn past(&mut self, line: &JournalLine) {
        self.record(&line.record);
    }

    fn event(&mut self, line: &JournalLine, _: &[u8]) -> io::Result<()> {
        self.record(&line.record);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.behind {
            return Ok(());
        }
        match files::replace_private(&self.path, self.lines.as_bytes()) {
            Ok(()) => self.behind = false,
            Err(error) => {
                if let Some(warn) = self.warn.take() {
                    warn(Failure::because(&error).message);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use nightwright_core::event::samples;
    use nightwright_core::units::RunId;
    use serde_json::Value;

    use super::*;

    fn journal() -> Vec<JournalLine> {
        let at: Timestamp = "2026-11-15T23:34:12Z".parse().unwrap();
        let record = |event| Record { at, active: Duration::ZERO, event };
        let line =
            |(seq, event)| JournalLine { seq, run: RunId("r".into()), record: record(event) };
        (1..).zip(samples()).map(line).collect()
    }

    fn reporter(path: &Path) -> DecisionReporter {
        DecisionReporter::new(path.to_owned(), |why| panic!("{why}"))
    }

    /// Shows these lines in one round.
    fn show(reporter: &mut DecisionReporter, lines: &[JournalLine]) {
        for line in lines {
            reporter.event(line, &[]).unwrap();
        }
        reporter.flush().unwrap();
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_decision_is_a_line_with_what_it_was_about_and_what_the_project_went_by() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let order = ["run_started", "principles_adopted", "council_decided"];
        let mut journal = journal();
        journal.retain(|line| order.contains(&line.record.event.name()));
        journal.sort_by_key(|line| order.iter().position(|name| *name == line.record.event.name()));
        let mut decisions = reporter(&path);
        show(&mut decisions, &journal[..2]);
        assert!(!path.exists());
        show(&mut decisions, &journal[2..]);
        let [line] = &lines(&path)[..] else { panic!("one line") };
        assert_eq!(line["at"], "2026-11-15T23:34:12Z");
        assert_eq!(line["iteration"], 3);
        assert_eq!(line["conflict"], "speed vs. stable routes");
        assert_eq!(line["by"], "council");
        assert_eq!(line["decision"], "keep the old routes for one release");
        assert!(!line["principles"].is_null(), "{line}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_decision_that_the_agent_reports_is_a_line_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let order = ["iteration_started", "attempt_finished"];
        let mut journal = journal();
        journal.retain(|line| order.contains(&line.record.event.name()));
        journal.sort_by_key(|line| order.iter().position(|name| *name == line.record.event.name()));
        show(&mut reporter(&path), &journal);
        let [line] = &lines(&path)[..] else { panic!("one line") };
        assert_eq!(line["by"], "agent");
        assert_eq!(line["decision"], "answer unknown routes with 404");
        assert_eq!(line["rationale"], "clarity_of_intent is 8");
        assert!(line.get("conflict").is_none() && line["iteration"] != 0, "{line}");
    }

    #[test]
    fn a_resumed_run_has_every_decision_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let past = journal();
        // The second process finds a line that an earlier one left incomplete.
        for before in ["", "{\"at\":\"20"] {
            fs::write(&path, before).unwrap();
            let mut decisions = reporter(&path);
            for line in &past {
                decisions.past(line);
            }
            show(&mut decisions, &[]);
            assert_eq!(lines(&path).len(), 2);
            // Decisions that reached only the journal.
            show(&mut decisions, &past);
            assert_eq!(lines(&path).len(), 4);
        }
    }

    #[test]
    fn a_failed_write_is_reported_once_and_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        fs::create_dir_all(path.join("in the way")).unwrap();
        let (sender, warnings) = channel();
        let mut decisions =
            DecisionReporter::new(path.clone(), move |why| sender.send(why).unwrap());
        show(&mut decisions, &journal());
        show(&mut decisions, &journal());
        let warnings: Vec<_> = warnings.try_iter().collect();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.starts_with("cannot write `"), "{warning}");
        fs::remove_dir_all(&path).unwrap();
        show(&mut decisions, &[]);
        assert_eq!(lines(&path).len(), 4);
    }
}
