//! The findings of `doctor`, formatted as text and JSON.

use std::fmt::Write as _;

use nightwright_core::display::display_safe;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Failure;
use crate::output::wrap;
use crate::paste::from_here;

/// The version of the `--json` format.
const FORMAT: u32 = 1;
/// Maximum width of lines with names.
const WIDTH: usize = 96;
/// The column at which the text of a finding starts.
const INDENT: usize = 22;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grade {
    /// Everything is in order.
    Ok,
    /// Runs can start, but the user should know this.
    Warning,
    /// No run can start here.
    Problem,
}

/// The result of one check of `doctor`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DoctorFinding {
    topic: &'static str,
    grade: Grade,
    text: String,
    /// How to fix the problem.
    hints: Vec<String>,
    /// Figures and names for programs; the keys depend on the topic.
    facts: Map<String, Value>,
    /// Names that follow the text. They are also among the facts.
    #[serde(skip)]
    names: Vec<String>,
}

/// All findings of `doctor`.
#[derive(Debug)]
pub(super) struct DoctorReport {
    pub(super) findings: Vec<DoctorFinding>,
}

impl DoctorFinding {
    pub(super) fn new(grade: Grade, topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            topic,
            grade,
            text: text.into(),
            hints: Vec::new(),
            facts: Map::new(),
            names: Vec::new(),
        }
    }

    pub(super) fn ok(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Ok, topic, text)
    }

    pub(super) fn warning(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Warning, topic, text)
    }

    pub(super) fn problem(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Problem, topic, text)
    }

    /// Adds a hint about how to fix or investigate the problem.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(from_here(&hint.into()).into_owned());
        self
    }

    /// Whether one of these findings says the same.
    pub(super) fn repeats(&self, others: &[Self]) -> bool {
        others.iter().any(|other| other.text == self.text)
    }

    /// Whether the finding is neither a warning nor a problem.
    pub(super) fn is_ok(&self) -> bool {
        self.grade == Grade::Ok
    }

    /// Adds a fact to the JSON output.
    pub(super) fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Adds names, sorted, to the text and to the JSON output.
    pub(super) fn names(mut self, fact: &str, mut names: Vec<String>) -> Self {
        names.sort();
        self.names.clone_from(&names);
        self.fact(fact, names)
    }

    fn show(&self, text: &mut String) {
        let grade = match self.grade {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Problem => "problem",
        };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{grade:<8} {:<12} {}", self.topic, display_safe(&self.text));
        for line in lines(&self.names) {
            let _ = writeln!(text, "{:INDENT$}{}", "", display_safe(&line));
        }
        for hint in &self.hints {
            let _ = writeln!(text, "{:INDENT$}hint: {}", "", display_safe(hint));
        }
    }
}

/// Wraps names into lines of limited width.
fn lines(names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if INDENT + line.len() + 1 + name.len() <= WIDTH => {
                line.push(' ');
                line.push_str(name);
            }
            Some(_) | None => lines.push(name.clone()),
        }
    }
    lines
}

impl DoctorReport {
    /// Whether no finding prevents a run.
    pub(super) fn can_run(&self) -> bool {
        self.count(Grade::Problem) == 0
    }

    /// Formats the report as text or as JSON.
    pub(super) fn show(&self, json: bool) -> Result<String, Failure> {
        if json {
            return self.json();
        }
        let mut text = String::new();
        for finding in &self.findings {
            finding.show(&mut text);
        }
        text.push('\n');
        text.push_str(&self.sum());
        Ok(wrap::for_stdout(&text, INDENT))
    }

    fn json(&self) -> Result<String, Failure> {
        let value = serde_json::json!({
            "format": FORMAT,
            "can_run": self.can_run(),
            "findings": self.findings,
        });
        serde_json::to_string_pretty(&value)
            .map_err(|error| Failure::trouble(format!("cannot show the findings: {error}")))
    }

    fn sum(&self) -> String {
        let count = |number: usize, word: &str| match number {
            1 => format!("1 {word}"),
            number => format!("{number} {word}s"),
        };
        let warnings = match self.count(Grade::Warning) {
            0 => String::new(),
            number => format!(" ({})", count(number, "warning")),
        };
        match self.count(Grade::Problem) {
            0 => format!("Runs can start{warnings}."),
            number => format!("No run can start: {}{warnings}.", count(number, "problem")),
        }
    }

    fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }
}
