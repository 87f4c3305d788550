//! The result of a behavior, from the events that a run prints.

use std::collections::BTreeMap;

use serde_json::Value;

/// The outcome of a run, and whether the work was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Observed {
    /// The name of the outcome; `hung` for a run that had to be killed.
    pub(super) outcome: String,
    /// Whether the run reports a verified completion.
    pub(super) verified: bool,
    pub(super) iterations: u32,
    pub(super) warnings: Vec<String>,
    pub(super) feedback: Vec<String>,
    /// The prompt of each iteration, by its number.
    pub(super) prompts: BTreeMap<u32, String>,
    /// The messages sent into running sessions.
    pub(super) nudges: Vec<String>,
    /// The number of calls by purpose.
    pub(super) calls: BTreeMap<String, u32>,
    /// The exit code; `None` for the plain loops.
    pub(super) exit: Option<i32>,
    /// Whether the work was really done.
    pub(super) truth: bool,
}

/// The outcome of a run that had to be killed.
pub(super) const HUNG: &str = "hung";

impl Observed {
    /// Reads the events of a whole run; `None` if it did not end.
    pub(super) fn of_events(text: &str, truth: bool) -> Result<Option<Self>, String> {
        let mut observed = Self { truth, ..Self::default() };
        let mut ended = false;
        for line in text.lines() {
            let event: Value = serde_json::from_str(line)
                .map_err(|error| format!("nightwright printed an invalid event: {error}"))?;
            ended |= observed.take(&event);
        }
        Ok(ended.then_some(observed))
    }

    /// Reads the events of a run that had to be killed.
    pub(super) fn without_end(text: &str, truth: bool) -> Self {
        let mut observed = Self { truth, ..Self::default() };
        for event in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            observed.take(&event);
        }
        Self { outcome: HUNG.to_owned(), ..observed }
    }

    /// Processes an event; returns true for the last one.
    fn take(&mut self, event: &Value) -> bool {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str().unwrap_or_default() {
            "iteration_started" => {
                let number = event["iteration"].as_u64().and_then(|n| u32::try_from(n).ok());
                self.iterations = number.unwrap_or(self.iterations);
            }
            "warning" => self.warnings.push(text("text")),
            "feedback_added" => self.feedback.push(text("text")),
            "message_sent" => self.nudges.push(text("text")),
            "call_started" => *self.calls.entry(text("purpose")).or_default() += 1,
            "changes_inspected" => {
                for finding in event["findings"].as_array().into_iter().flatten() {
                    let part = |name: &str| finding[name].as_str().unwrap_or_default();
                    self.warnings.push(format!("{}: {}", part("path"), part("what")));
                }
            }
            "run_finished" => {
                self.outcome = text("outcome");
                self.verified = matches!(event["proof"].as_str(), Some("checks" | "model"));
                let iterations = event["totals"]["iterations"].as_u64();
                let iterations = iterations.and_then(|number| u32::try_from(number).ok());
                self.iterations = iterations.unwrap_or(self.iterations);
                if let Some(note) = event["note"].as_str() {
                    self.warnings.push(note.to_owned());
                }
                return true;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = r#"{"event":"run_started"}
{"event":"iteration_started","iteration":1}
{"event":"warning","text":"a check is flaky"}
{"event":"changes_inspected","findings":[{"path":"tests/a.py","what":"deleted"}]}
{"event":"feedback_added","source":"checks","text":"it is not complete"}
{"event":"message_sent","text":"nobody is here"}
{"event":"call_started","purpose":"advise"}
{"event":"iteration_started","iteration":2}
{"event":"call_started","purpose":"advise"}
{"event":"run_finished","outcome":"completed","proof":"checks","note":"a note","totals":{"iterations":2}}
"#;

    #[test]
    fn a_run_is_read_from_its_events() {
        let wanted = Observed {
            outcome: "completed".to_owned(),
            verified: true,
            iterations: 2,
            warnings: ["a check is flaky", "tests/a.py: deleted", "a note"]
                .map(str::to_owned)
                .into(),
            feedback: vec!["it is not complete".to_owned()],
            nudges: vec!["nobody is here".to_owned()],
            calls: BTreeMap::from([("advise".to_owned(), 2)]),
            truth: true,
            ..Observed::default()
        };
        assert_eq!(Observed::of_events(EVENTS, true), Ok(Some(wanted)));
    }

    #[test]
    fn a_run_without_an_end_hung() {
        let (events, _) = EVENTS.split_once("{\"event\":\"run_finished\"").unwrap();
        assert_eq!(Observed::of_events(events, false), Ok(None));
        let hung = Observed::without_end(&format!("{events}{{\"torn"), false);
        assert_eq!((hung.outcome.as_str(), hung.iterations), ("hung", 2));
    }

    #[test]
    fn a_line_that_is_no_event_is_an_error() {
        assert!(Observed::of_events("panicked at", true).is_err());
    }
}
